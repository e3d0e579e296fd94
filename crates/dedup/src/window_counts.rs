//! Estimates the removable share of the whole text from the number of ranges in which windows of a part of it were seen.
//!
//! If a window is in `m` ranges of the text, the number of ranges in which it is seen follows a binomial distribution. Of all mixtures of
//! such distributions, the one with the maximum likelihood of the observed counts is used (nonparametric maximum likelihood, by expectation
//! maximisation). Unlike the series of [`super::growth`], it gives a result for parts of any size and for every rule, but it is not
//! unbiased.

use super::Rule;
use gristmill_core::dedup::Keep;

/// Windows seen in at least this many ranges are not extrapolated.
const FREQUENT: usize = 24;
/// Maximum number of iterations.
const MAX_STEPS: usize = 4_000;
/// Change in an iteration below which the search ends, relative to the total.
const MIN_STEP_CHANGE: f64 = 1e-7;
/// Ratio between consecutive multiplicities of the mixture.
const MULTIPLICITY_RATIO: f64 = 1.2;

/// Counts of windows by the number of ranges in which they were seen.
#[derive(Debug)]
pub(super) struct WindowCounts {
    /// The share of the text that was read, from 0 to 1.
    part: f64,
    /// Number of windows seen in a number of ranges; the index is that number minus one.
    windows: [f64; FREQUENT - 1],
    /// Number of occurrences of these windows, and number of ranges that contain them.
    places: f64,
    range_count: f64,
    /// Number of occurrences of windows that were seen in more ranges.
    frequent: f64,
}

impl WindowCounts {
    pub(super) fn new(part: f64) -> Self {
        let part = part.clamp(1e-6, 1.0);
        Self { part, windows: [0.0; FREQUENT - 1], places: 0.0, range_count: 0.0, frequent: 0.0 }
    }

    /// Adds a window with `places` occurrences in `stretches` ranges.
    pub(super) fn add(&mut self, stretches: usize, places: usize) {
        match stretches.checked_sub(1).and_then(|more| self.windows.get_mut(more)) {
            Some(windows) => {
                *windows += 1.0;
                self.places += places as f64;
                self.range_count += stretches as f64;
            }
            None => self.frequent += places as f64,
        }
    }

    /// Returns the share of all windows that is removable under a rule, from 0 to 1.
    pub(super) fn removable(&self, rule: &Rule) -> f64 {
        let all = self.places + self.frequent;
        if all == 0.0 {
            return 0.0;
        }
        // If windows occur several times in a range, more of them is removable.
        let each = self.places / self.range_count.max(1.0);
        let goes = |stretches: f64| match rule.keep {
            _ if stretches * each < rule.min_count as f64 => 0.0,
            Keep::First => stretches * each - 1.0,
            Keep::None => stretches * each,
        };
        let mixture = self.mixture();
        // The part of the mixture that is seen too rarely to be frequent.
        let rare = |law: &RangeDistribution| law.mass * (law.p_unseen + law.chances.iter().sum::<f64>());
        let removable: f64 = mixture.iter().map(|law| rare(law) * goes(law.range_count)).sum();
        let places: f64 = mixture.iter().map(|law| rare(law) * law.range_count * each).sum();
        let share = if places > 0.0 { removable / places } else { 0.0 };
        ((self.places * share + self.frequent) / all).clamp(0.0, 1.0)
    }

