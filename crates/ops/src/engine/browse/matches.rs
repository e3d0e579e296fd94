//! The samples that a filter accepts: one bit per sample, with counts in between, so that the k-th match of 10⁷ is found quickly and all
//! matches together take two megabytes.

use super::SampleAt;
use std::sync::Arc;

/// Bitmap words between two stored counts.
const WORDS_PER_COUNT: usize = 8;

/// The matches in one group.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Bits {
    /// All samples of the group match; contains their number.
    All(u64),
    /// One bit per sample; `ranks` contains the number of matches before every eighth word.
    Some { words: Vec<u64>, ranks: Vec<u32>, count: u64 },
}

/// Collects the matches of one group. Allocates memory only for samples that were read, not for the number that the file claims.
#[derive(Clone, Debug, Default)]
pub(super) struct BitsBuilder {
    words: Vec<u64>,
    count: u64,
}

/// End of the positions that can match, which limits the bitmap to a gigabyte. Higher positions are ignored.
const POSITIONS_END: u64 = 1 << 33;

impl BitsBuilder {
    /// Adds a position, usually higher than the previous ones.
    pub(super) fn add(&mut self, index: u64) {
        let Some(word) = usize::try_from(index / 64).ok().filter(|_| index < POSITIONS_END) else { return };
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            let bit = 1 << (index % 64);
            self.count += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }

    fn snapshot(&self) -> Bits {
        let mut ranks = Vec::with_capacity(self.words.len() / WORDS_PER_COUNT + 1);
        let mut before = 0u32;
        for block in self.words.chunks(WORDS_PER_COUNT) {
            ranks.push(before);
            before = before.saturating_add(block.iter().map(|word| word.count_ones()).sum());
        }
        Bits::Some { words: self.words.clone(), ranks, count: self.count }
    }
}

impl Bits {
    fn count(&self) -> u64 {
        match self {
            Self::All(count) | Self::Some { count, .. } => *count,
        }
    }

    fn contains(&self, index: u64) -> bool {
        match self {
            Self::All(count) => index < *count,
            Self::Some { words, .. } => {
                let word = usize::try_from(index / 64).ok().and_then(|at| words.get(at));
                word.is_some_and(|word| word >> (index % 64) & 1 == 1)
            }
        }
    }

    /// Returns the number of matches before `index`.
    fn rank(&self, index: u64) -> u64 {
        match self {
            Self::All(count) => index.min(*count),
            Self::Some { words, ranks, count } => {
                let at = usize::try_from(index / 64).unwrap_or(usize::MAX);
                let Some(word) = words.get(at) else { return *count };
                let block = at / WORDS_PER_COUNT;
                let before = u64::from(ranks.get(block).copied().unwrap_or(0));
                let between = words.get(block * WORDS_PER_COUNT..at).unwrap_or_default();
                let inside = word & ((1u64 << (index % 64)) - 1);
                before
                    + between.iter().map(|word| u64::from(word.count_ones())).sum::<u64>()
                    + u64::from(inside.count_ones())
            }
        }
    }

    /// Returns the position of match number `k`.
    fn select(&self, k: u64) -> Option<u64> {
        match self {
            Self::All(count) => (k < *count).then_some(k),
            Self::Some { words, ranks, count } => {
                if k >= *count {
                    return None;
                }
                let block = ranks.partition_point(|&rank| u64::from(rank) <= k).checked_sub(1)?;
                let mut left = k - u64::from(*ranks.get(block)?);
                for (at, word) in words.iter().enumerate().skip(block * WORDS_PER_COUNT) {
                    let ones = u64::from(word.count_ones());
                    if left < ones {
                        let mut word = *word;
                        for _ in 0..left {
                            word &= word - 1;
                        }
                        return Some(at as u64 * 64 + u64::from(word.trailing_zeros()));
                    }
                    left -= ones;
                }
                None
            }
        }
    }
}

/// The matches of a data set found so far; cheap to share, immutable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    groups: Vec<Arc<Bits>>,
    /// Number of matches before each group, followed by the total.
    starts: Vec<u64>,
    /// Whether all groups were searched.
    pub is_complete: bool,
    /// The first groups that could not be searched, with the reason.
    pub failures: Vec<(u32, Arc<str>)>,
}

impl Matches {
    /// Returns the number of matches.
    pub fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn bits(&self, group: u32) -> Option<&Bits> {
        self.groups.get(group as usize).map(|bits| &**bits)
    }

    /// Returns the number of matches in one group.
    pub fn in_group(&self, group: u32) -> u64 {
        self.bits(group).map_or(0, Bits::count)
    }

    /// Whether a sample matches.
    pub fn contains(&self, at: SampleAt) -> bool {
        self.bits(at.group).is_some_and(|bits| bits.contains(at.index))
    }

