//! Leaks: samples of one split that are also in another split.
//!
//! A *copy* is a sample whose content is in another split: all of its parts, or one part that identifies it (a picture, sound, video or
//! array, or its text if it has none of these). Small parts and labels are equal in many samples, so they are no evidence. A *shared name*
//! is the same file name in another folder (`train/a1` and `val/a1`). This is often the same sample, so it is reported, but it is no proof.
//! Excluded shards and samples, and shards in no split, are not used in training and are ignored.
//!
//! Each compared content has one short record, about 20 bytes, which is sorted in runs in the scratch folder, so that memory does not grow
//! with the data. A unit of work is one shard ([`LeakSearch::take`]); [`LeakSearch::finish`] merges the records of all shards.

mod group;
mod names;
mod record_buffer;
mod sample_hasher;
mod search;

pub use record_buffer::RecordBuffer;
pub use search::{LeakSearch, LeakUnit, ShardTotals};

use super::outputs::exclude_item;
use super::splits::{Edit, ExcludeItem, SplitEditor};
use serde::Serialize;
use std::sync::Arc;

/// Limit of listed leaks of each kind; all are counted.
pub const LISTED_LEAKS: usize = 1_000;
/// Limit of listed locations of one leak in each split.
pub const MAX_LISTED_PLACES: usize = 8;
/// Size in bytes below which an equal part is no evidence.
pub const SMALLEST_PART: u64 = 64;

/// The shards of each split, and the excludes, as in `split.yaml` or with unwritten edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitLayout {
    /// Names of the splits with their shards, braces expanded.
    pub splits: Vec<(Arc<str>, Vec<Arc<str>>)>,
    /// Items `SHARD` or `SHARD/KEY` as written, with braces not expanded.
    pub excludes: Vec<Arc<str>>,
}

impl SplitLayout {
    /// Returns the splits in their edited state, whether they are written or not.
    pub fn of(editor: &SplitEditor) -> Self {
        let shards =
            |split: &super::splits::SplitView| split.shards.iter().map(|shard| Arc::clone(&shard.name)).collect();
        Self {
            splits: editor.splits().iter().map(|split| (Arc::clone(&split.name), shards(split))).collect(),
            excludes: editor.excludes().iter().map(|exclude| Arc::clone(&exclude.item)).collect(),
        }
    }
}

/// Options of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakOptions {
    /// Whether every part is read to compare contents. Otherwise only names are compared, which takes seconds.
    pub content: bool,
    /// Names of the parts that are compared individually, whatever their kind; if empty, the parts that identify a sample.
    pub parts: Vec<String>,
    /// Size in bytes below which parts are not compared individually.
    pub smallest_part: u64,
}

impl Default for LeakOptions {
    fn default() -> Self {
        Self { content: false, parts: Vec::new(), smallest_part: SMALLEST_PART }
    }
}

/// What two splits have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeakKind {
    /// One shard is in two splits.
    Shard,
    /// All parts of a sample are equal.
    Sample,
    /// One part is equal.
    Part,
    /// The key is equal.
    Key,
    /// The last component of the key is equal; the folders differ.
    Name,
}

impl LeakKind {
    /// All kinds, the most certain first.
    pub const ALL: [Self; 5] = [Self::Shard, Self::Sample, Self::Part, Self::Key, Self::Name];

    /// Returns a short description for tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Shard => "same shard",
            Self::Sample => "same sample",
            Self::Part => "same part",
            Self::Key => "same key",
            Self::Name => "same name",
        }
    }

    /// Whether a leak of this kind is certain. A shared name may be a coincidence.
    pub fn is_sure(self) -> bool {
        self != Self::Name
    }
}

/// A location of a leaked shard, sample or part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeakLocation {
    /// Name of the split.
    pub split: Arc<str>,
    /// Name of the shard. Raw.
    pub shard: Arc<str>,
    /// Key of the sample; `None` for a shard that is in two splits. Raw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Name of the part, if a part is shared. Raw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

impl LeakLocation {
    /// Returns the `exclude` item for the sample; `None` for a whole shard.
    pub fn exclude_item(&self) -> Option<String> {
        self.key.as_ref().map(|key| exclude_item(&self.shard, Some(key)))
    }
}

/// A possible repair of a leak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "way", rename_all = "kebab-case")]
pub enum LeakRepair {
    /// Exclude every copy except those of one split.
    Exclude {
        /// Name of the split that keeps its copies.
        keep: Arc<str>,
        /// Items for `exclude`, with escaped names.
        items: Vec<String>,
    },
    /// Move a shard to one split, and remove it from all others.
    Move {
        /// Name of the shard. Raw.
        shard: Arc<str>,
        /// Name of the split to which the shard is moved.
        to: Arc<str>,
    },
}

impl LeakRepair {
    /// Returns the edit that performs the repair.
    pub fn edit(&self) -> Edit {
        match self {
            Self::Exclude { items, .. } => Edit::Exclude { items: items.iter().map(ExcludeItem::escaped).collect() },
            Self::Move { shard, to } => Edit::MoveShards { shards: vec![Arc::clone(shard)], to: Some(Arc::clone(to)) },
        }
    }
}

/// A shard, sample, part or name that is in at least two splits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leak {
    /// The kind of leak.
    pub kind: LeakKind,
    /// The locations, by split and then in the order of the data; at most [`MAX_LISTED_PLACES`] for each split.
    pub places: Vec<LeakLocation>,
    /// The number of further locations.
    pub more: u64,
    /// Possible repairs, best first. Empty if there are further locations, because no repair of the listed ones would end the leak.
    pub repairs: Vec<LeakRepair>,
}

/// The number of leaks of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeakCount {
    /// The kind of leak.
    pub kind: LeakKind,
    /// The number of leaks of this kind.
    pub leaks: u64,
}

/// Leaks between two splits, of all kinds except shared names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitPairLeaks {
    /// The two splits, in their order.
    pub splits: [Arc<str>; 2],
    /// The number of leaks that both splits have in common.
    pub leaks: u64,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Leaks {
    /// The leaks, most certain kind first, in an order that only depends on the data; at most [`LISTED_LEAKS`] of each kind.
    pub leaks: Vec<Leak>,
    /// The number of leaks of each kind, without kinds that have none.
    pub counts: Vec<LeakCount>,
    /// The leaks by pair of splits.
    pub between: Vec<SplitPairLeaks>,
    /// The number of shared names such as `0001` that are in many folders. They are probably numbers and are not counted as leaks.
    pub common_names: u64,
}

impl Leaks {
    /// Returns the number of leaks that are certain.
    pub fn certain_count(&self) -> u64 {
        self.counts.iter().filter(|count| count.kind.is_sure()).map(|count| count.leaks).sum()
    }
}
