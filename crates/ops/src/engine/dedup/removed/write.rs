//! Writes the file of ranges.

use super::{Directory, MAGIC, ROW_BYTES};
use gristmill_core::{Failure, Outcome};
use gristmill_data::formats::bsade::Range;
use gristmill_storage::sort::bytes::push_int;
use serde::{Deserialize, Serialize};

/// Size at which a block ends, in bytes: after the document that reaches it.
const BLOCK_BYTES: usize = 4 << 10;

/// Finished blocks, and the block that is being filled.
#[derive(Debug, Default)]
pub struct RangeBlocks {
    bytes: Vec<u8>,
    /// For each block: offset in `bytes`, offset of the line of its first document, number of documents.
    blocks: Vec<(usize, u64, u32)>,
    /// Offset and number of the line of the last document.
    last: (u64, u64),
}

impl RangeBlocks {
    /// Adds the next document with ranges: offset of its line, line number counted from 0, and the ranges.
    pub fn add(&mut self, start: u64, line: u64, ranges: &[Range]) {
        let is_full = self.blocks.last().is_none_or(|last| self.bytes.len() - last.0 >= BLOCK_BYTES);
        if is_full {
            self.blocks.push((self.bytes.len(), start, 0));
            self.last = (start, 0);
        }
        push_int(&mut self.bytes, start - self.last.0);
        push_int(&mut self.bytes, line - self.last.1);
        push_int(&mut self.bytes, ranges.len() as u64);
        let mut end = 0;
        for range in ranges {
            push_int(&mut self.bytes, range.start.saturating_sub(end));
            push_int(&mut self.bytes, range.end.saturating_sub(range.start));
            end = range.end;
        }
        self.last = (start, line);
        if let Some(block) = self.blocks.last_mut() {
            block.2 += 1;
        }
    }

    /// Whether there are no blocks.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the size of the blocks in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// The size of a section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectionFacts {
    /// The number of documents with ranges.
    pub documents: u64,
    /// Bytes of the blocks; the table follows them.
    pub block_bytes: u64,
    /// The number of blocks.
    pub blocks: u64,
}

impl SectionFacts {
    /// Returns the bytes of the whole section.
    pub fn bytes(&self) -> u64 {
        self.block_bytes.saturating_add(self.blocks.saturating_mul(ROW_BYTES as u64))
    }
}

/// The section of one file while it is written. Its table is held in memory: 32 bytes per 4 KiB of blocks.
#[derive(Debug, Default)]
pub struct Section {
    facts: SectionFacts,
    table: Vec<u8>,
}

impl Section {
    /// Adds blocks and returns the bytes to write. Empties `gathered`.
    pub fn add(&mut self, gathered: &mut RangeBlocks) -> Vec<u8> {
        let gathered = std::mem::take(gathered);
        let ends = gathered.blocks.iter().skip(1).map(|block| block.0).chain([gathered.bytes.len()]);
        for (&(at, start, documents), end) in gathered.blocks.iter().zip(ends) {
            for number in [self.facts.block_bytes + at as u64, self.facts.documents, start] {
                self.table.extend_from_slice(&number.to_le_bytes());
            }
            // A block exceeds its target size by the ranges of at most one document.
            let len = u32::try_from(end - at).unwrap_or(u32::MAX);
            self.table.extend_from_slice(&len.to_le_bytes());
            self.table.extend_from_slice(&documents.to_le_bytes());
            self.facts.documents += u64::from(documents);
            self.facts.blocks += 1;
        }
        self.facts.block_bytes += gathered.bytes.len() as u64;
        gathered.bytes
    }

    /// Ends the section. Returns the last bytes to write, and the section's size.
    pub fn end(&mut self) -> (Vec<u8>, SectionFacts) {
        let Self { facts, table } = std::mem::take(self);
        (table, facts)
    }
}

/// Returns the bytes after the sections; they are written at offset `at`.
pub fn end(directory: &Directory, at: u64) -> Outcome<Vec<u8>> {
    let json = serde_json::to_vec(directory);
    let mut bytes = json.map_err(|error| Failure::environment("writing the ranges", error.to_string()))?;
    let len = bytes.len() as u64;
    bytes.extend_from_slice(&at.to_le_bytes());
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(&MAGIC);
    Ok(bytes)
}
