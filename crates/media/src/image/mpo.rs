//! The index of a multi-picture JPEG file: the number of images, and whether the index is valid.

use crate::{ProbeError, Reader};

const NUMBER_OF_PICTURES: u16 = 0xb001;
const ENTRIES: u16 = 0xb002;
/// Upper limit for the number of directory entries; valid files have fewer.
const MAX_TAGS: u16 = 4096;

/// Whether the multi-picture index in the segment lists more than one image. `segment` is the offset and length in bytes of the content
/// after `MPF\0`. A file with an unreadable index counts as a plain JPEG file.
pub(super) fn several_pictures(reader: &mut Reader, segment: (u64, usize)) -> Result<bool, ProbeError> {
    let (at, len) = segment;
    Ok(index(reader.up_to(at, len)?).unwrap_or(false))
}

/// Parses the index; `None` if it is broken.
fn index(data: &[u8]) -> Option<bool> {
    let big = match data.get(..4)? {
        b"MM\0\x2a" => true,
        b"II\x2a\0" => false,
        _ => return None,
    };
    let u16_at = |at: usize| -> Option<u16> {
        let bytes = data.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    };
    let u32_at = |at: usize| -> Option<u32> {
        let bytes = data.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let start = u32_at(4)? as usize;
    let (mut pictures, mut entries, mut outside) = (None, None, 0_usize);
    for tag in 0..u16_at(start)?.min(MAX_TAGS) {
        let at = start + 2 + 12 * usize::from(tag);
        let (Some(id), Some(kind), Some(count)) = (u16_at(at), u16_at(at + 2), u32_at(at + 4)) else { break };
        let Some(size) = unit(kind).and_then(|unit| unit.checked_mul(count as usize)) else { continue };
        let mut place = at + 8;
        if size > 4 {
            place = u32_at(at + 8)? as usize;
            outside = outside.saturating_add(size);
            if outside > data.len() {
                continue;
            }
            if place.saturating_add(size) > data.len() {
                // A value outside the segment ends the directory.
                break;
            }
        }
        match (id, kind, count) {
            (NUMBER_OF_PICTURES, 4, 1) if pictures.is_none() => pictures = Some(u32_at(place)?),
            (NUMBER_OF_PICTURES, 3, 1) if pictures.is_none() => pictures = Some(u32::from(u16_at(place)?)),
            (ENTRIES, 7, _) if entries.is_none() => entries = Some((place, size)),
            _ => {}
        }
    }
    let (from, size) = entries?;
    for picture in 0..pictures? as usize {
        // The attribute of each entry contains the format of its image; only JPEG is supported.
        let entry = picture.checked_mul(16)?;
        if entry.checked_add(16)? > size || u32_at(from.checked_add(entry)?)? >> 24 & 7 != 0 {
            return None;
        }
    }
    Some(pictures? > 1)
}

/// Returns the bytes per value of a TIFF type.
fn unit(kind: u16) -> Option<usize> {
    match kind {
        1 | 2 | 6 | 7 => Some(1),
        3 | 8 => Some(2),
        4 | 9 | 11 | 13 => Some(4),
        5 | 10 | 12 | 16 => Some(8),
        _ => None,
    }
}
