//! Subsets, combined along the path from the root, and applied to a number of samples exactly as in the loader.

use gristmill_data::formats::energon::metadataset::{Range, Subset};

/// The part of a data set that remains after all subsets above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    /// Range of sample numbers, applied first: first number and end.
    samples: Option<(u64, Option<u64>)>,
    /// Range of the remaining samples, as fractions from 0 to 1.
    share: (f64, f64),
}

/// Message for a subset that the loader refuses.
pub(super) const RANGE_NOT_INHERITED: &str =
    "a range of sample numbers is only for a single data set; the loader stops at it above others";

impl Window {
    /// Whether the window contains sample numbers, which members cannot inherit.
    pub(super) fn has_samples(&self) -> bool {
        self.samples.is_some()
    }

    /// Returns the window of a node whose parent has the window `above`.
    pub(super) fn below(above: Option<Self>, own: Option<&Subset>) -> Result<Option<Self>, &'static str> {
        if above.is_some_and(|above| above.has_samples()) {
            return Err(RANGE_NOT_INHERITED);
        }
        let own = own.map(|subset| match subset.range {
            Range::Percent(from, to) => Self { samples: None, share: (from / 100.0, to / 100.0) },
            Range::Samples(from, to) => Self { samples: Some((from, to)), share: (0.0, 1.0) },
        });
        Ok(match (above, own) {
            (Some(above), Some(own)) => {
                let total = own.share.1 - own.share.0;
                let at = |part: f64| own.share.0 + part * total;
                Some(Self { samples: own.samples, share: (at(above.share.0), at(above.share.1)) })
            }
            (above, own) => own.or(above),
        })
    }

    /// Returns the first sample and the end (exclusive) out of `total` samples. The error is the reason why the loader refuses the subset.
    pub(super) fn of(window: Option<Self>, total: u64) -> Result<(u64, u64), String> {
        let Some(window) = window else { return Ok((0, total)) };
        let (mut start, mut end) = (0, total);
        if let Some((from, to)) = window.samples {
            (start, end) = (from, to.unwrap_or(total));
            if end > total {
                return Err(format!("the range ends at sample {end}, and the split has only {total}"));
            }
            if start > end {
                return Err(format!("the range begins at sample {start}, and the split has only {total}"));
            }
        }
        let left = (end - start) as f64;
        // Truncated, as in the loader.
        let end = start + (left * window.share.1) as u64;
        start += (left * window.share.0) as u64;
        Ok((start, end.min(total)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_data::formats::energon::metadataset::Mark;

    fn subset(range: Range) -> Subset {
        Subset { at: Mark::default(), range }
    }

    #[test]
    fn a_percent_range_truncates_both_ends() {
        let window = Window::below(None, Some(&subset(Range::Percent(25.0, 75.0)))).unwrap();
        assert_eq!(Window::of(window, 10), Ok((2, 7)));
        assert_eq!(Window::of(window, 0), Ok((0, 0)));
        assert_eq!(Window::of(None, 7), Ok((0, 7)));
    }

    #[test]
    fn outer_subset_range_applies_to_the_inner_range() {
        let outer = Window::below(None, Some(&subset(Range::Percent(0.0, 50.0)))).unwrap();
        let inner = Window::below(outer, Some(&subset(Range::Percent(25.0, 75.0)))).unwrap();
        assert_eq!(Window::of(inner, 100), Ok((25, 50)));
        let numbers = Window::below(outer, Some(&subset(Range::Samples(10, Some(20))))).unwrap();
        assert_eq!(Window::of(numbers, 100), Ok((10, 15)));
        assert_eq!(Window::below(numbers, None), Err(RANGE_NOT_INHERITED));
    }

    #[test]
    fn a_range_beyond_the_end_is_refused() {
        let window = Window::below(None, Some(&subset(Range::Samples(5, Some(20))))).unwrap();
        assert!(Window::of(window, 10).unwrap_err().contains("only 10"));
        let window = Window::below(None, Some(&subset(Range::Samples(15, None)))).unwrap();
        assert!(Window::of(window, 10).unwrap_err().contains("begins at sample 15"));
        assert_eq!(Window::of(window, 20), Ok((15, 20)));
    }
}
