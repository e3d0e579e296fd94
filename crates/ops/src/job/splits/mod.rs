//! Writing edited splits: under the lock, only where the file is still the one that was opened, and whole or not at all.

use crate::engine::splits::{NotApplied, SplitEditor};
use gristmill_core::{Failure, Outcome, RunOptions, Subject};
use gristmill_pycompat::yaml_read;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::{recover, replace_file};
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use serde::Serialize;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const WHAT: &str = "writing the splits";
const CHANGED: &str = "the file was changed by another program since it was opened";

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitFile {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// How many edits it took in.
    pub edits: usize,
    /// The file was as it was to be; nothing was written.
    pub nothing_to_do: bool,
    /// Its bytes, for [`SplitEditor::written`].
    #[serde(skip)]
    pub bytes: Vec<u8>,
}

/// The three texts where a file changed underneath.
#[derive(Clone, Debug)]
pub struct ThreeWay {
    /// As it was opened.
    pub base: Vec<u8>,
    /// With my edits.
    pub mine: Vec<u8>,
    /// As it is on the disk now; empty when it is gone.
    pub theirs: Vec<u8>,
    /// Theirs with my edits made again; `None` when theirs cannot be read as splits.
    pub merged: Option<SplitEditor>,
    /// My edits that could not be made again.
    pub not_applied: Vec<NotApplied>,
    /// Why theirs cannot be read as splits.
    pub unreadable: Option<Failure>,
}

/// Writes the edits. `overwrite` replaces the file even where it was changed by somebody else since it was opened; otherwise that
/// is a failure which [`is_conflict`] tells from others. The caller hands the bytes to [`SplitEditor::written`].
pub fn write(root: &Path, editor: &SplitEditor, options: &RunOptions, overwrite: bool) -> Outcome<SplitFile> {
    write_on(&RealFs, root, editor, options, overwrite)
}

/// As [`write`], through `fs`: tests let it fail.
pub fn write_on(
    fs: &dyn Fs,
    root: &Path,
    editor: &SplitEditor,
    options: &RunOptions,
    overwrite: bool,
) -> Outcome<SplitFile> {
    let bytes = editor.text()?;
    let own = RunFolder::for_webdataset(root);
    let lock = DatasetLock::acquire(fs, &own, options.break_lock)?;
    let result = write_locked(fs, root, &own, editor, bytes, overwrite);
    drop(lock);
    own.remove_if_empty(fs);
    result
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
    let now = on_disk(path)?;
    let is_changed = now.as_deref() != Some(editor.base_bytes());
    let nothing_to_do = now.as_deref() == Some(bytes.as_slice());
    if is_changed && !overwrite && !nothing_to_do {
        return Err(Failure::data(WHAT, CHANGED)
            .on(Subject::path(path))
            .with_hint("look at both, then make the edits again on the new file, or overwrite it"));
    }
    let written =
        SplitFile { path: path.to_owned(), size: bytes.len() as u64, edits: editor.pending(), nothing_to_do, bytes };
    if !nothing_to_do {
        let mode = std::fs::metadata(path).map_or(0o644, |facts| facts.mode() & 0o7777);
        replace_file(fs, own, path, &written.bytes, mode)?;
    }
    Ok(written)
}

/// Whether a failure of [`write`] says that the file was changed by somebody else.
pub fn is_conflict(failure: &Failure) -> bool {
    failure.what == WHAT && failure.why == CHANGED
}

/// Whether the file is another one than was opened, and what can be done then; `None` when it is not.
pub fn conflict(root: &Path, editor: &SplitEditor) -> Outcome<Option<ThreeWay>> {
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
    Ok(Some(ThreeWay { base, mine, theirs, merged, not_applied, unreadable }))
}

fn on_disk(path: &Path) -> Outcome<Option<Vec<u8>>> {
    read_whole(path, yaml_read::MAX_BYTES as u64)
}
