//! A plan: every answer that decides the bytes of the result. Screens, prompts, flags and `plan.yaml` fill this same value.

use super::media::MediaPlan;
use super::Problem;
use serde::{Deserialize, Serialize};

/// Version of the plan file; a reader refuses a newer one.
pub const PLAN_VERSION: u32 = 1;

/// What to do about an earlier preparation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rerun {
    /// Refuse when the data set is prepared already (same plan and inputs: nothing to do).
    #[default]
    Refuse,
    /// `--update`: scan only new and changed shards; excludes and assignments stay.
    Update,
    /// `--force-overwrite`: redo everything.
    Overwrite,
}

/// Which files are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All of them.
    #[default]
    Full,
    /// `--tar-index-only`: `.tar.idx`, the database and the uuid again; the rest stays.
    TarIndexOnly,
    /// `--skip-sample-tables`: no `index.sqlite`; enough for training, not for access by name.
    WithoutSampleTables,
}

/// What to do when one key names two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// Publish nothing and name both places.
    #[default]
    Fail,
    /// The first place stays; the later ones get no row, and are excluded where they lie in another shard.
    KeepFirst,
}

/// What to do with compressed shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tgz {
    /// Index them and leave them out of the splits.
    #[default]
    Skip,
    /// Make a plain `.tar` beside each and use that.
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

/// One split with its shards given by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitList {
    /// Split name.
    pub name: String,
    /// Shard names; brace expressions are allowed, as in `split.yaml`.
    pub shards: Vec<String>,
}

/// How shards are divided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitPlan {
    /// Not answered yet.
    #[default]
    Unset,
    /// Three numbers for train, val, test, as typed: `8,1,1`.
    Ratio(String),
    /// By patterns on shard names.
    Patterns(Vec<SplitPattern>),
    /// By hand, or from a `split.yaml` (`--splits-from`).
    Listed(Vec<SplitList>),
}

/// One field of a field map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldExpr {
    /// Field of the sample type.
    pub field: String,
    /// Expression: `detail.json[caption][long],txt`.
    pub expr: String,
}

/// How samples are turned into what the trainer gets: what `dataset.yaml` will say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loading {
    /// Not answered yet.
    #[default]
    Unset,
    /// `--skip-dataset-yaml`.
    NoDatasetYaml,
    /// `CrudeWebdataset`: samples as plain maps of parts.
    Crude {
        /// Write a `cooker.py` skeleton.
        cooker: bool,
    },
    /// A sample type filled by a field map.
    FieldMap {
        /// Class name, or `module:Class`.
        sample_type: String,
        /// In class order.
        fields: Vec<FieldExpr>,
    },
    /// A sample type filled by a generated `sample_loader.py`.
    SampleLoader {
        /// Class name, or `module:Class`.
        sample_type: String,
    },
}

/// Everything that decides what `prepare` makes of a WebDataset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PreparePlan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// The data set, as given by the person.
    pub path: String,
    /// What to do about an earlier preparation.
    #[serde(default)]
    pub rerun: Rerun,
    /// With `--force-overwrite`: forget excludes too.
    #[serde(default)]
    pub reset_excludes: bool,
    /// With `--update`: the split that new shards join; `None` means by the recorded rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_to: Option<String>,
    /// Which files are made.
    #[serde(default)]
    pub scope: Scope,
    /// `--exclude`: unanchored regular expressions on shard names; matches are left out altogether.
    #[serde(default)]
    pub exclude_shards: Vec<String>,
    /// How shards are divided.
    #[serde(default)]
    pub splits: SplitPlan,
    /// Shuffle the shards before dividing them (fixed seed, as the reference does).
    #[serde(default)]
    pub shuffle_tars: bool,
    /// Accept splits without shards from patterns.
    #[serde(default)]
    pub allow_empty_splits: bool,
    /// Items for `exclude:` of `split.yaml`: `SHARD` or `SHARD/KEY`, braces allowed.
    #[serde(default)]
    pub excludes: Vec<String>,
    /// What `dataset.yaml` will say.
    #[serde(default)]
    pub loading: Loading,
    /// Name of the dataset yaml inside `.nv-meta`.
    #[serde(default = "default_dataset_yaml_name")]
    pub dataset_yaml_name: String,
    /// Media metadata; `None` leaves what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaPlan>,
    /// What to do when one key names two samples.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// What to do with compressed shards.
    #[serde(default)]
    pub tgz: Tgz,
    /// Of a JSONL file with bad lines: index a copy without them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_bad_lines: bool,
    /// Reproduce the reference program's bytes even where they lose data.
    #[serde(default)]
    pub compat: bool,
    /// What reading the answers found, as a key that a `split.yaml` has twice. Not part of the file of a plan.
    #[serde(skip)]
    pub findings: Vec<Problem>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(answer: &bool) -> bool {
    !*answer
}

/// `dataset.yaml`.
pub const DATASET_YAML: &str = "dataset.yaml";

fn default_dataset_yaml_name() -> String {
    DATASET_YAML.to_owned()
}

impl PreparePlan {
    /// A plan in which nothing is answered yet.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            version: PLAN_VERSION,
            path: path.into(),
            rerun: Rerun::default(),
            reset_excludes: false,
            new_to: None,
            scope: Scope::default(),
            exclude_shards: Vec::new(),
            splits: SplitPlan::default(),
            shuffle_tars: false,
            allow_empty_splits: false,
            excludes: Vec::new(),
            loading: Loading::default(),
            dataset_yaml_name: default_dataset_yaml_name(),
            media: None,
            duplicates: Duplicates::default(),
            tgz: Tgz::default(),
            skip_bad_lines: false,
            compat: false,
            findings: Vec::new(),
        }
    }
}

/// Everything that decides what `prepare-media` makes: media metadata of a prepared WebDataset or of a folder of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PrepareMediaPlan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// The data set, as given by the person.
    pub path: String,
    /// Which entries, and how.
    pub media: MediaPlan,
    /// Remove rows of entries that are gone.
    #[serde(default)]
    pub prune: bool,
    /// Leave broken pictures out, as the reference program does.
    #[serde(default)]
    pub compat: bool,
}
