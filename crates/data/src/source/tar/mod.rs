//! The tar scan: one pass over the headers of a shard, whose entries are grouped into samples by the key rule.
//!
//! Owns the parsing of headers, the walk from entry to entry, and the grouping (docs/formats/energon.md §3); must not depend on tables,
//! threads or terminals.

mod apple_double;
mod group;
mod header;
mod names;
mod notes;
mod pax;
mod prefix;
mod scan;
mod scouts;
mod span;
mod sparse;
mod walk;
mod window;

use gristmill_core::{
    AppleDouble, FileStamp, Handles, HiddenSample, Outcome, PartFacts, PartRow, PartSets, SampleRow, SampleSketch,
    Shard,
};
use std::collections::BTreeMap;

/// Receives the results of a scan. The parts of a sample are passed first, in archive order, then the sample itself.
///
/// Samples arrive in order of `sample_index`, without gaps; hidden samples are numbered together with ordinary ones. Borrowed text is valid
/// only during the call. An error ends the scan, which returns it.
pub trait ScanSink {
    /// Receives one part of the sample that follows.
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()>;
    /// Receives the offset of the first header of a sparse entry, before the part of this entry.
    fn sparse_entry(&mut self, _offset: u64) {}
    /// Receives one sample, after its parts.
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()>;
    /// Receives a sample whose key is not UTF-8, which is listed in `.tar.idx` but not in the tables. No part precedes it.
    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()>;
    /// Receives a part that has no row because its key or its name is not UTF-8; see [`HiddenPart`].
    fn hidden_part(&mut self, _part: HiddenPart<'_>) -> Outcome<()> {
        Ok(())
    }
    /// Receives a sample that has only AppleDouble entries, which is listed in `.tar.idx` but not in the tables. No part precedes it.
    fn apple_double_sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        let SampleRow { sample_index, byte_offset, byte_size, .. } = row;
        self.hidden_sample(HiddenSample { sample_index, byte_offset, byte_size, is_damaged: false })
    }
}

/// A part of the next sample whose key or name is not UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct HiddenPart<'a> {
    /// Key of the sample.
    pub key: &'a [u8],
    /// Name of the part.
    pub name: &'a [u8],
    /// Offset of the content in the archive, in bytes.
    pub content_offset: u64,
    /// Size of the content, in bytes.
    pub size: u64,
}

/// Groups the entries of a shard while it is written, with the same result as a scan of the shard.
pub struct WrittenShard<'a>(group::Grouper<'a>);

impl<'a> WrittenShard<'a> {
    /// Creates a grouper for the shard with the name `name`.
    pub fn new(name: &'a str, sink: &'a mut dyn ScanSink) -> Self {
        Self(group::Grouper::new(name, sink))
    }

    /// Adds an entry. `offset` is that of its first header block, `content_offset` that of its content, and `start` has the first bytes of
    /// the content.
    pub fn entry(&mut self, name: &[u8], (offset, content_offset): (u64, u64), size: u64, start: &[u8]) -> Outcome<()> {
        self.0.entry(name, &walk::Entry::regular(offset, content_offset, size), |magic| Ok(start.starts_with(magic)))
    }

    /// Ends the last sample at the end of the last entry. The stamp of the scan is not set.
    pub fn finish(self, end: u64) -> Outcome<ShardScan> {
        Ok(self.0.finish(end)?.0)
    }
}

/// Whether readers skip an entry because of its name: its first component begins and ends with two underscores.
pub fn is_reserved(name: &[u8]) -> bool {
    names::is_reserved(name)
}

pub use gristmill_core::facts::MAX_PART_NAMES;
pub use header::{may_be_header_of, BLOCK};
pub use notes::MISREAD_BY_PYTHON;
pub use prefix::write_prefixed;
pub use span::{each_entry, header_fields, header_offset, HeaderField, SpanEntry, SpanItem};
pub use sparse::{read_sparse_map, StoredRange};

/// Maximum number of sketches of samples per shard, for questions and field maps.
pub const MAX_SKETCHES: usize = 8;

