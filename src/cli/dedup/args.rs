//! The flags of `dedup`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// What happens to ranges that repeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ModeArg {
    /// Cut them out of the text
    #[default]
    Remove,
    /// Leave the text, list them in the record
    Annotate,
}

/// Where annotate mode lists the ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum VariantArg {
    /// Under --annotate-key
    #[default]
    A,
    /// In sa_remove_ranges, right after the text
    B,
}

/// Which places of a repeated passage stay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum KeepArg {
    /// The first
    #[default]
    First,
    /// None at all
    None,
}

/// Flags of `dedup`, besides those that hold everywhere.
#[derive(Args, Clone, Debug, Default)]
pub struct DedupArgs {
    /// JSONL file, or folder of such files at any depth (.jsonl or .json, plain, .gz, .zst, .bz2, .xz)
    #[arg(value_name = "DIR")]
    pub input: Option<PathBuf>,
    /// Folder that gets the same files
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// The shortest repeat that is removed, in bytes of text: 500 is usual for web text
    #[arg(long, value_name = "N")]
    pub minlen: Option<u64>,
    /// What happens to what repeats [default: remove]
    #[arg(long, value_enum, value_name = "HOW")]
    pub mode: Option<ModeArg>,
    /// Replace what is there
    #[arg(long)]
    pub force_overwrite: bool,

    /// Key of the text [default: text]
    #[arg(long, value_name = "KEY", help_heading = "Documents", allow_hyphen_values = true)]
    pub text_key: Option<String>,
    /// Which places of a passage stay [default: first]
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Documents")]
    pub keep: Option<KeepArg>,
    /// Remove only what occurs at least so often, in all [default: 2]
    #[arg(long, value_name = "N", help_heading = "Documents")]
    pub min_count: Option<u64>,
    /// An earlier set: it counts as coming first, and stays as it is
    #[arg(long, value_name = "DIR", help_heading = "Documents")]
    pub against: Option<PathBuf>,

    /// Where annotate mode lists ranges: a under --annotate-key, b in sa_remove_ranges after the text [default: a]
    #[arg(long, value_enum, value_name = "WHICH", help_heading = "Annotate", ignore_case = true)]
    pub variant: Option<VariantArg>,
    /// Dotted key of the list [default: metadata.sa_remove_ranges]
    #[arg(long, value_name = "A.B", help_heading = "Annotate", allow_hyphen_values = true)]
    pub annotate_key: Option<String>,

    /// Write the index of bsade (the infini-gram files) too, with remove_ranges
    #[arg(long, value_name = "DIR", help_heading = "Index")]
    pub export_index: Option<PathBuf>,
    /// Write remove_ranges and kept_in_the_middle_lengths.txt too
    #[arg(long, value_name = "DIR", help_heading = "Index")]
    pub export_ranges: Option<PathBuf>,
    /// Shards of what is written there [default: 1]
    #[arg(long, value_name = "S", help_heading = "Index")]
    pub shards: Option<u32>,
    /// With --export-index: the suffix table too; needs memory for a shard at a time
    #[arg(long, help_heading = "Index")]
    pub table: bool,
    /// Read an index that bsade made, in place of a folder
    #[arg(long, value_name = "DIR", help_heading = "Index")]
    pub from_index: Option<PathBuf>,
}
