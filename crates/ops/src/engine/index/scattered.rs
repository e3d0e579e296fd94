//! Samples with the same key that are pieces of one sample: a later one has no part in common with the previous ones. This happens if the
//! parts of a sample are not adjacent in a shard, or are in two shards.

use super::duplicates::RowSet;
use super::rows::Record;
use super::spool::SpooledShard;
use gristmill_core::Outcome;
use gristmill_storage::sort::bytes::SpoolWriter;
use gristmill_storage::sort::{reduce, remove_temporary, Merge, Run, RunSource, SortContext, Sorter, CANCEL_EVERY};
use std::collections::HashSet;
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of samples listed per key.
pub(super) const MAX_PLACES: usize = 16;

/// Name of the file with the part names of samples with duplicate keys.
const FILE: &str = "scattered";
/// Maximum number of parts compared per key.
const MAX_PARTS: usize = 1 << 16;

/// Whether some part is in every sample of these shards, so that any two samples share a part. Uses only the counts.
pub(super) fn have_common_part(shards: &[(u32, &SpooledShard)]) -> bool {
    let mut spools = shards.iter().map(|(_, spool)| *spool).filter(|spool| spool.samples > 0);
    let Some(first) = spools.next() else { return true };
    let is_in_all =
        |name: &str, spool: &SpooledShard| spool.scan.parts.get(name).is_some_and(|part| part.samples == spool.samples);
    let mut common: Vec<&String> = first.scan.parts.keys().filter(|name| is_in_all(name, first)).collect();
    for spool in spools {
        common.retain(|name| is_in_all(name, spool));
    }
    !common.is_empty()
}

/// Iterates over the keys of the `doubled` rows in order, and passes to `take` the rows of each, and whether its samples are pieces of one.
///
/// `firsts` are the row numbers of the first sample of each shard. Memory does not grow with the number of rows.
pub(super) fn each_repeated(
    around: &SortContext<'_>,
    shards: &[(u32, &SpooledShard)],
    firsts: &[u64],
    doubled: &RowSet,
    mut take: impl FnMut(&[u8], &[u64], bool),
) -> Outcome<()> {
    let mut names = PartNames { sorter: Sorter::new(around.sort_memory), file: None };
    for ((_, spool), first) in shards.iter().zip(firsts) {
        if doubled.has_any(*first, spool.scan.samples) {
            names.add_shard(around, spool, *first, doubled)?;
        }
    }
    let Some((path, runs)) = names.finish(around)? else { return Ok(()) };
    let source = |run| RunSource { path: path.clone(), run, base: 0, temporary: false };
    let sources = reduce::<2>(around, runs.into_iter().map(source).collect(), FILE)?;
    let mut merge = Merge::<2>::open(&sources)?;
    let mut pieces = ScatteredSamples::default();
    let mut count = 0;
    while let Some((key, [row, part])) = merge.next_entry()? {
        count += 1;
        if count % CANCEL_EVERY == 0 {
            around.cancel.check()?;
        }
        if pieces.key != key {
            pieces.end_key(&mut take);
            pieces.key.extend_from_slice(key);
        }
        pieces.add(row, part);
    }
    pieces.end_key(&mut take);
    drop(merge);
    remove_temporary(around.fs, &sources)?;
    around.fs.remove_file(&path)
}

/// Keys with row numbers and hashes of part names, sorted on disk.
struct PartNames {
    sorter: Sorter<2>,
    file: Option<(SpoolWriter, Vec<Run>)>,
}

impl PartNames {
    fn add_shard(
        &mut self,
        around: &SortContext<'_>,
        spool: &SpooledShard,
        first: u64,
        doubled: &RowSet,
    ) -> Outcome<()> {
        let mut reader = spool.open_rows()?;
        let (mut row, mut parts) = (first, Vec::new());
        while let Some(record) = reader.next()? {
            match record {
                Record::Part { .. } => {
                    if parts.len() < MAX_PARTS && doubled.contains(row) {
                        parts.push(xxh3_64(reader.part_name()));
                    }
                    continue;
                }
                Record::Sample { .. } => {
                    for part in parts.drain(..) {
                        if self.sorter.is_full_for(reader.key().len()) {
                            self.spill(around)?;
                        }
                        self.sorter.push(reader.key(), [row, part]);
                    }
                }
                Record::Hidden => parts.clear(),
            }
            row += 1;
            if row % CANCEL_EVERY == 0 {
                around.cancel.check()?;
            }
        }
        Ok(())
    }

    fn spill(&mut self, around: &SortContext<'_>) -> Outcome<()> {
        let (file, runs) = match &mut self.file {
            Some(file) => file,
            empty => empty.insert((SpoolWriter::create(around.fs, around.scratch, FILE.to_owned())?, Vec::new())),
        };
        runs.push(self.sorter.spill(file)?);
        Ok(())
    }

    /// Returns the file and its runs; `None` if no sample with a duplicate key has parts.
    fn finish(mut self, around: &SortContext<'_>) -> Outcome<Option<(PathBuf, Vec<Run>)>> {
        self.spill(around)?;
        let Some((file, runs)) = self.file else { return Ok(None) };
        Ok(Some((around.scratch.join(file.finish()?.name), runs)))
    }
}

/// The samples of one key.
#[derive(Default)]
struct ScatteredSamples {
    key: Vec<u8>,
    rows: Vec<u64>,
    /// Parts of the previous samples.
    known: HashSet<u64>,
    row: u64,
    parts: Vec<u64>,
    is_scattered: bool,
}

impl ScatteredSamples {
    fn add(&mut self, row: u64, part: u64) {
        if self.row != row {
            self.end_row();
            self.row = row;
        }
        self.parts.push(part);
    }

    fn end_row(&mut self) {
        if self.parts.is_empty() {
            return;
        }
        let is_apart = !self.known.is_empty() && self.parts.iter().all(|part| !self.known.contains(part));
        self.is_scattered |= is_apart;
        if self.rows.len() < MAX_PLACES {
            self.rows.push(self.row);
        }
        if self.known.len() < MAX_PARTS {
            self.known.extend(&self.parts);
        }
        self.parts.clear();
    }

    fn end_key(&mut self, take: &mut impl FnMut(&[u8], &[u64], bool)) {
        self.end_row();
        take(&self.key, &self.rows, self.is_scattered);
        *self = Self::default();
    }
}
