//! JPEG 2000: the box format and raw codestreams.

use super::{be16, be32, byte, else_other, ends_with, Picture, ReadEnd};
use crate::Reader;

const CODESTREAM: &[u8] = b"\xff\x4f\xff\x51";
const SIGNATURE: &[u8] = b"\0\0\0\x0cjP  \r\n\x87\n";

pub(super) fn accepts(first: &[u8]) -> bool {
    first.starts_with(CODESTREAM) || first.starts_with(SIGNATURE)
}

/// The maximum number of boxes that are visited to find the header.
const MAX_BOXES: usize = 10_000;
/// The maximum length of the header box in bytes; a palette has at most 1024 colours.
const MAX_HEADER_BYTES: u64 = 1 << 20;

pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    read_from(reader, 0)
}

/// Reads an image that begins at `start`, possibly embedded in another file.
pub(super) fn read_from(reader: &mut Reader, start: u64) -> Result<Picture, ReadEnd> {
    let bare = reader.up_to(start, 4)? == CODESTREAM;
    let (width, height, mode) = if bare {
        let shape = codestream(reader, start + 4)?;
        comment(reader, start + 4)?;
        shape
    } else {
        boxes(reader, start + 12)?
    };
    let mut picture = Picture::new(width, height, "JPEG2000", mode)?;
    if start == 0 && !ends_with(reader, b"\xff\xd9")? {
        picture.remark("cut short after a good header: no end-of-codestream marker at its end");
    }
    Ok(picture)
}

