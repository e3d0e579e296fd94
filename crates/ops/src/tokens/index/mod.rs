//! Indexes next to plain text: the raw index of Modalities and the plain index of Forager.

#[cfg(test)]
mod tests;

use crate::job::report::{OutputFile, RunFindings};
use crate::job::task::TaskContext;
use gristmill_core::options::Choice;
use gristmill_core::Outcome;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What a format of indexes is, and how an index is written.
pub(crate) struct IndexFormatInfo {
    /// The value of `--format`.
    pub(crate) choice: Choice,
    /// User-facing name of the program that reads the index.
    pub(crate) title: &'static str,
    /// The answer on which its options depend.
    pub(crate) needs: &'static str,
    /// Whether one index is for a folder, instead of one next to each file.
    pub(crate) is_of_folder: bool,
    /// Writes one index.
    pub(crate) run: fn(&IndexRequest, &TaskContext) -> Outcome<IndexReport>,
}

/// The text to index, and the answers of all formats.
#[derive(Clone, Debug)]
pub(crate) struct IndexRequest {
    /// The file, or the folder that contains the files.
    pub(crate) source: PathBuf,
    /// Path of the index of a file; `None` means next to it.
    pub(crate) index_path: Option<PathBuf>,
    /// The treatment of an existing index of a file.
    pub(crate) existing: ExistingFile,
    /// Whether lines that are not JSON are omitted.
    pub(crate) skip_bad_lines: bool,
    /// Name of the index of a folder; `None` means the default.
    pub(crate) index_folder: Option<String>,
    /// Whether nothing is written.
    pub(crate) is_dry: bool,
}

/// The treatment of an existing index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExistingFile {
    /// Refuse to run.
    #[default]
    Error,
    /// Keep it, and do not run.
    Skip,
    /// Replace it once the new one is complete.
    Override,
}

/// Result of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct IndexReport {
    /// Name of the format: `modalities` or `forager`.
    pub format: &'static str,
    /// The index: a file, or the folder that contains it.
    pub index: PathBuf,
    /// Number of files that were read and have samples.
    pub files: u64,
    /// Number of lines in the index.
    pub samples: u64,
    /// Number of bytes that were read.
    pub bytes: u64,
    /// Number of lines that were omitted because they are not JSON.
    pub skipped_lines: u64,
    /// Whether an existing index was kept, so that nothing was read.
    pub left_alone: bool,
    /// Files written, relative to the folder of the index; in a dry run, files that would be written.
    pub written: Vec<OutputFile>,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}
