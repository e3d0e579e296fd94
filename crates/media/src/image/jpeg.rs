//! JPEG: the marker segments up to the first scan.

use super::{else_other, ends_with, mpo, Picture, ReadEnd};
use crate::{ProbeError, Reader};

pub(super) fn accepts(first: &[u8]) -> bool {
    first.starts_with(b"\xff\xd8\xff")
}

/// The maximum number of Exif and XMP segments that are searched for a gain map.
const APP1_KEPT: usize = 64;
/// The maximum number of bytes skipped between segments.
const MAX_SKIPPED_BYTES: u64 = 1 << 20;

const SOS: u8 = 0xda;
const DQT: u8 = 0xdb;

/// The state collected from the segments so far.
#[derive(Default)]
struct SegmentSummary {
    /// Width, height and mode of the latest frame header.
    frame: Option<(u32, u32, &'static str)>,
    /// Marker of the latest frame header.
    coding: u8,
    scan: bool,
    /// Content of segments: offset and length in bytes.
    app1: Vec<(u64, usize)>,
    mpf: Option<(u64, usize)>,
}

/// Reads up to the first scan. Pillow does not support other depths than 8 bits, or 2 components.
pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let walk = walk(reader)?;
    let Some((width, height, mode)) = walk.frame else {
        return Err(ReadEnd::other("a JPEG file without a frame header"));
    };
    let mut picture = Picture::new(width, height, "JPEG", mode)?;
    if !walk.scan {
        return Err(ReadEnd::broken("the JPEG file ends before its first scan", reader.len()));
    }
    if let Some(segment) = walk.mpf {
        if mpo::several_pictures(reader, segment)? && !has_gain_map(reader, &walk.app1)? {
            picture.format = "MPO";
        }
    }
    if matches!(walk.coding, 0xc5..=0xc7 | 0xcb | 0xcd..=0xcf | 0xde) {
        picture.remark("coded in a way that readers do not know (hierarchical, or lossless with arithmetic coding)");
    }
    if !ends_with(reader, b"\xff\xd9")? {
        picture.remark("cut short after a good header: no end-of-image marker at its end");
    }
    Ok(picture)
}

fn walk(reader: &mut Reader) -> Result<SegmentSummary, ReadEnd> {
    let mut walk = SegmentSummary::default();
    let (mut at, mut rubbish) = (2, 0);
    // Each iteration consumes one segment, or one byte between segments.
    while let Some(byte) = byte(reader, at)? {
        at += 1;
        if byte != 0xff {
            rubbish += 1;
            if rubbish > MAX_SKIPPED_BYTES {
                return Err(ReadEnd::other("a JPEG file with too many invalid bytes between its segments"));
            }
            continue;
        }
        // The marker may be preceded by any number of fill bytes.
        let Some(marker) = marker(reader, &mut at)? else { break };
        match marker {
            0x00 | 0xc8 | 0xd0..=0xd9 | 0xf0..=0xfd => {}
            0x01..=0xbf => return Err(ReadEnd::other("a JPEG file with an unknown marker")),
            _ => {
                at = segment(reader, &mut walk, marker, at)?;
                if marker == SOS {
                    walk.scan = true;
                    break;
                }
            }
        }
    }
    Ok(walk)
}

fn byte(reader: &mut Reader, at: u64) -> Result<Option<u8>, ProbeError> {
    Ok(reader.up_to(at, 1)?.first().copied())
}

fn marker(reader: &mut Reader, at: &mut u64) -> Result<Option<u8>, ProbeError> {
    loop {
        let byte = byte(reader, *at)?;
        *at += 1;
        if byte != Some(0xff) {
            return Ok(byte);
        }
    }
}

/// Reads the segment whose length field is at `at`, and returns its end.
fn segment(reader: &mut Reader, walk: &mut SegmentSummary, marker: u8, at: u64) -> Result<u64, ReadEnd> {
    let len = u16::from_be_bytes(else_other(reader.array(at))?);
    let content = at + 2;
    let len = usize::from(len).saturating_sub(2);
    let end = content + len as u64;
    if end > reader.len() {
        return Err(ReadEnd::broken("the JPEG file ends within a segment of its header", reader.len()));
    }
    match marker {
        0xc4 | 0xcc => {}
        0xc0..=0xcf | 0xde => {
            walk.frame = Some(frame(reader.exactly(content, len)?)?);
            walk.coding = marker;
        }
        DQT => quantisation(reader.exactly(content, len)?)?,
        0xe0..=0xef => app(reader, walk, marker, (content, len))?,
        _ => {}
    }
    Ok(end)
}

fn frame(s: &[u8]) -> Result<(u32, u32, &'static str), ReadEnd> {
    let [bits, h1, h0, w1, w0, components, rest @ ..] = s else {
        return Err(ReadEnd::other("a JPEG file with a frame header that is too short"));
    };
    if *bits != 8 {
        return Err(ReadEnd::other(format!("a JPEG file of {bits} bits per sample")));
    }
    let mode = match components {
        1 => "L",
        3 => "RGB",
        4 => "CMYK",
        _ => return Err(ReadEnd::other(format!("a JPEG file of {components} components"))),
    };
    if !rest.len().is_multiple_of(3) {
        return Err(ReadEnd::other("a JPEG file with a frame header of a wrong length"));
    }
    Ok((u16::from_be_bytes([*w1, *w0]).into(), u16::from_be_bytes([*h1, *h0]).into(), mode))
}

fn quantisation(mut s: &[u8]) -> Result<(), ReadEnd> {
    while let Some(first) = s.first() {
        let table = if first >> 4 == 0 { 65 } else { 129 };
        s = s.get(table..).ok_or_else(|| ReadEnd::other("a JPEG file with a quantisation table that is too short"))?;
    }
    Ok(())
}

fn app(reader: &mut Reader, walk: &mut SegmentSummary, marker: u8, content: (u64, usize)) -> Result<(), ReadEnd> {
    let (at, len) = content;
    let start = reader.up_to(at, len.min(5))?;
    match marker {
        0xe0 if start.starts_with(b"JFIF") && len < 7 => {
            Err(ReadEnd::other("a JPEG file with a JFIF segment that is too short"))
        }
        0xee if start.starts_with(b"Adobe") && len < 7 => {
            Err(ReadEnd::other("a JPEG file with an Adobe segment that is too short"))
        }
        0xe1 => {
            if walk.app1.len() < APP1_KEPT {
                walk.app1.push(content);
            }
            Ok(())
        }
        0xe2 if start.starts_with(b"MPF\0") => {
            walk.mpf = Some((at + 4, len - 4));
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether the second image is a gain map of the first ("Ultra HDR"): such a file counts as a single image.
fn has_gain_map(reader: &mut Reader, app1: &[(u64, usize)]) -> Result<bool, ProbeError> {
    for &(at, len) in app1 {
        if memchr::memmem::find(reader.up_to(at, len)?, b" hdrgm:Version=\"").is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
