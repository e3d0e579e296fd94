//! Counts of tasks, from which the statistics of datatrove are computed.

use serde::{Deserialize, Serialize};

/// Counts of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskCounts {
    /// Usable documents, including those that `skip` and `limit` exclude.
    pub(super) usable: u64,
    /// Number of characters of the packed documents.
    pub(super) chars: Spread,
    /// Number of started files.
    pub(super) files: u64,
    /// Number of documents of each finished file.
    pub(super) documents: Spread,
    /// Number of documents of the current file so far.
    pub(super) in_file: u64,
}

/// Count, sum and range of many values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Spread {
    pub(super) count: u64,
    pub(super) total: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) squares: f64,
}

impl Spread {
    pub(super) fn add(&mut self, value: u64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = self.most.max(value);
        self.count += 1;
        self.total += value;
        self.squares += (value as f64) * (value as f64);
    }
}
