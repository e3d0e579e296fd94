//! The flags of `prepare`.

use crate::cli::media::MediaArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What to do when one key names two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DuplicatesArg {
    /// Publish nothing and name both places
    #[default]
    Fail,
    /// Keep the first, leave out the later ones
    KeepFirst,
}

/// What to do with compressed shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TgzArg {
    /// Index them and leave them out of the splits
    #[default]
    Skip,
    /// Make a plain .tar next to each and use that
    Rewrite,
}

/// Flags of `prepare`, besides those that hold everywhere.
#[derive(Args, Clone, Debug, Default)]
pub struct PrepareArgs {
    /// Folder of tar shards, .jsonl file, or metadataset .yaml
    pub path: PathBuf,

    /// Divide the shards by three numbers for train, val and test
    #[arg(long, value_name = "A,B,C", help_heading = "Splits", conflicts_with_all = ["split_parts", "splits_from"],
          allow_hyphen_values = true)]
    pub split_ratio: Option<String>,
    /// Divide by regular expressions on shard names, anchored at the start (repeat)
    #[arg(long, value_name = "NAME:REGEX", help_heading = "Splits", conflicts_with = "splits_from")]
    pub split_parts: Vec<String>,
    /// Take splits and excludes from a split.yaml, as it is
    #[arg(long, value_name = "FILE", help_heading = "Splits")]
    pub splits_from: Option<PathBuf>,
    /// Shuffle the shards before dividing them (fixed seed)
    #[arg(long, help_heading = "Splits")]
    pub shuffle_tars: bool,
    /// Accept patterns that match no shard
    #[arg(long, help_heading = "Splits")]
    pub allow_empty_splits: bool,

    /// Leave out shards whose name this regular expression finds (repeat)
    #[arg(long, value_name = "REGEX", help_heading = "Excludes", allow_hyphen_values = true)]
    pub exclude: Vec<String>,
    /// Exclude one sample (repeat); braces are expanded
    #[arg(long, value_name = "SHARD/KEY", help_heading = "Excludes")]
    pub exclude_sample: Vec<String>,
    /// Exclude the shards and samples that FILE lists, one SHARD or SHARD/KEY a line
    #[arg(long, value_name = "FILE", help_heading = "Excludes")]
    pub exclude_from: Option<PathBuf>,

    /// Sample type: a class name, module:Class, or CrudeWebdataset
    #[arg(long, value_name = "NAME", help_heading = "Loading", conflicts_with = "skip_dataset_yaml")]
    pub sample_type: Option<String>,
    /// Which part fills which field (repeat): caption=json[text],txt
    #[arg(long, value_name = "JSON|FIELD=EXPR", help_heading = "Loading", requires = "sample_type",
          conflicts_with_all = ["sample_loader", "cooker"])]
    pub field_map: Vec<String>,
    /// Write a sample_loader.py template instead of a field map (the older way)
    #[arg(long, help_heading = "Loading", requires = "sample_type", conflicts_with = "cooker")]
    pub sample_loader: bool,
    /// With CrudeWebdataset: write a cooker.py skeleton
    #[arg(long, help_heading = "Loading", requires = "sample_type")]
    pub cooker: bool,
    /// Write no dataset yaml
    #[arg(long, help_heading = "Loading")]
    pub skip_dataset_yaml: bool,
    /// Name of the dataset yaml [default: dataset.yaml]
    #[arg(long, value_name = "NAME", help_heading = "Loading")]
    pub dataset_yaml_name: Option<String>,

    /// Rewrite .tar.idx, the database and the uuid; leave splits and dataset yaml alone
    #[arg(long, help_heading = "Index", conflicts_with_all = ["skip_sample_tables", "update", "force_overwrite"])]
    pub tar_index_only: bool,
    /// Write no index.sqlite: enough for training, not for access by name
    #[arg(long, help_heading = "Index")]
    pub skip_sample_tables: bool,
    /// What to do when one key names two samples
    #[arg(long, value_enum, value_name = "HOW", default_value = "fail", help_heading = "Index")]
    pub duplicates: DuplicatesArg,
    /// What to do with compressed shards
    #[arg(long, value_enum, value_name = "HOW", default_value = "skip", help_heading = "Index")]
    pub tgz: TgzArg,

    /// Of a .jsonl file: index a copy, NAME.clean.jsonl, without the lines that lint reports
    #[arg(long, help_heading = "Index")]
    pub skip_bad_lines: bool,

    #[command(flatten)]
    pub media: MediaArgs,

    /// Prepared before: take in new and changed shards, keep excludes and assignments
    #[arg(long, help_heading = "Second run", conflicts_with = "force_overwrite")]
    pub update: bool,
    /// The split that new shards join [default: by the recorded rule]
    #[arg(long, value_name = "SPLIT", help_heading = "Second run", requires = "update")]
    pub new_to: Option<String>,
    /// Prepared before: redo everything, keep excludes and a backup of split.yaml
    #[arg(long, help_heading = "Second run")]
    pub force_overwrite: bool,
    /// With --force-overwrite: forget the excludes too
    #[arg(long, help_heading = "Second run", requires = "force_overwrite")]
    pub reset_excludes: bool,
}
