//! Keys shared by several samples, and the set of rows to omit because of them.

use gristmill_core::ShardId;
use std::collections::{HashMap, HashSet};

/// A key shared by two samples. Three samples with one key are two of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key that the samples share.
    pub key: String,
    /// The first sample with the key in index order, as its shard and its number in the shard. If only a later sample is used in training,
    /// that sample.
    pub first: (ShardId, u64),
    /// Another sample with the key.
    pub second: (ShardId, u64),
}

/// Samples that are not used in training. Of several samples with one key, these are omitted first.
#[derive(Clone, Debug, Default)]
pub struct UnusedSamples {
    /// By `tar_file_id`: whether the shard is in no split or cannot be read by the loader. Shards beyond the end are used in training.
    pub shards: Vec<bool>,
    /// Individually excluded samples, by `tar_file_id` and key.
    pub keys: HashSet<(u32, String)>,
}

impl UnusedSamples {
    pub(super) fn contains(&self, shard: ShardId, key: &[u8]) -> bool {
        let by_key = || std::str::from_utf8(key).is_ok_and(|key| self.keys.contains(&(shard.0, key.to_owned())));
        self.shards.get(shard.0 as usize).copied().unwrap_or(false) || !self.keys.is_empty() && by_key()
    }
}

/// Number of rows covered by one piece of a [`RowSet`].
const ROWS_PER_SET: u64 = 1 << 16;

/// A set of row numbers, stored as one bit per row in the pieces that have members. 10⁹ rows take 125 MB.
#[derive(Debug, Default)]
pub(super) struct RowSet(HashMap<u64, Box<[u64; (ROWS_PER_SET / 64) as usize]>>);

impl RowSet {
    pub(super) fn insert(&mut self, row: u64) {
        let piece = self.0.entry(row / ROWS_PER_SET).or_insert_with(|| Box::new([0; (ROWS_PER_SET / 64) as usize]));
        piece[(row % ROWS_PER_SET / 64) as usize] |= 1 << (row % 64);
    }

    /// Whether a member may be among `count` rows from `first` on. The result `false` is certain.
    pub(super) fn has_any(&self, first: u64, count: u64) -> bool {
        count > 0
            && (first / ROWS_PER_SET..=(first + (count - 1)) / ROWS_PER_SET).any(|piece| self.0.contains_key(&piece))
    }

    pub(super) fn contains(&self, row: u64) -> bool {
        !self.0.is_empty()
            && self
                .0
                .get(&(row / ROWS_PER_SET))
                .is_some_and(|piece| piece[(row % ROWS_PER_SET / 64) as usize] >> (row % 64) & 1 == 1)
    }
}
