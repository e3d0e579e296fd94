//! Removes what a killed run has left, when its plan has nothing more to do.

use super::journal::Journal;
use gristmill_core::Outcome;
use gristmill_storage::files;
use gristmill_storage::fs::Fs;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::run_folder::RunFolder;

/// Releases the lock that a killed run of a finished plan has left, and removes its work files by `remove`.
pub(crate) fn clear_finished(
    fs: &dyn Fs,
    own: &RunFolder,
    plan_hash: &str,
    remove: &dyn Fn() -> Outcome<()>,
) -> Outcome<()> {
    let has_work = files::exists(own.journal()) || files::exists(own.work_folder());
    if !has_work && !DatasetLock::is_left(own) {
        return Ok(());
    }
    let lock = DatasetLock::acquire(fs, own, false)?;
    let result = remove_finished(own, plan_hash, remove);
    drop(lock);
    // Acquiring the lock has created the work folder.
    own.remove_if_empty(fs);
    result
}

/// Removes the work files of a finished plan by `remove`, unless a stopped run of another plan or an interrupted publication needs them.
/// The caller holds the lock.
pub(crate) fn remove_finished(own: &RunFolder, plan_hash: &str, remove: &dyn Fn() -> Outcome<()>) -> Outcome<()> {
    match Journal::is_of_other_plan(&own.journal(), plan_hash)? || files::exists(own.renames()) {
        true => Ok(()),
        false => remove(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;

    #[test]
    fn work_of_another_plan_and_of_an_interrupted_publication_is_kept() {
        for (journal, has_renames, is_removed) in [
            (None, false, true),
            (Some("this"), false, true),
            (Some("other"), false, false),
            (None, true, false),
            (Some("this"), true, false),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let own = RunFolder::for_output(&folder.path().join("out"));
            own.create(&RealFs).unwrap();
            let staged = own.work_folder().join("staged");
            write_file(&RealFs, &staged, b"x", 0o600).unwrap();
            if let Some(plan) = journal {
                Journal::open(&RealFs, &own.journal(), plan).unwrap();
            }
            if has_renames {
                write_file(&RealFs, &own.renames(), b"", 0o600).unwrap();
            }
            clear_finished(&RealFs, &own, "this", &|| own.remove_work(&RealFs)).unwrap();
            assert_eq!(!files::exists(&staged), is_removed, "{journal:?} {has_renames}");
            assert_eq!(files::exists(own.journal()), journal.is_some() && !is_removed, "{journal:?} {has_renames}");
            assert!(!files::exists(own.lock()));
        }
    }
}
