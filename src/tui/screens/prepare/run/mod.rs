//! Step Run: how the run stands, and what came of it.

pub(super) mod view;

use super::step::{Answers, Ask, StepState};
use crate::job::prepare::PrepareReport;
use crate::job::{JobState, JobStatus};
use crate::model::{Outcome, PreparePlan};
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::ListState;
use std::sync::Arc;

/// What is shown below the bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// Shard by shard; the summary once it is done.
    #[default]
    Overview,
    /// Problems and notes.
    Problems,
    /// One line per state change.
    Log,
}

/// State of the step.
#[derive(Clone, Debug, Default)]
pub struct RunStep {
    /// A run was started.
    pub started: bool,
    /// The newest reading.
    pub status: Option<JobStatus>,
    /// What came of it.
    pub result: Option<Arc<Outcome<PrepareReport>>>,
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

impl RunStep {
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
        self.result.as_ref().is_some_and(|r| r.is_ok())
    }

    /// Whether it ended badly, or was stopped.
    pub fn has_failed(&self) -> bool {
        self.result.as_ref().is_some_and(|r| r.is_err())
    }

    /// Takes a new reading.
    pub fn observe(&mut self, status: JobStatus, result: Option<Arc<Outcome<PrepareReport>>>) {
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
    fn cancel(&mut self) -> Vec<Ask> {
        if !self.is_running() || self.is_stopping {
            return Vec::new();
        }
        if !std::mem::replace(&mut self.asks_cancel, true) {
            return Vec::new();
        }
        self.asks_cancel = false;
        self.is_stopping = true;
        vec![Ask::Cancel]
    }
}

impl StepState for RunStep {
    fn stops(&self, _: &Answers) -> usize {
        1
    }

    fn focus(&self) -> usize {
        0
    }

    fn set_focus(&mut self, _: usize) {}

    fn context(&self, _: &Answers) -> Context {
        Context::Run
    }

    fn act(&mut self, action: Action, answers: &Answers) -> Vec<Ask> {
        if action != Action::CancelJob && std::mem::take(&mut self.asks_cancel) {
            return Vec::new();
        }
        match action {
            Action::CancelJob => return self.cancel(),
            Action::Background if self.is_running() => return vec![Ask::Background],
            Action::Background => return vec![Ask::Leave],
            Action::Retry if self.has_failed() => return vec![Ask::Start],
            Action::Copy => return vec![Ask::Copy(view::loader_snippet(answers))],
            Action::ShowLog => self.next_tab(),
            moving => {
                self.list.act(moving);
                self.follows = self.tab == Tab::Log && self.list.selected + 1 >= self.list.len;
            }
        }
        Vec::new()
    }

    fn refresh(&mut self, _: &Answers) {}

    fn write(&self, _: &Answers, _: &mut PreparePlan) {}

    fn adopt(&mut self, _: &PreparePlan, _: &Answers) {}

    fn flags(&self, _: &Answers) -> String {
        String::new()
    }

    fn blocker(&self, _: &Answers) -> Option<String> {
        None
    }

    fn has_inner(&self) -> bool {
        self.asks_cancel
    }
}

#[cfg(test)]
pub(super) mod tests;
