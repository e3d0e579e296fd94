//! Legacy formats, whose rows are raw or run-length encoded: checks that all rows are present. Runs that extend past their row are accepted
//! or refused as in Pillow.

use super::{error, truncated};
use crate::{ProbeError, Reader};
use gristmill_core::ImageFacts;

/// Reads the bytes of an entry sequentially.
struct EntryBytes<'r, 'a> {
    reader: &'r mut Reader<'a>,
    at: u64,
}

impl EntryBytes<'_, '_> {
    /// Returns the next byte; fails at the end, because the image is cut there.
    fn byte(&mut self) -> Result<u8, ProbeError> {
        let byte = self.reader.up_to(self.at, 1)?.first().copied();
        self.at += 1;
        byte.ok_or_else(|| truncated(self.reader))
    }
    /// Skips `count` bytes, all of which must be present.
    fn pass(&mut self, count: u64) -> Result<(), ProbeError> {
        self.at += count;
        if self.at > self.reader.len() {
            return Err(truncated(self.reader));
        }
        Ok(())
    }
}

fn out_of_row(at: u64) -> ProbeError {
    ProbeError::broken("a run of pixels reaches out of its row", at)
}

fn size(facts: &ImageFacts) -> (u64, u64) {
    (facts.width.into(), facts.height.into())
}

/// Checks that the entry has `count` bytes from `at`.
fn check_length(reader: &Reader, at: u64, count: u64) -> Result<(), ProbeError> {
    if at.saturating_add(count) > reader.len() {
        return Err(truncated(reader));
    }
    Ok(())
}

/// PCX, also the first page of DCX: a run may extend to the end of its row, but not past it.
pub(super) fn pcx(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    let start = if facts.format == "DCX" { u64::from(u32::from_le_bytes(reader.array(8 - 4)?)) } else { 0 };
    let header = reader.array::<68>(start)?;
    let (bits, planes) = (u64::from(header[3]), u64::from(header[65]));
    let stated = u64::from(u16::from_le_bytes([header[66], header[67]]));
    let (width, height) = size(facts);
    let mut stride = (width * bits).div_ceil(8);
    if stated != stride {
        stride += stride % 2;
    }
    let row = planes * stride;
    let mut tape = EntryBytes { at: start + 128, reader };
    for _ in 0..height {
        let mut x = 0;
        while x < row {
            let first = tape.byte()?;
            if first < 0xc0 {
                x += 1;
                continue;
            }
            tape.byte()?;
            x += u64::from(first & 0x3f);
            if x > row {
                return Err(out_of_row(tape.at));
            }
        }
    }
    Ok(())
}

/// Sun raster: runs continue in the next row.
pub(super) fn sun(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    let header = reader.array::<32>(0)?;
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (depth, kind, palette) = (u64::from(number(12)), number(20), u64::from(number(28)));
    let (width, height) = size(facts);
    if width == 1 && matches!(number(16), 1 | 4) {
        return Err(ProbeError::broken(
            "readers based on Pillow mistake such a narrow Sun raster file for a GIMP brush",
            4,
        ));
    }
    let row = (width * depth).div_ceil(8);
    let start = 32 + palette;
    match kind {
        0 | 1 | 3..=5 => {
            // The last row needs no padding.
            let stride = (width * depth).div_ceil(16) * 2;
            check_length(reader, start, stride * (height - 1) + row)
        }
        2 => {
            let all = row * height;
            let mut tape = EntryBytes { at: start, reader };
            let mut done = 0;
            while done < all {
                done += match tape.byte()? {
                    0x80 => match tape.byte()? {
                        0 => 1,
                        count => {
                            tape.byte()?;
                            u64::from(count) + 1
                        }
                    },
                    _ => 1,
                };
            }
            Ok(())
        }
        _ => Err(ProbeError::broken("a Sun raster file of an unknown type", 20)),
    }
}

/// Targa: a run of one colour must not extend past its row, a run of several colours may.
pub(super) fn tga(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    let header = reader.array::<18>(0)?;
    let (id, coloured, kind, depth) = (header[0], header[1], header[2], u64::from(header[16]));
    let colours = u64::from(u16::from_le_bytes([header[5], header[6]]));
    let map = if coloured == 1 { colours * u64::from(header[7] / 8) } else { 0 };
    let start = 18 + u64::from(id) + map;
    let (width, height) = size(facts);
    let row = (width * depth).div_ceil(8);
    if kind & 8 == 0 {
        return check_length(reader, start, row * height);
    }
    let pixel = depth / 8;
    let mut tape = EntryBytes { at: start, reader };
    let (mut x, mut y) = (0, 0);
    while y < height {
        let first = tape.byte()?;
        let count = pixel * (u64::from(first & 0x7f) + 1);
        if first & 0x80 != 0 {
            tape.pass(pixel)?;
            if x + count > row {
                return Err(out_of_row(tape.at));
            }
        } else {
            tape.pass(count)?;
        }
        x += count;
        (x, y) = (x % row, y + x / row);
    }
    Ok(())
}

