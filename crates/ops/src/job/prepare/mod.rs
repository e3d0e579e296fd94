//! `prepare` as a job: acquires the lock, scans the shards that are not known yet, builds the tables, and publishes.

mod collect;
mod duplicates;
mod excludes;
mod forecast;
mod media;
mod preview;
mod publish;
mod rerun;
mod rewrite;
mod run;
mod summary;
#[cfg(test)]
mod tests;

pub use preview::{no_access, preview, Preview};

use super::job_progress::Forecast;
use super::journal::Journal;
use super::report::{OutputFile, Report};
use super::scan::{LiveScan, ScanShared};
use super::status::StatusBoard;
use super::task::TaskContext;
use super::{JobState, JobStatus, Phase};
use crate::engine::dataset;
use crate::engine::index::SpooledShard;
use crate::engine::plan::file as plan_file;
use crate::engine::plan::inherit::inherited;
use crate::engine::splits::SplitSummary;
use gristmill_core::{
    text, DatasetFacts, Failure, Outcome, PreparePlan, Problem, ProblemKind, Rerun, RunOptions, Severity, Shard,
};
use gristmill_storage::fs::{Fs, RealFs, PRIVATE_FOLDER};
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::scratch::Scratch;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Figures of the media metadata of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MediaSummary {
    /// Entries that the filter selected and that were examined; in an update, only those of new and changed shards.
    pub entries: u64,
    /// Images that were described.
    pub images: u64,
    /// Audio and video files that were described.
    pub av: u64,
    /// Number of rows written.
    pub rows_written: u64,
    /// Total number of rows, including those of earlier runs.
    pub rows_in_all: u64,
    /// Number of rows of entries that are no longer in any shard.
    pub stale: u64,
}

/// Result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct PrepareReport {
    /// Number of indexed shards.
    pub shards: u64,
    /// Number of indexed samples.
    pub samples: u64,
    /// Part rows written; `None` if the tables of samples and parts are not rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<u64>,
    /// Bytes of all shards.
    pub bytes: u64,
    /// Splits as written.
    pub splits: Vec<SplitSummary>,
    /// Items in `exclude:` as written.
    pub excludes: u64,
    /// Result for media; `None` if the plan does not request it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
    /// Files as written.
    pub files: Vec<OutputFile>,
    /// Whether the result existed already and nothing was written.
    pub nothing_to_do: bool,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// Counts of all problems and notes.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "super::as_seconds")]
    pub elapsed: Duration,
}

impl Report for PrepareReport {
    crate::job_report!();
}

impl PrepareReport {
    /// Returns shards, samples, parts and bytes in words, without unknown values.
    pub fn amounts(&self) -> Vec<String> {
        let mut words = vec![text::count(self.shards, "shard"), text::count(self.samples, "sample")];
        words.extend(self.parts.map(|parts| text::count(parts, "part")));
        words.push(text::bytes(self.bytes));
        words
    }
}

/// Interval at which the state of a job is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Prepares the folder of shards of a plan as the work of a task, which shows its progress. `lock` is the lock of the folder, if the caller
/// holds it and has listed the folder since.
pub fn run_prepare(
    context: &TaskContext,
    plan: &PreparePlan,
    lock: Option<Arc<DatasetLock>>,
) -> Outcome<PrepareReport> {
    let job = PrepareJob::start_with(plan.clone(), context.options.clone(), (None, lock), Arc::clone(&context.fs))?;
    while !job.ends_within(POLL_INTERVAL) {
        if context.cancel.is_cancelled() {
            job.cancel();
        }
        context.show(&job.status());
    }
    job.wait()
}

/// Passes the spools of shards that were just written to a run of `plan`, which then need not scan them. They are stored as a journal, so
/// that a killed run can be resumed with them.
pub(crate) fn hand_over(fs: &dyn Fs, plan: &PreparePlan, shards: Vec<(Shard, SpooledShard)>) -> Outcome<()> {
    let own = RunFolder::for_webdataset(Path::new(&plan.path));
    own.create(fs)?;
    let folder = collect::spool_folder(&own);
    fs.create_dir(&folder, PRIVATE_FOLDER)?;
    let plan = match plan.rerun {
        Rerun::Update => {
            let facts = dataset::open(Path::new(&plan.path))?.facts;
            inherited(&rerun::repair_plan(plan, &facts), facts.prepared.as_ref())
        }
        _ => plan.clone(),
    };
    let journal = Journal::open(fs, &own.journal(), &plan_file::hash(&plan))?;
    shards.into_iter().try_for_each(|(shard, spool)| collect::record(&journal, &shard, &spool.move_to(fs, &folder)?))
}

