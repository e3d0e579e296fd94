//! Progress of a whole job, and its remaining time.
//!
//! A job consists of stages. At the start of each, it estimates the time of that stage and of all later ones ([`Forecast`]). The remaining
//! share is divided among them in proportion, again at each reading; the measured speed of the stage replaces its estimate. Therefore the
//! share never decreases, however wrong a forecast is, and is 1 only at the end of the job.

use super::rate::Rate;
use gristmill_core::handles::ProgressReading;
use std::time::{Duration, Instant};

/// Largest share reported before the job has ended.
const MAX_SHARE: f64 = 0.999;
/// Time before which no remaining time is shown.
const MIN_ELAPSED: Duration = Duration::from_secs(3);
/// Time before which the speed of a stage is considered unknown.
const MIN_STAGE_TIME: Duration = Duration::from_secs(1);
/// Time constant of the smoothing of the remaining time, in seconds: after it, two thirds of a change are shown.
const SMOOTHING_SECONDS: f64 = 2.0;
/// Smallest remaining time that is shown, in seconds.
const LEAST_LEFT: f64 = 0.5;

/// Estimated time of a stage and of all later ones, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Forecast {
    /// Time of the current stage.
    pub(crate) stage: f64,
    /// Time of all later stages.
    pub(crate) later: f64,
}

impl Forecast {
    /// Creates a forecast for a stage and those after it.
    pub(crate) fn new(stage: f64, later: f64) -> Self {
        Self { stage, later }
    }

    /// Creates a forecast for publishing this many files and removing temporary files.
    pub(crate) fn publishing(files: u64) -> Self {
        let stage = files as f64 * cost::FILE_PUBLISHED;
        Self { stage, later: cost::publishing(files) - stage }
    }
}

/// Estimated costs of operations in seconds, on a typical disk with two threads. They only need to show which stages are long, because the
/// real speed is measured during the run.
pub(crate) mod cost {
    /// Opening a file and recording that it was read.
    pub(crate) const FILE_READ: f64 = 1.5e-3;
    /// Reading and examining a byte.
    pub(crate) const BYTE_READ: f64 = 2e-9;
    /// Copying a byte.
    pub(crate) const BYTE_COPIED: f64 = 4e-9;
    /// Writing a row of a table, including sorting its key.
    pub(crate) const SECONDS_PER_ROW: f64 = 6e-6;
    /// Flushing a file to disk and moving it to its target.
    pub(crate) const FILE_PUBLISHED: f64 = 4e-3;
    /// Tokenizing a byte of text.
    pub(crate) const BYTE_PACKED: f64 = 1e-7;
    /// Reading the header of a picture, audio or video file.
    pub(crate) const MEDIUM: f64 = 1e-4;

    pub(crate) fn reading(files: u64, bytes: u64) -> f64 {
        files as f64 * FILE_READ + bytes as f64 * BYTE_READ
    }

    pub(crate) fn copying(bytes: u64) -> f64 {
        bytes as f64 * BYTE_COPIED
    }

    pub(crate) fn rows(rows: u64) -> f64 {
        rows as f64 * SECONDS_PER_ROW
    }

    /// Publishing files, including cleaning up.
    pub(crate) fn publishing(files: u64) -> f64 {
        files as f64 * FILE_PUBLISHED * 1.03 + 0.02
    }
}

/// Progress of a job.
#[derive(Debug, Default)]
pub(crate) struct JobProgress {
    forecast: Forecast,
    rate: Rate,
    /// Completed share of the whole job; `None` while it is unknown.
    share: Option<f64>,
    /// Completed fraction of the stage.
    done: f64,
    /// Seconds for the whole stage at the last measured speed.
    pace: Option<f64>,
    began: Option<Instant>,
    stage_began: Option<Instant>,
    /// The smoothed remaining time of the job in seconds, and when it was computed.
    left: Option<(Instant, f64)>,
}

