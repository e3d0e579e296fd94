//! `prepare` of a JSONL file: acquires the lock, scans its ranges, and publishes the index. Also `lint` and `verify` of such a file.

mod check;
mod clean;
mod pooled;
mod run;
#[cfg(test)]
mod tests;

pub use check::{run_lint, run_verify};
pub use clean::clean_path;

use super::report::{OutputFile, RunFindings};
use super::task::{Task, TaskContext};
use gristmill_core::{Outcome, PreparePlan, Rerun, RunOptions};
use gristmill_storage::fs::Fs;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// Result of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct JsonlReport {
    /// Number of lines that are samples.
    pub samples: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Lines that only contain white space and are not samples.
    pub blank_lines: u64,
    /// Number of lines omitted from the copy that was indexed instead of the file; 0 if the file itself was indexed.
    #[serde(skip_serializing_if = "crate::job::is_zero")]
    pub lines_left_out: u64,
    /// Whether the same index already existed and nothing was written.
    pub nothing_to_do: bool,
    /// The index as written; with a dry run, as it would be written.
    pub files: Vec<OutputFile>,
    /// Problems, notes and time of the run.
    #[serde(flatten)]
    pub findings: RunFindings,
}

/// Indexes the file of a plan. A preview writes no files. For a plan with [`skip_bad_lines`](PreparePlan::skip_bad_lines), indexes a copy
/// without its bad lines.
pub(crate) fn run_prepare(plan: &PreparePlan, is_preview: bool, context: &TaskContext) -> Outcome<JsonlReport> {
    let (path, overwrite) = (Path::new(&plan.path), plan.rerun == Rerun::Overwrite);
    match (plan.skip_bad_lines, is_preview) {
        (true, true) => clean::preview_clean(path, overwrite, context),
        (true, false) => clean::index_clean(path, overwrite, context),
        (false, true) => run::preview(path, context),
        (false, false) => run::index(path, context),
    }
}

/// Indexes the file of a plan in the background, or previews that.
pub fn start(plan: &PreparePlan, is_preview: bool, options: RunOptions, fs: Arc<dyn Fs>) -> Outcome<Task<JsonlReport>> {
    let plan = plan.clone();
    Task::start("jsonl", options, fs, move |context| run_prepare(&plan, is_preview, context))
}
