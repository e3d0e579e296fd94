//! The facts of a metadataset: its tree, with the share and the samples of each node.

use gristmill_core::Problem;
use serde::Serialize;
use std::path::PathBuf;

/// The kind of a node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixNodeKind {
    /// A prepared WebDataset.
    WebDataset,
    /// A JSONL file.
    Jsonl,
    /// A split of another metadataset. Its only child is the root of that split.
    Metadataset,
    /// Members drawn by weight.
    Blend,
    /// Members that are repeated a number of times per epoch.
    BlendEpochized,
    /// Members that are joined by key. The children have no share.
    Join,
    /// A member that could not be opened; a problem contains the reason.
    Unusable,
}

/// One node of the tree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixNode {
    /// The path as written in the file, or a description. Raw.
    pub label: String,
    /// The kind of the node.
    pub kind: MixNodeKind,
    /// The line of the node in the file, counted from 1.
    pub line: u64,
    /// Share of the samples of the split that come from this node, from 0 to 1.
    pub share: f64,
    /// Weight as written, in a blend.
    pub weight: Option<f64>,
    /// Repetitions as written, in an epochized blend.
    pub repetitions: Option<f64>,
    /// Samples in one pass over the node: those in its split and subset, without excluded ones. `None` if unknown.
    pub samples: Option<u64>,
    /// Samples that the node contributes to one epoch of its split: `samples` times all repetitions above it.
    pub samples_per_epoch: Option<u64>,
    /// How often each of its samples is read, relative to an even mixture of all samples: 1 is even, 2 is twice as often.
    pub oversampling: Option<f64>,
    /// The split of the member that is used.
    pub split_part: Option<String>,
    /// Names and targets of the aux sources, as written. Raw.
    pub aux: Vec<(String, String)>,
    /// The nodes directly below this one, in the order of the file.
    pub children: Vec<MixNode>,
}

/// One split of a metadataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixSplit {
    /// Name of the split. Raw.
    pub name: String,
    /// The root of the split's tree; its share is 1.
    pub root: MixNode,
}

/// The result of looking up some records of a member in its aux sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuxLookup {
    /// Path of the member as written. Raw.
    pub member: String,
    /// Records that were read.
    pub records: u64,
    /// Names of media that were found in one of the sources.
    pub found: u64,
    /// Names of media that were found in no source.
    pub missing: u64,
    /// Examples of the missing names. Raw.
    pub examples: Vec<String>,
}

/// A join in a metadataset, and whether its index exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JoinFacts {
    /// The metadataset that contains it.
    pub file: PathBuf,
    /// The split that contains it.
    pub split: String,
    /// The path at which the loader looks for the index.
    pub index: PathBuf,
    /// Whether the index exists and is complete.
    pub is_prepared: bool,
}

/// The facts that `check` determines about a metadataset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MixFacts {
    /// Path of the metadataset.
    pub path: PathBuf,
    /// Version of the format: 1 or 2.
    pub version: u8,
    /// The splits, in the order of the file.
    pub splits: Vec<MixSplit>,
    /// Joins, in the order of the file, including nested ones.
    pub joins: Vec<JoinFacts>,
    /// Media names looked up in aux sources.
    pub aux: Vec<AuxLookup>,
    /// The problems found. A refusal is something that the loader does not accept.
    pub problems: Vec<Problem>,
}
