//! Estimates the frame rate of a stream that does not specify one from its time stamps, like FFmpeg.

use super::rational::{Rational, INT_MAX};

const CANDIDATE_RATES: usize = 30 * 12 + 30 + 3 + 6;
/// Number of intervals between frames that are evaluated; twice as many if ticks are longer than 0.5 ms.
const EVALUATED_INTERVALS: u64 = 20;
/// Number of frames after which a minimum duration also ends the estimation.
const MIN_FRAMES: u64 = 30;
/// Minimum duration in seconds; see [`MIN_FRAMES`].
const MIN_SECONDS: f64 = 5.0;
/// Unit of rates in seconds: rates are counted in frames per 12 × 1001 s.
const RATE_UNIT_SECONDS: f64 = 12.0 * 1001.0;

/// Collects time stamps and determines the standard rate that fits them.
#[derive(Clone, Debug)]
pub struct FrameRateEstimator {
    base: Rational,
    /// Time stamp of the third frame, from which the duration is measured.
    first: Option<i64>,
    /// The last time stamp.
    last: Option<i64>,
    frames: u64,
    is_finished: bool,
    /// Number of positive intervals between frames.
    steps: u64,
    /// Sum of these intervals, in units of `base`.
    sum: i64,
    /// For each rate, the sums of the errors and of their squares, for time stamps on the beat and between beats.
    errors: Vec<[[f64; 2]; 2]>,
}

/// Returns a candidate rate, in frames per 12 × 1001 s.
fn rate(index: usize) -> i64 {
    let round = |list: &[i64], at: usize| list.get(at).copied().unwrap_or(1);
    match index {
        0..360 => (index as i64 + 1) * 1001,
        360..390 => (index as i64 - 360 + 31) * 1001 * 12,
        390..393 => round(&[80, 120, 240], index - 390) * 1001 * 12,
        _ => round(&[24, 30, 60, 12, 15, 48], index - 393) * 1000 * 12,
    }
}

/// Returns all candidate rates.
pub fn standard() -> impl Iterator<Item = Rational> {
    (0..CANDIDATE_RATES).map(|index| Rational::new(rate(index), 12 * 1001))
}

impl FrameRateEstimator {
    /// Creates an estimator for time stamps in ticks of `base`.
    pub fn new(base: Rational) -> Self {
        Self {
            base,
            first: None,
            last: None,
            frames: 0,
            is_finished: false,
            steps: 0,
            sum: 0,
            errors: vec![[[0.0; 2]; 2]; CANDIDATE_RATES],
        }
    }

    /// Adds the next time stamp, in decoding order; ignored once [`is_done`](Self::is_done).
    pub fn add(&mut self, time: i64) {
        if self.is_finished {
            return;
        }
        self.frames += 1;
        // The duration is measured from the third frame on.
        if self.frames == 3 {
            self.first = Some(time);
        }
        if let Some(step) = self.last.and_then(|last| time.checked_sub(last)).filter(|step| *step > 0) {
            let seconds = time as f64 * self.base.as_f64();
            for (index, errors) in self.errors.iter_mut().enumerate() {
                let beats = seconds * rate(index) as f64 / RATE_UNIT_SECONDS;
                for (half, error) in errors.iter_mut().enumerate() {
                    let shift = half as f64 * 0.5;
                    let off = beats - (beats + shift).round_ties_even() + shift;
                    error[0] += off;
                    error[1] += off * off;
                }
            }
            self.steps += 1;
            self.sum = self.sum.saturating_add(step);
        }
        self.last = Some(time);
        let tick = self.base.as_f64();
        let wanted = if tick > 0.0005 { 2 * EVALUATED_INTERVALS } else { EVALUATED_INTERVALS };
        let long =
            self.frames > MIN_FRAMES && time.saturating_sub(self.first.unwrap_or(time)) as f64 * tick >= MIN_SECONDS;
        self.is_finished = self.steps >= wanted || long;
    }

    /// Whether further time stamps are ignored.
    pub fn is_done(&self) -> bool {
        self.is_finished
    }

    /// Returns the number of frames that were evaluated.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns the standard rate that fits, if any.
    pub fn rate(&self) -> Option<Rational> {
        // Fewer than three intervals are ambiguous.
        if self.steps <= 2 {
            return None;
        }
        let steps = self.steps as f64;
        let (mut best, mut found) = (0.01, None);
        for (index, errors) in self.errors.iter().enumerate() {
            let rate = rate(index);
            let too_slow = self.base.as_f64() * self.sum as f64 / steps < RATE_UNIT_SECONDS * 0.8 / rate as f64;
            if (rate as f64) < RATE_UNIT_SECONDS || too_slow {
                continue;
            }
            for error in errors {
                let mean = error[0] / steps;
                let spread = error[1] / steps - mean * mean;
                if spread < best && best > 1e-9 {
                    best = spread;
                    found = Some(rate);
                }
            }
        }
        let rate = Rational::reduced(found?, 12 * 1001, INT_MAX);
        // The average interval must match the rate within one tick.
        let expected = 1.0 / (rate.as_f64() * self.base.as_f64());
        ((expected - self.sum as f64 / steps).abs() <= 1.0).then_some(rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(times: impl IntoIterator<Item = i64>) -> Option<Rational> {
        let mut guess = FrameRateEstimator::new(Rational::new(1, 1000));
        times.into_iter().for_each(|time| guess.add(time));
        guess.rate()
    }

    #[test]
    fn standard_frame_rates_are_recognized_from_coarse_ticks() {
        assert_eq!(guess((0..13).map(|frame| frame * 40)), Some(Rational::new(25, 1)));
        assert_eq!(guess((0..13).map(|frame| frame * 1001 / 30)), Some(Rational::new(30_000, 1001)));
        assert_eq!(guess((0..40).map(|frame| (frame * 1000 + 12) / 24)), Some(Rational::new(24, 1)));
    }

    #[test]
    fn few_or_uneven_time_stamps_give_no_frame_rate() {
        assert_eq!(guess([0, 40, 80]), None);
        assert_eq!(guess([0, 40, 100, 120, 200, 250, 300, 380, 500, 510]), None);
    }
}
