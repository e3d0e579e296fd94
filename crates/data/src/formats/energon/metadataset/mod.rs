//! Metadatasets: YAML files that mix and join prepared data sets (docs/formats/energon.md §14).
//!
//! [`read`] parses one file and finds every mistake that is visible in it alone, with line and column. Whether the members exist and fit
//! together is checked by the caller that opens them.

mod join;
mod keys;
mod members;
mod read;
mod reference;
mod render;
#[cfg(test)]
mod tests;
mod values;
mod version1;

pub use gristmill_pycompat::yaml_read::Mark;
pub use read::read;
pub use render::render;
pub use values::subset_as_typed;

use gristmill_core::mix::Nonmatch;
use gristmill_core::sample_type::ENERGON_PACKAGE;
use gristmill_pycompat::Node as Value;

/// Returns the hint that makes a file one of version 2.
pub fn version_2_hint() -> String {
    format!("add `__module__: {ENERGON_PACKAGE}` and `__class__: {}`", read::CLASS)
}

/// A construct in the file at which the loader fails, or which the loader interprets differently from how it looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Description in one sentence. Raw.
    pub message: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// Remedy, if there is one.
    pub hint: Option<String>,
}

/// Content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadataset {
    /// Version of the format, 1 or 2.
    pub version: u8,
    /// Splits in the order of the file.
    pub splits: Vec<Split>,
    /// Constructs that the loader accepts but that are probably unintended.
    pub remarks: Vec<Mistake>,
}

/// One split.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Name of the split.
    pub name: String,
    /// Location in the file.
    pub at: Mark,
    /// Content of the split.
    pub node: Node,
}

/// Content of a split.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// One data set, or one join.
    Leaf(Leaf),
    /// Several data sets or joins.
    Blend(Blend),
}

/// Content of a split or of a member of a blend.
#[derive(Clone, Debug, PartialEq)]
pub enum Leaf {
    /// A data set, or a split of another metadataset.
    Reference(Reference),
    /// Several data sets, joined by key.
    Join(Join),
}

/// Several data sets, sampled in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Blend {
    /// Location of the list.
    pub at: Mark,
    /// Whether members are repeated a number of times per epoch; otherwise they are drawn by weight, endlessly.
    pub is_epochized: bool,
    /// Members, at least one.
    pub members: Vec<Member>,
    /// Subset that is applied to each member.
    pub subset: Option<Subset>,
}

/// One member of a blend.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Weight or repetitions, above 0.
    pub amount: f64,
    /// Content of the member.
    pub leaf: Leaf,
}

/// A data set given by its path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// Location of the path.
    pub at: Mark,
    /// Path as written: relative to the folder of the file, absolute, or remote.
    pub path: String,
    /// Split to use instead of the one of the same name.
    pub split_part: Option<String>,
    /// Properties for each sample, unchanged.
    pub subflavors: Option<Vec<(String, Value)>>,
    /// Number of epochs that are shuffled together; `None` for no shuffling, -1 for drawing with replacement.
    pub shuffle_over_epochs: Option<i64>,
    /// File used instead of `dataset.yaml`, with the location of the key.
    pub dataset_config: Option<(Mark, String)>,
    /// File used instead of `split.yaml`, with the location of the key.
    pub split_config: Option<(Mark, String)>,
    /// Sources of media for a cooker.
    pub aux: Vec<Aux>,
    /// Range that is used.
    pub subset: Option<Subset>,
}

/// One source of media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aux {
    /// Location in the file.
    pub at: Mark,
    /// Name used by the cooker.
    pub name: String,
    /// Location of the media.
    pub target: AuxTarget,
}

/// Location of media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuxTarget {
    /// In a prepared WebDataset; relative to the folder of the file, absolute, or remote.
    Dataset(String),
    /// In a folder of files; relative to the folder of the file, absolute, or remote.
    Folder(String),
}

/// A range of a data set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subset {
    /// Location in the file.
    pub at: Mark,
    /// The range.
    pub range: Range,
}

/// Selects samples of a data set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Start and end in percent: 0 to 100, ascending.
    Percent(f64, f64),
    /// Start and end (exclusive) as sample numbers; `None` is the end of the data set.
    Samples(u64, Option<u64>),
}

/// Several data sets, joined by key.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Location of the members.
    pub at: Mark,
    /// Members, at least one; the first determines the order.
    pub members: Vec<JoinMember>,
    /// Whether the members have names, by which the joiner is called; otherwise it is called by position.
    pub is_named: bool,
    /// Combines the samples of the members into one.
    pub joiner: Joiner,
    /// Split to use instead of the one of the same name, for members that do not name one.
    pub split_part: Option<String>,
    /// Properties for each sample, unchanged.
    pub subflavors: Option<Vec<(String, Value)>>,
    /// Range of the joined samples that is used.
    pub subset: Option<Subset>,
}

/// One member of a join.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinMember {
    /// Name, if the join has names.
    pub name: Option<String>,
    /// The data set.
    pub reference: Reference,
    /// Handling of samples that the member lacks.
    pub nonmatch: Nonmatch,
}

/// Combines the samples of the members into one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joiner {
    /// Location in the file.
    pub at: Mark,
    /// Python module.
    pub module: String,
    /// Class or function in the module.
    pub object: String,
    /// Whether the object is a class.
    pub is_class: bool,
}
