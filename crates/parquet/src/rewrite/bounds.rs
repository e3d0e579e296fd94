//! Minimum and maximum of the values of a page or column, truncated to a limited length.

use std::cmp::Ordering;

/// Maximum length of a bound in bytes.
const MAX_BOUND_BYTES: usize = 64;

/// Bounds of the added values. The bound of a long value is the beginning of that value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds(Option<BoundPair>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct BoundPair {
    min: Vec<u8>,
    min_is_exact: bool,
    max: Vec<u8>,
    max_is_exact: bool,
}

impl Bounds {
    pub(crate) fn add(&mut self, value: &[u8]) {
        let start = value.get(..MAX_BOUND_BYTES).unwrap_or(value);
        let is_exact = start.len() == value.len();
        self.add_start(start, is_exact, is_exact);
    }

    pub(crate) fn join(&mut self, other: &Self) {
        if let Some(other) = &other.0 {
            self.add_start(&other.min, other.min_is_exact, true);
            self.add_start(&other.max, false, other.max_is_exact);
        }
    }

    /// Adds a value, given by its beginning. `min_is_exact` and `max_is_exact` are whether the beginning is the whole value.
    fn add_start(&mut self, start: &[u8], min_is_exact: bool, max_is_exact: bool) {
        let Some(pair) = &mut self.0 else {
            let (min, max) = (start.to_vec(), start.to_vec());
            self.0 = Some(BoundPair { min, min_is_exact, max, max_is_exact });
            return;
        };
        match start.cmp(&pair.min) {
            Ordering::Less => {
                pair.min = start.to_vec();
                pair.min_is_exact = min_is_exact;
            }
            // A value is not smaller than its beginning.
            Ordering::Equal => pair.min_is_exact |= min_is_exact,
            Ordering::Greater => {}
        }
        match start.cmp(&pair.max) {
            Ordering::Greater => {
                pair.max = start.to_vec();
                pair.max_is_exact = max_is_exact;
            }
            Ordering::Equal => pair.max_is_exact &= max_is_exact,
            Ordering::Less => {}
        }
    }

    /// Returns a lower bound of all values, and whether it is one of the values.
    pub(crate) fn min(&self) -> Option<(&[u8], bool)> {
        let pair = self.0.as_ref()?;
        let min = if pair.min_is_exact { &pair.min } else { whole_characters(&pair.min) };
        Some((min, pair.min_is_exact))
    }

    /// Returns an upper bound of all values, and whether it is one of the values; `None` if no short bound exists.
    pub(crate) fn max(&self) -> Option<(Vec<u8>, bool)> {
        let pair = self.0.as_ref()?;
        match pair.max_is_exact {
            true => Some((pair.max.clone(), true)),
            false => next_after(whole_characters(&pair.max)).map(|max| (max, false)),
        }
    }
}

/// Returns `start` without an incomplete character at its end.
fn whole_characters(start: &[u8]) -> &[u8] {
    match std::str::from_utf8(start) {
        Err(error) if error.error_len().is_none() => start.get(..error.valid_up_to()).unwrap_or_default(),
        _ => start,
    }
}

/// Returns a value that is greater than all values that begin with `start`.
fn next_after(start: &[u8]) -> Option<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(start) else {
        let last = start.iter().rposition(|byte| *byte < u8::MAX)?;
        let mut next = start.get(..=last)?.to_vec();
        *next.last_mut()? += 1;
        return Some(next);
    };
    text.char_indices().rev().find_map(|(at, last)| {
        // The range skips surrogates.
        let next = (last..=char::MAX).nth(1)?;
        Some(format!("{}{next}", text.get(..at)?).into_bytes())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[&str]) -> Bounds {
        let mut bounds = Bounds::default();
        values.iter().for_each(|value| bounds.add(value.as_bytes()));
        bounds
    }

    #[test]
    fn short_values_are_bounds_themselves() {
        let bounds = of(&["b", "abc", "zwölf"]);
        assert_eq!((bounds.min(), bounds.max()), (Some((&b"abc"[..], true)), Some(("zwölf".into(), true))));
        assert_eq!((Bounds::default().min(), Bounds::default().max()), (None, None));
    }

    #[test]
    fn bounds_of_long_values_are_cut_between_characters() {
        let long = format!("{}é", "a".repeat(63));
        assert_eq!(of(&[&long]).min(), Some(("a".repeat(63).as_bytes(), false)));
        assert_eq!(of(&[&long]).max(), Some((format!("{}b", "a".repeat(62)).into_bytes(), false)));
        assert_eq!(of(&["\u{10FFFF}".repeat(20).as_str()]).max(), None);
        assert_eq!(next_after(&[1, 0xFF]), Some(vec![2]));
        assert_eq!(next_after(&[0xFF]), None);
    }

    proptest! {
        #[test]
        fn every_value_is_between_the_bounds(
            values in proptest::collection::vec("[ab\u{d7ff}\u{10ffff}]{0,70}", 1..6),
            split in 0_usize..6,
        ) {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            let split = split.min(values.len());
            let mut bounds = of(&values[..split]);
            bounds.join(&of(&values[split..]));
            prop_assert_eq!(&bounds, &of(&values));
            let (min, is_exact) = bounds.min().unwrap();
            let smallest = values.iter().min().unwrap().as_bytes();
            prop_assert!(min <= smallest && (!is_exact || min == smallest));
            if let Some((max, is_exact)) = bounds.max() {
                let largest = values.iter().max().unwrap().as_bytes();
                prop_assert!(max.as_slice() >= largest && (!is_exact || max == largest));
            }
        }
    }
}
