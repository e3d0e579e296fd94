//! Publication steps shared by jobs with a record: staging finished files, removing new folders after a failure, removing files of an
//! earlier run, and writing the report.

use super::record::{Recorded, RecordedOutput, RecordedPlan};
use super::report::OutputFile;
use super::task::TaskContext;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::files::{self, missing_folders};
use gristmill_storage::fs::{BufferedFile, Fs};
use gristmill_storage::publish::Publication;
use gristmill_storage::run_folder::RunFolder;
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Permission bits of created folders above an output.
const PARENT_MODE: u32 = 0o755;
/// Permission bits of the files of the record.
pub(crate) const RECORD_MODE: u32 = 0o644;

/// A file that is ready for publication.
#[derive(Debug)]
pub(crate) struct FinishedFile {
    pub(crate) written: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) bytes: u64,
    /// Whether the file is a commit file, which is published last.
    pub(crate) completes: bool,
}

impl FinishedFile {
    /// Creates an entry for a written file.
    pub(crate) fn of(written: PathBuf, target: PathBuf) -> Outcome<Self> {
        let facts = files::metadata(&written).map_err(|error| Failure::io("publishing", &written, &error))?;
        Ok(Self { written, target, bytes: facts.len(), completes: false })
    }

    /// Returns the file as a commit file.
    pub(crate) fn completing(self) -> Self {
        Self { completes: true, ..self }
    }

    /// Returns the file as an entry of the report.
    pub(crate) fn output(&self) -> OutputFile {
        let replaces = files::is_taken(&self.target);
        OutputFile { name: self.target.to_string_lossy().into_owned(), bytes: self.bytes, replaces }
    }
}

/// Folders created for a publication.
pub(crate) struct Folders<'a> {
    fs: &'a dyn Fs,
    /// Permission bits of new files: those of the first input, plus read and write for the owner.
    pub(crate) file_mode: u32,
    created: Vec<PathBuf>,
}

impl<'a> Folders<'a> {
    /// Runs `publish`; if it fails, removes the folders that were created for it.
    pub(crate) fn with<T>(
        fs: &'a dyn Fs,
        first_input: Option<&Path>,
        publish: impl FnOnce(&mut Self) -> Outcome<T>,
    ) -> Outcome<T> {
        let facts = first_input.and_then(|path| files::metadata(path).ok());
        let file_mode = facts.map_or(0o644, |facts| facts.mode & 0o666 | 0o600);
        let mut folders = Self { fs, file_mode, created: Vec::new() };
        let result = publish(&mut folders);
        if result.is_err() {
            for folder in folders.created.iter().rev() {
                // A folder that is not empty is in use, so it is not removed.
                let _ = fs.raw_rmdir(folder);
            }
        }
        result
    }

    /// Creates a folder and its missing parents. Users who may read the files may enter the folders.
    pub(crate) fn make(&mut self, folder: &Path) -> Outcome<()> {
        let mode = (self.file_mode | (self.file_mode & 0o444) >> 2) | 0o700;
        make_folder(self.fs, folder, mode, &mut self.created)
    }

    /// Creates the missing parent folders of a file.
    pub(crate) fn make_parents(&mut self, target: &Path) -> Outcome<()> {
        target.parent().map_or(Ok(()), |parent| self.make(parent))
    }

    /// Stages a file, and adds it to the record.
    pub(crate) fn stage<P>(
        &mut self,
        file: &FinishedFile,
        publication: &mut Publication<'_>,
        recorded: &mut Recorded<P>,
    ) -> Outcome<()> {
        self.make_parents(&file.target)?;
        recorded.outputs.push(RecordedOutput { path: file.target.clone(), bytes: file.bytes });
        publication.stage_file(&file.target, file.written.clone(), self.file_mode)
    }
}

/// Creates a folder and its missing parents. Appends the created ones to `made`.
pub(crate) fn make_folder(fs: &dyn Fs, folder: &Path, mode: u32, made: &mut Vec<PathBuf>) -> Outcome<()> {
    for path in missing_folders(folder) {
        fs.create_dir(path, mode)?;
        made.push(path.to_owned());
        if let Some(parent) = path.parent() {
            fs.sync_dir(parent)?;
        }
    }
    Ok(())
}

/// Runs `work`, which writes `output` and keeps its state in `own`. Missing folders above the output are created, and removed again if the
/// work fails; the run folder is removed if it is empty.
pub(crate) fn with_parent_folders<T>(
    context: &TaskContext,
    output: &Path,
    own: &RunFolder,
    work: impl FnOnce() -> Outcome<T>,
) -> Outcome<T> {
    let (fs, mut made) = (&*context.fs, Vec::new());
    if let Some(parent) = output.parent() {
        make_folder(fs, parent, PARENT_MODE, &mut made)?;
    }
    let result = work();
    own.remove_if_empty(fs);
    // Without a result, the run folder is empty once its work folder is removed.
    let _ = fs.raw_rmdir(own.path());
    if result.is_err() {
        // A folder that is not empty is in use, so it is not removed.
        made.iter().rev().for_each(|folder| _ = fs.raw_rmdir(folder));
    }
    result
}

/// Removes files of an earlier run that are not in `new`, at paths where `may_write` allows it.
pub(crate) fn remove_old<P: RecordedPlan>(
    own: &RunFolder,
    new: &Recorded<P>,
    may_write: &dyn Fn(&Path) -> bool,
    publication: &mut Publication<'_>,
) -> Outcome<()> {
    let Some(old) = Recorded::<P>::read(own)? else { return Ok(()) };
    let kept: HashSet<&Path> = new.outputs.iter().map(|output| output.path.as_path()).collect();
    // Any user may have written the report, so a file named in it is only removed at a path where a run would have written it.
    let is_ours = |path: &Path| may_write(path) && files::symlink_metadata(path).is_ok_and(|facts| facts.is_file());
    for output in old.outputs.iter().filter(|output| !kept.contains(output.path.as_path()) && is_ours(&output.path)) {
        publication.remove(&output.path)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct ReportFile<'a, P, R> {
    gristmill: &'a str,
    #[serde(flatten)]
    recorded: &'a Recorded<P>,
    result: &'a R,
}

pub(crate) fn stage_report<P: Serialize, R: Serialize>(
    publication: &mut Publication<'_>,
    own: &RunFolder,
    recorded: &Recorded<P>,
    report: &R,
) -> Outcome<()> {
    let saved = ReportFile { gristmill: env!("CARGO_PKG_VERSION"), recorded, result: report };
    let path = own.report();
    publication.stage_written(&path, RECORD_MODE, |out| {
        serde_json::to_writer_pretty(out, &saved)
            .map_err(|error| BufferedFile::failure("writing the report", &path, error.into()))
    })
}
