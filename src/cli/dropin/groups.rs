//! The commands of one framework each: its operations, and the drop-in commands for its tools.

use super::super::arguments::{Grouped, OperationGroup};
use super::super::context::Context;
use super::super::exit::CommandResult;
use super::super::globals::Globals;
use super::super::operation;
use super::megatron::{self, ToolCommand};
use super::modalities::{self, DataArgs};
use clap::Subcommand;

/// The commands that are named after a framework.
#[derive(Debug, Subcommand)]
pub enum FrameworkCommand {
    /// Merge, shuffle, cut and filter files of Modalities; `data` takes the arguments of `modalities data`
    Modalities {
        /// What to do.
        #[command(subcommand)]
        command: ModalitiesCommand,
    },
    /// Merge pairs of Megatron, or run drop-in commands for Megatron-LM's tools
    Megatron {
        /// What to do.
        #[command(subcommand)]
        command: MegatronCommand,
    },
    /// Merge the .ds files of a folder, or shuffle windows of them
    Nanosets {
        /// What to do.
        #[command(subcommand)]
        command: Grouped<NanosetsGroup>,
    },
}

/// Defines the group of the operations of a framework.
macro_rules! group {
    ($group:ident, $name:literal) => {
        #[doc = concat!("The group `", $name, "`.")]
        #[derive(Clone, Copy, Debug)]
        pub struct $group;

        impl OperationGroup for $group {
            const NAME: &'static str = $name;
        }
    };
}

group!(ModalitiesGroup, "modalities");
group!(MegatronGroup, "megatron");
group!(NanosetsGroup, "nanosets");

/// The commands of `modalities`.
#[derive(Debug, Subcommand)]
pub enum ModalitiesCommand {
    /// Commands that are defined by a table.
    #[command(flatten)]
    Operation(Grouped<ModalitiesGroup>),
    /// Drop-in commands with the arguments of `modalities data`, for existing scripts
    Data(Box<DataArgs>),
}

/// The commands of `megatron`.
#[derive(Debug, Subcommand)]
pub enum MegatronCommand {
    /// Commands that are defined by a table.
    #[command(flatten)]
    Operation(Grouped<MegatronGroup>),
    /// The names of the tools.
    #[command(flatten)]
    Tool(ToolCommand),
}

impl FrameworkCommand {
    /// Applies the drop-in arguments and configurations that correspond to global flags.
    pub fn adjust(&self, globals: &mut Globals) {
        match self {
            Self::Modalities { command: ModalitiesCommand::Data(args) } => modalities::adjust(args, globals),
            Self::Megatron { command: MegatronCommand::Tool(command) } => command.adjust(globals),
            _ => {}
        }
    }

    /// Whether the command has a plan, which `--save-plan` writes.
    pub fn has_plan(&self) -> bool {
        match self {
            Self::Modalities { command: ModalitiesCommand::Data(args) } => args.has_plan(),
            _ => true,
        }
    }

    /// Runs the command.
    pub fn run(self, context: &Context) -> CommandResult {
        match self {
            Self::Modalities { command: ModalitiesCommand::Operation(given) } => operation::run(given.plan(), context),
            Self::Modalities { command: ModalitiesCommand::Data(args) } => modalities::run(*args, context),
            Self::Megatron { command: MegatronCommand::Operation(given) } => operation::run(given.plan(), context),
            Self::Megatron { command: MegatronCommand::Tool(command) } => megatron::run(&command, context),
            Self::Nanosets { command: given } => operation::run(given.plan(), context),
        }
    }
}
