//! Images: size, format and mode, named as Pillow names them after loading the image (docs/formats/energon.md §12).
//!
//! The content decides, never the name. Readers are tried in Pillow's order; a reader that does not recognise the image, or finds a header
//! for which Pillow's reader of that format reports another format, passes it on to the next one.

mod avif;
mod avif_items;
mod bmp;
pub mod check;
mod gif;
mod ico;
mod jp2;
mod jpeg;
mod mpo;
mod old;
mod png;
mod pnm;
mod psd;
mod textures;
mod tga;
mod tiff;
mod tiff_modes;
mod webp;

pub use avif_items::{codes as avif_codes, Codes as AvifCodes};
pub use check::check;

use super::{ProbeError, ProbeResult, Reader};
use gristmill_core::text::grouped;
use gristmill_core::{ImageFacts, MediaFacts};

/// Number of pixels above which Pillow refuses an image.
const PILLOW_LIMIT: u64 = 2 * 89_478_485;
/// Bytes at the end of an image that are searched for its end marker: some programs append a little data.
const TAIL_BYTES: usize = 1024;

/// Reason why a reader returns no facts.
#[derive(Debug)]
enum ReadEnd {
    /// The file is not an image of this format, with the reason; another reader may recognise it. The reason is empty for formats without a
    /// magic number, as which any file could be read.
    Other(String),
    /// The image is of this format and broken, or cannot be read.
    Error(ProbeError),
}

impl From<ProbeError> for ReadEnd {
    fn from(error: ProbeError) -> Self {
        Self::Error(error)
    }
}

impl ReadEnd {
    fn other(why: impl Into<String>) -> Self {
        Self::Other(why.into())
    }
    fn broken(what: impl Into<String>, at: u64) -> Self {
        Self::Error(ProbeError::broken(what, at))
    }
}

/// Turns an early end into "another format", as Pillow does where it unpacks numbers from missing bytes.
fn else_other<T>(read: Result<T, ProbeError>) -> Result<T, ReadEnd> {
    read.map_err(|error| match error {
        ProbeError::Broken { what, .. } => ReadEnd::Other(what),
        error => ReadEnd::Error(error),
    })
}

/// Reads a number of a header. If the bytes end before, Pillow treats the file as another format.
fn le16(bytes: &[u8], at: usize) -> Result<u32, ReadEnd> {
    Ok(u16::from_le_bytes(piece(bytes, at)?).into())
}
fn be16(bytes: &[u8], at: usize) -> Result<u32, ReadEnd> {
    Ok(u16::from_be_bytes(piece(bytes, at)?).into())
}
fn le32(bytes: &[u8], at: usize) -> Result<u32, ReadEnd> {
    Ok(u32::from_le_bytes(piece(bytes, at)?))
}
fn be32(bytes: &[u8], at: usize) -> Result<u32, ReadEnd> {
    Ok(u32::from_be_bytes(piece(bytes, at)?))
}
fn byte(bytes: &[u8], at: usize) -> Result<u8, ReadEnd> {
    Ok(u8::from_le_bytes(piece(bytes, at)?))
}
fn piece<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], ReadEnd> {
    let piece = at.checked_add(N).and_then(|end| bytes.get(at..end)).and_then(|piece| piece.try_into().ok());
    piece.ok_or_else(|| ReadEnd::other("its header ends too early"))
}

/// The result of a reader.
struct Picture {
    width: u32,
    height: u32,
    format: &'static str,
    mode: &'static str,
    remarks: Vec<String>,
}

impl Picture {
    /// Creates an image; neither side may be 0.
    fn new(width: u32, height: u32, format: &'static str, mode: &'static str) -> Result<Self, ReadEnd> {
        if width == 0 || height == 0 {
            return Err(ReadEnd::other(format!("a {format} picture of {width}×{height} pixels")));
        }
        Ok(Self { width, height, format, mode, remarks: Vec::new() })
    }
    fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }
}

