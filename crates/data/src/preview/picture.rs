//! Pictures, decoded within fixed limits and scaled down to the size of a screen.
//!
//! Every picture is treated as hostile: its size is read from the header first, and a picture beyond the limits is not decoded.

mod av1;
mod jpeg2000;

use gristmill_core::{Cancel, ImageFacts, MediaFacts};
use gristmill_media::{image as headers, Reader};
use image::{DynamicImage, ImageDecoder, ImageReader, Limits, RgbaImage};
use std::io::{self, Cursor};

/// Maximum number of pixels of a picture that is decoded.
pub const MAX_PIXELS: u64 = 100_000_000;
/// Maximum decoded size of a picture, in bytes.
pub const MAX_DECODED_BYTES: u64 = 256 << 20;
/// Longest side of the scaled picture, in pixels; larger than any terminal shows.
pub const MAX_PREVIEW_SIDE: u32 = 640;

/// A decoded picture, scaled down for display.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture {
    /// `JPEG`, `PNG`, …, by content, not by name.
    pub format: &'static str,
    /// Width of the original, in pixels.
    pub width: u32,
    /// Height of the original, in pixels.
    pub height: u32,
    /// Colour model of the original: `RGB`, `RGBA`, `L`, `LA`.
    pub colour: &'static str,
    small: RgbaImage,
}

/// Reason why a picture cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// The content is not in a format that can be decoded.
    #[error("not a picture in a format that can be shown (JPEG, PNG, WebP, GIF, BMP, TIFF, AVIF, JPEG 2000, PNM)")]
    UnknownFormat,
    /// Too many pixels, or too many bytes when decoded.
    #[error("{width}×{height} pixels are too many to show")]
    TooLarge {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The picture is valid, but its kind is not decoded; holds the name of the kind.
    #[error("{0}")]
    NotDecoded(&'static str),
    /// The header is valid, the rest is not.
    #[error("damaged picture: {0}")]
    Damaged(String),
}

impl Picture {
    /// Returns the scaled picture: at most [`MAX_PREVIEW_SIDE`] pixels on its longest side.
    pub fn small(&self) -> &RgbaImage {
        &self.small
    }

    /// Returns one line of facts: `640×427 JPEG RGB`.
    pub fn facts(&self) -> String {
        format!("{}×{} {} {}", self.width, self.height, self.format, self.colour)
    }

    /// Creates a picture from pixels, for tests and generated previews.
    pub fn from_pixels(format: &'static str, colour: &'static str, pixels: RgbaImage) -> Self {
        let (width, height) = pixels.dimensions();
        Self { format, width, height, colour, small: pixels }
    }
}

impl std::fmt::Debug for Picture {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Picture({})", self.facts())
    }
}

/// Decodes a picture and scales it down. Decodes only the first frame of an animation. May take a second.
pub fn decode(bytes: &[u8]) -> Result<Picture, PictureError> {
    if jpeg2000::accepts(bytes) {
        return jpeg2000::decode(bytes, &facts(bytes, "JPEG2000")?);
    }
    if bytes.get(4..8) == Some(b"ftyp") {
        return av1::decode_avif(bytes, &facts(bytes, "AVIF")?);
    }
    let mut reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| PictureError::Damaged(e.to_string()))?;
    let format = reader.format().ok_or(PictureError::UnknownFormat)?;
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let decoder = reader.into_decoder().map_err(reason)?;
    let (width, height) = decoder.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels > MAX_PIXELS || decoder.total_bytes() > MAX_DECODED_BYTES {
        return Err(PictureError::TooLarge { width, height });
    }
    if pixels == 0 {
        return Err(PictureError::Damaged("it has no pixels".into()));
    }
    let colour = colour_model(decoder.color_type());
    let image = DynamicImage::from_decoder(decoder).map_err(reason)?;
    let small =
        if width.max(height) > MAX_PREVIEW_SIDE { image.thumbnail(MAX_PREVIEW_SIDE, MAX_PREVIEW_SIDE) } else { image };
    Ok(Picture { format: format_name(format), width, height, colour, small: small.into_rgba8() })
}

/// Decodes a key frame of an AV1 video, with the configuration that its container stores. May take a second or two.
pub fn decode_av1(config: &[u8], frame: &[u8]) -> Result<Picture, PictureError> {
    av1::decode_frame(config, frame)
}

/// Returns the facts in the header of a picture of format `format`. Refuses a picture that is too large.
fn facts(bytes: &[u8], format: &str) -> Result<ImageFacts, PictureError> {
    let cancel = Cancel::default();
    let probed = headers::probe(&mut Reader::new(&bytes, &cancel)).map_err(|_| PictureError::UnknownFormat)?;
    let MediaFacts::Image(facts) = probed.facts else { return Err(PictureError::UnknownFormat) };
    let (width, height) = (facts.width, facts.height);
    match u64::from(width) * u64::from(height) {
        _ if facts.format != format => Err(PictureError::UnknownFormat),
        0 => Err(PictureError::Damaged("it has no pixels".into())),
        pixels if pixels > MAX_PIXELS => Err(PictureError::TooLarge { width, height }),
        _ => Ok(facts),
    }
}

/// Returns width and height of the scaled picture.
fn scaled_size(width: u32, height: u32) -> (u32, u32) {
    let longest = width.max(height).max(1);
    if longest <= MAX_PREVIEW_SIDE {
        return (width, height);
    }
    let scaled = |side: u32| {
        let side = (u64::from(side) * u64::from(MAX_PREVIEW_SIDE) + u64::from(longest) / 2) / u64::from(longest);
        u32::try_from(side).unwrap_or(MAX_PREVIEW_SIDE).max(1)
    };
    (scaled(width), scaled(height))
}

fn reason(error: image::ImageError) -> PictureError {
    match error {
        image::ImageError::Unsupported(_) => PictureError::UnknownFormat,
        // The messages of decoders name their own parts, and not what is wrong with the file.
        other => PictureError::Damaged(match is_cut(&other) {
            true => "it ends too early".into(),
            false => "its data cannot be decoded".into(),
        }),
    }
}

/// Whether a picture cannot be decoded because bytes are missing at its end.
fn is_cut(error: &image::ImageError) -> bool {
    let of_io = matches!(error, image::ImageError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof);
    let text = error.to_string();
    of_io || text.contains("Not enough bytes") || text.contains("unexpected end of file")
}

fn format_name(format: image::ImageFormat) -> &'static str {
    use image::ImageFormat as F;
    match format {
        F::Jpeg => "JPEG",
        F::Png => "PNG",
        F::WebP => "WEBP",
        F::Gif => "GIF",
        F::Bmp => "BMP",
        F::Tiff => "TIFF",
        F::Pnm => "PPM",
        _ => "picture",
    }
}

fn colour_model(colour: image::ColorType) -> &'static str {
    match (colour.has_color(), colour.has_alpha()) {
        (true, true) => "RGBA",
        (true, false) => "RGB",
        (false, true) => "LA",
        (false, false) => "L",
    }
}

#[cfg(test)]
mod tests;
