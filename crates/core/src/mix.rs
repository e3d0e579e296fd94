//! A mixture of data sets as the user requests it: what `mix new` writes (docs/formats/energon.md §14).

use serde::{Deserialize, Serialize};

/// How the members of a mixture are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixKind {
    /// Samples are drawn from the members with given weights, without end.
    #[default]
    Blend,
    /// Each member is seen a given number of times per epoch.
    Epochized,
    /// Samples with the same key become one sample.
    Join,
}

/// What a join does with a sample whose key a further member lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nonmatch {
    /// The join is refused.
    #[default]
    Error,
    /// The sample is left out.
    Skip,
    /// The sample is kept, without data from that member.
    None,
}

impl Nonmatch {
    /// Returns the name used in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Skip => "skip",
            Self::None => "none",
        }
    }
}

/// A source of the media that a crude member refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixAux {
    /// Name that the cooker uses for it.
    pub name: String,
    /// A prepared WebDataset, or `filesystem://FOLDER`; relative to the working directory.
    pub path: String,
    /// The file contains the path relative to its own folder, although it is absolute here; see [`MixMember::is_relative`].
    #[serde(default, rename = "relative", skip_serializing_if = "is_default")]
    pub is_relative: bool,
}

impl MixAux {
    /// Creates a source from its name and path.
    pub fn new(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self { name: name.into(), path: path.into(), is_relative: false }
    }
}

/// `KEY=VALUE`, added to each sample of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixSubflavor {
    /// Key of the property.
    pub key: String,
    /// Value of the property, always text.
    pub value: String,
}

/// One member of a mixture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixMember {
    /// A prepared WebDataset, a `.jsonl` file or another metadataset; relative to the working directory.
    pub path: String,
    /// The file contains the path relative to its own folder, although it is absolute here. A saved plan has absolute paths so that it can
    /// be run from any folder, and must still produce the same file.
    #[serde(default, rename = "relative", skip_serializing_if = "is_default")]
    pub is_relative: bool,
    /// Its weight in a blend, its repetitions in an epochized mixture; not used in a join.
    #[serde(default = "one")]
    pub amount: f64,
    /// Name that the joiner uses for it; in a join only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What happens to samples that it lacks; in a join only, and not for the first member.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nonmatch: Nonmatch,
    /// The split of the member that is used, if it is not the one of the same name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_part: Option<String>,
    /// Additional properties of its samples.
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
    /// Creates a member with only a path and a weight or number of repetitions.
    pub fn new(path: impl Into<String>, amount: f64) -> Self {
        Self { path: path.into(), amount, ..Self::default() }
    }
}

/// Everything that decides which metadataset is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixPlan {
    /// [`PLAN_VERSION`](super::plan::PLAN_VERSION).
    pub version: u32,
    /// The `.yaml` file to write; relative to the working directory.
    pub output: String,
    /// How the members are combined.
    pub kind: MixKind,
    /// The members; at least one. In a join, the first one determines the order.
    pub members: Vec<MixMember>,
    /// `module:function` or `module:Class` that makes one sample of several; required by a join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joiner: Option<String>,
    /// The splits to write, all with the same mixture; if empty, those of train, val and test that every member has. JSONL files have no
    /// splits: they are part of the first of these only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<String>,
    /// Replaces an existing file.
    #[serde(default)]
    pub overwrite: bool,
}

impl MixPlan {
    /// Creates a mixture without members.
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
