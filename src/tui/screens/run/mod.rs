//! A job that a screen starts and follows: its state, result, problems and log.
//!
//! [`RunState`] is pure; [`RunScreen`] shows it.

pub mod job_requests;
mod outputs;
mod screen;
pub mod summary;
pub mod view;

pub use screen::{JobOutput, JobRequest, Overview, RunScreen};

use crate::tui::jobs::JobResult;
use crate::tui::keymap::{Action, Context};
use crate::tui::screens::problems::ProblemTable;
use crate::tui::widgets::ListState;
use gristmill_core::{Problem, ProblemKind, Severity};
use gristmill_ops::job::{JobState, JobStatus};

/// A tab, shown below the bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    /// The progress of each piece; the summary once the run is done.
    #[default]
    Overview,
    /// Problems and notes.
    Problems,
    /// The log, with one line per state change.
    Log,
}

/// A request to the screen, caused by an action of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunRequest {
    /// Stop the run.
    Cancel,
    /// Leave the screen while the run continues.
    Background,
    /// Leave the screen after the run has ended.
    Leave,
    /// Start the run again.
    Retry,
    /// Copy the text that the ended run offers.
    Copy,
    /// View the output.
    Browse,
    /// Edit the splits of the output.
    Splits,
    /// Run an action of the list of problems.
    Problems(Action),
    /// Show a notice that a key press meant to stop the run arrived after its end.
    TooLate,
}

/// The state of a run and of its display.
#[derive(Clone, Default)]
pub struct RunState {
    /// Whether a run was started.
    pub started: bool,
    /// The latest status.
    pub status: Option<JobStatus>,
    /// The result; `None` while the run is active.
    pub result: Option<JobResult>,
    /// The displayed tab.
    pub tab: Tab,
    /// The tab to return to when the log is closed.
    before_log: Tab,
    /// The problems; with a cursor once the run has ended.
    pub problems: ProblemTable,
    /// Cursor and scroll position of the rows below the bar.
    pub list: ListState,
    /// Whether the log stays scrolled to its end when lines are added.
    pub scrolls_to_end: bool,
    /// Whether the question about stopping is open.
    pub confirms_cancel: bool,
    /// Whether stopping was requested and the run has not ended yet.
    pub is_stopping: bool,
    /// Whether the run ended while the user was stopping it: the next press of the same key is then not an action on the problems.
    ended_meanwhile: bool,
}

impl RunState {
    /// Resets the state for a new run.
    pub fn begin(&mut self) {
        *self = Self { started: true, ..Self::default() };
    }

    /// Whether a run is active.
    pub fn is_running(&self) -> bool {
        self.started && self.result.is_none()
    }

    /// Whether the run succeeded.
    pub fn is_done(&self) -> bool {
        self.result.as_ref().is_some_and(JobResult::is_ok)
    }

    /// Whether the run failed or was stopped.
    pub fn has_failed(&self) -> bool {
        self.result.as_ref().is_some_and(|r| !r.is_ok())
    }

    /// Updates the status and the result.
    pub fn update(&mut self, status: JobStatus, result: Option<JobResult>) {
        let ends_now = self.result.is_none() && result.is_some();
        if ends_now {
            self.ended_meanwhile = self.confirms_cancel || self.is_stopping;
        }
        if status.state != JobState::Running {
            self.confirms_cancel = false;
        }
        self.status = Some(status);
        if result.is_some() {
            self.is_stopping = false;
            self.result = result;
        }
        if ends_now || self.result.is_none() {
            let mut table = std::mem::take(&mut self.problems);
            let (problems, counts) = self.findings();
            let unlisted = self.status.as_ref().map(|status| status.unlisted.clone()).unwrap_or_default();
            table.report(problems, counts, &unlisted, ends_now);
            self.problems = table;
        }
    }

    /// Returns the first problems of each severity, and the total counts.
    fn findings(&self) -> (&[Problem], &[(Severity, ProblemKind, u64)]) {
        match (self.result.as_ref().map(JobResult::report), &self.status) {
            (Some(Ok(report)), _) => report.findings(),
            (_, Some(status)) => (&status.problems, &status.counts),
            (_, None) => (&[], &[]),
        }
    }