impl JobProgress {
    /// Begins a stage; the previous one is complete.
    pub(crate) fn begin_stage(&mut self, forecast: Forecast) {
        if self.share.is_some() {
            self.advance(1.0);
        }
        *self =
            Self { forecast, rate: Rate::default(), done: 0.0, pace: None, stage_began: None, ..std::mem::take(self) };
    }

    /// Adds a reading of the stage. `part` is the completed fraction, if it cannot be computed from items and bytes.
    pub(crate) fn update(&mut self, now: Instant, reading: ProgressReading, part: Option<f64>) {
        self.rate.add_reading(now, reading);
        let Some(done) = part.or_else(|| reading.fraction()) else { return };
        self.share.get_or_insert(0.0);
        let stage_began = *self.stage_began.get_or_insert(now);
        self.began.get_or_insert(now);
        if now.duration_since(stage_began) >= MIN_STAGE_TIME {
            let pace = self.rate.seconds_left(reading).map(|left| left / (1.0 - done));
            self.pace = pace.filter(|pace| pace.is_finite()).or(self.pace);
        }
        // Some stages restart their count, or increase their total.
        self.done = self.done.min(done);
        self.advance(done);
        self.smooth(now);
    }

    /// Advances to this fraction of the stage.
    fn advance(&mut self, done: f64) {
        let step = self.stage_left() * (done - self.done) / (1.0 - self.done);
        let all = self.stage_left() + self.forecast.later;
        let share = self.share.get_or_insert(0.0);
        if step > 0.0 && all > 0.0 {
            *share = (*share + (1.0 - *share) * (step / all).min(1.0)).min(MAX_SHARE);
        }
        self.done = done.max(self.done);
    }

    /// Returns the remaining seconds of the stage.
    fn stage_left(&self) -> f64 {
        self.pace.unwrap_or(self.forecast.stage) * (1.0 - self.done)
    }

    fn smooth(&mut self, now: Instant) {
        let new = self.stage_left() + self.forecast.later;
        let smoothed = match self.left {
            Some((then, left)) => {
                let passed = now.duration_since(then).as_secs_f64();
                let expected = (left - passed).max(0.0);
                expected + (new - expected) * (1.0 - (-passed / SMOOTHING_SECONDS).exp())
            }
            None => new,
        };
        self.left = Some((now, smoothed));
    }

    /// Returns the completed share of the job, below 1; `None` while it is unknown.
    pub(crate) fn share(&self) -> Option<f64> {
        self.share
    }

    /// Returns the remaining time of the whole job; `None` in the first seconds and while it is unknown.
    pub(crate) fn remaining(&self) -> Option<Duration> {
        let (now, left) = self.left?;
        let is_shown = now.duration_since(self.began?) >= MIN_ELAPSED && (LEAST_LEFT..1e9).contains(&left);
        is_shown.then(|| Duration::from_secs_f64(left))
    }

