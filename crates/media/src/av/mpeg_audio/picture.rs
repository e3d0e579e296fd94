//! The first picture in ID3v2 tags, which is reported as a separate stream.

use super::super::cover;
use crate::bytes::MAX_READ_BYTES;
use crate::{ProbeError, Reader};
use std::io::Read;

/// The maximum number of tag frames that are read; real files have fewer.
const FRAMES: usize = 10_000;
/// Flags of a frame in ID3v2.4.
const HAS_LENGTH: u16 = 1;
const UNSYNCHRONISED: u16 = 2;
const ENCRYPTED: u16 = 4;
const COMPRESSED: u16 = 8;

/// Returns width and height in pixels of the first picture in the tags that end at `end`.
pub(super) fn find(reader: &mut Reader, end: u64) -> Result<Option<(u32, u32)>, ProbeError> {
    let mut at = 0;
    let mut frames = 0;
    while at < end {
        let Ok([b'I', b'D', b'3', version, _, flags, size @ ..]) = reader.array::<10>(at) else { break };
        let size = syncsafe(u32::from_be_bytes(size));
        let mut tag = Id3Tag { version, unsynchronised: flags & 0x80 != 0, at: at + 10, left: size.into() };
        at += 10 + u64::from(size) + if flags & 0x10 != 0 { 10 } else { 0 };
        if !(2..=4).contains(&version) || version == 2 && flags & 0x40 != 0 {
            continue;
        }
        if version > 2 && flags & 0x40 != 0 && !tag.skip_extended_header(reader)? {
            continue;
        }
        while let Some(frame) = tag.next(reader)? {
            frames += 1;
            if frames > FRAMES {
                return Ok(None);
            }
            if frame.is_picture {
                if let Some(size) = picture(reader, &tag, &frame)? {
                    return Ok(Some(size));
                }
            }
        }
    }
    Ok(None)
}

/// Decodes a number of seven bits per byte.
fn syncsafe(plain: u32) -> u32 {
    (0..4).fold(0, |number, byte| number | (plain >> (8 * byte) & 0x7f) << (7 * byte))
}

/// The remainder of a tag.
struct Id3Tag {
    version: u8,
    unsynchronised: bool,
    /// Offset of the next frame in the file.
    at: u64,
    /// Number of bytes left in the tag.
    left: i64,
}

/// The location of a frame's content.
struct Frame {
    is_picture: bool,
    at: u64,
    len: u64,
    flags: u16,
}

impl Id3Tag {
    /// Skips the extended header; returns whether it fits into the tag.
    fn skip_extended_header(&mut self, reader: &mut Reader) -> Result<bool, ProbeError> {
        let Some(length) = four(reader, self.at)?.map(|length| i64::from(syncsafe(length))) else {
            return Ok(false);
        };
        let length = if self.version == 4 { length - 4 } else { length };
        if length < 0 || length + 4 > self.left {
            return Ok(false);
        }
        self.at += 4 + length.unsigned_abs();
        self.left -= 4 + length;
        Ok(true)
    }

    fn next(&mut self, reader: &mut Reader) -> Result<Option<Frame>, ProbeError> {
        let header_len = if self.version == 2 { 6 } else { 10 };
        if self.left < header_len {
            return Ok(None);
        }
        let at = self.at;
        let header = reader.up_to(at, header_len as usize)?;
        let (is_picture, len, flags) = match *header {
            [a, b, c, x, y, z] if self.version == 2 => (&[a, b, c] == b"PIC", u32::from_be_bytes([0, x, y, z]), 0),
            [0, _, _, _, ..] => return Ok(None),
            [a, b, c, d, w, x, y, z, f, g] => {
                let plain = u32::from_be_bytes([w, x, y, z]);
                let Some(len) = self.length(reader, plain)? else { return Ok(None) };
                let flags = if self.version == 4 { u16::from_be_bytes([f, g]) } else { 0 };
                (&[a, b, c, d] == b"APIC", len, flags)
            }
            _ => return Ok(None),
        };
        self.left -= header_len + i64::from(len);
        if self.left < 0 || len > 1 << 28 {
            return Ok(None);
        }
        self.at += header_len.unsigned_abs() + u64::from(len);
        Ok(Some(Frame { is_picture, at: at + header_len.unsigned_abs(), len: len.into(), flags }))
    }

