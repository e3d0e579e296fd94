//! The views of the editor: splits with their shards, and excludes with the names they contain. Other modules use [`SplitSummary`], too.

use gristmill_core::Problem;
use serde::Serialize;
use std::sync::Arc;

/// Shards and samples of a split.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitSummary {
    /// Name of the split.
    pub name: Arc<str>,
    /// Number of shards of the split, without excluded ones.
    pub shards: u64,
    /// Number of samples in these shards, including individually excluded samples.
    pub samples: u64,
}

/// A shard in a split, or in none.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardView {
    /// Name of the shard.
    pub name: Arc<str>,
    /// Position in `.info.json`; `None` if the data set does not have the shard, which makes the loader fail.
    pub id: Option<u32>,
    /// Number of samples; 0 if the data set does not have the shard.
    pub samples: u64,
    /// Whether the shard was in another split when the file was opened or last written.
    pub is_moved: bool,
    /// Whether the shard is excluded as a whole.
    pub is_excluded: bool,
    /// Position of the item that names the shard in the split's list.
    pub(super) item: u32,
}

/// A split, or the shards in no split.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitView {
    /// Name of the split; empty for the shards in no split.
    pub name: Arc<str>,
    /// The shards, in the order in which the file lists them.
    pub shards: Arc<Vec<ShardView>>,
    /// Number of samples in the split's shards, without excluded shards. Individually excluded samples are included.
    pub samples: u64,
    /// Share of the samples of all splits, from 0 to 1.
    pub share: f64,
    /// Whether the split did not exist when the file was opened or last written.
    pub is_new: bool,
}

/// The names in an exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// A shard.
    Shard,
    /// A sample.
    Sample,
    /// A range of this number of shards or samples.
    Range(u64),
    /// No shard of the data set, and no sample in one.
    NoShard,
    /// The braces cannot be expanded, which makes the loader fail.
    Broken,
}

/// The number of existing names of an exclude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matches {
    /// Not looked up yet, see [`check_items`](super::check_items).
    Unknown,
    /// No name exists, so the item has no effect.
    Nothing,
    /// Number of existing shards and samples.
    Some(u64),
}

/// The totals of all excludes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExcludeTotals {
    /// The number of whole shards.
    pub shards: u64,
    /// Number of individual samples. Samples that have not been looked up count as existing.
    pub samples: u64,
    /// Number of excludes that match nothing.
    pub idle: u64,
    /// Number of excludes that have not been looked up yet.
    pub unknown: u64,
}

impl ExcludeTotals {
    /// Adds or subtracts one exclude.
    pub(super) fn count(&mut self, exclude: &ExcludeView, is_added: bool) {
        let whole = exclude.shards.len() as u64;
        let all = match (exclude.matches, exclude.names) {
            (Matches::Nothing, _) => 0,
            (Matches::Some(found), _) => found,
            (Matches::Unknown, Names::Range(all)) => all,
            (Matches::Unknown, _) => 1,
        };
        let by = |sum: &mut u64, by: u64| {
            *sum = if is_added { sum.saturating_add(by) } else { sum.saturating_sub(by) };
        };
        by(&mut self.shards, whole);
        by(&mut self.samples, all.saturating_sub(whole));
        by(&mut self.idle, u64::from(exclude.matches == Matches::Nothing));
        by(&mut self.unknown, u64::from(exclude.matches == Matches::Unknown));
    }
}

/// An exclude of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct ExcludeView {
    /// The text after quotes are resolved, with braces not expanded.
    pub item: Arc<str>,
    /// The comment on the exclude.
    pub note: Option<Arc<str>>,
    /// The kind of names that it contains.
    pub names: Names,
    /// The number of existing names.
    pub matches: Matches,
    /// Whether the exclude did not exist when the file was opened or last written.
    pub is_new: bool,
    /// The shards that it excludes as a whole, as positions in `.info.json`.
    pub(super) shards: Arc<[u32]>,
}

impl ExcludeView {
    /// Returns the shards that it excludes as a whole, as positions in `.info.json`.
    pub fn whole_shards(&self) -> &[u32] {
        &self.shards
    }
}

/// The result of an edit.
#[derive(Clone, Debug, PartialEq)]
pub struct EditResult {
    /// Description of the change in one sentence; raw.
    pub message: String,
    /// Problems of the edit.
    pub problems: Vec<Problem>,
}
