//! TIFF: bare pixels are all there, compressed ones decompress.

use super::super::tiff::pixels;
use super::super::Stop;
use super::{cut, decoded};
use crate::media::{ProbeError, Reader};
use crate::model::ImageFacts;

pub(super) fn check(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    match pixels(reader) {
        // Offsets that Pillow finds in unfitting types are not followed.
        Ok(Some(true)) | Err(Stop::Other(_)) => Ok(()),
        Ok(Some(false)) => Err(cut(reader)),
        Ok(None) => decoded::tiff(reader, facts),
        Err(Stop::Error(error)) => Err(error),
    }
}
