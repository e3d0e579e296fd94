//! The tar scan: one pass over a shard's headers, grouped into samples by the key rule.
//!
//! Owns header parsing, the walk from entry to entry and the grouping; knows nothing of tables, threads or terminals.
//! The rules are those of docs/formats/energon.md §3.

mod apple_double;
mod group;
mod header;
mod names;
mod notes;
mod pax;
mod resync;
mod scan;
mod span;
mod walk;
mod window;

use gristmill_core::{
    AppleDouble, FileStamp, Handles, HiddenSample, Outcome, PartFacts, PartRow, PartSets, SampleRow, SampleSketch,
    Shard,
};
use std::collections::BTreeMap;

/// Takes what a scan finds. The parts of a sample come first, in archive order, then the sample itself.
///
/// Samples arrive in order of `sample_index`, without gaps, ordinary and hidden ones counted together. Borrowed text is
/// valid only during the call. An error ends the scan and is handed through.
pub trait ScanSink {
    /// Takes one part of the sample that follows.
    fn part(&mut self, row: PartRow<'_>) -> Outcome<()>;
    /// Takes one sample, after its parts.
    fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()>;
    /// Takes a sample whose key is not UTF-8: it belongs into `.tar.idx`, not into the tables. No part precedes it.
    fn hidden_sample(&mut self, row: HiddenSample) -> Outcome<()>;
    /// Takes a sample of nothing but AppleDouble entries, which belongs into `.tar.idx` alone as well. No part precedes it.
    fn apple_double_sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
        let SampleRow { sample_index, byte_offset, byte_size, .. } = row;
        self.hidden_sample(HiddenSample { sample_index, byte_offset, byte_size })
    }
}

pub use gristmill_core::facts::PART_NAMES_KEPT;
pub use span::{each_entry, header_fields, header_offset, HeaderField, SpanEntry, SpanItem};

/// Samples kept whole per shard, for questions and field maps.
pub const SKETCHES_KEPT: usize = 8;

/// What one scan of a shard found, besides the rows it handed to the sink.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ShardScan {
    /// Samples in the shard, hidden ones included: `.tar.idx` gets `samples + 1` numbers.
    pub samples: u64,
    /// Part name → figures; at most [`PART_NAMES_KEPT`] names.
    pub parts: BTreeMap<String, PartFacts>,
    /// Which of these parts samples have together.
    #[serde(default)]
    pub part_sets: PartSets,
    /// Where the archive ends, in bytes of the (decompressed) archive: the last number of `.tar.idx`.
    pub end_offset: u64,
    /// Keys of samples that touch damage: counted and in the tables, to be excluded from training.
    pub damaged_keys: Vec<String>,
    /// Something before the first sample is damaged. The loader reads that sample from the first byte of the shard, so that
    /// it comes to no sample of it, excluded or not.
    pub damaged_start: bool,
    /// Entries that the tar of macOS adds, where they are taken for parts.
    #[serde(default)]
    pub apple_double: Option<AppleDouble>,
    /// Keys of samples that have nothing but such entries: counted, not in the tables, to be excluded from training.
    #[serde(default)]
    pub apple_double_keys: Vec<String>,
    /// Samples of which many questions can be answered, at most [`SKETCHES_KEPT`]: the first ones, the later half of them
    /// replaced by ones from farther on as the shard turns out to be longer.
    pub sketches: Vec<SampleSketch>,
    /// Size, time and inode of the file when the scan began.
    pub stamp: FileStamp,
    /// The content is gzip, bzip2 or xz, whatever the name says: the loader cannot read it.
    pub compressed: bool,
}

/// Whether the sample of this number is kept among the sketches of its shard, of which there are `kept` so far: the first ones,
/// then one at each doubling.
pub(crate) fn is_sketched(index: u64, kept: usize) -> bool {
    kept < SKETCHES_KEPT || index.is_power_of_two()
}

/// Adds a sketch; where there are enough, the oldest one of the later half makes room.
pub(crate) fn keep_sketch(sketches: &mut Vec<SampleSketch>, sketch: SampleSketch) {
    if sketches.len() >= SKETCHES_KEPT {
        sketches.remove(SKETCHES_KEPT / 2);
    }
    sketches.push(sketch);
}

/// Key and part of an entry's name; `None` for names without a part.
pub fn split_name(name: &str) -> Option<(&str, &str)> {
    let dot = names::split(name.as_bytes())?;
    Some((name.get(..dot)?, name.get(dot + 1..)?))
}

/// Scans one shard, plain or compressed, and hands its samples to `sink`.
///
/// Damage is reported as problems and never fails the scan; an error means that the file cannot be read, that the sink
/// refused, or that the scan was cancelled. Adds bytes to the progress as it goes and one item at the end.
pub fn scan_shard(shard: &Shard, sink: &mut dyn ScanSink, handles: &Handles<'_>) -> Outcome<ShardScan> {
    scan::scan(shard, sink, handles)
}

/// Size of a tar block in bytes: headers and padding come in these.
pub const BLOCK_BYTES: u64 = header::BLOCK_BYTES;

/// One header block on its own, without what extended headers in front of it may say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainHeader {
    /// Prefix and name.
    pub name: Vec<u8>,
    /// The size field.
    pub size: u64,
    /// An ordinary entry that can be a part: regular or contiguous, not sparse.
    pub is_regular: bool,
}

/// Reads one block as a header; `None` when its checksum or numbers do not hold.
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
