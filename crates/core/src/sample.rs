//! The data that indexing records about samples: positions and names, but no content.

use serde::{Deserialize, Serialize};

/// One part of a sample, as stored in `sample_parts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartRow<'a> {
    /// The text after the first dot of the last path component; may be empty. Case is preserved.
    pub part_name: &'a str,
    /// Offset of the content in the (decompressed) archive, in bytes.
    pub content_byte_offset: u64,
    /// Length of the content in bytes; may be 0.
    pub content_byte_size: u64,
}

/// A sample, as stored in `samples`. It is passed after its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleRow<'a> {
    /// The key, including folders; unique in the whole data set.
    pub key: &'a str,
    /// Index of the sample in its shard.
    pub sample_index: u64,
    /// Offset of the first header block of its first entry, in bytes.
    pub byte_offset: u64,
    /// Size in bytes up to the next sample, including headers, padding and skipped entries.
    pub byte_size: u64,
}

/// A sample whose key is not UTF-8. It is counted and has an entry in `.tar.idx`, but no row in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HiddenSample {
    /// Index in its shard, counted together with ordinary samples.
    pub sample_index: u64,
    /// Offset of the first header block of its first entry, in bytes.
    pub byte_offset: u64,
    /// Size in bytes up to the next sample, including headers, padding and skipped entries.
    pub byte_size: u64,
    /// Whether the sample is damaged, so that parts may be missing.
    pub is_damaged: bool,
}

/// A small description of a sample, which guided `prepare` shows and on which it evaluates field maps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleSketch {
    /// Relative name of the shard of the sample.
    pub shard: String,
    /// The key of the sample.
    pub key: String,
    /// Part name, content offset and content size of each part, in the order of the archive.
    pub parts: Vec<(String, u64, u64)>,
}
