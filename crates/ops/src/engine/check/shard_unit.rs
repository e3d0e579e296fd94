//! Checks of one shard, the unit of work: a failure is reported as a finding, so that the other shards are still checked.

use super::{CheckCounts, EndRecorder};
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Subject};

/// Checks one shard and reports its errors, so that the other shards are still checked. Returns an error only for a cancellation, and for a
/// finding that must end the run (`--strict`).
pub(super) fn one_shard(
    name: &str,
    handles: &Handles<'_>,
    check: impl FnOnce(&Handles<'_>) -> Outcome<CheckCounts>,
) -> Outcome<CheckCounts> {
    handles.cancel.check()?;
    let sink = EndRecorder::new(handles.problems);
    match check(&Handles { problems: &sink, ..*handles }) {
        Err(failure) if !failure.is_cancelled() && !sink.has_ended() => {
            unreadable(name, failure, handles)?;
            Ok(CheckCounts::default())
        }
        other => other,
    }
}

/// Reports the failure to check a shard like any other finding, so that the other shards are still checked.
fn unreadable(shard: &str, failure: Failure, handles: &Handles<'_>) -> Outcome<()> {
    handles.progress.add(1, 0);
    let missing = failure.class == gristmill_core::ExitClass::Environment;
    let kind = if missing { ProblemKind::Unreadable } else { ProblemKind::BadFile };
    let mut problem = Problem::of_failure(kind, failure).with_effect("it cannot be checked");
    if problem.subject.shard.is_none() && !problem.subject.is_empty() {
        problem.message = format!("{} ({})", problem.message, problem.subject);
    }
    handles.problems.report(problem.on(Subject::shard(shard)))
}
