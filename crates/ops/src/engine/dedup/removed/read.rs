//! Reads ranges: the directory when the file is opened, documents on demand.

use super::{Directory, RangesOfFile, SectionFacts, Source, MAGIC, ROW_BYTES, VERSION};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::read::{open_read, ReadFile};
use std::ops::Range;
use std::path::Path;

/// Limit of the size of the directory, and of the size of a block, in bytes.
const MAX_DIRECTORY_BYTES: u64 = 256 << 20;
const MAX_BLOCK_BYTES: u32 = 64 << 20;

/// A document with ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Position among all documents with ranges.
    pub number: u64,
    /// Position of the file in the set.
    pub file: usize,
    /// Offset of the line in the uncompressed file in bytes.
    pub start: u64,
    /// Number of the line, counted from 0.
    pub line: u64,
    /// Ranges in bytes of the text, in order; their ends may be inside characters.
    pub ranges: Vec<Range<u64>>,
}

impl Document {
    /// Returns the total length of the ranges in bytes.
    pub fn removed(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }
}

/// The ranges of a run.
#[derive(Debug)]
pub struct RemovedRanges {
    file: ReadFile,
    directory: Directory,
    /// Number of documents before each file, followed by the total.
    before: Vec<u64>,
}

/// A row of the table.
#[derive(Clone, Copy)]
struct Block {
    at: u64,
    before: u64,
    start: u64,
    len: u32,
    documents: u32,
}

impl RemovedRanges {
    /// Opens the ranges of a run.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a file of ranges.
    pub fn open(path: &Path) -> Outcome<Self> {
        let file = open_read(path)?;
        let mut removed =
            Self { file, directory: Directory::new("", 0, Default::default(), Default::default()), before: vec![0] };
        let mut end = [0; 24];
        let last = removed.file.len().checked_sub(24).ok_or_else(|| removed.damaged("it is too short"))?;
        removed.fill(last, &mut end)?;
        let (at, len) = (number_at(&end, 0), number_at(&end, 8));
        if end.get(16..) != Some(&MAGIC[..]) || at.checked_add(len) != Some(last) || len > MAX_DIRECTORY_BYTES {
            return Err(removed.damaged("its end is not that of ranges"));
        }
        let mut json = vec![0; len as usize];
        removed.fill(at, &mut json)?;
        let decoded: Result<Directory, _> = serde_json::from_slice(&json);
        removed.directory = decoded.map_err(|error| removed.damaged(&format!("its directory: {error}")))?;
        if removed.directory.version != VERSION {
            return Err(removed.damaged("another version of the program made it"));
        }
        let mut sum = 0_u64;
        for file in &removed.directory.files {
            if file.at.checked_add(file.section.bytes()).is_none_or(|end| end > at) {
                return Err(removed.damaged("a section reaches over its end"));
            }
            sum = sum.saturating_add(file.section.documents);
            removed.before.push(sum);
        }
        Ok(removed)
    }

    fn damaged(&self, why: &str) -> Failure {
        Failure::data("reading the ranges of a run", why.to_owned())
            .on(Subject::path(self.file.path()))
            .with_hint("`gristmill dedup --force-overwrite` with the same plan makes it again")
    }

    fn fill(&self, at: u64, bytes: &mut [u8]) -> Outcome<()> {
        let path = self.file.path();
        self.file.read_exact_at(bytes, at).map_err(|error| Failure::io("reading the ranges of a run", path, &error))
    }

    /// Returns the description of the run.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns the number of documents with ranges.
    pub fn len(&self) -> u64 {
        self.before.last().copied().unwrap_or_default()
    }

    /// Whether no document has ranges.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of the first document with ranges of a file; if it has none, of the next file that has some.
    pub fn first_of(&self, file: usize) -> u64 {
        self.before.get(file).copied().unwrap_or_else(|| self.len())
    }

    /// Returns a file by its position in the earlier set followed by the set.
    pub fn source(&self, number: usize) -> Option<&Source> {
        let earlier = self.directory.earlier.len();
        match number.checked_sub(earlier) {
            None => self.directory.earlier.get(number),
            Some(own) => self.directory.files.get(own).map(|file| &file.source),
        }
    }

    /// Returns the bytes of the text, and the bytes in ranges.
    pub fn totals(&self) -> (u64, u64) {
        let add = |(text, removed): (u64, u64), file: &RangesOfFile| {
            (text.saturating_add(file.text_bytes), removed.saturating_add(file.removed_bytes))
        };
        self.directory.files.iter().fold((0, 0), add)
    }

