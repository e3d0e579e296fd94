//! Windows bitmaps, with and without a file header.

use super::{byte, else_other, le16, le32, Picture, ReadEnd, CUT};
use crate::Reader;

pub(super) fn accepts(first: &[u8]) -> bool {
    first.starts_with(b"BM")
}

/// Whether the file is a bitmap that begins with its information header, whose length is the first number.
pub(super) fn accepts_headless(first: &[u8]) -> bool {
    matches!(le32(first, 0), Ok(12 | 40 | 52 | 56 | 64 | 108 | 124))
}

pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let pixels = le32(reader.up_to(0, 14)?, 10)?;
    let bitmap = bitmap(reader, 14, pixels, false)?;
    picture(reader, &bitmap, "BMP")
}

pub(super) fn read_headless(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let bitmap = bitmap(reader, 0, 0, false)?;
    picture(reader, &bitmap, "DIB")
}

fn picture(reader: &Reader, bitmap: &Bitmap, format: &'static str) -> Result<Picture, ReadEnd> {
    let mut picture = Picture::new(bitmap.width, bitmap.height, format, bitmap.mode)?;
    if bitmap.end > u128::from(reader.len()) {
        picture.remark(CUT);
    }
    Ok(picture)
}

/// The fields of a bitmap that follow from its header.
pub(super) struct Bitmap {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) mode: &'static str,
    /// Offsets in bytes of the beginning and the end of the pixels; the end is meaningful only if they are uncompressed.
    pub(super) pixels: u64,
    pub(super) end: u128,
    /// Bits per pixel.
    pub(super) bits: u32,
    /// Bytes of the palette that are present.
    pub(super) palette: u64,
    /// Bits per pixel of run-length encoding; 0 if the pixels are uncompressed.
    pub(super) run_bits: u8,
}

const RAW: u32 = 0;
const BITFIELDS: u32 = 3;

/// The fields common to both kinds of headers.
struct Fields {
    width: u32,
    height: u32,
    bits: u32,
    compression: u32,
    colours: u32,
    /// Bytes per colour in the palette.
    padding: u64,
    /// Bit masks of red, green, blue and alpha.
    masks: [u32; 4],
}

impl Bitmap {
    /// Returns the end of the first `height` rows, if they are uncompressed. The last one needs no padding.
    pub(super) fn end_of(&self, height: u32) -> u128 {
        let bits = u128::from(self.width) * u128::from(self.bits);
        let stride = bits.div_ceil(32) * 4;
        u128::from(self.pixels) + stride * u128::from(height.saturating_sub(1)) + bits.div_ceil(8)
    }
}

/// Reads the header at `at`. The pixels begin at `pixels`, or after the header if that is 0. With `cursor`, 32-bit pixels have alpha.
pub(super) fn bitmap(reader: &mut Reader, at: u64, pixels: u32, cursor: bool) -> Result<Bitmap, ReadEnd> {
    let size = u32::from_le_bytes(else_other(reader.array(at))?);
    let after = at + u64::from(size.max(4));
    if after > reader.len() {
        return Err(ReadEnd::broken("the bitmap ends within its header", reader.len()));
    }
    let (mut after, fields) = match size {
        12 => (after, core_fields(reader.up_to(at + 4, 8)?)?),
        40 | 52 | 56 | 64 | 108 | 124 => {
            let mut fields = info_fields(reader.up_to(at + 4, size as usize - 4)?)?;
            let mut after = after;
            if fields.compression == BITFIELDS && size < 52 {
                // The masks follow the short header.
                let masks = reader.up_to(after, 12)?;
                fields.masks = [le32(masks, 0)?, le32(masks, 4)?, le32(masks, 8)?, 0];
                after += 12;
            }
            (after, fields)
        }
        _ => {
            return Err(ReadEnd::broken(
                format!("a bitmap header of {} is not known", gristmill_core::text::count(u64::from(size), "byte")),
                at,
            ))
        }
    };
    let mut pixels = u64::from(pixels);
    if pixels == 14 + u64::from(size) && fields.bits <= 8 {
        pixels += fields.padding * u64::from(fields.colours);
    }
    let mut mode = mode(&fields, cursor, at)?;
    let mut palette = 0;
    if mode == "P" {
        if fields.colours == 0 || fields.colours > 65536 {
            return Err(ReadEnd::broken(format!("a bitmap palette of {} colours is not known", fields.colours), at));
        }
        let len = fields.padding * u64::from(fields.colours);
        if grey(reader.up_to(after, len as usize)?, &fields) {
            mode = if fields.colours <= 2 { "1" } else { "L" };
        }
        palette = reader.len().min(after + len).saturating_sub(after);
        after += palette;
    }
    let pixels = if pixels == 0 { after } else { pixels };
    let stride = (u128::from(fields.width) * u128::from(fields.bits)).div_ceil(32) * 4;
    // The last row needs no padding.
    let row = (u128::from(fields.width) * u128::from(fields.bits)).div_ceil(8);
    let run_bits = match fields.compression {
        1 => 8,
        2 => 4,
        _ => 0,
    };
    let size = if run_bits == 0 { stride * u128::from(fields.height.saturating_sub(1)) + row } else { 0 };
    Ok(Bitmap {
        width: fields.width,
        height: fields.height,
        mode,
        pixels,
        end: u128::from(pixels) + size,
        bits: fields.bits,
        palette: if mode == "P" { palette } else { 0 },
        run_bits,
    })
}

