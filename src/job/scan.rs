//! The scan that runs while questions are still being answered.

use crate::model::handles::ProgressReading;
use crate::model::{DatasetFacts, Failure, Outcome, RunOptions};
use std::path::Path;
use std::sync::Arc;

/// A data set being scanned in the background. Dropping it stops the scan.
pub struct LiveScan {
    facts: Arc<DatasetFacts>,
}

impl LiveScan {
    /// Opens a data set (kind, shards, an earlier preparation; no tar is read yet) and starts scanning its shards.
    pub fn start(path: &Path, options: &RunOptions) -> Outcome<Self> {
        let _ = options;
        Err(Failure::usage("scan", format!("{}", path.display())))
    }
    /// Everything known right now. The same `Arc` is returned until something changed.
    pub fn facts(&self) -> Arc<DatasetFacts> {
        Arc::clone(&self.facts)
    }
    /// Shards and bytes scanned.
    pub fn progress(&self) -> ProgressReading {
        ProgressReading::default()
    }
    /// Bytes per second, and the time left once it can be told.
    pub fn rate(&self) -> (f64, Option<std::time::Duration>) {
        (0.0, None)
    }
    /// Asks the workers to stop at the next safe point.
    pub fn cancel(&self) {}
}
