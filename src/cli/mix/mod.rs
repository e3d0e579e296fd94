//! Metadatasets and mixtures on the command line: `mix new`, `mix check` and `mix index`.

mod args;

pub use args::{MixArgs, MixCommand};

use super::context::Context;
use super::exit::CommandResult;
use super::{lint, operation};
use gristmill_ops::datasets::CheckRequest;
use std::path::Path;

/// Runs a command of `mix`.
pub fn run(args: MixArgs, context: &Context) -> CommandResult {
    match args.command {
        MixCommand::Operation(given) => operation::run(given.plan(), context),
        MixCommand::Check { path } => {
            let path = super::paths::local_or_readable(&path)?;
            super::kinds::only_metadatasets(&path)?;
            lint::run(Path::new(&path), CheckRequest::default(), context)
        }
    }
}
