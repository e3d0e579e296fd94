//! `lint` and `verify`: check data against their index and metadata.

use super::check::{checked, vocabulary};
use super::context::Context;
use super::exit::CommandResult;
use super::paths;
use gristmill_core::ProblemLog;
use gristmill_ops::datasets::{CheckRequest, Dataset};
use std::path::{Path, PathBuf};

/// The references of `verify`, in addition to the path.
#[derive(Clone, Debug, Default)]
pub struct VerifyReferences {
    /// The name of a tokenizer whose highest id must not be exceeded.
    pub tokenizer: Option<String>,
    /// The text file of a raw index, if it is not the `.jsonl` next to the index.
    pub source: Option<PathBuf>,
}

/// Checks the indexes, splits, excludes, field maps and other metadata of a data set.
pub fn run(path: &Path, request: CheckRequest, context: &Context) -> CommandResult {
    check(path, request, &VerifyReferences::default(), context)
}

/// Reads all data again and compares them with the index.
pub fn verify(path: &Path, against: &VerifyReferences, context: &Context) -> CommandResult {
    check(path, CheckRequest { is_deep: true, ..CheckRequest::default() }, against, context)
}

fn check(path: &Path, request: CheckRequest, against: &VerifyReferences, context: &Context) -> CommandResult {
    let path = paths::local_or_readable(path)?;
    let recovered = ProblemLog::default();
    let dataset = Dataset::find_recovered(Path::new(&path), &recovered)?;
    let flags = [
        ("--decode", request.lint.decode),
        ("--tokenizer", against.tokenizer.is_some()),
        ("--source", against.source.is_some()),
    ];
    for (flag, _) in flags.iter().filter(|(_, is_given)| *is_given) {
        dataset.check_flag(flag)?;
    }
    let request = CheckRequest {
        vocabulary: against.tokenizer.as_deref().map(vocabulary).transpose()?,
        source: against.source.clone(),
        compat: context.globals.compat,
        run: context.run_options(),
        ..request
    };
    checked(context, dataset.texts(), |handles| {
        recovered.to_vec().into_iter().try_for_each(|note| handles.problems.report(note))?;
        dataset.check(&request, handles)
    })
}
