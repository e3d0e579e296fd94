//! PNG and APNG: the chunks up to the first image data.

use super::{else_other, ends_with, Picture, ReadEnd};
use crate::bytes::MAX_READ_BYTES;
use crate::Reader;

const MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";

pub(super) fn accepts(first: &[u8]) -> bool {
    first.starts_with(MAGIC)
}

/// The maximum number of chunks before the image data.
const MAX_CHUNKS: usize = 100_000;
/// The number of bytes whose checksum is verified; checksums after that are not verified.
const MAX_CHECKED: u64 = 16 << 20;

/// The state collected from the chunks so far.
#[derive(Default)]
struct Header {
    width: u32,
    height: u32,
    mode: Option<&'static str>,
    /// Sequence number of the latest frame of an animation.
    sequence: Option<u32>,
    checked: u64,
}

/// Reads up to the first image data, and checks whether the last chunk is present.
pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let mut picture = read_from(reader, 0)?;
    if picture.remarks.is_empty() && !ends_with(reader, b"IEND\xaeB`\x82")? {
        picture.remark(CUT_CHUNKS);
    }
    Ok(picture)
}

const CUT_CHUNKS: &str = "cut short after a good header: its last chunk is missing";

/// Reads a PNG image that begins at `start`, possibly embedded in another file.
pub(super) fn read_from(reader: &mut Reader, start: u64) -> Result<Picture, ReadEnd> {
    let mut header = Header::default();
    let mut at = start.saturating_add(MAGIC.len() as u64);
    let mut data = None;
    for _ in 0..MAX_CHUNKS {
        let (kind, len) = chunk(reader, at)?;
        let content = at + 8;
        match &kind {
            b"IDAT" => data = Some(content + u64::from(len)),
            b"fdAT" => {
                frame_data(reader, &header, content, len)?;
                data = Some(content + u64::from(len));
            }
            b"IEND" => {}
            _ => {
                at = one_chunk(reader, &mut header, &kind, content, len)?;
                continue;
            }
        }
        break;
    }
    let Some(mode) = header.mode else {
        return Err(ReadEnd::other("a PNG file without a usable header"));
    };
    let mut picture = Picture::new(header.width, header.height, "PNG", mode)?;
    let Some(end) = data else {
        return Err(ReadEnd::broken("the PNG file has no picture data", at));
    };
    if end + 4 > reader.len() {
        picture.remark(CUT_CHUNKS);
    }
    Ok(picture)
}

/// Returns the name and length of the chunk at `at`.
fn chunk(reader: &mut Reader, at: u64) -> Result<([u8; 4], u32), ReadEnd> {
    let [l3, l2, l1, l0, kind @ ..] = else_other(reader.array::<8>(at))?;
    if !kind.iter().all(|c| c.is_ascii_alphanumeric() || *c == b'_') {
        return Err(ReadEnd::other("a PNG file with a chunk that has no name"));
    }
    Ok((kind, u32::from_be_bytes([l3, l2, l1, l0])))
}

/// Reads a chunk before the image data, and returns the offset of the next one.
fn one_chunk(reader: &mut Reader, header: &mut Header, kind: &[u8; 4], at: u64, len: u32) -> Result<u64, ReadEnd> {
    let end = at + u64::from(len);
    if end > reader.len() {
        return Err(ReadEnd::broken("the PNG file ends before its picture data", reader.len()));
    }
    let shortest = match kind {
        b"IHDR" => 13,
        b"tRNS" => match header.mode {
            Some("RGB") => 6,
            Some("1" | "L" | "I;16") => 2,
            _ => 0,
        },
        b"gAMA" => 4,
        b"cHRM" => 32,
        b"sRGB" => 1,
        b"pHYs" => 9,
        b"acTL" => 8,
        b"fcTL" => 26,
        _ => 0,
    };
    if len < shortest {
        let name = String::from_utf8_lossy(kind);
        return Err(ReadEnd::broken(format!("the {name} chunk of the PNG file is too short"), at));
    }
    match kind {
        b"IHDR" => image_header(&reader.array(at)?, header)?,
        b"fcTL" => frame_control(&reader.array(at)?, header)?,
        b"iCCP" | b"zTXt" => compression(reader, kind, at, len)?,
        _ => {}
    }
    checksum(reader, header, kind, at, len)?;
    Ok(end + 4)
}

