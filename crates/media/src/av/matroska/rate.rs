//! Determines the frame rate of a track without a specified frame duration, like FFmpeg's analysis of the first packets: from their
//! durations, otherwise from their time stamps.

use crate::av::codec::{Timing, VideoCodec};
use crate::av::frame_rate::{standard, FrameRateEstimator};
use crate::av::rational::{Rational, INT_MAX};

/// Number of packets at the beginning whose durations are not counted.
const SKIPPED_PACKETS: u64 = 2;
/// Maximum relative deviation from a standard rate.
const NEAR: f64 = 0.01;

/// Collects the first packets of a track.
#[derive(Clone, Debug)]
pub struct Analysis {
    base: Rational,
    guess: FrameRateEstimator,
    /// Rate according to the codec headers.
    rate: Option<Rational>,
    /// Whether the rate of the headers is trusted, so that packets are not analysed.
    is_confirmed: bool,
    packets: u64,
    /// Number of packets whose durations were counted, and the sum in ticks.
    counted: i64,
    sum: i64,
}

impl Analysis {
    /// Creates an analysis for a codec whose headers specify `timing`.
    pub fn new(base: Rational, codec: VideoCodec, timing: Timing) -> Self {
        let plausible = timing.rate.is_some_and(|rate| (5.0..101.0).contains(&rate.as_f64()));
        Self {
            base,
            guess: FrameRateEstimator::new(base),
            rate: timing.rate,
            is_confirmed: codec == VideoCodec::Mpeg4 && plausible,
            packets: 0,
            counted: 0,
            sum: 0,
        }
    }

    /// Adds the next packet: its time and, if specified by the container, its duration, in ticks.
    pub fn add(&mut self, time: i64, declared: Option<i64>) {
        if !self.guess.is_done() {
            let ticks = declared.unwrap_or_else(|| self.by_headers());
            if self.packets >= SKIPPED_PACKETS && ticks > 0 {
                self.counted += 1;
                self.sum = self.sum.saturating_add(ticks);
            }
            self.guess.add(time);
        }
        self.packets += 1;
    }

    /// Ticks per frame according to the headers; 0 if they specify no rate, or a clock frequency instead of a frame rate.
    fn by_headers(&self) -> i64 {
        self.rate.filter(|rate| rate.as_f64() < 1000.0).map_or(0, |rate| self.ticks(rate))
    }

    fn ticks(&self, rate: Rational) -> i64 {
        let (over, under) = (rate.den.saturating_mul(self.base.den), rate.num.saturating_mul(self.base.num));
        over.checked_div(under).unwrap_or(0)
    }

    /// Returns the rate, if one was determined.
    pub fn rate(&self) -> Option<Rational> {
        if self.is_confirmed {
            return None;
        }
        self.by_durations().or_else(|| self.guess.rate())
    }

    /// Returns the mean of the durations, or the nearest standard rate.
    fn by_durations(&self) -> Option<Rational> {
        let seconds = self.sum.checked_mul(self.base.num).filter(|seconds| *seconds > 0)?;
        let mean = Rational::reduced(self.counted.checked_mul(self.base.den)?, seconds, 60_000);
        let (mut best, mut error) = (mean, NEAR);
        for rate in standard() {
            let off = (mean.as_f64() / rate.as_f64() - 1.0).abs();
            if off < error {
                (best, error) = (rate, off);
            }
        }
        Some(Rational::reduced(best.num, best.den, INT_MAX)).filter(|rate| rate.is_positive())
    }

    /// Returns the duration in ticks of a last packet for which the container specifies none.
    pub fn last(&self) -> i64 {
        // Packets that were read before the estimate was made have no duration.
        match self.guess.rate().filter(|_| self.rate.is_none() && self.packets > self.guess.frames()) {
            Some(rate) => self.ticks(rate),
            None => self.by_headers(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn analysed(codec: VideoCodec, rate: Option<Rational>, declared: Option<i64>) -> Analysis {
        let mut analysis = Analysis::new(Rational::new(1, 1000), codec, Timing { rate, reorder: 0 });
        (0..12).for_each(|frame| analysis.add(frame * 1001 / 24, declared));
        analysis
    }

    #[test]
    fn frame_durations_in_whole_ticks_give_an_approximate_rate() {
        let film = Rational::new(24_000, 1001);
        let analysis = analysed(VideoCodec::H264, Some(film), None);
        assert_eq!((analysis.rate(), analysis.last()), (Some(Rational::new(293, 12)), 41));
        assert_eq!(analysed(VideoCodec::Vp9, None, Some(16)).rate(), Some(Rational::new(125, 2)));
    }

    #[test]
    fn frame_rate_without_durations_follows_from_time_stamps() {
        let analysis = analysed(VideoCodec::Vp9, None, None);
        assert_eq!((analysis.rate(), analysis.last()), (Some(Rational::new(24_000, 1001)), 0));
        let clock = analysed(VideoCodec::Mpeg4, Some(Rational::new(24_000, 1)), None);
        assert_eq!((clock.rate(), clock.last()), (Some(Rational::new(24_000, 1001)), 0));
    }

    #[test]
    fn plausible_mpeg4_frame_rate_is_not_analysed() {
        let analysis = analysed(VideoCodec::Mpeg4, Some(Rational::new(24, 1)), None);
        assert_eq!((analysis.rate(), analysis.last()), (None, 41));
    }
}
