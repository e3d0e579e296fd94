//! Leaks: samples of one split that are also in another split.
//!
//! A *copy* is a sample whose content is in another split: all of its parts, or one part that identifies it (its picture, sound, video or
//! array; where it has none of these, its text). Small parts and labels are equal in many samples and prove nothing. A *shared name* is the
//! same file name in another folder (`train/a1` and `val/a1`): often the same sample, hence worth checking, but not proof. Excluded shards
//! and samples, and shards in no split, are not trained on and are ignored.
//!
//! Every compared content makes one short record, sorted in runs in the scratch folder (about 20 bytes each), so that memory does not grow
//! with the data. A unit of work is one shard: [`LeakSearch::take`]; the records of all are merged by [`LeakSearch::finish`].

mod group;
mod names;
mod sample_hasher;
mod search;

pub use search::{LeakSearch, LeakUnit, RecordBuffer, ShardTotals};

use super::outputs::exclude_item;
use super::splits::{Edit, ExcludeItem, SplitEditor};
use serde::Serialize;
use std::sync::Arc;

/// Leaks of each kind that are listed; all are counted.
pub const LISTED_LEAKS: usize = 1_000;
/// Places of one leak that are listed for each split.
pub const MAX_LISTED_PLACES: usize = 8;
/// Size in bytes below which a part alone proves nothing.
pub const SMALLEST_PART: u64 = 64;

/// The shards of each split, and the excludes: as in `split.yaml`, or as it would be after edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitLayout {
    /// Split name and its shards, braces expanded.
    pub splits: Vec<(Arc<str>, Vec<Arc<str>>)>,
    /// Items `SHARD` or `SHARD/KEY` as written, braces not expanded.
    pub excludes: Vec<Arc<str>>,
}

impl SplitLayout {
    /// Returns the splits in their edited state, written or not.
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
    /// Read every part and compare contents. Otherwise only names are compared, which takes seconds.
    pub content: bool,
    /// The parts that are compared on their own, whatever their kind; when empty, those that identify a sample.
    pub parts: Vec<String>,
    /// Size in bytes below which parts are not compared on their own.
    pub smallest_part: u64,
}

impl Default for LeakOptions {
    fn default() -> Self {
        Self { content: false, parts: Vec::new(), smallest_part: SMALLEST_PART }
    }
}

/// The thing that two splits have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeakKind {
    /// One shard is in two splits.
    Shard,
    /// All parts of a sample.
    Sample,
    /// One part.
    Part,
    /// The key.
    Key,
    /// The last component of the key; the folders differ.
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

    /// Whether it is certainly a leak; a shared name may be a coincidence.
    pub fn is_sure(self) -> bool {
        self != Self::Name
    }
}

/// A location of a leaked thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeakLocation {
    /// The split.
    pub split: Arc<str>,
    /// The shard. Raw.
    pub shard: Arc<str>,
    /// The sample; `None` for a shard that is in two splits. Raw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The part, where one part is shared. Raw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

impl LeakLocation {
    /// Returns the `exclude` item for it; `None` for a whole shard.
    pub fn exclude_item(&self) -> Option<String> {
        self.key.as_ref().map(|key| exclude_item(&self.shard, Some(key)))
    }
}

/// A way to end a leak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "way", rename_all = "kebab-case")]
pub enum LeakRepair {
    /// Exclude every copy except those of one split.
    Exclude {
        /// The split that keeps its copies.
        keep: Arc<str>,
        /// `exclude` items, escaped.
        items: Vec<String>,
    },
    /// Put a shard into one split, and remove it from any other.
    Move {
        /// The shard. Raw.
        shard: Arc<str>,
        /// The split that the shard is moved to.
        to: Arc<str>,
    },
}

impl LeakRepair {
    /// Returns the edit that carries out the repair.
    pub fn edit(&self) -> Edit {
        match self {
            Self::Exclude { items, .. } => Edit::Exclude { items: items.iter().map(ExcludeItem::escaped).collect() },
            Self::Move { shard, to } => Edit::MoveShards { shards: vec![Arc::clone(shard)], to: Some(Arc::clone(to)) },
        }
    }
}

/// One thing that is in at least two splits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leak {
    /// The kind of thing.
    pub kind: LeakKind,
    /// The locations, by splits in their order, then in the order of the data; at most [`MAX_LISTED_PLACES`] for each split.
    pub places: Vec<LeakLocation>,
    /// The number of further locations.
    pub more: u64,
    /// Possible repairs, the best first. Empty when there are further locations: no listed repair would end the leak.
    pub repairs: Vec<LeakRepair>,
}

/// The number of leaks of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeakCount {
    /// The kind.
    pub kind: LeakKind,
    /// The number of shared things.
    pub leaks: u64,
}

/// Leaks between two splits, of all kinds but shared names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitPairLeaks {
    /// The two splits, in their order.
    pub splits: [Arc<str>; 2],
    /// The number of things that both have.
    pub leaks: u64,
}

/// The result of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Leaks {
    /// The leaks, most certain kind first, in an order that depends on the data alone; at most [`LISTED_LEAKS`] of each kind.
    pub leaks: Vec<Leak>,
    /// The number of leaks of each kind; kinds without any are left out.
    pub counts: Vec<LeakCount>,
    /// The leaks by pairs of splits.
    pub between: Vec<SplitPairLeaks>,
    /// The number of names such as `0001` that many folders have: they look like numbers and are not counted as leaks.
    pub common_names: u64,
}

impl Leaks {
    /// Returns the number of leaks that are certain.
    pub fn certain_count(&self) -> u64 {
        self.counts.iter().filter(|count| count.kind.is_sure()).map(|count| count.leaks).sum()
    }
}
