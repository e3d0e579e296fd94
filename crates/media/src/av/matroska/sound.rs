//! The first audio stream of a Matroska file: counts the samples that a decoder outputs.

use super::blocks::Frame;
use super::tracks::{Header, Kind};
use crate::av::codec::{AudioCodec, AudioSetup, Packet, SampleTally};
use crate::av::rational::{add_stable, rescale, rescale_base, seconds, Rational, Rounding};
use crate::{ProbeError, Reader};
use gristmill_core::AvFacts;

/// Counts the samples of an audio stream.
pub struct SoundCounter {
    base: Rational,
    setup: AudioSetup,
    /// Samples per second according to the container.
    container_rate: u32,
    /// Samples to be cut at the beginning according to the container, and those that are actually cut.
    declared: i64,
    skip: i64,
    tally: SampleTally,
    /// Time at which the reference program begins to decode, in ticks; frames are skipped until a frame at or after it was found.
    seek: Option<i64>,
    found: bool,
    with_video: bool,
    first: Option<i64>,
    /// Time and duration of the last frame.
    last: Option<(i64, i64)>,
    /// Time of the next frame of a laced block.
    next: i64,
    stripped: Vec<u8>,
}

impl SoundCounter {
    /// Creates a counter for a track of the header; `None` if it is not sound. `seek` is the time of the first key frame of the video.
    pub fn new(header: &Header, at: usize, seek: Option<i64>, with_video: bool) -> Option<Self> {
        let track = header.tracks.get(at)?;
        let Kind::Audio { setup, rate } = &track.kind else { return None };
        let container_rate = *rate;
        let mut setup = setup.as_ref().clone();
        let base = header.base(track);
        let delay = i64::try_from(track.codec_delay).unwrap_or(0);
        let declared = rescale(delay, i64::from(setup.rate), 1_000_000_000, Rounding::Near);
        // FFmpeg up to 5.x writes a CodecDelay that is too small for sound that is not at 48 kHz; decoders use the pre-skip of the codec's
        // own header.
        let skip = setup.preskip.map_or(declared, i64::from);
        if setup.codec == AudioCodec::Tta {
            let length = header.duration.unwrap_or(0.0) * header.scale as f64 * f64::from(setup.rate) / 1e9;
            setup.left = length.round() as u64;
        }
        let tally = SampleTally::new(base, setup.rate, skip);
        let found = with_video && seek.is_none();
        let stripped = track.stripped.clone();
        Some(Self {
            base,
            setup,
            container_rate,
            declared,
            skip,
            tally,
            seek,
            found,
            with_video,
            first: None,
            last: None,
            next: 0,
            stripped,
        })
    }

    /// Handles a video frame: from its first key frame on, all sound counts.
    pub fn count_picture(&mut self, time: i64, key: bool) {
        if key && self.seek.is_none_or(|seek| time >= seek) {
            self.found = true;
        }
    }

    /// Adds a frame with its time and, if specified by the container, its duration, in ticks.
    pub fn add(
        &mut self,
        reader: &mut Reader,
        frame: &Frame,
        time: i64,
        duration: Option<i64>,
    ) -> Result<(), ProbeError> {
        let samples = self.samples(reader, frame)?;
        let own = match self.setup.codec {
            // These codecs are not parsed, so only the container specifies the duration.
            AudioCodec::Alac | AudioCodec::Wavpack => 0,
            _ => rescale(
                samples,
                self.base.den,
                i64::from(self.setup.rate).saturating_mul(self.base.num),
                Rounding::Down,
            ),
        };
        let time = if frame.lace == 0 { time } else { self.next };
        self.next = match duration {
            Some(declared) => time.saturating_add(declared),
            None if own > 0 => add_stable(self.base, time, Rational::new(samples, i64::from(self.setup.rate))),
            None => time,
        };
        let duration = duration.unwrap_or(own);
        if self.first.is_none() {
            self.first = Some(time);
        }
        if !self.begins(time, frame.padding > 0) {
            return Ok(());
        }
        self.last = Some((time, duration));
        let padding = rescale(frame.padding, i64::from(self.setup.rate), 1_000_000_000, Rounding::Near);
        let padding = if frame.lace + 1 == frame.laces { padding } else { 0 };
        self.tally.add(Packet { pts: Some(time), duration, samples, discard: false, padding });
        Ok(())
    }

    /// Returns whether the frame at `time` is decoded. The reference program seeks to the beginning first, which leads to the last frame
    /// not after time 0, or to the first key frame of the video.
    fn begins(&mut self, time: i64, padded: bool) -> bool {
        // If the first packet is cut at its end, it is not cut at its beginning.
        let skip = if padded { 0 } else { self.skip };
        if self.with_video {
            self.found |= self.seek.is_none_or(|seek| time >= seek);
            if self.found && self.last.is_none() {
                self.tally = SampleTally::new(self.base, self.setup.rate, skip);
            }
            return self.found;
        }
        let target = self.first.unwrap_or(0).max(0);
        if time <= target {
            self.tally = SampleTally::new(self.base, self.setup.rate, skip);
        }
        true
    }

    fn samples(&mut self, reader: &mut Reader, frame: &Frame) -> Result<i64, ProbeError> {
        let wanted = self.setup.header_bytes();
        let len = frame.len + self.stripped.len() as u64;
        let count = usize::try_from(frame.len).unwrap_or(usize::MAX).min(wanted);
        let declared = if self.stripped.is_empty() {
            let head = if count == 0 { &[] } else { reader.up_to(frame.at, count)? };
            self.setup.samples(head, len)
        } else {
            let mut head = self.stripped.clone();
            head.extend_from_slice(reader.up_to(frame.at, count)?);
            self.setup.samples(&head, len)
        };
        Ok(declared.unwrap_or(0))
    }

    /// Adds the facts; `whole` is the duration of the segment in ticks, for a stream without frames.
    ///
    /// # Errors
    /// [`ProbeError::Broken`] if the length of a TTA stream is not specified, which its decoder requires.
    pub fn add_facts(self, whole: Option<i64>, facts: &mut AvFacts) -> Result<(), ProbeError> {
        if self.setup.codec == AudioCodec::Tta && whole.is_none() {
            return Err(ProbeError::broken("the length of its sound is not given", 0));
        }
        // The start is computed before the decoder reports its own rate.
        let rate = Rational::new(1, i64::from(self.container_rate.max(1)));
        let start = self.first.map(|first| first.saturating_add(rescale_base(self.declared, rate, self.base)));
        let end = self.last.map(|(time, duration)| time.saturating_add(duration));
        facts.audio_duration = self.tally.duration(start, end.or(whole));
        if self.first.is_none() {
            facts.audio_duration = whole.map(|whole| seconds(whole, self.base));
        }
        facts.audio_channels = Some(self.setup.channels);
        facts.audio_sample_rate = Some(self.setup.rate);
        facts.audio_num_samples = Some(self.tally.samples());
        Ok(())
    }
}
