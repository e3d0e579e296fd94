//! Portable anymaps: PBM, PGM, PPM and PFM, plain and raw.

use super::{Picture, ReadEnd, CUT};
use crate::{ProbeError, Reader};

pub(super) fn accepts(first: &[u8]) -> bool {
    matches!(first, [b'P', b'0'..=b'6' | b'f' | b'y', ..])
}

/// The maximum number of bytes of comments that are skipped.
const MAX_BEFORE: u64 = 16 << 20;

pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let header = header(reader)?;
    let mut picture = Picture::new(header.width, header.height, "PPM", header.mode)?;
    if !header.plain && u128::from(header.at) + header.bytes > u128::from(reader.len()) {
        picture.remark(CUT);
    }
    Ok(picture)
}

/// The header before the pixels.
pub(super) struct Header {
    width: u32,
    height: u32,
    pub(super) mode: &'static str,
    /// Whether the pixels are written as text.
    pub(super) plain: bool,
    /// The largest value of a sample.
    pub(super) most: i64,
    /// Offset of the pixels in bytes.
    pub(super) at: u64,
    /// Length of the pixels in bytes, unless they are text.
    pub(super) bytes: u128,
}

pub(super) fn header(reader: &mut Reader) -> Result<Header, ReadEnd> {
    let magic = reader.up_to(0, 6)?;
    let end = magic.iter().position(|c| white(*c)).unwrap_or(magic.len());
    let (mode, bits, plain) = match &magic[..end] {
        b"P1" => ("1", 1, true),
        b"P2" => ("L", 8, true),
        b"P3" => ("RGB", 24, true),
        b"P4" => ("1", 1, false),
        b"P5" => ("L", 8, false),
        b"P6" => ("RGB", 24, false),
        b"P0CMYK" | b"PyCMYK" => ("CMYK", 32, false),
        b"Pf" => ("F", 32, false),
        b"PyP" => ("P", 8, false),
        b"PyRGBA" => ("RGBA", 32, false),
        _ => return Err(ReadEnd::other("not a portable anymap")),
    };
    // The whitespace after the magic number is part of it.
    let mut at = (end + 1).min(6) as u64;
    let (width, height) = (number(reader, &mut at)?, number(reader, &mut at)?);
    let (mut mode, mut bits, mut largest) = (mode, bits, 1);
    if mode == "F" {
        let scale: f64 = parse_float(&token(reader, &mut at)?);
        if scale == 0.0 || !scale.is_finite() {
            return Err(ReadEnd::broken("the scale of the portable floatmap is no number", at));
        }
    } else if mode != "1" {
        let most = number(reader, &mut at)?;
        if !(1..65536).contains(&most) {
            return Err(ReadEnd::broken("the portable anymap has a largest value that is not allowed", at));
        }
        largest = most;
        if most > 255 {
            bits *= 2;
            if mode == "L" {
                mode = "I";
            }
        }
    }
    let size = |number: i64| u32::try_from(number.max(0));
    let (Ok(width), Ok(height)) = (size(width), size(height)) else {
        return Err(ReadEnd::broken("the portable anymap is too large", at));
    };
    let row = (u128::from(width) * bits).div_ceil(8);
    Ok(Header { width, height, mode, plain, most: largest, at, bytes: row * u128::from(height) })
}

/// Parses a float; NaN if the text is not a number.
fn parse_float(text: &[u8]) -> f64 {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

fn white(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

fn number(reader: &mut Reader, at: &mut u64) -> Result<i64, ReadEnd> {
    let start = *at;
    let token = token(reader, at)?;
    let text = std::str::from_utf8(&token).ok();
    // Python accepts an underscore between two digits of a number.
    let plain = |text: &str| text.split('_').all(|digits| !digits.is_empty()).then(|| text.replace('_', ""));
    text.and_then(|text| plain(text)?.parse().ok())
        .ok_or_else(|| ReadEnd::broken("the header of the portable anymap has something else than a number", start))
}

/// Returns the next word, at most ten bytes long; `#` begins a comment, also within a word.
fn token(reader: &mut Reader, at: &mut u64) -> Result<Vec<u8>, ReadEnd> {
    let mut token = Vec::new();
    while token.len() <= 10 {
        let Some(c) = next(reader, at)? else { break };
        if white(c) {
            if token.is_empty() {
                continue;
            }
            break;
        }
        if c == b'#' {
            while next(reader, at)?.is_some_and(|c| c != b'\r' && c != b'\n') {}
            continue;
        }
        token.push(c);
    }
    if token.is_empty() || token.len() > 10 || *at > MAX_BEFORE {
        return Err(ReadEnd::broken("the header of the portable anymap is broken", *at));
    }
    Ok(token)
}

fn next(reader: &mut Reader, at: &mut u64) -> Result<Option<u8>, ProbeError> {
    if *at > MAX_BEFORE {
        return Ok(None);
    }
    let byte = reader.up_to(*at, 1)?.first().copied();
    *at += u64::from(byte.is_some());
    Ok(byte)
}
