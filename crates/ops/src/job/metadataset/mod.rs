//! `prepare` of a metadataset: opens every member, and builds and publishes the index of every join. Also `verify` of a metadataset.

mod run;
#[cfg(test)]
mod tests;

pub(crate) use run::run_prepare;

use super::report::{OutputFile, RunFindings};
use super::task::Task;
use gristmill_core::{Outcome, RunOptions};
use gristmill_storage::fs::Fs;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Result of one join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JoinReport {
    /// The metadataset that contains it.
    pub file: PathBuf,
    /// The split of that file. Raw.
    pub split: String,
    /// Samples of its first member.
    pub samples: u64,
    /// Number of joined samples.
    pub rows: u64,
    /// Samples omitted because a member with `nonmatch: skip` lacks them.
    pub skipped: u64,
    /// Members with the number of rows that lack a sample of them (`nonmatch: none`), without members that have all samples. Raw.
    pub filled: Vec<(String, u64)>,
    /// Size of the index in bytes.
    pub bytes: u64,
}

/// Result of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MetadatasetReport {
    /// Number of splits of the file.
    pub splits: u64,
    /// Joins in the order of the file, including those of nested files that are used.
    pub joins: Vec<JoinReport>,
    /// Whether all indexes already existed, or there is no join, so that nothing was written.
    pub nothing_to_do: bool,
    /// Indexes as written; with a dry run, as they would be written.
    pub files: Vec<OutputFile>,
    /// Removed indexes of joins that no longer exist.
    pub removed: Vec<String>,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

/// The use of the new indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexAction {
    /// Publish the indexes.
    Publish,
    /// Report which indexes would be written.
    Preview,
    /// Compare the indexes with the existing ones; differences are problems.
    Compare,
}

/// Builds the indexes of a metadataset in the background. With `compat`, samples of excluded shards are kept in joins, as in the
/// reference program.
pub fn start(
    path: &Path,
    compat: bool,
    action: IndexAction,
    options: RunOptions,
    fs: Arc<dyn Fs>,
) -> Outcome<Task<MetadatasetReport>> {
    let path = path.to_path_buf();
    Task::start("metadataset", options, fs, move |context| run_prepare(&path, compat, action, context))
}