    /// Returns the key context.
    pub fn context(&self) -> Context {
        if self.has_cursor() {
            Context::RunProblems
        } else {
            Context::Run
        }
    }

    /// Whether the list of problems has a cursor. It has none during the run, because its keys then stop the run.
    pub fn has_cursor(&self) -> bool {
        self.tab == Tab::Problems && self.result.is_some() && !self.problems.is_empty()
    }

    fn show(&mut self, tab: Tab) {
        if tab == Tab::Log && self.tab != Tab::Log {
            self.before_log = self.tab;
        }
        self.tab = tab;
        self.list.select(0);
        self.scrolls_to_end = tab == Tab::Log;
    }

    fn step_tab(&mut self, forward: bool) {
        self.show(match (self.tab, forward) {
            (Tab::Overview, true) | (Tab::Log, false) => Tab::Problems,
            (Tab::Problems, true) | (Tab::Overview, false) => Tab::Log,
            (Tab::Log, true) | (Tab::Problems, false) => Tab::Overview,
        });
    }

    /// Handles the stop key: the first press opens the question, the second one requests the stop.
    fn cancel(&mut self) -> Option<RunRequest> {
        if !self.is_running() || self.is_stopping {
            return None;
        }
        if !std::mem::replace(&mut self.confirms_cancel, true) {
            return None;
        }
        self.confirms_cancel = false;
        self.is_stopping = true;
        Some(RunRequest::Cancel)
    }

    /// Runs an action; returns a request for the screen, if any.
    pub fn handle_action(&mut self, action: Action) -> Option<RunRequest> {
        if action != Action::CancelJob && std::mem::take(&mut self.confirms_cancel) {
            return None;
        }
        let is_late = std::mem::take(&mut self.ended_meanwhile);
        match action {
            Action::ExcludeProblem if is_late => return Some(RunRequest::TooLate),
            Action::CancelJob => return self.cancel(),
            action if ProblemTable::takes(action) => {
                return self.has_cursor().then_some(RunRequest::Problems(action));
            }
            Action::Background if self.is_running() => return Some(RunRequest::Background),
            Action::Background => return Some(RunRequest::Leave),
            Action::Retry if self.has_failed() => return Some(RunRequest::Retry),
            Action::Copy => return Some(RunRequest::Copy),
            Action::Browse if self.is_done() => return Some(RunRequest::Browse),
            Action::Splits if self.is_done() => return Some(RunRequest::Splits),
            Action::ShowProblems => self.show(Tab::Problems),
            Action::ShowLog if self.tab == Tab::Log => self.show(self.before_log),
            Action::ShowLog => self.show(Tab::Log),
            Action::NextPane | Action::PreviousPane => self.step_tab(action == Action::NextPane),
            moving if self.tab == Tab::Problems => {
                self.problems.list.handle_action(moving);
            }
            moving => {
                self.list.handle_action(moving);
                self.scrolls_to_end = self.tab == Tab::Log && self.list.selected + 1 >= self.list.len;
            }
        }
        None
    }

    /// Returns the label of the log key in the bottom bar.
    pub fn log_label(&self) -> &'static str {
        match self.tab {
            Tab::Log => "close log",
            _ => Action::ShowLog.label(),
        }
    }

    /// Returns why an action on a run is not available now.
    pub fn why_disabled(&self, action: Action) -> Option<String> {
        match action {
            Action::Background if !self.is_running() => Some("nothing runs".into()),
            Action::Browse if !self.is_done() => Some("there is nothing to look at yet".into()),
            Action::Splits if !self.is_done() => Some("there are no splits yet".into()),
            Action::Retry if !self.has_failed() => Some("the run did not fail".into()),
            Action::CancelJob if !self.is_running() => Some("nothing runs".into()),
            // Enabled so that `handle_action` can return [`RunRequest::TooLate`].
            Action::ExcludeProblem if self.ended_meanwhile => None,
            Action::ShowProblems if self.tab == Tab::Problems => Some("they are shown already".into()),
            action if ProblemTable::takes(action) && !self.has_cursor() => Some("no problem is selected".into()),
            action => self.problems.disabled_reason(action),
        }
    }
}
