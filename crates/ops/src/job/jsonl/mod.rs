//! `prepare` of a JSONL file: acquires the lock, scans its ranges, and publishes the index. Also `lint` and `verify` of such a file.

mod check;
mod clean;
mod pooled;
mod run;
#[cfg(test)]
mod tests;

pub use check::{run_lint, run_verify};
pub use clean::clean_path;

use super::report::OutputFile;
use super::task::Task;
use gristmill_core::{Outcome, PreparePlan, Problem, ProblemKind, Rerun, RunOptions, Severity};
use gristmill_storage::fs::{Fs, RealFs};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct JsonlReport {
    /// Number of lines that are samples.
    pub samples: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Lines that only contain white space and are not samples.
    pub blank_lines: u64,
    /// Number of lines omitted from the copy that was indexed instead of the file; 0 if the file itself was indexed.
    #[serde(skip_serializing_if = "is_zero")]
    pub lines_left_out: u64,
    /// Whether the same index already existed and nothing was written.
    pub nothing_to_do: bool,
    /// The index as written; with a dry run, as it would be written.
    pub files: Vec<OutputFile>,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// Counts of all problems and notes.
    #[serde(skip)]
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "as_seconds")]
    pub elapsed: Duration,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn as_seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((time.as_secs_f64() * 1000.0).round() / 1000.0)
}

/// Indexes a file in the background. For a plan with [`skip_bad_lines`](PreparePlan::skip_bad_lines), indexes a copy without its bad lines.
pub fn start_plan(plan: &PreparePlan, options: RunOptions) -> Outcome<Task<JsonlReport>> {
    start_plan_on(plan, options, Arc::new(RealFs))
}

/// Like [`start_plan`], but writes through `fs`, which lets tests inject failures.
pub fn start_plan_on(plan: &PreparePlan, options: RunOptions, fs: Arc<dyn Fs>) -> Outcome<Task<JsonlReport>> {
    let path = PathBuf::from(&plan.path);
    if !plan.skip_bad_lines {
        return start_on(&path, options, fs);
    }
    let overwrite = plan.rerun == Rerun::Overwrite;
    Task::start("jsonl", options, fs, move |context| clean::index_clean(&path, overwrite, context))
}

/// Like [`start_plan`], without writing files.
pub fn preview_plan(plan: &PreparePlan, options: RunOptions) -> Outcome<Task<JsonlReport>> {
    let path = PathBuf::from(&plan.path);
    if !plan.skip_bad_lines {
        return start_dry(&path, options);
    }
    let overwrite = plan.rerun == Rerun::Overwrite;
    Task::start("jsonl", options, Arc::new(RealFs), move |context| clean::preview_clean(&path, overwrite, context))
}

/// Indexes a file in the background.
pub fn start(path: &Path, options: RunOptions) -> Outcome<Task<JsonlReport>> {
    start_on(path, options, Arc::new(RealFs))
}

/// Like [`start`], but writes through `fs`, which lets tests inject failures.
pub fn start_on(path: &Path, options: RunOptions, fs: Arc<dyn Fs>) -> Outcome<Task<JsonlReport>> {
    let path = path.to_path_buf();
    Task::start("jsonl", options, fs, move |context| run::index(&path, context))
}

/// Like [`start`], without writing files.
pub fn start_dry(path: &Path, options: RunOptions) -> Outcome<Task<JsonlReport>> {
    let path = path.to_path_buf();
    Task::start("jsonl", options, Arc::new(RealFs), move |context| run::preview(&path, context))
}
