//! `pack` as a job: text in, the token files of one or several frameworks out, from one pass over the text.
//!
//! Files are read in pieces of whole lines; threads turn pieces into the bytes of every format, and these are put together in the order
//! of the text, so that neither threads nor memory nor the size of pieces change a byte. What is made grows in spools in the work folder
//! and a journal says how far they are; nothing is visible before all of it is finished.

mod assemble;
mod disk_space;
mod feed;
mod findings;
mod finish;
mod inputs;
mod journal;
mod layout;
mod logs;
mod outputs;
mod pipeline;
mod preview;
mod preview_outputs;
mod preview_places;
mod publish;
mod record;
mod report;
mod run;
mod spool;
mod stats;
mod tasks;
#[cfg(test)]
mod tests;

pub use preview::preview;
pub use record::settled;
pub use report::{InputFile, PackPreview, PackReport, PackSample, Skipped, TargetPreview, TargetReport};

use super::task::Task;
use gristmill_core::{Outcome, PackPlan, RunOptions};
use gristmill_storage::fs::{Fs, RealFs};
use std::sync::Arc;

/// Starts a plan in the background. What is wrong with it is told at the end of the task, like everything else.
///
/// The same plan on the same output goes on where it was stopped, or does nothing where it was finished.
pub fn start(plan: PackPlan, options: RunOptions) -> Outcome<Task<PackReport>> {
    start_on(plan, options, Tuning::default(), Arc::new(RealFs))
}

/// Sizes that change no byte of the result; tests set them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tuning {
    /// Text in a piece, in bytes.
    pub(crate) block_bytes: Option<usize>,
    /// Text between two records of the journal, in bytes.
    pub(crate) commit_bytes: Option<u64>,
    /// Free space that is taken for granted, in bytes.
    pub(crate) free_bytes: Option<u64>,
}

/// As [`start`], writing through `fs`: tests let it fail.
pub(crate) fn start_on(
    plan: PackPlan,
    options: RunOptions,
    tuning: Tuning,
    fs: Arc<dyn Fs>,
) -> Outcome<Task<PackReport>> {
    Task::start("pack", options, fs, move |context| run::run(context, &plan, tuning))
}
