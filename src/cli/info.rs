//! `info`: describes the content of a data set.

use super::browse::print_buckets;
use super::context::Context;
use super::exit::CommandResult;
use super::facts::print_info;
use super::paths;
use gristmill_core::{Handles, ProblemLog, Progress};
use gristmill_ops::datasets::{Dataset, InfoRequest};
use gristmill_storage::location::{bucket_list, is_bucket_list};
use std::path::Path;

/// Prints a description of a data set of any kind, or the buckets of a store.
pub fn run(path: &Path, request: InfoRequest, context: &Context) -> CommandResult {
    if let Some(store) = bucket_list(path).filter(|_| is_bucket_list(path)) {
        return print_buckets(&store, context);
    }
    let path = paths::local_or_readable(path)?;
    let (progress, cancel) = (Progress::default(), context.signals.cancel_on_signal());
    let log = ProblemLog::new(context.globals.strict);
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &log };
    let dataset = Dataset::find_recovered(Path::new(&path), &log)?;
    let mut info = dataset.info(&InfoRequest { run: context.run_options(), ..request }, &handles)?;
    info.problems.splice(..0, log.to_vec());
    Ok(print_info((&path, dataset.kind()), info, context))
}
