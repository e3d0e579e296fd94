//! The plan of `shard`: every answer that decides the bytes of the new shards. Screens, prompts, flags and `plan.yaml` fill this value.

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

/// What an input is read as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// By its content: shards, a file of rows, or loose files.
    #[default]
    Auto,
    /// Loose files: those of one key are a sample.
    Files,
    /// Rows of JSONL, JSON, CSV, TSV or Parquet files, a sample each.
    Rows,
    /// Shards.
    Tars,
}

/// Which dot of a file name divides key and part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyRule {
    /// The first one, as loaders read names.
    #[default]
    FirstDot,
    /// The last one; earlier dots become `_`.
    LastDot,
}

/// What is done with a row whose media are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// The row is left out.
    #[default]
    Skip,
    /// The sample is written without that part.
    Keep,
    /// Nothing is written.
    Fail,
}

/// What is done with a key that occurs more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatedKeys {
    /// Nothing is written; both places are reported.
    #[default]
    Fail,
    /// The first copy is kept.
    KeepFirst,
    /// The parts of all copies become one sample at the place of the first.
    Merge,
    /// Every key gets the name of its shard in front.
    Prefix,
}

/// A column of rows and the name of its part, `COLUMN[:PART]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Column {
    /// Name of the column; dots lead into objects if no column has the whole name.
    pub name: String,
    /// Name of the part, which may contain `{ext}`; `None` means the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
}

/// How rows become samples. See docs/formats/webdataset.md.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct RowColumns {
    /// Columns with paths of media, or with media.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Column>,
    /// Folder or prepared data set that the paths are relative to; `None` means the folder of the file of rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_root: Option<PathBuf>,
    /// Columns whose text becomes a part.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<Column>,
    /// Whether the row itself is not a part `json`.
    pub no_json: bool,
    /// Column with the name of the split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split: Option<String>,
    /// What is done with a row whose media are missing.
    pub missing: Missing,
}

/// Which samples and parts are written, in the order in which the rules apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SampleChoice {
    /// Splits of a prepared input; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub splits: Vec<String>,
    /// Whether all splits become one.
    pub one_split: bool,
    /// Whether excluded samples are written.
    pub keep_excluded: bool,
    /// New names of parts, as pairs of old and new name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rename_parts: Vec<(String, String)>,
    /// Names of the parts to write; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep_parts: Vec<String>,
    /// Names of parts to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drop_parts: Vec<String>,
    /// Names of parts without which a sample is left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub require: Vec<String>,
    /// File with the keys to write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_keys: Option<PathBuf>,
    /// File with keys to leave out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_keys: Option<PathBuf>,
    /// What is done with a key that occurs more than once.
    pub repeated_keys: RepeatedKeys,
    /// Number of samples to write, after shuffling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// How samples are divided into shards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Division {
    /// Largest number of samples of a shard.
    pub max_count: u64,
    /// Largest size of a finished shard, in bytes; a larger sample has a shard of its own.
    pub max_size: u64,
    /// Number of shards, whose counts differ by at most one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shards: Option<u64>,
    /// Whether counts differ by at most one.
    pub even: bool,
    /// File name with the number: `%06d` or `{:06}`.
    pub pattern: String,
    /// Number of the first shard.
    pub start: u64,
    /// Whether the first folder of a name is the split.
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

/// Where media are written if they are a set of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct MediaSet {
    /// Folder of the shards of media.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_to: Option<PathBuf>,
    /// JSONL file that receives the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_to: Option<PathBuf>,
    /// Metadataset of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadataset: Option<PathBuf>,
}

/// How the new set is prepared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Preparation {
    /// Whether only shards are written.
    pub no_prepare: bool,
    /// Splits; unanswered means those of the input, or one.
    pub splits: SplitPlan,
    /// Content of the dataset yaml; unanswered means crude.
    pub loading: SampleMapping,
    /// File name of the dataset yaml.
    pub dataset_yaml_name: String,
    /// Media metadata.
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

/// What is written into new shards, how, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ShardPlan {
    /// [`PLAN_VERSION`].
    pub version: u32,
    /// The inputs, in order.
    pub inputs: Vec<PathBuf>,
    /// Folder of the new shards; `None` only if all is written elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<PathBuf>,
    /// What the inputs are read as.
    #[serde(default)]
    pub read_as: InputKind,
    /// Which dot divides key and part in names of loose files.
    #[serde(default)]
    pub key_rule: KeyRule,
    /// Column of rows with the key, or `number`, which numbers all samples; `None` means the name of the media, or the old key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// How rows become samples.
    #[serde(default)]
    pub rows: RowColumns,
    /// Which samples and parts are written.
    #[serde(default)]
    pub choice: SampleChoice,
    /// How samples are divided into shards.
    #[serde(default)]
    pub division: Division,
    /// Whether samples are shuffled.
    #[serde(default)]
    pub shuffle: bool,
    /// Seed of the shuffle.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Time in the headers, in seconds since 1970.
    #[serde(default)]
    pub mtime: u64,
    /// Whether the report has a checksum of every shard.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub checksums: bool,
    /// Where media are written if they are a set of their own.
    #[serde(default)]
    pub apart: MediaSet,
    /// Whether the output is a prepared set that gets more shards.
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
