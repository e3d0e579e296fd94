//! The splits and excludes of `split.yaml` by shard and sample, built for ten thousand lookups per second.

use super::{BrowseSample, Groups};
use crate::engine::splits::SplitSummary;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Splits and excludes of one data set. A value is immutable: an edit creates a new value that replaces the old one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    splits: Vec<SplitSummary>,
    loose_shards: u64,
    groups: Vec<GroupMarks>,
    excluded_shards: u64,
    /// Hashes of shard and key, sorted. With 4 million excludes and 10⁷ samples, the probability of any collision is 10⁻⁵.
    samples: Vec<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct GroupMarks {
    /// Positions in `splits`, in ascending order.
    splits: Vec<u16>,
    is_excluded: bool,
    /// Number of excludes by sample name, whether the samples exist or not.
    samples: u64,
}

impl Marks {
    /// Builds the marks from splits, given as names with shard names, and excludes, given as `SHARD` or `SHARD/KEY`. All braces must be
    /// expanded. Names that match no group are ignored.
    pub fn new<S: AsRef<str>>(groups: &Groups, splits: &[(Arc<str>, Vec<S>)], excludes: &[S]) -> Self {
        let known: HashMap<&str, u32> = (0u32..).zip(&groups.groups).map(|(at, group)| (&*group.name, at)).collect();
        let mut marks = Self { groups: vec![GroupMarks::default(); groups.groups.len()], ..Self::default() };
        marks.take_splits(splits, &known);
        for item in excludes {
            marks.take_exclude(item.as_ref(), &known);
        }
        marks.samples.sort_unstable();
        marks.samples.dedup();
        marks.count(groups);
        marks
    }

    fn take_splits<S: AsRef<str>>(&mut self, splits: &[(Arc<str>, Vec<S>)], known: &HashMap<&str, u32>) {
        for (position, (name, shards)) in (0u16..).zip(splits) {
            self.splits.push(SplitSummary { name: Arc::clone(name), shards: 0, samples: 0 });
            let unique: HashSet<u32> = shards.iter().filter_map(|shard| known.get(shard.as_ref()).copied()).collect();
            for group in unique {
                if let Some(group) = self.groups.get_mut(group as usize) {
                    group.splits.push(position);
                }
            }
        }
    }

    /// Records one exclude. The loader drops every sample whose shard, slash and key together equal this text. A text with several slashes
    /// can be split in several ways, and all of them apply.
    fn take_exclude(&mut self, item: &str, known: &HashMap<&str, u32>) {
        if let Some(group) = known.get(item).and_then(|&at| self.groups.get_mut(at as usize)) {
            self.excluded_shards += u64::from(!group.is_excluded);
            group.is_excluded = true;
        }
        for slash in memchr::memchr_iter(b'/', item.as_bytes()) {
            let (shard, key) = (item.get(..slash).unwrap_or_default(), item.get(slash + 1..).unwrap_or_default());
            let Some(&at) = known.get(shard) else { continue };
            if let Some(group) = self.groups.get_mut(at as usize) {
                group.samples += 1;
                self.samples.push(sample_hash(at, key));
            }
        }
    }

    fn count(&mut self, groups: &Groups) {
        for (marks, group) in self.groups.iter().zip(&groups.groups) {
            if marks.splits.is_empty() {
                self.loose_shards += 1;
            }
            for &at in marks.splits.iter().filter(|_| !marks.is_excluded) {
                if let Some(split) = self.splits.get_mut(usize::from(at)) {
                    split.shards += 1;
                    split.samples = split.samples.saturating_add(group.samples);
                }
            }
        }
    }

    /// Returns all splits, in the order of the file.
    pub fn splits(&self) -> &[SplitSummary] {
        &self.splits
    }

    /// Returns the number of shards that are in no split.
    pub fn loose_shards(&self) -> u64 {
        self.loose_shards
    }

    /// Returns the number of shards that are excluded.
    pub fn excluded_shards(&self) -> u64 {
        self.excluded_shards
    }

