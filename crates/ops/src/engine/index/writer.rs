//! Builds the database from spooled shards, added one after another in index order.

use super::duplicates::{DuplicateKey, RowSet};
use super::rows::Record;
use super::spool::SpooledShard;
use super::tables::{SamplePosition, Span, Tables};
use super::{BuildOptions, BuiltIndex};
use gristmill_core::{Cancel, Duplicates, Failure, Handles, Outcome, Progress, ShardId, Subject};
use gristmill_storage::fs::Fs;
use gristmill_storage::sort::{reduce, remove_temporary, Merge, RunSource, SortContext, CANCEL_EVERY};
use std::path::{Path, PathBuf};

/// Writes `index.sqlite` while shards are still being scanned: [`add_shard`](Self::add_shard) adds each finished spool in index order, and
/// [`finish`](Self::finish) adds the keys. If it is dropped before, the unfinished file is not a valid SQLite database, and a new writer
/// replaces it.
///
/// Starts no threads.
pub struct IndexWriter<'a> {
    fs: &'a dyn Fs,
    database: PathBuf,
    scratch: PathBuf,
    options: BuildOptions,
    tables: Tables,
    shards: Vec<ShardRows>,
    runs: Vec<RunSource>,
    /// Spools whose rows are written after the duplicates among them are known.
    waiting: Vec<SpooledShard>,
    dropped: RowSet,
    found: DuplicateList,
    next_row: u64,
}

/// Row numbers of one shard's samples: `first_row` is the row number of sample 0. Samples without a row in the tables have a number, too.
struct ShardRows {
    first_row: u64,
}

/// Limit of listed duplicates, regardless of the options: the number of items that an exclude list can reasonably contain.
const MAX_LISTED: usize = 1_000_000;

/// Duplicates: the first ones with their locations, and the count of all.
#[derive(Default)]
struct DuplicateList {
    listed: Vec<DuplicateKey>,
    count: u64,
}

impl<'a> IndexWriter<'a> {
    /// Creates the database at `database`. `scratch` is the folder for sorting on disk.
    pub fn create(fs: &'a dyn Fs, database: &Path, scratch: &Path, options: BuildOptions) -> Outcome<Self> {
        let cancel = Cancel::default();
        let around = surroundings(fs, scratch, &options, &cancel);
        let tables = Tables::create(&around, database)?;
        Ok(Self {
            fs,
            database: database.to_owned(),
            scratch: scratch.to_owned(),
            options,
            tables,
            shards: Vec::new(),
            runs: Vec::new(),
            waiting: Vec::new(),
            dropped: RowSet::default(),
            found: DuplicateList::default(),
            next_row: 1,
        })
    }

    /// Adds the next shard in index order. Its `tar_file_id` is the number of previous calls.
    ///
    /// Adds one item per sample to the progress, unless duplicates are dropped, in which case all rows are written by `finish`.
    pub fn add_shard(&mut self, spool: &SpooledShard, handles: &Handles<'_>) -> Outcome<()> {
        let shard = self.shards.len() as u32;
        let first_row = self.next_row;
        self.shards.push(ShardRows { first_row });
        self.next_row += spool.scan.samples;
        self.runs.extend(spool.key_runs(first_row));
        match self.options.duplicates {
            Duplicates::Fail | Duplicates::Prefix => self.add_rows(shard, spool, handles),
            Duplicates::KeepFirst => {
                self.waiting.push(spool.clone());
                Ok(())
            }
        }
    }

    fn add_rows(&mut self, shard: u32, spool: &SpooledShard, handles: &Handles<'_>) -> Outcome<()> {
        let around = surroundings(self.fs, &self.scratch, &self.options, handles.cancel);
        let first_row = self.shards.get(shard as usize).map_or(0, |rows| rows.first_row);
        let mut reader = spool.open_rows()?;
        let (mut index, mut end, mut counted) = (0, 0, 0);
        while let Some(record) = reader.next()? {
            let place = SamplePosition { shard, index };
            let row = first_row + index;
            match record {
                Record::Part { offset, size } => {
                    // The indexes require this order, which a damaged spool may violate.
                    if offset < std::mem::replace(&mut end, offset) {
                        return Err(reader.damaged());
                    }
                    if !self.dropped.contains(row) {
                        self.tables.add_part(place, reader.part_name(), Span { offset, size }, &around)?;
                    }
                    continue;
                }
                Record::Sample { offset, size } if !self.dropped.contains(row) => {
                    self.tables.add_sample(place, row, reader.key(), Span { offset, size }, &around)?;
                }
                Record::Sample { .. } | Record::Hidden => {}
            }
            index += 1;
            if index % CANCEL_EVERY == 0 {
                handles.cancel.check()?;
                handles.progress.add(index - counted, 0);
                counted = index;
            }
        }
        handles.progress.add(index - counted, 0);
        if index == spool.scan.samples {
            Ok(())
        } else {
            Err(reader.damaged())
        }
    }

