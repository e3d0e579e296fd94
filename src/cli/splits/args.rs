//! The flags of `splits`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Without a command the editor opens: splits side by side, excludes with notes, undo, review before anything is written.
As commands each edits split.yaml and nothing else; comments, order and quoting in it stay. --dry-run prints the difference.";

/// Edit splits and excludes of a prepared data set.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, after_help = AFTER_HELP)]
pub struct SplitsArgs {
    /// What to do; without it the editor opens.
    #[command(subcommand)]
    pub command: Option<SplitsCommand>,
    /// Prepared data set
    #[arg(required = true)]
    pub path: Option<PathBuf>,
}

/// The commands of `splits`.
#[derive(Clone, Debug, Subcommand)]
pub enum SplitsCommand {
    /// Print the splits with their shards and samples, and the excludes
    Show {
        /// Prepared data set
        path: PathBuf,
        /// List the shards of each split
        #[arg(long)]
        shards: bool,
        /// List the excludes with their notes
        #[arg(long)]
        excludes: bool,
    },
    /// Move shards to another split, or out of all splits
    Move(MoveArgs),
    /// Exclude shards and samples from training
    Exclude(ExcludeArgs),
    /// Remove shards and samples from the excludes
    Include {
        /// Prepared data set
        path: PathBuf,
        /// SHARD or SHARD/KEY, or an exclude as it is written; braces are expanded (repeat)
        #[arg(required = true, value_name = "ITEM")]
        items: Vec<String>,
    },
    /// Move as few shards as possible to reach a ratio of samples
    Balance {
        /// Prepared data set
        path: PathBuf,
        /// One number for each split in its order (8,1,1), or by name (train=8,val=2)
        #[arg(value_name = "RATIOS")]
        ratios: String,
        /// Add splits of RATIOS that do not exist yet
        #[arg(long)]
        new: bool,
    },
    /// Check for mistakes, and for samples that two splits share
    Check(CheckArgs),
    /// Print what changed in split.yaml since the last backup, or against a file
    Diff {
        /// Prepared data set
        path: PathBuf,
        /// The older split.yaml [default: the newest backup, split.yaml.bak-TIME]
        file: Option<PathBuf>,
        /// Show the unwritten changes of the editor instead
        #[arg(long, conflicts_with = "file")]
        draft: bool,
    },
}

/// Flags of `splits move`.
#[derive(Args, Clone, Debug)]
pub struct MoveArgs {
    /// Prepared data set
    pub path: PathBuf,
    /// Shards by name; braces are expanded (repeat)
    #[arg(value_name = "SHARD")]
    pub shards: Vec<String>,
    /// Range of shards: two names, or two numbers from 0 (repeat)
    #[arg(long, value_name = "FIRST..LAST", help_heading = "Shards")]
    pub range: Vec<String>,
    /// Shards whose name this regular expression matches from its start (repeat)
    #[arg(long, value_name = "REGEX", help_heading = "Shards", allow_hyphen_values = true)]
    pub pattern: Vec<String>,
    /// Target split
    #[arg(long, value_name = "SPLIT", help_heading = "Target", required_unless_present = "out")]
    pub to: Option<String>,
    /// Remove the shards from all splits
    #[arg(long, help_heading = "Target", conflicts_with_all = ["to", "new"])]
    pub out: bool,
    /// Add the target split if it does not exist
    #[arg(long, help_heading = "Target")]
    pub new: bool,
}

/// Flags of `splits exclude`.
#[derive(Args, Clone, Debug)]
pub struct ExcludeArgs {
    /// Prepared data set
    pub path: PathBuf,
    /// SHARD or SHARD/KEY; braces are ranges: s_0.tar/k_{001..009} (repeat)
    #[arg(value_name = "ITEM", required_unless_present = "from")]
    pub items: Vec<String>,
    /// Note, written as a comment next to each item
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
    /// Also exclude the items that FILE lists, one per line
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// Also write items that match nothing
    #[arg(long)]
    pub allow_unmatched: bool,
}

/// Flags of `splits check`.
#[derive(Args, Clone, Debug)]
pub struct CheckArgs {
    /// Prepared data set
    pub path: PathBuf,
    /// Read every sample and compare contents, not only names
    #[arg(long, help_heading = "Leaks")]
    pub content: bool,
    /// Compare this part separately, whatever its kind (repeat) [default: pictures, sound, video and arrays; text where there are none]
    #[arg(long, value_name = "PART", help_heading = "Leaks", requires = "content")]
    pub part: Vec<String>,
    /// Do not compare parts below this size separately, in bytes [default: 64]
    #[arg(long, value_name = "SIZE", help_heading = "Leaks", requires = "content", value_parser = gristmill_core::text::parse_size)]
    pub smallest_part: Option<u64>,
    /// Write the excludes that end the leaks to FILE, for `splits exclude --from`
    #[arg(long, value_name = "FILE", help_heading = "Leaks")]
    pub excludes_to: Option<PathBuf>,
}
