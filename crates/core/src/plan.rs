//! Plans: all answers that determine the bytes of a result. Forms, prompts, flags and `plan.yaml` set the same values.

use super::media::MediaPlan;
use super::Problem;
use serde::{Deserialize, Serialize};

/// Version of plan files. A reader refuses newer versions.
pub const PLAN_VERSION: u32 = 1;

/// How an earlier preparation is handled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rerun {
    /// Refuses a data set that is already prepared. With the same plan and inputs, does nothing.
    #[default]
    Refuse,
    /// `--update`: scans only new and changed shards, and preserves excludes and splits.
    Update,
    /// `--force-overwrite`: redoes everything.
    Overwrite,
}

/// The files that `prepare` writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All files.
    #[default]
    Full,
    /// `--tar-index-only`: rewrites only `.tar.idx`, the database and the uuid.
    TarIndexOnly,
    /// `--skip-sample-tables`: no `index.sqlite`; sufficient for training, but not for access by name.
    WithoutSampleTables,
}

/// How a key that two samples share is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Publishes nothing and reports both samples.
    #[default]
    Fail,
    /// Uses the first sample. The later ones have no rows, and are excluded if they are in another shard.
    KeepFirst,
    /// If several shards have the same key, replaces all shards by copies in which the shard name prefixes every entry name. Flags cannot
    /// select it; the recorded plan has [`Fail`](Self::Fail).
    Prefix,
}

/// How compressed shards are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tgz {
    /// Indexes them and omits them from the splits.
    #[default]
    Skip,
    /// Writes a plain `.tar` next to each and uses it instead.
    Rewrite,
}

/// A split given by `--split-parts NAME:PATTERN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitPattern {
    /// Name of the split.
    pub name: String,
    /// Braces are expanded first; each result is a regular expression, matched at the start of shard names.
    pub pattern: String,
}

/// A split with an explicit list of shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitList {
    /// Name of the split.
    pub name: String,
    /// Shard names; brace expressions are allowed, as in `split.yaml`.
    pub shards: Vec<String>,
}

/// How shards are divided into splits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitPlan {
    /// Not answered yet.
    #[default]
    Unset,
    /// Three numbers for train, val, test, as typed: `8,1,1`.
    Ratio(String),
    /// Patterns on shard names.
    Patterns(Vec<SplitPattern>),
    /// Explicit lists, entered by hand or from a `split.yaml` (`--splits-from`).
    Listed(Vec<SplitList>),
}

/// A field of a field map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldExpr {
    /// Name of a field of the sample type.
    pub field: String,
    /// Field-map expression: `detail.json[caption][long],txt`.
    pub expr: String,
}

/// How samples are converted for the trainer: the content of `dataset.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleMapping {
    /// Not answered yet.
    #[default]
    Unset,
    /// `--skip-dataset-yaml`: no `dataset.yaml` is written.
    NoDatasetYaml,
    /// `CrudeWebdataset`: samples are maps of parts.
    Crude {
        /// Whether to write a `cooker.py` skeleton.
        cooker: bool,
    },
    /// A sample type whose fields a field map sets.
    FieldMap {
        /// Class name, or `module:Class`.
        sample_type: String,
        /// The fields, in class order.
        fields: Vec<FieldExpr>,
    },
    /// A sample type whose fields a generated `sample_loader.py` sets.
    SampleLoader {
        /// Class name, or `module:Class`.
        sample_type: String,
    },
}

/// The plan of `prepare`: all answers that determine the files of a prepared WebDataset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PreparePlan {
    /// Version of the plan, see [`PLAN_VERSION`].
    pub version: u32,
    /// The data set, as given by the user.
    pub path: String,
    /// How an earlier preparation is handled.
    #[serde(default)]
    pub rerun: Rerun,
    /// With `--force-overwrite`: whether to discard excludes, too.
    #[serde(default)]
    pub reset_excludes: bool,
    /// With `--update`: the split to which new shards are added; `None` means that the recorded rule determines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_to: Option<String>,
    /// The files to write.
    #[serde(default)]
    pub scope: Scope,
    /// `--exclude`: unanchored regular expressions; shards with matching names are ignored.
    #[serde(default)]
    pub exclude_shards: Vec<String>,
    /// How shards are divided into splits.
    #[serde(default)]
    pub splits: SplitPlan,
    /// Whether to shuffle the shards before they are divided (fixed seed, as in the reference program).
    #[serde(default)]
    pub shuffle_tars: bool,
    /// Whether to accept splits whose patterns match no shard.
    #[serde(default)]
    pub allow_empty_splits: bool,
    /// Items for `exclude:` in `split.yaml`: `SHARD` or `SHARD/KEY`; braces are expanded.
    #[serde(default)]
    pub excludes: Vec<String>,
    /// The content of `dataset.yaml`.
    #[serde(default)]
    pub loading: SampleMapping,
    /// File name of the dataset YAML in `.nv-meta`.
    #[serde(default = "default_dataset_yaml_name")]
    pub dataset_yaml_name: String,
    /// Media metadata; `None` leaves existing metadata unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaPlan>,
    /// How a key that two samples share is handled.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// How compressed shards are handled.
    #[serde(default)]
    pub tgz: Tgz,
    /// For a JSONL file with bad lines: whether to index a copy without them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_bad_lines: bool,
    /// Whether to reproduce the bytes of the reference program even if it loses data.
    #[serde(default)]
    pub compat: bool,
    /// Problems found while reading the answers, for example a repeated key in a `split.yaml`. Not part of plan files.
    #[serde(skip)]
    pub findings: Vec<Problem>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(answer: &bool) -> bool {
    !*answer
}

/// Default file name of the dataset YAML.
pub const DATASET_YAML: &str = "dataset.yaml";

fn default_dataset_yaml_name() -> String {
    DATASET_YAML.to_owned()
}

impl PreparePlan {
    /// Creates a plan with only the path set.
    pub fn new(path: impl Into<String>) -> Self {
        let dataset_yaml_name = default_dataset_yaml_name();
        Self { version: PLAN_VERSION, path: path.into(), dataset_yaml_name, ..Self::default() }
    }
}

/// The plan of `prepare-media`: all answers that determine the media metadata of a prepared WebDataset or of a folder of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrepareMediaPlan {
    /// Version of the plan, see [`PLAN_VERSION`].
    pub version: u32,
    /// The data set, as given by the user.
    pub path: String,
    /// The rule that selects media, and how they are described.
    pub media: MediaPlan,
    /// Whether to remove rows of entries that no longer exist.
    #[serde(default)]
    pub prune: bool,
    /// Whether to omit broken pictures, as the reference program does.
    #[serde(default)]
    pub compat: bool,
}
