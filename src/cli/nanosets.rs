//! The commands of `nanosets`.

use super::arguments::{Grouped, OperationGroup};
use clap::Args;

/// The group `nanosets`.
#[derive(Clone, Copy, Debug)]
pub struct NanosetsGroup;

impl OperationGroup for NanosetsGroup {
    const NAME: &'static str = "nanosets";
}

/// The arguments of a command of `nanosets`.
#[derive(Args, Clone, Debug)]
pub struct NanosetsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: Grouped<NanosetsGroup>,
}
