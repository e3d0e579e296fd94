//! `pack` as a job: converts text to the token files of one or several frameworks, in one pass over the text.
//!
//! Files are read in blocks of whole lines. Threads convert blocks to the bytes of every format. The results are assembled in the order of
//! the text, so the number of threads, the memory and the block size do not affect the output. The output grows in spools in the work
//! folder, whose lengths are recorded in a journal. No file is published before all are finished.

mod assemble;
mod disk_space;
mod feed;
mod findings;
mod inputs;
mod journal;
mod layout;
mod no_text;
mod outputs;
mod pipeline;
mod preview;
mod preview_outputs;
mod preview_places;
mod publish;
mod record;
mod report;
mod run;
#[cfg(test)]
mod tests;

pub use preview::preview;
pub(crate) use preview::run_preview;
pub(crate) use record::keep_input_names;
pub use record::with_absolute_paths;
pub use report::{InputFile, PackPreview, PackReport, PackSample, Skipped, TargetPreview, TargetReport};
pub(crate) use run::JQ_HINT;

use crate::job::task::{Task, TaskContext};
use gristmill_core::{Outcome, PackPlan, RunOptions};
use gristmill_storage::fs::{Fs, RealFs};
use std::sync::Arc;

/// Starts packing in the background. Errors in the plan are also reported when the task ends.
///
/// The same plan with the same output resumes a stopped run, and does nothing after a finished run.
pub fn start(plan: PackPlan, options: RunOptions) -> Outcome<Task<PackReport>> {
    start_on(plan, options, Tuning::default(), Arc::new(RealFs))
}

/// Runs a plan on the thread of a task.
pub(crate) fn run_pack(context: &TaskContext, plan: &PackPlan) -> Outcome<PackReport> {
    run::run(context, plan, Tuning::default())
}

/// Sizes that do not affect the result. Set by tests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tuning {
    /// Size of a block of text, in bytes.
    pub(crate) block_bytes: Option<usize>,
    /// Amount of text between two journal records, in bytes.
    pub(crate) commit_bytes: Option<u64>,
    /// Assumed free space, in bytes.
    pub(crate) free_bytes: Option<u64>,
}

/// Like [`start`], but writes through `fs`, which lets tests inject failures.
pub(crate) fn start_on(
    plan: PackPlan,
    options: RunOptions,
    tuning: Tuning,
    fs: Arc<dyn Fs>,
) -> Outcome<Task<PackReport>> {
    Task::start("pack", options, fs, move |context| run::run(context, &plan, tuning))
}
