//! Work on token folders as jobs: merging them, shuffling their windows, and making the index of a mixture.

mod files;
mod index;
#[cfg(test)]
mod tests;

pub use files::{start_merge, start_merge_dry, start_merge_on, start_windows, start_windows_dry, FilesReport};
pub use index::{start_index, start_index_dry, start_index_on, IndexReport, DATASET_INDEX, SAMPLE_INDEX};

use super::task::TaskContext;
use super::work_place::WorkPlace;
use crate::model::{Failure, Outcome, Subject};
use crate::storage::fs::Fs;
use crate::storage::publish::Publication;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A path as nobody else can write it: what comes out of it never depends on the current folder any more.
fn absolute(path: &Path) -> Outcome<PathBuf> {
    std::path::absolute(path).map_err(|error| Failure::io("opening the folder", path, &error))
}

/// Makes a folder and what is missing above it, readable for others.
fn make_folder(fs: &dyn Fs, folder: &Path) -> Outcome<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_folder(fs, parent)?;
    }
    fs.create_dir(folder, 0o755)
}

/// Names in a folder that `is_ours` knows; none where there is no folder.
fn names_there(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| is_ours(name)).collect();
    names.sort_unstable();
    names
}

/// Refuses to go over what is there.
fn refuse_replacing(what: &str, output: &Path, there: &[String]) -> Outcome<()> {
    match there {
        [] => Ok(()),
        [first, ..] => Err(Failure::data(what, "there is one of that name already")
            .on(Subject::path(output.join(first)))
            .with_hint("--force-overwrite replaces it")),
    }
}

/// Makes files visible in `output` as one set. `stage` adds them and names the file that comes last.
fn publish(
    context: &TaskContext,
    place: &WorkPlace<'_>,
    output: &Path,
    stage: impl FnOnce(&mut Publication<'_>, u32) -> Outcome<PathBuf>,
) -> Outcome<()> {
    let fs = &*context.fs;
    context.cancel.check()?;
    let is_new = !output.is_dir();
    make_folder(fs, output)?;
    let facts = std::fs::metadata(output).map_err(|error| Failure::io("opening the folder", output, &error))?;
    let root = output.parent().unwrap_or(Path::new("/"));
    let mut publication = Publication::begin(fs, root, &place.own)?;
    let done = stage(&mut publication, (facts.mode() & 0o666) | 0o600).and_then(|last| publication.commit(&last));
    if done.is_err() && is_new {
        // Only when nothing is in it.
        let _ = fs.raw_rmdir(output);
    }
    done
}