/// A reader: the predicate on the first bytes, and the function that reads the image.
struct Format {
    accepts: fn(first: &[u8]) -> bool,
    read: fn(&mut Reader) -> Result<Picture, ReadEnd>,
}

/// Readers in Pillow's order: the five formats that it loads first, then the others by name.
const FORMATS: &[Format] = &[
    Format { accepts: bmp::accepts, read: bmp::read },
    Format { accepts: bmp::accepts_headless, read: bmp::read_headless },
    Format { accepts: gif::accepts, read: gif::read },
    Format { accepts: jpeg::accepts, read: jpeg::read },
    Format { accepts: pnm::accepts, read: pnm::read },
    Format { accepts: png::accepts, read: png::read },
    Format { accepts: avif::accepts, read: avif::read },
    Format { accepts: ico::accepts_cursor, read: ico::read_cursor },
    Format { accepts: old::accepts_pcx, read: old::read_pcx },
    Format { accepts: old::accepts_dcx, read: old::read_dcx },
    Format { accepts: textures::accepts_dds, read: textures::read_dds },
    Format { accepts: jp2::accepts, read: jp2::read },
    Format { accepts: ico::accepts_apple, read: ico::read_apple },
    Format { accepts: ico::accepts, read: ico::read },
    Format { accepts: tiff::accepts, read: tiff::read },
    Format { accepts: psd::accepts, read: psd::read },
    Format { accepts: textures::accepts_qoi, read: textures::read_qoi },
    Format { accepts: old::accepts_sgi, read: old::read_sgi },
    Format { accepts: old::accepts_sun, read: old::read_sun },
    Format { accepts: tga::accepts, read: tga::read },
    Format { accepts: webp::accepts, read: webp::read },
];

/// Number of bytes that Pillow passes to its format checks.
const FORMAT_CHECK_BYTES: usize = 16;

/// Reads the facts of an image from its header. Nothing after the header is read, except the last bytes.
pub fn probe(reader: &mut Reader) -> Result<ProbeResult, ProbeError> {
    let picture = identify(reader)?;
    let mut remarks = picture.remarks;
    if u64::from(picture.width) * u64::from(picture.height) > PILLOW_LIMIT {
        remarks.push(format!("more than {} pixels: readers built on Pillow refuse it", grouped(PILLOW_LIMIT)));
    }
    let facts = ImageFacts { width: picture.width, height: picture.height, format: picture.format, mode: picture.mode };
    Ok(ProbeResult { facts: MediaFacts::Image(facts), remarks })
}

fn identify(reader: &mut Reader) -> Result<Picture, ProbeError> {
    let mut first = [0; FORMAT_CHECK_BYTES];
    let got = reader.up_to(0, FORMAT_CHECK_BYTES)?;
    let count = got.len();
    first[..count].copy_from_slice(got);
    let first = &first[..count];
    let mut why = None;
    for format in FORMATS.iter().filter(|format| (format.accepts)(first)) {
        match (format.read)(reader) {
            Ok(picture) => return Ok(picture),
            Err(ReadEnd::Error(error)) => return Err(error),
            Err(ReadEnd::Other(reason)) => why = why.or(Some(reason)),
        }
    }
    Err(ProbeError::NotMedia(match why {
        Some(reason) if !reason.is_empty() => format!("not a picture of a known format: {reason}"),
        _ => "not a picture of a known format".to_owned(),
    }))
}

/// Remark about an image whose pixels extend past the end of the entry.
const CUT: &str = "cut short after a good header: its pixels reach beyond its end";

/// Whether `mark` is among the last [`TAIL_BYTES`] bytes of the entry.
fn ends_with(reader: &mut Reader, mark: &[u8]) -> Result<bool, ProbeError> {
    let from = reader.len().saturating_sub(TAIL_BYTES as u64);
    Ok(memchr::memmem::find(reader.up_to(from, TAIL_BYTES)?, mark).is_some())
}

#[cfg(test)]
mod tests;
