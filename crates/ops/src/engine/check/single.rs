//! One shard alone: a data set of a single shard that is not prepared. Its headers are read once, no index is compared.

use super::Checked;
use crate::engine::index;
use crate::engine::plan::{cut_names, same_keys, unusable_samples};
use gristmill_core::{
    DatasetFacts, DatasetKind, Handles, Outcome, PartFacts, PreparePlan, Problem, Severity, ShardFacts, ShardId,
    ShardState,
};
use gristmill_data::source::discover::single_shard;
use gristmill_storage::fs::Fs;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The content of the shard.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SingleShardInfo {
    /// The number of samples.
    pub samples: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Always 1.
    pub shards: u64,
    /// Figures of each part by its name; the first 256 names.
    pub parts: BTreeMap<String, PartFacts>,
}

impl SingleShardInfo {
    /// Returns the counts of what was checked.
    pub fn checked(&self) -> Checked {
        let parts = self.parts.values().map(|part| part.samples).sum();
        Checked { shards: self.shards, samples: self.samples, parts, bytes: self.bytes }
    }
}

/// Scans the shard and finds duplicate keys. `None` where the path is not that of a shard. Findings are reported to the handles.
///
/// Rows and keys are kept in `scratch`; `sort_memory` limits what is sorted at once, in bytes.
pub fn single_shard_info(
    path: &Path,
    fs: &dyn Fs,
    scratch: &Path,
    sort_memory: usize,
    handles: &Handles<'_>,
) -> Outcome<Option<SingleShardInfo>> {
    let Some(shard) = single_shard(path)? else { return Ok(None) };
    handles.progress.restart(1, shard.stamp.bytes);
    let spooled = index::scan_unit(&shard, ShardId(0), scratch, fs, sort_memory, handles)?;
    let mut facts = DatasetFacts::new(path.to_path_buf(), DatasetKind::RawWebDataset);
    let state = ShardState::Scanned;
    let (name, apple_double) = (shard.name.clone(), spooled.scan.apple_double.clone());
    facts.shards.push(ShardFacts { name, stamp: shard.stamp, state, apple_double, ..ShardFacts::default() });
    facts.parts.clone_from(&spooled.scan.parts);
    let groups = index::same_keys(fs, &[(0, &spooled)], scratch, handles.cancel)?;
    (facts.same_keys, facts.scattered) = (groups.same, groups.scattered);
    let plan = PreparePlan::new("");
    let keys = unusable_samples(&plan, &facts).or_else(|| same_keys(&plan, &facts));
    for problem in keys.into_iter().chain(cut_names(&facts)) {
        let severity = problem.severity.min(Severity::Problem);
        handles.problems.report(Problem { severity, ..problem })?;
    }
    let (samples, bytes) = (spooled.scan.samples, shard.stamp.bytes);
    Ok(Some(SingleShardInfo { samples, bytes, shards: 1, parts: spooled.scan.parts }))
}
