//! The run folder of a job that writes one output, or a few next to each other, and starts from the beginning after an interruption. It
//! contains the lock and the unpublished files. The next run only completes a publication that was interrupted while it moved files.

use gristmill_core::FileStamp;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, RunOptions, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::Fs;
use gristmill_storage::lock::{is_lock_failure, DatasetLock};
use gristmill_storage::publish::recover;
use gristmill_storage::read::{stamp_at, ReadFile};
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::stores::is_bucket;
use std::path::{Path, PathBuf};

/// Limit of attempts to create a run folder that another run is removing at the same time.
const MAX_TRIES: u32 = 5;

/// Returns the folder that contains a path.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Fails if a file that was read has since been modified, removed or replaced.
pub(crate) fn still_the_same(file: &ReadFile, before: FileStamp, problems: &dyn ProblemSink) -> Outcome<()> {
    let now = file.stamp().map_err(|error| Failure::io("opening", file.path(), &error))?;
    let why = match stamp_at(file.path()) {
        _ if now != before || now.bytes != file.len() => "it was written to while it was read",
        Err(_) => "it was removed while it was read",
        Ok(there) if there.inode != now.inode => "it was replaced while it was read",
        Ok(_) => return Ok(()),
    };
    let problem = Problem::problem(ProblemKind::ChangedDuringScan, Subject::path(file.path()), why);
    let problem = problem.with_hint("wait until no program writes to it, then run again");
    let mut failure = problem.clone().into_failure();
    "reading the lines".clone_into(&mut failure.what);
    problems.report(problem)?;
    Err(failure)
}

/// Locked run folder at an output. Removed on drop, unless it contains an interrupted publication.
pub(crate) struct ExclusiveOutput<'a> {
    fs: &'a dyn Fs,
    pub(crate) run_folder: RunFolder,
    lock: Option<DatasetLock>,
    /// Whether unfinished files are kept for the next run.
    keeps_work: bool,
}

impl<'a> ExclusiveOutput<'a> {
    /// Creates and locks the run folder of `target`, whose parent folder must exist, and completes an interrupted publication.
    pub(crate) fn create(fs: &'a dyn Fs, target: &Path, options: &RunOptions) -> Outcome<Self> {
        let place = Self::take_with_work(fs, target, options)?;
        // Remove files left by a killed run.
        place.run_folder.remove_work(fs)?;
        place.run_folder.create(fs)?;
        Ok(place)
    }

    /// Like [`Self::create`], but keeps the unfinished files of an earlier run.
    pub(crate) fn take_with_work(fs: &'a dyn Fs, target: &Path, options: &RunOptions) -> Outcome<Self> {
        if is_bucket(target) {
            let failure = Failure::usage("writing the output", "it is a bucket: name a folder or an object in it");
            return Err(failure.on(Subject::path(target)));
        }
        let own = RunFolder::for_output(target);
        let mut tries = 0;
        let lock = loop {
            tries += 1;
            match DatasetLock::acquire(fs, &own, options.break_lock) {
                // The previous holder of the lock has just removed the folder.
                Err(_) if !own.exists() && tries < MAX_TRIES && files::is_dir(folder_of(target)) => {}
                Ok(lock) => break lock,
                Err(failure) => {
                    // Removes a folder that was created for this failed attempt. The folder of a running job is not empty, so it stays.
                    if !is_lock_failure(&failure) && !files::exists(own.lock()) {
                        let _ = fs.raw_rmdir(&own.work_folder());
                        let _ = fs.raw_rmdir(own.path());
                    }
                    return Err(failure);
                }
            }
        };
        let place = Self { fs, run_folder: own, lock: Some(lock), keeps_work: false };
        recover(fs, folder_of(target), &place.run_folder)?;
        place.run_folder.create(fs)?;
        Ok(place)
    }

    /// Keeps unfinished files for the next run.
    pub(crate) fn keep_work(&mut self) {
        self.keeps_work = true;
    }

    /// Removes unfinished lock drafts. A run that is creating a lock at the same time then creates it in another way.
    fn remove_lock_drafts(&self) {
        for entry in files::read_dir(self.run_folder.path()).into_iter().flatten().flatten() {
            let name = entry.file_name().as_encoded_bytes();
            if name.starts_with(b"lock.") && name.ends_with(b".new") {
                let _ = self.fs.remove_file(entry.path());
            }
        }
    }

    /// Returns the work folder, which is usually on the file system of the output.
    pub(crate) fn work_folder(&self) -> PathBuf {
        self.run_folder.work_folder()
    }

    /// Returns the path of the draft of one of several outputs.
    pub(crate) fn draft(&self, number: usize) -> PathBuf {
        self.work_folder().join(format!("join-{number}"))
    }
}

impl Drop for ExclusiveOutput<'_> {
    fn drop(&mut self) {
        // If a list of renames exists, the next run completes the interrupted publication.
        let is_interrupted = files::is_taken(self.run_folder.renames());
        // Files that cannot be removed here are removed by the next run. Another run may already wait for the lock, so the folder is only
        // removed if it is empty.
        let is_kept = self.keeps_work
            && files::read_dir(self.run_folder.work_folder()).is_ok_and(|mut files| files.next().is_some());
        if !is_interrupted && !is_kept {
            let _ = self.run_folder.remove_work(self.fs);
        }
        self.remove_lock_drafts();
        self.lock = None;
        if !is_interrupted {
            let _ = self.fs.raw_rmdir(self.run_folder.path());
        }
    }
}