fn core_fields(s: &[u8]) -> Result<Fields, ReadEnd> {
    let bits = le16(s, 6)?;
    Ok(Fields {
        width: le16(s, 0)?,
        height: le16(s, 2)?,
        bits,
        compression: RAW,
        colours: 1_u32.checked_shl(bits).unwrap_or(0),
        padding: 3,
        masks: [0; 4],
    })
}

fn info_fields(s: &[u8]) -> Result<Fields, ReadEnd> {
    let (height, bits) = (le32(s, 4)?, le16(s, 10)?);
    let compression = le32(s, 12)?;
    let colours = match le32(s, 28)? {
        0 => 1_u32.checked_shl(bits).unwrap_or(0),
        colours => colours,
    };
    let mut masks = [0; 4];
    if compression == BITFIELDS && s.len() >= 48 {
        let count = if s.len() >= 52 { 4 } else { 3 };
        for (index, mask) in masks.iter_mut().take(count).enumerate() {
            *mask = le32(s, 36 + 4 * index)?;
        }
    }
    Ok(Fields {
        width: le32(s, 0)?,
        // Top-down bitmaps have a negative height.
        height: if byte(s, 7)? == 0xff { height.wrapping_neg() } else { height },
        bits,
        compression,
        colours,
        padding: 4,
        masks,
    })
}

fn mode(fields: &Fields, cursor: bool, at: u64) -> Result<&'static str, ReadEnd> {
    let mode = match fields.bits {
        1 | 4 | 8 => "P",
        16 | 24 | 32 => "RGB",
        bits => return Err(ReadEnd::broken(format!("a bitmap of {bits} bits per pixel is not known"), at)),
    };
    match fields.compression {
        RAW if fields.bits == 32 && cursor => Ok("RGBA"),
        RAW | 1 | 2 => Ok(mode),
        BITFIELDS => bitfields(fields)
            .ok_or_else(|| ReadEnd::broken("a bitmap whose colours are laid out in an unknown way", at)),
        other => Err(ReadEnd::broken(format!("a bitmap of compression {other} is not known"), at)),
    }
}

fn bitfields(fields: &Fields) -> Option<&'static str> {
    let [red, green, blue, _] = fields.masks;
    match fields.bits {
        32 => match fields.masks {
            [0xff_0000, 0xff00, 0xff, 0] | [0xff00_0000, 0xff_0000, 0xff00, 0] | [0xff00_0000, 0xff00, 0xff, 0] => {
                Some("RGB")
            }
            [0xff00_0000, 0xff_0000, 0xff00, 0xff]
            | [0xff, 0xff00, 0xff_0000, 0xff00_0000]
            | [0xff_0000, 0xff00, 0xff, 0xff00_0000]
            | [0xff00_0000, 0xff00, 0xff, 0xff_0000]
            | [0, 0, 0, 0] => Some("RGBA"),
            _ => None,
        },
        24 => matches!((red, green, blue), (0xff_0000, 0xff00, 0xff)).then_some("RGB"),
        16 => matches!((red, green, blue), (0xf800, 0x7e0, 0x1f) | (0x7c00, 0x3e0, 0x1f)).then_some("RGB"),
        _ => None,
    }
}

/// Whether each colour of the palette is the grey of its index.
fn grey(palette: &[u8], fields: &Fields) -> bool {
    let padding = fields.padding as usize;
    (0..fields.colours as usize).all(|index| {
        let value = if fields.colours == 2 { index * 255 } else { index };
        let from = index * padding;
        palette.get(from..from + 3).is_some_and(|colour| colour.iter().all(|c| usize::from(*c) == value & 0xff))
    })
}
