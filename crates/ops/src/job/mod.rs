//! Running a plan in the background: the only room that owns threads besides the terminal's input.

pub mod browse;
pub mod check;
pub mod count;
pub mod dedup;
mod exclusive_output;
pub mod export;
pub mod figures;
mod in_order;
pub mod index;
pub mod journal;
pub mod jsonl;
mod layouts;
pub mod leaks;
pub mod media;
pub mod metadataset;
pub mod mix;
pub mod modalities;
pub mod nanosets;
pub mod outputs;
mod overall;
pub mod pack;
pub mod poll;
pub mod pool;
pub mod prepare;
mod publish;
mod rate;
mod record;
pub mod recover;
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

/// Where a job stands. Moves only forward; a cancelled job never reports success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    /// Queued, not begun.
    Pending,
    /// At work.
    Running,
    /// Finished and published.
    Done,
    /// Ended by an error; nothing was published.
    Failed,
    /// Stopped by the person; nothing was published.
    Cancelled,
}

/// What a job is doing: the steps of `prepare`, in order. Other jobs have some of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Looking for shards and an earlier preparation.
    Open,
    /// Reading tar headers.
    Scan,
    /// Reading headers of media.
    Media,
    /// Sorting keys, building the database.
    Tables,
    /// Looking for what repeats.
    Find,
    /// Writing what was read, changed.
    Write,
    /// Making everything visible.
    Publish,
}

impl Phase {
    /// What an item of its progress is, in the singular, unless a job says otherwise.
    pub fn item(self) -> &'static str {
        match self {
            Self::Open | Self::Scan => "shard",
            Self::Media | Self::Publish | Self::Write => "file",
            Self::Tables => "sample",
            Self::Find => "part",
        }
    }

    /// What it and everything after it may take, where nothing more is known.
    fn forecast(self) -> overall::Forecast {
        match self {
            Self::Open => overall::Forecast::default(),
            Self::Publish => overall::Forecast::publishing(2),
            _ => overall::Forecast::new(1.0, 0.1),
        }
    }
}

/// One reading of a running job, cheap to take ten times a second.
#[derive(Clone, Debug, Serialize)]
pub struct JobStatus {
    /// Where it stands.
    pub state: JobState,
    /// What it is doing.
    pub phase: Phase,
    /// Items and bytes of the current phase.
    pub progress: ProgressReading,
    /// What an item is, in the singular: `shard`.
    pub item: &'static str,
    /// Since its start.
    pub elapsed: Duration,
    /// How much of the whole job is done, publishing included; `None` while nothing of it is known. Never goes back, and is 1 only
    /// for a job that is done.
    pub share: Option<f64>,
    /// Left of the whole job; `None` in the first seconds or while the total is unknown.
    pub remaining: Option<Duration>,
    /// Bytes per second, from a moving rate.
    pub bytes_per_second: f64,
    /// Tokens per second, from a moving rate; 0 where work is not counted in them.
    pub tokens_per_second: f64,
    /// Problems and notes kept so far.
    pub problems: Vec<Problem>,
    /// All problems and notes, counted.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// The problems beyond those that are listed.
    #[serde(skip)]
    pub unlisted: UnlistedProblems,
    /// One line per state change, newest last, bounded.
    pub log: Vec<String>,
    /// The files that it writes, where it lists them.
    pub outputs: outputs::OutputsStatus,
}

impl JobStatus {
    /// The reading of a job of which nothing more than its end is known.
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

/// A time in seconds, to the millisecond, as reports have it.
fn as_seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((time.as_secs_f64() * 1000.0).round() / 1000.0)
}
