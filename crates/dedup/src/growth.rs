//! What comes on top where only a part of the text was read.
//!
//! A window that lies in `c` stretches of the text is seen in fewer of them, by chance. How many different windows all of the text has
//! follows from how many were seen in one stretch, in two and so on (Good and Toulmin, 1956; smoothed like Orlitsky, Suresh and Wu, 2016);
//! and these are what stays. Windows that were seen once are taken for what they are, on average: nothing is added to them.

use super::Rule;
use gristmill_core::dedup::{Keep, LEAST_COUNT};

/// So many times the text that was read is told of, at most; beyond that chance is all there is.
const FURTHEST: f64 = 4.0;
/// Terms of the series that are smoothed.
const TRIALS: usize = 4;
/// Lots of stretches of which each is left out once, to tell how much depends on which ones were read.
const LOTS: usize = 8;
/// Bytes of text of one lot that lie together, as a power of two.
const TOGETHER: u32 = 16;

/// How much of the text was read.
#[derive(Clone, Copy, Debug)]
pub struct ReadShare<'a> {
    /// The part of it, from 0 to 1.
    pub part: f64,
    /// Where the stretches begin that were read, in order: each was read or not by chance, and as a whole.
    pub stretches: &'a [u64],
}

impl ReadShare<'_> {
    /// All of it.
    pub const WHOLE: Self = Self { part: 1.0, stretches: &[] };

    /// In how many of the stretches these places are, which are in order.
    pub(super) fn count_stretches(&self, places: impl Iterator<Item = u64>) -> usize {
        let mut before = None;
        places
            .filter(|at| {
                let stretch = self.stretches.partition_point(|start| start <= at);
                before.replace(stretch) != Some(stretch)
            })
            .count()
    }

    /// Whether what comes on top can be told for all of the text under a rule, and not just for some of it.
    pub fn tells_all(&self, rule: &Rule) -> bool {
        self.part >= 1.0 || (self.part * FURTHEST >= 1.0 && rule.min_count <= LEAST_COUNT)
    }
}

/// How many windows stay in the text that is told of, for each that was seen.
#[derive(Clone, Copy, Debug)]
struct SurvivalOdds {
    part: f64,
    keep: Keep,
    /// For windows seen in one stretch more than the place: how much of the term counts.
    weights: [f64; TRIALS + 1],
}

impl SurvivalOdds {
    fn new(part: f64, keep: Keep) -> Self {
        let part = part.max(1.0 / FURTHEST);
        let times = (1.0 - part) / part;
        // Chances of a coin that falls so often at least.
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

    /// Places that stay of a window that was seen in so many stretches, for each that was read.
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

/// Windows of the text that was read, and how many places stay for them.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    windows: f64,
    stay: f64,
}

/// Goes through all windows that were seen.
#[derive(Debug)]
pub(super) struct Extrapolation<'a> {
    seen: ReadShare<'a>,
    own: u64,
    outlook: SurvivalOdds,
    /// The same where a lot is missing.
    fewer: SurvivalOdds,
    lots: [Count; LOTS],
    /// Windows with one place, of each lot.
    singles: [f64; LOTS],
}

/// What comes on top of one place of a window, and in how many stretches that window was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Grown {
    pub(super) removable: f32,
    pub(super) stretches: u16,
}

impl<'a> Extrapolation<'a> {
    /// For text of which a part was read; before `own` lies the text of which nothing is removed. `None` where nothing can be told.
    pub(super) fn new(seen: ReadShare<'a>, rule: &Rule, own: u64) -> Option<Self> {
        if seen.part >= 1.0 || rule.min_count > LEAST_COUNT {
            return None;
        }
        Some(Self {
            seen,
            own,
            outlook: SurvivalOdds::new(seen.part, rule.keep),
            fewer: SurvivalOdds::new(seen.part * (LOTS - 1) as f64 / LOTS as f64, rule.keep),
            lots: [Count::default(); LOTS],
            singles: [0.0; LOTS],
        })
    }

