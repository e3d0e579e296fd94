//! `prepare` of a JSONL file: lock, scan its ranges, publish the index. And `lint` and `verify` of one.

mod check;
mod pooled;
mod run;
#[cfg(test)]
mod tests;

pub use check::{run_lint, run_verify};

use super::prepare::OutputFile;
use super::task::Task;
use crate::model::{Outcome, Problem, ProblemKind, RunOptions, Severity};
use crate::storage::fs::{Fs, RealFs};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What a run did.
#[derive(Clone, Debug, Serialize)]
pub struct JsonlReport {
    /// Lines that are samples.
    pub samples: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Lines of white space only: no samples.
    pub blank_lines: u64,
    /// The same index was there already; nothing was written.
    pub nothing_to_do: bool,
    /// The index, as written; with a dry run, as it would be.
    pub files: Vec<OutputFile>,
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

/// Indexes a file in the background.
pub fn start(path: &Path, options: RunOptions) -> Outcome<Task<JsonlReport>> {
    start_on(path, options, Arc::new(RealFs))
}

/// As [`start`], writing through `fs`: tests let it fail.
pub fn start_on(path: &Path, options: RunOptions, fs: Arc<dyn Fs>) -> Outcome<Task<JsonlReport>> {
    let path = path.to_path_buf();
    Task::start("jsonl", options, fs, move |context| run::index(&path, context))
}

/// Does everything but write.
pub fn start_dry(path: &Path, options: RunOptions) -> Outcome<Task<JsonlReport>> {
    let path = path.to_path_buf();
    Task::start("jsonl", options, Arc::new(RealFs), move |context| run::look(&path, context))
}
