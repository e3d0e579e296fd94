//! Targa: the format has no magic number, so any file whose first bytes are plausible as a header is accepted.

use super::{byte, le16, Picture, ReadEnd, CUT};
use crate::Reader;

pub(super) fn accepts(_: &[u8]) -> bool {
    true
}

pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let s = reader.up_to(0, 18)?;
    let (id, colour_map, kind) = (byte(s, 0)?, byte(s, 1)?, byte(s, 2)?);
    let depth = byte(s, 16)?;
    byte(s, 17)?;
    let (width, height) = (le16(s, 12)?, le16(s, 14)?);
    if colour_map > 1 || width == 0 || height == 0 || !matches!(depth, 1 | 8 | 16 | 24 | 32) {
        return Err(ReadEnd::Other(String::new()));
    }
    let mode = match (kind, depth) {
        (3 | 11, 1) => "1",
        (3 | 11, 16) => "LA",
        (3 | 11, _) => "L",
        (1 | 9, _) if colour_map == 1 => "P",
        (1 | 9, _) => "L",
        (2 | 10, 24) => "RGB",
        (2 | 10, _) => "RGBA",
        _ => return Err(ReadEnd::Other(String::new())),
    };
    let map_depth = byte(s, 7)?;
    if colour_map == 1 && !matches!(map_depth, 16 | 24 | 32) {
        return Err(ReadEnd::Other(String::new()));
    }
    if !matches!((kind & 7, depth), (1, 8) | (3, 1 | 8 | 16) | (2, 16 | 24 | 32)) {
        return Err(ReadEnd::broken("the Targa file has pixels of an unknown kind", 16));
    }
    let map = if colour_map == 1 { u64::from(map_depth / 8) * u64::from(le16(s, 5)?) } else { 0 };
    let mut picture = Picture::new(width, height, "TGA", mode)?;
    let row = (u64::from(width) * u64::from(depth)).div_ceil(8);
    if kind & 8 == 0 && 18 + u64::from(id) + map + row * u64::from(height) > reader.len() {
        picture.remark(CUT);
    }
    Ok(picture)
}
