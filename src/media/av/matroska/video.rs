//! The first video stream of a Matroska file: its frames, their times, their size.

use super::blocks::Frame;
use super::tracks::{Header, Kind};
use crate::media::av::codec::VideoCodec;
use crate::media::av::frame_rate::Guess;
use crate::media::av::rational::{seconds, Rational};
use crate::media::{ProbeError, Reader};
use crate::model::AvFacts;

/// The largest part of a first packet that is looked at for the size of its picture, in bytes.
const FIRST_PACKET: usize = 4 << 10;

/// Counts the frames of a video stream.
pub struct Pictures {
    base: Rational,
    /// As the container states it.
    rate: Option<Rational>,
    guess: Guess,
    codec: VideoCodec,
    parsed: bool,
    size: (u32, u32),
    frames: u64,
    first: Option<i64>,
    /// Time and told length of the last frame.
    last: Option<(i64, Option<i64>)>,
    stripped: Vec<u8>,
}

impl Pictures {
    /// For a track of the header; `None` where it is no video.
    pub fn new(header: &Header, at: usize) -> Option<Self> {
        let track = header.tracks.get(at)?;
        let Kind::Video { codec, size, parsed } = track.kind else { return None };
        let base = header.base(track);
        let rate = i64::try_from(track.default_duration).ok().filter(|length| *length > 0);
        Some(Self {
            base,
            rate: rate.map(|length| Rational::reduced(1_000_000_000, length, 30_000)),
            guess: Guess::new(base),
            codec,
            parsed,
            size,
            frames: 0,
            first: None,
            last: None,
            stripped: track.stripped.clone(),
        })
    }

    /// Takes a frame with its time and, where the container tells it, its length, in ticks.
    pub fn add(
        &mut self,
        reader: &mut Reader,
        frame: &Frame,
        time: i64,
        duration: Option<i64>,
    ) -> Result<(), ProbeError> {
        if self.frames == 0 {
            self.first = Some(time);
            self.look(reader, frame)?;
        }
        self.frames += 1;
        if self.rate.is_none() {
            self.guess.add(time);
        }
        self.last = Some((time, duration));
        Ok(())
    }

    /// The first packet may know the size better than the container.
    fn look(&mut self, reader: &mut Reader, frame: &Frame) -> Result<(), ProbeError> {
        if !self.codec.needs_packet() {
            return Ok(());
        }
        let count = usize::try_from(frame.len).unwrap_or(usize::MAX).min(FIRST_PACKET);
        let mut packet = self.stripped.clone();
        packet.extend_from_slice(reader.up_to(frame.at, count)?);
        self.size = self.codec.size_in_packet(&packet).unwrap_or(self.size);
        Ok(())
    }

    /// Fills in the facts; `whole` is the length of the segment in ticks, for a stream without frames.
    pub fn fill(self, whole: Option<i64>, facts: &mut AvFacts) -> Result<(), ProbeError> {
        let guessed = if self.rate.is_none() { self.guess.rate() } else { None };
        let own = match guessed {
            // Frames that were read before the guess was made keep no length.
            Some(rate) if self.parsed || self.frames > self.guess.frames() => {
                (1.0 / (rate.as_f64() * self.base.as_f64())).floor() as i64
            }
            _ => 0,
        };
        let end = self.last.map(|(time, duration)| time.saturating_add(duration.unwrap_or(own)));
        let start = self.first.unwrap_or(0);
        let duration = end.or(whole).map(|end| seconds(end.saturating_sub(start), self.base));
        facts.video_duration = duration;
        facts.video_num_frames = Some(self.frames);
        facts.video_fps = match (self.rate.or(guessed), duration) {
            (Some(rate), _) => Some(rate.as_f64()),
            (None, Some(0.0)) if self.parsed => None,
            (None, Some(0.0)) => return Err(ProbeError::broken("its video has no duration", 0)),
            (None, duration) => duration.map(|duration| self.frames as f64 / duration),
        };
        (facts.video_width, facts.video_height) = (Some(self.size.0), Some(self.size.1));
        Ok(())
    }
}
