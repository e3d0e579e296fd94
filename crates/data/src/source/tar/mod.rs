//! The tar scan: one pass over a shard's headers, grouped into samples by the key rule.
//!
//! Owns header parsing, the walk from entry to entry and the grouping; must not know tables, threads or terminals. The rules are those of
//! docs/formats/energon.md §3.

mod apple_double;
mod group;
mod header;
mod names;
mod notes;
mod pax;
mod prefix;
mod resync;
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
/// Samples arrive in order of `sample_index`, without gaps, ordinary and hidden ones counted together. Borrowed text is valid only during
/// the call. An error ends the scan and is passed through.
pub trait ScanSink {
    /// Receives one part of the sample that follows.
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()>;
    /// Receives the offset of the first header of the entry whose part comes next, if it is stored with a map of its holes.
    fn sparse_entry(&mut self, _offset: u64) {}
    /// Receives one sample, after its parts.
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()>;
    /// Receives a sample whose key is not UTF-8: it belongs in `.tar.idx`, not in the tables. No part precedes it.
    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()>;
    /// Receives a part that is no row because its key or its name is not UTF-8; see [`HiddenPart`].
    fn hidden_part(&mut self, _part: HiddenPart<'_>) -> Outcome<()> {
        Ok(())
    }
    /// Receives a sample that has only AppleDouble entries, which also belongs only in `.tar.idx`. No part precedes it.
    fn apple_double_sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        let SampleRow { sample_index, byte_offset, byte_size, .. } = row;
        self.hidden_sample(HiddenSample { sample_index, byte_offset, byte_size, is_damaged: false })
    }
}

/// A part of the sample that follows, of which the key or the name is not UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct HiddenPart<'a> {
    /// Key of the sample.
    pub key: &'a [u8],
    /// Name of the part.
    pub name: &'a [u8],
    /// Offset of its content.
    pub content_offset: u64,
    /// Bytes of content.
    pub size: u64,
}

/// Groups the entries of a shard that is being written, as a scan of it would.
pub struct WrittenShard<'a>(group::Grouper<'a>);

impl<'a> WrittenShard<'a> {
    /// Creates the groups of the shard called `name`.
    pub fn new(name: &'a str, sink: &'a mut dyn ScanSink) -> Self {
        Self(group::Grouper::new(name, sink))
    }

    /// Adds an entry with the offsets of its first header block and of its content. `start` is the beginning of its content.
    pub fn entry(&mut self, name: &[u8], (offset, content_offset): (u64, u64), size: u64, start: &[u8]) -> Outcome<()> {
        self.0.entry(name, &walk::Entry::regular(offset, content_offset, size), |magic| Ok(start.starts_with(magic)))
    }

    /// Ends the last sample at the end of the last entry. The stamp of the scan is not set.
    pub fn finish(self, end: u64) -> Outcome<ShardScan> {
        Ok(self.0.finish(end)?.0)
    }
}

/// Whether readers skip an entry of this name whatever it holds: its first folder or its name is framed by two underscores.
pub fn is_reserved(name: &[u8]) -> bool {
    names::is_reserved(name)
}

pub use gristmill_core::facts::MAX_PART_NAMES;
pub use header::{can_precede, BLOCK};
pub use notes::MISREAD_BY_PYTHON;
pub use prefix::write_prefixed;
pub use span::{each_entry, header_fields, header_offset, HeaderField, SpanEntry, SpanItem};
pub use sparse::{read_sparse_map, StoredRange};

/// Maximum number of samples per shard that are kept whole, for questions and field maps.
pub const MAX_SKETCHES: usize = 8;

/// Result of scanning a shard, in addition to the rows passed to the sink.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ShardScan {
    /// Samples in the shard, hidden ones included: `.tar.idx` holds `samples + 1` numbers.
    pub samples: u64,
    /// Samples among them of which an earlier index has no parts.
    #[serde(default)]
    pub without_parts: u64,
    /// Part name → statistics; at most [`PART_NAMES_KEPT`] names.
    pub parts: BTreeMap<String, PartFacts>,
    /// Combinations of these parts that occur in samples.
    #[serde(default)]
    pub part_sets: PartSets,
    /// End of the archive, in bytes of the (decompressed) archive: the last number of `.tar.idx`.
    pub end_offset: u64,
    /// Keys of samples that overlap damage: counted and in the tables, to be excluded from training.
    pub damaged_keys: Vec<String>,
    /// Whether something before the first sample is damaged. The loader reads that sample from the first byte of the shard, so it cannot
    /// reach any sample of the shard, excluded or not.
    pub damaged_start: bool,
    /// Entries added by the tar of macOS, if they are treated as parts.
    #[serde(default)]
    pub apple_double: Option<AppleDouble>,
    /// Keys of samples that have only such entries: counted, not in the tables, to be excluded from training.
    #[serde(default)]
    pub apple_double_keys: Vec<String>,
    /// Samples for answering questions, at most [`MAX_SKETCHES`]: the first ones, the later half of them replaced by later samples as the
    /// shard turns out to be longer.
    pub sketches: Vec<SampleSketch>,
    /// Size, time and inode of the file when the scan began.
    pub stamp: FileStamp,
    /// Whether the content is gzip, bzip2 or xz, regardless of the name: the loader cannot read it.
    pub compressed: bool,
}

/// Whether the sample of this number is kept among the sketches of its shard, of which there are `kept` so far: the first ones, then one at
/// each doubling.
pub fn is_sketched(index: u64, kept: usize) -> bool {
    kept < MAX_SKETCHES || index.is_power_of_two()
}

/// Adds a sketch; if there are enough, it replaces the oldest one of the later half.
pub fn keep_sketch(sketches: &mut Vec<SampleSketch>, sketch: SampleSketch) {
    if sketches.len() >= MAX_SKETCHES {
        sketches.remove(MAX_SKETCHES / 2);
    }
    sketches.push(sketch);
}

/// Splits an entry's name into key and part; `None` for names without a part.
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

/// One header block on its own, without the effect of extended headers before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainHeader {
    /// Prefix and name.
    pub name: Vec<u8>,
    /// Value of the size field, in bytes.
    pub size: u64,
    /// Whether it is an ordinary entry that can be a part: regular or contiguous, not sparse.
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
