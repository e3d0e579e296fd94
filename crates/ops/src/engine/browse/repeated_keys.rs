//! Keys that several samples of the scanned shards have. The result does not depend on the order in which shards are scanned: the first
//! sample in the order of the data set is the sample of the key, and each other one is a repeat.

use super::problems::{ProblemList, SampleProblem, MAX_PROBLEMS};
use super::SampleAt;
use gristmill_core::ProblemKind;
use std::collections::hash_map::{Entry, HashMap};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of keys that are compared; they take about 40 MB.
const MAX_COMPARED_KEYS: usize = 1 << 20;

/// The samples of each key, as far as shards have been scanned.
#[derive(Default)]
pub(super) struct RepeatedKeys {
    /// The first known sample of each key, by the hash of the key.
    firsts: HashMap<u64, KeyedSample>,
    repeats: HashMap<u64, Repeats>,
    /// Keys with repeats that are not reported yet.
    unreported: Vec<u64>,
    repeat_count: usize,
}

struct KeyedSample {
    at: SampleAt,
    /// A bit for the name of each of its parts. Samples whose bits differ have no part in common.
    parts: u64,
}

/// The repeats of one key. The first ones are already reported with the current first sample.
struct Repeats {
    key: Arc<str>,
    samples: Vec<KeyedSample>,
    reported: usize,
}

impl RepeatedKeys {
    /// Adds a sample with a bit for the name of each of its parts.
    pub(super) fn add(&mut self, key: &str, at: SampleAt, parts: u64) {
        let (is_full, hash) = (self.firsts.len() >= MAX_COMPARED_KEYS, xxh3_64(key.as_bytes()));
        let mut repeat = KeyedSample { at, parts };
        let first = match self.firsts.entry(hash) {
            Entry::Vacant(entry) => {
                if !is_full {
                    entry.insert(repeat);
                }
                return;
            }
            Entry::Occupied(entry) => entry.into_mut(),
        };
        if self.repeat_count >= MAX_PROBLEMS {
            return;
        }
        self.repeat_count += 1;
        let empty = || Repeats { key: Arc::from(key), samples: Vec::new(), reported: 0 };
        let repeats = self.repeats.entry(hash).or_insert_with(empty);
        if repeats.reported == repeats.samples.len() {
            self.unreported.push(hash);
        }
        if at < first.at {
            std::mem::swap(first, &mut repeat);
            // Their messages name the first sample.
            repeats.reported = 0;
        }
        repeats.samples.push(repeat);
    }

    /// Whether all repeats are reported.
    pub(super) fn is_reported(&self) -> bool {
        self.unreported.is_empty()
    }

    /// Adds the repeats since the last call to the problems. `shard_name` returns the name of a group.
    pub(super) fn report<'a>(&mut self, problems: &mut ProblemList, shard_name: impl Fn(u32) -> &'a str) {
        for hash in self.unreported.drain(..) {
            let (Some(first), Some(repeats)) = (self.firsts.get(&hash), self.repeats.get_mut(&hash)) else { continue };
            let (shard, number) = (shard_name(first.at.group), first.at.index + 1);
            for repeat in repeats.samples.get(repeats.reported..).unwrap_or_default() {
                let (kind, why) = match first.parts & repeat.parts {
                    0 => {
                        let why = format!("other parts of the sample are in {shard}, sample {number}");
                        (ProblemKind::ScatteredSample, why)
                    }
                    _ => (ProblemKind::DuplicateKey, format!("the key is also in {shard}, sample {number}")),
                };
                let key = Some(Arc::clone(&repeats.key));
                problems.set_repeat(repeat.at, SampleProblem { kind, key, why: why.into() });
            }
            repeats.reported = repeats.samples.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_samples_are_the_repeats_in_any_order_of_the_scans() {
        let samples = [
            ("a", SampleAt { group: 0, index: 1 }, 1),
            ("a", SampleAt { group: 0, index: 7 }, 2),
            ("a", SampleAt { group: 1, index: 0 }, 1),
            ("b", SampleAt { group: 1, index: 1 }, 1),
            ("a", SampleAt { group: 2, index: 4 }, 1),
            ("b", SampleAt { group: 2, index: 5 }, 3),
        ];
        let orders = [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [2, 4, 0, 5, 1, 3], [4, 1, 5, 2, 3, 0]];
        for reported_each in [1, 2, 6] {
            for order in orders {
                let (mut keys, mut list) = (RepeatedKeys::default(), ProblemList::default());
                for step in order.chunks(reported_each) {
                    for (key, at, parts) in step.iter().map(|number| samples[*number]) {
                        keys.add(key, at, parts);
                    }
                    keys.report(&mut list, |group| ["x.tar", "y.tar", "z.tar"][group as usize]);
                }
                let found: Vec<_> =
                    list.iter().map(|(at, known)| (at.group, at.index, known.why.to_string())).collect();
                let expected = [
                    (0, 7, "other parts of the sample are in x.tar, sample 2"),
                    (1, 0, "the key is also in x.tar, sample 2"),
                    (2, 4, "the key is also in x.tar, sample 2"),
                    (2, 5, "the key is also in y.tar, sample 2"),
                ];
                assert_eq!(found, expected.map(|(group, index, why)| (group, index, why.to_owned())), "{order:?}");
            }
        }
    }

    #[test]
    fn list_that_was_merged_before_takes_the_new_message_of_a_repeat() {
        let at = SampleAt { group: 2, index: 0 };
        let (mut keys, mut list, mut shown) = (RepeatedKeys::default(), ProblemList::default(), ProblemList::default());
        for group in [2, 1, 0] {
            keys.add("a", SampleAt { group, index: 0 }, 1);
            keys.report(&mut list, |group| ["x.tar", "y.tar", "z.tar"][group as usize]);
            shown.merge(&list);
        }
        assert_eq!(shown, list);
        assert_eq!(shown.get(at).map(|why| &**why), Some("the key is also in x.tar, sample 1"));
    }
}
