//! Images that have to be decoded to be checked.

use super::super::webp::{first_frame_fits, lacks_declared_alpha};
use super::truncated;
use crate::{ProbeError, Reader};
use gristmill_core::ImageFacts;
use hayro_jpeg2000::error::{DecodeError, TileError};
use hayro_jpeg2000::DecodeSettings;
use image::codecs::tiff::TiffDecoder;
use image::codecs::webp::WebPDecoder;
use image::error::{LimitError, LimitErrorKind};
use image::{ImageDecoder, ImageError, Limits};
use std::io::{self, BufRead, Read, Seek, SeekFrom};

/// The maximum memory for the pixels, in bytes.
const MAX_MEMORY: u64 = 256 << 20;
/// Pixels of the largest image that is decoded.
const MAX_PIXELS: u64 = 100_000_000;
const CHUNK_BYTES: usize = 32 << 10;

/// The entry as a stream. Stores read errors, because decoders convert them to their own errors.
struct Stream<'r, 'a> {
    reader: &'r mut Reader<'a>,
    at: u64,
    failed: Option<ProbeError>,
}

impl Read for Stream<'_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(buf.len());
        buf[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Stream<'_, '_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.reader.up_to(self.at, CHUNK_BYTES) {
            Ok(bytes) => Ok(bytes),
            Err(error) => {
                self.failed = Some(error);
                Err(io::ErrorKind::Other.into())
            }
        }
    }
    fn consume(&mut self, amount: usize) {
        self.at += amount as u64;
    }
}

impl Seek for Stream<'_, '_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.reader.len().checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Checks a WebP image: the whole file must be present, and the first image must decode.
pub(super) fn webp(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    super::webp::chunks(reader)?;
    check_size(facts)?;
    first_frame_fits(reader)?;
    if lacks_declared_alpha(reader)? {
        // The decoder requires the declared alpha channel.
        return Ok(());
    }
    let mut stream = Stream { reader, at: 0, failed: None };
    let loaded = WebPDecoder::new(&mut stream).and_then(load);
    map_result(loaded, stream)
}

/// Checks a TIFF image of a compression that the decoder supports.
pub(super) fn tiff(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    check_size(facts)?;
    let mut stream = Stream { reader, at: 0, failed: None };
    let loaded = TiffDecoder::new(&mut stream).and_then(load);
    map_result(loaded, stream)
}

fn check_size(facts: &ImageFacts) -> Result<(), ProbeError> {
    if u64::from(facts.width) * u64::from(facts.height) > MAX_PIXELS {
        return Err(ProbeError::broken(format!("too large to decode: more than {MAX_PIXELS} pixels"), 0));
    }
    Ok(())
}

fn load(mut decoder: impl ImageDecoder) -> Result<(), ImageError> {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    decoder.set_limits(limits)?;
    let bytes = decoder.total_bytes();
    let bytes = usize::try_from(bytes).ok().filter(|bytes| *bytes as u64 <= MAX_MEMORY);
    let bytes = bytes.ok_or(LimitError::from_kind(LimitErrorKind::InsufficientMemory)).map_err(ImageError::Limits)?;
    let mut pixels = vec![0; bytes];
    decoder.read_image(&mut pixels)
}

/// Maps the result of a decoder. What the decoder does not support passes, because Pillow may support it.
fn map_result(loaded: Result<(), ImageError>, stream: Stream) -> Result<(), ProbeError> {
    match loaded {
        Ok(()) | Err(ImageError::Unsupported(_)) => Ok(()),
        Err(_) if stream.failed.is_some() => stream.failed.map_or(Ok(()), Err),
        Err(ImageError::Limits(_)) => Err(ProbeError::broken("too large to decode", 0)),
        Err(ImageError::IoError(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(truncated(stream.reader))
        }
        Err(error) => Err(ProbeError::broken(format!("the picture cannot be decoded: {error}"), stream.at)),
    }
}

/// Checks a JPEG 2000 image: the coded data of all parts of the codestream from `begin` to `end`. Features that the decoder does not
/// support, or where it is stricter than OpenJPEG, count as undamaged.
pub(super) fn jpeg2000(reader: &mut Reader, begin: u64, end: u64) -> Result<(), ProbeError> {
    let len = end.saturating_sub(begin);
    if len > MAX_MEMORY {
        return Ok(());
    }
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < len {
        let at = begin + bytes.len() as u64;
        let count = usize::try_from(len - bytes.len() as u64).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
        bytes.extend_from_slice(reader.exactly(at, count)?);
    }
    let settings = DecodeSettings { strict: true, ..DecodeSettings::default() };
    let map_result = |error: DecodeError| match error {
        DecodeError::Tile(TileError::Invalid) => Ok(()),
        DecodeError::Marker(_) | DecodeError::Tile(_) => {
            Err(ProbeError::broken(format!("the JPEG 2000 picture cannot be decoded: {error}"), begin))
        }
        _ => Ok(()),
    };
    let image = match hayro_jpeg2000::Image::new(&bytes, &settings) {
        Ok(image) => image,
        Err(error) => return map_result(error),
    };
    let pixels = u64::from(image.width()) * u64::from(image.height());
    // Each sample takes four bytes while it is decoded.
    if pixels * 16 > MAX_MEMORY {
        return Ok(());
    }
    image.decode().map_or_else(map_result, |_| Ok(()))
}
