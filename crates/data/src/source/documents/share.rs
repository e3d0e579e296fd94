//! Compression ratio of a file, measured on its beginning.

use super::packing::UnpackedReader;
use super::{DocumentBlock, DocumentFields, Row, Text, TextFile};
use crate::source::jsonl::Unit;
use gristmill_core::{Cancel, Outcome};
use std::sync::Arc;

/// Bytes of a compressed file used to measure its compression ratio.
const RATIO_SAMPLE_BYTES: u64 = 1 << 20;
/// Bytes unpacked at a time.
const UNPACK_BYTES: usize = 16 << 10;
/// Maximum text that is unpacked, as a multiple of the bytes to read.
const MAX_UNPACK_RATIO: u64 = 32;

/// Unpacks the beginning of a file, about `most` bytes of it; returns the bytes read and the bytes unpacked from them. Data that cannot be
/// unpacked counts as read only.
///
/// The bytes read exceed those unpacked by the input buffer and the block that a decoder holds back. Just before each refill this
/// difference is about the same, so the amounts between two refills correspond; at the end of the file the totals do.
pub fn unpacked_share(file: &TextFile, most: u64) -> Outcome<(u64, u64)> {
    let mut input = UnpackedReader::new(Arc::new(file.open()?), file.packing)?.uncapped();
    let (mut buffer, mut taken, mut given) = (vec![0; UNPACK_BYTES], 0_u64, 0_u64);
    let (mut first, mut last) = (None, None);
    // Equal documents may unpack to thousands of times the bytes read.
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

/// Returns how many bytes on disk hold this much text at the beginning of a file, by its compression ratio.
pub(super) fn bytes_on_disk(file: &TextFile, text: u64) -> Outcome<u64> {
    if file.packing.is_plain() {
        return Ok(text.clamp(1, file.bytes.max(1)));
    }
    let (taken, given) = unpacked_share(file, RATIO_SAMPLE_BYTES)?;
    let on_disk = (text as f64 * taken as f64 / given.max(1) as f64).round() as u64;
    Ok(on_disk.clamp(1, file.bytes.max(1)))
}

/// Returns how many bytes of a table have how many bytes of text, for about `most` bytes of text at its beginning.
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
