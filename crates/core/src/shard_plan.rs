//! The plan of `shard`: all answers that determine the bytes of the new shards. Forms, prompts, flags and `plan.yaml` set its values.

use super::media::MediaPlan;
use super::plan::{SampleMapping, SplitPlan, DATASET_YAML, PLAN_VERSION};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Default of `--max-count`, in samples.
pub const MAX_COUNT: u64 = 10_000;
/// Default of `--max-size`, in bytes.
pub const MAX_SIZE: u64 = 3_000_000_000;
/// Default of `--pattern`.
pub const PATTERN: &str = "shard_%06d.tar";
/// Default of `--seed`.
pub const SEED: u64 = 42;

/// How an input is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// Depends on the content: shards, a file of rows, or loose files.
    #[default]
    Auto,
    /// Loose files; files with the same key form a sample.
    Files,
    /// Rows of JSONL, JSON, CSV, TSV or Parquet files; each row is a sample.
    Rows,
    /// Shards.
    Tars,
}

/// The dot of a file name that separates key and part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyRule {
    /// The first dot, as in loaders.
    #[default]
    FirstDot,
    /// The last dot; earlier dots become `_`.
    LastDot,
}

/// How a row with missing media is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The row is omitted.
    #[default]
    Skip,
    /// The sample is written without that part.
    Keep,
    /// The run fails and writes nothing.
    Fail,
}

/// How a key that occurs more than once is handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatedKeys {
    /// The run fails, writes nothing, and reports both places.
    #[default]
    Fail,
    /// Only the first sample of the key is written.
    KeepFirst,
    /// The parts of all samples of the key are merged into the first one.
    Merge,
    /// Every key gets the name of its shard as a prefix.
    Prefix,
}

/// A column of rows, and the name of its part: `COLUMN[:PART]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Column {
    /// Name of the column. If no column has the whole name, dots separate the keys of nested objects.
    pub name: String,
    /// Name of the part, which may contain `{ext}`; `None` means the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// How rows are converted to samples. See docs/formats/webdataset.md.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RowColumns {
    /// Columns with paths of media, or with media.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Column>,
    /// Folder or prepared data set to which the paths are relative; `None` means the folder of the file of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_root: Option<PathBuf>,
    /// Columns whose text becomes a part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<Column>,
    /// Whether to omit the part `json` with the row itself.
    pub no_json: bool,
    /// Column with the name of the split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// How a row with missing media is handled.
    pub missing: Missing,
}

/// The samples and parts that are written. The rules are in the order in which they apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SampleChoice {
    /// Splits of a prepared input to write; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<String>,
    /// Whether to merge all splits into one.
    pub one_split: bool,
    /// Whether to write excluded samples.
    pub keep_excluded: bool,
    /// Part renames, as pairs of old and new name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rename_parts: Vec<(String, String)>,
    /// Names of the parts to write; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep_parts: Vec<String>,
    /// Names of parts to omit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop_parts: Vec<String>,
    /// Names of required parts; samples without one of them are omitted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<String>,
    /// File with the keys of the samples to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_keys: Option<PathBuf>,
    /// File with the keys of samples to omit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_keys: Option<PathBuf>,
    /// How a key that occurs more than once is handled.
    pub repeated_keys: RepeatedKeys,
    /// Maximum number of samples to write, after shuffling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// How samples are divided into shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Division {
    /// Maximum number of samples per shard.
    pub max_count: u64,
    /// Maximum size of a finished shard in bytes. A larger sample gets its own shard.
    pub max_size: u64,
    /// Number of shards. Their sample counts differ by at most one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<u64>,
    /// Whether the sample counts of shards differ by at most one.
    pub even: bool,
    /// Pattern of the file names, with a placeholder for the number: `%06d` or `{:06}`.
    pub pattern: String,
    /// Number of the first shard.
    pub start: u64,
    /// Whether the first folder of a name is its split.
    pub splits_by_folder: bool,
}

impl Default for Division {
    fn default() -> Self {
        Self {
            max_count: MAX_COUNT,
            max_size: MAX_SIZE,
            shards: None,
            even: false,
            pattern: PATTERN.to_owned(),
            start: 0,
            splits_by_folder: false,
        }
    }
}

/// Outputs for writing media separately from the other parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct MediaSet {
    /// Folder of the shards with media.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_to: Option<PathBuf>,
    /// JSONL file for the samples without media.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_to: Option<PathBuf>,
    /// Metadataset of both outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadataset: Option<PathBuf>,
}

/// How the new set is prepared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Preparation {
    /// Whether to write only shards and not prepare them.
    pub no_prepare: bool,
    /// Splits of the new set. If unanswered, the splits of the input, or a single split.
    pub splits: SplitPlan,
    /// Content of the dataset YAML. If unanswered, a crude data set.
    pub loading: SampleMapping,
    /// File name of the dataset YAML.
    pub dataset_yaml_name: String,
    /// The plan for collecting media metadata; `None` means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaPlan>,
}

impl Default for Preparation {
    fn default() -> Self {
        Self {
            no_prepare: false,
            splits: SplitPlan::default(),
            loading: SampleMapping::default(),
            dataset_yaml_name: DATASET_YAML.to_owned(),
            media: None,
        }
    }
}

/// The inputs, options and outputs of `shard`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShardPlan {
    /// Version of the plan, see [`PLAN_VERSION`].
    pub version: u32,
    /// The inputs, in order.
    pub inputs: Vec<PathBuf>,
    /// Folder of the new shards; `None` only if all parts are written to separate outputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// How the inputs are read.
    #[serde(default)]
    pub read_as: InputKind,
    /// The dot that separates key and part in names of loose files.
    #[serde(default)]
    pub key_rule: KeyRule,
    /// Column with the key of a row, or `number` to number all samples; `None` means the path of the media, or the key of the input sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How rows are converted to samples.
    #[serde(default)]
    pub rows: RowColumns,
    /// The samples and parts that are written.
    #[serde(default)]
    pub choice: SampleChoice,
    /// How samples are divided into shards.
    #[serde(default)]
    pub division: Division,
    /// Whether to shuffle samples.
    #[serde(default)]
    pub shuffle: bool,
    /// Seed of the shuffle.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Modification time in tar headers, in seconds since 1970.
    #[serde(default)]
    pub mtime: u64,
    /// Whether the report includes a checksum of every shard.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checksums: bool,
    /// Outputs for writing media separately from the other parts.
    #[serde(default)]
    pub apart: MediaSet,
    /// Whether to append the shards to a prepared set.
    #[serde(default)]
    pub append: bool,
    /// With [`append`](Self::append): the split of the new shards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_to: Option<String>,
    /// How the new set is prepared.
    #[serde(default)]
    pub preparation: Preparation,
}

fn default_seed() -> u64 {
    SEED
}

impl Default for ShardPlan {
    fn default() -> Self {
        Self {
            version: PLAN_VERSION,
            inputs: Vec::new(),
            output: None,
            read_as: InputKind::default(),
            key_rule: KeyRule::default(),
            key: None,
            rows: RowColumns::default(),
            choice: SampleChoice::default(),
            division: Division::default(),
            shuffle: false,
            seed: SEED,
            mtime: 0,
            checksums: false,
            apart: MediaSet::default(),
            append: false,
            new_to: None,
            preparation: Preparation::default(),
        }
    }
}
