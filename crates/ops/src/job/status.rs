//! What a front end reads of a running job: state, phase, log lines, times.

use super::overall::{Forecast, Overall};
use super::{JobState, JobStatus, Phase};
use gristmill_core::{ProblemLog, Progress};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Log lines kept.
const LOG_LINES: usize = 500;

/// The job's side of its status.
#[derive(Debug)]
pub(super) struct StatusBoard {
    started: Instant,
    inner: Mutex<Inner>,
    ended: Condvar,
}

#[derive(Debug)]
struct Inner {
    state: JobState,
    phase: Phase,
    item: &'static str,
    overall: Overall,
    /// The fraction of the phase that is done, if it cannot be computed from items and bytes.
    part: Option<f64>,
    log: VecDeque<String>,
    ended: Option<Duration>,
}

impl StatusBoard {
    pub(super) fn new() -> Self {
        let inner = Inner {
            state: JobState::Running,
            phase: Phase::Open,
            item: Phase::Open.item(),
            overall: Overall::default(),
            part: None,
            log: VecDeque::new(),
            ended: None,
        };
        Self { started: Instant::now(), inner: Mutex::new(inner), ended: Condvar::new() }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a phase with items of this name, in the singular. What its progress counts begins anew, unless `progress` is `None`:
    /// then it has begun already.
    pub(super) fn enter(&self, progress: Option<&Progress>, phase: Phase, item: &'static str, forecast: Forecast) {
        let mut inner = self.inner();
        // Under the lock: a reading of the phase before must not count as one of this.
        if let Some(progress) = progress {
            progress.restart(0, 0);
        }
        inner.overall.enter(forecast);
        (inner.phase, inner.item, inner.part) = (phase, item, None);
    }

    /// Gives what is being done another name; it goes on.
    pub(super) fn rename(&self, phase: Phase, item: &'static str) {
        let mut inner = self.inner();
        (inner.phase, inner.item) = (phase, item);
    }

    /// Sets the fraction of the phase that is done, if it cannot be computed from items and bytes.
    pub(super) fn done_in_part(&self, part: Option<f64>) {
        self.inner().part = part;
    }

    /// Adds a line with the time since the start.
    pub(super) fn log(&self, line: impl Into<String>) {
        let line = format!("{}  {}", gristmill_core::text::duration(self.started.elapsed()), line.into());
        tracing::info!("{line}");
        let mut inner = self.inner();
        if inner.log.len() == LOG_LINES {
            inner.log.pop_front();
        }
        inner.log.push_back(line);
    }

    /// Ends the job; the first end counts.
    pub(super) fn end(&self, state: JobState) {
        let elapsed = self.started.elapsed();
        let mut inner = self.inner();
        if inner.ended.is_none() {
            inner.state = state;
            inner.ended = Some(elapsed);
        }
        self.ended.notify_all();
    }

    /// Waits for the end, so long at most; whether it was reached.
    pub(super) fn ends_within(&self, most: Duration) -> bool {
        let waited = self.ended.wait_timeout_while(self.inner(), most, |inner| inner.ended.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.ended.is_some()
    }

    /// Time since the start, or that the job took.
    pub(super) fn elapsed(&self) -> Duration {
        self.inner().ended.unwrap_or_else(|| self.started.elapsed())
    }

    /// One reading.
    pub(super) fn read(&self, progress: &Progress, problems: &ProblemLog) -> JobStatus {
        let elapsed = self.elapsed();
        let mut inner = self.inner();
        let reading = progress.read();
        let running = inner.state == JobState::Running;
        if running {
            let part = inner.part;
            inner.overall.observe(Instant::now(), reading, part);
        }
        let (bytes_per_second, tokens_per_second) = if running { inner.overall.rates() } else { (0.0, 0.0) };
        JobStatus {
            state: inner.state,
            phase: inner.phase,
            progress: reading,
            item: inner.item,
            elapsed,
            share: if inner.state == JobState::Done { Some(1.0) } else { inner.overall.share() },
            remaining: inner.overall.remaining().filter(|_| running),
            bytes_per_second,
            tokens_per_second,
            problems: problems.kept(),
            counts: problems.counts(),
            unlisted: problems.unlisted(),
            log: inner.log.iter().cloned().collect(),
            outputs: Default::default(),
        }
    }
}