    /// Returns the bytes and tokens per second of the stage.
    pub(crate) fn rates(&self) -> (f64, f64) {
        (self.rate.bytes_per_second(), self.rate.tokens_per_second())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(done: u64, total: u64) -> ProgressReading {
        ProgressReading { items_done: done, items_total: total, ..ProgressReading::default() }
    }

    fn at(start: Instant, seconds: f64) -> Instant {
        start + Duration::from_secs_f64(seconds)
    }

    #[test]
    fn later_stages_have_their_part_of_the_progress_share() {
        let start = Instant::now();
        let mut overall = JobProgress::default();
        assert_eq!(overall.share(), None);
        overall.begin_stage(Forecast::new(3.0, 1.0));
        overall.update(start, items(0, 100), None);
        assert_eq!(overall.share(), Some(0.0));
        overall.update(at(start, 0.1), items(100, 100), None);
        let read = overall.share().unwrap();
        assert!((read - 0.75).abs() < 1e-9, "{read}");
        overall.begin_stage(Forecast::new(0.9, 0.1));
        overall.update(at(start, 0.2), items(50, 100), None);
        let half = overall.share().unwrap();
        assert!((half - (0.75 + 0.25 * 0.45)).abs() < 1e-9, "{half}");
    }

    #[test]
    fn slower_stage_than_forecast_takes_more_of_the_progress_share() {
        let start = Instant::now();
        let share_after = |seconds: f64| {
            let mut overall = JobProgress::default();
            overall.begin_stage(Forecast::new(1.0, 10.0));
            for step in 0..=100_u64 {
                overall.update(at(start, seconds * step as f64 / 100.0), items(step, 100), None);
            }
            overall.share().unwrap()
        };
        assert!(share_after(0.5) < 0.1);
        assert!(share_after(90.0) > 0.8, "{}", share_after(90.0));
    }

    #[test]
    fn time_left_covers_all_stages_and_changes_smoothly() {
        let start = Instant::now();
        let mut overall = JobProgress::default();
        overall.begin_stage(Forecast::new(20.0, 30.0));
        overall.update(start, items(0, 100), None);
        for second in 1..=4_u64 {
            overall.update(at(start, second as f64), items(10 * second, 100), None);
        }
        // 60 items at 10 per second, plus the later stages (30 seconds). The first forecast was 50 seconds.
        let left = overall.remaining().unwrap().as_secs_f64();
        assert!((36.0..39.0).contains(&left), "{left}");
        overall.begin_stage(Forecast::new(30.0, 0.0));
        overall.update(at(start, 4.1), items(0, 10), None);
        let after = overall.remaining().unwrap().as_secs_f64();
        assert!((after - left).abs() < 1.0, "{left}, then {after}");
        for second in 5..40_u64 {
            overall.update(at(start, second as f64), items(10, 10), None);
        }
        assert_eq!(overall.remaining(), None, "nothing is left that could be measured, and the job has not ended");
    }

    #[test]
    fn time_left_of_a_job_is_hidden_for_three_seconds() {
        let start = Instant::now();
        let mut overall = JobProgress::default();
        overall.begin_stage(Forecast::new(20.0, 30.0));
        overall.update(start, items(0, 100), None);
        overall.update(at(start, 2.9), items(10, 100), None);
        assert_eq!(overall.remaining(), None);
        overall.update(at(start, 3.1), items(10, 100), None);
        assert!(overall.remaining().is_some());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Enter(f64, f64),
        Read { millis: u64, done: u64, total: u64, bytes: (u64, u64), part: Option<f64> },
    }

    fn step() -> impl Strategy<Value = Step> {
        let number = || prop_oneof![0..20_u64, any::<u64>()];
        let seconds = || prop_oneof![Just(0.0), 0.0..1e6_f64];
        prop_oneof![
            (seconds(), seconds()).prop_map(|(stage, later)| Step::Enter(stage, later)),
            (0..5_000_u64, number(), number(), (number(), number()), proptest::option::of(0.0..=1.0_f64))
                .prop_map(|(millis, done, total, bytes, part)| Step::Read { millis, done, total, bytes, part }),
        ]
    }

    proptest! {
        #[test]
        fn progress_share_never_decreases_and_is_complete_only_at_the_end(steps in proptest::collection::vec(step(), 0..60)) {
            let mut now = Instant::now();
            let (mut overall, mut before) = (JobProgress::default(), None);
            for step in steps {
                match step {
                    Step::Enter(stage, later) => overall.begin_stage(Forecast::new(stage, later)),
                    Step::Read { millis, done, total, bytes, part } => {
                        now += Duration::from_millis(millis);
                        let reading = ProgressReading {
                            bytes_done: bytes.0,
                            bytes_total: bytes.1,
                            ..items(done, total)
                        };
                        overall.update(now, reading, part);
                    }
                }
                let share = overall.share();
                prop_assert!(share >= before, "{before:?}, then {share:?}");
                prop_assert!(share.is_none_or(|share| (0.0..1.0).contains(&share)), "{share:?}");
                prop_assert!(overall.remaining().is_none_or(|left| left.as_secs_f64() < 1e9));
                before = share;
            }
        }
    }
}
