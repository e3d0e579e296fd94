//! Writes edited splits: under the lock, only if the file is unchanged since it was opened, and atomically.

use crate::engine::splits::{RejectedEdit, SplitEditor};
use gristmill_core::{Cancel, Failure, Outcome, RunOptions, Subject};
use gristmill_pycompat::yaml_read;
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::lock::{is_lock_failure, DatasetLock, StoredLock};
use gristmill_storage::publish::{recover, replace_version};
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const ACTIVITY: &str = "writing the splits";
/// Maximum number of attempts to write edits, each on a newer version of the file.
const MAX_TRIES: u32 = 3;
/// Time for which another edit may hold the lock, and the interval between attempts to take it.
const MAX_EDIT_TIME: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The same for a lock in a store.
const MAX_STORED_EDIT_TIME: Duration = Duration::from_secs(3);
const STORE_POLL_INTERVAL: Duration = Duration::from_secs(1);
const CHANGED: &str = "the file was changed by another program since it was opened";

/// Result of writing edited splits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
    /// Number of edits in it.
    pub edits: usize,
    /// Whether the file already had the new content and nothing was written.
    pub nothing_to_do: bool,
    /// Content of the file, for [`SplitEditor::written`].
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// The three versions of a file that changed since it was opened.
#[derive(Clone, Debug)]
pub struct ThreeWayMerge {
    /// Content when it was opened.
    pub base: Vec<u8>,
    /// Content with the user's own edits.
    pub own: Vec<u8>,
    /// Current content on disk; empty if the file is missing.
    pub theirs: Vec<u8>,
    /// The content on disk with the user's edits reapplied; `None` if it cannot be read as splits.
    pub merged: Option<SplitEditor>,
    /// The user's edits that could not be reapplied.
    pub not_applied: Vec<RejectedEdit>,
    /// Why the content on disk cannot be read as splits.
    pub unreadable: Option<Failure>,
}

/// Writes the edits. `overwrite` replaces the file even if it changed since it was opened; otherwise, this is a failure identified by
/// [`is_conflict`]. The caller must pass the bytes to [`SplitEditor::written`].
pub fn write(root: &Path, editor: &SplitEditor, options: &RunOptions, overwrite: bool) -> Outcome<SplitFile> {
    write_on(&RealFs, root, editor, options, overwrite)
}

/// Like [`write`], but through `fs`, which lets tests inject failures.
pub fn write_on(
    fs: &dyn Fs,
    root: &Path,
    editor: &SplitEditor,
    options: &RunOptions,
    overwrite: bool,
) -> Outcome<SplitFile> {
    let bytes = editor.text()?;
    let own = RunFolder::for_webdataset(root);
    let look = || _ = on_disk(editor.path());
    let lock = acquire_lock(fs, &own, options, &look)?;
    let result = write_locked(fs, root, &own, editor, bytes, overwrite);
    drop(lock);
    own.remove_if_empty(fs);
    result
}

/// Takes the lock. Another edit holds it only for a moment, so this waits for a lock that may be that of one.
fn acquire_lock(fs: &dyn Fs, own: &RunFolder, options: &RunOptions, look: &(dyn Fn() + Sync)) -> Outcome<DatasetLock> {
    let (until, cancel) = (Instant::now() + MAX_EDIT_TIME, Cancel::of_thread());
    let mut held = None;
    loop {
        match DatasetLock::acquire_and_check(fs, own, options.break_lock, look) {
            Err(failure) if is_lock_failure(&failure) && Instant::now() < until && may_be_edit(own, &mut held) => {
                cancel.check()?;
                std::thread::sleep(if held.is_some() { STORE_POLL_INTERVAL } else { POLL_INTERVAL });
            }
            result => return result,
        }
    }
}

/// Whether the lock is not older than an edit takes. `held` is the lock in a store, and the time when it was first read.
fn may_be_edit(own: &RunFolder, held: &mut Option<(StoredLock, Instant)>) -> bool {
    if let Ok(info) = files::metadata(own.lock()) {
        // The clock of a file server may be ahead.
        return info.modified().elapsed().unwrap_or_else(|ahead| ahead.duration()) < MAX_EDIT_TIME;
    }
    // A lock in a store is as old as its last renewal, so the time is measured for which it has the same holder.
    let Ok(Some(lock)) = DatasetLock::stored(own) else { return true };
    let since = held.take().filter(|(known, _)| *known == lock).map_or_else(Instant::now, |(_, since)| since);
    *held = Some((lock, since));
    since.elapsed() < MAX_STORED_EDIT_TIME
}

