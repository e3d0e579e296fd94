//! What the editor shows: splits with their shards, and excludes with what they name.

use gristmill_core::Problem;
use std::sync::Arc;

/// A shard in a split, or in none.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardView {
    /// Its name.
    pub name: Arc<str>,
    /// Its position in `.info.json`; `None` when the data set does not have it, and the loader stops at it.
    pub id: Option<u32>,
    /// Its samples; 0 when the data set does not have it.
    pub samples: u64,
    /// It was elsewhere when the file was opened or last written.
    pub is_moved: bool,
    /// It is excluded as a whole.
    pub is_excluded: bool,
    /// The item of the split's list that names it.
    pub(super) item: u32,
}

/// A split.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SplitView {
    /// Its name; empty for the shards in no split.
    pub name: Arc<str>,
    /// Its shards, in the order in which the file lists them.
    pub shards: Arc<Vec<ShardView>>,
    /// Samples of its shards, excluded shards left out. Samples that are excluded one by one are not subtracted.
    pub samples: u64,
    /// Its part of the samples of all splits, 0 to 1.
    pub share: f64,
    /// It was not there when the file was opened or last written.
    pub is_new: bool,
}

/// What an exclude names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// A shard.
    Shard,
    /// A sample.
    Sample,
    /// As many names, of shards or samples.
    Range(u64),
    /// No shard of the data set, and no sample in one.
    NoShard,
    /// Its braces cannot be expanded; the loader stops at it.
    Broken,
}

/// How many of the names of an exclude are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matches {
    /// Not looked up yet, see [`check_items`](super::check_items).
    Unknown,
    /// None: the item excludes nothing.
    Nothing,
    /// As many shards and samples.
    Some(u64),
}

/// What all excludes come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExcludeTotals {
    /// Whole shards.
    pub shards: u64,
    /// Single samples; those that were not looked up count as there.
    pub samples: u64,
    /// Excludes that match nothing.
    pub idle: u64,
    /// Excludes that were not looked up yet.
    pub unknown: u64,
}

impl ExcludeTotals {
    /// Adds one exclude, or takes it away again.
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

/// An exclude.
#[derive(Clone, Debug, PartialEq)]
pub struct ExcludeView {
    /// As it is written, quotes resolved, braces not expanded.
    pub item: Arc<str>,
    /// The comment that belongs to it.
    pub note: Option<Arc<str>>,
    /// What it names.
    pub names: Names,
    /// How much of that is there.
    pub matches: Matches,
    /// It was not there when the file was opened or last written.
    pub is_new: bool,
    /// The shards that it excludes as a whole, by their position in `.info.json`.
    pub(super) shards: Arc<[u32]>,
}

impl ExcludeView {
    /// The shards that it excludes as a whole, by their position in `.info.json`.
    pub fn whole_shards(&self) -> &[u32] {
        &self.shards
    }
}

/// What a change came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// What was done, in one sentence; raw.
    pub message: String,
    /// What is odd about it.
    pub problems: Vec<Problem>,
}