    /// Returns the number of samples that are excluded by name.
    pub fn excluded_samples(&self) -> u64 {
        self.samples.len() as u64
    }

    fn group(&self, group: u32) -> Option<&GroupMarks> {
        self.groups.get(group as usize)
    }

    /// Returns the splits that a shard is in, usually one.
    pub fn splits_of(&self, group: u32) -> impl Iterator<Item = &Arc<str>> {
        let positions = self.group(group).map(|group| group.splits.as_slice()).unwrap_or_default();
        positions.iter().filter_map(|&at| self.splits.get(usize::from(at))).map(|split| &split.name)
    }

    /// Returns the first split that a shard is in.
    pub fn split_of(&self, group: u32) -> Option<&Arc<str>> {
        self.splits_of(group).next()
    }

    /// Whether a whole shard is excluded.
    pub fn is_shard_excluded(&self, group: u32) -> bool {
        self.group(group).is_some_and(|group| group.is_excluded)
    }

    /// Returns the number of samples of a shard that are excluded by name.
    pub fn samples_named_in(&self, group: u32) -> u64 {
        self.group(group).map_or(0, |group| group.samples)
    }

    /// Whether a sample is excluded by its own name.
    pub fn is_sample_named(&self, group: u32, key: &str) -> bool {
        self.samples_named_in(group) > 0 && self.samples.binary_search(&sample_hash(group, key)).is_ok()
    }

    /// Whether a sample is excluded, by its own name or with its shard.
    pub fn is_excluded(&self, sample: &BrowseSample) -> bool {
        self.is_shard_excluded(sample.at.group) || self.is_sample_named(sample.at.group, &sample.key)
    }
}

fn sample_hash(group: u32, key: &str) -> u64 {
    xxh3_64_with_seed(key.as_bytes(), u64::from(group))
}

#[cfg(test)]
mod tests {
    use super::super::Group;
    use super::*;

    fn groups(names: &[&str]) -> Groups {
        let group =
            |name: &&str| Group { name: Arc::from(*name), samples: 10, is_counted: true, bytes: 0, failure: None };
        Groups::new(1, names.iter().map(group).collect(), true)
    }

    #[test]
    fn marks_give_the_splits_of_shards_and_the_excluded_samples() {
        let groups = groups(&["a.tar", "d/b.tar", "d/c.tar", "e.tar"]);
        let splits = [
            (Arc::from("train"), vec!["a.tar", "a.tar", "d/c.tar", "gone.tar"]),
            (Arc::from("val"), vec!["d/b.tar", "a.tar"]),
        ];
        let marks =
            Marks::new(&groups, &splits, &["d/b.tar", "a.tar/k/1", "d/c.tar/x", "d/c.tar/x", "gone.tar/x", "a"]);
        assert_eq!(marks.splits_of(0).map(|name| &**name).collect::<Vec<_>>(), ["train", "val"]);
        assert_eq!(marks.split_of(3), None);
        assert_eq!((marks.loose_shards(), marks.excluded_shards(), marks.excluded_samples()), (1, 1, 2));
        assert!(marks.is_shard_excluded(1) && !marks.is_shard_excluded(0) && !marks.is_shard_excluded(77));
        assert!(marks.is_sample_named(0, "k/1") && !marks.is_sample_named(0, "x") && marks.is_sample_named(2, "x"));
        let count = |name: &str| marks.splits().iter().find(|split| &*split.name == name).unwrap().clone();
        assert_eq!((count("train").shards, count("train").samples), (2, 20));
        assert_eq!((count("val").shards, count("val").samples), (1, 10), "an excluded shard counts in no split");
    }

    #[test]
    fn exclude_item_with_several_slashes_applies_to_every_matching_shard() {
        let groups = groups(&["a", "a/b"]);
        let marks = Marks::new(&groups, &[], &["a/b/c"]);
        assert!(marks.is_sample_named(0, "b/c") && marks.is_sample_named(1, "c"));
        assert_eq!(Marks::default().split_of(0), None);
    }
}
