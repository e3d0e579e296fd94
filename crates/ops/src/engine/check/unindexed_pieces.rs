//! Finds samples in several pieces: a sample without a row that has no part in common with the sample that has the row of the same key. For
//! a data set without tables, the keys of all shards are sorted instead.

use super::PreparedDataset;
use crate::engine::index::{self, SpooledShard};
use crate::engine::plan::scattered_problem;
use gristmill_core::{DuplicateKeys, Handles, Mutex, Outcome, ProblemSink, Shard, ShardId};
use gristmill_data::formats::energon::tables::{SampleRecord, Tables};
use gristmill_data::source::tar::{ScanSink, ShardScan};
use gristmill_storage::fs::RealFs;
use gristmill_storage::scratch::Scratch;
use std::collections::HashSet;

/// Limit of compared parts of one sample.
const MAX_PARTS: usize = 1 << 16;
/// Limit of the memory for sorting the keys of one shard, in bytes.
const SORT_BYTES: usize = 16 << 20;

/// Finds pieces among the samples without a row in one shard.
#[derive(Default)]
pub(super) struct UnindexedPieces {
    parts: HashSet<String>,
    samples: u64,
    /// Key and shard of the first sample without a row.
    first: Option<(String, ShardId)>,
}

impl UnindexedPieces {
    /// Adds a part of the current sample, which has no row.
    pub(super) fn add_part(&mut self, name: &str) {
        if self.parts.len() < MAX_PARTS {
            self.parts.insert(name.to_owned());
        }
    }

    /// Begins the next sample.
    pub(super) fn begin_sample(&mut self) {
        self.parts.clear();
    }

    /// Compares the parts of the current sample with those of the sample that has the row of its key.
    pub(super) fn compare(&mut self, key: &str, kept: &SampleRecord, tables: &Tables) -> Outcome<()> {
        let other = tables.parts(kept.tar_file_id, kept.sample_index, 1)?;
        let is_apart = !other.is_empty() && !other.iter().any(|part| self.parts.contains(&part.part_name));
        if is_apart && !self.parts.is_empty() {
            self.samples += 1;
            self.first.get_or_insert_with(|| (key.to_owned(), ShardId(kept.tar_file_id)));
        }
        Ok(())
    }

    /// Reports the samples found in this shard.
    pub(super) fn finish(self, shard: &str, prepared: &PreparedDataset, problems: &dyn ProblemSink) -> Outcome<()> {
        let Some((key, kept)) = self.first else { return Ok(()) };
        let one = prepared.entry(kept).map_or("", |(name, _)| name);
        problems.report(scattered_problem(&prepared.root, self.samples, &key, (one, shard)))
    }
}

/// The keys and part names of the shards of a data set without tables.
pub(super) struct KeySpools {
    scratch: Scratch,
    /// The spools by `tar_file_id`, in any order.
    spools: Mutex<Vec<(u32, SpooledShard)>>,
}

impl KeySpools {
    pub(super) fn create() -> Outcome<Self> {
        Ok(Self { scratch: Scratch::create(None)?, spools: Mutex::default() })
    }

    /// Scans a shard, passes its rows to `sink`, and stores its keys.
    pub(super) fn scan(
        &self,
        shard: (&Shard, ShardId),
        handles: &Handles<'_>,
        sink: &mut dyn ScanSink,
    ) -> Outcome<ShardScan> {
        let spooled = index::scan_unit_with(shard, self.scratch.path(), &RealFs, SORT_BYTES, handles, sink)?;
        let scan = spooled.scan.clone();
        // Samples that are separated by AppleDouble files are reported as such.
        if !scan.apple_double.as_ref().is_some_and(|entries| entries.is_refused()) {
            self.spools.lock().push((shard.1 .0, spooled));
        }
        Ok(scan)
    }

    /// Reports the samples in several pieces. Must be called after all shards were scanned.
    pub(super) fn finish(&self, prepared: &PreparedDataset, handles: &Handles<'_>) -> Outcome<()> {
        let mut spools = self.spools.lock();
        spools.sort_by_key(|(number, _)| *number);
        let shards: Vec<(u32, &SpooledShard)> = spools.iter().map(|(number, spool)| (*number, spool)).collect();
        let groups = index::scattered_samples(&RealFs, &shards, self.scratch.path(), handles.cancel)?.scattered;
        let Some(DuplicateKeys { shards, key, .. }) = groups.first() else { return Ok(()) };
        let name = |at: usize| {
            let number = shards.get(at).copied().unwrap_or_default();
            prepared.entry(ShardId(number)).map_or("", |(name, _)| name)
        };
        let samples = groups.iter().map(|group| group.keys).sum();
        handles.problems.report(scattered_problem(&prepared.root, samples, key, (name(0), name(1))))
    }
}
