//! Metadatasets: a YAML file that mixes and joins prepared data sets (docs/formats/energon.md §14).
//!
//! [`read`] knows what one file says and finds every mistake that shows in it alone, with line and column. Whether the members
//! exist and fit together is told by whoever opens them.

mod join;
mod keys;
mod members;
mod read;
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
use gristmill_pycompat::Node as Value;

/// Something in the file that the loader stops at, or that it takes differently than it looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong, in one sentence. Raw.
    pub message: String,
    /// Line, counted from 1.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
    /// The way out, where there is one.
    pub hint: Option<String>,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadataset {
    /// 1 or 2.
    pub version: u8,
    /// In the order of the file.
    pub splits: Vec<Split>,
    /// What the loader accepts but was hardly meant.
    pub remarks: Vec<Mistake>,
}

/// One split.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub at: Mark,
    /// What it is made of.
    pub node: Node,
}

/// What a split is made of.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// One data set, or one join.
    Leaf(Leaf),
    /// Several.
    Blend(Blend),
}

/// What a split or a member of a blend can be.
#[derive(Clone, Debug, PartialEq)]
pub enum Leaf {
    /// A data set, or a split of another metadataset.
    Reference(Reference),
    /// Several data sets, joined by key.
    Join(Join),
}

/// Several data sets in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Blend {
    /// Where its list is.
    pub at: Mark,
    /// Members are repeated a number of times per epoch; otherwise they are drawn by weight, for ever.
    pub is_epochized: bool,
    /// At least one.
    pub members: Vec<Member>,
    /// Applied to each member.
    pub subset: Option<Subset>,
}

/// One member of a blend.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Weight or repetitions, above 0.
    pub amount: f64,
    /// What it is.
    pub leaf: Leaf,
}

/// A data set by its path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// Where its path is.
    pub at: Mark,
    /// As written: relative to the folder of the file, absolute, or remote.
    pub path: String,
    /// Instead of the split of the same name.
    pub split_part: Option<String>,
    /// Properties for each sample, as they are.
    pub subflavors: Option<Vec<(String, Value)>>,
    /// Epochs that are shuffled together; `None` for no shuffling, -1 for drawing with replacement.
    pub shuffle_over_epochs: Option<i64>,
    /// Instead of `dataset.yaml`, and where that is said.
    pub dataset_config: Option<(Mark, String)>,
    /// Instead of `split.yaml`, and where that is said.
    pub split_config: Option<(Mark, String)>,
    /// Sources of media for a cooker.
    pub aux: Vec<Aux>,
    /// The range that is used.
    pub subset: Option<Subset>,
}

/// One source of media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aux {
    /// Where it is.
    pub at: Mark,
    /// What the cooker calls it.
    pub name: String,
    /// Where the media are.
    pub target: AuxTarget,
}

/// Where media are.
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
    /// Where it is.
    pub at: Mark,
    /// Which.
    pub range: Range,
}

/// Which samples of a data set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// From and to, in percent: 0 to 100, in order.
    Percent(f64, f64),
    /// From and up to (not including) a sample number; `None` is the end.
    Samples(u64, Option<u64>),
}

/// Several data sets, joined by key.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Where its members are.
    pub at: Mark,
    /// At least one; the first gives the order.
    pub members: Vec<JoinMember>,
    /// The members have names, by which the joiner is called; otherwise it is called by position.
    pub is_named: bool,
    /// What makes one sample of several.
    pub joiner: Joiner,
    /// Instead of the split of the same name, for members that do not say one.
    pub split_part: Option<String>,
    /// Properties for each sample, as they are.
    pub subflavors: Option<Vec<(String, Value)>>,
    /// The range of the joined samples that is used.
    pub subset: Option<Subset>,
}

/// One member of a join.
#[derive(Clone, Debug, PartialEq)]
pub struct JoinMember {
    /// Its name, when the join has names.
    pub name: Option<String>,
    /// The data set.
    pub reference: Reference,
    /// What becomes of samples that it lacks.
    pub nonmatch: Nonmatch,
}

/// What makes one sample of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joiner {
    /// Where it is.
    pub at: Mark,
    /// The Python module.
    pub module: String,
    /// The class or function in it.
    pub object: String,
    /// It is a class.
    pub is_class: bool,
}