    fn block(&self, file: &RangesOfFile, number: u64) -> Outcome<Block> {
        let mut row = [0; ROW_BYTES];
        self.fill(file.at + file.section.block_bytes + number * ROW_BYTES as u64, &mut row)?;
        let SectionFacts { documents, block_bytes, .. } = file.section;
        let lengths = number_at(&row, 24);
        let block = Block {
            at: number_at(&row, 0),
            before: number_at(&row, 8),
            start: number_at(&row, 16),
            len: lengths as u32,
            documents: (lengths >> 32) as u32,
        };
        let is_inside = block.at.checked_add(u64::from(block.len)).is_some_and(|end| end <= block_bytes)
            && block.before.checked_add(u64::from(block.documents)).is_some_and(|end| end <= documents)
            && block.len <= MAX_BLOCK_BYTES;
        is_inside.then_some(block).ok_or_else(|| self.damaged("a block reaches over its section"))
    }

    /// Returns the last block of a file for which `is_before` holds; blocks are in order.
    fn last_block(&self, file: &RangesOfFile, is_before: impl Fn(&Block) -> bool) -> Outcome<Option<Block>> {
        let (mut low, mut high) = (0, file.section.blocks);
        let mut found = None;
        while low < high {
            let middle = low + (high - low) / 2;
            let block = self.block(file, middle)?;
            if is_before(&block) {
                (low, found) = (middle + 1, Some(block));
            } else {
                high = middle;
            }
        }
        Ok(found)
    }

    fn documents_of(&self, number: usize, file: &RangesOfFile, block: &Block) -> Outcome<Vec<Document>> {
        let mut bytes = vec![0; block.len as usize];
        self.fill(file.at + block.at, &mut bytes)?;
        let mut rest = bytes.as_slice();
        let (mut start, mut line) = (block.start, 0_u64);
        let mut documents = Vec::new();
        let first = self.first_of(number) + block.before;
        for at in 0..u64::from(block.documents) {
            let decoded = next_document(&mut rest, &mut start, &mut line);
            let ranges = decoded.ok_or_else(|| self.damaged("a block ends before its documents do"))?;
            documents.push(Document { number: first + at, file: number, start, line, ranges });
        }
        Ok(documents)
    }

    /// Returns `count` documents of all files from number `from` on, fewer at the end.
    pub fn documents(&self, from: u64, count: usize) -> Outcome<Vec<Document>> {
        let mut found: Vec<Document> = Vec::new();
        let mut next = from;
        while found.len() < count && next < self.len() {
            let number = self.before.partition_point(|before| *before <= next).saturating_sub(1);
            let Some(file) = self.directory.files.get(number) else { break };
            let within = next - self.first_of(number);
            let block = self.last_block(file, |block| block.before <= within)?;
            let block = block.ok_or_else(|| self.damaged("a document is in no block"))?;
            let of_block = self.documents_of(number, file, &block)?;
            let end = of_block.last().map_or(0, |last| last.number + 1);
            if end <= next {
                return Err(self.damaged("a document is in no block"));
            }
            found.extend(of_block.into_iter().filter(|document| document.number >= next));
            next = end;
        }
        found.truncate(count);
        Ok(found)
    }

    /// Returns the document of a file of the set whose line begins at offset `start`, if it has ranges.
    pub fn find(&self, number: usize, start: u64) -> Outcome<Option<Document>> {
        let Some(file) = self.directory.files.get(number) else { return Ok(None) };
        let Some(block) = self.last_block(file, |block| block.start <= start)? else { return Ok(None) };
        Ok(self.documents_of(number, file, &block)?.into_iter().find(|document| document.start == start))
    }
}

fn number_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Decodes a variable-length number with 7 bits per byte.
fn decode_varint(rest: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let (byte, remainder) = rest.split_first()?;
        *rest = remainder;
        let bits = u64::from(byte & 0x7f);
        if shift > 63 || (shift == 63 && bits > 1) {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

/// Decodes the next document of a block. Returns its ranges, and advances `start` and `line` to it.
fn next_document(rest: &mut &[u8], start: &mut u64, line: &mut u64) -> Option<Vec<Range<u64>>> {
    *start = start.checked_add(decode_varint(rest)?)?;
    *line = line.checked_add(decode_varint(rest)?)?;
    let count = decode_varint(rest)?;
    let mut ranges = Vec::new();
    let mut end = 0_u64;
    for _ in 0..count {
        let from = end.checked_add(decode_varint(rest)?)?;
        end = from.checked_add(decode_varint(rest)?)?;
        ranges.push(from..end);
    }
    Some(ranges)
}
