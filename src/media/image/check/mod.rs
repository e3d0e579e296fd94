//! Whether a whole picture can be loaded, judged as Pillow judges when it loads it: what ends early, does not decompress, or
//! contradicts itself. Like there, flipped bits within the codes of a JPEG picture only give wrong colours, and no error.
//!
//! Most formats are checked without making a single pixel, and in little memory.

mod bmp;
mod decoded;
mod gif;
mod jp2;
mod jpeg;
mod png;
mod scans;
mod tiff;

use super::{identify, ProbeError, Reader, Stop, PILLOW_LIMIT};
use crate::model::text::grouped;
use crate::model::ImageFacts;

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
        "PNG" => png::check(reader, 0),
        "GIF" => gif::check(reader),
        "WEBP" => decoded::webp(reader, facts),
        "BMP" => bmp::check(reader),
        "TIFF" => tiff::check(reader, facts),
        "JPEG2000" => jp2::check(reader, facts.mode),
        "ICO" => not_cut(reader, true),
        _ => not_cut(reader, false),
    }
}

/// For formats of which only the lengths are checked.
fn not_cut(reader: &mut Reader, icon: bool) -> Result<(), ProbeError> {
    if icon {
        if let Some(at) = super::ico::png_within(reader).map_err(error)? {
            return png::check(reader, at);
        }
    }
    match identify(reader)?.remarks.into_iter().next() {
        Some(remark) => Err(ProbeError::broken(remark, reader.len())),
        None => Ok(()),
    }
}

/// What was taken for a picture once is one.
fn error(stop: Stop) -> ProbeError {
    match stop {
        Stop::Error(error) => error,
        Stop::Other(what) => ProbeError::broken(what, 0),
    }
}

/// The picture ends before all of it was there.
fn cut(reader: &Reader) -> ProbeError {
    ProbeError::broken("it is cut short", reader.len())
}

#[cfg(test)]
mod tests;
