//! Objects that have a meaning as long as they exist, such as a lock. Where a store does not permit to remove them, their content states that
//! they are released.

use super::fs::Fs;
use super::location::RemoteUrl;
use super::notices;
use super::store::{store_of, Condition, Content};
use gristmill_core::problem::Subject;
use gristmill_core::{Outcome, Problem, ProblemKind};
use std::path::Path;

/// Content of an object that counts as absent.
pub(super) const RELEASED: &[u8] = b"released\n";

/// Removes a file or an object. An object that cannot be removed is overwritten, if it still has the version of the condition, and a note
/// names the right that is missing.
pub(super) fn remove_or_release(fs: &dyn Fs, path: &Path, condition: Condition) -> Outcome<()> {
    let Err(failure) = fs.remove_file(path) else { return Ok(()) };
    let put = |url: RemoteUrl<'_>| store_of(&url)?.put(&url, Content::Bytes(RELEASED), condition);
    match RemoteUrl::parse(path).map(put) {
        Some(Ok(is_put)) => {
            if is_put {
                let why = format!("it cannot be removed, and is marked as released: {}", failure.why);
                let note = Problem::note(ProblemKind::Other, Subject::path(path), why);
                notices::add(match failure.hint {
                    Some(hint) => note.with_hint(hint),
                    None => note,
                });
            }
            Ok(())
        }
        None | Some(Err(_)) => Err(failure),
    }
}
