//! The flags of `mix`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Write and check metadatasets, and make the index of a Nanoset mixture.
#[derive(Args, Clone, Debug)]
pub struct MixArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: MixCommand,
}

/// The commands of `mix`.
#[derive(Clone, Debug, Subcommand)]
pub enum MixCommand {
    /// Write a metadataset: a blend, an epochized blend or a join of prepared data sets
    New(Box<NewArgs>),
    /// Make the index of a mixture of token folders, as nanotron's Nanoset does: guided in a terminal where something is left open;
    /// --dry-run only shows the result
    Index(Box<IndexArgs>),
    /// Check a metadataset: open every member, show shares and samples per epoch
    Check {
        /// Metadataset (.yaml)
        path: PathBuf,
    },
}

impl MixArgs {
    /// Returns the name of the command for the result object.
    pub fn name(&self) -> &'static str {
        match self.command {
            MixCommand::New(_) => "mix new",
            MixCommand::Index(_) => "mix index",
            MixCommand::Check { .. } => "mix check",
        }
    }
}

/// Flags of `mix index`.
#[derive(Args, Clone, Debug)]
pub struct IndexArgs {
    /// Folders of .ds files, in the order of their numbers
    #[arg(conflicts_with_all = ["lengths", "config"])]
    pub folders: Vec<PathBuf>,
    /// Windows of each data set, in place of folders: 8,2,5,5
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', help_heading = "Members", conflicts_with = "config")]
    pub lengths: Vec<u64>,
    /// Training configuration of nanotron: its folders, weights, sequence length, samples, seed, tokenizer and vocab_size count where
    /// no flag does
    #[arg(long, value_name = "TRAINING.yaml", help_heading = "Members")]
    pub config: Option<PathBuf>,
    /// Stage of the training configuration
    #[arg(long, value_name = "NAME", help_heading = "Members", requires = "config")]
    pub stage: Option<String>,
    /// One weight for each data set, in any unit [default: by length]
    #[arg(long, value_name = "W,W,…", value_delimiter = ',', help_heading = "Mixture")]
    pub weights: Vec<f64>,
    /// Tokens of a sample, the one that is only predicted not counted
    #[arg(long, value_name = "N", help_heading = "Mixture")]
    pub sequence_length: Option<u64>,
    /// Training steps times the global batch
    #[arg(long, value_name = "N", help_heading = "Mixture")]
    pub samples: Option<u64>,
    /// Seed of the shuffle [default: 1234]
    #[arg(long, value_name = "S", help_heading = "Mixture")]
    pub seed: Option<u64>,
    /// tokenizer_name_or_path of the training configuration, compared with the metadata of the folders
    #[arg(long, value_name = "NAME", help_heading = "Training", conflicts_with = "lengths")]
    pub tokenizer: Option<String>,
    /// vocab_size of the training configuration, compared with the tokenizer of the folders
    #[arg(long, value_name = "N", help_heading = "Training", conflicts_with = "lengths")]
    pub vocab_size: Option<u64>,
    /// Folder for dataset_index.npy and dataset_sample_index.npy
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Replace an index that is there
    #[arg(long, help_heading = "Output")]
    pub force_overwrite: bool,
}

/// Flags of `mix new`.
#[derive(Args, Clone, Debug, Default)]
pub struct NewArgs {
    /// Draw from this data set with this weight [default: 1] (repeat)
    #[arg(long, value_name = "PATH=WEIGHT", help_heading = "Members", conflicts_with_all = ["epochized", "join"])]
    pub blend: Vec<String>,
    /// See every sample of this data set N times per epoch [default: 1] (repeat)
    #[arg(long, value_name = "PATH=N", help_heading = "Members", conflicts_with = "join")]
    pub epochized: Vec<String>,
    /// Join this data set by key, under a name or by position (repeat); the first gives the samples
    #[arg(long, value_name = "[NAME=]PATH", help_heading = "Members", requires = "joiner")]
    pub join: Vec<String>,

    /// What makes one sample of several: a function, or a class (capital letter)
    #[arg(long, value_name = "MODULE:FUNC", help_heading = "Joins", requires = "join")]
    pub joiner: Option<String>,
    /// What becomes of samples that a member lacks: error, skip or none (repeat)
    #[arg(long, value_name = "MEMBER=HOW", help_heading = "Joins", requires = "join")]
    pub nonmatch: Vec<String>,

    /// Where crude and JSONL members find their media: a prepared data set, or a folder of files (repeat)
    #[arg(long, value_name = "NAME=PATH", help_heading = "About members")]
    pub aux: Vec<String>,
    /// Use this split of a member in place of the one of the same name (repeat)
    #[arg(long, value_name = "MEMBER=SPLIT", help_heading = "About members")]
    pub split_part: Vec<String>,
    /// Use a range of a member: 0%,50% or 0,1000 or 1000,end (repeat)
    #[arg(long, value_name = "MEMBER=FROM,TO", help_heading = "About members")]
    pub subset: Vec<String>,
    /// Give each sample of a member a property (repeat)
    #[arg(long, value_name = "MEMBER:KEY=VALUE", help_heading = "About members")]
    pub subflavor: Vec<String>,

    /// Split to write (repeat) [default: those of train, val and test that every member has, JSONL files in the first alone; of a join train]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub split: Vec<String>,
    /// Metadataset to write (.yaml)
    #[arg(short, long, value_name = "META.yaml", help_heading = "Output")]
    pub output: PathBuf,
    /// Replace a file that is there
    #[arg(long, help_heading = "Output")]
    pub force_overwrite: bool,
}
