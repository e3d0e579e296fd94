//! Mixtures on the command line: `mix new`, `mix check`, and `prepare`, `info`, `lint`, `verify` of a metadataset; `mix index`.

mod args;
mod check;
mod index;
mod new;
mod prepare;
mod tree;

pub use args::MixArgs;
pub use check::{check, verify};
pub use index::make as make_index;
pub use new::execute;
pub use prepare::prepare;

use super::context::Context;
use super::exit::Finished;
use args::MixCommand;
use gristmill_core::DatasetKind;
use gristmill_ops::source::kind::kind_of;
use std::path::Path;

/// Whether a path is an existing metadataset.
pub fn is_metadataset(path: &str) -> bool {
    kind_of(Path::new(path)).is_ok_and(|kind| kind == DatasetKind::Metadataset)
}

/// Runs a command of `mix`.
pub fn run(args: MixArgs, context: &Context) -> Finished {
    match args.command {
        MixCommand::New(args) => new::run(&args, context),
        MixCommand::Index(args) => index::run(&args, context),
        MixCommand::Check { path } => {
            let path = super::paths::local(&path)?;
            super::kinds::only_metadatasets(&path)?;
            check::check(&path, context)
        }
    }
}
