//! Computes the result of a plan for media without running it, for the review and `--dry-run`.

use super::target::{self, Target};
use crate::engine::media::{facts_of, forecast, of_files, MediaForecast};
use crate::job::recover::recover_interrupted;
use crate::job::report::OutputFile;
use crate::job::scan::LiveScan;
use gristmill_core::{Cancel, Handles, Outcome, PrepareMediaPlan, Problem, ProblemLog, Progress, RunOptions};
use gristmill_data::formats::energon::layout;
use gristmill_storage::files;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The expected result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct MediaPreview {
    /// The data set or folder, as given by the user.
    #[serde(skip)]
    pub path: String,
    /// The entries that would be examined; for a WebDataset, estimated from the names of its parts and its first samples.
    pub outlook: MediaForecast,
    /// Number of existing rows.
    pub rows_before: u64,
    /// Files that would be written; their size is an estimate.
    pub files: Vec<OutputFile>,
    /// Problems that would be reported.
    pub problems: Vec<Problem>,
}

/// Approximate size of a row in bytes.
const ROW_BYTES: u64 = 180;
/// Size of an empty database with its tables, in bytes.
const EMPTY_BYTES: u64 = 28_672;
/// Interval at which the state of a scan is read.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Returns the expected result of `plan`. Scans the folder or opens the data set, and reads the headers of the first entries.
pub fn preview(plan: &PrepareMediaPlan, options: &RunOptions, cancel: &Cancel) -> Outcome<MediaPreview> {
    let root = Path::new(&plan.path);
    let (progress, problems) = (Progress::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel, problems: &problems };
    recover_interrupted(root, &problems)?;
    let seen = match target::open(plan, options.threads, &handles)? {
        Target::Files(files) => of_files(root, &plan.media, &files, cancel),
        Target::Shards(_) => of_shards(plan, options, cancel)?,
    };
    let rows_before = facts_of(root, cancel)?.map_or(0, |spread| spread.rows);
    let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    let old = files::metadata(&database).map_or(EMPTY_BYTES, |facts| facts.len());
    let files = vec![OutputFile {
        name: format!("{}/{}", layout::NV_META, layout::INDEX_SQLITE),
        bytes: old + seen.candidates.saturating_sub(rows_before) * ROW_BYTES,
        replaces: files::exists(database),
    }];
    Ok(MediaPreview { path: plan.path.clone(), outlook: seen, rows_before, files, problems: problems.to_vec() })
}

fn of_shards(plan: &PrepareMediaPlan, options: &RunOptions, cancel: &Cancel) -> Outcome<MediaForecast> {
    let scan = LiveScan::start(Path::new(&plan.path), options)?;
    while !scan.is_finished() {
        cancel.check()?;
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(forecast(&*scan.wait()?, &plan.media))
}
