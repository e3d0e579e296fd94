//! The status of a running job for front ends: state, phase, log lines, times.

use super::job_progress::{Forecast, JobProgress};
use super::{JobState, JobStatus, Phase};
use gristmill_core::{Mutex, ProblemLog, Progress};
use std::collections::VecDeque;
use std::sync::{Condvar, PoisonError};
use std::time::{Duration, Instant};

/// Limit of recorded log lines.
const LOG_LINES: usize = 500;

/// The writing side of the status, which the job updates.
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
    overall: JobProgress,
    /// Completed fraction of the phase, if it cannot be computed from items and bytes.
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
            overall: JobProgress::default(),
            part: None,
            log: VecDeque::new(),
            ended: None,
        };
        Self { started: Instant::now(), inner: Mutex::new(inner), ended: Condvar::new() }
    }

    /// Enters a phase whose items have this noun, in the singular. Restarts `progress`, unless it is `None` because the phase has already
    /// started.
    pub(super) fn begin_phase(
        &self,
        progress: Option<&Progress>,
        phase: Phase,
        item: &'static str,
        forecast: Forecast,
    ) {
        let mut inner = self.inner.lock();
        // The lock is held, so that a reading of the previous phase is not counted for this one.
        if let Some(progress) = progress {
            progress.restart(0, 0);
        }
        inner.overall.begin_stage(forecast);
        (inner.phase, inner.item, inner.part) = (phase, item, None);
    }

    /// Renames the current phase and its items. The progress continues.
    pub(super) fn rename(&self, phase: Phase, item: &'static str) {
        let mut inner = self.inner.lock();
        (inner.phase, inner.item) = (phase, item);
    }

    /// Sets the completed fraction of the phase and its items to those of another job that does its work.
    pub(super) fn show(&self, part: Option<f64>, item: &'static str) {
        let mut inner = self.inner.lock();
        (inner.part, inner.item) = (part, item);
    }

    /// Adds a log line with the time since the start.
    pub(super) fn log(&self, line: impl Into<String>) {
        let line = format!("{}  {}", gristmill_core::text::duration(self.started.elapsed()), line.into());
        tracing::info!("{line}");
        let mut inner = self.inner.lock();
        if inner.log.len() == LOG_LINES {
            inner.log.pop_front();
        }
        inner.log.push_back(line);
    }

    /// Ends the job. Only the first call has an effect.
    pub(super) fn end(&self, state: JobState) {
        let elapsed = self.started.elapsed();
        let mut inner = self.inner.lock();
        if inner.ended.is_none() {
            inner.state = state;
            inner.ended = Some(elapsed);
        }
        self.ended.notify_all();
    }

    /// Waits for the end of the job, at most for this time. Returns whether the job has ended.
    pub(super) fn ends_within(&self, most: Duration) -> bool {
        let waited = self.ended.wait_timeout_while(self.inner.lock(), most, |inner| inner.ended.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.ended.is_some()
    }

    /// Returns the time since the start, or the duration of a job that has ended.
    pub(super) fn elapsed(&self) -> Duration {
        self.inner.lock().ended.unwrap_or_else(|| self.started.elapsed())
    }

    /// Returns a snapshot of the status.
    pub(super) fn read(&self, progress: &Progress, problems: &ProblemLog) -> JobStatus {
        let elapsed = self.elapsed();
        let mut inner = self.inner.lock();
        let reading = progress.read();
        let running = inner.state == JobState::Running;
        if running {
            let part = inner.part;
            inner.overall.update(Instant::now(), reading, part);
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
            problems: problems.to_vec(),
            counts: problems.counts(),
            unlisted: problems.unlisted(),
            log: inner.log.iter().cloned().collect(),
            outputs: Default::default(),
        }
    }
}
