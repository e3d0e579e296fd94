//! Extrapolates from the part of the text that was read to the whole text.
//!
//! A window that is in `c` ranges of the text is seen in a random number of them, at most `c`. The number of distinct windows in the whole
//! text, which is the number of windows that are kept, is estimated from the numbers of windows seen in one range, in two ranges and so on
//! (Good and Toulmin, 1956; smoothed like Orlitsky, Suresh and Wu, 2016). A window that was seen once adds nothing on average.

use super::Rule;
use gristmill_core::dedup::{Keep, LEAST_COUNT};

/// The estimate covers at most this multiple of the text that was read, because random error dominates beyond it.
const MAX_EXTRAPOLATION: f64 = 4.0;
/// Number of terms of the smoothed series.
const TRIALS: usize = 4;
/// Number of lots of ranges. Each lot is omitted once, to measure the effect of the choice of ranges.
const GROUPS: usize = 8;
/// Size of a contiguous part of a lot, as a binary logarithm of bytes.
const LOG2_GROUP_BYTES: u32 = 16;

/// The part of the text that was read.
#[derive(Clone, Copy, Debug)]
pub struct ReadShare<'a> {
    /// The share of the text that was read, from 0 to 1.
    pub part: f64,
    /// Start positions of the ranges that were read, in order. Each range was chosen randomly and read completely.
    pub range_starts: &'a [u64],
}

impl ReadShare<'_> {
    /// The share for text that was read completely.
    pub const WHOLE: Self = Self { part: 1.0, range_starts: &[] };

    /// Returns the number of ranges that contain these positions, which must be sorted.
    pub(super) fn count_ranges(&self, places: impl Iterator<Item = u64>) -> usize {
        let mut before = None;
        places
            .filter(|at| {
                let stretch = self.range_starts.partition_point(|start| start <= at);
                before.replace(stretch) != Some(stretch)
            })
            .count()
    }

    /// Whether the extrapolation covers the whole text under a rule, instead of a part of it.
    pub fn covers_all(&self, rule: &Rule) -> bool {
        self.part >= 1.0 || (self.part * MAX_EXTRAPOLATION >= 1.0 && rule.min_count <= LEAST_COUNT)
    }
}

/// Estimates the number of windows that are kept in the covered text, per window seen.
#[derive(Clone, Copy, Debug)]
struct SurvivalOdds {
    part: f64,
    keep: Keep,
    /// Weights of the terms: index `i` is for windows seen in `i + 1` ranges.
    weights: [f64; TRIALS + 1],
}

impl SurvivalOdds {
    fn new(part: f64, keep: Keep) -> Self {
        let part = part.max(1.0 / MAX_EXTRAPOLATION);
        let times = (1.0 - part) / part;
        // Tail probabilities of the binomial distribution.
        let chance = 2.0 / (2.0 + times);
        let mut exactly = [0.0; TRIALS + 1];
        exactly[0] = 1.0;
        for _ in 0..TRIALS {
            let before = exactly;
            for (at, share) in exactly.iter_mut().enumerate() {
                let below = at.checked_sub(1).and_then(|below| before.get(below)).copied().unwrap_or_default();
                *share = *share * (1.0 - chance) + below * chance;
            }
        }
        let mut weights = exactly;
        for at in (0..TRIALS).rev() {
            weights[at] += weights[at + 1];
        }
        Self { part, keep, weights }
    }

    /// Returns the number of kept occurrences of a window seen in `stretches` ranges, per occurrence that was read.
    fn stays(&self, stretches: usize) -> f64 {
        let Some(more) = stretches.checked_sub(1) else { return 0.0 };
        let weight = self.weights.get(more).copied().unwrap_or_default();
        let times = -(1.0 - self.part) / self.part;
        let term = if weight == 0.0 { 0.0 } else { times.powi(i32::try_from(more).unwrap_or(i32::MAX)) * weight };
        match self.keep {
            Keep::First => self.part + (1.0 - self.part) * term,
            Keep::None => stretches as f64 * term,
        }
    }
}

/// Number of windows of the text that was read, and number of their occurrences that are kept.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    windows: f64,
    stay: f64,
}

/// Accumulates the extrapolation over all windows seen.
#[derive(Debug)]
pub(super) struct Extrapolation<'a> {
    read_share: ReadShare<'a>,
    /// Position before which nothing is removed.
    own: u64,
    survival: SurvivalOdds,
    /// The same odds with one lot omitted.
    fewer: SurvivalOdds,
    groups: [Count; GROUPS],
    /// Number of windows with one occurrence, per lot.
    singles: [f64; GROUPS],
}

/// The extrapolated addition for one occurrence of a window, and the number of ranges in which the window was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AddedShare {
    pub(super) removable: f32,
    pub(super) range_count: u16,
}

impl<'a> Extrapolation<'a> {
    /// Returns an extrapolation for text that was partly read. Nothing is removed from the text before `own`. Returns `None` if no
    /// extrapolation is possible.
    pub(super) fn new(seen: ReadShare<'a>, rule: &Rule, own: u64) -> Option<Self> {
        if seen.part >= 1.0 || rule.min_count > LEAST_COUNT {
            return None;
        }
        Some(Self {
            read_share: seen,
            own,
            survival: SurvivalOdds::new(seen.part, rule.keep),
            fewer: SurvivalOdds::new(seen.part * (GROUPS - 1) as f64 / GROUPS as f64, rule.keep),
            groups: [Count::default(); GROUPS],
            singles: [0.0; GROUPS],
        })
    }

