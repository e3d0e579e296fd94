//! Our own folder beside a metadataset or another single output: the lock, and what is not visible yet.

use crate::model::{Outcome, RunOptions};
use crate::storage::fs::Fs;
use crate::storage::lock::{is_held, DatasetLock};
use crate::storage::own::OwnFolder;
use crate::storage::publish::recover;
use std::path::{Path, PathBuf};

/// How often a folder that another run is just taking away is made again.
const TRIES: u32 = 5;

/// The folder, locked. Goes away at the end, unless a publish was interrupted in it.
pub(in crate::job) struct WorkPlace<'a> {
    fs: &'a dyn Fs,
    pub(in crate::job) own: OwnFolder,
    lock: Option<DatasetLock>,
}

impl<'a> WorkPlace<'a> {
    /// Locks, and finishes a publish that was interrupted. `file` is the metadataset, or another output.
    pub(in crate::job) fn take(fs: &'a dyn Fs, file: &Path, options: &RunOptions) -> Outcome<Self> {
        let own = OwnFolder::for_output(file);
        let mut tries = 0;
        let lock = loop {
            tries += 1;
            match DatasetLock::acquire(fs, &own, options.break_lock) {
                // Whoever was here before has just taken the folder away.
                Err(_) if !own.exists() && tries < TRIES && own.path().parent().is_some_and(Path::is_dir) => {}
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
        let root = file.parent().unwrap_or(Path::new("/"));
        recover(fs, root, &place.own)?;
        place.own.remove_work(fs)?;
        place.own.create(fs)?;
        Ok(place)
    }

    /// Where an index, or another output, is made.
    pub(in crate::job) fn draft(&self, number: usize) -> PathBuf {
        self.own.work().join(format!("join-{number}"))
    }
}

impl Drop for WorkPlace<'_> {
    fn drop(&mut self) {
        // With a list of renames the next run goes on where this one was interrupted.
        let is_interrupted = std::fs::symlink_metadata(self.own.renames()).is_ok();
        if !is_interrupted {
            let _ = self.own.remove_work(self.fs);
        }
        for entry in std::fs::read_dir(self.own.path()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if name.starts_with(b"lock.") && name.ends_with(b".new") {
                let _ = self.fs.remove_file(&entry.path());
            }
        }
        self.lock = None;
        if !is_interrupted {
            let _ = self.fs.raw_rmdir(self.own.path());
        }
    }
}
