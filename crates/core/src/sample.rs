//! What indexing learns of a sample: rows, never contents.

use serde::{Deserialize, Serialize};

/// One part of a sample, as it goes into `sample_parts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartRow<'a> {
    /// Everything after the first dot of the last path component; may be empty, case kept.
    pub part_name: &'a str,
    /// First byte of the content in the (decompressed) archive.
    pub content_byte_offset: u64,
    /// Length of the content in bytes; may be 0.
    pub content_byte_size: u64,
}

/// One sample, as it goes into `samples`; follows its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRow<'a> {
    /// The key: folders included, unique over the whole data set.
    pub key: &'a str,
    /// Running number inside its shard, counted from 0.
    pub sample_index: u64,
    /// Offset of the first header block of its first entry.
    pub byte_offset: u64,
    /// Up to the next sample, headers, padding and skipped entries included.
    pub byte_size: u64,
}

/// A sample whose key is not UTF-8: it counts and has its place in `.tar.idx`, and no row in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiddenSample {
    /// Running number inside its shard, counted from 0, shared with the ordinary samples.
    pub sample_index: u64,
    /// Offset of the first header block of its first entry.
    pub byte_offset: u64,
    /// Up to the next sample, headers, padding and skipped entries included.
    pub byte_size: u64,
}

/// A sample small enough to keep: what the guided prepare shows and evaluates field maps on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleSketch {
    /// Relative name of its shard.
    pub shard: String,
    /// Its key.
    pub key: String,
    /// Part name, content offset and content size of each part, in archive order.
    pub parts: Vec<(String, u64, u64)>,
}
