//! The commands of `megatron`.

use super::arguments::{Grouped, OperationGroup};
use super::context::Context;
use super::dropin::megatron::{self, ToolCommand};
use super::exit::CommandResult;
use super::globals::Globals;
use super::operation;
use clap::{Args, Subcommand};

/// The group `megatron`.
#[derive(Clone, Copy, Debug)]
pub struct MegatronGroup;

impl OperationGroup for MegatronGroup {
    const NAME: &'static str = "megatron";
}

/// The arguments of a command of `megatron`.
#[derive(Args, Clone, Debug)]
#[command(arg_required_else_help = true)]
pub struct MegatronArgs {
    /// What to do.
    #[command(subcommand)]
    command: MegatronCommand,
}

/// The commands of `megatron`.
#[derive(Clone, Debug, Subcommand)]
enum MegatronCommand {
    /// Commands that are defined by a table.
    #[command(flatten)]
    Operation(Grouped<MegatronGroup>),
    /// The names of the tools.
    #[command(flatten)]
    Tool(ToolCommand),
}

impl MegatronArgs {
    /// Applies the drop-in arguments that correspond to global flags.
    pub fn adjust(&self, globals: &mut Globals) {
        if let MegatronCommand::Tool(command) = &self.command {
            command.adjust(globals);
        }
    }
}

/// Runs a command of `megatron`.
pub fn run(args: &MegatronArgs, context: &Context) -> CommandResult {
    match &args.command {
        MegatronCommand::Operation(given) => operation::run(given.plan(), context),
        MegatronCommand::Tool(command) => megatron::run(command, context),
    }
}
