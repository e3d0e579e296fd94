//! Looking at a prepared data set without changing it: [`info`] (what it is), [`lint`] (is it sound), [`verify`] (is its index
//! what a fresh scan would make).
//!
//! Everything streams: a table of 10⁹ rows is walked with cursors and never loaded. Work comes in units of one shard, so that
//! whoever owns threads can spread it.

mod compare;
pub mod forager;
pub mod forager_data;
mod headers;
pub mod info;
pub mod lint;
pub mod media;
pub mod outputs;
mod pieces;
mod prepared;
mod sample_checks;
pub mod single;
mod tar_idx_reader;
pub mod verify;

pub use info::{info, media_folder_info, InfoOptions, InfoReport, MediaFolderInfo, SplitInfo};
pub use lint::shard::has_same_headers;
pub use lint::{lint, LintOptions};
pub use prepared::Prepared;
pub use verify::verify;

use gristmill_core::{Outcome, Problem, ProblemKind, ProblemSink, Severity};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a check went through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Shards looked at.
    pub shards: u64,
    /// Samples whose place was compared.
    pub samples: u64,
    /// Parts whose place was compared.
    pub parts: u64,
    /// Bytes of all shards looked at.
    pub bytes: u64,
}

impl Checked {
    /// Adds what another unit went through.
    pub fn add(&mut self, other: Self) {
        self.shards += other.shards;
        self.samples += other.samples;
        self.parts += other.parts;
        self.bytes += other.bytes;
    }
}

/// Remembers whether a report was answered with the wish to end (`--strict`), to tell that from a check that failed.
struct Remembering<'a> {
    inner: &'a dyn ProblemSink,
    ended: AtomicBool,
}

impl<'a> Remembering<'a> {
    fn new(inner: &'a dyn ProblemSink) -> Self {
        Self { inner, ended: AtomicBool::new(false) }
    }
    fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

impl ProblemSink for Remembering<'_> {
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
