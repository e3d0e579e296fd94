//! JPEG 2000, decoded only at the resolution that is shown.

use super::{scaled_size, Picture, PictureError, MAX_DECODED_BYTES};
use gristmill_core::text::display_safe;
use gristmill_core::ImageFacts;
use hayro_jpeg2000::{ColorSpace, DecodeSettings, Image};
use image::{DynamicImage, Rgba, RgbaImage};

/// Bytes per pixel during decoding: four channels of four bytes.
const PIXEL_BYTES: u64 = 16;

/// Whether the bytes begin like a JPEG 2000 file or a bare codestream.
pub(super) fn accepts(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0\0\0\x0cjP  ") || bytes.starts_with(b"\xff\x4f\xff\x51")
}

/// Decodes a picture for which [`accepts`] is true; `facts` must be those in its header.
pub(super) fn decode(bytes: &[u8], facts: &ImageFacts) -> Result<Picture, PictureError> {
    let damaged = |error: hayro_jpeg2000::error::DecodeError| {
        PictureError::Damaged(display_safe(&error.to_string()).into_owned())
    };
    let (width, height) = scaled_size(facts.width, facts.height);
    let settings = DecodeSettings { target_resolution: Some((width, height)), ..DecodeSettings::default() };
    let image = Image::new(bytes, &settings).map_err(damaged)?;
    let size = (image.width(), image.height());
    if u64::from(size.0) * u64::from(size.1) * PIXEL_BYTES > MAX_DECODED_BYTES {
        return Err(PictureError::TooLarge { width: facts.width, height: facts.height });
    }
    let colours = usize::from(image.color_space().num_channels());
    let (channels, has_alpha) = (colours + usize::from(image.has_alpha()), image.has_alpha());
    let is_cmyk = matches!(image.color_space(), ColorSpace::CMYK) || colours == 4;
    let decoded = image.decode().map_err(damaged)?;
    let pixels: Vec<u8> = decoded.chunks_exact(channels.max(1)).flat_map(|p| rgba(p, colours, is_cmyk)).collect();
    let pixels = RgbaImage::from_raw(size.0, size.1, pixels)
        .ok_or_else(|| PictureError::Damaged("it has fewer pixels than it says".into()))?;
    let is_small = size.0.max(size.1) <= width.max(height);
    let small = if is_small { pixels } else { DynamicImage::ImageRgba8(pixels).thumbnail(width, height).into_rgba8() };
    let colour = match (colours, has_alpha) {
        (..=2, true) => "LA",
        (..=2, false) => "L",
        (_, true) => "RGBA",
        (4, false) => "CMYK",
        (_, false) => "RGB",
    };
    Ok(Picture { format: "JPEG2000", width: facts.width, height: facts.height, colour, small })
}

/// Converts one pixel of `colours` colour channels, optionally followed by alpha.
fn rgba(pixel: &[u8], colours: usize, is_cmyk: bool) -> [u8; 4] {
    let at = |index: usize| pixel.get(index).copied().unwrap_or(0);
    let alpha = pixel.get(colours).copied().unwrap_or(u8::MAX);
    // Intensity of a colour after subtracting its ink and black.
    let ink = |index: usize| {
        let left = u16::from(u8::MAX - at(index)) * u16::from(u8::MAX - at(3)) / u16::from(u8::MAX);
        u8::try_from(left).unwrap_or(u8::MAX)
    };
    let Rgba(pixel) = match colours {
        0..=2 => Rgba([at(0), at(0), at(0), alpha]),
        _ if is_cmyk => Rgba([ink(0), ink(1), ink(2), alpha]),
        _ => Rgba([at(0), at(1), at(2), alpha]),
    };
    pixel
}
