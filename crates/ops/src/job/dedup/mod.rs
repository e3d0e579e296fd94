//! `dedup` as a job: reads a folder of JSONL or Parquet, or an index of bsade, and writes the same files without repeated text
//! (docs/formats/bsade.md).
//!
//! The stages consist of units that run in any order and on any thread: *read* (some files: their text and anchor records), *find* (some of
//! the keys: repeated intervals), *merge* (the ranges of some files), *write* (one file), *export* (one shard). Text and records are held
//! in memory up to its limit, and are written to scratch after that. The journal records the finished units, so that a stopped run can be
//! resumed. The number of threads, the memory and the division into units do not change the output. No output is visible before all of it
//! is finished.

mod anchors;
mod budget;
mod check;
mod estimate;
mod export;
mod find;
mod forecast;
mod inputs;
mod job;
mod layout;
mod leftover;
mod likely;
mod merge;
mod no_text;
mod notes;
mod ordered_output;
mod output;
mod publish;
mod read;
mod record;
mod recorded_passages;
mod removed;
mod report;
mod run;
mod sample;
mod search_buffer;
mod shown;
mod source;
mod spill_buffer;
mod split;
mod spool;
mod stages;
mod tables;
mod texts;
mod write;
mod written;

pub use check::verify_index;
pub(crate) use estimate::preview;
pub use estimate::{estimate, estimates, needs, Needs};
pub use leftover::external_scratch;
pub use report::{DedupEstimate, DedupReport, Figures, FileReport, LengthEstimate, RepeatedPassage};
pub use sample::SampleBudget;

use super::task::{Task, TaskContext};
use gristmill_core::{DedupPlan, Outcome, RunOptions};
use gristmill_storage::fs::Fs;
use std::sync::Arc;

/// Starts a plan in the background. Errors in the plan are reported at the end of the task, as all others.
///
/// The same plan with the same output resumes a stopped run, and does nothing after a finished one.
pub fn start_on(plan: DedupPlan, options: RunOptions, tuning: Tuning, fs: Arc<dyn Fs>) -> Outcome<Task<DedupReport>> {
    Task::start("dedup", options, fs, move |context| run::run(context, &plan, tuning))
}

/// Executes a plan on the calling thread.
pub(crate) fn run_dedup(context: &TaskContext, plan: &DedupPlan) -> Outcome<DedupReport> {
    run::run(context, plan, Tuning::default())
}

/// Sizes that tests may set; they do not change the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tuning {
    /// Number of parts of the keys.
    pub parts: Option<u32>,
    /// Bytes of input in a unit.
    pub unit_bytes: Option<u64>,
    /// Memory for spill buffers, in bytes.
    pub spill_bytes: Option<u64>,
}
