//! Pictures inside sound files: FFmpeg shows the first one as a video stream of no frames.

use super::rational::{rescale_base, seconds, Rational};
use crate::bytes::MAX_READ_BYTES;
use crate::{image, ProbeError, Reader};
use gristmill_core::{AvFacts, Cancel, MediaFacts};

/// Where a picture lies in the entry, and what it says that it is.
#[derive(Clone, Copy, Debug)]
pub struct Cover {
    /// Its format as FFmpeg takes it from the MIME type and the first bytes, in the name Pillow has for it.
    pub format: &'static str,
    /// Offset of its first byte.
    pub at: u64,
    /// Its length in bytes.
    pub len: u64,
}

/// The MIME types that are known, spelled as they must be.
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
/// The first bytes of a PNG file: they win over the MIME type.
const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// The time base of pictures.
const BASE: Rational = Rational::new(1, 90_000);
/// The time base of whole files.
const MICROSECONDS: Rational = Rational::new(1, 1_000_000);

impl Cover {
    /// A picture of `len` bytes at `at`; `None` where it is empty or of an unknown kind, which is passed over.
    pub fn new(reader: &mut Reader, mime: &[u8], at: u64, len: u64) -> Result<Option<Self>, ProbeError> {
        let count = usize::try_from(len).unwrap_or(PNG.len()).min(PNG.len());
        let format = format(mime, reader.up_to(at, count)?).filter(|_| len > 0);
        Ok(format.map(|format| Self { format, at, len }))
    }

    /// Puts the facts of the stream that the picture is shown as into `facts`.
    ///
    /// `duration` is the length of the file's sound as its header states it, in ticks of `base`.
    ///
    /// # Errors
    /// [`ProbeError::Broken`] where the picture is not what it says it is: the peer gives the whole file up then.
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

/// The format, in the name Pillow has for it, of a picture with this MIME type and these first bytes.
pub fn format(mime: &[u8], first: &[u8]) -> Option<&'static str> {
    let (_, told) = MIME_TYPES.iter().find(|(known, _)| *known == mime)?;
    Some(if first.starts_with(&PNG) { "PNG" } else { told })
}

/// Width and height in pixels of a picture, or of the beginning of one, of this format. `at` is where it lies.
///
/// # Errors
/// [`ProbeError::Broken`] where it is not of that format.
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
