//! Maps of sparse entries, which list the ranges of a file that are stored in the archive; the rest of the file is zeros
//! (docs/formats/webdataset.md §3.1).
//!
//! There are four formats: GNU's, with the map in header blocks, and the pax formats 0.0 (repeated records), 0.1 (one record) and 1.0
//! (lines before the content).

use super::header::{classify, number, python_int, Block, BLOCK, BLOCK_BYTES};
use super::pax::{record, PaxRecords};
use super::walk::{Step, Walker};
use super::window::{FileWindow, Window};
use gristmill_core::{Cancel, Outcome};
use gristmill_storage::read::ReadFile;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of ranges of one entry.
const MAX_STORED_RANGES: usize = 1 << 18;
/// Largest file whose holes are filled, in bytes: the limit of ext4.
const MAX_FILE_BYTES: u64 = 1 << 44;
/// Size in bytes of a number in maps of GNU's format; then that of an offset with a length.
const NUMBER: usize = 12;
const PAIR: usize = 2 * NUMBER;
/// Range of the map in a GNU header; then in an extension block.
const IN_HEADER: Range<usize> = 386..482;
const IN_EXTENSION: Range<usize> = 0..504;

/// A stored range of a sparse file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRange {
    /// Offset in the file, in bytes.
    pub at: u64,
    /// Offset in the archive, in bytes.
    pub offset: u64,
    /// Length in bytes, not 0.
    pub bytes: u64,
}

/// Returns the stored ranges, in order, of the sparse entry whose first header is at `offset` and whose file has `size` bytes. The inner
/// error is the reason why the map cannot be used.
pub fn read_sparse_map(
    file: &Arc<ReadFile>,
    offset: u64,
    size: u64,
    cancel: &Cancel,
) -> Outcome<Result<Vec<StoredRange>, &'static str>> {
    if size > MAX_FILE_BYTES {
        return Ok(Err("its file has more than 16 TiB"));
    }
    let mut walker = Walker::new(FileWindow::with_end(Arc::clone(file), file.len()), cancel);
    walker.at = offset;
    let Step::Entry(entry) = walker.step()? else { return Ok(Err("its headers are damaged")) };
    if !entry.is_sparse || entry.size != size {
        return Ok(Err("its headers do not describe it alone"));
    }
    let stored = walker.at.saturating_sub(entry.content_offset);
    let map = read_numbers(&mut walker.window, offset, entry.content_offset)?;
    Ok(map.and_then(|numbers| stored_ranges(&numbers, entry.content_offset, stored, size)))
}

/// Returns the numbers of the map: offsets and lengths alternately.
fn read_numbers(window: &mut FileWindow, offset: u64, content_offset: u64) -> Outcome<Result<Vec<u64>, &'static str>> {
    let (mut at, mut records, mut numbers) = (offset, PaxRecords::default(), Vec::new());
    loop {
        let Ok(block) = <[u8; BLOCK]>::try_from(window.bytes(at, BLOCK)?) else { return Ok(Err(BROKEN)) };
        let Block::Header(header) = classify(&block) else { return Ok(Err(BROKEN)) };
        at += BLOCK_BYTES;
        if !header.is_extension() {
            return match header.type_flag {
                b'S' => read_blocks(window, &block, at..content_offset),
                // Two maps may contradict each other, so an entry with two is refused.
                _ if records.has_map_in_content() && !numbers.is_empty() => Ok(Err(BROKEN)),
                _ if records.has_map_in_content() => read_lines(window, at..content_offset),
                _ => Ok(numbers.into_iter().collect::<Option<Vec<u64>>>().ok_or(BROKEN)),
            };
        }
        let Ok(payload_bytes) = usize::try_from(header.size) else { return Ok(Err(BROKEN)) };
        let payload = window.bytes(at, payload_bytes)?;
        if matches!(header.type_flag, b'x' | b'X') {
            if records.read(payload).is_err() {
                return Ok(Err(BROKEN));
            }
            push_records(payload, &mut numbers);
        }
        at += payload_bytes.next_multiple_of(BLOCK) as u64;
    }
}

const BROKEN: &str = "its map of holes is broken";

/// Appends the numbers in pax records of the formats 0.0 and 0.1; `None` for an invalid number.
fn push_records(payload: &[u8], numbers: &mut Vec<Option<u64>>) {
    let mut rest = payload;
    while let Some((keyword, value, length)) = record(rest) {
        match (keyword, numbers.len() % 2) {
            (b"GNU.sparse.offset", 0) | (b"GNU.sparse.numbytes", 1) => numbers.push(decimal(value)),
            (b"GNU.sparse.offset" | b"GNU.sparse.numbytes", _) => numbers.push(None),
            // A second map could contradict the first, so it makes the map invalid.
            (b"GNU.sparse.map", _) if !numbers.is_empty() => numbers.push(None),
            (b"GNU.sparse.map", _) => numbers.extend(value.split(|byte| *byte == b',').map(decimal)),
            _ => {}
        }
        rest = rest.get(length..).unwrap_or_default();
    }
}

