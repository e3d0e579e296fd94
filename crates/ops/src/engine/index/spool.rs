//! The result of scanning one shard: `.tar.idx`, rows, and keys in sorted runs.

use super::rows::{RowReader, RowWriter};
use gristmill_core::{HiddenSample, Outcome, PartRow, RecordedProblems, SampleRow, ShardId};
use gristmill_data::source::tar::{ScanSink, ShardScan};
use gristmill_storage::fs::Fs;
use gristmill_storage::read::open_read;
use gristmill_storage::sort::bytes::{SpoolFile, SpoolReader, SpoolWriter};
use gristmill_storage::sort::{Run, RunSource, Sorter};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Suffixes of the file names: `.tar.idx`, rows, keys.
const SUFFIXES: [&str; 3] = ["tar.idx", "rows", "keys"];
/// Bytes of a row spool read at a time.
const ROW_CHUNK: usize = 128 * 1024;

/// A scanned shard: its spool files, and the findings of the scan. It is stored without its folder, and can be used by another run that
/// sets the folder, after [`is_intact`](Self::is_intact).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpooledShard {
    /// The number in the names of its files. Its position in the index is only determined when the index is built.
    pub id: ShardId,
    /// The folder of its files. Not stored, because a data set can be moved or opened by another path.
    #[serde(skip)]
    pub dir: PathBuf,
    /// The finished `.tar.idx`.
    pub tar_idx: SpoolFile,
    /// Parts and samples in archive order, followed by the last run of keys. Most shards need no other run and no other file.
    pub rows: SpoolFile,
    /// The run of keys with sample numbers, sorted, after the rows in the file `rows`.
    pub last_run: Run,
    /// The file of the earlier runs, if not all keys could be sorted at once.
    pub keys: Option<SpoolFile>,
    /// The positions of the earlier runs in `keys`.
    pub runs: Vec<Run>,
    /// Number of samples with a row in the tables.
    pub samples: u64,
    /// Number of part rows.
    pub part_rows: u64,
    /// The findings of the scan.
    pub scan: ShardScan,
    /// The problems reported by the scan, which a resumed run reports again.
    #[serde(default, skip_serializing_if = "RecordedProblems::is_empty")]
    pub problems: RecordedProblems,
}

impl SpooledShard {
    /// Whether all spool files exist, complete and unchanged. Reads them completely.
    pub fn is_intact(&self) -> Outcome<bool> {
        for file in self.files() {
            if !file.is_intact(&self.dir)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the path of the finished `.tar.idx`, which still has private permissions.
    pub fn tar_idx_path(&self) -> PathBuf {
        self.dir.join(&self.tar_idx.name)
    }

    /// Returns the size of the spool on disk in bytes.
    pub fn spool_bytes(&self) -> u64 {
        self.files().map(|file| file.bytes).sum()
    }

    /// Returns the total length of the spool files, and one hash of their hashes, for the journal.
    pub fn fingerprint(&self) -> (u64, u64) {
        let hashes: Vec<u8> = self.files().flat_map(|file| file.xxh3.to_le_bytes()).collect();
        (self.spool_bytes(), xxhash_rust::xxh3::xxh3_64(&hashes))
    }

    /// Moves the spool files to another folder: by renaming within one file system, otherwise by copying.
    pub fn move_to(mut self, fs: &dyn Fs, dir: &Path) -> Outcome<Self> {
        let here = gristmill_storage::space::same_filesystem(&self.dir, dir)?;
        for file in self.files() {
            let (from, to) = (self.dir.join(&file.name), dir.join(&file.name));
            // A killed run may have left the file.
            fs.remove_file(&to)?;
            if here {
                fs.rename(&from, &to)?;
            } else {
                fs.copy_file(&from, &to)?;
                fs.remove_file(&from)?;
            }
        }
        self.dir = dir.to_path_buf();
        Ok(self)
    }

    /// Removes the spool files.
    pub fn remove(&self, fs: &dyn Fs) -> Outcome<()> {
        self.files().try_for_each(|file| fs.remove_file(&self.dir.join(&file.name)))
    }

    /// Returns the size of all its files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files().map(|file| file.bytes).sum()
    }

    fn files(&self) -> impl Iterator<Item = &SpoolFile> {
        [&self.tar_idx, &self.rows].into_iter().chain(&self.keys)
    }

    pub(super) fn open_rows(&self) -> Outcome<RowReader> {
        let file = Arc::new(open_read(&self.dir.join(&self.rows.name))?);
        let bytes = self.last_run.offset;
        let chunk = ROW_CHUNK.min(bytes as usize);
        Ok(RowReader::new(SpoolReader::new(file, 0, bytes, chunk)))
    }

    /// Returns the runs of keys. Sample numbers are counted from `base`.
    pub(super) fn key_runs(&self, base: u64) -> impl Iterator<Item = RunSource> + '_ {
        let source = move |file: &SpoolFile, &run: &Run| {
            let path = self.dir.join(&file.name);
            RunSource { path, run, base, temporary: false }
        };
        let early = self.keys.iter().flat_map(move |file| self.runs.iter().map(move |run| source(file, run)));
        early.chain((self.last_run.bytes > 0).then(|| source(&self.rows, &self.last_run)))
    }
}

