//! MPEG audio: MP3 and the other layers, as a bare sequence of frames between tags.
//!
//! Every frame header is read, because only this determines where the sound ends; no frame is decoded.

mod frames;
mod parser;
mod picture;
mod recognise;
mod tag;

#[cfg(test)]
pub(crate) mod tests;

use super::rational::{rescale, rescale_base, Rational, Rounding};
use super::{after_id3, rational, AvProbeResult};
use crate::{ProbeError, Reader};
use gristmill_core::AvFacts;

pub use recognise::{matches, matches_far};

/// Time stamps per second, a multiple of all sampling rates of MPEG audio.
const TICKS: i64 = 14_112_000;
const BASE: Rational = Rational::new(1, TICKS);
/// Time base of attached pictures.
const PICTURE_BASE: Rational = Rational::new(1, 90_000);
/// Time base of the whole file.
const MICROSECONDS: Rational = Rational::new(1, 1_000_000);

/// Reads MPEG audio between tags.
///
/// # Errors
/// [`ProbeError::Broken`] if there is no sequence of frames, or other data between them.
pub fn probe(reader: &mut Reader) -> Result<AvProbeResult, ProbeError> {
    let start = after_id3(reader)?;
    let picture = picture::find(reader, start)?;
    let tag = tag::read(reader, start)?;
    let first = frames::first(reader, start + tag.as_ref().map_or(0, |tag| tag.skipped))?;
    let tag = tag.unwrap_or_default();
    let opened = parser::opened(reader, first)?;
    let sound = frames::walk(reader, first, &tag, opened)?;
    let start_time = tag.start_time();
    let duration = tag.duration();
    let end = match (sound.end, duration) {
        (Some(end), _) => Some(end),
        (None, Some(duration)) => Some(duration),
        (None, None) => estimated(reader, first, opened.bit_rate, BASE),
    };
    let mut facts = AvFacts {
        audio_duration: end.map(|end| rational::seconds(end.saturating_sub(start_time), BASE)),
        audio_channels: Some(sound.channels),
        audio_sample_rate: Some(opened.rate),
        audio_num_samples: Some(sound.samples),
        ..AvFacts::default()
    };
    if let Some((width, height)) = picture {
        let ticks = match duration {
            Some(duration) => of_picture(duration, start_time),
            None => estimated(reader, first, opened.bit_rate, PICTURE_BASE),
        };
        shown(&mut facts, (width, height), ticks.map(|ticks| rational::seconds(ticks, PICTURE_BASE)))?;
    }
    Ok(AvProbeResult { facts, remarks: sound.remarks })
}

/// Reports an attached picture as a video without frames, of the duration of the sound.
fn shown(facts: &mut AvFacts, size: (u32, u32), duration: Option<f64>) -> Result<(), ProbeError> {
    if duration == Some(0.0) {
        return Err(ProbeError::broken("it has a picture and a duration of 0", 0));
    }
    facts.video_duration = duration;
    facts.video_num_frames = Some(0);
    facts.video_fps = duration.map(|duration| 0.0 / duration);
    (facts.video_width, facts.video_height) = (Some(size.0), Some(size.1));
    Ok(())
}

/// Returns the duration of an attached picture, derived from the microseconds of the whole file; `None` if that is not positive.
fn of_picture(duration: i64, start_time: i64) -> Option<i64> {
    let total = rescale_base(duration, BASE, MICROSECONDS);
    let start = rescale_base(start_time, BASE, MICROSECONDS);
    let ticks = |microseconds| rescale_base(microseconds, MICROSECONDS, PICTURE_BASE);
    (total > 0).then(|| ticks(total).saturating_sub(ticks(start)))
}

/// Estimates the duration from length and average bit rate, if no tag specifies it.
fn estimated(reader: &Reader, first: u64, bit_rate: i64, base: Rational) -> Option<i64> {
    let bytes = i64::try_from(reader.len().saturating_sub(first)).unwrap_or(i64::MAX);
    (bit_rate > 0 && bytes > 0).then(|| rescale(bytes, 8 * base.den, bit_rate, Rounding::Near))
}
