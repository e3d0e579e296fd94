//! Checks an index; its shards are checked in parallel.

use crate::engine::check::CheckCounts;
use crate::engine::dedup::original::Index;
use crate::engine::dedup::verify::check_shard;
use crate::job::pool::run_units;
use gristmill_core::{Handles, Outcome};
use gristmill_data::formats::bsade::shard_folder;
use std::path::Path;

/// Reads an index and checks its entire content: places, texts, records, ranges and, if `memory` bytes are enough for the suffix table of a
/// shard, its order. The result counts shards as parts and documents as samples.
pub fn verify_index(folder: &Path, threads: usize, memory: u64, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let index = Index::open(folder)?;
    handles.progress.expect(u64::from(index.shards), 0);
    let shards: Vec<u32> = (0..index.shards).collect();
    let threads = threads.max(1);
    let share = memory / threads as u64;
    let checked = run_units(&shards, threads, handles.cancel, |shard| {
        let facts = check_shard(&shard_folder(folder, *shard), share, *handles)?;
        handles.progress.add(1, 0);
        Ok(CheckCounts { shards: 1, samples: facts.documents, parts: 0, bytes: facts.text_bytes })
    })?;
    let mut all = CheckCounts::default();
    checked.into_iter().for_each(|one| all.add(one));
    Ok(all)
}
