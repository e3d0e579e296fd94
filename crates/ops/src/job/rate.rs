//! A moving rate: bytes per second over the last seconds, and the remaining time.

use gristmill_core::handles::ProgressReading;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Time span of the moving rate.
const RATE_WINDOW: Duration = Duration::from_secs(8);
/// Time before which no remaining time is reported.
const MIN_ELAPSED: Duration = Duration::from_secs(3);

/// Moving rate computed from progress readings.
#[derive(Debug, Default)]
pub struct Rate {
    /// Time, items, bytes, tokens.
    readings: VecDeque<(Instant, u64, u64, u64)>,
    started: Option<Instant>,
}

impl Rate {
    /// Adds a reading.
    pub fn add_reading(&mut self, now: Instant, reading: ProgressReading) {
        self.started.get_or_insert(now);
        let own_bytes = reading.bytes_done.saturating_sub(reading.bytes_resumed);
        let own_items = reading.items_done.saturating_sub(reading.items_resumed);
        if self.readings.back().is_some_and(|(_, items, bytes, _)| *bytes > own_bytes || *items > own_items) {
            // A new phase has started to count from zero.
            self.readings.clear();
            self.started = Some(now);
        }
        self.readings.push_back((now, own_items, own_bytes, reading.tokens_done));
        while self.readings.len() > 2
            && self.readings.front().is_some_and(|(then, ..)| now.duration_since(*then) > RATE_WINDOW)
        {
            self.readings.pop_front();
        }
    }

    /// Returns the bytes per second over the window.
    pub fn bytes_per_second(&self) -> f64 {
        self.speed(|entry| entry.2)
    }

    /// Returns the tokens per second over the window; 0 if the work is not counted in tokens.
    pub fn tokens_per_second(&self) -> f64 {
        self.speed(|entry| entry.3)
    }

    /// Returns the remaining time, by bytes if their total is known, otherwise by items. `None` in the first three seconds.
    pub fn remaining(&self, reading: ProgressReading) -> Option<Duration> {
        let last = self.readings.back()?.0;
        if last.duration_since(self.started?) < MIN_ELAPSED {
            return None;
        }
        self.seconds_left(reading).filter(|seconds| *seconds < 1e9).map(Duration::from_secs_f64)
    }

    /// Returns the remaining seconds as soon as there is any progress, without the initial delay.
    pub(super) fn seconds_left(&self, reading: ProgressReading) -> Option<f64> {
        let (left, speed) = if reading.bytes_total > 0 {
            (reading.bytes_total.saturating_sub(reading.bytes_done), self.bytes_per_second())
        } else if reading.items_total > 0 {
            (reading.items_total.saturating_sub(reading.items_done), self.speed(|entry| entry.1))
        } else {
            return None;
        };
        (speed > 0.0).then(|| left as f64 / speed)
    }

    fn speed(&self, pick: impl Fn(&(Instant, u64, u64, u64)) -> u64) -> f64 {
        let (Some(first), Some(last)) = (self.readings.front(), self.readings.back()) else { return 0.0 };
        let seconds = last.0.duration_since(first.0).as_secs_f64();
        if seconds <= 0.0 {
            0.0
        } else {
            pick(last).saturating_sub(pick(first)) as f64 / seconds
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(bytes: u64) -> ProgressReading {
        ProgressReading { bytes_done: bytes, bytes_total: 1_000, tokens_done: bytes / 4, ..ProgressReading::default() }
    }

    #[test]
    fn work_of_an_earlier_run_does_not_increase_the_rate() {
        let start = Instant::now();
        let mut rate = Rate::default();
        rate.add_reading(start, reading(0));
        for second in 1..=5 {
            let went_on = ProgressReading { bytes_resumed: 600, ..reading(600 + second * 20) };
            rate.add_reading(start + Duration::from_secs(second), went_on);
        }
        assert_eq!(rate.bytes_per_second(), 20.0);
        let last = ProgressReading { bytes_resumed: 600, ..reading(700) };
        assert_eq!(rate.remaining(last), Some(Duration::from_secs(15)));
        let parts = |done| ProgressReading { items_done: done, items_resumed: 6, items_total: 20, ..reading(0) };
        let mut rate = Rate::default();
        for second in 0..=4 {
            rate.add_reading(
                start + Duration::from_secs(second),
                ProgressReading { bytes_total: 0, ..parts(6 + second) },
            );
        }
        let last = ProgressReading { bytes_total: 0, ..parts(10) };
        assert_eq!(rate.remaining(last), Some(Duration::from_secs(10)));
    }

    #[test]
    fn time_left_is_hidden_for_three_seconds_and_follows_the_rate() {
        let start = Instant::now();
        let mut rate = Rate::default();
        rate.add_reading(start, reading(0));
        rate.add_reading(start + Duration::from_secs(2), reading(200));
        assert_eq!(rate.remaining(reading(200)), None);
        rate.add_reading(start + Duration::from_secs(4), reading(400));
        assert_eq!((rate.bytes_per_second(), rate.tokens_per_second()), (100.0, 25.0));
        assert_eq!(rate.remaining(reading(400)), Some(Duration::from_secs(6)));
    }

    #[test]
    fn new_phase_resets_the_rate() {
        let start = Instant::now();
        let mut rate = Rate::default();
        rate.add_reading(start, reading(900));
        rate.add_reading(start + Duration::from_secs(9), reading(10));
        assert_eq!(rate.bytes_per_second(), 0.0);
        assert_eq!(rate.remaining(reading(10)), None);
    }
}
