//! AVIF: decodes the AV1 data of one image like libavif.

use super::super::avif_items::coded;
use super::{error, truncated};
use crate::{ProbeError, Reader};
use gristmill_core::ImageFacts;
use re_rav1d::dav1d::{Decoder, Error, Settings};

/// Pixels of the largest image that is decoded; for larger ones, only the presence of the coded data is checked.
const MAX_PIXELS: u32 = 40_000_000;
/// The maximum number of bytes of coded data that are decoded.
const MAX_CODED_BYTES: u64 = 64 << 20;
/// The maximum number of frames in the coded data of one image, such as layers.
const MAX_FRAMES: usize = 1000;
const CHUNK_BYTES: u64 = 64 << 10;

pub(super) fn check(reader: &mut Reader, facts: &ImageFacts) -> Result<(), ProbeError> {
    for spans in coded(reader).map_err(error)? {
        if spans.iter().any(|(at, len)| at.saturating_add(*len) > reader.len()) {
            return Err(truncated(reader));
        }
        let len = spans.iter().fold(0_u64, |sum, (_, len)| sum.saturating_add(*len));
        if len > MAX_CODED_BYTES || u64::from(facts.width) * u64::from(facts.height) > MAX_PIXELS.into() {
            continue;
        }
        let mut bytes = Vec::new();
        for (at, len) in &spans {
            let mut done = 0;
            while done < *len {
                let count = (len - done).min(CHUNK_BYTES);
                bytes.extend_from_slice(reader.exactly(at + done, usize::try_from(count).unwrap_or_default())?);
                done += count;
            }
        }
        if !decodes(bytes) {
            let at = spans.first().map_or(0, |(at, _)| *at);
            return Err(ProbeError::broken("the data of the AVIF picture cannot be decoded", at));
        }
    }
    Ok(())
}

/// Whether `codes` contain an image and decode without an error up to the end.
fn decodes(codes: Vec<u8>) -> bool {
    if codes.is_empty() {
        return false;
    }
    let mut settings = Settings::new();
    settings.set_n_threads(1);
    settings.set_max_frame_delay(1);
    settings.set_all_layers(false);
    settings.set_frame_size_limit(MAX_PIXELS);
    let Ok(mut decoder) = Decoder::with_settings(&settings) else { return true };
    let mut sent = decoder.send_data(codes, None, None, None);
    let mut is_found = false;
    for _ in 0..MAX_FRAMES {
        if sent.is_err_and(|error| !error.is_again()) {
            return false;
        }
        match decoder.get_picture() {
            Ok(_) => {
                is_found = true;
                break;
            }
            Err(Error::Again) if sent.is_err() => sent = decoder.send_pending_data(),
            Err(_) => return false,
        }
    }
    // The frames that the decoder has delayed have to decode as well.
    for _ in 0..MAX_FRAMES {
        match decoder.get_picture() {
            Ok(_) => {}
            Err(error) => return is_found && error.is_again(),
        }
    }
    is_found
}
