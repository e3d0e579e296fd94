//! The order of samples: their splits, the shuffle, and the limit. See docs/formats/webdataset.md.

use super::list::folder_of;
use super::record::{subject_of, ListedSample, RecordSorter, SpoolContext};
use super::set_writers::{SetWriters, SplitCounts};
use gristmill_core::{Failure, Outcome, ProblemKind, ShardPlan};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SplitSource {
    /// There is only one split.
    None,
    /// Each sample has a split from its source.
    Sample,
    /// The first folder in the name of a sample is its split.
    Folder,
}

/// Sorts samples into their final order and passes them to the set writers.
pub(super) struct Arranger<'a> {
    plan: &'a ShardPlan,
    context: SpoolContext<'a>,
    splits: SplitSource,
    /// Records sorted by split and rank; `None` if samples stay in the order of the input.
    sorter: Option<RecordSorter<'a, 0>>,
    /// Number of samples of each split.
    counts: BTreeMap<String, u64>,
    /// Number of samples of each split, for each set that is written.
    totals: SplitCounts,
    /// Number of samples that were passed on.
    taken: u64,
    record: Vec<u8>,
}

impl<'a> Arranger<'a> {
    pub(super) fn new(plan: &'a ShardPlan, splits: SplitSource, context: SpoolContext<'a>) -> Self {
        let division = &plan.division;
        let is_sorted = plan.shuffle || splits != SplitSource::None || division.even || division.shards.is_some();
        let sorter = is_sorted.then(|| RecordSorter::new(context, "order"));
        Self {
            plan,
            context,
            splits,
            sorter,
            counts: BTreeMap::new(),
            totals: SplitCounts::new(),
            taken: 0,
            record: Vec::new(),
        }
    }

    /// Adds a sample.
    pub(super) fn push(&mut self, listed: &ListedSample, dealer: &mut SetWriters<'_>) -> Outcome<()> {
        let is_over = |limit: u64| !self.plan.shuffle && self.taken >= limit;
        if self.plan.choice.limit.is_some_and(is_over) {
            return Ok(());
        }
        self.taken += 1;
        let split = self.split_of(listed)?;
        let number = match self.counts.get_mut(&split) {
            Some(count) => {
                *count += 1;
                *count - 1
            }
            None => {
                self.counts.insert(split.clone(), 1);
                0
            }
        };
        let Some(sorter) = &mut self.sorter else {
            self.record.clear();
            listed.encode(&mut self.record);
            return dealer.push(&split, listed, &self.record);
        };
        dealer.count(&split, listed, &mut self.totals);
        let rank = if self.plan.shuffle { shuffled(self.plan.seed, number) } else { 0 };
        self.record.clear();
        // A limit applies to the first samples of all splits together, so the split is then not part of the sort key.
        if self.plan.choice.limit.is_none() {
            push_split(&mut self.record, &split);
        }
        self.record.extend_from_slice(&rank.to_be_bytes());
        self.record.extend_from_slice(&number.to_be_bytes());
        push_split(&mut self.record, &split);
        listed.encode(&mut self.record);
        sorter.push(&self.record, [])
    }

    /// Returns the names of the splits so far, sorted; one empty name if there is only one split.
    pub(super) fn splits(&self) -> impl Iterator<Item = &String> {
        self.counts.keys()
    }

    fn split_of(&self, listed: &ListedSample) -> Outcome<String> {
        let refuse = |why: &str, hint: &str| {
            let failure = Failure::data("dividing into splits", why).on(subject_of(&listed.sample));
            Err(failure.of_kind(ProblemKind::UnassignedShards).with_hint(hint))
        };
        match self.splits {
            SplitSource::None => Ok(String::new()),
            SplitSource::Sample => match &listed.sample.split {
                Some(split) => Ok(split.clone()),
                None => refuse("it is in no split, and others are", "--one-split writes everything into one"),
            },
            SplitSource::Folder => match folder_of(&listed.sample).map(std::str::from_utf8) {
                Some(Ok(folder)) if is_split_name(folder) => Ok(folder.to_owned()),
                Some(_) => refuse("its first folder cannot be the name of a split", "rename the folder"),
                None => refuse("it is outside of a folder, and folders are splits", "leave out --splits-by-folder"),
            },
        }
    }

    /// Passes all samples to the set writers in their final order.
    pub(super) fn finish(mut self, dealer: &mut SetWriters<'_>) -> Outcome<()> {
        let Some(sorter) = self.sorter.take() else { return Ok(()) };
        let Some(limit) = self.plan.choice.limit else {
            dealer.expect(&self.totals);
            return sorter.for_each(&mut |record, []| {
                let rest = after_split(record).1.get(16..).unwrap_or_default();
                let (split, sample) = after_split(rest);
                dealer.push(split, &ListedSample::decode(sample)?, sample)
            });
        };
        let mut within = RecordSorter::<1>::new(self.context, "within");
        let (mut left, mut totals) = (limit, SplitCounts::new());
        sorter.for_each(&mut |record, []| {
            if left == 0 {
                return Ok(());
            }
            left -= 1;
            let record = record.get(16..).unwrap_or_default();
            let (split, sample) = after_split(record);
            dealer.count(split, &ListedSample::decode(sample)?, &mut totals);
            let mut ordered = Vec::with_capacity(record.len() + 8);
            push_split(&mut ordered, split);
            ordered.extend_from_slice(&(limit - left).to_be_bytes());
            ordered.extend_from_slice(sample);
            within.push(&ordered, [0])
        })?;
        dealer.expect(&totals);
        within.for_each(&mut |record, _| {
            let (split, rest) = after_split(record);
            let sample = rest.get(8..).unwrap_or_default();
            dealer.push(split, &ListedSample::decode(sample)?, sample)
        })
    }
}

/// Whether a text is a valid split name, which is also the name of a folder.
pub(super) fn is_split_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains('/') && !name.contains(char::is_control)
}

fn push_split(record: &mut Vec<u8>, split: &str) {
    record.extend_from_slice(split.as_bytes());
    // Split names contain no control characters, so the terminator sorts records by split name.
    record.push(0);
}

fn after_split(record: &[u8]) -> (&str, &[u8]) {
    let end = memchr::memchr(0, record).unwrap_or(record.len());
    let split = record.get(..end).and_then(|split| std::str::from_utf8(split).ok()).unwrap_or_default();
    (split, record.get(end + 1..).unwrap_or_default())
}

/// Returns the output of SplitMix64 at index `number`.
fn shuffled(seed: u64, number: u64) -> u64 {
    let z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffle_order_matches_the_documented_generator() {
        // The first outputs for seed 42, as published with the reference implementation.
        assert_eq!(shuffled(42, 0), 13_679_457_532_755_275_413);
        assert_eq!(shuffled(42, 1), 2_949_826_092_126_892_291);
        let mut order: Vec<u64> = (0..13).collect();
        order.sort_by_key(|number| shuffled(7, *number));
        assert_eq!(order, [1, 10, 8, 5, 7, 0, 9, 4, 6, 3, 2, 12, 11]);
    }

    #[test]
    fn split_name_must_be_a_plain_folder_name() {
        for (name, expected) in
            [("train", true), ("a b{1}", true), ("", false), (".x", false), ("a/b", false), ("a\n", false)]
        {
            assert_eq!(is_split_name(name), expected, "{name}");
        }
    }
}
