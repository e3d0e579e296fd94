//! Problems of stores that are found while something else is done, in whatever operation: each front end reports them at the end of a command.

#[cfg(feature = "remote")]
use super::location::RemoteUrl;
use gristmill_core::text::count;
use gristmill_core::{Problem, ProblemKind, Severity, Subject};
use std::sync::{Mutex, PoisonError};

/// Maximum number of problems that are kept; further ones are counted.
const MAX_NOTICES: usize = 1_000;

/// The kept problems, and the number of further ones.
static NOTICES: Mutex<(Vec<Problem>, u64)> = Mutex::new((Vec::new(), 0));

/// Adds a problem, once.
pub(crate) fn add(problem: Problem) {
    let mut notices = NOTICES.lock().unwrap_or_else(PoisonError::into_inner);
    let (kept, more) = &mut *notices;
    if kept.contains(&problem) {
        return;
    }
    match kept.len() < MAX_NOTICES {
        true => kept.push(problem),
        false => *more += 1,
    }
}

/// Reports that an object is hidden by the folder of the same name.
#[cfg(feature = "remote")]
pub(crate) fn notice_hidden_object(url: &RemoteUrl<'_>) {
    let message = "there is an object and a folder of this name; the folder is used, and the object is hidden";
    add(Problem::note(ProblemKind::Other, Subject::path(url.to_path()), message));
}

/// Returns the problems found since the last call.
pub fn take() -> Vec<Problem> {
    let (mut kept, more) = std::mem::take(&mut *NOTICES.lock().unwrap_or_else(PoisonError::into_inner));
    if more > 0 {
        let severity = kept.iter().map(|problem| problem.severity).max().unwrap_or(Severity::Note);
        let message = format!("{} more of stores are not listed", count(more, "problem"));
        kept.push(Problem { severity, ..Problem::problem(ProblemKind::Other, Subject::default(), message) });
    }
    kept
}

/// Returns the problems found so far.
#[cfg(test)]
pub(crate) fn kept() -> Vec<Problem> {
    NOTICES.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
}