/// Photoshop: each channel is packed separately; data past the end of a row are dropped.
pub(super) fn psd(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    let (start, compression, channels) = super::super::psd::pixels(reader).map_err(error)?;
    let (width, height) = size(facts);
    let row = if facts.mode == "1" { width.div_ceil(8) } else { width };
    if compression == 0 {
        let planes = if facts.mode == "1" { 1 } else { channels };
        return check_length(reader, start, (planes - 1) * width * height + row * height);
    }
    let mut offset = start + 2 * channels * height;
    for channel in 0..channels {
        let mut tape = EntryBytes { at: offset, reader };
        for _ in 0..height {
            let mut x = 0;
            while x < row {
                match tape.byte()? {
                    0x80 => {}
                    run @ 0x81.. => {
                        tape.byte()?;
                        x += 257 - u64::from(run);
                    }
                    count => {
                        tape.pass(u64::from(count) + 1)?;
                        x += u64::from(count) + 1;
                    }
                }
            }
        }
        for y in 0..height {
            let len = reader.array(start + 2 * (channel * height + y))?;
            offset += u64::from(u16::from_be_bytes(len));
        }
    }
    Ok(())
}

/// SGI: rows are at arbitrary offsets; a row may end early, and the rest of such a row is ignored.
pub(super) fn sgi(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    const HEADER: u64 = 512;
    let [packed, depth] = reader.array(2)?;
    let (width, height) = size(facts);
    let bands: u64 = match facts.mode {
        "L" => 1,
        "RGB" => 3,
        _ => 4,
    };
    let depth = u64::from(depth);
    if packed == 0 {
        return check_length(reader, HEADER, width * height * bands * depth);
    }
    let rows = bands * height;
    check_length(reader, HEADER, 8 * rows)?;
    for y in 0..height {
        for band in 0..bands {
            let at = HEADER + 4 * (y + band * height);
            let start = u64::from(u32::from_be_bytes(reader.array(at)?));
            let count = i32::from_be_bytes(reader.array(at + 4 * rows)?);
            if start < HEADER {
                return Err(ProbeError::broken("a row of the SGI picture begins within its header", at));
            }
            if sgi_row(reader, start, count, (width, depth))? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Decodes the runs of one row; returns whether the image ends with it.
fn sgi_row(reader: &mut Reader, mut at: u64, count: i32, row: (u64, u64)) -> Result<bool, ProbeError> {
    let (width, depth) = row;
    let end = reader.len();
    let mut x = 0;
    for left in (1..=count).rev() {
        if at + depth > end {
            return Err(truncated(reader));
        }
        let first = reader.array::<1>(at + depth - 1)?[0];
        at += depth;
        if left == 1 && first != 0 {
            return Ok(true);
        }
        let run = u64::from(first & 0x7f);
        if run == 0 {
            return Ok(false);
        }
        x += run;
        if x > width {
            return Err(out_of_row(at));
        }
        let bytes = if first & 0x80 != 0 { run * depth } else { depth };
        // The decoder leaves one byte unread if colours are copied, or have two bytes.
        let spare = u64::from(first & 0x80 != 0 || depth == 2);
        if at + bytes + spare > end {
            return Err(truncated(reader));
        }
        at += bytes;
    }
    Ok(false)
}

/// QOI: checks that all pixels are present.
pub(super) fn qoi(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    let (width, height) = size(facts);
    let (all, mut done) = (width * height, 0);
    let mut tape = EntryBytes { at: 14, reader };
    while done < all {
        let mut pixels = 1;
        match tape.byte()? {
            0xfe => tape.pass(3)?,
            0xff => tape.pass(4)?,
            0x80..=0xbf => tape.pass(1)?,
            run @ 0xc0.. => pixels = u64::from(run & 0x3f) + 1,
            _ => {}
        }
        done += pixels;
    }
    Ok(())
}

/// DirectDraw surfaces: raw pixels, or blocks of a fixed size.
pub(super) fn dds(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    let (width, height) = size(facts);
    let (start, layout) = super::super::textures::dds_layout(reader).map_err(error)?;
    let blocks = width.div_ceil(4) * height.div_ceil(4);
    match layout {
        super::super::textures::Layout::Pixels { bytes: 0 } => Err(truncated(reader)),
        super::super::textures::Layout::Pixels { bytes } => check_length(reader, start, width * height * bytes),
        super::super::textures::Layout::Blocks { bytes } => check_length(reader, start, blocks * bytes),
    }
}

/// Packed channels of Apple's icons: three consecutive channels of `bytes` bytes each.
pub(super) fn icns_bare(reader: &mut Reader, at: u64, bytes: u64) -> Result<(), ProbeError> {
    let mut tape = EntryBytes { at, reader };
    for _ in 0..3 {
        let mut done = 0;
        while done < bytes {
            let first = u64::from(tape.byte()?);
            if first & 0x80 != 0 {
                tape.byte()?;
                done += first - 125;
            } else {
                tape.pass(first + 1)?;
                done += first + 1;
            }
        }
        if done > bytes {
            return Err(out_of_row(tape.at));
        }
    }
    Ok(())
}
