//! What a front end reads of a running job: state, phase, log lines, times.

use super::{JobState, JobStatus, Phase};
use crate::model::handles::ProgressReading;
use crate::model::ProblemLog;
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
    log: VecDeque<String>,
    ended: Option<Duration>,
}

impl StatusBoard {
    pub(super) fn new() -> Self {
        let inner = Inner {
            state: JobState::Running,
            phase: Phase::Open,
            item: Phase::Open.item(),
            log: VecDeque::new(),
            ended: None,
        };
        Self { started: Instant::now(), inner: Mutex::new(inner), ended: Condvar::new() }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a phase and says so in the log.
    pub(super) fn phase(&self, phase: Phase, line: impl Into<String>) {
        self.counting(phase, phase.item());
        self.log(line);
    }

    /// Enters a phase whose items are called `item`, in the singular.
    pub(super) fn counting(&self, phase: Phase, item: &'static str) {
        let mut inner = self.inner();
        inner.phase = phase;
        inner.item = item;
    }

    /// Adds a line with the time since the start.
    pub(super) fn log(&self, line: impl Into<String>) {
        let line = format!("{}  {}", crate::model::text::duration(self.started.elapsed()), line.into());
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
    pub(super) fn read(
        &self,
        progress: ProgressReading,
        (bytes_per_second, tokens_per_second, remaining): (f64, f64, Option<Duration>),
        problems: &ProblemLog,
    ) -> JobStatus {
        let elapsed = self.elapsed();
        let inner = self.inner();
        let running = inner.state == JobState::Running;
        JobStatus {
            state: inner.state,
            phase: inner.phase,
            progress,
            item: inner.item,
            elapsed,
            remaining: remaining.filter(|_| running),
            bytes_per_second: if running { bytes_per_second } else { 0.0 },
            tokens_per_second: if running { tokens_per_second } else { 0.0 },
            problems: problems.kept(),
            counts: problems.counts(),
            log: inner.log.iter().cloned().collect(),
        }
    }
}
