//! Indexes of mixtures of token folders.

use gristmill_core::{Failure, Handles, Outcome, Subject};
use gristmill_data::source::kind::{DATASET_INDEX, SAMPLE_INDEX};
use gristmill_storage::files;
use gristmill_storage::read::open_read;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes of an index that are read at a time.
const READ_BYTES: usize = 1 << 20;
/// Limit of data sets of a mixture that are counted individually.
const MAX_DATASETS: usize = 100_000;
/// Size of each number in bytes.
const NUMBER_BYTES: u64 = 8;
/// Size of the beginning of a header up to the end of its length field, in bytes.
const NPY_PREFIX_BYTES: usize = 10;

/// The content of an index of a mixture.
#[derive(Clone, Debug, Serialize)]
pub struct MixtureFacts {
    /// Samples in one epoch.
    pub samples: u64,
    /// Size of both files in bytes.
    pub bytes: u64,
    /// Number of samples of each data set, by the number of the data set.
    pub datasets: BTreeMap<u64, u64>,
    /// Whether only a part of the index was read.
    pub more: bool,
}

/// Counts the samples of each data set in the first `limit` samples of an index of a mixture.
pub fn mixture_facts(folder: &Path, limit: u64, handles: &Handles<'_>) -> Outcome<MixtureFacts> {
    let damaged = |name: &str, why: &str| {
        Failure::data("reading the index of the mixture", why).on(Subject::path(folder.join(name)))
    };
    let file = open_read(&folder.join(DATASET_INDEX))?;
    let len = files::metadata(folder.join(SAMPLE_INDEX)).map_or(0, |facts| facts.len());
    let mut head = [0; 4096];
    let read = file.read_at(&mut head, 0).map_err(|error| Failure::io("reading the index", folder, &error))?;
    let header = u64::from(u16::from_le_bytes([head[8], head[9]])) + NPY_PREFIX_BYTES as u64;
    let text = usize::try_from(header).ok().and_then(|end| head.get(..end.min(read))).unwrap_or_default();
    let is_array = text.starts_with(b"\x93NUMPY\x01") && memchr::memmem::find(text, b"'<u8'").is_some();
    let numbers = file.len().checked_sub(header).filter(|bytes| is_array && bytes % NUMBER_BYTES == 0);
    let Some(bytes) = numbers else {
        return Err(damaged(DATASET_INDEX, "it is not an array of 64-bit numbers"));
    };
    if len != file.len() {
        return Err(damaged(SAMPLE_INDEX, "it has another length than the index of the data sets"));
    }
    let samples = bytes / NUMBER_BYTES;
    let end = header + samples.min(limit) * NUMBER_BYTES;
    let (mut at, mut buffer) = (header, vec![0; READ_BYTES]);
    let mut datasets = BTreeMap::new();
    while at < end {
        handles.cancel.check()?;
        let count = usize::try_from(end - at).unwrap_or(READ_BYTES).min(READ_BYTES);
        let piece = buffer.get_mut(..count).unwrap_or_default();
        let read = file.read_at(piece, at).map_err(|error| Failure::io("reading the index", folder, &error))?;
        let read = read - read % NUMBER_BYTES as usize;
        if read == 0 {
            return Err(damaged(DATASET_INDEX, "it ends early"));
        }
        for number in piece.get(..read).unwrap_or_default().chunks_exact(NUMBER_BYTES as usize) {
            let number = number.try_into().map_or(0, u64::from_le_bytes);
            *datasets.entry(number).or_insert(0) += 1;
        }
        if datasets.len() > MAX_DATASETS {
            return Err(damaged(DATASET_INDEX, "it names more than 100,000 data sets"));
        }
        at += read as u64;
    }
    Ok(MixtureFacts { samples, bytes: 2 * file.len(), datasets, more: samples > limit })
}