    /// Takes the places of one window, in order, of which so many stay by what was seen.
    pub(super) fn add(&mut self, places: impl ExactSizeIterator<Item = u64>, stay: usize) -> Grown {
        let count = places.len();
        // Stretches with a place, those of the text of which nothing is removed, and own places: all, and those of each lot.
        let (mut all, mut earlier, mut own) = ([0_usize; LOTS], [0_usize; LOTS], [0_usize; LOTS]);
        let (mut before, mut lot) = (None, 0);
        for at in places {
            if count == 1 {
                if at >= self.own {
                    self.singles[lot_of(at)] += 1.0;
                }
                return Grown { removable: 0.0, stretches: 1 };
            }
            let stretch = self.seen.stretches.partition_point(|start| *start <= at);
            let is_own = at >= self.own;
            if before.replace((stretch, is_own)) != Some((stretch, is_own)) {
                lot = lot_of(at);
                all[lot] += 1;
                earlier[lot] += usize::from(!is_own);
            }
            own[lot] += usize::from(is_own);
        }
        let sums = [all, earlier, own].map(|lots| lots.iter().sum::<usize>());
        let own_count = sums[2];
        if own_count == 0 {
            return Grown::default();
        }
        let is_apart = sums[0] == count;
        let stays = |outlook: &SurvivalOdds, [all, earlier, own]: [usize; 3]| match outlook.keep {
            _ if own == 0 => 0.0,
            Keep::First => outlook.stays(all) - outlook.stays(earlier),
            // Two places in a stretch go, whatever else there is.
            Keep::None if is_apart && all > 0 => outlook.stays(all) * own as f64 / all as f64,
            Keep::None => 0.0,
        };
        for (number, lot) in self.lots.iter_mut().enumerate() {
            let rest = [sums[0] - all[number], sums[1] - earlier[number], sums[2] - own[number]];
            lot.windows += rest[2] as f64;
            lot.stay += stays(&self.fewer, rest);
        }
        let gone = stay as f64 - stays(&self.outlook, sums);
        Grown { removable: (gone / own_count as f64) as f32, stretches: sums[0].try_into().unwrap_or(u16::MAX) }
    }

    /// How far the part of all windows that is removable may be off by which stretches were read: one standard deviation, by leaving
    /// out each lot.
    pub(super) fn spread(&self) -> f64 {
        let singles: f64 = self.singles.iter().sum();
        let mut shares = [0.0; LOTS];
        for ((share, lot), own) in shares.iter_mut().zip(&self.lots).zip(self.singles) {
            let (windows, stay) = (lot.windows + singles - own, lot.stay + singles - own);
            *share = if windows == 0.0 { 0.0 } else { 1.0 - stay / windows };
        }
        let mean = shares.iter().sum::<f64>() / LOTS as f64;
        let squares: f64 = shares.iter().map(|share| (share - mean) * (share - mean)).sum();
        (squares * (LOTS - 1) as f64 / LOTS as f64).sqrt()
    }
}

fn lot_of(at: u64) -> usize {
    (super::gear::mix(at >> TOGETHER) % LOTS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told on average of a window that lies in so many stretches.
    fn told(outlook: &SurvivalOdds, places: usize) -> f64 {
        let (p, mut chance, mut sum) = (outlook.part, 1.0, 0.0);
        for seen in 0..=places {
            let all = chance * p.powi(seen as i32) * (1.0 - p).powi((places - seen) as i32);
            sum += all * outlook.stays(seen) / p;
            chance *= (places - seen) as f64 / (seen + 1) as f64;
        }
        sum
    }

    #[test]
    fn on_average_what_stays_is_told_whatever_part_was_read() {
        for (part, most) in [(0.9, 0.001), (0.5, 0.01), (0.4, 0.03), (0.25, 0.11)] {
            let [first, none] = [Keep::First, Keep::None].map(|keep| SurvivalOdds::new(part, keep));
            assert!((told(&first, 1) - 1.0).abs() < 1e-9 && (told(&none, 1) - 1.0).abs() < 1e-9, "{part}");
            for places in [2, 3, 4, 6, 10, 30] {
                let (told, gone) = (told(&first, places), told(&none, places));
                assert!((told - 1.0).abs() < most, "{part} {places}: {told}");
                assert!(gone.abs() < 3.0 * most * places as f64, "{part} {places}: {gone}");
            }
        }
    }

    #[test]
    fn of_text_of_which_little_was_read_no_more_is_told_than_of_four_times_as_much() {
        let outlook = SurvivalOdds::new(0.001, Keep::First);
        assert_eq!(outlook.part, 0.25);
        let rule = Rule { min_length: 500, keep: Keep::First, min_count: 2 };
        let seen = |part| ReadShare { part, stretches: &[] };
        assert!(seen(0.3).tells_all(&rule) && !seen(0.2).tells_all(&rule));
        assert!(!seen(0.9).tells_all(&Rule { min_count: 3, ..rule }) && ReadShare::WHOLE.tells_all(&rule));
    }
}
