//! A mixture of data sets as a person asks for it: what `mix new` writes (docs/formats/energon.md §14).

use serde::{Deserialize, Serialize};

/// How the members of a mixture are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixKind {
    /// Samples are drawn from the members with given weights, for ever.
    #[default]
    Blend,
    /// Each member is seen a given number of times per epoch.
    Epochized,
    /// Samples of one key become one sample.
    Join,
}

/// What happens in a join to a sample whose key a further member lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nonmatch {
    /// The join is refused.
    #[default]
    Error,
    /// The sample is left out.
    Skip,
    /// The sample is kept, with nothing from that member.
    None,
}

impl Nonmatch {
    /// As the file has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Skip => "skip",
            Self::None => "none",
        }
    }
}

/// Where the media that a crude member names are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixAux {
    /// What the cooker calls it.
    pub name: String,
    /// A prepared WebDataset, or `filesystem://FOLDER`; relative to the folder the program runs in.
    pub path: String,
    /// The file has the path as seen from its own folder, although it is whole here; see [`MixMember::is_relative`].
    #[serde(default, rename = "relative", skip_serializing_if = "is_default")]
    pub is_relative: bool,
}

impl MixAux {
    /// A source by its name and path.
    pub fn new(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self { name: name.into(), path: path.into(), is_relative: false }
    }
}

/// `KEY=VALUE`, given to each sample of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixSubflavor {
    /// Its name.
    pub key: String,
    /// Its value, always text.
    pub value: String,
}

/// One member of a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixMember {
    /// A prepared WebDataset, a `.jsonl` file or another metadataset; relative to the folder the program runs in.
    pub path: String,
    /// The file has the path as seen from its own folder, although it is whole here: a plan that was saved has whole paths, so that it
    /// can be run from any folder, and is to give the same file.
    #[serde(default, rename = "relative", skip_serializing_if = "is_default")]
    pub is_relative: bool,
    /// Its weight in a blend, its repetitions in an epochized one; not used in a join.
    #[serde(default = "one")]
    pub amount: f64,
    /// What the joiner calls it; in a join only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What becomes of samples it lacks; in a join only, and not for the first member.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nonmatch: Nonmatch,
    /// The split of it that is used, where that is not the one of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_part: Option<String>,
    /// Further properties of its samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflavors: Vec<MixSubflavor>,
    /// The range that is used: `["0%", "50%"]`, `["100", "end"]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subset: Option<[String; 2]>,
    /// Sources of media; for crude and JSONL members only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aux: Vec<MixAux>,
}

fn one() -> f64 {
    1.0
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl MixMember {
    /// A member with nothing but its path and its weight or repetitions.
    pub fn new(path: impl Into<String>, amount: f64) -> Self {
        Self {
            path: path.into(),
            is_relative: false,
            amount,
            name: None,
            nonmatch: Nonmatch::default(),
            split_part: None,
            subflavors: Vec::new(),
            subset: None,
            aux: Vec::new(),
        }
    }
}

/// Everything that decides which metadataset is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixPlan {
    /// [`PLAN_VERSION`](super::plan::PLAN_VERSION).
    pub version: u32,
    /// The `.yaml` file that is written; relative to the folder the program runs in.
    pub output: String,
    /// How the members are put together.
    pub kind: MixKind,
    /// At least one; the first of a join is the one whose order counts.
    pub members: Vec<MixMember>,
    /// `module:function` or `module:Class` that makes one sample of several; needed by a join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joiner: Option<String>,
    /// The splits that are written, all with the same mixture; none: those of train, val and test that every member has.
    /// JSONL files have no splits: they are part of the first of these alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<String>,
    /// Replace a file that is there.
    #[serde(default)]
    pub overwrite: bool,
}

impl MixPlan {
    /// A mixture without members yet.
    pub fn new(output: impl Into<String>, kind: MixKind) -> Self {
        Self {
            version: super::plan::PLAN_VERSION,
            output: output.into(),
            kind,
            members: Vec::new(),
            joiner: None,
            splits: Vec::new(),
            overwrite: false,
        }
    }
}
