//! `prepare-media` as a job: look at the entries of a prepared WebDataset, or at the files of a folder, and put their rows into
//! the media tables of its database. Nothing is visible before the very end; a run that was stopped begins anew.

mod apply;
mod preview;
mod run;
mod target;

pub use preview::{preview, MediaPreview};

use super::prepare::OutputFile;
use super::task::Task;
use gristmill_core::{Outcome, PrepareMediaPlan, Problem, ProblemKind, RunOptions, Severity};
use gristmill_storage::fs::{Fs, RealFs};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// What a run did.
#[derive(Clone, Debug, Serialize)]
pub struct MediaReport {
    /// Entries that the filter picked and that were looked at.
    pub entries: u64,
    /// Pictures that were described.
    pub images: u64,
    /// Sounds and videos that were described.
    pub av: u64,
    /// Rows written, new and replaced ones.
    pub rows_written: u64,
    /// Rows there are now, those of earlier runs included.
    pub rows_in_all: u64,
    /// Rows of entries that are gone, left where they are.
    pub stale: u64,
    /// Rows of entries that are gone, removed.
    pub pruned: u64,
    /// Files as written.
    pub files: Vec<OutputFile>,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// All problems and notes, counted.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "super::as_seconds")]
    pub elapsed: Duration,
}

/// Starts a plan in the background. What is wrong with its path is told at the end of the task, like everything else.
pub fn start(plan: PrepareMediaPlan, options: RunOptions) -> Outcome<Task<MediaReport>> {
    start_on(plan, options, Arc::new(RealFs))
}

/// As [`start`], writing through `fs`: tests let it fail. SQLite writes the rows into a private copy by itself, not through `fs`;
/// whatever goes before and comes after, the finished file included, goes through it.
pub fn start_on(plan: PrepareMediaPlan, options: RunOptions, fs: Arc<dyn Fs>) -> Outcome<Task<MediaReport>> {
    Task::start("prepare-media", options, fs, move |context| run::run(context, &plan))
}

#[cfg(test)]
mod tests;
