//! `info`, `lint` and `verify` of files with tables.

use super::check::checked;
use super::context::Context;
use super::exit::Finished;
use super::facts::print_info;
use gristmill_core::{DatasetKind, Handles, ProblemLog, Progress};
use gristmill_ops::engine::check::tables;
use gristmill_ops::job::check::run_tables;
use std::path::Path;

/// Prints rows, columns and files.
pub fn info(path: &str, kind: DatasetKind, context: &Context) -> Finished {
    let (progress, cancel, log) = (Progress::default(), context.signals.listen(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let info = tables::info(Path::new(path), &handles)?;
    Ok(print_info((path, kind), info, context))
}

/// Checks structure, checksums and texts; with `is_deep`, decodes all rows as well.
pub fn check(path: &str, is_deep: bool, context: &Context) -> Finished {
    let threads = context.run_options().threads;
    checked(context, tables::TEXTS, |handles| run_tables(Path::new(path), is_deep, threads, handles))
}
