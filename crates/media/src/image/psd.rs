//! Photoshop files: the merged image.

use super::{be16, be32, else_other, Picture, ReadEnd, CUT};
use crate::{ProbeError, Reader};

pub(super) fn accepts(first: &[u8]) -> bool {
    first.starts_with(b"8BPS")
}

/// The maximum number of resources that are skipped.
const MAX_RESOURCES: usize = 100_000;

pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let header = header(reader)?;
    let (at, compression) = compression(reader)?;
    let mut picture = Picture::new(header.width, header.height, "PSD", header.mode)?;
    let rows = u128::from(header.height) * u128::from(header.channels);
    let end = match compression {
        0 if header.mode == "1" => rows * u128::from(header.width.div_ceil(8)),
        0 => rows * u128::from(header.width),
        // Each row has its length in a table before the pixels.
        1 if u128::from(at) + 2 * rows > u128::from(reader.len()) => {
            return Err(ReadEnd::broken("the Photoshop file ends before its pixels", reader.len()));
        }
        1 => 2 * rows,
        other => return Err(ReadEnd::broken(format!("a Photoshop file of compression {other} is not known"), at)),
    };
    if u128::from(at) + end > u128::from(reader.len()) {
        picture.remark(CUT);
    }
    Ok(picture)
}

/// The fields of the file header.
struct Header {
    width: u32,
    height: u32,
    mode: &'static str,
    /// The number of channels that make up the merged image.
    channels: u32,
}

fn header(reader: &mut Reader) -> Result<Header, ReadEnd> {
    let s = reader.up_to(0, 26)?;
    if be16(s, 4)? != 1 {
        return Err(ReadEnd::other("a large Photoshop file"));
    }
    let (there, height, width) = (be16(s, 12)?, be32(s, 14)?, be32(s, 18)?);
    let (mode, channels) = match (be16(s, 24)?, be16(s, 22)?) {
        (0, 1) => ("1", 1),
        (0 | 1 | 7 | 8, 8) => ("L", 1),
        (2, 8) => ("P", 1),
        (3, 8) if there == 4 => ("RGBA", 4),
        (3, 8) => ("RGB", 3),
        (4, 8) => ("CMYK", 4),
        (9, 8) => ("LAB", 3),
        _ => return Err(ReadEnd::other("a Photoshop file of an unknown mode")),
    };
    if there < channels {
        return Err(ReadEnd::broken("the Photoshop file has too few channels", 12));
    }
    Ok(Header { width, height, mode, channels })
}

/// Returns the offset of the pixels and their compression method.
fn compression(reader: &mut Reader) -> Result<(u64, u16), ReadEnd> {
    let mut at = 26;
    at += 4 + u64::from(length(reader, at)?);
    at = resources(reader, at)?;
    at += 4 + u64::from(length(reader, at)?);
    Ok((at + 2, u16::from_be_bytes(else_other(reader.array(at))?)))
}

/// Returns the offset of the pixels, their compression method, and the number of channels.
pub(super) fn pixels(reader: &mut Reader) -> Result<(u64, u16, u64), ReadEnd> {
    let channels = header(reader)?.channels.into();
    let (at, compression) = compression(reader)?;
    Ok((at, compression, channels))
}

fn length(reader: &mut Reader, at: u64) -> Result<u32, ReadEnd> {
    Ok(u32::from_be_bytes(else_other(reader.array(at))?))
}

/// Skips the resources at `at`, and returns their end; the last one may extend past the declared length.
fn resources(reader: &mut Reader, at: u64) -> Result<u64, ReadEnd> {
    let end = at + 4 + u64::from(length(reader, at)?);
    let mut at = at + 4;
    for _ in 0..MAX_RESOURCES {
        if at >= end {
            return Ok(at);
        }
        let name = u64::from(else_other(reader.array::<1>(at + 6))?[0]);
        at += 7 + name;
        at += u64::from(name & 1 == 0);
        let len = u64::from(length(reader, at)?);
        at += 4 + len + (len & 1);
    }
    Err(ProbeError::broken("the Photoshop file has too many resources", at).into())
}
