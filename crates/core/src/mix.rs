//! The plan of `mix new`: a mixture of data sets (docs/formats/energon.md §14).

use serde::{Deserialize, Serialize};

/// How the members of a mixture are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixKind {
    /// Samples are drawn from the members with given weights, endlessly.
    #[default]
    Blend,
    /// Each member is seen a given number of times per epoch.
    Epochized,
    /// Samples with the same key become one sample.
    Join,
}

/// How a join handles a sample if a further member lacks its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nonmatch {
    /// The join fails.
    #[default]
    Error,
    /// The sample is omitted.
    Skip,
    /// The sample is used without data from that member.
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

/// A source of media for a crude member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixAux {
    /// Name of the source in the cooker.
    pub name: String,
    /// A prepared WebDataset, or `filesystem://FOLDER`; relative to the working directory.
    pub path: String,
    /// Whether the metadataset file has the path relative to its own folder, although it is absolute here; see [`MixMember::is_relative`].
    #[serde(default, rename = "relative", skip_serializing_if = "is_default")]
    pub is_relative: bool,
}

impl MixAux {
    /// Creates a source from its name and path.
    pub fn new(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self { name: name.into(), path: path.into(), is_relative: false }
    }
}

/// A property `KEY=VALUE` that is added to each sample of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixSubflavor {
    /// Key of the property.
    pub key: String,
    /// Value of the property, always a string.
    pub value: String,
}

/// One member of a mixture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixMember {
    /// A prepared WebDataset, a `.jsonl` file or another metadataset; relative to the working directory.
    pub path: String,
    /// Whether the metadataset file has the path relative to its own folder, although it is absolute here. A saved plan has absolute paths
    /// so that it can be run from any folder, but must still produce the same file.
    #[serde(default, rename = "relative", skip_serializing_if = "is_default")]
    pub is_relative: bool,
    /// Weight in a blend, or repetitions in an epochized mixture; unused in a join.
    #[serde(default = "one")]
    pub amount: f64,
    /// Name of the member in the joiner; only in a join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How samples that the member lacks are handled; only in a join, and not for the first member.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nonmatch: Nonmatch,
    /// The split of the member to use, if its name differs from the split of the metadataset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_part: Option<String>,
    /// Properties that are added to its samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subflavors: Vec<MixSubflavor>,
    /// The range of its samples to use: `["0%", "50%"]`, `["100", "end"]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subset: Option<[String; 2]>,
    /// Sources of media; only for crude and JSONL members.
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

/// All answers that determine the metadataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MixPlan {
    /// Version of the plan, see [`PLAN_VERSION`](super::plan::PLAN_VERSION).
    pub version: u32,
    /// The `.yaml` file to write; relative to the working directory.
    pub output: String,
    /// How the members are combined.
    pub kind: MixKind,
    /// The members; at least one. The first member of a join determines the order.
    pub members: Vec<MixMember>,
    /// `module:function` or `module:Class` that combines joined samples; required by a join.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joiner: Option<String>,
    /// The splits to write, all with the same mixture. If empty, those of train, val and test that every member has. JSONL files have no
    /// splits and are part of the first split only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<String>,
    /// Whether to replace an existing file.
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
