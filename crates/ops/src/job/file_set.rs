//! Publishes a set of files in an output folder, unless identical files exist.

use super::exclusive_output::ExclusiveOutput;
use super::task::TaskContext;
use gristmill_core::{text, Failure, Outcome, Problem, ProblemKind, ProblemSink as _, Subject};
use gristmill_storage::files::{is_dir, metadata, read_dir};
use gristmill_storage::location::is_remote;
use gristmill_storage::publish::Publication;
use gristmill_storage::space::{folder_of_drafts, free_bytes, hint_for_space};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Permission bits of new folders.
pub(crate) const FOLDER_MODE: u32 = 0o755;

/// Returns an absolute path, so that the result does not depend on the current folder.
pub(crate) fn absolute(path: &Path) -> Outcome<PathBuf> {
    gristmill_storage::files::absolute(path).map_err(|error| Failure::io("opening the folder", path, &error))
}

/// Returns the names in a folder that `is_ours` accepts; empty if the folder does not exist.
pub(crate) fn names_there(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Outcome<Vec<String>> {
    let entries = match read_dir(folder) {
        Err(error) if is_remote(folder) && error.kind() != ErrorKind::NotFound => {
            return Err(Failure::io("reading the folder", folder, &error));
        }
        entries => entries.into_iter().flatten().flatten(),
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().to_str().filter(|name| is_ours(name)).map(str::to_owned))
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// Fails if this many bytes do not fit on the disk of the output. Called before the run, so that the disk does not become full after hours.
pub(crate) fn check_space(what: &str, output: &Path, needed: u64) -> Outcome<()> {
    let free = free_bytes(output)?;
    if needed <= free {
        return Ok(());
    }
    let why = format!("{} are needed, and {} are free", text::bytes(needed), text::bytes(free));
    Err(Failure::environment(what, why).on(Subject::path(folder_of_drafts(output))).with_hint(hint_for_space(output)))
}

/// Existing files in the output folder, and whether they may be replaced.
pub(crate) struct PreviousOutput {
    /// Name of the operation in messages.
    pub(crate) what: &'static str,
    pub(crate) output: PathBuf,
    /// Existing names that the run would use.
    pub(crate) names: Vec<String>,
    /// Whether the plan allows replacing them.
    pub(crate) overwrite: bool,
}

impl PreviousOutput {
    /// Whether there are existing files that must not be replaced by different ones.
    pub(crate) fn is_kept(&self) -> bool {
        !self.overwrite && !self.names.is_empty()
    }

    /// Refuses to overwrite existing files that cannot be identical, because some are missing or have different sizes.
    pub(crate) fn refuse_others(&self, files: &[(String, u64)]) -> Outcome<()> {
        let is_like = |(name, bytes): &(String, u64)| {
            metadata(self.output.join(name)).is_ok_and(|facts| facts.is_file() && facts.len() == *bytes)
        };
        match self.is_kept() && !files.iter().all(is_like) {
            true => Err(self.refusal()),
            false => Ok(()),
        }
    }

    pub(crate) fn refusal(&self) -> Failure {
        let first = self.names.first().map(String::as_str).unwrap_or_default();
        Failure::data(self.what, "there is another one of that name")
            .on(Subject::path(self.output.join(first)))
            .with_hint("--force-overwrite replaces it")
    }

    /// Reports in a preview that existing files may be identical.
    pub(crate) fn report_kept(&self, context: &TaskContext) -> Outcome<()> {
        let Some(first) = self.names.first().filter(|_| self.is_kept()) else { return Ok(()) };
        let path = Subject::path(self.output.join(first));
        let why = "there is one of that name already: it stays if the result is the same, and the run is refused if it is not";
        let note = Problem::note(ProblemKind::AlreadyPrepared, path, why);
        context.problems.report(note.with_hint("--force-overwrite replaces it"))
    }
}

/// Publishes files in the output folder as one set, unless identical files exist. Returns whether they were published. `stage` adds the
/// files and names the commit file.
pub(crate) fn publish(
    context: &TaskContext,
    place: &ExclusiveOutput<'_>,
    before: &PreviousOutput,
    stage: impl FnOnce(&mut Publication<'_>, u32) -> Outcome<PathBuf>,
) -> Outcome<bool> {
    let (fs, output) = (&*context.fs, before.output.as_path());
    context.cancel.check()?;
    let is_new = !is_dir(output);
    fs.create_folders(output, FOLDER_MODE)?;
    // In a store, a folder only exists if it contains objects.
    let folder_mode = metadata(output).map_or(FOLDER_MODE, |info| info.mode);
    let root = output.parent().unwrap_or(Path::new("/"));
    let mut publication = Publication::begin(fs, root, &place.run_folder)?.counting(&context.progress, 0);
    let done = stage(&mut publication, (folder_mode & 0o666) | 0o600).and_then(|last| {
        if publication.changes_nothing()? {
            return Ok(false);
        }
        match before.is_kept() {
            true => Err(before.refusal()),
            false => publication.commit(&last).map(|()| true),
        }
    });
    if done.is_err() && is_new {
        // This only succeeds if the folder is empty.
        let _ = fs.raw_rmdir(output);
    }
    done
}
