//! WebP: simple, lossless and extended files. The mode depends on the presence of alpha.

use super::{Picture, ReadEnd, CUT};
use crate::{ProbeError, Reader};

pub(super) fn accepts(first: &[u8]) -> bool {
    first.len() == 16
        && first.starts_with(b"RIFF")
        && &first[8..12] == b"WEBP"
        && matches!(&first[12..16], b"VP8 " | b"VP8X" | b"VP8L")
}

/// The maximum number of chunks before the image of an extended file.
const MAX_CHUNKS: usize = 10_000;
const ALPHA: u8 = 0x10;
const ANIMATION: u8 = 0x02;

/// Width, height, and whether the image has alpha.
pub(super) type WebpDimensions = (u32, u32, bool);

pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let riff = u64::from(u32::from_le_bytes(reader.array(4)?));
    let kind: [u8; 4] = reader.array(12)?;
    let (width, height, alpha) = match &kind {
        b"VP8X" => extended(reader)?,
        _ => bitstream(reader, &kind, 20)?,
    };
    let mut picture = Picture::new(width, height, "WEBP", if alpha { "RGBA" } else { "RGB" })
        .map_err(|_| ReadEnd::broken("the WebP file has no pixels", 0))?;
    if 8 + riff > reader.len() {
        picture.remark(CUT);
    }
    Ok(picture)
}

/// Whether an extended file declares an alpha channel that it does not have, which is no error.
pub(super) fn lacks_declared_alpha(reader: &mut Reader) -> Result<bool, ProbeError> {
    let header = reader.array::<21>(0)?;
    if &header[12..16] != b"VP8X" || header[20] & ALPHA == 0 || header[20] & ANIMATION != 0 {
        return Ok(false);
    }
    let mut at = 20 + padded(u32::from_le_bytes(reader.array(16)?));
    for _ in 0..MAX_CHUNKS {
        let Ok([a, b, c, d, len @ ..]) = <[u8; 8]>::try_from(reader.up_to(at, 8)?) else { break };
        match &[a, b, c, d] {
            b"ALPH" | b"VP8L" => return Ok(false),
            b"VP8 " => return Ok(true),
            _ => at += 8 + padded(u32::from_le_bytes(len)),
        }
    }
    Ok(false)
}

/// Checks that the first frame of an animation has the declared size; only such a frame may be decoded.
pub(super) fn first_frame_fits(reader: &mut Reader) -> Result<(), ProbeError> {
    let header = reader.array::<21>(0)?;
    if &header[12..16] != b"VP8X" || header[20] & ANIMATION == 0 {
        return Ok(());
    }
    let mut at = 20 + padded(u32::from_le_bytes(reader.array(16)?));
    let mut frame = None;
    for _ in 0..MAX_CHUNKS {
        let Ok([a, b, c, d, len @ ..]) = <[u8; 8]>::try_from(reader.up_to(at, 8)?) else { break };
        let (kind, content) = ([a, b, c, d], at + 8);
        match (&kind, frame) {
            (b"ANMF", None) => {
                let [w0, w1, w2, h0, h1, h2] = reader.array(content + 6)?;
                let side = |low, mid, high| u32::from_le_bytes([low, mid, high, 0]) + 1;
                frame = Some((side(w0, w1, w2), side(h0, h1, h2)));
                at = content + 16;
                continue;
            }
            (b"VP8 " | b"VP8L", Some(frame)) => {
                let own = bitstream(reader, &kind, content)?;
                return same_size(frame, own, own.2, at).map(|_| ());
            }
            _ => at = content + padded(u32::from_le_bytes(len)),
        }
    }
    Err(ProbeError::broken("the animated WebP picture has no first frame", at))
}

/// Reads an extended file. Without an animation, the header of the image itself decides whether it has alpha.
fn extended(reader: &mut Reader) -> Result<WebpDimensions, ProbeError> {
    let [flags, _, _, _, w0, w1, w2, h0, h1, h2] = reader.array(20)?;
    let width = u32::from_le_bytes([w0, w1, w2, 0]) + 1;
    let height = u32::from_le_bytes([h0, h1, h2, 0]) + 1;
    let alpha = flags & ALPHA != 0;
    if flags & ANIMATION != 0 {
        return Ok((width, height, alpha));
    }
    let mut separate = false;
    let mut at = 20 + padded(u32::from_le_bytes(reader.array(16)?));
    for _ in 0..MAX_CHUNKS {
        let header = reader.up_to(at, 8)?;
        let Ok([a, b, c, d, l0, l1, l2, l3]) = <[u8; 8]>::try_from(header) else { break };
        match &[a, b, c, d] {
            b"ALPH" => separate = true,
            b"VP8L" => {
                // The image's own alpha flag counts, and so does a separate alpha chunk.
                let own = bitstream(reader, b"VP8L", at + 8)?;
                return same_size((width, height), own, own.2 || separate, at);
            }
            b"VP8 " => {
                let own = bitstream(reader, b"VP8 ", at + 8)?;
                return same_size((width, height), own, alpha || separate, at);
            }
            _ => {}
        }
        at += 8 + padded(u32::from_le_bytes([l0, l1, l2, l3]));
    }
    Ok((width, height, alpha || separate))
}

/// Checks that the image fills the canvas.
fn same_size(canvas: (u32, u32), own: WebpDimensions, alpha: bool, at: u64) -> Result<WebpDimensions, ProbeError> {
    if canvas != (own.0, own.1) {
        return Err(ProbeError::broken("the WebP picture has another size than the file says", at));
    }
    Ok((canvas.0, canvas.1, alpha))
}

/// Returns the padded length of a chunk, which is even.
fn padded(len: u32) -> u64 {
    u64::from(len).next_multiple_of(2)
}

/// Reads the header of the bitstream itself.
pub(super) fn bitstream(reader: &mut Reader, kind: &[u8; 4], at: u64) -> Result<WebpDimensions, ProbeError> {
    if kind == b"VP8L" {
        let [signature, bits @ ..] = reader.array::<5>(at)?;
        let bits = u32::from_le_bytes(bits);
        if signature != 0x2f || bits >> 29 != 0 {
            return Err(ProbeError::broken("the lossless WebP picture has a wrong signature", at));
        }
        return Ok(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1, bits >> 28 & 1 != 0));
    }
    let [tag, _, _, s0, s1, s2, w0, w1, h0, h1] = reader.array(at)?;
    let key_frame = tag & 1 == 0;
    let (version, shown) = (tag >> 1 & 7, tag >> 4 & 1 != 0);
    if [s0, s1, s2] != [0x9d, 0x01, 0x2a] || !key_frame || version > 3 || !shown {
        return Err(ProbeError::broken("the WebP picture has a wrong header", at));
    }
    let part = |low, high| u32::from(u16::from_le_bytes([low, high]) & 0x3fff);
    Ok((part(w0, w1), part(h0, h1), false))
}
