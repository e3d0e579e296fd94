//! The own folder of a job that makes one output, or a few beside each other, and begins anew after an interruption: the lock, and what
//! is not visible yet. Only a publication that was interrupted while files moved is finished by the next run.

use gristmill_core::FileStamp;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, RunOptions, Subject};
use gristmill_storage::fs::Fs;
use gristmill_storage::lock::{is_held, DatasetLock};
use gristmill_storage::publish::recover;
use gristmill_storage::read::{stamp_at, ReadFile};
use gristmill_storage::run_folder::RunFolder;
use std::path::{Path, PathBuf};

/// How often a folder that another run is just taking away is made again.
const TRIES: u32 = 5;

/// The folder that a path lies in.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Fails when a file that was read is no longer what it was: written to, gone, or replaced.
pub(super) fn still_the_same(file: &ReadFile, before: FileStamp, problems: &dyn ProblemSink) -> Outcome<()> {
    let now = file.stamp().map_err(|error| Failure::io("opening", file.path(), &error))?;
    let why = match stamp_at(file.path()) {
        _ if now != before || now.bytes != file.len() => "it was written to while it was read",
        Err(_) => "it vanished while it was read",
        Ok(there) if there.inode != now.inode => "another file took its place while it was read",
        Ok(_) => return Ok(()),
    };
    let problem = Problem::problem(ProblemKind::ChangedDuringScan, Subject::path(file.path()), why);
    let problem = problem.with_hint("wait until no program writes to it, then run again");
    let mut failure = problem.clone().into_failure();
    "reading the lines".clone_into(&mut failure.what);
    problems.report(problem)?;
    Err(failure)
}

/// Our own folder beside an output, locked. Goes away at the end, unless a publication was interrupted in it.
pub(super) struct ExclusiveOutput<'a> {
    fs: &'a dyn Fs,
    pub(super) own: RunFolder,
    lock: Option<DatasetLock>,
}

impl<'a> ExclusiveOutput<'a> {
    /// Makes and locks the folder for `target`, whose own folder has to be there, and finishes a publication that was interrupted.
    pub(super) fn take(fs: &'a dyn Fs, target: &Path, options: &RunOptions) -> Outcome<Self> {
        let own = RunFolder::for_output(target);
        let mut tries = 0;
        let lock = loop {
            tries += 1;
            match DatasetLock::acquire(fs, &own, options.break_lock) {
                // Whoever was here before has just taken the folder away.
                Err(_) if !own.exists() && tries < TRIES && folder_of(target).is_dir() => {}
                Ok(lock) => break lock,
                Err(failure) => {
                    // A folder that was made only to fail in it; one that somebody is at work in is not empty.
                    if !is_held(&failure) && !own.lock().exists() {
                        let _ = fs.raw_rmdir(&own.work());
                        let _ = fs.raw_rmdir(own.path());
                    }
                    return Err(failure);
                }
            }
        };
        let place = Self { fs, own, lock: Some(lock) };
        recover(fs, folder_of(target), &place.own)?;
        // What a killed run left.
        place.own.remove_work(fs)?;
        place.own.create(fs)?;
        Ok(place)
    }

    /// Locks that were never finished: whoever is just making one makes it again in another way.
    fn remove_lock_drafts(&self) {
        for entry in std::fs::read_dir(self.own.path()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if name.starts_with(b"lock.") && name.ends_with(b".new") {
                let _ = self.fs.remove_file(&entry.path());
            }
        }
    }

    /// Where work in progress goes: on the file system of the output, as a rule.
    pub(super) fn work(&self) -> PathBuf {
        self.own.work()
    }

    /// Where one of several outputs is made.
    pub(super) fn draft(&self, number: usize) -> PathBuf {
        self.work().join(format!("join-{number}"))
    }
}

impl Drop for ExclusiveOutput<'_> {
    fn drop(&mut self) {
        // With a list of renames the next run goes on where this one was interrupted.
        let is_interrupted = std::fs::symlink_metadata(self.own.renames()).is_ok();
        // What cannot be removed now is removed by the next run. Another run may already wait for the lock: the folder is
        // taken away only when nothing of it is left in it.
        if !is_interrupted {
            let _ = self.own.remove_work(self.fs);
        }
        self.remove_lock_drafts();
        self.lock = None;
        if !is_interrupted {
            let _ = self.fs.raw_rmdir(self.own.path());
        }
    }
}
