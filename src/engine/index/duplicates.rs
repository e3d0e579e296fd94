//! Keys that name more than one sample: which they are, and which rows to leave out.

use crate::model::ShardId;
use std::collections::HashMap;

/// A key that names two samples. With three, there are two of these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The key.
    pub key: String,
    /// The sample that has the key first, in index order: its shard, and its number inside the shard.
    pub first: (ShardId, u64),
    /// A later one.
    pub second: (ShardId, u64),
}

/// Numbers in one piece of a [`RowSet`].
const PIECE: u64 = 1 << 16;

/// A set of row numbers: one bit each where there are any, so that even 10⁹ members take 125 MB.
#[derive(Debug, Default)]
pub(super) struct RowSet(HashMap<u64, Box<[u64; (PIECE / 64) as usize]>>);

impl RowSet {
    pub(super) fn insert(&mut self, row: u64) {
        let piece = self.0.entry(row / PIECE).or_insert_with(|| Box::new([0; (PIECE / 64) as usize]));
        piece[(row % PIECE / 64) as usize] |= 1 << (row % 64);
    }

    pub(super) fn contains(&self, row: u64) -> bool {
        !self.0.is_empty()
            && self.0.get(&(row / PIECE)).is_some_and(|piece| piece[(row % PIECE / 64) as usize] >> (row % 64) & 1 == 1)
    }
}
