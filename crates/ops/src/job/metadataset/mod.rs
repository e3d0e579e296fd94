//! `prepare` of a metadataset: every member is opened, and the index of every join is made and published. And `verify` of one.

mod run;
#[cfg(test)]
mod tests;

use super::prepare::OutputFile;
use super::task::Task;
use gristmill_core::{Outcome, Problem, ProblemKind, RunOptions, Severity};
use gristmill_storage::fs::{Fs, RealFs};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// One join and what it came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JoinReport {
    /// The metadataset it is written in.
    pub file: PathBuf,
    /// The split of that file. Raw.
    pub split: String,
    /// Samples of its first member.
    pub samples: u64,
    /// Joined samples.
    pub rows: u64,
    /// Samples left out because a member with `nonmatch: skip` lacks them.
    pub skipped: u64,
    /// Member as written, and rows with nothing from it (`nonmatch: none`); members that lack none are left out. Raw.
    pub filled: Vec<(String, u64)>,
    /// Size of the index in bytes.
    pub bytes: u64,
}

/// What a run did.
#[derive(Clone, Debug, Serialize)]
pub struct MetadatasetReport {
    /// Splits of the file.
    pub splits: u64,
    /// In the order of the file; those of nested files that are used, too.
    pub joins: Vec<JoinReport>,
    /// Everything was there already, or there is no join; nothing was written.
    pub nothing_to_do: bool,
    /// Indexes as written; with a dry run, as they would be.
    pub files: Vec<OutputFile>,
    /// Indexes of joins that are no more, removed.
    pub removed: Vec<String>,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// All problems and notes, counted.
    #[serde(skip)]
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "as_seconds")]
    pub elapsed: Duration,
}

fn as_seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((time.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// What to do with the indexes that were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// Make them visible.
    Publish,
    /// Say what would be written.
    Look,
    /// Compare them with those that are there.
    Compare,
}

/// Prepares a metadataset in the background. `compat` keeps samples of excluded shards in joins, as the reference does.
pub fn start(path: &Path, compat: bool, options: RunOptions) -> Outcome<Task<MetadatasetReport>> {
    start_on(path, compat, options, Arc::new(RealFs))
}

/// As [`start`], writing through `fs`: tests let it fail.
pub fn start_on(path: &Path, compat: bool, options: RunOptions, fs: Arc<dyn Fs>) -> Outcome<Task<MetadatasetReport>> {
    start_with(path, compat, options, fs, Aim::Publish)
}

/// Does everything but write.
pub fn start_dry(path: &Path, compat: bool, options: RunOptions) -> Outcome<Task<MetadatasetReport>> {
    start_with(path, compat, options, Arc::new(RealFs), Aim::Look)
}

/// Makes every index anew and compares it with the one that is there; differences are problems.
pub fn start_verify(path: &Path, compat: bool, options: RunOptions) -> Outcome<Task<MetadatasetReport>> {
    start_with(path, compat, options, Arc::new(RealFs), Aim::Compare)
}

fn start_with(
    path: &Path,
    compat: bool,
    options: RunOptions,
    fs: Arc<dyn Fs>,
    aim: Aim,
) -> Outcome<Task<MetadatasetReport>> {
    let path = path.to_path_buf();
    Task::start("metadataset", options, fs, move |context| run::run(&path, compat, aim, context))
}
