//! Windows icons and cursors, of which the largest image counts, and Apple icons. They contain bitmaps, PNG or JPEG 2000 images.

use super::{bmp, byte, else_other, jp2, le16, le32, png, Picture, ReadEnd, CUT};
use crate::{ProbeError, Reader};

pub(super) fn accepts(first: &[u8]) -> bool {
    first.starts_with(b"\0\0\x01\0")
}

pub(super) fn accepts_cursor(first: &[u8]) -> bool {
    first.starts_with(b"\0\0\x02\0")
}

pub(super) fn accepts_apple(first: &[u8]) -> bool {
    first.starts_with(b"icns")
}

/// One entry of the image directory.
struct Entry {
    width: u32,
    height: u32,
    depth: u32,
    bits: u32,
    at: u64,
    len: u64,
}

fn entry(reader: &mut Reader, index: u32) -> Result<Entry, ReadEnd> {
    let s = reader.up_to(6 + 16 * u64::from(index), 16)?;
    let side = |s: u8| if s == 0 { 256 } else { u32::from(s) };
    let (colours, bits) = (byte(s, 2)?, le16(s, 6)?);
    let depth = match (bits, colours) {
        (0, 0 | 1) => 256,
        // The number of bits that the colours need.
        (0, colours) => 32 - u32::from(colours - 1).leading_zeros(),
        (bits, _) => bits,
    };
    Ok(Entry {
        width: side(byte(s, 0)?),
        height: side(byte(s, 1)?),
        depth,
        bits,
        at: le32(s, 12)?.into(),
        len: le32(s, 8)?.into(),
    })
}

/// Reads the image of the best entry.
pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let entry = best_entry(reader)?;
    let mut picture = match png_at(reader, &entry)? {
        Some(at) => png::read_from(reader, at)?,
        None => masked(reader, &entry)?,
    };
    picture.format = "ICO";
    Ok(picture)
}

/// Returns the offset of the image if it is a PNG image.
pub(super) fn png_within(reader: &mut Reader) -> Result<Option<u64>, ReadEnd> {
    let entry = best_entry(reader)?;
    png_at(reader, &entry)
}

fn png_at(reader: &mut Reader, entry: &Entry) -> Result<Option<u64>, ReadEnd> {
    Ok(png::accepts(reader.up_to(entry.at, 8)?).then_some(entry.at))
}

/// Returns the entry with the most pixels; on a tie, the one with the fewest colours.
fn best_entry(reader: &mut Reader) -> Result<Entry, ReadEnd> {
    let count = le16(reader.up_to(0, 6)?, 4)?;
    let mut best: Option<Entry> = None;
    for index in 0..count {
        let next = entry(reader, index)?;
        let (pixels, depth) = (next.width * next.height, next.depth);
        if best.as_ref().is_none_or(|best| {
            pixels > best.width * best.height || (pixels == best.width * best.height && depth < best.depth)
        }) {
            best = Some(next);
        }
    }
    best.ok_or_else(|| ReadEnd::other("an icon file without icons"))
}

/// Reads a bitmap that is followed by its mask, which becomes the alpha channel.
fn masked(reader: &mut Reader, entry: &Entry) -> Result<Picture, ReadEnd> {
    let bitmap = bmp::bitmap(reader, entry.at, 0, false)?;
    let (width, height) = (bitmap.width, bitmap.height / 2);
    let mut picture = Picture::new(width, height, "ICO", "RGBA")?;
    if end_of_mask(entry, &bitmap).is_none_or(|end| end > u128::from(reader.len())) {
        picture.remark(CUT);
    }
    Ok(picture)
}

/// Returns the end of the mask of an icon; `None` if the mask would begin before the file.
fn end_of_mask(entry: &Entry, bitmap: &bmp::Bitmap) -> Option<u128> {
    let (width, height) = (u128::from(bitmap.width), u128::from(bitmap.height / 2));
    if entry.bits == 32 {
        return Some(u128::from(bitmap.pixels) + 4 * width * height);
    }
    // The mask ends where the directory entry ends. Its last row needs no padding.
    let row = width.next_multiple_of(32) / 8;
    let start = (u128::from(entry.at) + u128::from(entry.len)).checked_sub(row * height)?;
    Some(start + row * height.saturating_sub(1) + width.div_ceil(8))
}

/// Returns the bitmap of an icon, the number of its rows that are the image, and the end of its mask.
pub(super) fn bitmap_within(reader: &mut Reader) -> Result<(bmp::Bitmap, u32, Option<u128>), ReadEnd> {
    let entry = best_entry(reader)?;
    let bitmap = bmp::bitmap(reader, entry.at, 0, false)?;
    let (rows, end) = (bitmap.height / 2, end_of_mask(&entry, &bitmap));
    Ok((bitmap, rows, end))
}

/// Reads the first cursor, or a later one that is both wider and higher.
pub(super) fn read_cursor(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let bitmap = cursor(reader)?;
    let mode = if matches!(bitmap.mode, "1" | "L") { "LA" } else { bitmap.mode };
    Picture::new(bitmap.width, bitmap.height / 2, "CUR", mode)
}

