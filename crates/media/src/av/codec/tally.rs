//! Sums up the decoded samples of an audio stream, trimmed like in FFmpeg.

use crate::av::rational::{rescale_base, seconds, Rational};

/// A packet in a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Time stamp in the stream's time base, if present.
    pub pts: Option<i64>,
    /// Duration in ticks of the stream's time base.
    pub duration: i64,
    /// Samples per channel that the decoder outputs for the packet; 0 if it outputs no frame.
    pub samples: i64,
    /// Whether the decoded samples are discarded.
    pub discard: bool,
    /// Number of samples that are cut at its end.
    pub padding: i64,
}

/// The sum of the decoded samples, and the end of the last frame.
#[derive(Clone, Debug)]
pub struct SampleTally {
    base: Rational,
    rate: i64,
    /// Number of samples that remain to be cut at the beginning.
    skip: i64,
    /// Number of samples to cut from the first packet on; set to `None` if the decoder outputs no frame for that packet.
    pending: Option<i64>,
    /// Samples per channel that are output so far.
    samples: u64,
    /// The end of the last frame with a time stamp.
    end: Option<i64>,
}

impl SampleTally {
    /// Creates a tally for a stream with this time base and sampling rate (1/s), whose first `skip` samples are cut.
    pub fn new(base: Rational, rate: u32, skip: i64) -> Self {
        Self { base, rate: i64::from(rate), skip: 0, pending: (skip > 0).then_some(skip), samples: 0, end: None }
    }

    /// Counts one packet.
    pub fn add(&mut self, packet: Packet) {
        let pending = self.pending.take();
        let (mut pts, mut duration, mut samples) = (packet.pts, packet.duration, packet.samples);
        if samples <= 0 {
            return;
        }
        if let Some(skip) = pending {
            self.skip = skip;
        }
        if packet.discard {
            self.skip = (self.skip - samples).max(0);
            return;
        }
        if self.skip > 0 {
            if samples <= self.skip {
                self.skip -= samples;
                return;
            }
            let cut = self.ticks(self.skip);
            pts = pts.map(|pts| pts.saturating_add(cut));
            if duration >= cut {
                duration -= cut;
            }
            samples -= self.skip;
            self.skip = 0;
        }
        if packet.padding > 0 && packet.padding <= samples {
            samples -= packet.padding;
            if samples == 0 {
                return;
            }
            duration = self.ticks(samples);
        }
        self.samples = self.samples.saturating_add(u64::try_from(samples).unwrap_or(0));
        if let Some(pts) = pts {
            self.end = Some(pts.saturating_add(duration));
        }
    }

    fn ticks(&self, samples: i64) -> i64 {
        rescale_base(samples, Rational::new(1, self.rate), self.base)
    }

    /// Returns the number of samples per channel.
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Returns the seconds from `start` to the end of the last frame; without a frame, to the end of the stream (`otherwise`, in ticks).
    pub fn duration(&self, start: Option<i64>, otherwise: Option<i64>) -> Option<f64> {
        let end = self.end.or(otherwise)?;
        Some(seconds(end.saturating_sub(start.unwrap_or(0)), self.base))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(pts: i64, duration: i64, samples: i64) -> Packet {
        Packet { pts: Some(pts), duration, samples, ..Packet::default() }
    }

    #[test]
    fn priming_and_padding_samples_are_not_counted() {
        let mut tally = SampleTally::new(Rational::new(1, 1000), 44_100, 1105);
        tally.add(packet(-25, 26, 1152));
        tally.add(packet(1, 26, 1152));
        tally.add(Packet { padding: 839, ..packet(27, 26, 1152) });
        assert_eq!(tally.samples(), 47 + 1152 + 313);
        assert_eq!(tally.duration(Some(0), None), Some(34.0 * 0.001));
    }

    #[test]
    fn discarded_packets_count_toward_the_priming_samples() {
        let mut tally = SampleTally::new(Rational::new(1, 44_100), 44_100, 1024);
        tally.add(Packet { discard: true, ..packet(-1024, 1024, 1024) });
        tally.add(packet(0, 1024, 1024));
        assert_eq!(tally.samples(), 1024);
    }

    #[test]
    fn first_packet_without_samples_consumes_the_priming() {
        let mut tally = SampleTally::new(Rational::new(1, 1000), 44_100, 1024);
        tally.add(packet(0, 23, 0));
        tally.add(packet(23, 23, 1024));
        assert_eq!(tally.samples(), 1024);
        assert_eq!(SampleTally::new(Rational::new(1, 1000), 8000, 0).duration(Some(5), Some(10)), Some(0.005));
    }
}
