//! Caches data of files in stores that listing the samples reads, because the contents are read again when shards are written.

use gristmill_core::{Mutex, Outcome, ShardPlan};
use gristmill_storage::kept::ReadCache;
use gristmill_storage::location::is_remote;
use gristmill_storage::space;
use std::path::{Path, PathBuf};

/// Divisor of the free space in the scratch folder that gives the size of the cache.
const SPACE_SHARE: u64 = 2;

/// Caches reads in a scratch folder.
pub struct ReadKeeper {
    folder: PathBuf,
    limit: u64,
    kept: Mutex<Vec<ReadCache>>,
}

impl ReadKeeper {
    /// Returns the cache for the inputs of a plan; `None` if no input is in a store.
    pub(super) fn new(folder: &Path, plan: &ShardPlan) -> Outcome<Option<Self>> {
        if !plan.inputs.iter().any(|input| is_remote(input)) {
            return Ok(None);
        }
        let limit = space::free_bytes(folder)? / SPACE_SHARE;
        Ok(Some(Self { folder: folder.to_owned(), limit, kept: Mutex::default() }))
    }

    /// Returns the maximum size of the cache, in bytes.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the cached data, and stops caching.
    pub(super) fn into_kept(self) -> Vec<ReadCache> {
        let kept = self.kept.into_inner();
        kept.iter().for_each(ReadCache::close);
        kept
    }

    /// Caches reads of those of these files that are in stores. Files are given with their sizes.
    pub(super) fn keep<'f>(&self, files: impl Iterator<Item = (&'f Path, u64)>) -> Outcome<()> {
        let mut kept = self.kept.lock();
        let left = self.limit.saturating_sub(kept.iter().map(ReadCache::bytes).sum());
        kept.push(ReadCache::begin(&self.folder, left, files.filter(|(path, _)| is_remote(path)))?);
        Ok(())
    }
}
