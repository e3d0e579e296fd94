//! Builds Energon's tables from tar shards: one `.tar.idx` per shard, and one `index.sqlite` for all.
//!
//! A scan writes each shard to a spool ([`scan_unit`]): the finished `.tar.idx`, its rows in archive order, and its keys in sorted runs.
//! [`IndexWriter`] then reads the spools in index order. Rows are written to the database as they arrive. The keys of all shards are
//! merged, so that they arrive in order for the unique index, and duplicates are adjacent. Memory is limited to buffers of a fixed size,
//! and the bytes of the file depend only on the shards, not on the number of workers or their memory.

mod duplicates;
mod entries;
mod lookup;
mod media;
mod parts;
mod respool;
mod rows;
mod same_keys;
mod scattered;
mod spool;
mod tables;
#[cfg(test)]
mod tests;
mod writer;

pub use duplicates::{DuplicateKey, UnusedSamples};
pub use entries::{Entries, Entry};
pub use lookup::{unmatched_excludes, UnmatchedExclude};
pub(in crate::engine) use media::sql_failure;
pub use media::{carry_media_tables, CarriedMedia};
pub use respool::{respool_unit, OldIndex, OldTables};
pub use same_keys::{same_keys, scattered_samples, KeyGroups};
pub(crate) use spool::SpoolSink;
pub use spool::SpooledShard;
pub use writer::IndexWriter;

use gristmill_core::handles::MAX_LISTED_PROBLEMS;
use gristmill_core::{Duplicates, Handles, HiddenSample, Outcome, PartRow, Progress, SampleRow, Shard, ShardId};
use gristmill_data::source::tar::{scan_shard, ScanSink};
use gristmill_storage::fs::Fs;
use std::path::{Path, PathBuf};

/// Options for building the database.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The treatment of samples with the same key.
    pub duplicates: Duplicates,
    /// Limit of duplicates that are listed with their locations; all are counted. With [`Duplicates::KeepFirst`], every duplicate in
    /// another shard than the first is listed in addition, because it must be excluded by name.
    pub listed: usize,
    /// Samples that [`Duplicates::KeepFirst`] keeps only if there is no other sample with the key.
    pub untrained: UnusedSamples,
    /// Memory limit for sorting, in bytes.
    pub sort_memory: usize,
    /// Maximum number of sorted runs that are open at the same time.
    pub merge_width: usize,
}

impl Default for BuildOptions {
    fn default() -> Self {
        Self {
            duplicates: Duplicates::Fail,
            listed: MAX_LISTED_PROBLEMS,
            untrained: UnusedSamples::default(),
            sort_memory: 16 << 20,
            merge_width: 256,
        }
    }
}

/// The result of [`IndexWriter::finish`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltIndex {
    /// The database, complete and flushed to disk; `None` if there is none because of duplicates.
    pub database: Option<PathBuf>,
    /// The first duplicates, in order of their keys; see [`BuildOptions::listed`].
    pub duplicates: Vec<DuplicateKey>,
    /// Number of all duplicates: samples after the first one with their key.
    pub duplicate_count: u64,
    /// Number of rows in `samples`.
    pub samples: u64,
    /// Number of rows in `sample_parts`.
    pub parts: u64,
    /// Size of the database in bytes; 0 if there is none.
    pub bytes: u64,
}

/// Scans one shard and writes spool files to `spool_dir`, which must exist. `id` is only used in the names of the files.
///
/// `memory` limits the keys that are sorted at a time, in bytes. The files are not synced, because another run checks their lengths and
/// hashes before it uses them. After a failure, they are removed.
pub fn scan_unit(
    shard: &Shard,
    id: ShardId,
    spool_dir: &Path,
    fs: &dyn Fs,
    memory: usize,
    handles: &Handles<'_>,
) -> Outcome<SpooledShard> {
    let scanned = SpoolSink::create(fs, spool_dir, (id, &shard.name), memory).and_then(|mut sink| {
        let scan = scan_shard(shard, &mut sink, handles)?;
        sink.finish(scan)
    });
    scanned.inspect_err(|_| spool::discard(fs, spool_dir, id, &shard.name))
}

/// Like [`scan_unit`], and passes the same rows to `also`.
pub fn scan_unit_with(
    (shard, id): (&Shard, ShardId),
    spool_dir: &Path,
    fs: &dyn Fs,
    memory: usize,
    handles: &Handles<'_>,
    also: &mut dyn ScanSink,
) -> Outcome<SpooledShard> {
    let scanned = SpoolSink::create(fs, spool_dir, (id, &shard.name), memory).and_then(|mut sink| {
        let scan = scan_shard(shard, &mut SinkPair(&mut sink, also), handles)?;
        sink.finish(scan)
    });
    scanned.inspect_err(|_| spool::discard(fs, spool_dir, id, &shard.name))
}

/// Sink that passes all rows to two sinks.
struct SinkPair<'a>(&'a mut dyn ScanSink, &'a mut dyn ScanSink);

impl ScanSink for SinkPair<'_> {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        self.0.part(row)?;
        self.1.part(row)
    }
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        self.0.sample(row)?;
        self.1.sample(row)
    }
    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()> {
        self.0.hidden_sample(row)?;
        self.1.hidden_sample(row)
    }
    fn apple_double_sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        self.0.apple_double_sample(row)?;
        self.1.apple_double_sample(row)
    }
}

/// Builds `index.sqlite` in `work_dir` from all shards at once. See [`IndexWriter`] for building during a scan.
///
/// The position of a spool in `spools` is its `tar_file_id`. Adds one item per sample to the progress.
pub fn build(
    fs: &dyn Fs,
    spools: &[SpooledShard],
    work_dir: &Path,
    scratch_dir: &Path,
    options: &BuildOptions,
    handles: &Handles<'_>,
) -> Outcome<BuiltIndex> {
    let mut writer = IndexWriter::create(fs, &work_dir.join("index.sqlite"), scratch_dir, options.clone())?;
    for spool in spools {
        writer.add_shard(spool, handles)?;
    }
    // The progress counts rows, which take most of the time. If the rows are only written by `finish`, they are counted there.
    let uncounted = Progress::default();
    let quiet = Handles { progress: &uncounted, ..*handles };
    writer.finish(if options.duplicates == Duplicates::KeepFirst { handles } else { &quiet })
}
