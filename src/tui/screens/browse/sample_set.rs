//! A set of samples with one bit for each sample, so that the matches among ten million samples take about a megabyte.

use gristmill_ops::engine::browse::SampleAt;
use std::collections::BTreeMap;

/// A set of samples, ordered as in the data set.
#[derive(Clone, Debug, Default)]
pub struct SampleSet {
    groups: BTreeMap<u32, Vec<u64>>,
    count: u64,
}

const BITS: u64 = u64::BITS as u64;

impl SampleSet {
    /// Adds samples; fast if consecutive samples are in the same group.
    pub fn extend(&mut self, samples: impl IntoIterator<Item = SampleAt>) {
        let mut samples = samples.into_iter().peekable();
        while let Some(first) = samples.peek().copied() {
            let words = self.groups.entry(first.group).or_default();
            while let Some(at) = samples.next_if(|at| at.group == first.group) {
                let Ok(word) = usize::try_from(at.index / BITS) else { continue };
                if words.len() <= word {
                    words.resize(word + 1, 0);
                }
                let bit = 1 << (at.index % BITS);
                if let Some(bits) = words.get_mut(word).filter(|bits| **bits & bit == 0) {
                    *bits |= bit;
                    self.count += 1;
                }
            }
        }
    }

    /// Returns the number of samples in the set.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the set contains a sample.
    pub fn contains(&self, at: SampleAt) -> bool {
        let word = usize::try_from(at.index / BITS).ok().and_then(|word| self.groups.get(&at.group)?.get(word));
        word.is_some_and(|bits| bits >> (at.index % BITS) & 1 == 1)
    }

    /// Returns the first sample after `at`.
    pub fn after(&self, at: SampleAt) -> Option<SampleAt> {
        match at.index.checked_add(1) {
            Some(index) => self.from(SampleAt { index, ..at }),
            None => at.group.checked_add(1).and_then(|group| self.from(SampleAt { group, index: 0 })),
        }
    }

    /// Returns the first sample at or after `at`.
    pub fn from(&self, at: SampleAt) -> Option<SampleAt> {
        for (&group, words) in self.groups.range(at.group..) {
            let start = if group == at.group { at.index } else { 0 };
            let mut word = usize::try_from(start / BITS).unwrap_or(usize::MAX);
            let mut mask = u64::MAX << (start % BITS);
            while let Some(bits) = words.get(word) {
                let bits = bits & mask;
                if bits != 0 {
                    let index = word as u64 * BITS + u64::from(bits.trailing_zeros());
                    return Some(SampleAt { group, index });
                }
                mask = u64::MAX;
                word += 1;
            }
        }
        None
    }

    /// Returns the last sample before `at`.
    pub fn before(&self, at: SampleAt) -> Option<SampleAt> {
        for (&group, words) in self.groups.range(..=at.group).rev() {
            // Exclusive upper bound of the indexes.
            let end = if group == at.group { at.index } else { words.len() as u64 * BITS };
            let end = end.min(words.len() as u64 * BITS);
            for word in (0..usize::try_from(end.div_ceil(BITS)).unwrap_or(0)).rev() {
                let first = word as u64 * BITS;
                let kept = end.saturating_sub(first).min(BITS);
                let mask = if kept == BITS { u64::MAX } else { (1 << kept) - 1 };
                let bits = words.get(word).copied().unwrap_or(0) & mask;
                if bits != 0 {
                    let index = first + BITS - 1 - u64::from(bits.leading_zeros());
                    return Some(SampleAt { group, index });
                }
            }
        }
        None
    }

    /// Returns the first sample.
    pub fn first(&self) -> Option<SampleAt> {
        self.from(SampleAt { group: 0, index: 0 })
    }

    /// Returns the last sample.
    pub fn last(&self) -> Option<SampleAt> {
        self.before(SampleAt { group: u32::MAX, index: u64::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn sample_set_neighbours_equal_those_of_a_btree_set() {
        let mut found = SampleSet::default();
        let mut model: BTreeSet<(u32, u64)> = BTreeSet::new();
        let mut seed = 7_u64;
        for _ in 0..400 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = ((seed >> 40) as u32 % 5, (seed >> 20) % 300);
            found.extend([SampleAt { group: at.0, index: at.1 }]);
            model.insert(at);
        }
        let place = |at: SampleAt| (at.group, at.index);
        assert_eq!(found.count(), model.len() as u64);
        for group in 0..6 {
            for index in 0..310 {
                let at = SampleAt { group, index };
                assert_eq!(found.contains(at), model.contains(&(group, index)));
                assert_eq!(found.from(at).map(place), model.range((group, index)..).next().copied());
                assert_eq!(found.after(at).map(place), model.range((group, index + 1)..).next().copied());
                assert_eq!(found.before(at).map(place), model.range(..(group, index)).next_back().copied());
            }
        }
        assert_eq!(found.first().map(place), model.first().copied());
        assert_eq!(found.last().map(place), model.last().copied());
        assert_eq!(SampleSet::default().last(), None);
    }
}
