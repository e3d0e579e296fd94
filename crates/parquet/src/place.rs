//! Locations in a Parquet file, for failures.

use gristmill_core::problem::Subject;
use gristmill_core::Failure;
use std::io;
use std::path::{Path, PathBuf};

/// Name of this step in failures.
pub(crate) const READING: &str = "reading the Parquet file";
pub(crate) const DAMAGE_HINT: &str = "the file is damaged or was not written completely; get it again from its source";

/// Location of a column in a row group.
#[derive(Clone, Debug)]
pub(crate) struct ChunkLocation {
    pub(crate) path: PathBuf,
    pub(crate) column: String,
    /// Number of the row group, from 0.
    pub(crate) row_group: usize,
}

impl ChunkLocation {
    /// Returns the failure for damage. `offset` is that of a page in the file.
    pub(crate) fn damage(&self, offset: Option<u64>, why: &str) -> Failure {
        let page = if offset.is_some() { ", page" } else { "" };
        let mut subject = Subject::path(&self.path);
        subject.field = Some(self.column.clone());
        subject.byte_offset = offset;
        Failure::data(READING, format!("row group {}{page}: {why}", self.row_group)).on(subject).with_hint(DAMAGE_HINT)
    }

    /// Returns the failure for valid content that is not supported.
    pub(crate) fn refusal(&self, why: &str, hint: &str) -> Failure {
        let mut subject = Subject::path(&self.path);
        subject.field = Some(self.column.clone());
        Failure::data(READING, format!("row group {}: {why}", self.row_group)).on(subject).with_hint(hint)
    }
}

/// Returns the failure for a read error.
pub(crate) fn io_failure(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Failure::data(READING, "it became shorter while it was read").on(Subject::path(path)).with_hint(DAMAGE_HINT)
        }
        _ => Failure::io(READING, path, error),
    }
}
