//! Distinguishes prepared shards that were copied without their times from changed shards, and records their new times.

use super::pool::run_units;
use crate::engine::check::{has_same_headers, PreparedDataset};
use crate::engine::dataset::{self, OpenDataset};
use crate::engine::recorded::{Recorded, MAX_REPORT_BYTES};
use gristmill_core::{text, Cancel, FileStamp, Outcome, Problem, ProblemKind, ProblemSink, ShardId, Subject};
use gristmill_storage::files;
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::write_file;
use gristmill_storage::read::{read_whole, stamp_at};
use gristmill_storage::run_folder::RunFolder;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Opens a data set. If only the time of a shard differs from the recorded one, its headers decide whether it has changed.
pub fn open(root: &Path, threads: usize, cancel: &Cancel) -> Outcome<OpenDataset> {
    let mut opened = dataset::open(root)?;
    let retimed: HashSet<&str> = match &opened.facts.prepared {
        Some(facts) if !facts.retimed_shards.is_empty() => facts.retimed_shards.iter().map(String::as_str).collect(),
        _ => return Ok(opened),
    };
    let prepared = PreparedDataset::open(root)?;
    let ids: Vec<ShardId> = (0..prepared.shard_count())
        .map(ShardId)
        .filter(|id| prepared.entry(*id).is_some_and(|(name, _)| retimed.contains(name)))
        .collect();
    // A shard that cannot be read or compared counts as changed; the problem is reported when it is read.
    let agrees = run_units(&ids, threads, cancel, |id| match has_same_headers(&prepared, *id, cancel) {
        Err(failure) if failure.is_cancelled() => Err(failure),
        result => Ok(result.unwrap_or(false)),
    })?;
    let unchanged = ids.iter().zip(agrees).filter(|(_, agrees)| *agrees);
    let unchanged = unchanged.filter_map(|(id, _)| Some(prepared.entry(*id)?.0.to_owned())).collect();
    dataset::accept_times(&mut opened, &unchanged);
    Ok(opened)
}

/// Returns the current state of each existing shard.
pub(crate) fn states(prepared: &PreparedDataset) -> HashMap<String, FileStamp> {
    let shards = (0..prepared.shard_count()).filter_map(|id| prepared.shard(ShardId(id)).ok());
    shards.map(|shard| (shard.name, shard.stamp)).collect()
}

/// Records the states of verified shards that have not changed since. Does nothing if the data set cannot be written to, or another run
/// works on it.
pub(crate) fn record(root: &Path, mut verified: HashMap<String, FileStamp>, problems: &dyn ProblemSink) -> Outcome<()> {
    verified.retain(|name, stamp| stamp_at(&root.join(name)).is_ok_and(|now| now == *stamp));
    let own = RunFolder::for_webdataset(root);
    let changed = || -> Outcome<Option<Vec<u8>>> {
        let report = read_whole(&own.report(), MAX_REPORT_BYTES)?;
        Ok(report.and_then(|report| Recorded::with_stamps(&report, &verified)))
    };
    if changed()?.is_none() {
        return Ok(());
    }
    match write(&own, changed) {
        Ok(()) => {
            let message = format!("the present times of {} are recorded", text::count(verified.len() as u64, "shard"));
            problems.report(Problem::note(ProblemKind::ShardChanged, Subject::path(root), message))
        }
        Err(failure) => {
            tracing::info!("the times of the shards are not recorded: {failure}");
            Ok(())
        }
    }
}

fn write(own: &RunFolder, report: impl Fn() -> Outcome<Option<Vec<u8>>>) -> Outcome<()> {
    let fs = RealFs;
    let _lock = DatasetLock::acquire(&fs, own, false)?;
    let result = match report()? {
        Some(bytes) => {
            let mode = files::metadata(own.report()).map_or(0o600, |facts| facts.mode & 0o777);
            write_file(&fs, &own.report(), &bytes, mode)
        }
        None => Ok(()),
    };
    // Acquiring the lock creates the work folder, which is removed again unless it belongs to a stopped run.
    if !files::exists(own.journal()) {
        own.remove_work(&fs as &dyn Fs)?;
    }
    result
}
