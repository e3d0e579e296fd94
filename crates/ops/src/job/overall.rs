//! How far a job is over everything it does, and how long the rest takes.
//!
//! A job goes through stages, and as each begins it says how long that and all after it are thought to take ([`Forecast`]). What is
//! left of the share is divided between them in proportion, anew with every reading: how fast the stage goes takes the place of what
//! was thought of it. So the share never goes back however wrong a forecast was, and is 1 only at the end of the job.

use super::rate::Rate;
use gristmill_core::handles::ProgressReading;
use std::time::{Duration, Instant};

/// The most of a job that is done before it has ended.
const MAX_SHARE: f64 = 0.999;
/// No time left is shown before this much was seen.
const HIDDEN: Duration = Duration::from_secs(3);
/// How fast a stage goes is not known before this much of it was seen.
const MEASURED: Duration = Duration::from_secs(1);
/// A change of the time left is shown to two thirds after this much, in seconds.
const SMOOTHED: f64 = 2.0;
/// Less than this is no time left that anybody could read, in seconds.
const LEAST_LEFT: f64 = 0.5;

/// What a stage of a job and all stages after it are thought to take, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Forecast {
    /// The stage that begins.
    pub(super) stage: f64,
    /// Everything after it.
    pub(super) later: f64,
}

impl Forecast {
    /// A stage with others after it.
    pub(super) fn new(stage: f64, later: f64) -> Self {
        Self { stage, later }
    }

    /// Making this many files visible, with nothing but tidying up after it.
    pub(super) fn publishing(files: u64) -> Self {
        let stage = files as f64 * cost::FILE_PUBLISHED;
        Self { stage, later: cost::publishing(files) - stage }
    }
}

/// What pieces of work are thought to take, in seconds: on an ordinary disk, with two threads. They only have to say which stage is a
/// long one; how long is measured while it runs.
pub(super) mod cost {
    /// Opening a file, and noting that it was read.
    pub(in super::super) const FILE_READ: f64 = 1.5e-3;
    /// A byte that is read and looked at.
    pub(in super::super) const BYTE_READ: f64 = 2e-9;
    /// A byte that is copied.
    pub(in super::super) const BYTE_COPIED: f64 = 4e-9;
    /// A row of a table, its key sorted.
    pub(in super::super) const ROW: f64 = 6e-6;
    /// A file that is made durable and put in its place.
    pub(in super::super) const FILE_PUBLISHED: f64 = 4e-3;
    /// A byte of text that becomes tokens.
    pub(in super::super) const BYTE_PACKED: f64 = 1e-7;
    /// The header of a picture, a sound or a video.
    pub(in super::super) const MEDIUM: f64 = 1e-4;

    /// Reading files and bytes.
    pub(in super::super) fn reading(files: u64, bytes: u64) -> f64 {
        files as f64 * FILE_READ + bytes as f64 * BYTE_READ
    }

    /// Copying bytes.
    pub(in super::super) fn copying(bytes: u64) -> f64 {
        bytes as f64 * BYTE_COPIED
    }

    /// Writing rows.
    pub(in super::super) fn rows(rows: u64) -> f64 {
        rows as f64 * ROW
    }

    /// Making files visible, cleaning up included.
    pub(in super::super) fn publishing(files: u64) -> f64 {
        files as f64 * FILE_PUBLISHED * 1.03 + 0.02
    }
}

/// How far a job is.
#[derive(Debug, Default)]
pub(super) struct Overall {
    forecast: Forecast,
    rate: Rate,
    /// Of the whole job; unknown until anything of it is.
    share: Option<f64>,
    /// Of the stage.
    done: f64,
    /// Seconds that the whole stage takes at the speed that was measured last.
    pace: Option<f64>,
    began: Option<Instant>,
    stage_began: Option<Instant>,
    left: Option<(Instant, f64)>,
}

impl Overall {
    /// Begins a stage; the one before is done.
    pub(super) fn enter(&mut self, forecast: Forecast) {
        if self.share.is_some() {
            self.advance(1.0);
        }
        *self =
            Self { forecast, rate: Rate::default(), done: 0.0, pace: None, stage_began: None, ..std::mem::take(self) };
    }

    /// Takes a reading of the stage. `part` is the fraction that is done, if it cannot be computed from items and bytes.
    pub(super) fn observe(&mut self, now: Instant, reading: ProgressReading, part: Option<f64>) {
        self.rate.observe(now, reading);
        let Some(done) = part.or_else(|| reading.fraction()) else { return };
        self.share.get_or_insert(0.0);
        let stage_began = *self.stage_began.get_or_insert(now);
        self.began.get_or_insert(now);
        if now.duration_since(stage_began) >= MEASURED {
            let pace = self.rate.seconds_left(reading).map(|left| left / (1.0 - done));
            self.pace = pace.filter(|pace| pace.is_finite()).or(self.pace);
        }
        // Some stages begin to count anew, or find more to do.
        self.done = self.done.min(done);
        self.advance(done);
        self.smooth(now);
    }