/// Reads the map of GNU's format, which is in the header and in the blocks after it.
fn read_blocks(
    window: &mut FileWindow,
    header: &[u8; BLOCK],
    extensions: Range<u64>,
) -> Outcome<Result<Vec<u64>, &'static str>> {
    let mut numbers = Vec::new();
    let mut push = |field: &[u8]| {
        // An empty field in place of a length ends the map.
        let used = field.chunks_exact(PAIR).take_while(|pair| pair.get(NUMBER) != Some(&0));
        used.flat_map(|pair| pair.chunks_exact(NUMBER)).try_for_each(|field| {
            numbers.push(u64::try_from(number(field)?).ok()?);
            (numbers.len() <= 2 * MAX_STORED_RANGES).then_some(())
        })
    };
    let mut fits = push(header.get(IN_HEADER).unwrap_or_default()).is_some();
    let mut at = extensions.start;
    while fits && at < extensions.end {
        fits = push(window.bytes(at, BLOCK)?.get(IN_EXTENSION).unwrap_or_default()).is_some();
        at += BLOCK_BYTES;
    }
    Ok(if fits { Ok(numbers) } else { Err(BROKEN) })
}

/// Reads the map of pax format 1.0: a count, then pairs, with one number per line.
fn read_lines(window: &mut FileWindow, map: Range<u64>) -> Outcome<Result<Vec<u64>, &'static str>> {
    let bytes = usize::try_from(map.end.saturating_sub(map.start)).unwrap_or(usize::MAX);
    let text = window.bytes(map.start, bytes)?;
    let mut lines = text.split(|byte| *byte == b'\n').map(decimal);
    let count = lines.next().flatten().and_then(|count| usize::try_from(count).ok());
    let Some(count) = count.filter(|count| *count <= MAX_STORED_RANGES) else { return Ok(Err(BROKEN)) };
    let numbers: Option<Vec<u64>> = lines.take(2 * count).collect();
    Ok(numbers.filter(|numbers| numbers.len() == 2 * count).ok_or(BROKEN))
}

fn decimal(text: &[u8]) -> Option<u64> {
    u64::try_from(python_int(text, 10)?).ok()
}

/// Returns the ranges of a map; the stored content has `stored` bytes, including its padding.
fn stored_ranges(
    numbers: &[u64],
    content_offset: u64,
    stored: u64,
    size: u64,
) -> Result<Vec<StoredRange>, &'static str> {
    if numbers.is_empty() || !numbers.len().is_multiple_of(2) || numbers.len() > 2 * MAX_STORED_RANGES {
        return Err(BROKEN);
    }
    let (mut found, mut end, mut sum) = (Vec::new(), 0, 0);
    for pair in numbers.chunks_exact(2) {
        let [at, bytes] = [pair[0], pair[1]];
        if at < end || at.checked_add(bytes).is_none_or(|end| end > size) {
            return Err("its map of holes does not fit its size");
        }
        if bytes > 0 {
            found.push(StoredRange { at, offset: content_offset + sum, bytes });
        }
        (end, sum) = (at + bytes, sum + bytes);
    }
    match sum.next_multiple_of(BLOCK_BYTES) == stored {
        true => Ok(found),
        false => Err("its map of holes does not fit what is stored"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_that_contradict_their_entries_are_refused() {
        assert_eq!(
            stored_ranges(&[0, 512, 1024, 10, 4096, 0], 512, 1024, 4096).unwrap(),
            [StoredRange { at: 0, offset: 512, bytes: 512 }, StoredRange { at: 1024, offset: 1024, bytes: 10 }]
        );
        assert_eq!(stored_ranges(&[4096, 0], 512, 0, 4096), Ok(Vec::new()));
        let cases: [(&[u64], u64); 7] = [
            (&[], 0),
            (&[0], 512),
            (&[0, 512, 1], 512),
            (&[512, 512, 0, 512], 1024),
            (&[4000, 512], 512),
            (&[u64::MAX, 2], 512),
            (&[0, 512], 1024),
        ];
        for (numbers, stored) in cases {
            assert!(stored_ranges(numbers, 512, stored, 4096).is_err(), "{numbers:?}");
        }
    }

    #[test]
    fn pax_sparse_offsets_and_sizes_alternate() {
        let mut numbers = Vec::new();
        push_records(b"23 GNU.sparse.offset=1\n25 GNU.sparse.numbytes=2\n", &mut numbers);
        assert_eq!(numbers, [Some(1), Some(2)]);
        push_records(b"25 GNU.sparse.numbytes=2\n", &mut numbers);
        assert_eq!(numbers, [Some(1), Some(2), None]);
        push_records(b"26 GNU.sparse.map=1,x,3,4\n", &mut numbers);
        assert_eq!(numbers, [Some(1), Some(2), None, None], "a second map");
        let mut numbers = Vec::new();
        push_records(b"26 GNU.sparse.map=1,x,3,4\n", &mut numbers);
        assert_eq!(numbers, [Some(1), None, Some(3), Some(4)]);
    }
}
