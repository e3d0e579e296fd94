//! Problems of stores that are found during other operations; each front end reports them at the end of a command.

#[cfg(feature = "remote")]
use super::location::RemoteUrl;
use gristmill_core::text::count;
use gristmill_core::{Mutex, Problem, ProblemKind, Severity, Subject};

/// Maximum number of listed problems; further ones are counted.
const MAX_NOTICES: usize = 1_000;

/// The listed problems, and the number of further ones.
static NOTICES: Mutex<(Vec<Problem>, u64)> = Mutex::new((Vec::new(), 0));

/// Why keys with a certain prefix are skipped.
pub(crate) const NO_PATHS_BELOW: &str = "keys that begin with it are no paths: a part of them is empty, '.' or '..'";

/// Whether a problem concerns a key below the prefix of another problem, which a listing of one level has found.
fn is_below(inner: &Problem, outer: &Problem) -> bool {
    let below = || inner.subject.path.as_deref()?.strip_prefix(outer.subject.path.as_deref()?)?.strip_prefix('/');
    outer.message.starts_with(NO_PATHS_BELOW) && below().is_some()
}

/// Adds a problem once. The problem of a key replaces the problems of its prefixes.
pub(crate) fn add(problem: Problem) {
    let mut notices = NOTICES.lock();
    let (kept, more) = &mut *notices;
    if kept.iter().any(|known| *known == problem || is_below(known, &problem)) {
        return;
    }
    kept.retain(|known| !is_below(&problem, known));
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
    let (mut kept, more) = std::mem::take(&mut *NOTICES.lock());
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
    NOTICES.lock().0.clone()
}
