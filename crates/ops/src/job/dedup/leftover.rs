//! Scratch that a stopped run left in the folder that the user chose (`--scratch`), found by the next run that uses this folder.
//!
//! Files in the run folder are never lost, because every run with the same output checks it. For a scratch folder elsewhere, a file in it
//! names the output, and a file in the run folder names the scratch folder.

use super::layout::{folder_name, Layout};
use gristmill_core::text::{bytes, display_safe};
use gristmill_core::{Outcome, Problem, ProblemKind, ProblemSink as _, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::Fs;
use gristmill_storage::identity::{ProcessIdentity, ProcessState};
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::read_whole;
use gristmill_storage::run_folder::RunFolder;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Name of the file. In a scratch folder, it names the output; in the work folder of the run folder, it names the scratch folder.
const NAME: &str = "scratch.json";
/// Limit of the size of such a file, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 16;
/// Permission bits of the file.
const FILE_PERMISSIONS: u32 = 0o600;

/// Content of the file.
#[derive(Serialize, Deserialize)]
struct Note {
    /// The output, or the scratch folder.
    path: PathBuf,
    /// The process that created the file; scratch of another host is not removed.
    by: ProcessIdentity,
}

fn read(folder: &Path) -> Outcome<Option<Note>> {
    let found = read_whole(&folder.join(NAME), MAX_FILE_BYTES)?;
    Ok(found.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

fn write(fs: &dyn Fs, folder: &Path, path: &Path) -> Outcome<()> {
    let note = Note { path: path.to_owned(), by: ProcessIdentity::current() };
    let text = serde_json::to_vec(&note).unwrap_or_default();
    write_file(fs, &folder.join(NAME), &text, FILE_PERMISSIONS)
}

/// Records the scratch folder of this run in both places. The folders must exist.
pub(super) fn note(fs: &dyn Fs, layout: &Layout) -> Outcome<()> {
    match layout.is_on_other_disk {
        true => {
            write(fs, &layout.scratch, &layout.output)?;
            write(fs, &layout.run_folder.work_folder(), &layout.scratch)
        }
        false => fs.remove_file(&layout.run_folder.work_folder().join(NAME)),
    }
}

/// Removes the scratch of a stopped run with this output, if it is in another folder than the scratch of this run.
pub(super) fn remove_previous(fs: &dyn Fs, layout: &Layout) -> Outcome<()> {
    let Some(note) = read(&layout.run_folder.work_folder())? else { return Ok(()) };
    let is_former = note.path != layout.scratch && is_of(&note.path, &layout.output);
    // The folder itself must also name the output: any user may have written the file, and a folder of another program must not be removed.
    match is_former && read(&note.path)?.is_some_and(|there| there.path == layout.output) {
        true => fs.remove_dir_all(&note.path),
        false => Ok(()),
    }
}

/// Returns the folder that the user chose for the scratch of a stopped run (`--scratch`); `None` if it is in the run folder.
pub fn external_scratch(own: &RunFolder) -> Option<PathBuf> {
    let note = read(&own.work_folder()).ok().flatten()?;
    note.path.parent().map(Path::to_owned)
}

fn is_of(scratch: &Path, output: &Path) -> bool {
    scratch.file_name() == Some(OsStr::new(&folder_name(output)))
}

/// Checks the folders next to the scratch folder of this run: removes scratch of runs that cannot be resumed, and reports scratch of other
/// stopped runs.
pub(super) fn check_leftovers(
    fs: &dyn Fs,
    layout: &Layout,
    problems: &gristmill_core::ProblemLog,
    log: &dyn Fn(String),
) -> Outcome<()> {
    let Some(parent) = layout.scratch.parent().filter(|_| layout.is_on_other_disk) else { return Ok(()) };
    let Ok(entries) = files::read_dir(parent) else { return Ok(()) };
    for entry in entries.flatten() {
        let is_folder = entry.kind().is_dir();
        let path = entry.into_path();
        if !is_folder || path == layout.scratch {
            continue;
        }
        let Some(note) = read(&path)?.filter(|note| is_of(&path, &note.path)) else { continue };
        if note.by.life(&ProcessIdentity::current()) != ProcessState::Dead {
            continue;
        }
        let own = RunFolder::for_output(&note.path);
        if DatasetLock::holder(&own)?.is_some() {
            continue;
        }
        let goes_on = files::exists(own.journal()) && read(&own.work_folder())?.is_some_and(|there| there.path == path);
        let size = bytes(size_of(&path));
        let output = display_safe(&note.path.to_string_lossy()).into_owned();
        if goes_on {
            let message = format!("scratch of a stopped run that can be resumed: {size}, for {output}");
            let hint = "run it again unchanged to finish it, or with --restart to start from the beginning";
            problems.report(Problem::note(ProblemKind::Other, Subject::path(&path), message).with_hint(hint))?;
        } else {
            fs.remove_dir_all(&path)?;
            log(format!("removed the scratch of a stopped run: {size}, for {output}"));
        }
    }
    Ok(())
}

/// Returns the bytes of the files in a folder; scratch has no subfolders.
fn size_of(folder: &Path) -> u64 {
    let entries = files::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|facts| facts.len()).sum()
}