    /// Adds the sorted positions of one window, of which `stay` are kept according to the text that was read.
    pub(super) fn add(&mut self, places: impl ExactSizeIterator<Item = u64>, stay: usize) -> AddedShare {
        let count = places.len();
        // For each lot: number of ranges with an occurrence, number of such ranges in the text from which nothing is removed, and number of
        // own occurrences.
        let (mut all, mut earlier, mut own) = ([0_usize; GROUPS], [0_usize; GROUPS], [0_usize; GROUPS]);
        let (mut before, mut lot) = (None, 0);
        for at in places {
            if count == 1 {
                if at >= self.own {
                    self.singles[group_of(at)] += 1.0;
                }
                return AddedShare { removable: 0.0, range_count: 1 };
            }
            let stretch = self.read_share.range_starts.partition_point(|start| *start <= at);
            let is_own = at >= self.own;
            if before.replace((stretch, is_own)) != Some((stretch, is_own)) {
                lot = group_of(at);
                all[lot] += 1;
                earlier[lot] += usize::from(!is_own);
            }
            own[lot] += usize::from(is_own);
        }
        let sums = [all, earlier, own].map(|lots| lots.iter().sum::<usize>());
        let own_count = sums[2];
        if own_count == 0 {
            return AddedShare::default();
        }
        let is_apart = sums[0] == count;
        let stays = |odds: &SurvivalOdds, [all, earlier, own]: [usize; 3]| match odds.keep {
            _ if own == 0 => 0.0,
            Keep::First => odds.stays(all) - odds.stays(earlier),
            // Two occurrences in the same range are removed in any case.
            Keep::None if is_apart && all > 0 => odds.stays(all) * own as f64 / all as f64,
            Keep::None => 0.0,
        };
        for (number, lot) in self.groups.iter_mut().enumerate() {
            let rest = [sums[0] - all[number], sums[1] - earlier[number], sums[2] - own[number]];
            lot.windows += rest[2] as f64;
            lot.stay += stays(&self.fewer, rest);
        }
        let gone = stay as f64 - stays(&self.survival, sums);
        AddedShare { removable: (gone / own_count as f64) as f32, range_count: sums[0].try_into().unwrap_or(u16::MAX) }
    }

    /// Returns the standard deviation of the removable share of all windows caused by the choice of ranges, computed by omitting each lot.
    pub(super) fn spread(&self) -> f64 {
        let singles: f64 = self.singles.iter().sum();
        let mut shares = [0.0; GROUPS];
        for ((share, lot), own) in shares.iter_mut().zip(&self.groups).zip(self.singles) {
            let (windows, stay) = (lot.windows + singles - own, lot.stay + singles - own);
            *share = if windows == 0.0 { 0.0 } else { 1.0 - stay / windows };
        }
        let mean = shares.iter().sum::<f64>() / GROUPS as f64;
        let squares: f64 = shares.iter().map(|share| (share - mean) * (share - mean)).sum();
        (squares * (GROUPS - 1) as f64 / GROUPS as f64).sqrt()
    }
}

fn group_of(at: u64) -> usize {
    (super::window_hash::mix(at >> LOG2_GROUP_BYTES) % GROUPS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the average estimate for a window that is in `places` ranges.
    fn average_estimate(odds: &SurvivalOdds, places: usize) -> f64 {
        let (p, mut chance, mut sum) = (odds.part, 1.0, 0.0);
        for seen in 0..=places {
            let all = chance * p.powi(seen as i32) * (1.0 - p).powi((places - seen) as i32);
            sum += all * odds.stays(seen) / p;
            chance *= (places - seen) as f64 / (seen + 1) as f64;
        }
        sum
    }

    #[test]
    fn survival_estimate_is_unbiased_for_every_read_share() {
        for (part, most) in [(0.9, 0.001), (0.5, 0.01), (0.4, 0.03), (0.25, 0.11)] {
            let [first, none] = [Keep::First, Keep::None].map(|keep| SurvivalOdds::new(part, keep));
            assert!(
                (average_estimate(&first, 1) - 1.0).abs() < 1e-9 && (average_estimate(&none, 1) - 1.0).abs() < 1e-9,
                "{part}"
            );
            for places in [2, 3, 4, 6, 10, 30] {
                let (estimated, gone) = (average_estimate(&first, places), average_estimate(&none, places));
                assert!((estimated - 1.0).abs() < most, "{part} {places}: {estimated}");
                assert!(gone.abs() < 3.0 * most * places as f64, "{part} {places}: {gone}");
            }
        }
    }

    #[test]
    fn limits_extrapolation_to_four_times_read_text() {
        let odds = SurvivalOdds::new(0.001, Keep::First);
        assert_eq!(odds.part, 0.25);
        let rule = Rule { min_length: 500, keep: Keep::First, min_count: 2 };
        let seen = |part| ReadShare { part, range_starts: &[] };
        assert!(seen(0.3).covers_all(&rule) && !seen(0.2).covers_all(&rule));
        assert!(!seen(0.9).covers_all(&Rule { min_count: 3, ..rule }) && ReadShare::WHOLE.covers_all(&rule));
    }
}
