//! Indexes next to plain text: the raw index of Modalities and the plain index of Forager.

#[cfg(test)]
mod tests;

use crate::job::report::{OutputFile, RunFindings};
use serde::Serialize;
use std::path::PathBuf;

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
