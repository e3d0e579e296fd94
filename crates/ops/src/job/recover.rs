//! Completes an interrupted publication in the next command that reads the data set.

use super::task::TaskContext;
use gristmill_core::{text, ExitClass, Failure, Outcome, Problem, ProblemKind, ProblemSink, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::publish::{recover_at_start, RolledForward};
use gristmill_storage::run_folder::RunFolder;
use std::path::Path;

/// Completes an interrupted publication, if there is one and no other run is active, and reports this as a note.
pub fn roll_forward(fs: &dyn Fs, root: &Path, problems: &dyn ProblemSink) -> Outcome<()> {
    let own = RunFolder::for_webdataset(root);
    let recovered = recover_at_start(fs, root, &own).or_else(|failure| may_be_read(root).and(Err(failure)))?;
    report_recovered(recovered.as_ref(), root, problems).map(drop)
}

/// Completes an interrupted publication of `output` by an earlier run, and reports this as a note. Returns whether there was one.
pub(crate) fn recover_output(context: &TaskContext, root: &Path, own: &RunFolder, output: &Path) -> Outcome<bool> {
    report_recovered(recover_at_start(&*context.fs, root, own)?.as_ref(), output, &*context.problems)
}

fn report_recovered(recovered: Option<&RolledForward>, output: &Path, problems: &dyn ProblemSink) -> Outcome<bool> {
    let Some(done) = recovered else { return Ok(false) };
    let message =
        format!("an interrupted run was finished: {} made visible", text::count(done.files.len() as u64, "file"));
    problems.report(Problem::note(ProblemKind::InterruptedPublish, Subject::path(output), message))?;
    Ok(true)
}

/// Fails if a folder cannot be read, so that the error names the folder instead of a file in it.
fn may_be_read(root: &Path) -> Outcome<()> {
    match files::read_dir(root) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            Err(Failure::io("reading the folder", root, &error))
        }
        _ => Ok(()),
    }
}

/// Like [`roll_forward`], for commands that only read. If the data set cannot be written to, the command continues without completing the
/// publication.
pub fn recover_interrupted(root: &Path, problems: &dyn ProblemSink) -> Outcome<()> {
    may_be_read(root)?;
    match roll_forward(&RealFs, root, problems) {
        Err(failure) if failure.class == ExitClass::Environment => {
            tracing::warn!("an interrupted run cannot be finished: {failure}");
            Ok(())
        }
        other => other,
    }
}
