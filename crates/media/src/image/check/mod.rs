//! Whether a whole picture can be loaded, judged as Pillow judges when it loads it: what ends early, does not decompress, or
//! contradicts itself. Like there, flipped bits within the codes of a JPEG picture only give wrong colours, and no error: it is
//! decoded only where its end is missing, to see whether its pixels are there all the same.
//!
//! Most formats are checked without making a single pixel, and in little memory.

mod avif;
mod bmp;
mod codes;
mod decoded;
mod gif;
mod jp2;
mod jpeg;
mod png;
mod png_text;
mod pnm;
mod runs;
mod scans;
mod tiff;
mod webp;

use super::ico::Best;
use super::{identify, ProbeError, ReadEnd, Reader, PILLOW_LIMIT};
use gristmill_core::text::grouped;
use gristmill_core::ImageFacts;

/// Checks the picture that [`probe`](super::probe) found `facts` of. An error says what is wrong with it, and where.
pub fn check(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    if u64::from(facts.width) * u64::from(facts.height) > PILLOW_LIMIT {
        return Err(ProbeError::broken(
            format!("more than {} pixels: readers built on Pillow refuse it", grouped(PILLOW_LIMIT)),
            0,
        ));
    }
    match facts.format {
        "JPEG" | "MPO" => jpeg::check(reader),
        "AVIF" => avif::check(reader, facts),
        "PNG" => png::check(reader, 0),
        "GIF" => gif::check(reader),
        "WEBP" => decoded::webp(reader, facts),
        "BMP" => bmp::check(reader),
        "TIFF" => tiff::check(reader, facts),
        "JPEG2000" => {
            let end = reader.len();
            jp2::check(reader, 0, end, facts.mode)
        }
        "PCX" | "DCX" => runs::pcx(reader, facts),
        "SUN" => runs::sun(reader, facts),
        "TGA" => runs::tga(reader, facts),
        "PSD" => runs::psd(reader, facts),
        "SGI" => runs::sgi(reader, facts),
        "QOI" => runs::qoi(reader, facts),
        "DDS" => runs::dds(reader, facts),
        "ICNS" => icns(reader),
        "ICO" => icon(reader),
        "CUR" => cursor(reader),
        "PPM" => pnm::check(reader, facts),
        _ => not_cut(reader),
    }
}

/// Apple's icons hold pictures of other formats, or packed colours and a bare mask.
fn icns(reader: &mut Reader) -> Result<(), ProbeError> {
    match super::ico::best_apple(reader).map_err(error)? {
        Best::Whole { at, .. } if super::png::accepts(reader.up_to(at, 8)?) => png::check(reader, at),
        Best::Whole { at, len } => {
            let end = at.saturating_add(len).min(reader.len());
            jp2::check(reader, at, end, "RGBA")
        }
        Best::Bare { side, colours: (mut at, mut len), mask } => {
            let bytes = u64::from(side) * u64::from(side);
            if side == 128 {
                // This size alone has a mark before its colours.
                if reader.up_to(at, 4)? != [0; 4] {
                    return Err(ProbeError::broken("the icon begins with an unknown mark", at));
                }
                (at, len) = (at + 4, len.saturating_sub(4));
            }
            if len == 3 * bytes {
                if at + len > reader.len() {
                    return Err(cut(reader));
                }
            } else {
                runs::icns_bare(reader, at, bytes)?;
            }
            match mask {
                Some(mask) if mask + bytes > reader.len() => Err(cut(reader)),
                _ => Ok(()),
            }
        }
    }
}

/// Icons hold a PNG picture, or a bitmap with a mask.
fn icon(reader: &mut Reader) -> Result<(), ProbeError> {
    if let Some(at) = super::ico::png_within(reader).map_err(error)? {
        return png::check(reader, at);
    }
    let (bitmap, rows, end) = super::ico::bitmap_within(reader).map_err(error)?;
    if end.is_none_or(|end| end > u128::from(reader.len())) {
        return Err(cut(reader));
    }
    bmp::part(reader, &bitmap, rows)
}

/// Cursors of colours have a mask that is not read.
fn cursor(reader: &mut Reader) -> Result<(), ProbeError> {
    let bitmap = super::ico::cursor(reader).map_err(error)?;
    let is_masked = matches!(bitmap.mode, "1" | "L");
    bmp::part(reader, &bitmap, if is_masked { bitmap.height / 2 * 2 } else { bitmap.height / 2 })
}

/// For formats of which only the lengths are checked.
fn not_cut(reader: &mut Reader) -> Result<(), ProbeError> {
    match identify(reader)?.remarks.into_iter().next() {
        Some(remark) => Err(ProbeError::broken(remark, reader.len())),
        None => Ok(()),
    }
}

/// What was taken for a picture once is one.
pub(super) fn error(stop: ReadEnd) -> ProbeError {
    match stop {
        ReadEnd::Error(error) => error,
        ReadEnd::Other(what) => ProbeError::broken(what, 0),
    }
}

/// The picture ends before all of it was there.
fn cut(reader: &Reader) -> ProbeError {
    ProbeError::broken("it is cut short", reader.len())
}

#[cfg(test)]
mod tests;
