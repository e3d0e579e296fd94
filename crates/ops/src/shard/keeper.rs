//! Keeps what listing the samples has read of files in stores, so that each byte is fetched once: contents are read again when shards are written.

use gristmill_core::{Outcome, ShardPlan};
use gristmill_storage::kept::ReadCache;
use gristmill_storage::location::is_remote;
use gristmill_storage::space;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Share of the free space of the scratch folder that is used.
const SPACE_SHARE: u64 = 2;

/// Keeps reads in a scratch folder.
pub struct ReadKeeper {
    folder: PathBuf,
    limit: u64,
    kept: Mutex<Vec<ReadCache>>,
}

impl ReadKeeper {
    /// Returns the keeper for the inputs of a plan; `None` if none of them is in a store.
    pub(super) fn new(folder: &Path, plan: &ShardPlan) -> Outcome<Option<Self>> {
        if !plan.inputs.iter().any(|input| is_remote(input)) {
            return Ok(None);
        }
        let limit = space::free_bytes(folder)? / SPACE_SHARE;
        Ok(Some(Self { folder: folder.to_owned(), limit, kept: Mutex::default() }))
    }

    /// Returns how many bytes are kept at most.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns what was read until now. What is read later is not kept.
    pub(super) fn into_kept(self) -> Vec<ReadCache> {
        let kept = self.kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        kept.iter().for_each(ReadCache::close);
        kept
    }

    /// Keeps what is read of those of these files, given with their sizes, that are in stores.
    pub(super) fn keep<'f>(&self, files: impl Iterator<Item = (&'f Path, u64)>) -> Outcome<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.limit.saturating_sub(kept.iter().map(ReadCache::bytes).sum());
        kept.push(ReadCache::begin(&self.folder, left, files.filter(|(path, _)| is_remote(path)))?);
        Ok(())
    }
}