    /// Goes on to this much of the stage.
    fn advance(&mut self, done: f64) {
        let step = self.stage_left() * (done - self.done) / (1.0 - self.done);
        let all = self.stage_left() + self.forecast.later;
        let share = self.share.get_or_insert(0.0);
        if step > 0.0 && all > 0.0 {
            *share = (*share + (1.0 - *share) * (step / all).min(1.0)).min(MAX_SHARE);
        }
        self.done = done.max(self.done);
    }

    /// Seconds left of the stage.
    fn stage_left(&self) -> f64 {
        self.pace.unwrap_or(self.forecast.stage) * (1.0 - self.done)
    }

    fn smooth(&mut self, now: Instant) {
        let new = self.stage_left() + self.forecast.later;
        let smoothed = match self.left {
            Some((then, left)) => {
                let passed = now.duration_since(then).as_secs_f64();
                let expected = (left - passed).max(0.0);
                expected + (new - expected) * (1.0 - (-passed / SMOOTHED).exp())
            }
            None => new,
        };
        self.left = Some((now, smoothed));
    }

    /// How much of the job is done, below 1; unknown while nothing of it is known.
    pub(super) fn share(&self) -> Option<f64> {
        self.share
    }

    /// Time left of the whole job; `None` in the first seconds, and while it is not known.
    pub(super) fn remaining(&self) -> Option<Duration> {
        let (now, left) = self.left?;
        let is_shown = now.duration_since(self.began?) >= HIDDEN && (LEAST_LEFT..1e9).contains(&left);
        is_shown.then(|| Duration::from_secs_f64(left))
    }

    /// Bytes and tokens per second of the stage.
    pub(super) fn rates(&self) -> (f64, f64) {
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
    fn what_comes_later_has_its_part_of_the_share() {
        let start = Instant::now();
        let mut overall = Overall::default();
        assert_eq!(overall.share(), None);
        overall.enter(Forecast::new(3.0, 1.0));
        overall.observe(start, items(0, 100), None);
        assert_eq!(overall.share(), Some(0.0));
        overall.observe(at(start, 0.1), items(100, 100), None);
        let read = overall.share().unwrap();
        assert!((read - 0.75).abs() < 1e-9, "{read}");
        overall.enter(Forecast::new(0.9, 0.1));
        overall.observe(at(start, 0.2), items(50, 100), None);
        let half = overall.share().unwrap();
        assert!((half - (0.75 + 0.25 * 0.45)).abs() < 1e-9, "{half}");
    }

    #[test]
    fn a_stage_that_goes_slower_than_thought_takes_more_of_the_share() {
        let start = Instant::now();
        let share_after = |seconds: f64| {
            let mut overall = Overall::default();
            overall.enter(Forecast::new(1.0, 10.0));
            for step in 0..=100_u64 {
                overall.observe(at(start, seconds * step as f64 / 100.0), items(step, 100), None);
            }
            overall.share().unwrap()
        };
        assert!(share_after(0.5) < 0.1);
        assert!(share_after(90.0) > 0.8, "{}", share_after(90.0));
    }

    #[test]
    fn the_time_left_is_that_of_all_stages_and_moves_smoothly() {
        let start = Instant::now();
        let mut overall = Overall::default();
        overall.enter(Forecast::new(20.0, 30.0));
        overall.observe(start, items(0, 100), None);
        for second in 1..=4_u64 {
            overall.observe(at(start, second as f64), items(10 * second, 100), None);
        }
        // 60 items at 10 a second, and what comes later; it was thought to be 50 seconds.
        let left = overall.remaining().unwrap().as_secs_f64();
        assert!((36.0..39.0).contains(&left), "{left}");
        overall.enter(Forecast::new(30.0, 0.0));
        overall.observe(at(start, 4.1), items(0, 10), None);
        let after = overall.remaining().unwrap().as_secs_f64();
        assert!((after - left).abs() < 1.0, "{left}, then {after}");
        for second in 5..40_u64 {
            overall.observe(at(start, second as f64), items(10, 10), None);
        }
        assert_eq!(overall.remaining(), None, "nothing is left that could be measured, and the job has not ended");
    }

    #[test]
    fn the_time_left_is_hidden_at_first() {
        let start = Instant::now();
        let mut overall = Overall::default();
        overall.enter(Forecast::new(20.0, 30.0));
        overall.observe(start, items(0, 100), None);
        overall.observe(at(start, 2.9), items(10, 100), None);
        assert_eq!(overall.remaining(), None);
        overall.observe(at(start, 3.1), items(10, 100), None);
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
        fn the_share_never_goes_back_and_is_whole_only_at_the_end(steps in proptest::collection::vec(step(), 0..60)) {
            let mut now = Instant::now();
            let (mut overall, mut before) = (Overall::default(), None);
            for step in steps {
                match step {
                    Step::Enter(stage, later) => overall.enter(Forecast::new(stage, later)),
                    Step::Read { millis, done, total, bytes, part } => {
                        now += Duration::from_millis(millis);
                        let reading = ProgressReading {
                            bytes_done: bytes.0,
                            bytes_total: bytes.1,
                            ..items(done, total)
                        };
                        overall.observe(now, reading, part);
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
