//! `prepare` as a job: lock, scan what is missing, build the tables, publish.

mod collect;
mod duplicates;
mod excludes;
mod forecast;
mod media;
mod preview;
mod publish;
mod rerun;
mod run;
mod summary;
#[cfg(test)]
mod tests;

pub use preview::{no_access, preview, Preview};

use super::overall::Forecast;
use super::scan::{LiveScan, Shared};
use super::status::StatusBoard;
use super::{JobState, JobStatus, Phase};
use gristmill_core::{text, DatasetFacts, Failure, Outcome, PreparePlan, Problem, ProblemKind, RunOptions, Severity};
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::scratch::Scratch;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// One file that a run writes or wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// Relative to the data set's root.
    pub name: String,
    /// Size in bytes; an estimate before the run.
    pub bytes: u64,
    /// An earlier version is replaced.
    pub replaces: bool,
}

/// One split as it will be or was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitSummary {
    /// Split name.
    pub name: String,
    /// Shards in it, excluded ones not counted.
    pub shards: u64,
    /// Samples in these, of the shards scanned so far; single excluded samples still counted.
    pub samples: u64,
}

/// What was described of the media in a data set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MediaSummary {
    /// Entries that the filter picked and that were looked at; with an update, those of new and changed shards.
    pub entries: u64,
    /// Pictures that were described.
    pub images: u64,
    /// Sounds and videos that were described.
    pub av: u64,
    /// Rows written.
    pub rows_written: u64,
    /// Rows there are now, those of earlier runs included.
    pub rows_in_all: u64,
    /// Rows of entries that are in no shard any more.
    pub stale: u64,
}

/// What a run did.
#[derive(Clone, Debug, Serialize)]
pub struct PrepareReport {
    /// Shards indexed.
    pub shards: u64,
    /// Samples indexed.
    pub samples: u64,
    /// Part rows written; `None` where the tables of samples and parts are not written anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<u64>,
    /// Bytes of all shards.
    pub bytes: u64,
    /// Splits as written.
    pub splits: Vec<SplitSummary>,
    /// Items in `exclude:`, as written.
    pub excludes: u64,
    /// What was described of media, where the plan wants that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
    /// Files as written.
    pub files: Vec<OutputFile>,
    /// Everything was there already; nothing was written.
    pub nothing_to_do: bool,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// All problems and notes, counted.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "super::as_seconds")]
    pub elapsed: Duration,
}

impl PrepareReport {
    /// Shards, samples, parts and bytes in words; what is not known is left out.
    pub fn amounts(&self) -> Vec<String> {
        let mut words = vec![text::count(self.shards, "shard"), text::count(self.samples, "sample")];
        words.extend(self.parts.map(|parts| text::count(parts, "part")));
        words.push(text::bytes(self.bytes));
        words
    }
}

/// A running `prepare`. Dropping it cancels it and waits until nothing more is written.
pub struct PrepareJob {
    shared: Arc<Shared>,
    board: Arc<StatusBoard>,
    worker: Option<JoinHandle<Outcome<PrepareReport>>>,
}

/// Everything the job's thread works with.
struct Context {
    plan: PreparePlan,
    /// As it was given.
    asked_plan: PreparePlan,
    /// What is written down for the next run.
    recorded_plan: PreparePlan,
    shared: Arc<Shared>,
    board: Arc<StatusBoard>,
    /// Where database and sort runs are made.
    scratch: Arc<Scratch>,
    /// The scan that was taken over, if any.
    live: Option<JoinHandle<()>>,
}

impl Context {
    /// Enters a phase whose items are called `item`, in the singular, and says so in the log.
    fn stage(&self, phase: Phase, item: &'static str, forecast: Forecast, line: impl Into<String>) {
        self.board.enter(Some(&self.shared.progress), phase, item, forecast);
        self.board.log(line);
    }
}

impl PrepareJob {
    /// Starts a plan in the background. A scan that already runs on the same data set is taken over with what it found.
    pub fn start(plan: PreparePlan, options: RunOptions, scan: Option<LiveScan>) -> Outcome<Self> {
        Self::start_on(plan, options, scan, Arc::new(RealFs))
    }

    /// As [`start`](Self::start), writing through `fs`: tests let it fail.
    pub fn start_on(plan: PreparePlan, options: RunOptions, scan: Option<LiveScan>, fs: Arc<dyn Fs>) -> Outcome<Self> {
        let (shared, live, scratch) = match scan {
            Some(mut scan) => (Arc::clone(&scan.shared), scan.worker.take(), scan.scratch.take()),
            None => (Shared::new(Path::new(&plan.path), &options, fs)?, None, None),
        };
        let scratch = match scratch {
            Some(scratch) => scratch,
            None => Arc::new(Scratch::create(options.scratch.as_deref())?),
        };
        let board = Arc::new(StatusBoard::new());
        let context = Context {
            asked_plan: plan.clone(),
            recorded_plan: plan.clone(),
            plan,
            shared: Arc::clone(&shared),
            board: Arc::clone(&board),
            scratch,
            live,
        };
        let worker = std::thread::Builder::new()
            .name("prepare".into())
            .spawn(move || {
                let board = Arc::clone(&context.board);
                let result = run::run(context);
                board.end(match &result {
                    Ok(_) => JobState::Done,
                    Err(failure) if failure.is_cancelled() => JobState::Cancelled,
                    Err(failure) => {
                        board.log(failure.to_string());
                        JobState::Failed
                    }
                });
                result
            })
            .map_err(|error| Failure::environment("starting a thread", error.to_string()))?;
        Ok(Self { shared, board, worker: Some(worker) })
    }

    /// One reading.
    pub fn status(&self) -> JobStatus {
        self.board.read(&self.shared.progress, &self.shared.problems)
    }

    /// The data set's facts, which go on growing while the job scans.
    pub fn facts(&self) -> Arc<DatasetFacts> {
        self.shared.facts()
    }

    /// Asks it to stop at the next safe point.
    pub fn cancel(&self) {
        self.shared.cancel.cancel();
    }

    /// Whether it ended, in whatever way.
    pub fn is_finished(&self) -> bool {
        self.worker.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end, in whatever way, so long at most; whether it was reached.
    pub fn ends_within(&self, most: Duration) -> bool {
        self.board.ends_within(most) || self.is_finished()
    }

    /// Waits for the end.
    pub fn wait(mut self) -> Outcome<PrepareReport> {
        match self.worker.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(Failure::environment("the run", "a worker thread panicked")
                .with_hint("nothing was published; please report it with the output of `gristmill bug-report`")),
            None => Err(Failure::cancelled()),
        }
    }

    /// Problems and notes of the run so far, kept and counted: what a failed run found before it failed.
    pub fn findings(&self) -> (Vec<Problem>, Vec<(Severity, ProblemKind, u64)>) {
        (self.shared.problems.kept(), self.shared.problems.counts())
    }
}

impl Drop for PrepareJob {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.take() {
            self.shared.cancel.cancel();
            if worker.join().is_err() {
                tracing::warn!("a prepare thread panicked");
            }
        }
    }
}
