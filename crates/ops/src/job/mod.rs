//! Runs plans in the background: one thread for each job, and threads that process its units. Engines get their units from here, and start
//! no threads of their own.

pub mod check;
pub mod copy;
pub mod count;
pub(crate) mod damage;
pub mod dedup;
pub(crate) mod exclusive_output;
pub mod export;
pub(crate) mod fetch;
pub(crate) mod file_set;
pub mod files_report;
pub(crate) mod finished;
pub(crate) mod job_progress;
pub mod journal;
pub mod jsonl;
pub(crate) mod layouts;
pub mod leaks;
pub mod media;
pub mod metadataset;
pub mod mix;
pub mod operation;
pub(crate) mod ordered_results;
pub mod outputs;
pub mod poll;
pub mod pool;
pub mod prepare;
pub(crate) mod publish;
mod rate;
pub(crate) mod record;
pub mod recover;
pub mod repair;
pub mod report;
pub mod scan;
pub mod splits;
mod status;
pub mod task;
pub mod times;
pub mod unfinished;

use gristmill_core::handles::ProgressReading;
use gristmill_core::{Problem, ProblemKind, Severity, UnlistedProblems};
use serde::Serialize;
use std::time::Duration;

/// State of a job. It only moves forward; a cancelled job is never reported as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// Queued, not started.
    Pending,
    /// In progress.
    Running,
    /// Finished and published.
    Done,
    /// Ended by an error; nothing was published.
    Failed,
    /// Stopped by the user; nothing was published.
    Cancelled,
}

/// Phases of a job: the steps of `prepare`, in order. Other jobs use some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Searching for shards and an earlier preparation.
    Open,
    /// Downloading data.
    Download,
    /// Reading tar headers.
    Scan,
    /// Reading media headers.
    Media,
    /// Sorting of keys and building the database.
    Tables,
    /// Looking for duplicates.
    Find,
    /// Writing changed data.
    Write,
    /// Publishing all files.
    Publish,
}

impl Phase {
    /// Returns the default noun for an item of progress in this phase, in the singular.
    pub fn item(self) -> &'static str {
        match self {
            Self::Open | Self::Scan => "shard",
            Self::Download | Self::Media | Self::Write => "file",
            Self::Publish => "output file",
            Self::Tables => "sample",
            Self::Find => "part",
        }
    }

    /// Returns the default estimate for this phase and all later ones.
    fn forecast(self) -> job_progress::Forecast {
        match self {
            Self::Open => job_progress::Forecast::default(),
            Self::Publish => job_progress::Forecast::publishing(2),
            _ => job_progress::Forecast::new(1.0, 0.1),
        }
    }
}

/// Snapshot of a running job, cheap enough for ten readings per second.
#[derive(Clone, Debug, Serialize)]
pub struct JobStatus {
    /// State of the job.
    pub state: JobState,
    /// Current phase.
    pub phase: Phase,
    /// Items and bytes of the current phase.
    pub progress: ProgressReading,
    /// Noun for an item, in the singular: `shard`.
    pub item: &'static str,
    /// Time since the start.
    pub elapsed: Duration,
    /// Completed share of the whole job, including publishing; `None` while unknown. Never decreases, and is 1 only for a job that is done.
    pub share: Option<f64>,
    /// Estimated remaining time of the whole job; `None` in the first seconds, or if the total is unknown.
    pub remaining: Option<Duration>,
    /// Bytes per second, as a moving rate.
    pub bytes_per_second: f64,
    /// Tokens per second, as a moving rate; 0 if the work is not counted in tokens.
    pub tokens_per_second: f64,
    /// Recorded problems and notes so far.
    pub problems: Vec<Problem>,
    /// Counts of all problems and notes.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Counts of the problems that are not in `problems`.
    #[serde(skip)]
    pub unlisted: UnlistedProblems,
    /// One line per state change, newest last; bounded.
    pub log: Vec<String>,
    /// Files that the job writes, if it lists them.
    pub outputs: outputs::OutputsStatus,
}

impl JobStatus {
    /// Returns the status of a job of which only the final state is known.
    pub fn ended(state: JobState) -> Self {
        Self {
            state,
            phase: Phase::Open,
            progress: ProgressReading::default(),
            item: Phase::Open.item(),
            elapsed: Duration::ZERO,
            share: (state == JobState::Done).then_some(1.0),
            remaining: None,
            bytes_per_second: 0.0,
            tokens_per_second: 0.0,
            problems: Vec::new(),
            counts: Vec::new(),
            unlisted: UnlistedProblems::default(),
            log: Vec::new(),
            outputs: outputs::OutputsStatus::default(),
        }
    }
}

/// Whether a count is omitted from reports.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Serializes a time in seconds, rounded to milliseconds, as in reports.
pub(crate) fn as_seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((time.as_secs_f64() * 1000.0).round() / 1000.0)
}
