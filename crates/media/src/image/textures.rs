//! DirectDraw surfaces and QOI.

use super::{be32, byte, le32, Picture, ReadEnd};
use crate::Reader;

pub(super) fn accepts_dds(first: &[u8]) -> bool {
    first.starts_with(b"DDS ")
}

pub(super) fn accepts_qoi(first: &[u8]) -> bool {
    first.starts_with(b"qoif")
}

const ALPHA: u32 = 0x1;
const FOUR_CC: u32 = 0x4;
const PALETTE: u32 = 0x20;
const RGB: u32 = 0x40;
const GREY: u32 = 0x2_0000;

pub(super) fn read_dds(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let s = reader.up_to(0, 148)?;
    if le32(s, 4)? != 124 || s.len() < 128 {
        return Err(ReadEnd::broken("the header of the DirectDraw surface is not known", 4));
    }
    let (height, width) = (le32(s, 12)?, le32(s, 16)?);
    let (flags, code, bits) = (le32(s, 80)?, super::piece::<4>(s, 84)?, le32(s, 88)?);
    let mode = if flags & RGB != 0 {
        Some(if flags & ALPHA != 0 { "RGBA" } else { "RGB" })
    } else if flags & GREY != 0 {
        match bits {
            8 => Some("L"),
            16 if flags & ALPHA != 0 => Some("LA"),
            _ => None,
        }
    } else if flags & PALETTE != 0 {
        Some("P")
    } else if flags & FOUR_CC != 0 {
        match &code {
            b"DXT1" | b"DXT3" | b"DXT5" => Some("RGBA"),
            b"BC4U" | b"ATI1" => Some("L"),
            b"BC5S" | b"BC5U" | b"ATI2" => Some("RGB"),
            b"DX10" => dxgi(le32(s, 128)?),
            _ => None,
        }
    } else {
        None
    };
    let mode =
        mode.ok_or_else(|| ReadEnd::broken("the pixels of the DirectDraw surface are of an unknown format", 76))?;
    Picture::new(width, height, "DDS", mode)
}

/// How the pixels of a surface are stored.
pub(super) enum Layout {
    /// Consecutive pixels of `bytes` bytes each.
    Pixels { bytes: u64 },
    /// Blocks of 4 × 4 pixels, of `bytes` bytes each.
    Blocks { bytes: u64 },
}

/// Returns the offset of the pixels in bytes, and their layout.
pub(super) fn dds_layout(reader: &mut Reader) -> Result<(u64, Layout), ReadEnd> {
    let s = reader.up_to(0, 148)?;
    let (flags, code, bits) = (le32(s, 80)?, super::piece::<4>(s, 84)?, le32(s, 88)?);
    if flags & RGB != 0 {
        return Ok((128, Layout::Pixels { bytes: u64::from(bits / 8) }));
    }
    if flags & GREY != 0 {
        return Ok((128, Layout::Pixels { bytes: if bits == 8 { 1 } else { 2 } }));
    }
    if flags & PALETTE != 0 {
        return Ok((128 + 1024, Layout::Pixels { bytes: 1 }));
    }
    Ok(match &code {
        b"DXT1" | b"BC4U" | b"ATI1" => (128, Layout::Blocks { bytes: 8 }),
        b"DX10" => match le32(s, 128)? {
            70 | 71 | 79 | 80 => (148, Layout::Blocks { bytes: 8 }),
            27..=29 => (148, Layout::Pixels { bytes: 4 }),
            _ => (148, Layout::Blocks { bytes: 16 }),
        },
        _ => (128, Layout::Blocks { bytes: 16 }),
    })
}

/// Returns the mode for a DXGI format number of Direct3D.
fn dxgi(format: u32) -> Option<&'static str> {
    match format {
        70 | 71 | 73 | 74 | 76 | 77 | 97..=99 | 27..=29 => Some("RGBA"),
        79 | 80 => Some("L"),
        82..=84 | 95 | 96 => Some("RGB"),
        _ => None,
    }
}

pub(super) fn read_qoi(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let s = reader.up_to(0, 14)?;
    let (width, height) = (be32(s, 4)?, be32(s, 8)?);
    Picture::new(width, height, "QOI", if byte(s, 12)? == 3 { "RGB" } else { "RGBA" })
}