    /// Merges the keys of all shards, writes the remaining rows, and flushes the file to disk.
    ///
    /// Adds one item per sample to the progress: for its row if rows are written here, otherwise for its key. If there are duplicates and
    /// [`Duplicates::Fail`] is set, the file is removed and [`BuiltIndex::database`] is `None`.
    pub fn finish(mut self, handles: &Handles<'_>) -> Outcome<BuiltIndex> {
        let uncounted = Progress::default();
        let quiet = Handles { progress: &uncounted, ..*handles };
        self.merge_keys(if self.waiting.is_empty() { handles } else { &quiet })?;
        let failed = self.found.count > 0 && self.options.duplicates != Duplicates::KeepFirst;
        for (shard, spool) in std::mem::take(&mut self.waiting).iter().enumerate() {
            self.add_rows(shard as u32, spool, handles)?;
        }
        handles.cancel.check()?;
        let (samples, parts) = (self.tables.sample_rows, self.tables.part_rows);
        let mut built = BuiltIndex {
            database: None,
            duplicates: self.found.listed,
            duplicate_count: self.found.count,
            samples,
            parts,
            bytes: 0,
        };
        if failed {
            drop(self.tables);
            self.fs.remove_file(&self.database)?;
        } else {
            built.bytes = self.tables.finish().inspect_err(|_| {
                // The file may look complete although it is not synced, so it is removed. The original failure is reported, so errors here
                // are ignored.
                let _ = self.fs.remove_file(&self.database);
            })?;
            built.database = Some(self.database);
        }
        Ok(built)
    }

    fn merge_keys(&mut self, handles: &Handles<'_>) -> Outcome<()> {
        let around = surroundings(self.fs, &self.scratch, &self.options, handles.cancel);
        let sources = reduce::<1>(&around, std::mem::take(&mut self.runs), "keys")?;
        let mut merge = Merge::<1>::open(&sources)?;
        let mut before: Option<(Vec<u8>, u64)> = None;
        let mut count = 0;
        while let Some((key, [row])) = merge.next_entry()? {
            count += 1;
            if count % CANCEL_EVERY == 0 {
                handles.cancel.check()?;
                handles.progress.add(CANCEL_EVERY, 0);
            }
            match &mut before {
                Some((known, kept)) if known == key => {
                    let is_out = |row| self.options.untrained.contains(place(&self.shards, row).0, key);
                    let keeps_first = self.options.duplicates == Duplicates::KeepFirst;
                    let mut other = row;
                    if keeps_first && is_out(*kept) && !is_out(row) {
                        other = std::mem::replace(kept, row);
                    }
                    self.found.add(key, &self.shards, (*kept, other), &self.options)?;
                    if keeps_first {
                        self.dropped.insert(other);
                    }
                    continue;
                }
                Some((known, kept)) => {
                    self.tables.add_key(known, *kept)?;
                    known.clear();
                    known.extend_from_slice(key);
                    *kept = row;
                }
                None => before = Some((key.to_vec(), row)),
            }
        }
        if let Some((key, row)) = before {
            self.tables.add_key(&key, row)?;
        }
        handles.progress.add(count % CANCEL_EVERY, 0);
        drop(merge);
        remove_temporary(self.fs, &sources)
    }
}

impl DuplicateList {
    fn add(&mut self, key: &[u8], shards: &[ShardRows], rows: (u64, u64), options: &BuildOptions) -> Outcome<()> {
        self.count += 1;
        let (first, second) = (place(shards, rows.0), place(shards, rows.1));
        // Samples that are dropped in another shard must be excluded by name, so none of them may be missing from the list.
        let needed = options.duplicates == Duplicates::KeepFirst && first.0 != second.0;
        if needed && self.listed.len() >= MAX_LISTED {
            return Err(too_many(key, second.0));
        }
        if needed || self.listed.len() < options.listed {
            let key = String::from_utf8_lossy(key).into_owned();
            self.listed.push(DuplicateKey { key, first, second });
        }
        Ok(())
    }
}

fn too_many(key: &[u8], shard: ShardId) -> Failure {
    let count = gristmill_core::text::grouped(MAX_LISTED as u64);
    Failure::data(
        "keeping the first of each duplicate key",
        format!("more than {count} samples would have to be excluded one by one; shard {} is the last", shard.0),
    )
    .on(Subject::default().key(String::from_utf8_lossy(key)))
    .with_hint("whole shards seem to be there twice: leave them out with --exclude, or use --skip-sample-tables")
}

/// Returns the shard and sample number of a row.
fn place(shards: &[ShardRows], row: u64) -> (ShardId, u64) {
    let shard = shards.partition_point(|shard| shard.first_row <= row).saturating_sub(1);
    (ShardId(shard as u32), row - shards.get(shard).map_or(row, |shard| shard.first_row))
}

fn surroundings<'a>(fs: &'a dyn Fs, scratch: &'a Path, options: &BuildOptions, cancel: &'a Cancel) -> SortContext<'a> {
    SortContext { fs, scratch, cancel, merge_width: options.merge_width, sort_memory: options.sort_memory }
}
