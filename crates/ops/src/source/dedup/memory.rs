//! Memory needed to read a file.

use crate::source::text::{Packing, TextFile};
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::open_read;

/// Buffers for reading, without a line that is longer than them, in bytes.
const BUFFERS: u64 = 1 << 20;
/// Memory of the gzip decoder, in bytes.
const GZIP: u64 = 256 << 10;
/// Memory of the bzip2 decoder, in bytes.
const BZIP2: u64 = 4 << 20;
/// Memory of the xz or lzma decoder with the largest window of its presets, in bytes.
const XZ: u64 = 66 << 20;
/// Memory of the zstd decoder in addition to its window, in bytes.
const ZSTD: u64 = 512 << 10;
/// Maximum window that is opened, in bytes.
const MAX_WINDOW_BYTES: u64 = 128 << 20;
/// Window of zstd at its usual levels, in bytes, if a file does not specify it.
const USUAL_WINDOW: u64 = 8 << 20;

/// Returns the memory for reading a file, in bytes: its decoder's window, according to its first frame, and buffers. A held line is added
/// to that, at most [`HELD_LINE`](super::HELD_LINE).
pub fn reading_memory(file: &TextFile) -> Outcome<u64> {
    let decoder = match file.packing {
        Packing::Plain => 0,
        Packing::Zstd => {
            let source = open_read(&file.path)?;
            let mut start = [0; 18];
            let count =
                source.read_at(&mut start, 0).map_err(|error| Failure::io("reading the text", &file.path, &error))?;
            ZSTD + window(start.get(..count).unwrap_or_default()).unwrap_or(USUAL_WINDOW).min(MAX_WINDOW_BYTES)
        }
        Packing::Gzip | Packing::Zip => GZIP,
        Packing::Bzip2 => BZIP2,
        Packing::Xz | Packing::Lzma => XZ,
    };
    Ok(BUFFERS + decoder)
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
    // In a single segment the window is as large as the content.
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
    fn windows_are_what_the_encoder_was_told() {
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
