//! Counts of tasks, which the statistics of datatrove consist of.

use serde::{Deserialize, Serialize};

/// Counts of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TaskCounts {
    /// Usable documents, including those left out by `skip` and `limit`.
    pub(super) usable: u64,
    /// Characters of the packed documents.
    pub(super) chars: Spread,
    /// Files that were begun.
    pub(super) files: u64,
    /// Documents of each finished file.
    pub(super) documents: Spread,
    /// Documents of the current file.
    pub(super) in_file: u64,
}

/// Statistics of many values.
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
