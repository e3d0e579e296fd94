//! Read-only checks of a prepared data set: [`info`] (its description), [`lint`] (whether it is consistent), [`verify`] (whether its index
//! equals that of a fresh scan).
//!
//! All data is streamed: a table of 10⁹ rows is read with cursors and never loaded. Work is divided into units of one shard, so that the
//! caller can distribute it over threads.

mod compare;
mod dataset_info;
mod headers;
pub mod info;
pub mod lint;
pub mod media;
pub mod mixture_index;
mod prepared;
mod sample_checks;
mod shard_unit;
pub mod single;
pub mod tables;
mod tar_idx_reader;
pub mod tokens;
mod unindexed_pieces;
pub mod verify;

pub(crate) use dataset_info::MAX_LISTED;
pub use dataset_info::{CheckReport, CheckTexts, DatasetInfo, InfoList};
pub use info::{info, media_folder_info, no_media_tables, InfoOptions, InfoReport, MediaFolderInfo, SplitInfo};
pub use lint::shard::has_same_headers;
pub use lint::{lint, LintOptions};
pub use prepared::PreparedDataset;
pub use verify::verify;

use gristmill_core::{Failure, Outcome, Problem, ProblemKind, ProblemSink, Severity};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Counts of the items that a check covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckCounts {
    /// The number of shards checked.
    pub shards: u64,
    /// The number of samples whose location was compared.
    pub samples: u64,
    /// The number of parts whose location was compared.
    pub parts: u64,
    /// Bytes of all shards checked.
    pub bytes: u64,
}

impl CheckCounts {
    /// Adds the counts of another unit.
    pub fn add(&mut self, other: Self) {
        self.shards += other.shards;
        self.samples += other.samples;
        self.parts += other.parts;
        self.bytes += other.bytes;
    }
}

/// Records whether a problem sink requested the end of the check (`--strict`), to distinguish this from a failed check.
struct EndRecorder<'a> {
    inner: &'a dyn ProblemSink,
    ended: AtomicBool,
}

impl<'a> EndRecorder<'a> {
    fn new(inner: &'a dyn ProblemSink) -> Self {
        Self { inner, ended: AtomicBool::new(false) }
    }
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

impl ProblemSink for EndRecorder<'_> {
    fn report(&self, problem: Problem) -> Outcome<()> {
        let answer = self.inner.report(problem);
        if answer.is_err() {
            self.ended.store(true, Ordering::Relaxed);
        }
        answer
    }
    fn count_more(&self, severity: Severity, kind: ProblemKind, number: u64) {
        self.inner.count_more(severity, kind, number);
    }
}

/// Returns the finding for a small file that cannot be read or parsed.
fn bad_file(failure: Failure) -> Problem {
    let kind = if failure.class == gristmill_core::ExitClass::Environment {
        ProblemKind::Unreadable
    } else {
        ProblemKind::BadFile
    };
    Problem::of_failure(kind, failure)
}
