//! Compression ratio of a file, measured at its beginning.

use super::packing::UnpackedReader;
use super::{DocumentBlock, DocumentFields, Row, Text, TextFile};
use crate::source::jsonl::Unit;
use gristmill_core::{Cancel, Outcome};
use std::sync::Arc;

/// Size of the beginning of a compressed file that is used to measure its compression ratio, in bytes.
const RATIO_SAMPLE_BYTES: u64 = 1 << 20;
/// Number of bytes that are decompressed at a time.
const UNPACK_BYTES: usize = 16 << 10;
/// Maximum size of the decompressed text, as a multiple of the bytes to read.
const MAX_UNPACK_RATIO: u64 = 32;

/// Decompresses about `most` bytes of the beginning of a file; returns the number of bytes read and of bytes decompressed from them. Data
/// that cannot be decompressed counts only as read.
///
/// The bytes read exceed those decompressed by the input buffer and the block that a decoder has not returned yet. Just before each refill
/// this difference is about the same, so the bytes read and decompressed between two refills correspond; at the end of the file the totals
/// correspond.
pub fn unpacked_share(file: &TextFile, most: u64) -> Outcome<(u64, u64)> {
    let mut input = UnpackedReader::new(Arc::new(file.open()?), file.packing)?.uncapped();
    let (mut buffer, mut taken, mut given) = (vec![0; UNPACK_BYTES], 0_u64, 0_u64);
    let (mut first, mut last) = (None, None);
    // Equal documents may decompress to thousands of times the bytes read.
    while (taken < most || last.is_none()) && given < MAX_UNPACK_RATIO * most {
        let count = input.read(&mut buffer)?;
        let now = input.consumed();
        if count == 0 {
            return Ok((now, given));
        }
        if given > 0 && now > taken {
            match first {
                None => first = Some((taken, given)),
                Some((from, of)) => last = Some((taken - from, given - of)),
            }
        }
        given += count as u64;
        taken = now;
    }
    Ok(last.unwrap_or((taken, given)))
}

/// Returns the number of bytes of the file that hold this amount of text at its beginning, estimated from its compression ratio.
pub(super) fn bytes_on_disk(file: &TextFile, text: u64) -> Outcome<u64> {
    if file.packing.is_plain() {
        return Ok(text.clamp(1, file.bytes.max(1)));
    }
    let (taken, given) = unpacked_share(file, RATIO_SAMPLE_BYTES)?;
    let on_disk = (text as f64 * taken as f64 / given.max(1) as f64).round() as u64;
    Ok(on_disk.clamp(1, file.bytes.max(1)))
}

/// Measures the beginning of a table with about `most` bytes of text: returns the number of bytes in the file and the number of bytes of
/// text in them.
pub fn text_share(file: &TextFile, fields: &DocumentFields, most: u64, cancel: &Cancel) -> Outcome<(u64, u64)> {
    let (block, bytes) = file.source.sample(file, fields, Unit { start: 0, end: most }, cancel)?;
    let mut text = 0;
    if let DocumentBlock::Rows(block) = block {
        block.decode(&mut |rows: &[Row<'_>]| {
            text += rows.iter().map(|row| row.text.map_or("", Text::as_str).len() as u64).sum::<u64>();
            Ok(())
        })?;
    }
    Ok((bytes, text))
}