/// A running `prepare`. Dropping it cancels the job and waits until it no longer writes.
pub struct PrepareJob {
    shared: Arc<ScanShared>,
    board: Arc<StatusBoard>,
    worker: Option<JoinHandle<Outcome<PrepareReport>>>,
}

/// The state that the thread of the job uses.
struct Context {
    plan: PreparePlan,
    /// The plan as given.
    requested_plan: PreparePlan,
    /// The plan that is recorded for the next run.
    recorded_plan: PreparePlan,
    shared: Arc<ScanShared>,
    board: Arc<StatusBoard>,
    /// Scratch for the database and sort runs.
    scratch: Arc<Scratch>,
    /// The thread of the adopted scan, if there is one.
    scan_thread: Option<JoinHandle<()>>,
    /// The lock of the data set, if the caller holds it.
    lock: Option<Arc<DatasetLock>>,
}

impl Context {
    /// Enters a phase whose items are called `item`, in the singular, and adds a line to the log.
    fn stage(&self, phase: Phase, item: &'static str, forecast: Forecast, line: impl Into<String>) {
        self.board.begin_phase(Some(&self.shared.progress), phase, item, forecast);
        self.board.log(line);
    }
}

impl PrepareJob {
    /// Starts a plan in the background. Adopts an active scan of the same data set, with its results.
    pub fn start(plan: PreparePlan, options: RunOptions, scan: Option<LiveScan>) -> Outcome<Self> {
        Self::start_on(plan, options, scan, Arc::new(RealFs))
    }

    /// Like [`start`](Self::start), but writes through `fs`, which lets tests inject failures.
    pub fn start_on(plan: PreparePlan, options: RunOptions, scan: Option<LiveScan>, fs: Arc<dyn Fs>) -> Outcome<Self> {
        Self::start_with(plan, options, (scan, None), fs)
    }

    fn start_with(
        plan: PreparePlan,
        options: RunOptions,
        (scan, lock): (Option<LiveScan>, Option<Arc<DatasetLock>>),
        fs: Arc<dyn Fs>,
    ) -> Outcome<Self> {
        let (shared, live, scratch) = match scan {
            Some(mut scan) => (Arc::clone(&scan.shared), scan.worker.take(), scan.scratch.take()),
            None => (ScanShared::new(Path::new(&plan.path), &options, fs)?, None, None),
        };
        let scratch = match scratch {
            Some(scratch) => scratch,
            None => Arc::new(Scratch::create(options.scratch.as_deref())?),
        };
        let board = Arc::new(StatusBoard::new());
        let context = Context {
            requested_plan: plan.clone(),
            recorded_plan: plan.clone(),
            plan,
            shared: Arc::clone(&shared),
            board: Arc::clone(&board),
            scratch,
            scan_thread: live,
            lock,
        };
        let worker = std::thread::Builder::new()
            .name("prepare".into())
            .spawn(move || {
                let board = Arc::clone(&context.board);
                let _waits = context.shared.cancel.begin_wait_scope();
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

    /// Returns a snapshot of the status.
    pub fn status(&self) -> JobStatus {
        self.board.read(&self.shared.progress, &self.shared.problems)
    }

    /// Returns the facts of the data set found so far.
    pub fn facts(&self) -> Arc<DatasetFacts> {
        self.shared.facts()
    }

    /// Requests that the job stop at the next safe point.
    pub fn cancel(&self) {
        self.shared.cancel.cancel();
    }

    /// Whether the job has ended, successfully or not.
    pub fn is_finished(&self) -> bool {
        self.worker.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for the end of the job, at most for this time. Returns whether the job has ended.
    pub fn ends_within(&self, most: Duration) -> bool {
        self.board.ends_within(most) || self.is_finished()
    }

    /// Waits for the end of the job and returns the result.
    pub fn wait(mut self) -> Outcome<PrepareReport> {
        match self.worker.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(Failure::environment("the run", "a worker thread panicked")
                .with_hint("nothing was published; please report it with the output of `gristmill bug-report`")),
            None => Err(Failure::cancelled()),
        }
    }

    /// Returns the recorded problems and notes so far and the counts of all, including those found before a failure.
    pub fn findings(&self) -> (Vec<Problem>, Vec<(Severity, ProblemKind, u64)>) {
        (self.shared.problems.to_vec(), self.shared.problems.counts())
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
