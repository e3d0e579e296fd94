//! Pictures, decoded within fixed limits and kept only as small as a screen needs them.
//!
//! Every picture is hostile: its size is read from the header first, and nothing larger than the limits is decoded.

use image::{DynamicImage, ImageDecoder, ImageReader, Limits, RgbaImage};
use std::io::Cursor;

/// Pictures with more pixels than this are not decoded.
pub const MAX_PIXELS: u64 = 100_000_000;
/// Pictures that take more bytes than this when decoded are not decoded.
pub const MAX_DECODED_BYTES: u64 = 256 << 20;
/// Longest side of what is kept, in pixels: more than any terminal shows of one picture.
pub const KEPT_SIDE: u32 = 640;

/// A decoded picture, scaled down for showing.
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

/// Why a picture cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PictureError {
    /// The content is none of the formats that can be decoded.
    #[error("not a picture in a format that can be shown (JPEG, PNG, WebP, GIF, BMP, TIFF)")]
    UnknownFormat,
    /// Too many pixels, or too many bytes once decoded.
    #[error("{width}×{height} pixels are too many to show (limit: 100 million)")]
    TooLarge {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The header is good, the rest is not.
    #[error("damaged picture: {0}")]
    Damaged(String),
}

impl Picture {
    /// The picture as kept: at most [`KEPT_SIDE`] pixels on its longest side.
    pub fn small(&self) -> &RgbaImage {
        &self.small
    }

    /// One line of facts: `640×427 JPEG RGB`.
    pub fn facts(&self) -> String {
        format!("{}×{} {} {}", self.width, self.height, self.format, self.colour)
    }

    /// A picture made from pixels, for tests and generated previews.
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

/// Decodes a picture and keeps a small version. The first frame of an animation counts. May take a second.
pub fn decode(bytes: &[u8]) -> Result<Picture, PictureError> {
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
    let small = if width.max(height) > KEPT_SIDE { image.thumbnail(KEPT_SIDE, KEPT_SIDE) } else { image };
    Ok(Picture { format: format_name(format), width, height, colour, small: small.into_rgba8() })
}

fn reason(error: image::ImageError) -> PictureError {
    match error {
        image::ImageError::Unsupported(_) => PictureError::UnknownFormat,
        other => PictureError::Damaged(crate::model::text::display_safe(&other.to_string()).into_owned()),
    }
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
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut out = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height).write_to(&mut out, image::ImageFormat::Png).unwrap();
        out.into_inner()
    }

    #[test]
    fn a_picture_keeps_its_true_size_and_a_small_version() {
        let picture = decode(&png(1300, 650)).unwrap();
        assert_eq!(picture.facts(), "1300×650 PNG RGB");
        assert_eq!(picture.small().dimensions(), (640, 320));
    }

    #[test]
    fn a_small_picture_is_kept_as_it_is() {
        assert_eq!(decode(&png(3, 2)).unwrap().small().dimensions(), (3, 2));
    }

    #[test]
    fn what_is_no_picture_is_said_to_be_none() {
        for bytes in [&b""[..], b"plain text", b"<svg xmlns='http://www.w3.org/2000/svg'/>"] {
            assert_eq!(decode(bytes), Err(PictureError::UnknownFormat));
        }
    }

    #[test]
    fn a_picture_that_is_cut_short_is_damaged() {
        let whole = png(64, 64);
        let error = decode(&whole[..whole.len() / 2]).unwrap_err();
        assert!(matches!(error, PictureError::Damaged(_)), "{error}");
    }

    #[test]
    fn a_header_that_claims_billions_of_pixels_is_refused_before_decoding() {
        let mut bytes = png(1, 1);
        bytes[16..20].copy_from_slice(&60_000u32.to_be_bytes());
        bytes[20..24].copy_from_slice(&60_000u32.to_be_bytes());
        let crc = crc32(&bytes[12..29]);
        bytes[29..33].copy_from_slice(&crc.to_be_bytes());
        assert!(decode(&bytes).is_err());
        let mut bmp = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(1, 1).write_to(&mut bmp, image::ImageFormat::Bmp).unwrap();
        let mut bmp = bmp.into_inner();
        bmp[18..22].copy_from_slice(&30_000i32.to_le_bytes());
        bmp[22..26].copy_from_slice(&30_000i32.to_le_bytes());
        assert_eq!(decode(&bmp), Err(PictureError::TooLarge { width: 30_000, height: 30_000 }));
    }

    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xedb8_8320 } else { c >> 1 })
        })
    }
}