/// Returns the cursor's bitmap. A bitmap without colours has its mask in the upper half, which is read with it.
pub(super) fn cursor(reader: &mut Reader) -> Result<bmp::Bitmap, ReadEnd> {
    let count = le16(reader.up_to(0, 6)?, 4)?;
    let mut best: Option<[u8; 16]> = None;
    for index in 0..count {
        let entry = else_other(reader.array::<16>(6 + 16 * u64::from(index)))?;
        if best.is_none_or(|best| entry[0] > best[0] && entry[1] > best[1]) {
            best = Some(entry);
        }
    }
    let entry = best.ok_or_else(|| ReadEnd::other("a cursor file without cursors"))?;
    let at = le32(&entry, 12)?;
    // A bitmap at this offset, in a file of one cursor, has alpha.
    bmp::bitmap(reader, at.into(), 0, at == 22)
}

/// One size of Apple's icons.
struct AppleIcon {
    /// Width and height in pixels.
    side: u32,
    /// Type of the ICNS entry with a whole image file (PNG or JPEG 2000); `None` if the size has no such entry.
    file_type: Option<&'static [u8; 4]>,
    /// Names of the parts with raw colours and with their mask.
    raw_parts: Option<(&'static [u8; 4], &'static [u8; 4])>,
}

const fn apple(side: u32, whole: &'static [u8; 4]) -> AppleIcon {
    AppleIcon { side, file_type: Some(whole), raw_parts: None }
}

/// In order of preference; the second of two entries of equal size is the one for a screen of higher density.
const APPLE: [AppleIcon; 12] = [
    apple(1024, b"ic10"),
    apple(512, b"ic09"),
    apple(512, b"ic14"),
    apple(256, b"ic08"),
    apple(256, b"ic13"),
    AppleIcon { side: 128, file_type: Some(b"ic07"), raw_parts: Some((b"it32", b"t8mk")) },
    apple(64, b"icp6"),
    AppleIcon { side: 48, file_type: None, raw_parts: Some((b"ih32", b"h8mk")) },
    apple(64, b"ic12"),
    AppleIcon { side: 32, file_type: Some(b"icp5"), raw_parts: Some((b"il32", b"l8mk")) },
    apple(32, b"ic11"),
    AppleIcon { side: 16, file_type: Some(b"icp4"), raw_parts: Some((b"is32", b"s8mk")) },
];
/// The maximum number of parts that are read; fewer part names are defined.
const MAX_PARTS: usize = 10_000;

/// The source of the largest image.
pub(super) enum LargestImage {
    /// An image file inside the icon.
    Whole { at: u64, len: u64 },
    /// Raw colours, and the mask if there is one.
    Bare { side: u32, colours: (u64, u64), mask: Option<u64> },
}

/// Reads the largest image.
pub(super) fn read_apple(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    match best_apple(reader)? {
        LargestImage::Whole { at, .. } => apple_whole(reader, at),
        LargestImage::Bare { side, mask, .. } => {
            Picture::new(side, side, "ICNS", if mask.is_some() { "RGBA" } else { "RGB" })
        }
    }
}

/// Finds the largest image.
pub(super) fn best_apple(reader: &mut Reader) -> Result<LargestImage, ReadEnd> {
    let parts = apple_parts(reader)?;
    let part = |name: &[u8; 4]| parts.iter().rev().find(|part| part.name == *name).map(|part| (part.at, part.len));
    for icon in &APPLE {
        if let Some((at, len)) = icon.file_type.and_then(part) {
            return Ok(LargestImage::Whole { at, len });
        }
        let Some((colours, mask)) = icon.raw_parts else { continue };
        match (part(colours), part(mask)) {
            (Some(colours), mask) => {
                return Ok(LargestImage::Bare { side: icon.side, colours, mask: mask.map(|(at, _)| at) });
            }
            (None, Some((at, _))) => return Err(ReadEnd::broken("the icon file has a mask of no icon", at)),
            (None, None) => {}
        }
    }
    Err(ReadEnd::other("an icon file without icons"))
}

/// One part of an Apple icon file: its name, and the offset and length of its content.
struct ApplePart {
    name: [u8; 4],
    at: u64,
    len: u64,
}

/// Returns the parts in file order.
fn apple_parts(reader: &mut Reader) -> Result<Vec<ApplePart>, ReadEnd> {
    let file = u64::from(u32::from_be_bytes(else_other(reader.array(4))?));
    let (mut at, mut parts) = (8, Vec::new());
    while at < file {
        let [a, b, c, d, len @ ..] = else_other(reader.array::<8>(at))?;
        let len = u64::from(u32::from_be_bytes(len));
        if len == 0 || parts.len() >= MAX_PARTS {
            return Err(ReadEnd::other("an icon file with a part of no length"));
        }
        parts.push(ApplePart { name: [a, b, c, d], at: at + 8, len: len.saturating_sub(8) });
        at += len.max(8);
    }
    Ok(parts)
}

fn apple_whole(reader: &mut Reader, at: u64) -> Result<Picture, ReadEnd> {
    let first = reader.up_to(at, 12)?;
    let mut picture = if png::accepts(first) {
        png::read_from(reader, at)?
    } else if jp2::accepts(first) {
        let mut picture = jp2::read_from(reader, at)?;
        picture.mode = "RGBA";
        picture
    } else {
        return Err(ReadEnd::Error(ProbeError::broken("an icon of an unknown kind", at)));
    };
    picture.format = "ICNS";
    Ok(picture)
}