    /// Returns match number `k`, from 0, in the order of the data set.
    pub fn select(&self, k: u64) -> Option<SampleAt> {
        let group = self.starts.partition_point(|&start| start <= k).checked_sub(1)?;
        let index = self.groups.get(group)?.select(k - self.starts.get(group)?)?;
        Some(SampleAt { group: u32::try_from(group).ok()?, index })
    }

    /// Returns the number of matches before a sample.
    pub fn rank(&self, at: SampleAt) -> u64 {
        match self.starts.get(at.group as usize) {
            Some(start) => start + self.bits(at.group).map_or(0, |bits| bits.rank(at.index)),
            None => self.total(),
        }
    }

    /// Returns the first match after a sample.
    pub fn after(&self, at: SampleAt) -> Option<SampleAt> {
        self.select(self.rank(SampleAt { index: at.index.saturating_add(1), ..at }))
    }

    /// Returns the last match before a sample.
    pub fn before(&self, at: SampleAt) -> Option<SampleAt> {
        self.rank(at).checked_sub(1).and_then(|k| self.select(k))
    }
}

/// Builds [`Matches`] group by group.
#[derive(Debug, Default)]
pub(super) struct MatchesBuilder {
    groups: Vec<Arc<Bits>>,
    /// Number of each group that failed, and why.
    failures: Vec<(u32, Arc<str>)>,
}

/// Limit of recorded failures.
const MAX_FAILURES: usize = 100;

impl MatchesBuilder {
    /// Ends a group and adds its matches.
    pub(super) fn finish_group(&mut self, bits: &BitsBuilder) {
        self.groups.push(Arc::new(bits.snapshot()));
    }

    /// Adds a group of `count` samples that all match; with a count of 0 no sample matches.
    pub(super) fn whole_group(&mut self, count: u64) {
        self.groups.push(Arc::new(Bits::All(count)));
    }

    /// Records that the next group could not be searched.
    pub(super) fn failed(&mut self, group: u32, why: Arc<str>) {
        if self.failures.len() < MAX_FAILURES {
            self.failures.push((group, why));
        }
    }

    /// Returns the matches found so far, including those of the group that is being searched.
    pub(super) fn snapshot(&self, current: Option<&BitsBuilder>, is_complete: bool) -> Matches {
        let mut groups = self.groups.clone();
        groups.extend(current.map(|bits| Arc::new(bits.snapshot())));
        let mut starts = Vec::with_capacity(groups.len() + 1);
        let mut before = 0u64;
        starts.push(0);
        for bits in &groups {
            before = before.saturating_add(bits.count());
            starts.push(before);
        }
        Matches { groups, starts, is_complete, failures: self.failures.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn built(groups: &[Vec<u64>]) -> Matches {
        let mut builder = MatchesBuilder::default();
        for group in groups {
            let mut bits = BitsBuilder::default();
            group.iter().for_each(|&index| bits.add(index));
            builder.finish_group(&bits);
        }
        builder.snapshot(None, true)
    }

    proptest! {
        #[test]
        fn match_bits_agree_with_a_plain_list(
            groups in prop::collection::vec(prop::collection::btree_set(0u64..3_000, 0..200), 0..5)
        ) {
            let lists: Vec<Vec<u64>> = groups.iter().map(|set| set.iter().copied().collect()).collect();
            let matches = built(&lists);
            let mut plain = Vec::new();
            for (group, list) in (0u32..).zip(&lists) {
                plain.extend(list.iter().map(|&index| SampleAt { group, index }));
            }
            prop_assert_eq!(matches.total(), plain.len() as u64);
            for (k, &at) in plain.iter().enumerate() {
                prop_assert_eq!(matches.select(k as u64), Some(at));
                prop_assert_eq!(matches.rank(at), k as u64);
                prop_assert!(matches.contains(at));
                prop_assert_eq!(matches.after(at), plain.get(k + 1).copied());
                prop_assert_eq!(matches.before(at), k.checked_sub(1).map(|k| plain[k]));
            }
            prop_assert_eq!(matches.select(plain.len() as u64), None);
        }
    }

    #[test]
    fn whole_group_matches_need_no_memory_and_huge_positions_are_left_out() {
        let mut builder = MatchesBuilder::default();
        builder.whole_group(u64::MAX);
        builder.whole_group(0);
        let mut bits = BitsBuilder::default();
        bits.add(u64::MAX);
        bits.add(3);
        bits.add(3);
        builder.finish_group(&bits);
        let matches = builder.snapshot(None, true);
        assert_eq!(matches.total(), u64::MAX);
        assert_eq!(matches.select(u64::MAX - 1).unwrap(), SampleAt { group: 0, index: u64::MAX - 1 });
        assert_eq!((matches.in_group(1), matches.in_group(2), matches.in_group(9)), (0, 1, 0));
    }
}
