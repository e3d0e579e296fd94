//! `prepare-media` as a job: examines the entries of a prepared WebDataset, or the files of a folder, and writes their rows to the media
//! tables of its database. No result is visible before the end; a stopped run starts from the beginning.

mod apply;
mod lines;
mod preview;
mod run;
mod target;

pub use lines::{outlook_lines, summary_line};
pub use preview::{preview, MediaPreview};

use super::report::OutputFile;
use super::task::{Task, TaskContext};
use gristmill_core::{Outcome, PrepareMediaPlan, Problem, ProblemKind, RunOptions, Severity};
use gristmill_storage::fs::Fs;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// Result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct MediaReport {
    /// The data set or folder, as given by the user.
    #[serde(skip)]
    pub path: String,
    /// Entries that the filter selected and that were examined.
    pub entries: u64,
    /// Images that were described.
    pub images: u64,
    /// Audio and video files that were described.
    pub av: u64,
    /// Number of rows written, both new and replaced.
    pub rows_written: u64,
    /// Total number of rows, including those of earlier runs.
    pub rows_in_all: u64,
    /// Number of rows of missing entries that were kept.
    pub stale: u64,
    /// Number of rows of missing entries that were removed.
    pub pruned: u64,
    /// Files as written.
    pub files: Vec<OutputFile>,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// Counts of all problems and notes.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "super::as_seconds")]
    pub elapsed: Duration,
}

/// Description of a plan of `prepare-media` in plan files.
pub const PLAN_OF: &str = "describing media";

pub(crate) fn run_media(context: &TaskContext, plan: &PrepareMediaPlan) -> Outcome<MediaReport> {
    run::run(context, plan)
}

/// Starts a plan in the background. Errors in its path are also reported at the end of the task. SQLite writes the rows directly to a
/// private copy; all other files, including the finished database, are written through `fs`.
pub fn start_on(plan: PrepareMediaPlan, options: RunOptions, fs: Arc<dyn Fs>) -> Outcome<Task<MediaReport>> {
    Task::start("prepare-media", options, fs, move |context| run::run(context, &plan))
}

#[cfg(test)]
mod tests;