fn image_header(s: &[u8; 13], header: &mut Header) -> Result<(), ReadEnd> {
    let [w3, w2, w1, w0, h3, h2, h1, h0, depth, colour, _, filter, _] = *s;
    header.width = u32::from_be_bytes([w3, w2, w1, w0]);
    header.height = u32::from_be_bytes([h3, h2, h1, h0]);
    header.mode = match (depth, colour) {
        (1, 0) => Some("1"),
        (2 | 4 | 8, 0) => Some("L"),
        (16, 0) => Some("I;16"),
        (8 | 16, 2) => Some("RGB"),
        (1 | 2 | 4 | 8, 3) => Some("P"),
        (8, 4) => Some("LA"),
        // Pillow has no mode for 16-bit grey with alpha.
        (16, 4) | (8 | 16, 6) => Some("RGBA"),
        _ => header.mode,
    };
    if filter != 0 {
        return Err(ReadEnd::other("a PNG file with an unknown filter method"));
    }
    Ok(())
}

/// Checks that the frames of an animation are numbered consecutively and are within the image.
fn frame_control(s: &[u8; 26], header: &mut Header) -> Result<(), ReadEnd> {
    let number = |at: usize| u64::from(u32::from_be_bytes([s[at], s[at + 1], s[at + 2], s[at + 3]]));
    let sequence = number(0);
    if sequence != header.sequence.map_or(0, |last| u64::from(last) + 1) {
        return Err(ReadEnd::other("an animated PNG file whose frames do not follow each other"));
    }
    header.sequence = u32::try_from(sequence).ok();
    if number(12) + number(4) > header.width.into() || number(16) + number(8) > header.height.into() {
        return Err(ReadEnd::other("an animated PNG file with a frame outside of the picture"));
    }
    Ok(())
}

fn frame_data(reader: &mut Reader, header: &Header, at: u64, len: u32) -> Result<(), ReadEnd> {
    if len < 4 {
        return Err(ReadEnd::broken("the fdAT chunk of the PNG file is too short", at));
    }
    let sequence = u64::from(u32::from_be_bytes(reader.array(at)?));
    match header.sequence {
        Some(last) if sequence == u64::from(last) + 1 => Ok(()),
        _ => Err(ReadEnd::other("an animated PNG file whose frames do not follow each other")),
    }
}

/// Checks the compression method. Both chunks consist of a name, a zero byte and the method, of which only 0 is defined.
fn compression(reader: &mut Reader, kind: &[u8; 4], at: u64, len: u32) -> Result<(), ReadEnd> {
    let s = reader.up_to(at, (len as usize).min(MAX_READ_BYTES))?;
    let method = match memchr::memchr(0, s) {
        Some(zero) => s.get(zero + 1).copied(),
        // Without a zero byte, the profile's method is its first byte.
        None if kind == b"iCCP" => s.first().copied(),
        None => Some(0),
    };
    match method {
        Some(0) => Ok(()),
        None if kind == b"zTXt" => Ok(()),
        _ => Err(ReadEnd::other("a PNG file with an unknown compression method")),
    }
}

fn checksum(reader: &mut Reader, header: &mut Header, kind: &[u8; 4], at: u64, len: u32) -> Result<(), ReadEnd> {
    header.checked += u64::from(len);
    if header.checked > MAX_CHECKED {
        return Ok(());
    }
    let mut crc = flate2::Crc::new();
    crc.update(kind);
    let end = at + u64::from(len);
    let mut from = at;
    while from < end {
        let count = usize::try_from(end - from).unwrap_or(MAX_READ_BYTES).min(MAX_READ_BYTES);
        let bytes = reader.exactly(from, count)?;
        crc.update(bytes);
        from += bytes.len() as u64;
    }
    if u32::from_be_bytes(else_other(reader.array(end))?) != crc.sum() {
        let name = String::from_utf8_lossy(kind);
        return Err(ReadEnd::other(format!("a PNG file with a wrong checksum of its {name} chunk")));
    }
    Ok(())
}