fn write_locked(
    fs: &dyn Fs,
    root: &Path,
    own: &RunFolder,
    editor: &SplitEditor,
    bytes: Vec<u8>,
    overwrite: bool,
) -> Outcome<SplitFile> {
    recover(fs, root, own)?;
    let path = editor.path();
    // Read before the content: if the file changes between both steps, this version differs from the file that is replaced.
    let old = files::metadata(path).ok();
    let now = on_disk(path)?;
    let is_changed = now.as_deref() != Some(editor.base_bytes());
    let nothing_to_do = now.as_deref() == Some(bytes.as_slice());
    if is_changed && !overwrite && !nothing_to_do {
        return Err(changed(path));
    }
    let written =
        SplitFile { path: path.to_owned(), size: bytes.len() as u64, edits: editor.pending(), nothing_to_do, bytes };
    if !nothing_to_do && !replace_version(fs, own, path, &written.bytes, old)? {
        return Err(changed(path));
    }
    Ok(written)
}

fn changed(path: &Path) -> Failure {
    Failure::data(ACTIVITY, CHANGED)
        .on(Subject::path(path))
        .with_hint("compare both, then make the edits again on the new file, or overwrite it")
}

/// Like [`write`]. If the file changed since it was opened, the edits are reapplied to its current content, up to [`MAX_TRIES`] times.
/// `confirm` is called before each write; if it returns `false`, nothing is written and `None` is returned.
///
/// # Errors
/// An edit cannot be reapplied, or the file changes at each attempt.
pub fn rewrite(
    editor: &mut SplitEditor,
    options: &RunOptions,
    confirm: &mut dyn FnMut(&SplitEditor) -> Outcome<bool>,
) -> Outcome<Option<SplitFile>> {
    let mut tries = 0;
    loop {
        if !confirm(editor)? {
            return Ok(None);
        }
        let failure = match write(editor.root(), editor, options, false) {
            Err(failure) if is_conflict(&failure) => failure,
            result => return result.map(Some),
        };
        tries += 1;
        if tries == MAX_TRIES {
            let why = "the file is changed by another program each time";
            return Err(Failure::environment(ACTIVITY, why)
                .on(Subject::path(editor.path()))
                .with_hint("wait until no program writes to it, then run the same command again"));
        }
        match conflict(editor.root(), editor)? {
            // The file has its original content again.
            None => {}
            Some(ThreeWayMerge { merged: Some(merged), not_applied, .. }) if not_applied.is_empty() => *editor = merged,
            Some(_) => return Err(failure),
        }
    }
}

/// Whether a failure of [`write`] means that the file was changed by another process.
pub fn is_conflict(failure: &Failure) -> bool {
    failure.what == ACTIVITY && failure.why == CHANGED
}

/// Returns the conflict if the file has changed since it was opened; otherwise `None`.
pub fn conflict(root: &Path, editor: &SplitEditor) -> Outcome<Option<ThreeWayMerge>> {
    let theirs = on_disk(editor.path())?;
    if theirs.as_deref() == Some(editor.base_bytes()) {
        return Ok(None);
    }
    let counts = editor.shards().iter().map(|(name, samples)| (name.to_string(), *samples)).collect();
    let theirs = theirs.unwrap_or_default();
    let (merged, not_applied, unreadable) = match SplitEditor::from_bytes(root, editor.path(), theirs.clone(), counts) {
        Ok(mut merged) => {
            let not_applied = editor.reapply_on(&mut merged);
            (Some(merged), not_applied, None)
        }
        Err(failure) => (None, Vec::new(), Some(failure)),
    };
    let (base, mine) = (editor.base_bytes().to_vec(), editor.text()?);
    Ok(Some(ThreeWayMerge { base, own: mine, theirs, merged, not_applied, unreadable }))
}

fn on_disk(path: &Path) -> Outcome<Option<Vec<u8>>> {
    read_whole(path, yaml_read::MAX_BYTES as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::publish::write_file;
    use std::time::SystemTime;

    #[test]
    fn only_a_lock_of_about_now_may_be_that_of_an_edit() {
        let folder = tempfile::tempdir().unwrap();
        let own = RunFolder::for_webdataset(folder.path());
        own.create(&RealFs).unwrap();
        assert!(may_be_edit(&own, &mut None), "it was just released");
        write_file(&RealFs, &own.lock(), b"{}", 0o600).unwrap();
        let (now, hour) = (SystemTime::now(), Duration::from_secs(3_600));
        for (time, expected) in [(now, true), (now - hour, false), (now + hour, false)] {
            let file = std::fs::File::options().write(true).open(own.lock()).unwrap();
            file.set_modified(time).unwrap();
            assert_eq!(may_be_edit(&own, &mut None), expected, "{time:?}");
        }
    }
}
