//! Pictures in sound files: FFmpeg presents the first one as a video stream without frames.

use super::rational::{rescale_base, seconds, Rational};
use crate::bytes::MAX_READ_BYTES;
use crate::{image, ProbeError, Reader};
use gristmill_core::{AvFacts, Cancel, MediaFacts};

/// The location of a picture in the entry, and its declared format.
#[derive(Clone, Copy, Debug)]
pub struct CoverPicture {
    /// The format that FFmpeg derives from the MIME type and the first bytes, by its name in Pillow.
    pub format: &'static str,
    /// Offset of its first byte.
    pub at: u64,
    /// Length in bytes.
    pub len: u64,
}

/// The supported MIME types, case-sensitive.
const MIME_TYPES: [(&[u8], &str); 9] = [
    (b"image/gif", "GIF"),
    (b"image/jpeg", "JPEG"),
    (b"image/jpg", "JPEG"),
    (b"image/png", "PNG"),
    (b"image/tiff", "TIFF"),
    (b"image/bmp", "BMP"),
    (b"image/webp", "WEBP"),
    (b"JPG", "JPEG"),
    (b"PNG", "PNG"),
];
/// The first bytes of a PNG file, which take precedence over the MIME type.
const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// The time base of pictures.
const BASE: Rational = Rational::new(1, 90_000);
/// The time base of whole files.
const MICROSECONDS: Rational = Rational::new(1, 1_000_000);

impl CoverPicture {
    /// Creates a cover of `len` bytes at `at`; `None` if it is empty or of an unknown type, and therefore ignored.
    pub fn new(reader: &mut Reader, mime: &[u8], at: u64, len: u64) -> Result<Option<Self>, ProbeError> {
        let count = usize::try_from(len).unwrap_or(PNG.len()).min(PNG.len());
        let format = format(mime, reader.up_to(at, count)?).filter(|_| len > 0);
        Ok(format.map(|format| Self { format, at, len }))
    }

    /// Adds the facts of the video stream for the picture to `facts`.
    ///
    /// `duration` is the length of the file's sound according to its header, in ticks of `base`.
    ///
    /// # Errors
    /// [`ProbeError::Broken`] if the picture is not of the declared format: the reference program refuses the whole file then.
    pub fn show(
        self,
        reader: &mut Reader,
        duration: Option<(i64, Rational)>,
        facts: &mut AvFacts,
    ) -> Result<(), ProbeError> {
        let count = usize::try_from(self.len).unwrap_or(MAX_READ_BYTES).min(MAX_READ_BYTES);
        let bytes = reader.up_to(self.at, count)?.to_vec();
        let (width, height) = size(&bytes, self.format, self.at)?;
        let length = duration.map(|(ticks, base)| {
            let whole = rescale_base(ticks, base, MICROSECONDS);
            seconds(rescale_base(whole, MICROSECONDS, BASE), BASE)
        });
        facts.video_duration = length;
        facts.video_num_frames = Some(0);
        facts.video_fps = length.map(|_| 0.0);
        facts.video_width = Some(width);
        facts.video_height = Some(height);
        Ok(())
    }
}

/// Returns the format, by its name in Pillow, for this MIME type and these first bytes.
pub fn format(mime: &[u8], first: &[u8]) -> Option<&'static str> {
    let (_, declared) = MIME_TYPES.iter().find(|(known, _)| *known == mime)?;
    Some(if first.starts_with(&PNG) { "PNG" } else { declared })
}

/// Returns width and height in pixels of a picture of this format, or of the beginning of one. `at` is its offset in the entry.
///
/// # Errors
/// [`ProbeError::Broken`] if it is not of that format.
pub fn size(picture: &[u8], format: &str, at: u64) -> Result<(u32, u32), ProbeError> {
    let cancel = Cancel::default();
    let broken = || ProbeError::broken("its cover picture cannot be read", at);
    let picture = image::probe(&mut Reader::new(&picture, &cancel)).map_err(|_| broken())?;
    let MediaFacts::Image(picture) = picture.facts else { return Err(broken()) };
    if picture.format != format && !(format == "JPEG" && picture.format == "MPO") {
        return Err(broken());
    }
    Ok((picture.width, picture.height))
}
