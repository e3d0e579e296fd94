//! Removes objects that mark something, such as locks.

use super::fs::Fs;
use super::location::RemoteUrl;
use super::notices;
use super::store::{Condition, Content};
use super::stores::store_of;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Severity};
use std::path::Path;

/// Content of an object, such as a lock, that counts as absent in a store that does not permit its removal.
pub(crate) const RELEASED: &[u8] = b"released\n";

/// Removes a file, or an object if it still has the version of the condition. An object that cannot be removed is overwritten under the
/// same condition, and a note names the missing permission.
pub(crate) fn remove_or_release(fs: &dyn Fs, path: &Path, condition: Condition) -> Outcome<()> {
    let removed = match (RemoteUrl::parse(path), condition) {
        (Some(url), Condition::IfStamp(stamp)) => {
            let removed = store_of(&url).and_then(|store| store.remove_version(&url, stamp));
            removed.map(drop).map_err(|error| Failure::io("removing", path, &error))
        }
        _ => fs.remove_file(path),
    };
    let Err(failure) = removed else { return Ok(()) };
    let put = |url: RemoteUrl<'_>| store_of(&url)?.put(&url, Content::Bytes(RELEASED), condition);
    match RemoteUrl::parse(path).map(put) {
        Some(Ok(is_put)) => {
            if is_put {
                let problem = Problem::of_failure(ProblemKind::Other, failure).on(Subject::path(path));
                let problem = problem.with_effect("it cannot be removed, so it was marked as released");
                notices::add(Problem { severity: Severity::Note, ..problem });
            }
            Ok(())
        }
        None | Some(Err(_)) => Err(failure),
    }
}
