//! GIF: the blocks up to the first frame. The mode is that of the first frame, which is paletted or grey.

use super::{byte, le16, Picture, ReadEnd};
use crate::{ProbeError, Reader};

pub(super) fn accepts(first: &[u8]) -> bool {
    first.starts_with(b"GIF87a") || first.starts_with(b"GIF89a")
}

/// Bytes before the first frame that are searched.
const MAX_BEFORE: u64 = 64 << 20;

/// Reads sequentially.
struct Cursor<'r, 'a> {
    reader: &'r mut Reader<'a>,
    at: u64,
}

impl Cursor<'_, '_> {
    fn byte(&mut self) -> Result<Option<u8>, ProbeError> {
        let byte = self.reader.up_to(self.at, 1)?.first().copied();
        self.at += u64::from(byte.is_some());
        Ok(byte)
    }
    fn take(&mut self, count: usize) -> Result<&[u8], ProbeError> {
        let bytes = self.reader.up_to(self.at, count)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }
    /// Returns the next sub-block; `None` for a sub-block of length 0, and for one that is entirely missing at the end of the file.
    fn block(&mut self) -> Result<Option<&[u8]>, ProbeError> {
        match self.byte()? {
            None | Some(0) => Ok(None),
            Some(len) => {
                let block = self.take(len.into())?;
                Ok(if block.is_empty() { None } else { Some(block) })
            }
        }
    }
    fn skip_blocks(&mut self) -> Result<(), ProbeError> {
        while self.block()?.is_some() {}
        Ok(())
    }
}

/// Position and size of the first frame.
pub(super) struct FirstFrame {
    /// Size of the canvas, enlarged to contain the frame.
    screen: (u32, u32),
    coloured: bool,
    pub(super) width: u32,
    pub(super) height: u32,
    /// Size of the smallest codes in bits.
    pub(super) code_bits: u32,
    /// Offset of the LZW codes, in bytes.
    pub(super) data: u64,
}

pub(super) fn read(reader: &mut Reader) -> Result<Picture, ReadEnd> {
    let frame = first_frame(reader)?;
    let mut picture = Picture::new(frame.screen.0, frame.screen.1, "GIF", if frame.coloured { "P" } else { "L" })?;
    if !ends_well(reader)? {
        picture.remark("cut short after a good header: no trailer at its end");
    }
    Ok(picture)
}

/// Reads up to the first frame.
pub(super) fn first_frame(reader: &mut Reader) -> Result<FirstFrame, ReadEnd> {
    let mut cursor = Cursor { reader, at: 0 };
    let screen = cursor.take(13)?;
    let (width, height, flags) = (le16(screen, 6)?, le16(screen, 8)?, byte(screen, 10)?);
    let coloured = flags & 0x80 != 0 && palette_needed(cursor.take(3 << ((flags & 7) + 1))?)?;
    while let Some(introducer) = cursor.byte()? {
        if cursor.at > MAX_BEFORE {
            return Err(ReadEnd::broken("the GIF file has too much before its first frame", cursor.at));
        }
        match introducer {
            b';' => break,
            b'!' => extension(&mut cursor)?,
            b',' => return frame(&mut cursor, (width, height), coloured),
            // Invalid bytes between blocks are skipped.
            _ => {}
        }
    }
    Err(ReadEnd::other("a GIF file without a frame"))
}

fn frame(cursor: &mut Cursor, screen: (u32, u32), mut coloured: bool) -> Result<FirstFrame, ReadEnd> {
    let s = cursor.take(9)?;
    let (x, y, width, height) = (le16(s, 0)?, le16(s, 2)?, le16(s, 4)?, le16(s, 6)?);
    let flags = byte(s, 8)?;
    if flags & 0x80 != 0 {
        coloured = palette_needed(cursor.take(3 << ((flags & 7) + 1))?)?;
    }
    let code_bits = byte(cursor.take(1)?, 0)?.into();
    let screen = (screen.0.max(x + width), screen.1.max(y + height));
    Ok(FirstFrame { screen, coloured, width, height, code_bits, data: cursor.at })
}

fn extension(cursor: &mut Cursor) -> Result<(), ReadEnd> {
    let Some(label) = cursor.byte()? else {
        return Err(ReadEnd::other("a GIF file that ends within an extension"));
    };
    let block = cursor.block()?;
    match label {
        249 => {
            if let Some(control) = block {
                if byte(control, 0)? & 1 != 0 {
                    byte(control, 3)?;
                }
                le16(control, 1)?;
            }
            cursor.skip_blocks()?;
        }
        // A comment ends with its first empty block; in other extensions, another block may follow an empty one.
        254 if block.is_none() => {}
        255 if block.is_some_and(|name| name.starts_with(b"NETSCAPE2.0")) => {
            cursor.block()?;
            cursor.skip_blocks()?;
        }
        _ => cursor.skip_blocks()?,
    }
    Ok(())
}

/// Whether a palette is anything other than greys in order.
fn palette_needed(palette: &[u8]) -> Result<bool, ReadEnd> {
    for (index, colour) in palette.chunks(3).enumerate() {
        for part in 0..3 {
            match colour.get(part) {
                Some(value) if usize::from(*value) == index => {}
                Some(_) => return Ok(true),
                None => return Err(ReadEnd::other("a GIF file that ends within a palette")),
            }
        }
    }
    Ok(false)
}

/// Whether the trailer is the last byte, ignoring zeros.
fn ends_well(reader: &mut Reader) -> Result<bool, ProbeError> {
    let from = reader.len().saturating_sub(64);
    let tail = reader.up_to(from, 64)?;
    Ok(tail.iter().rev().find(|byte| **byte != 0).is_none_or(|byte| *byte == b';'))
}
