//! Shards that are not prepared, named by a path, a file or a range of files. Their headers are read once; no index is compared.

use super::CheckCounts;
use crate::engine::index;
use crate::engine::plan::{cut_names, key_refusals};
use gristmill_core::facts::add_parts;
use gristmill_core::{
    DatasetFacts, DatasetKind, Handles, Outcome, PartFacts, PreparePlan, Problem, ProblemKind, Severity, ShardFacts,
    ShardId, ShardState,
};
use gristmill_data::source::discover::named_shards;
use gristmill_storage::fs::Fs;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The content of the shards.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SingleShardInfo {
    /// The number of samples.
    pub samples: u64,
    /// Size of the files in bytes.
    pub bytes: u64,
    /// The number of shards.
    pub shards: u64,
    /// Figures of each part by its name, for the first 256 names.
    pub parts: BTreeMap<String, PartFacts>,
}

impl SingleShardInfo {
    /// Returns the counts of the checked items.
    pub fn checked(&self) -> CheckCounts {
        let parts = self.parts.values().map(|part| part.samples).sum();
        CheckCounts { shards: self.shards, samples: self.samples, parts, bytes: self.bytes }
    }
}

/// Scans the shards and finds duplicate keys. Returns `None` if the path names no shards. Findings are reported to the handles.
///
/// Rows and keys are stored in `scratch`; `sort_memory` limits the size of the data that is sorted at once, in bytes.
pub fn single_shard_info(
    path: &Path,
    fs: &dyn Fs,
    scratch: &Path,
    sort_memory: usize,
    handles: &Handles<'_>,
) -> Outcome<Option<SingleShardInfo>> {
    let Some(shards) = named_shards(path)? else { return Ok(None) };
    let mut facts = DatasetFacts::new(path.to_path_buf(), DatasetKind::RawWebDataset);
    let mut info = SingleShardInfo { shards: shards.len() as u64, ..SingleShardInfo::default() };
    handles.progress.restart(info.shards, shards.iter().map(|shard| shard.stamp.bytes).sum());
    let mut all = Vec::with_capacity(shards.len());
    for (number, shard) in (0..).zip(&shards) {
        let spooled = index::scan_unit(shard, ShardId(number), scratch, fs, sort_memory, handles)?;
        info.samples += spooled.scan.samples;
        info.bytes += shard.stamp.bytes;
        add_parts(&mut info.parts, &spooled.scan.parts);
        let (name, apple_double) = (shard.name.clone(), spooled.scan.apple_double.clone());
        let state = ShardState::Scanned;
        facts.shards.push(ShardFacts { name, stamp: shard.stamp, state, apple_double, ..ShardFacts::default() });
        all.push((number, spooled));
    }
    facts.parts.clone_from(&info.parts);
    let spools: Vec<_> = all.iter().map(|(number, spooled)| (*number, spooled)).collect();
    let groups = index::same_keys(fs, &spools, scratch, handles.cancel)?;
    (facts.same_keys, facts.scattered) = (groups.same, groups.scattered);
    let plan = PreparePlan::new("");
    let mut keys = key_refusals(&plan, &facts);
    if let [problem] = keys.as_mut_slice() {
        if problem.kind == ProblemKind::DuplicateKey {
            problem.hint = Some(repeats_hint(shards.len()).to_owned());
        }
    }
    for problem in keys.into_iter().chain(cut_names(&facts.root, &facts.parts)) {
        let severity = problem.severity.min(Severity::Problem);
        handles.problems.report(Problem { severity, ..problem })?;
    }
    Ok(Some(info))
}

/// Returns the hint for repeated keys; shards that are named individually cannot be prepared.
fn repeats_hint(shards: usize) -> &'static str {
    match shards {
        1 => "gristmill shard SHARD --output NEW --duplicates keep-first leaves later copies out",
        _ => {
            "gristmill shard RANGE --output NEW --duplicates prefix puts the name of the shard before each key; keep-first \
             leaves later copies out"
        }
    }
}
