//! Compressed shards: recognized by their first bytes, regardless of the name, and read as a stream with limits.

use crate::source::documents::packing::{Packing, UnpackedReader};
use gristmill_core::Outcome;
use gristmill_storage::read::ReadFile;
use std::sync::Arc;

/// Name of this step in failures.
const ACTIVITY: &str = "reading the shard";

/// Returns the compression of an open shard; `None` for a plain shard, and for a compression that Python's `tarfile` does not read.
pub(crate) fn shard_packing(file: &ReadFile) -> Outcome<Option<Packing>> {
    let is_read = |packing: &Packing| matches!(packing, Packing::Gzip | Packing::Bzip2 | Packing::Xz);
    Ok(Packing::of_start(file, ACTIVITY)?.filter(is_read))
}

/// Reads the decompressed bytes of a shard from the first byte.
pub(crate) fn open_compressed(file: Arc<ReadFile>, packing: Packing) -> Outcome<UnpackedReader> {
    Ok(UnpackedReader::new(file, packing)?.named(ACTIVITY))
}
