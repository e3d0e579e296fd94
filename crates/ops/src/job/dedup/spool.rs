//! Scratch file for a line of a compressed file that is too long to be held in memory.

use gristmill_core::{Failure, Outcome};
use gristmill_data::source::dedup::Spool;
use gristmill_storage::fs::{Fs, WriteFile};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::PathBuf;
use std::sync::Arc;

/// A scratch file that is created when needed, and removed on drop.
pub(super) struct ScratchSpool {
    fs: Arc<dyn Fs>,
    path: PathBuf,
    open: Option<(Box<dyn WriteFile>, ReadFile)>,
}

impl ScratchSpool {
    /// Prepares a file at `path`.
    pub(super) fn new(fs: &Arc<dyn Fs>, path: PathBuf) -> Self {
        Self { fs: Arc::clone(fs), path, open: None }
    }
}

impl Spool for ScratchSpool {
    fn clear(&mut self) -> Outcome<()> {
        match self.open.take() {
            Some(_) => self.fs.remove_file(&self.path),
            None => Ok(()),
        }
    }

    fn append(&mut self, bytes: &[u8]) -> Outcome<()> {
        if self.open.is_none() {
            // A stopped run may have left the file.
            self.fs.remove_file(&self.path)?;
            let mut file = self.fs.create_file(&self.path)?;
            file.keep_in_page_cache();
            self.open = Some((file, open_read(&self.path)?));
        }
        match &mut self.open {
            Some((file, _)) => file.write_all(bytes),
            None => Ok(()),
        }
    }

    fn read_at(&self, at: u64, buf: &mut [u8]) -> Outcome<usize> {
        match &self.open {
            Some((_, file)) => {
                file.read_at(buf, at).map_err(|error| Failure::io("reading the scratch file", &self.path, &error))
            }
            None => Ok(0),
        }
    }
}

impl Drop for ScratchSpool {
    fn drop(&mut self) {
        if self.open.take().is_some() {
            // If removal fails, the file is removed later with its folder.
            let _ = self.fs.remove_file(&self.path);
        }
    }
}
