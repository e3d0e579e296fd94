//! The groups of a data set: counts, and the conversion between a sample's number and its location.

use super::folder::LEFT_OUT;
use super::{SampleAt, COMPRESSED_NOTE};
use std::sync::Arc;

/// One shard, file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Name of the group relative to the root; raw, so the caller must escape it for display.
    pub name: Arc<str>,
    /// The number of samples known so far.
    pub samples: u64,
    /// Whether `samples` is final.
    pub is_counted: bool,
    /// Size of the shard or file in bytes, 0 while unknown; always unknown for a folder.
    pub bytes: u64,
    /// Why the group cannot be read, or why reading it is slow.
    pub failure: Option<Arc<str>>,
}

impl Group {
    /// Whether the group, or a part of it, cannot be read.
    pub fn is_unreadable(&self) -> bool {
        self.failure.as_deref().is_some_and(|why| why != COMPRESSED_NOTE && !why.starts_with(LEFT_OUT))
    }
}

/// An immutable snapshot of the groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// A number that differs between successive snapshots.
    pub version: u64,
    /// The groups in the order of the data set.
    pub groups: Vec<Group>,
    /// Number of samples before each group, followed by the total.
    starts: Vec<u64>,
    /// Whether all groups are known and counted.
    pub is_complete: bool,
}

impl Groups {
    /// Creates a state and sums up the counts.
    pub fn new(version: u64, groups: Vec<Group>, is_complete: bool) -> Self {
        let mut starts = Vec::with_capacity(groups.len() + 1);
        let mut before = 0u64;
        starts.push(0);
        for group in &groups {
            before = before.saturating_add(group.samples);
            starts.push(before);
        }
        Self { version, groups, starts, is_complete }
    }

    /// Returns the number of samples in all groups known so far.
    pub fn total(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Returns the number of a sample in the data set, from 0. For a sample that does not exist, returns the number that it would have.
    pub fn number(&self, at: SampleAt) -> u64 {
        let before = self.starts.get(at.group as usize).copied().unwrap_or_else(|| self.total());
        before.saturating_add(at.index)
    }

    /// Returns the location of the sample with that number; `None` after the last sample.
    pub fn locate(&self, number: u64) -> Option<SampleAt> {
        if number >= self.total() {
            return None;
        }
        let group = self.starts.partition_point(|&start| start <= number).checked_sub(1)?;
        let before = self.starts.get(group)?;
        Some(SampleAt { group: u32::try_from(group).ok()?, index: number - before })
    }

    /// Returns the group at a position.
    pub fn group(&self, group: u32) -> Option<&Group> {
        self.groups.get(group as usize)
    }

    /// Returns the position of the group with that name.
    pub fn named(&self, name: &str) -> Option<u32> {
        self.groups.iter().position(|group| &*group.name == name).and_then(|at| u32::try_from(at).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(counts: &[u64]) -> Groups {
        let group = |samples: &u64| Group {
            name: Arc::from(format!("g{samples}")),
            samples: *samples,
            is_counted: true,
            bytes: 0,
            failure: None,
        };
        Groups::new(1, counts.iter().map(group).collect(), true)
    }

    #[test]
    fn sample_numbers_and_places_convert_across_empty_groups() {
        let groups = groups(&[0, 3, 0, 0, 2, 0]);
        assert_eq!(groups.total(), 5);
        let places: Vec<_> = (0..6).map(|n| groups.locate(n).map(|at| (at.group, at.index))).collect();
        assert_eq!(places, [Some((1, 0)), Some((1, 1)), Some((1, 2)), Some((4, 0)), Some((4, 1)), None]);
        for number in 0..5 {
            assert_eq!(groups.number(groups.locate(number).unwrap()), number);
        }
        assert_eq!(groups.named("g2"), Some(4));
        assert_eq!(groups.group(9), None);
    }

    #[test]
    fn huge_group_counts_do_not_overflow() {
        let groups = groups(&[u64::MAX, u64::MAX, 1]);
        assert_eq!(groups.total(), u64::MAX);
        assert_eq!(groups.locate(u64::MAX - 1).unwrap().group, 0);
        assert_eq!(groups.number(SampleAt { group: 7, index: 9 }), u64::MAX);
        assert_eq!(Groups::default().locate(0), None);
    }
}
