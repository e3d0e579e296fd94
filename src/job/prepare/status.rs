//! What a front end reads of a running job: state, phase, log lines, times.

use super::super::scan::Shared;
use super::super::{JobState, JobStatus, Phase};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Log lines kept.
const LOG_LINES: usize = 500;

/// The job's side of its status.
#[derive(Debug)]
pub(super) struct StatusBoard {
    started: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: JobState,
    phase: Phase,
    log: VecDeque<String>,
    ended: Option<Duration>,
}

impl StatusBoard {
    pub(super) fn new() -> Self {
        let inner = Inner { state: JobState::Running, phase: Phase::Open, log: VecDeque::new(), ended: None };
        Self { started: Instant::now(), inner: Mutex::new(inner) }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a phase and says so in the log.
    pub(super) fn phase(&self, phase: Phase, line: impl Into<String>) {
        self.inner().phase = phase;
        self.log(line);
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
    }

    /// Time since the start, or that the job took.
    pub(super) fn elapsed(&self) -> Duration {
        self.inner().ended.unwrap_or_else(|| self.started.elapsed())
    }

    /// One reading.
    pub(super) fn read(&self, shared: &Shared) -> JobStatus {
        let (bytes_per_second, remaining) = shared.rate();
        let elapsed = self.elapsed();
        let inner = self.inner();
        let running = inner.state == JobState::Running;
        JobStatus {
            state: inner.state,
            phase: inner.phase,
            progress: shared.progress.read(),
            elapsed,
            remaining: remaining.filter(|_| running),
            bytes_per_second: if running { bytes_per_second } else { 0.0 },
            problems: shared.problems.kept(),
            counts: shared.problems.counts(),
            log: inner.log.iter().cloned().collect(),
        }
    }
}
