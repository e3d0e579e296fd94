//! A job that a screen started and follows: how it stands, what came of it, its problems and its log.
//!
//! [`RunState`] is pure and shared by the run step of the guided prepare and by [`RunScreen`], which shows every other job.

pub mod orders;
mod screen;
pub mod summary;
pub mod view;

pub use screen::{Made, Order, RunScreen};

use crate::job::{JobState, JobStatus};
use crate::tui::jobs::JobResult;
use crate::tui::keymap::Action;
use crate::tui::widgets::ListState;

/// What is shown below the bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Piece by piece; the summary once it is done.
    #[default]
    Overview,
    /// Problems and notes.
    Problems,
    /// One line per state change.
    Log,
}

/// What a person asks of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunAsk {
    /// Ask it to stop.
    Cancel,
    /// Leave it to itself.
    Background,
    /// Leave what has ended.
    Leave,
    /// Start the same again.
    Retry,
    /// Copy what the end offers.
    Copy,
    /// Look at what was made.
    Browse,
    /// Edit the splits of what was made.
    Splits,
}

/// How a run stands, and what of it is on the screen.
#[derive(Clone, Debug, Default)]
pub struct RunState {
    /// A run was started.
    pub started: bool,
    /// The newest reading.
    pub status: Option<JobStatus>,
    /// What came of it.
    pub result: Option<JobResult>,
    /// What is shown below the bar.
    pub tab: Tab,
    /// Rows in view below the bar.
    pub list: ListState,
    /// The log stays at its end when lines are added.
    pub follows: bool,
    /// Whether stopping was asked for once.
    pub asks_cancel: bool,
    /// A stop was asked for; it takes a moment.
    pub is_stopping: bool,
}

impl RunState {
    /// Begins to follow a new run.
    pub fn begin(&mut self) {
        *self = Self { started: true, ..Self::default() };
    }

    /// Whether a run is under way.
    pub fn is_running(&self) -> bool {
        self.started && self.result.is_none()
    }

    /// Whether it ended well.
    pub fn is_done(&self) -> bool {
        self.result.as_ref().is_some_and(JobResult::is_ok)
    }

    /// Whether it ended badly, or was stopped.
    pub fn has_failed(&self) -> bool {
        self.result.as_ref().is_some_and(|r| !r.is_ok())
    }

    /// Takes a new reading.
    pub fn observe(&mut self, status: JobStatus, result: Option<JobResult>) {
        if status.state != JobState::Running {
            self.asks_cancel = false;
        }
        self.status = Some(status);
        if result.is_some() {
            self.is_stopping = false;
            self.result = result;
        }
    }

    fn next_tab(&mut self) {
        self.tab = match self.tab {
            Tab::Overview => Tab::Problems,
            Tab::Problems => Tab::Log,
            Tab::Log => Tab::Overview,
        };
        self.list.select(0);
        self.follows = self.tab == Tab::Log;
    }

    /// The person asked to stop: the first time it is only a question.
    fn cancel(&mut self) -> Option<RunAsk> {
        if !self.is_running() || self.is_stopping {
            return None;
        }
        if !std::mem::replace(&mut self.asks_cancel, true) {
            return None;
        }
        self.asks_cancel = false;
        self.is_stopping = true;
        Some(RunAsk::Cancel)
    }

    /// Does what a key means; what goes beyond the screen is asked for.
    pub fn follow(&mut self, action: Action) -> Option<RunAsk> {
        if action != Action::CancelJob && std::mem::take(&mut self.asks_cancel) {
            return None;
        }
        match action {
            Action::CancelJob => return self.cancel(),
            Action::Background if self.is_running() => return Some(RunAsk::Background),
            Action::Background => return Some(RunAsk::Leave),
            Action::Retry if self.has_failed() => return Some(RunAsk::Retry),
            Action::Copy => return Some(RunAsk::Copy),
            Action::Browse if self.is_done() => return Some(RunAsk::Browse),
            Action::Splits if self.is_done() => return Some(RunAsk::Splits),
            Action::ShowLog => self.next_tab(),
            moving => {
                self.list.act(moving);
                self.follows = self.tab == Tab::Log && self.list.selected + 1 >= self.list.len;
            }
        }
        None
    }

    /// Why an action on a run cannot be done now.
    pub fn why_disabled(&self, action: Action) -> Option<String> {
        match action {
            Action::Background if !self.is_running() => Some("nothing runs".into()),
            Action::Browse if !self.is_done() => Some("there is nothing to look at yet".into()),
            Action::Splits if !self.is_done() => Some("there are no splits yet".into()),
            Action::Retry if !self.has_failed() => Some("the run did not fail".into()),
            Action::CancelJob if !self.is_running() => Some("nothing runs".into()),
            _ => None,
        }
    }
}
