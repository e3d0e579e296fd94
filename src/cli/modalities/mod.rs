//! The commands for files of Modalities, each of which writes one file from others. Packing itself is `gristmill pack`; the commands of the
//! `modalities` program are below `data`.

mod args;
pub mod rewrite;

pub use args::ModalitiesArgs;

use super::context::Context;
use super::exit::CommandResult;
use super::{dropin, operation};
use args::ModalitiesCommand;

/// Runs a command of `modalities`.
pub fn run(args: ModalitiesArgs, context: &Context) -> CommandResult {
    match args.command {
        ModalitiesCommand::Data(args) => dropin::modalities::run(*args, context),
        ModalitiesCommand::Operation(given) => operation::run(given.plan(), context),
    }
}
