//! Checks whether an entire image can be loaded, by the criteria of Pillow: data that end early, do not decompress, or contradict
//! themselves. As in Pillow, flipped bits in the coded data of a JPEG image cause wrong colours, not an error: the data are examined only
//! if the end is missing, to determine whether the pixels are complete anyway.
//!
//! Most formats are checked without reconstructing pixels, and in little memory.

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

use super::ico::LargestImage;
use super::{identify, ProbeError, ReadEnd, Reader, PILLOW_LIMIT};
use gristmill_core::text::grouped;
use gristmill_core::ImageFacts;

/// Checks the image whose `facts` come from [`probe`](super::probe). An error describes the damage and its offset.
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
        _ => check_lengths_only(reader),
    }
}

/// Checks an Apple icon, which contains an image of another format, or packed colours and a raw mask.
fn icns(reader: &mut Reader) -> Result<(), ProbeError> {
    match super::ico::best_apple(reader).map_err(error)? {
        LargestImage::Whole { at, .. } if super::png::accepts(reader.up_to(at, 8)?) => png::check(reader, at),
        LargestImage::Whole { at, len } => {
            let end = at.saturating_add(len).min(reader.len());
            jp2::check(reader, at, end, "RGBA")
        }
        LargestImage::Bare { side, colours: (mut at, mut len), mask } => {
            let bytes = u64::from(side) * u64::from(side);
            if side == 128 {
                // Only this size has a marker before its colours.
                if reader.up_to(at, 4)? != [0; 4] {
                    return Err(ProbeError::broken("the icon begins with an unknown mark", at));
                }
                (at, len) = (at + 4, len.saturating_sub(4));
            }
            if len == 3 * bytes {
                if at + len > reader.len() {
                    return Err(truncated(reader));
                }
            } else {
                runs::icns_bare(reader, at, bytes)?;
            }
            match mask {
                Some(mask) if mask + bytes > reader.len() => Err(truncated(reader)),
                _ => Ok(()),
            }
        }
    }
}

/// Checks an icon, which contains a PNG image, or a bitmap with a mask.
fn icon(reader: &mut Reader) -> Result<(), ProbeError> {
    if let Some(at) = super::ico::png_within(reader).map_err(error)? {
        return png::check(reader, at);
    }
    let (bitmap, rows, end) = super::ico::bitmap_within(reader).map_err(error)?;
    if end.is_none_or(|end| end > u128::from(reader.len())) {
        return Err(truncated(reader));
    }
    bmp::part(reader, &bitmap, rows)
}

/// Checks a cursor. The mask of a coloured cursor is not read.
fn cursor(reader: &mut Reader) -> Result<(), ProbeError> {
    let bitmap = super::ico::cursor(reader).map_err(error)?;
    let is_masked = matches!(bitmap.mode, "1" | "L");
    bmp::part(reader, &bitmap, if is_masked { bitmap.height / 2 * 2 } else { bitmap.height / 2 })
}

/// Checks a format for which only lengths are verified.
fn check_lengths_only(reader: &mut Reader) -> Result<(), ProbeError> {
    match identify(reader)?.remarks.into_iter().next() {
        Some(remark) => Err(ProbeError::broken(remark, reader.len())),
        None => Ok(()),
    }
}

/// Converts a [`ReadEnd`] to an error: the entry is already known to be an image.
pub(super) fn error(stop: ReadEnd) -> ProbeError {
    match stop {
        ReadEnd::Error(error) => error,
        ReadEnd::Other(what) => ProbeError::broken(what, 0),
    }
}

/// Creates the error for an image that ends early.
fn truncated(reader: &Reader) -> ProbeError {
    ProbeError::broken("it is cut short", reader.len())
}

#[cfg(test)]
mod tests;
