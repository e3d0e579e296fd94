//! Leaks: samples of one split that another split has too.
//!
//! A *copy* is a sample whose content is in another split: all of its parts, or one part that makes it what it is (its
//! picture, sound, video or array; where it has none of these, its text). Small parts and labels are alike in many samples
//! and say nothing. A *shared name* is the same file name in another folder (`train/a1` and `val/a1`): often the same thing,
//! so it is worth a look, but no proof. Excluded shards and samples, and shards in no split, are not trained on and do not
//! count.
//!
//! Every content that is compared leaves one short record, sorted in runs in the scratch folder (about 20 bytes each), so that
//! memory does not grow with the data. A unit of work is one shard: [`LeakSearch::take`]; the records of all are merged by
//! [`LeakSearch::finish`].

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
pub const LISTED_PLACES: usize = 8;
/// Parts below this size say nothing on their own, in bytes.
pub const SMALLEST_PART: u64 = 64;

/// Which shard is in which split, and what is excluded: as in `split.yaml`, or as it would be after edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitLayout {
    /// Split name and its shards, braces expanded.
    pub splits: Vec<(Arc<str>, Vec<Arc<str>>)>,
    /// `SHARD` or `SHARD/KEY` as written, braces not expanded.
    pub excludes: Vec<Arc<str>>,
}

impl SplitLayout {
    /// The splits as they are edited now, written or not.
    pub fn of(editor: &SplitEditor) -> Self {
        let shards =
            |split: &super::splits::SplitView| split.shards.iter().map(|shard| Arc::clone(&shard.name)).collect();
        Self {
            splits: editor.splits().iter().map(|split| (Arc::clone(&split.name), shards(split))).collect(),
            excludes: editor.excludes().iter().map(|exclude| Arc::clone(&exclude.item)).collect(),
        }
    }
}

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakOptions {
    /// Read every part and compare contents. Without it only names are compared, which takes seconds.
    pub content: bool,
    /// Only these parts are compared on their own, whatever their kind; empty: those that make a sample what it is.
    pub parts: Vec<String>,
    /// Parts below this size are not compared on their own, in bytes.
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
    /// One shard stands in two splits.
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
    /// All of them, the surest first.
    pub const ALL: [Self; 5] = [Self::Shard, Self::Sample, Self::Part, Self::Key, Self::Name];

    /// A few words, for tables.
    pub fn title(self) -> &'static str {
        match self {
            Self::Shard => "same shard",
            Self::Sample => "same sample",
            Self::Part => "same part",
            Self::Key => "same key",
            Self::Name => "same name",
        }
    }

    /// Whether it is one for sure; a shared name may be chance.
    pub fn is_sure(self) -> bool {
        self != Self::Name
    }
}

/// Where a leaked thing is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeakPlace {
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

impl LeakPlace {
    /// The `exclude` item for it; `None` for a whole shard.
    pub fn exclude_item(&self) -> Option<String> {
        self.key.as_ref().map(|key| exclude_item(&self.shard, Some(key)))
    }
}

/// A way to end a leak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "way", rename_all = "kebab-case")]
pub enum Repair {
    /// Exclude every copy but those of one split.
    Exclude {
        /// The split that keeps them.
        keep: Arc<str>,
        /// `exclude` items, escaped.
        items: Vec<String>,
    },
    /// Put a shard into one split, and out of any other.
    Move {
        /// The shard. Raw.
        shard: Arc<str>,
        /// The split it joins.
        to: Arc<str>,
    },
}

impl Repair {
    /// The change that does it.
    pub fn edit(&self) -> Edit {
        match self {
            Self::Exclude { items, .. } => Edit::Exclude { items: items.iter().map(ExcludeItem::escaped).collect() },
            Self::Move { shard, to } => Edit::MoveShards { shards: vec![Arc::clone(shard)], to: Some(Arc::clone(to)) },
        }
    }
}

/// One thing that at least two splits have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leak {
    /// What they share.
    pub kind: LeakKind,
    /// Where, by splits in their order, then in the order of the data; of each split at most [`LISTED_PLACES`].
    pub places: Vec<LeakPlace>,
    /// Further places.
    pub more: u64,
    /// What can be done, the best first. Empty when there are further places: no listed repair would end the leak.
    pub repairs: Vec<Repair>,
}

/// How many leaks there are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeakCount {
    /// The kind.
    pub kind: LeakKind,
    /// Things that are shared.
    pub leaks: u64,
}

/// Leaks between two splits, of all kinds but shared names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Between {
    /// The two, in their order.
    pub splits: [Arc<str>; 2],
    /// Things that both have.
    pub leaks: u64,
}

/// What a search came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Leaks {
    /// Surest kind first, in an order that depends on the data alone; at most [`LISTED_LEAKS`] of each kind.
    pub leaks: Vec<Leak>,
    /// All of them, counted; kinds without any are left out.
    pub counts: Vec<LeakCount>,
    /// By pairs of splits.
    pub between: Vec<Between>,
    /// Names such as `0001` that many folders have: they look like numbers and were not taken for leaks.
    pub common_names: u64,
}

impl Leaks {
    /// Leaks that are sure.
    pub fn sure(&self) -> u64 {
        self.counts.iter().filter(|count| count.kind.is_sure()).map(|count| count.leaks).sum()
    }
}
