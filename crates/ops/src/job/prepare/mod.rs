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

use super::journal::Journal;
use super::report::{OutputFile, Report};
use super::scan::{LiveScan, ScanShared};
use super::task::{Task, TaskContext};
use crate::engine::dataset;
use crate::engine::index::SpooledShard;
use crate::engine::plan::file as plan_file;
use crate::engine::plan::inherit::inherited;
use crate::engine::splits::SplitSummary;
use gristmill_core::{
    text, DatasetFacts, Outcome, PreparePlan, Problem, ProblemKind, Rerun, RunOptions, Severity, Shard,
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

/// Prepares the folder of shards of a plan as the work of a task, which shows its progress. `lock` is the lock of the folder, if the caller
/// holds it and has listed the folder since.
pub fn run_prepare(
    context: &TaskContext,
    plan: &PreparePlan,
    lock: Option<Arc<DatasetLock>>,
) -> Outcome<PrepareReport> {
    let job = PrepareJob::start_with(plan.clone(), context.options.clone(), (None, lock), Arc::clone(&context.fs))?;
    job.task.poll(&context.cancel, |status| context.show(status));
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

/// A running `prepare`.
pub struct PrepareJob {
    /// The task that runs the plan.
    pub task: Task<PrepareReport>,
    /// The facts of the data set.
    pub facts: LiveFacts,
}

/// The facts that a job finds while it runs.
pub struct LiveFacts(Arc<ScanShared>);

impl LiveFacts {
    /// Returns the facts found so far.
    pub fn read(&self) -> Arc<DatasetFacts> {
        self.0.facts()
    }
}

/// The state that the thread of the job uses.
struct Context {
    plan: PreparePlan,
    /// The plan as given.
    requested_plan: PreparePlan,
    /// The plan that is recorded for the next run.
    recorded_plan: PreparePlan,
    shared: Arc<ScanShared>,
    task: Arc<TaskContext>,
    /// Scratch for the database and sort runs.
    scratch: Arc<Scratch>,
    /// The thread of the adopted scan, if there is one.
    scan_thread: Option<JoinHandle<()>>,
    /// The lock of the data set, if the caller holds it.
    lock: Option<Arc<DatasetLock>>,
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
        let task = Arc::new(TaskContext {
            progress: Arc::clone(&shared.progress),
            cancel: shared.cancel.clone(),
            problems: Arc::clone(&shared.problems),
            ..TaskContext::new(options, Arc::clone(&shared.fs))
        });
        let context = Context {
            requested_plan: plan.clone(),
            recorded_plan: plan.clone(),
            plan,
            shared: Arc::clone(&shared),
            task: Arc::clone(&task),
            scratch,
            scan_thread: live,
            lock,
        };
        let task = Task::start_in(task, "prepare", move |_| run::run(context))?;
        Ok(Self { task, facts: LiveFacts(shared) })
    }

    /// Waits for the end of the job and returns the result.
    pub fn wait(self) -> Outcome<PrepareReport> {
        self.task.wait()
    }
}
