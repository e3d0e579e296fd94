//! Keys shared by several samples of scanned shards, found without tables, and which of these samples are pieces of one sample.

use super::duplicates::RowSet;
use super::scattered::{each_repeated, have_common_part, MAX_PLACES};
use super::spool::SpooledShard;
use super::BuildOptions;
use gristmill_core::{Cancel, DuplicateKeys, Outcome};
use gristmill_storage::fs::Fs;
use gristmill_storage::sort::{reduce, remove_temporary, Merge, SortContext, CANCEL_EVERY};
use std::collections::HashMap;
use std::path::Path;

/// Maximum number of distinct sets of shards that are listed. A user can exclude a few shards, but not ten thousand.
const MAX_GROUPS: usize = 10_000;

/// Keys shared by several samples, grouped by the shards of these samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyGroups {
    /// Those whose samples are copies, or cannot be distinguished from copies.
    pub same: Vec<DuplicateKeys>,
    /// Keys whose samples are pieces of one sample: a later one has no part in common with the previous ones.
    pub scattered: Vec<DuplicateKeys>,
}

/// Finds the keys shared by several samples. Each shard is given with its number in the result.
///
/// Runs that do not fit into one merge are first merged in `scratch`. The spools may be moved by other threads at the same time, so a
/// failure only means that the result is unknown.
pub fn same_keys(fs: &dyn Fs, shards: &[(u32, &SpooledShard)], scratch: &Path, cancel: &Cancel) -> Outcome<KeyGroups> {
    let options = BuildOptions::default();
    let around =
        SortContext { fs, scratch, cancel, merge_width: options.merge_width, sort_memory: options.sort_memory };
    let mut firsts = Vec::with_capacity(shards.len());
    let mut runs = Vec::new();
    let mut next = 0;
    for (_, spool) in shards {
        firsts.push(next);
        runs.extend(spool.key_runs(next));
        next += spool.scan.samples;
    }
    let number = |row: u64| {
        let at = firsts.partition_point(|first| *first <= row).saturating_sub(1);
        shards.get(at).map_or(0, |(number, _)| *number)
    };
    let sources = reduce::<1>(&around, runs, "same-keys")?;
    let mut merge = Merge::<1>::open(&sources)?;
    let (mut same, mut doubled) = (Groups::default(), RowSet::default());
    let (mut key, mut rows): (Vec<u8>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut count = 0;
    while let Some((next, [row])) = merge.next_entry()? {
        count += 1;
        if count % CANCEL_EVERY == 0 {
            cancel.check()?;
        }
        if count == 1 || key != next {
            same.add(&key, &rows, number);
            rows.clear();
            key.clear();
            key.extend_from_slice(next);
        } else {
            rows.iter().take(1).chain([&row]).for_each(|row| doubled.insert(*row));
        }
        if rows.len() < MAX_PLACES {
            rows.push(row);
        }
    }
    same.add(&key, &rows, number);
    drop(merge);
    remove_temporary(fs, &sources)?;
    let mut scattered = Groups::default();
    if !same.0.is_empty() && !have_common_part(shards) {
        same = Groups::default();
        each_repeated(&around, shards, &firsts, &doubled, |key, rows, is_scattered| {
            if is_scattered { &mut scattered } else { &mut same }.add(key, rows, number);
        })?;
    }
    Ok(KeyGroups { same: same.finish(), scattered: scattered.finish() })
}

/// Like [`same_keys`], for callers that need the duplicate keys only if samples are in several pieces.
pub fn scattered_samples(
    fs: &dyn Fs,
    shards: &[(u32, &SpooledShard)],
    scratch: &Path,
    cancel: &Cancel,
) -> Outcome<KeyGroups> {
    match have_common_part(shards) {
        true => Ok(KeyGroups::default()),
        false => same_keys(fs, shards, scratch, cancel),
    }
}

/// Keys grouped by the shards of their samples.
#[derive(Default)]
struct Groups(HashMap<Vec<u32>, DuplicateKeys>);

impl Groups {
    /// Adds a key with the rows of its samples.
    fn add(&mut self, key: &[u8], rows: &[u64], number: impl Fn(u64) -> u32) {
        if rows.len() < 2 {
            return;
        }
        let mut shards: Vec<u32> = rows.iter().map(|row| number(*row)).collect();
        shards.sort_unstable();
        let is_full = self.0.len() >= MAX_GROUPS;
        if let Some(group) = self.0.get_mut(&shards) {
            group.keys += 1;
        } else if !is_full {
            let key = String::from_utf8_lossy(key).into_owned();
            self.0.insert(shards.clone(), DuplicateKeys { shards, key, keys: 1 });
        }
    }

    fn finish(self) -> Vec<DuplicateKeys> {
        let mut groups: Vec<DuplicateKeys> = self.0.into_values().collect();
        groups.sort_unstable_by(|a, b| a.shards.cmp(&b.shards));
        groups
    }
}
