//! The flags of `mix`.

use crate::cli::arguments::{Grouped, OperationGroup};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Write and check metadatasets, and make the index of a Nanoset mixture.
#[derive(Args, Clone, Debug)]
pub struct MixArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: MixCommand,
}

/// The group `mix`.
#[derive(Clone, Copy, Debug)]
pub struct MixGroup;

impl OperationGroup for MixGroup {
    const NAME: &'static str = "mix";
}

/// The commands of `mix`.
#[derive(Clone, Debug, Subcommand)]
pub enum MixCommand {
    /// Commands that are defined by a table.
    #[command(flatten)]
    Operation(Grouped<MixGroup>),
    /// Check a metadataset: open every member, show shares and samples per epoch
    Check {
        /// Metadataset (.yaml)
        path: PathBuf,
    },
}
