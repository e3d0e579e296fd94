//! Locates the first key frame of a video track.

use super::entry::Kind;
use super::fragments;
use super::samples::{Sample, Samples};
use super::Movie;
use crate::av::codec::VideoCodec;
use crate::av::frame_span::{FrameSpan, MAX_SEARCHED_FRAMES};
use crate::{ProbeError, Reader};

/// Returns the location of the first key frame of the first video track; `None` if the track is not of `codec` or has none.
///
/// # Errors
/// [`ProbeError::Broken`] if the header or a required table cannot be read, or the video is encrypted.
pub fn key_frame(reader: &mut Reader, codec: VideoCodec) -> Result<Option<FrameSpan>, ProbeError> {
    let movie = Movie::read(reader)?;
    let video = movie.tracks.iter().enumerate().find(|(_, track)| track.kind == Kind::Video);
    let Some((index, track)) = video else { return Ok(None) };
    let Some(entry) = track.entry.as_ref().filter(|entry| entry.video == codec) else { return Ok(None) };
    if entry.encrypted {
        return Err(ProbeError::broken("its video is encrypted", 0));
    }
    let (mut left, mut found) = (MAX_SEARCHED_FRAMES, None);
    let mut look = |sample: Sample| {
        left -= 1;
        found = Some(sample).filter(|sample| sample.key && sample.size > 0);
        found.is_none() && left > 0
    };
    let mut wanted = true;
    if track.usable {
        let mut samples = Samples::new(track, reader, 0)?;
        while let (true, Some(sample)) = (wanted, samples.next(reader)?) {
            wanted = look(sample);
        }
    }
    if wanted && movie.fragments.announced() {
        fragments::visit(reader, &movie.fragments, &movie.tracks, index, &mut |_, sample| Ok(look(sample)))?;
    }
    Ok(found.map(|sample| FrameSpan {
        config: entry.config.clone(),
        stripped: Vec::new(),
        at: sample.at,
        len: sample.size,
    }))
}
