//! JPEG 2000: checks that the codestream has the components declared in the header, and that its parts are complete up to the end marker.

use super::{decoded, truncated};
use crate::{ProbeError, Reader};

/// The maximum number of boxes, segments or tile-parts; real images have far fewer.
const MAX_PARTS: usize = 1_000_000;

/// Checks the image from `begin` to `end`.
pub(super) fn check(reader: &mut Reader, begin: u64, end: u64, mode: &str) -> Result<(), ProbeError> {
    let start = codestream(reader, begin)?;
    let wanted: &[u16] = match mode {
        "L" | "I;16" | "P" => &[1],
        "LA" | "PA" => &[2],
        "CMYK" => &[4],
        // Other component counts are converted.
        _ => &[1, 2, 3, 4],
    };
    let components = u16::from_be_bytes(reader.array(start + 40)?);
    if !wanted.contains(&components) {
        let what = format!(
            "the JPEG 2000 picture has {}, which its header contradicts",
            gristmill_core::text::count(u64::from(components), "component")
        );
        return Err(ProbeError::broken(what, start));
    }
    parts(reader, start + 2, end)?;
    decoded::jpeg2000(reader, start, end)
}

/// Returns the offset of the codestream.
fn codestream(reader: &mut Reader, begin: u64) -> Result<u64, ProbeError> {
    if reader.up_to(begin, 2)? == b"\xff\x4f" {
        return Ok(begin);
    }
    let mut at = begin;
    for _ in 0..MAX_PARTS {
        let header = reader.exactly(at, 8)?;
        let (len, kind) = (u64::from(u32::from_be_bytes([header[0], header[1], header[2], header[3]])), &header[4..]);
        if kind == b"jp2c" {
            return Ok(at + if len == 1 { 16 } else { 8 });
        }
        at += match len {
            0 => break,
            1 => u64::from_be_bytes(reader.array(at + 8)?).max(16),
            len => len.max(8),
        };
        if at > reader.len() {
            break;
        }
    }
    Err(ProbeError::broken("the JPEG 2000 file has no codestream", at))
}

/// Visits the segments and tile-parts from `at` to the end marker.
fn parts(reader: &mut Reader, mut at: u64, end: u64) -> Result<(), ProbeError> {
    for _ in 0..MAX_PARTS {
        let Ok(marker) = <[u8; 2]>::try_from(reader.up_to(at, 2)?) else { return Err(truncated(reader)) };
        match marker {
            [0xff, 0xd9] => return Ok(()),
            [0xff, 0x90] => {
                let len = u64::from(u32::from_be_bytes(reader.array(at + 6)?));
                match len {
                    // The last tile-part extends up to the end marker.
                    0 => {
                        return if reader.up_to(end.saturating_sub(2), 2)? == [0xff, 0xd9] {
                            Ok(())
                        } else {
                            Err(truncated(reader))
                        }
                    }
                    len => at += len.max(12),
                }
            }
            [0xff, _] => at += 2 + u64::from(u16::from_be_bytes(reader.array(at + 2)?).max(2)),
            _ => return Err(ProbeError::broken("the JPEG 2000 picture has no marker where one belongs", at)),
        }
    }
    Err(ProbeError::broken("the JPEG 2000 picture has too many parts", at))
}
