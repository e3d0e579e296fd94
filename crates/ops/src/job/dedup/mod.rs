//! `dedup` as a job: a folder of JSONL in, the same files without what repeats out (docs/formats/bsade.md).
//!
//! Stages, each in units that are done in any order and by any thread: *read* (some files: their text, and records of anchors), *find* (some
//! of the keys: intervals that repeat), *merge* (the ranges of some files), *write* (one file), *export* (one shard). Text and records stay in
//! memory while it lasts and go to scratch after that; the journal names finished units, so that a run that was stopped goes on. Neither
//! threads nor memory nor the division into units change a byte. Nothing is visible before all of it is finished.

mod anchors;
mod budget;
mod check;
mod estimate;
mod export;
mod find;
mod forecast;
mod held;
mod inputs;
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
mod removed;
mod report;
mod run;
mod sample;
mod shown;
mod source;
mod spill_buffer;
mod split;
mod spool;
mod stages;
mod texts;
mod write;

pub use check::{is_index, verify_index};
pub use estimate::{estimate, estimates, needs, Needs, SampleBudget};
pub use leftover::scratch_elsewhere;
pub use report::{DedupEstimate, DedupReport, Figures, FileReport, LengthEstimate, RepeatedPassage};

use super::task::Task;
use gristmill_core::{DedupPlan, Outcome, RunOptions};
use gristmill_storage::fs::{Fs, RealFs};
use std::sync::Arc;

/// Starts a plan in the background. What is wrong with it is told at the end of the task, like everything else.
///
/// The same plan on the same output goes on where it was stopped, or does nothing where it was finished.
pub fn start(plan: DedupPlan, options: RunOptions) -> Outcome<Task<DedupReport>> {
    start_on(plan, options, Tuning::default(), Arc::new(RealFs))
}

/// Sizes that change no byte of the result; tests set them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tuning {
    /// Parts of the keys.
    pub parts: Option<u32>,
    /// Bytes of input in a unit.
    pub unit_bytes: Option<u64>,
    /// Bytes of memory that piles may take.
    pub piles: Option<u64>,
}

/// As [`start`], writing through `fs`: tests let it fail.
pub fn start_on(plan: DedupPlan, options: RunOptions, tuning: Tuning, fs: Arc<dyn Fs>) -> Outcome<Task<DedupReport>> {
    Task::start("dedup", options, fs, move |context| run::run(context, &plan, tuning))
}
