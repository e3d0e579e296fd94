//! The first video stream of a Matroska file: its frames, their times, and their size.

use super::blocks::Frame;
use super::rate::Analysis;
use super::tracks::{Header, Kind};
use crate::av::codec::{Timing, VideoCodec};
use crate::av::rational::{seconds, Rational};
use crate::{ProbeError, Reader};
use gristmill_core::AvFacts;

/// The maximum number of bytes of the first packet that are searched for the size of its frame.
const FIRST_PACKET: usize = 4 << 10;

/// Counts the frames of a video stream.
pub struct Pictures {
    base: Rational,
    /// Frame rate according to the container.
    rate: Option<Rational>,
    /// Estimates the rate from the frames; `None` if the container specifies it, and before the first frame.
    analysis: Option<Analysis>,
    codec: VideoCodec,
    timing: Option<Timing>,
    size: (u32, u32),
    frames: u64,
    first: Option<i64>,
    /// Time and specified duration of the last frame.
    last: Option<(i64, Option<i64>)>,
    stripped: Vec<u8>,
}

impl Pictures {
    /// Creates a counter for a track of the header; `None` if it is not video.
    pub fn new(header: &Header, at: usize) -> Option<Self> {
        let track = header.tracks.get(at)?;
        let Kind::Video { codec, size, timing, .. } = track.kind else { return None };
        let base = header.base(track);
        let rate = i64::try_from(track.default_duration).ok().filter(|length| *length > 0);
        Some(Self {
            base,
            rate: rate.map(|length| Rational::reduced(1_000_000_000, length, 30_000)),
            analysis: None,
            codec,
            timing,
            size,
            frames: 0,
            first: None,
            last: None,
            stripped: track.stripped.clone(),
        })
    }

    /// Adds a frame with its time and, if specified by the container, its duration, in ticks.
    pub fn add(
        &mut self,
        reader: &mut Reader,
        frame: &Frame,
        time: i64,
        duration: Option<i64>,
    ) -> Result<(), ProbeError> {
        if self.frames == 0 {
            self.first = Some(time);
            self.read_packet(reader, frame)?;
            if self.rate.is_none() {
                self.analysis = Some(Analysis::new(self.base, self.codec, self.timing.unwrap_or_default()));
            }
        }
        self.frames += 1;
        if let Some(analysis) = &mut self.analysis {
            analysis.add(time, duration);
        }
        self.last = Some((time, duration));
        Ok(())
    }

    /// Reads size and timing from the first packet, which are more accurate than those of the container.
    fn read_packet(&mut self, reader: &mut Reader, frame: &Frame) -> Result<(), ProbeError> {
        if !self.codec.needs_packet() {
            return Ok(());
        }
        let count = usize::try_from(frame.len).unwrap_or(usize::MAX).min(FIRST_PACKET);
        let mut packet = self.stripped.clone();
        packet.extend_from_slice(reader.up_to(frame.at, count)?);
        self.size = self.codec.size_in_packet(&packet).unwrap_or(self.size);
        self.timing = self.timing.filter(|timing| timing.rate.is_some()).or_else(|| self.codec.timing(&packet));
        Ok(())
    }

    /// Returns the number of frames after which FFmpeg can determine the start of the stream: reordered frames get their decoding time
    /// late, and for H.264 reordering is detected late if the headers do not specify it.
    fn needed(&self) -> u64 {
        let reorder = u64::from(self.timing.unwrap_or_default().reorder);
        match (self.codec, reorder) {
            (VideoCodec::H264, 0) => 8,
            (VideoCodec::H264, _) => reorder + 2,
            _ => reorder + 1,
        }
    }

    /// Adds the facts; `whole` is the duration of the segment in ticks, for a stream without frames or a known start.
    ///
    /// # Errors
    /// [`ProbeError::Broken`] if the frame rate would be a division by a duration of 0.
    pub fn add_facts(self, whole: Option<i64>, facts: &mut AvFacts) -> Result<(), ProbeError> {
        let own = self.analysis.as_ref().map_or(0, Analysis::last);
        let end = self.last.map(|(time, duration)| time.saturating_add(duration.unwrap_or(own)));
        let started = self.frames >= self.needed();
        let start = self.first.filter(|_| started).unwrap_or(0);
        let end = if started { end.or(whole) } else { whole.or(end) };
        let duration = end.map(|end| seconds(end.saturating_sub(start), self.base));
        facts.video_duration = duration;
        facts.video_num_frames = Some(self.frames);
        let rate = self.rate.or_else(|| self.analysis.as_ref().and_then(Analysis::rate));
        facts.video_fps = match (rate, duration) {
            (Some(rate), _) => Some(rate.as_f64()),
            (None, Some(0.0)) => return Err(ProbeError::broken("its video has no duration", 0)),
            (None, duration) => duration.map(|duration| self.frames as f64 / duration),
        };
        (facts.video_width, facts.video_height) = (Some(self.size.0), Some(self.size.1));
        Ok(())
    }
}
