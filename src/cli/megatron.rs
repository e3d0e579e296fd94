//! The commands of `megatron`.

use super::context::Context;
use super::dropin::megatron::{self, ToolCommand};
use super::exit::Finished;
use super::globals::Globals;
use clap::Args;

/// The arguments of a command of `megatron`.
#[derive(Args, Clone, Debug)]
#[command(arg_required_else_help = true)]
pub struct MegatronArgs {
    /// What to do.
    #[command(subcommand)]
    command: ToolCommand,
}

impl MegatronArgs {
    /// Applies the drop-in arguments that correspond to global flags.
    pub fn adjust(&self, globals: &mut Globals) {
        self.command.adjust(globals);
    }

    /// Returns the name of the command for the result object.
    pub fn name(&self) -> &'static str {
        self.command.name()
    }
}

/// Runs a command of `megatron`.
pub fn run(args: &MegatronArgs, context: &Context) -> Finished {
    megatron::run(&args.command, context)
}