/// Result of scanning a shard, in addition to the rows passed to the sink.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ShardScan {
    /// Number of samples in the shard, including hidden ones; `.tar.idx` has `samples + 1` numbers.
    pub samples: u64,
    /// Number of samples whose parts are unknown, because an earlier index does not list them.
    #[serde(default)]
    pub without_parts: u64,
    /// Statistics by part name, at most [`MAX_PART_NAMES`] names.
    pub parts: BTreeMap<String, PartFacts>,
    /// Combinations of these part names that occur in samples.
    #[serde(default)]
    pub part_sets: PartSets,
    /// Offset of the end of the (decompressed) archive, which is the last number in `.tar.idx`.
    pub end_offset: u64,
    /// Keys of samples that overlap damage. They are counted and in the tables, and must be excluded from training.
    pub damaged_keys: Vec<String>,
    /// Whether bytes before the first sample are damaged. The loader reads the first sample from the first byte of the shard, so it then
    /// cannot read any sample of the shard, excluded or not.
    pub damaged_start: bool,
    /// Facts about the entries that the tar of macOS adds, if they are treated as parts.
    #[serde(default)]
    pub apple_double: Option<AppleDouble>,
    /// Keys of samples that have only AppleDouble entries. They are counted but not in the tables, and must be excluded from training.
    #[serde(default)]
    pub apple_double_keys: Vec<String>,
    /// Sketches of samples, at most [`MAX_SKETCHES`]: the first samples, the later half of which are replaced by later samples in a long
    /// shard.
    pub sketches: Vec<SampleSketch>,
    /// Stamp of the file when the scan began.
    pub stamp: FileStamp,
    /// Whether the content is compressed with gzip, bzip2 or xz, regardless of the name; the loader cannot read it.
    pub compressed: bool,
}

/// Whether the sample with this number is added to the sketches of its shard, of which there are `kept`: the first samples, then the
/// samples whose numbers are powers of two.
pub fn is_sketched(index: u64, kept: usize) -> bool {
    kept < MAX_SKETCHES || index.is_power_of_two()
}

/// Adds a sketch; if the maximum is reached, it replaces the oldest sketch of the later half.
pub fn keep_sketch(sketches: &mut Vec<SampleSketch>, sketch: SampleSketch) {
    if sketches.len() >= MAX_SKETCHES {
        sketches.remove(MAX_SKETCHES / 2);
    }
    sketches.push(sketch);
}

/// Splits the name of an entry into key and part; `None` for names without a part.
pub fn split_name(name: &str) -> Option<(&str, &str)> {
    let dot = names::split(name.as_bytes())?;
    Some((name.get(..dot)?, name.get(dot + 1..)?))
}

/// Scans one shard, plain or compressed, and passes its samples to `sink`.
///
/// Damage is reported as problems and never fails the scan; an error means that the file cannot be read, that the sink returned an error,
/// or that the scan was cancelled. Adds bytes to the progress continuously and one item at the end.
pub fn scan_shard(shard: &Shard, sink: &mut dyn ScanSink, handles: &Handles<'_>) -> Outcome<ShardScan> {
    scan::scan(shard, sink, handles)
}

/// Size of a tar block in bytes, the unit of headers and padding.
pub const BLOCK_BYTES: u64 = header::BLOCK_BYTES;

/// A header block parsed alone, without the extended headers before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainHeader {
    /// Prefix and name.
    pub name: Vec<u8>,
    /// Value of the size field, in bytes.
    pub size: u64,
    /// Whether the entry can be a part and is not sparse: a regular or contiguous file.
    pub is_regular: bool,
}

/// Parses one block as a header; returns `None` when its checksum or numbers are invalid.
pub fn header_at(block: &[u8; 512]) -> Option<PlainHeader> {
    let header::Block::Header(header) = header::classify(block) else { return None };
    let mut name = header.prefix().to_vec();
    if !name.is_empty() {
        name.push(b'/');
    }
    name.extend_from_slice(header.own_name());
    let is_regular = header.is_regular() && header.type_flag != b'S';
    Some(PlainHeader { name, size: u64::try_from(header.size).ok()?, is_regular })
}

#[cfg(test)]
mod tests;
