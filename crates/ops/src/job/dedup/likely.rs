//! Likely shares of removed text for several lengths: a longer minimum length never removes more than a shorter one, and each share has
//! bounds.

use super::LengthEstimate;

/// Maximum distance between the bounds of a share, and minimum distance of each bound from the share.
const MAX_BOUND_DISTANCE: f64 = 0.25;
const MIN_BOUND_DISTANCE: f64 = 0.04;
/// Standard deviations between a share and its bounds.
const MAX_DEVIATIONS: f64 = 4.0;

/// Adjusts the shares of the lengths, given in any order, so that they never increase with the length, and sets bounds for shares that are
/// not exact. `deviation` returns the standard deviation of a share. If little of the text was read, there is no upper bound, and the
/// bounds are as wide as allowed.
pub(super) fn make_monotonic(lengths: &mut [LengthEstimate], deviation: impl Fn(&LengthEstimate) -> f64) {
    let mut all: Vec<&mut LengthEstimate> = lengths.iter_mut().filter(|length| !length.is_exact).collect();
    all.sort_by_key(|length| length.min_length);
    let half = |length: &LengthEstimate| match length.most_share {
        Some(_) => (MAX_DEVIATIONS * deviation(length)).clamp(MIN_BOUND_DISTANCE, MAX_BOUND_DISTANCE / 2.0),
        None => MAX_BOUND_DISTANCE / 2.0,
    };
    let bounds = |length: &LengthEstimate| {
        let half = half(length);
        let least = (length.share - half).max(length.least_share.min(length.share)).max(0.0);
        let most = (least + 2.0 * half).min(1.0);
        ((most - 2.0 * half).max(0.0).min(length.share), most)
    };
    let weights: Vec<f64> = all.iter().map(|length| 1.0 / half(length).powi(2)).collect();
    let falling = |of: &dyn Fn(&LengthEstimate) -> f64| {
        let values: Vec<f64> = all.iter().map(|length| of(length)).collect();
        fit_non_increasing(&values, &weights)
    };
    let (shares, least) = (falling(&|length| length.share), falling(&|length| bounds(length).0));
    let most = falling(&|length| bounds(length).1);
    for (((length, share), least), most) in all.iter_mut().zip(shares).zip(least).zip(most) {
        (length.share, length.least_share, length.most_share) = (share, least.min(share), Some(most.max(share)));
    }
}

/// Returns the non-increasing values that are nearest to `values` by the sum of weighted squares: increasing neighbours are replaced by
/// their mean.
fn fit_non_increasing(values: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (value, weight) in values.iter().zip(weights) {
        let mut block = (*value, *weight, 1);
        while let Some(before) = blocks.pop_if(|before| before.0 < block.0) {
            let weight = before.1 + block.1;
            block = ((before.0 * before.1 + block.0 * block.1) / weight, weight, before.2 + block.2);
        }
        blocks.push(block);
    }
    blocks.into_iter().flat_map(|(value, _, count)| std::iter::repeat_n(value, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(min_length: u64, share: f64, most_share: Option<f64>) -> LengthEstimate {
        let (removed_bytes, margin_bytes, least_share, is_exact) = (0, 0, share / 2.0, false);
        LengthEstimate { min_length, share, removed_bytes, margin_bytes, least_share, most_share, is_exact }
    }

    #[test]
    fn longer_minimum_length_never_removes_more_and_bounds_stay_narrow() {
        for most in [Some(0.5), None] {
            for shares in [[0.102, 0.055, 0.076], [0.9, 0.95, 1.0], [0.0, 0.0, 0.4], [0.5, 0.3, 0.1], [1.0, 0.0, 0.02]]
            {
                for deviation in [0.0, 0.01, 0.2] {
                    let lengths = [200, 50, 100].map(|length| (length, shares[(length / 100) as usize]));
                    let mut lengths = lengths.map(|(min_length, share)| length(min_length, share, most));
                    make_monotonic(&mut lengths, |_| deviation);
                    lengths.sort_by_key(|length| length.min_length);
                    for (at, one) in lengths.iter().enumerate() {
                        let (least, most) = (one.least_share, one.most_share.unwrap());
                        assert!(0.0 <= least && least <= one.share && one.share <= most && most <= 1.0, "{one:?}");
                        assert!(most - least < MAX_BOUND_DISTANCE + 1e-9, "{one:?}");
                        let before = at.checked_sub(1).map_or(1.0, |at| lengths[at].share);
                        assert!(one.share <= before, "{lengths:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn exact_length_estimate_is_unchanged() {
        let exact = LengthEstimate { is_exact: true, ..length(50, 0.1, Some(0.1)) };
        let mut lengths = [exact];
        make_monotonic(&mut lengths, |_| 0.1);
        assert_eq!(lengths, [exact]);
    }
}