type Jp2Dimensions = (u32, u32, &'static str);

/// Reads the size segment, whose length field is at `at`.
fn codestream(reader: &mut Reader, at: u64) -> Result<Jp2Dimensions, ReadEnd> {
    let siz = reader.up_to(at, 64)?;
    let len = be16(siz, 0)?;
    if len < 38 {
        return Err(ReadEnd::broken("the size segment of the JPEG 2000 picture is too short", at));
    }
    let siz = &siz[..siz.len().min(len as usize)];
    let components = be16(siz, 36)?;
    let (x1, y1, x0, y0) = (be32(siz, 4)?, be32(siz, 8)?, be32(siz, 12)?, be32(siz, 16)?);
    let mode = match components {
        1 if byte(siz, 38)? & 0x7f > 7 => "I;16",
        1 => "L",
        2 => "LA",
        3 => "RGB",
        4 => "RGBA",
        _ => return Err(ReadEnd::other(format!("a JPEG 2000 picture of {components} components"))),
    };
    Ok((x1.saturating_sub(x0), y1.saturating_sub(y0), mode))
}

/// The maximum number of segments between the first one and a comment.
const MAX_SEGMENTS: usize = 10_000;

/// Visits the segments up to a comment or the first tile, like Pillow; a segment that ends early means that the file is of another format.
fn comment(reader: &mut Reader, size: u64) -> Result<(), ReadEnd> {
    let mut at = size + u64::from(u16::from_be_bytes(else_other(reader.array(size))?));
    for _ in 0..MAX_SEGMENTS {
        let marker = reader.up_to(at, 2)?;
        if marker.is_empty() || matches!(byte(marker, 1)?, 0x90 | 0xd9) {
            return Ok(());
        }
        let is_comment = byte(marker, 1)? == 0x64;
        let len = u16::from_be_bytes(else_other(reader.array(at + 2))?);
        if len < 2 {
            return Err(ReadEnd::broken("a segment of the JPEG 2000 picture is too short", at));
        }
        if is_comment {
            return Ok(());
        }
        at += 2 + u64::from(len);
    }
    Err(ReadEnd::broken("the JPEG 2000 picture has too many segments", at))
}

/// A box: its name, and the offsets of the beginning and end of its content.
type BoxSpan = ([u8; 4], u64, u64);

/// Reads the box at `at`, which is inside a box that ends at `limit`.
fn read_inner_box(reader: &mut Reader, at: u64, limit: Option<u64>) -> Result<BoxSpan, ReadEnd> {
    let room = |wanted: u64| limit.is_none_or(|limit| at.saturating_add(wanted) <= limit);
    if !room(8) {
        return Err(ReadEnd::other("a JPEG 2000 file with a box that is too short"));
    }
    let [l3, l2, l1, l0, kind @ ..] = reader.array::<8>(at)?;
    let mut len = u64::from(u32::from_be_bytes([l3, l2, l1, l0]));
    let mut header = 8;
    if len == 1 {
        if !room(16) {
            return Err(ReadEnd::other("a JPEG 2000 file with a box that is too short"));
        }
        len = u64::from_be_bytes(reader.array(at + 8)?);
        header = 16;
    }
    let end = at.checked_add(len).filter(|end| *end < 1 << 63);
    match end {
        Some(end) if len >= header && room(len) => Ok((kind, at + header, end)),
        _ => Err(ReadEnd::other("a JPEG 2000 file with a box of an impossible length")),
    }
}

fn boxes(reader: &mut Reader, mut at: u64) -> Result<Jp2Dimensions, ReadEnd> {
    for _ in 0..MAX_BOXES {
        let (kind, from, to) = read_inner_box(reader, at, None)?;
        if &kind == b"jp2h" {
            if to > reader.len() {
                return Err(ReadEnd::broken("the JPEG 2000 file ends within its header", reader.len()));
            }
            if to - from > MAX_HEADER_BYTES {
                return Err(ReadEnd::broken("the header of the JPEG 2000 file is too long", from));
            }
            let shape = header(reader, from, to)?;
            // A codestream directly after the header box is validated, but its fields are ignored.
            if reader.up_to(to, 12)?.ends_with(b"jp2c\xff\x4f\xff\x51") {
                codestream(reader, to + 12)?;
                comment(reader, to + 12)?;
            }
            return Ok(shape);
        }
        at = to;
    }
    Err(ReadEnd::broken("the JPEG 2000 file has too much before its header", at))
}

/// The fields collected from the header box so far.
#[derive(Default)]
struct Header {
    size: Option<(u32, u32)>,
    components: u16,
    mode: Option<&'static str>,
    /// Whether the colour space is greyscale.
    grey: bool,
    cmyk: bool,
}

fn header(reader: &mut Reader, mut at: u64, end: u64) -> Result<Jp2Dimensions, ReadEnd> {
    let mut header = Header::default();
    while at < end {
        let (kind, from, to) = read_inner_box(reader, at, Some(end))?;
        match &kind {
            b"ihdr" => image_header(&fields(reader, from, to)?, &mut header),
            b"colr" => colours(&fields(reader, from, to)?, &mut header),
            b"pclr" if matches!(header.mode, Some("L" | "LA")) && !header.grey => {
                palette(reader, (from, to), &mut header)?;
            }
            _ => {}
        }
        at = to;
    }
    match (header.size, header.mode) {
        (Some((width, height)), Some(mode)) => Ok((width, height, mode)),
        _ => Err(ReadEnd::other("a JPEG 2000 file with a header that lacks something")),
    }
}

/// Returns the first `N` bytes of a box.
fn fields<const N: usize>(reader: &mut Reader, from: u64, to: u64) -> Result<[u8; N], ReadEnd> {
    if to - from < N as u64 {
        return Err(ReadEnd::other("a JPEG 2000 file with a header that is too short"));
    }
    Ok(reader.array(from)?)
}

fn image_header(s: &[u8; 11], header: &mut Header) {
    let [h3, h2, h1, h0, w3, w2, w1, w0, n1, n0, depth] = *s;
    header.size = Some((u32::from_be_bytes([w3, w2, w1, w0]), u32::from_be_bytes([h3, h2, h1, h0])));
    header.components = u16::from_be_bytes([n1, n0]);
    header.mode = match header.components {
        // The field is one less than the number of bits.
        1 if depth & 0x7f > 8 => Some("I;16"),
        1 => Some("L"),
        2 => Some("LA"),
        3 => Some("RGB"),
        4 => Some("RGBA"),
        _ => header.mode,
    };
}

fn colours(s: &[u8; 7], header: &mut Header) {
    let [method, _, _, e3, e2, e1, e0] = *s;
    if method != 1 {
        return;
    }
    match u32::from_be_bytes([e3, e2, e1, e0]) {
        0 | 15 | 17 => (header.grey, header.cmyk) = (true, false),
        12 => {
            (header.grey, header.cmyk) = (false, true);
            if header.components == 4 {
                header.mode = Some("CMYK");
            }
        }
        _ => {}
    }
}

/// Reads a palette; one of at most 8 bits makes the image paletted.
fn palette(reader: &mut Reader, place: (u64, u64), header: &mut Header) -> Result<(), ReadEnd> {
    let (from, to) = place;
    let [e1, e0, columns] = fields::<3>(reader, from, to)?;
    let (colours, columns) = (u64::from(u16::from_be_bytes([e1, e0])), u64::from(columns));
    let short = || ReadEnd::other("a JPEG 2000 file with a palette that is too short");
    if from + 3 + columns > to {
        return Err(short());
    }
    if reader.exactly(from + 3, columns as usize)?.iter().all(|depth| *depth <= 8) {
        if from + 3 + columns + colours * columns > to {
            return Err(short());
        }
        header.mode = Some(if header.mode == Some("L") { "P" } else { "PA" });
    }
    Ok(())
}
