//! The flags of `nanosets`.

use crate::engine::nanosets::merge::MAX_TOKENS_PER_FILE;
use crate::model::pack::DEFAULT_SEED;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Merge and shuffle folders of .ds files.
#[derive(Args, Clone, Debug)]
pub struct NanosetsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: NanosetsCommand,
}

/// The commands of `nanosets`.
#[derive(Clone, Debug, Subcommand)]
pub enum NanosetsCommand {
    /// Merge the .ds files of a folder: documents of all files are interleaved at random, the order inside each file stays
    Merge(MergeArgs),
    /// Shuffle windows of equal length of each .ds file of a folder
    Shuffle(ShuffleArgs),
}

impl NanosetsArgs {
    /// The name that is typed, for the result object.
    pub fn name(&self) -> &'static str {
        match self.command {
            NanosetsCommand::Merge(_) => "nanosets merge",
            NanosetsCommand::Shuffle(_) => "nanosets shuffle",
        }
    }
}

/// What is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MergeShuffle {
    /// Which file the next document comes from.
    #[default]
    Documents,
    /// Nothing: one file after the other.
    None,
}

/// Flags of `nanosets merge`.
#[derive(Args, Clone, Debug)]
pub struct MergeArgs {
    /// Folder with .ds files, each with its .ds.index
    pub dir: PathBuf,
    /// Folder of the result
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Name of the result: 000_NAME.ds and so on
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// Begin another file once one has as many tokens; 0 never does
    #[arg(long, value_name = "M", default_value_t = MAX_TOKENS_PER_FILE)]
    pub max_tokens_per_file: u64,
    /// Stop once there are as many tokens; 0 never does
    #[arg(long, value_name = "T", default_value_t = 0)]
    pub max_tokens: u64,
    /// Interleave full chunks of this many tokens in place of documents
    #[arg(long, value_name = "C")]
    pub chunk_size: Option<u64>,
    /// Seed of the interleaving
    #[arg(long, value_name = "S", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// What is drawn at random
    #[arg(long, value_name = "WHAT", default_value = "documents")]
    pub shuffle: MergeShuffle,
    /// Replace a merge of this name that is there
    #[arg(long)]
    pub force_overwrite: bool,
}

/// Flags of `nanosets shuffle`.
#[derive(Args, Clone, Debug)]
pub struct ShuffleArgs {
    /// Folder with .ds files
    pub dir: PathBuf,
    /// Folder of the result; files keep their names
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Tokens of one window
    #[arg(long, value_name = "W")]
    pub window: u64,
    /// Seed of the order
    #[arg(long, value_name = "S", default_value_t = DEFAULT_SEED)]
    pub seed: u64,
    /// Replace files that are there
    #[arg(long)]
    pub force_overwrite: bool,
}