    /// Returns the length of a frame. Some writers of version 4 use the encoding of version 3; the next frame determines which one applies.
    fn length(&self, reader: &mut Reader, plain: u32) -> Result<Option<u32>, ProbeError> {
        if self.version != 4 || plain <= 0x7f {
            return Ok(Some(plain));
        }
        let safe = syncsafe(plain);
        if i64::from(plain) >= self.left {
            return Ok(Some(safe));
        }
        for length in [safe, plain] {
            if let Some(next) = four(reader, self.at + 10 + u64::from(length))? {
                let name = next.to_be_bytes();
                if next == 0 || name.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()) {
                    return Ok(Some(length));
                }
            }
        }
        Ok(None)
    }
}

fn four(reader: &mut Reader, at: u64) -> Result<Option<u32>, ProbeError> {
    Ok(reader.up_to(at, 4)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)))
}

/// Returns width and height of a picture in a frame; `None` if its type is unknown.
fn picture(reader: &mut Reader, tag: &Id3Tag, frame: &Frame) -> Result<Option<(u32, u32)>, ProbeError> {
    let ahead = if frame.flags & HAS_LENGTH != 0 { 4 } else { 0 };
    let (at, len) = (frame.at + ahead, frame.len.saturating_sub(ahead));
    if frame.flags & ENCRYPTED != 0 || len <= 4 || at.saturating_add(len) > reader.len() {
        return Ok(None);
    }
    // The beginning of a longer picture is sufficient, because its size is in its header.
    let mut bytes = reader.up_to(at, usize::try_from(len).unwrap_or(MAX_READ_BYTES))?.to_vec();
    if tag.unsynchronised || frame.flags & UNSYNCHRONISED != 0 {
        synchronise(&mut bytes);
    }
    if frame.flags & COMPRESSED != 0 {
        let mut plain = Vec::new();
        let done = flate2::read::ZlibDecoder::new(bytes.as_slice()).take(MAX_READ_BYTES as u64).read_to_end(&mut plain);
        if done.is_err() {
            return Ok(None);
        }
        bytes = plain;
    }
    let Some((mime, picture)) = parts(&bytes, tag.version) else { return Ok(None) };
    let Some(format) = cover::format(&mime, picture) else { return Ok(None) };
    cover::size(picture, format, at).map(Some)
}

/// Removes the zero bytes after bytes of 0xff.
fn synchronise(bytes: &mut Vec<u8>) {
    let mut before = 0;
    bytes.retain(|&byte| {
        let kept = !(before == 0xff && byte == 0);
        // A removed zero does not affect the next byte.
        before = if kept { byte } else { 0 };
        kept
    });
}

/// Returns the MIME type in its usual spelling, and the picture.
fn parts(frame: &[u8], version: u8) -> Option<(Vec<u8>, &[u8])> {
    let (&encoding, rest) = frame.split_first()?;
    let (mime, rest) = if version == 2 {
        let (mime, rest) = rest.split_at_checked(3)?;
        (mime.to_ascii_uppercase(), rest)
    } else {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let mime = rest.get(..end)?;
        let plain = if mime.len() == 3 { mime.to_ascii_uppercase() } else { mime.to_ascii_lowercase() };
        (plain, rest.get(end + 1..)?)
    };
    let (_, described) = rest.split_first()?;
    let picture = match encoding {
        0 | 3 => described.get(described.iter().position(|byte| *byte == 0)? + 1..)?,
        1 => match described.get(..2)? {
            [0xff, 0xfe] | [0xfe, 0xff] => after_wide_text(described.get(2..)?),
            _ => return None,
        },
        2 => after_wide_text(described),
        _ => return None,
    };
    (!picture.is_empty()).then_some((mime, picture))
}

/// Returns the bytes after a text of two bytes per character that is terminated by a zero.
fn after_wide_text(bytes: &[u8]) -> &[u8] {
    let length = bytes.chunks_exact(2).take_while(|pair| *pair != [0, 0]).count() * 2;
    bytes.get(length + 2..).unwrap_or_default()
}
