//! The arguments of `modalities`.

use super::super::arguments::{Grouped, OperationGroup};
use super::super::dropin::{self, modalities::DataArgs};
use super::super::globals::Globals;
use clap::{Args, Subcommand};

/// The group `modalities`.
#[derive(Clone, Copy, Debug)]
pub struct ModalitiesGroup;

impl OperationGroup for ModalitiesGroup {
    const NAME: &'static str = "modalities";
}

/// Merge, shuffle, cut and filter packed files; `data` has the names of the `modalities` program.
#[derive(Args, Clone, Debug)]
pub struct ModalitiesArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ModalitiesCommand,
}

/// The commands of `modalities`.
#[derive(Clone, Debug, Subcommand)]
pub enum ModalitiesCommand {
    /// Commands that are defined by a table.
    #[command(flatten)]
    Operation(Grouped<ModalitiesGroup>),
    /// Drop-in commands with the arguments of `modalities data`, for existing scripts
    Data(Box<DataArgs>),
}

impl ModalitiesArgs {
    /// Applies the drop-in arguments and configurations that correspond to global flags.
    pub fn adjust(&self, globals: &mut Globals) {
        if let ModalitiesCommand::Data(args) = &self.command {
            dropin::modalities::adjust(args, globals);
        }
    }

    /// Whether the command has a plan, which `--save-plan` writes.
    pub fn has_plan(&self) -> bool {
        match &self.command {
            ModalitiesCommand::Operation(_) => true,
            ModalitiesCommand::Data(args) => args.has_plan(),
        }
    }
}