/// Receives the rows of one shard and writes its spool files.
pub(crate) struct SpoolSink<'a> {
    fs: &'a dyn Fs,
    dir: &'a Path,
    id: ShardId,
    shard: &'a str,
    tar_idx: SpoolWriter,
    rows: RowWriter,
    keys: Option<SpoolWriter>,
    sorter: Sorter<1>,
    runs: Vec<Run>,
    samples: u64,
    part_rows: u64,
}

impl<'a> SpoolSink<'a> {
    /// Creates the spool files of a shard. `memory` limits the keys that are sorted at a time, in bytes.
    pub(crate) fn create(
        fs: &'a dyn Fs,
        dir: &'a Path,
        (id, shard): (ShardId, &'a str),
        memory: usize,
    ) -> Outcome<Self> {
        let create = |suffix| SpoolWriter::create(fs, dir, file_name(id, shard, suffix));
        let [tar_idx, rows, _] = SUFFIXES;
        Ok(Self {
            fs,
            dir,
            id,
            shard,
            tar_idx: create(tar_idx)?,
            rows: RowWriter::new(create(rows)?),
            keys: None,
            sorter: Sorter::new(memory),
            runs: Vec::new(),
            samples: 0,
            part_rows: 0,
        })
    }

    fn place(&mut self, offset: u64) -> Outcome<()> {
        self.tar_idx.buffer().extend_from_slice(&offset.to_le_bytes());
        self.tar_idx.check()
    }

    /// Writes a run to make room for further keys.
    fn spill(&mut self) -> Outcome<()> {
        let keys = match &mut self.keys {
            Some(keys) => keys,
            empty => empty.insert(SpoolWriter::create(self.fs, self.dir, file_name(self.id, self.shard, SUFFIXES[2]))?),
        };
        self.runs.push(self.sorter.spill(keys)?);
        Ok(())
    }

    /// Returns the finished spool of a scan.
    pub(crate) fn finish(mut self, scan: ShardScan) -> Outcome<SpooledShard> {
        self.place(scan.end_offset)?;
        let (rows, last_run) = self.rows.finish(&mut self.sorter)?;
        Ok(SpooledShard {
            id: self.id,
            dir: self.dir.to_owned(),
            tar_idx: self.tar_idx.finish()?,
            rows,
            last_run,
            keys: self.keys.map(SpoolWriter::finish).transpose()?,
            runs: self.runs,
            samples: self.samples,
            part_rows: self.part_rows,
            scan,
            problems: RecordedProblems::default(),
        })
    }
}

/// Removes all spool files of a shard after a failure.
pub(super) fn discard(fs: &dyn Fs, dir: &Path, id: ShardId, shard: &str) {
    for suffix in SUFFIXES {
        // The original failure is reported, so errors here are ignored.
        let _ = fs.remove_file(&dir.join(file_name(id, shard, suffix)));
    }
}

/// Returns a file name with both the number and the shard. If a shard was added since a run was stopped, the numbers of others change, and
/// with the number alone its spool could replace one that is still needed.
fn file_name(id: ShardId, shard: &str, suffix: &str) -> String {
    format!("shard-{}-{:016x}.{suffix}", id.0, xxhash_rust::xxh3::xxh3_64(shard.as_bytes()))
}

impl ScanSink for SpoolSink<'_> {
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
        self.part_rows += 1;
        self.rows.part(row)
    }

    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        self.place(row.byte_offset)?;
        self.rows.sample(row)?;
        if self.sorter.is_full_for(row.key.len()) {
            self.spill()?;
        }
        self.sorter.push(row.key.as_bytes(), [row.sample_index]);
        self.samples += 1;
        Ok(())
    }

    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()> {
        self.place(row.byte_offset)?;
        self.rows.hidden(row)
    }
}
