//! `prepare` as a job: lock, scan what is missing, build the tables, publish.

use super::scan::LiveScan;
use super::JobStatus;
use crate::model::{DatasetFacts, Failure, Outcome, PreparePlan, Problem, ProblemKind, RunOptions, Severity};
use serde::Serialize;
use std::time::Duration;

/// One file that a run writes or wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OutputFile {
    /// Relative to the data set's root.
    pub name: String,
    /// Size; an estimate before the run.
    pub bytes: u64,
    /// An earlier version is replaced.
    pub replaces: bool,
}

/// One split as it will be or was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SplitSummary {
    /// Split name.
    pub name: String,
    /// Shards in it.
    pub shards: u64,
    /// Samples in it, of the shards scanned so far; excluded samples still counted.
    pub samples: u64,
}

/// What a run would do: shown by Review and by `--dry-run`.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// Files that would be written, in publish order. Many `.tar.idx` are one line each.
    pub files: Vec<OutputFile>,
    /// Splits as they would be.
    pub splits: Vec<SplitSummary>,
    /// What stands in the way (refusals), and what would be reported.
    pub problems: Vec<Problem>,
    /// What changes against an earlier preparation, one line each.
    pub differences: Vec<String>,
}

/// What a run did.
#[derive(Clone, Debug, Serialize)]
pub struct PrepareReport {
    /// Shards indexed.
    pub shards: u64,
    /// Samples indexed.
    pub samples: u64,
    /// Part rows written.
    pub parts: u64,
    /// Bytes of all shards.
    pub bytes: u64,
    /// Splits as written.
    pub splits: Vec<SplitSummary>,
    /// Files as written.
    pub files: Vec<OutputFile>,
    /// Everything was there already; nothing was written.
    pub nothing_to_do: bool,
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// All problems and notes, counted.
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    pub elapsed: Duration,
}

/// What `plan` would do to the data set as far as it is known.
pub fn preview(plan: &PreparePlan, facts: &DatasetFacts) -> Preview {
    let _ = (plan, facts);
    Preview { files: Vec::new(), splits: Vec::new(), problems: Vec::new(), differences: Vec::new() }
}

/// A running `prepare`.
pub struct PrepareJob {}

impl PrepareJob {
    /// Starts a plan in the background. A scan that already runs on the same data set is taken over with what it found.
    pub fn start(plan: PreparePlan, options: RunOptions, scan: Option<LiveScan>) -> Outcome<Self> {
        let _ = (plan, options, scan);
        Err(Failure::usage("prepare", "soon"))
    }
    /// One reading.
    pub fn status(&self) -> JobStatus {
        unreachable!()
    }
    /// The data set's facts, which go on growing while the job scans.
    pub fn facts(&self) -> std::sync::Arc<DatasetFacts> {
        unreachable!()
    }
    /// Asks it to stop at the next safe point.
    pub fn cancel(&self) {}
    /// Whether it ended, in whatever way.
    pub fn is_finished(&self) -> bool {
        false
    }
    /// Waits for the end.
    pub fn wait(self) -> Outcome<PrepareReport> {
        Err(Failure::usage("prepare", "soon"))
    }
}
