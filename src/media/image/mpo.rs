//! The index of a multi-picture JPEG file: how many pictures, and whether it can be believed.

use crate::media::{ProbeError, Reader};

const NUMBER_OF_PICTURES: u16 = 0xb001;
const ENTRIES: u16 = 0xb002;
/// More entries than any directory needs.
const MOST_TAGS: u16 = 4096;

/// Whether the multi-picture index in the segment (offset and length of its content behind `MPF\0`, in bytes) lists more than
/// one picture. An index that cannot be read makes the file a plain JPEG file.
pub(super) fn several_pictures(reader: &mut Reader, segment: (u64, usize)) -> Result<bool, ProbeError> {
    let (at, len) = segment;
    Ok(index(reader.up_to(at, len)?).unwrap_or(false))
}

/// `None`: the index is broken.
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
    let (mut pictures, mut entries) = (None, None);
    for tag in 0..u16_at(start)?.min(MOST_TAGS) {
        let at = start + 2 + 12 * usize::from(tag);
        let (id, kind, count) = (u16_at(at)?, u16_at(at + 2)?, u32_at(at + 4)?);
        match (id, kind, count) {
            (NUMBER_OF_PICTURES, 4, 1) => pictures = Some(u32_at(at + 8)?),
            (NUMBER_OF_PICTURES, 3, 1) => pictures = Some(u32::from(u16_at(at + 8)?)),
            (ENTRIES, 7, count) => entries = Some((if count > 4 { u32_at(at + 8)? as usize } else { at + 8 }, count)),
            _ => {}
        }
    }
    let (from, size) = entries?;
    for picture in 0..pictures? {
        // The attribute of each entry holds the format of its picture; only JPEG is known.
        let entry = picture.checked_mul(16)?;
        if entry.checked_add(16)? > size {
            return None;
        }
        let attribute = u32_at(from.checked_add(entry as usize)?)?;
        u32_at(from.checked_add(entry as usize)?.checked_add(12)?)?;
        if attribute >> 24 & 7 != 0 {
            return None;
        }
    }
    Some(pictures? > 1)
}
