//! A plan: every answer that decides the bytes of the result. Screens, prompts, flags and `plan.yaml` fill this same value.

use super::media::MediaPlan;
use super::Problem;
use serde::{Deserialize, Serialize};

/// Version of the plan file; a reader refuses a newer one.
pub const PLAN_VERSION: u32 = 1;

/// What to do with an earlier preparation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rerun {
    /// Refuses a data set that is already prepared (with the same plan and inputs, there is nothing to do).
    #[default]
    Refuse,
    /// `--update`: scans only new and changed shards; excludes and assignments are kept.
    Update,
    /// `--force-overwrite`: redoes everything.
    Overwrite,
}

/// Which files are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All of them.
    #[default]
    Full,
    /// `--tar-index-only`: recreates `.tar.idx`, the database and the uuid; the rest is kept.
    TarIndexOnly,
    /// `--skip-sample-tables`: no `index.sqlite`; enough for training, not for access by name.
    WithoutSampleTables,
}

/// What to do when one key identifies two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Publishes nothing and reports both places.
    #[default]
    Fail,
    /// Keeps the first place; no row is written for the later ones, and they are excluded if they are in another shard.
    KeepFirst,
    /// If a key is in several shards, replaces all shards by copies in which the name of the shard is before every name. Not an answer of
    /// flags; what is recorded afterwards is [`Fail`](Self::Fail).
    Prefix,
}

/// What to do with compressed shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tgz {
    /// Indexes them and leaves them out of the splits.
    #[default]
    Skip,
    /// Makes a plain `.tar` next to each and uses that.
    Rewrite,
}

/// One `--split-parts NAME:PATTERN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitPattern {
    /// Split name.
    pub name: String,
    /// Braces are expanded first; each result is a regular expression, anchored at the start of the shard name.
    pub pattern: String,
}

/// One split with an explicit list of shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitList {
    /// Split name.
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

/// One field of a field map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldExpr {
    /// Name of a field of the sample type.
    pub field: String,
    /// Field-map expression: `detail.json[caption][long],txt`.
    pub expr: String,
}

/// How samples are turned into what the trainer receives: the content of `dataset.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleMapping {
    /// Not answered yet.
    #[default]
    Unset,
    /// `--skip-dataset-yaml`.
    NoDatasetYaml,
    /// `CrudeWebdataset`: samples as plain maps of parts.
    Crude {
        /// Whether to write a `cooker.py` skeleton.
        cooker: bool,
    },
    /// A sample type filled by a field map.
    FieldMap {
        /// Class name, or `module:Class`.
        sample_type: String,
        /// The fields, in class order.
        fields: Vec<FieldExpr>,
    },
    /// A sample type filled by a generated `sample_loader.py`.
    SampleLoader {
        /// Class name, or `module:Class`.
        sample_type: String,
    },
}

/// Everything that decides what `prepare` makes of a WebDataset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PreparePlan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// The data set, as given by the user.
    pub path: String,
    /// What to do with an earlier preparation.
    #[serde(default)]
    pub rerun: Rerun,
    /// With `--force-overwrite`: discards excludes too.
    #[serde(default)]
    pub reset_excludes: bool,
    /// With `--update`: the split that new shards are added to; `None` means by the recorded rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_to: Option<String>,
    /// Which files are made.
    #[serde(default)]
    pub scope: Scope,
    /// `--exclude`: unanchored regular expressions on shard names; matching shards are left out completely.
    #[serde(default)]
    pub exclude_shards: Vec<String>,
    /// How shards are divided into splits.
    #[serde(default)]
    pub splits: SplitPlan,
    /// Shuffles the shards before they are divided (fixed seed, as in the reference).
    #[serde(default)]
    pub shuffle_tars: bool,
    /// Accepts splits whose patterns match no shard.
    #[serde(default)]
    pub allow_empty_splits: bool,
    /// Items for `exclude:` of `split.yaml`: `SHARD` or `SHARD/KEY`, braces allowed.
    #[serde(default)]
    pub excludes: Vec<String>,
    /// Content of `dataset.yaml`.
    #[serde(default)]
    pub loading: SampleMapping,
    /// File name of the dataset yaml inside `.nv-meta`.
    #[serde(default = "default_dataset_yaml_name")]
    pub dataset_yaml_name: String,
    /// Media metadata; `None` leaves existing metadata unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaPlan>,
    /// What to do when one key identifies two samples.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// What to do with compressed shards.
    #[serde(default)]
    pub tgz: Tgz,
    /// For a JSONL file with bad lines: indexes a copy without them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_bad_lines: bool,
    /// Reproduces the reference program's bytes even where it loses data.
    #[serde(default)]
    pub compat: bool,
    /// Problems found while the answers were read, for example a key that occurs twice in a `split.yaml`. Not part of a plan file.
    #[serde(skip)]
    pub findings: Vec<Problem>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(answer: &bool) -> bool {
    !*answer
}

/// Default name of the dataset yaml.
pub const DATASET_YAML: &str = "dataset.yaml";

fn default_dataset_yaml_name() -> String {
    DATASET_YAML.to_owned()
}

impl PreparePlan {
    /// Creates a plan in which only the path is answered.
    pub fn new(path: impl Into<String>) -> Self {
        let dataset_yaml_name = default_dataset_yaml_name();
        Self { version: PLAN_VERSION, path: path.into(), dataset_yaml_name, ..Self::default() }
    }
}

/// Everything that decides what `prepare-media` makes: media metadata of a prepared WebDataset or of a folder of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrepareMediaPlan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// The data set, as given by the user.
    pub path: String,
    /// Which entries are media, and how they are described.
    pub media: MediaPlan,
    /// Whether to remove rows of entries that no longer exist.
    #[serde(default)]
    pub prune: bool,
    /// Leaves broken pictures out, as the reference program does.
    #[serde(default)]
    pub compat: bool,
}
