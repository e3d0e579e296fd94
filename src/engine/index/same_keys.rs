//! Keys that name several samples, found among scanned shards before any table is built: whoever is still answering questions can leave a
//! shard out.

use super::runs::{reduce, remove_temporary, Merge, CANCEL_EVERY};
use super::spool::SpooledShard;
use super::{BuildOptions, Surroundings};
use crate::model::{Cancel, Outcome, SameKeys};
use crate::storage::fs::Fs;
use std::collections::HashMap;
use std::path::Path;

/// Different sets of shards that are told; a person leaves out a few shards, not ten thousand.
const MOST_GROUPS: usize = 10_000;
/// Samples of one key that are told.
const MOST_PLACES: usize = 16;

/// The keys of several samples, by the shards that these are in. Each shard comes with the number that it is to be called by.
///
/// What does not fit into one merge is merged in `scratch` first. Reads spools that others may move meanwhile: a failure means only
/// that it is not known.
pub fn same_keys(
    fs: &dyn Fs,
    shards: &[(u32, SpooledShard)],
    scratch: &Path,
    cancel: &Cancel,
) -> Outcome<Vec<SameKeys>> {
    let options = BuildOptions::default();
    let around =
        Surroundings { fs, scratch, cancel, merge_width: options.merge_width, sort_memory: options.sort_memory };
    let mut firsts = Vec::with_capacity(shards.len());
    let mut runs = Vec::new();
    let mut next = 0;
    for (_, spool) in shards {
        firsts.push(next);
        runs.extend(spool.key_runs(next));
        next += spool.scan.samples;
    }
    let shard_of = |row: u64| {
        let at = firsts.partition_point(|first| *first <= row).saturating_sub(1);
        shards.get(at).map_or(0, |(number, _)| *number)
    };
    let sources = reduce::<1>(&around, runs, "same-keys")?;
    let mut merge = Merge::<1>::open(&sources)?;
    let mut groups: HashMap<Vec<u32>, SameKeys> = HashMap::new();
    let (mut key, mut places): (Vec<u8>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut count = 0;
    while let Some((next, [row])) = merge.next()? {
        count += 1;
        if count % CANCEL_EVERY == 0 {
            cancel.check()?;
        }
        if count == 1 || key != next {
            close(&mut groups, &key, &mut places);
            key.clear();
            key.extend_from_slice(next);
        }
        if places.len() < MOST_PLACES {
            places.push(shard_of(row));
        }
    }
    close(&mut groups, &key, &mut places);
    drop(merge);
    remove_temporary(fs, &sources)?;
    let mut groups: Vec<SameKeys> = groups.into_values().collect();
    groups.sort_unstable_by(|a, b| a.shards.cmp(&b.shards));
    Ok(groups)
}

/// Ends the samples of one key.
fn close(groups: &mut HashMap<Vec<u32>, SameKeys>, key: &[u8], places: &mut Vec<u32>) {
    if places.len() > 1 {
        places.sort_unstable();
        let is_full = groups.len() >= MOST_GROUPS;
        if let Some(group) = groups.get_mut(places) {
            group.keys += 1;
        } else if !is_full {
            let key = String::from_utf8_lossy(key).into_owned();
            groups.insert(places.clone(), SameKeys { shards: places.clone(), key, keys: 1 });
        }
    }
    places.clear();
}
