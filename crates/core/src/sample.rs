//! What indexing records about a sample: rows, never contents.

use serde::{Deserialize, Serialize};

/// One part of a sample, as stored in `sample_parts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartRow<'a> {
    /// Everything after the first dot of the last path component; may be empty, case preserved.
    pub part_name: &'a str,
    /// Offset of the content in the (decompressed) archive, in bytes.
    pub content_byte_offset: u64,
    /// Length of the content in bytes; may be 0.
    pub content_byte_size: u64,
}

/// One sample, as stored in `samples`; follows its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRow<'a> {
    /// The key, including folders; unique over the whole data set.
    pub key: &'a str,
    /// Number within its shard, counted from 0.
    pub sample_index: u64,
    /// Offset of the first header block of its first entry, in bytes.
    pub byte_offset: u64,
    /// Size in bytes up to the next sample, including headers, padding and skipped entries.
    pub byte_size: u64,
}

/// A sample whose key is not UTF-8: it is counted and has an entry in `.tar.idx`, but no row in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiddenSample {
    /// Number within its shard, counted from 0, in one sequence with the ordinary samples.
    pub sample_index: u64,
    /// Offset of the first header block of its first entry, in bytes.
    pub byte_offset: u64,
    /// Size in bytes up to the next sample, including headers, padding and skipped entries.
    pub byte_size: u64,
    /// Whether it touches damage, so that parts may be missing.
    pub is_damaged: bool,
}

/// A sample small enough to keep: guided prepare shows it and evaluates field maps on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleSketch {
    /// Relative name of its shard.
    pub shard: String,
    /// Its key.
    pub key: String,
    /// Part name, content offset and content size of each part, in archive order.
    pub parts: Vec<(String, u64, u64)>,
}