    /// Returns the distributions of the mixture with their masses.
    fn mixture(&self) -> Vec<RangeDistribution> {
        let most = self.windows.iter().rposition(|windows| *windows > 0.0).map_or(0, |at| at + 1);
        let seen = self.windows.get(..most).unwrap_or_default();
        let mut laws = Vec::new();
        let mut stretches = 1.0_f64;
        while stretches <= 2.0 * (most + 1) as f64 / self.part {
            laws.push(RangeDistribution::new(stretches, self.part));
            stretches = (stretches * MULTIPLICITY_RATIO).round().max(stretches + 1.0);
        }
        let all: f64 = seen.iter().sum();
        laws.iter_mut().for_each(|law| law.mass = all / law.range_count);
        for _ in 0..MAX_STEPS {
            let expected: Vec<f64> =
                (0..most).map(|at| laws.iter().map(|law| law.mass * law.chance(at)).sum()).collect();
            let ratios: Vec<f64> =
                seen.iter().zip(&expected).map(|(seen, predicted)| seen / predicted.max(1e-300)).collect();
            let mut change = 0.0;
            for law in &mut laws {
                // That no window was seen in more ranges is also part of the likelihood.
                let visible: f64 = law.chances.iter().sum();
                let factor = law.chances.iter().zip(&ratios).map(|(chance, ratio)| chance * ratio).sum::<f64>();
                let mass = law.mass * factor / visible.max(1e-300);
                change += (mass - law.mass).abs() * visible;
                law.mass = mass;
            }
            if change < MIN_STEP_CHANGE * all {
                break;
            }
        }
        laws
    }
}

/// The windows that are in `range_count` ranges of the whole text.
#[derive(Debug)]
struct RangeDistribution {
    range_count: f64,
    /// The probabilities of being seen in no range, and in 1, 2, … ranges.
    p_unseen: f64,
    chances: Vec<f64>,
    mass: f64,
}

impl RangeDistribution {
    fn new(stretches: f64, part: f64) -> Self {
        let odds = part / (1.0 - part).max(1e-9);
        let unseen = (1.0 - part).max(1e-9).powf(stretches);
        let mut chance = unseen;
        let of = |seen: usize| {
            chance *= (stretches - seen as f64).max(0.0) / (seen + 1) as f64 * odds;
            chance
        };
        Self { range_count: stretches, p_unseen: unseen, chances: (0..FREQUENT - 1).map(of).collect(), mass: 0.0 }
    }

    fn chance(&self, at: usize) -> f64 {
        self.chances.get(at).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the expected counts for windows in the given numbers of ranges of the text.
    fn expected_counts(part: f64, windows: &[(usize, f64)]) -> WindowCounts {
        let mut unseen = WindowCounts::new(part);
        for (stretches, count) in windows {
            let law = RangeDistribution::new(*stretches as f64, part);
            for (at, chance) in law.chances.iter().enumerate() {
                unseen.windows[at] += count * chance;
                unseen.places += count * chance * (at + 1) as f64;
                unseen.range_count += count * chance * (at + 1) as f64;
            }
            let places = *stretches as f64 * part * count;
            let kept: f64 = law.chances.iter().zip(1..).map(|(chance, at)| count * chance * f64::from(at)).sum();
            unseen.frequent += places - kept;
        }
        unseen
    }

    #[test]
    fn removable_share_does_not_depend_on_the_read_share() {
        let rule = |keep, min_count| Rule { min_length: 100, keep, min_count };
        let texts: [&[(usize, f64)]; 5] = [
            &[(1, 1e6)],
            &[(1, 6e5), (2, 2e5)],
            &[(1, 5e5), (2, 1e5), (5, 3e4), (1_000, 2e2)],
            &[(3, 1e5)],
            &[(1, 1e6), (5_000, 40.0)],
        ];
        for part in [0.05, 0.1, 0.25, 0.6] {
            for windows in texts {
                let all: f64 = windows.iter().map(|(times, count)| *times as f64 * count).sum();
                for (keep, min_count) in [(Keep::First, 2), (Keep::None, 2), (Keep::First, 3)] {
                    let goes = |times: usize| match keep {
                        _ if (times as u64) < min_count => 0.0,
                        Keep::First => times as f64 - 1.0,
                        Keep::None => times as f64,
                    };
                    let truth = windows.iter().map(|(times, count)| goes(*times) * count).sum::<f64>() / all;
                    let found = expected_counts(part, windows).removable(&rule(keep, min_count));
                    // The number of occurrences of a passage is estimated less accurately than whether it repeats.
                    let most = if min_count > 2 { 0.16 } else { 0.05 };
                    assert!((found - truth).abs() < most, "{part} {keep:?} {min_count} {windows:?}: {found} {truth}");
                }
            }
        }
        assert_eq!(WindowCounts::new(0.1).removable(&rule(Keep::First, 2)), 0.0);
    }
}
