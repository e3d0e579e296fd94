//! Metadatasets and mixtures on the command line: `mix new`, `mix check`, `mix index`, and `prepare` of a metadataset.

mod args;
mod prepare;

pub use args::{MixArgs, MixCommand};
pub use prepare::prepare;

use super::context::Context;
use super::exit::CommandResult;
use super::{lint, operation};
use gristmill_core::DatasetKind;
use gristmill_data::source::kind::kind_of;
use gristmill_ops::datasets::CheckRequest;
use std::path::Path;

/// Whether a path is an existing metadataset.
pub fn is_metadataset(path: &str) -> bool {
    kind_of(Path::new(path)).is_ok_and(|kind| kind == DatasetKind::Metadataset)
}

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
