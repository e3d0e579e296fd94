//! Legacy formats of old programs and workstations: PCX, DCX, SGI and Sun raster.

use super::{be16, be32, byte, else_other, le16, le32, Picture, ReadEnd};
use crate::Reader;

pub(super) fn accepts_pcx(first: &[u8]) -> bool {
    matches!(first, [10, 0 | 2 | 3 | 5, ..])
}

pub(super) fn accepts_dcx(first: &[u8]) -> bool {
    matches!(le32(first, 0), Ok(0x3ade_68b1))
}

pub(super) fn accepts_sgi(first: &[u8]) -> bool {
    matches!(be16(first, 0), Ok(474))
}

pub(super) fn accepts_sun(first: &[u8]) -> bool {
    matches!(be32(first, 0), Ok(0x59a6_6a95))
}

pub(super) fn read_pcx(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    pcx(reader, 0, "PCX")
}

/// Reads the first page.
pub(super) fn read_dcx(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    match le32(reader.up_to(4, 4)?, 0)? {
        0 => Err(ReadEnd::other("a DCX file without pages")),
        page => pcx(reader, page.into(), "DCX"),
    }
}

fn pcx(reader: &mut Reader, at: u64, format: &'static str) -> Result<Picture, ReadEnd> {
    let s = reader.up_to(at, 68)?;
    if !accepts_pcx(s) {
        return Err(ReadEnd::other("not a PCX file"));
    }
    let (x0, y0) = (le16(s, 4)?, le16(s, 6)?);
    let (x1, y1) = (le16(s, 8)? + 1, le16(s, 10)? + 1);
    let (version, bits, planes) = (byte(s, 1)?, byte(s, 3)?, byte(s, 65)?);
    le16(s, 66)?;
    if x1 <= x0 || y1 <= y0 {
        return Err(ReadEnd::other("a PCX file of no size"));
    }
    let mode = match (version, bits, planes) {
        (_, 1, 1) => "1",
        (_, 1, 2 | 4) => "P",
        (5, 8, 1) => pcx_grey_or_palette(reader)?,
        (5, 8, 3) => "RGB",
        _ => return Err(ReadEnd::broken("a PCX file of an unknown mode", at)),
    };
    Picture::new(x1 - x0, y1 - y0, format, mode)
}

/// Returns the mode: paletted if the palette at the end is anything other than greys in order.
fn pcx_grey_or_palette(reader: &mut Reader) -> Result<&'static str, ReadEnd> {
    let Some(from) = reader.len().checked_sub(769) else { return Ok("L") };
    let [12, palette @ ..] = else_other(reader.array::<769>(from))? else { return Ok("L") };
    let grey = palette.chunks(3).enumerate().all(|(index, colour)| colour.iter().all(|c| usize::from(*c) == index));
    Ok(if grey { "L" } else { "P" })
}

pub(super) fn read_sgi(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let s = reader.up_to(0, 12)?;
    let (compression, depth) = (byte(s, 2)?, byte(s, 3)?);
    let mode = match (depth, be16(s, 4)?, be16(s, 10)?) {
        (1 | 2, 1 | 2, 1) => "L",
        (1 | 2, 3, 3) => "RGB",
        (1 | 2, 3, 4) => "RGBA",
        _ => return Err(ReadEnd::broken("an SGI picture of an unknown mode", 3)),
    };
    if compression > 1 {
        return Err(ReadEnd::broken("an SGI picture of an unknown compression", 2));
    }
    Picture::new(be16(s, 6)?, be16(s, 8)?, "SGI", mode)
}

pub(super) fn read_sun(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let s = reader.up_to(0, 32)?;
    let (kind, palette) = (be32(s, 24)?, be32(s, 28)?);
    let mode = match (be32(s, 12)?, palette) {
        (1, _) => "1",
        (4 | 8, 0) => "L",
        (4 | 8, _) => "P",
        (24 | 32, _) => "RGB",
        _ => return Err(ReadEnd::other("a Sun raster file of an unknown depth")),
    };
    if palette > 1024 || (palette > 0 && kind != 1) {
        return Err(ReadEnd::other("a Sun raster file of an unknown palette"));
    }
    Picture::new(be32(s, 4)?, be32(s, 8)?, "SUN", mode)
}
