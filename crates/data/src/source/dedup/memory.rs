//! Estimates of the memory that reading a file needs.

use crate::source::documents::packing::{first_bytes, READING};
use crate::source::documents::{Packing, TextFile};
use gristmill_core::Outcome;
use gristmill_storage::read::open_read;

/// Memory of the read buffers without longer lines, in bytes.
const BUFFER_BYTES: u64 = 1 << 20;
/// Memory of a block of a table, its pages, and their texts, in bytes.
const TABLE: u64 = 6 << 20;
/// Memory of the gzip decoder, in bytes.
const GZIP: u64 = 256 << 10;
/// Memory of the bzip2 decoder, in bytes.
const BZIP2: u64 = 4 << 20;
/// Memory of the xz or lzma decoder in addition to its window, in bytes.
const XZ: u64 = 1 << 20;
/// Window of xz at its highest preset, in bytes, if a file does not specify it.
const USUAL_XZ_WINDOW: u64 = 64 << 20;
/// Maximum memory that the xz decoder is allowed, in bytes.
const MAX_XZ_BYTES: u64 = 256 << 20;
/// Memory of the zstd decoder in addition to its window, in bytes.
const ZSTD: u64 = 512 << 10;
/// Maximum window of a zstd frame that is decompressed, in bytes.
const MAX_WINDOW_BYTES: u64 = 128 << 20;
/// Window of zstd at its usual levels, in bytes, if a file does not specify it.
const USUAL_WINDOW: u64 = 8 << 20;

/// Returns the memory in bytes for reading a file: the window of its decoder, which its first frame states, and buffers. A line in memory
/// needs up to [`MAX_BUFFERED_LINE_BYTES`](super::MAX_BUFFERED_LINE_BYTES) in addition.
pub fn reading_memory(file: &TextFile) -> Outcome<u64> {
    let start = || first_bytes(&open_read(&file.path)?, READING);
    let decoder = match file.packing {
        _ if file.source.is_table() => TABLE,
        Packing::Plain => 0,
        Packing::Zstd => ZSTD + window(&start()?).unwrap_or(USUAL_WINDOW).min(MAX_WINDOW_BYTES),
        Packing::Gzip | Packing::Zip => GZIP,
        Packing::Bzip2 => BZIP2,
        Packing::Xz | Packing::Lzma => (XZ + xz_window(&start()?).unwrap_or(USUAL_XZ_WINDOW)).min(MAX_XZ_BYTES),
    };
    Ok(BUFFER_BYTES + decoder)
}

/// Returns the window of an lzma file, or of the first block of an xz file whose only filter is LZMA2 (xz-file-format.txt, §3.1 and §5.3.1).
fn xz_window(start: &[u8]) -> Option<u64> {
    let Some(block) = start.strip_prefix(b"\xfd7zXZ\0").and_then(|rest| rest.get(6..)) else {
        // The header of lzma has one byte of properties, then the window.
        let bytes = start.get(1..5)?;
        return Some(bytes.iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte)));
    };
    let (flags, mut rest) = (*block.get(1)?, block.get(2..)?);
    // Skips the optional sizes in the header of the block; each ends with a byte below 128.
    for _ in 0..u32::from(flags & 0x40 != 0) + u32::from(flags & 0x80 != 0) {
        let end = rest.iter().position(|byte| byte & 0x80 == 0)?;
        rest = rest.get(end + 1..)?;
    }
    match (flags & 3, rest) {
        (0, [0x21, 1, bits, ..]) if *bits < 40 => Some((2 | u64::from(bits & 1)) << (bits / 2 + 11)),
        _ => None,
    }
}

/// Returns the window in the header of a zstd frame (RFC 8878, §3.1.1.1).
fn window(start: &[u8]) -> Option<u64> {
    let rest = start.strip_prefix(&[0x28, 0xb5, 0x2f, 0xfd])?;
    let (descriptor, rest) = rest.split_first()?;
    if descriptor & 0x20 == 0 {
        let byte = u64::from(*rest.first()?);
        let base = 1u64 << (10 + (byte >> 3));
        return Some(base + base / 8 * (byte & 7));
    }
    // A frame with a single segment has a window as large as its content.
    let skipped = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied()?;
    let length = [1, 2, 4, 8].get(usize::from(descriptor >> 6)).copied()?;
    let bytes = rest.get(skipped..skipped + length)?;
    let size = bytes.iter().rev().fold(0u64, |size, byte| size << 8 | u64::from(*byte));
    Some(if length == 2 { size + 256 } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn xz_and_lzma_window_sizes_match_their_presets() {
        for (preset, window) in [(0, 256 << 10), (3, 4 << 20), (6, 8 << 20), (9, 64 << 20)] {
            let options = liblzma::stream::LzmaOptions::new_preset(preset).unwrap();
            let streams = [
                liblzma::stream::Stream::new_easy_encoder(preset, liblzma::stream::Check::Crc64).unwrap(),
                liblzma::stream::Stream::new_lzma_encoder(&options).unwrap(),
            ];
            for stream in streams {
                let mut encoder = liblzma::write::XzEncoder::new_stream(Vec::new(), stream);
                encoder.write_all(b"some text").unwrap();
                assert_eq!(xz_window(&encoder.finish().unwrap()), Some(window), "{preset}");
            }
        }
        assert_eq!(xz_window(b"\xfd7zXZ\0 and no more"), None);
        assert_eq!(xz_window(b""), None);
    }

    #[test]
    fn zstd_window_size_matches_that_of_the_encoder() {
        for log in [10, 17, 21, 27] {
            let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
            encoder.window_log(log).unwrap();
            encoder.write_all(b"x").unwrap();
            assert_eq!(window(&encoder.finish().unwrap()), Some(1 << log));
        }
        for size in [0u64, 1, 255, 256, 300, 65_791, 65_792, 100_000] {
            let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
            encoder.set_pledged_src_size(Some(size)).unwrap();
            encoder.write_all(&vec![b'x'; size as usize]).unwrap();
            let window = window(&encoder.finish().unwrap()).unwrap();
            assert!(window >= size && window <= size.max(1024) * 2, "{size}: {window}");
        }
        assert_eq!(window(b"\x1f\x8b\x08"), None);
        assert_eq!(window(b"\x28\xb5\x2f\xfd"), None);
    }
}
