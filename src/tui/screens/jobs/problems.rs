//! The problems of the selected job: a list with a cursor once the job has ended.

use super::JobsPanel;
use crate::tui::jobs::{JobId, JobView};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::problems::{ProblemEditor, ProblemTable};
use crate::tui::widgets::{draw_panel, padded, Level, Toast};
use gristmill_ops::job::JobState;
use ratatui::layout::Rect;
use ratatui::Frame;

/// The list of problems of one job.
#[derive(Default)]
pub struct JobProblems {
    /// The list of problems.
    pub table: ProblemTable,
    /// The job, and whether it had ended when its problems were listed.
    of: Option<(JobId, bool)>,
    /// Whether the list has the focus.
    is_entered: bool,
    problem_editor: Option<ProblemEditor>,
}

fn has_ended(view: &JobView) -> bool {
    !matches!(view.status.state, JobState::Pending | JobState::Running)
}

impl JobProblems {
    /// Lists the problems of a job.
    fn show(&mut self, view: &JobView) {
        let of = Some((view.id, has_ended(view)));
        let is_same_job = self.of.is_some_and(|(id, _)| id == view.id);
        if !is_same_job {
            *self = Self::default();
        }
        let status = &view.status;
        self.table.report(&status.problems, &status.counts, &status.unlisted, self.of != of);
        self.of = of;
    }

    /// Moves the focus to the list, if the job has ended.
    fn focus_list(&mut self, view: &JobView, env: &UiEnv) {
        if !has_ended(view) || self.table.is_empty() {
            return;
        }
        self.is_entered = true;
        if self.problem_editor.is_none() {
            self.problem_editor = Some(ProblemEditor::new(view.root.clone(), &mut self.table, env));
        }
    }

    /// Moves the focus back to the list of jobs. Returns whether the list of problems had it.
    pub fn focus_jobs(&mut self) -> bool {
        std::mem::take(&mut self.is_entered)
    }

    /// Whether the list has the focus.
    pub fn has_cursor(&self) -> bool {
        self.is_entered
    }

    /// Applies the results of looking up the problems. Returns whether the screen must be redrawn.
    pub fn update(&mut self, effects: &mut Vec<Effect>) -> bool {
        self.problem_editor.as_mut().is_some_and(|problem_editor| problem_editor.update(&mut self.table, effects))
    }

    /// Runs an action of the list.
    pub fn handle_action(&mut self, action: Action) -> Vec<Effect> {
        match self.problem_editor.as_mut().filter(|_| self.is_entered) {
            Some(problem_editor) => problem_editor.handle_action(action, &mut self.table),
            None => Vec::new(),
        }
    }

    /// Returns why an action of the list is not available now.
    pub fn disabled_reason(&self, action: Action) -> Option<String> {
        match ProblemTable::takes(action) && !self.is_entered {
            true => Some("no problem is selected".to_owned()),
            false => self.table.disabled_reason(action),
        }
    }

    /// Whether a lookup for an action of the user is running.
    pub fn is_busy(&self) -> bool {
        self.problem_editor.as_ref().is_some_and(ProblemEditor::is_busy)
    }

    /// Returns a sentence about the unwritten changes to splits, if there are any.
    pub fn unwritten(&self) -> Option<String> {
        self.problem_editor.as_ref().and_then(ProblemEditor::unwritten)
    }

    /// Returns the sentence of [`unwritten`](Self::unwritten) as a notice.
    pub fn unwritten_notice(&self) -> Vec<Effect> {
        self.unwritten().map(|words| Effect::Toast(Toast::new(Level::Info, words))).into_iter().collect()
    }

    /// Saves the unwritten changes as a draft.
    pub fn closing(&self) {
        if let Some(problem_editor) = &self.problem_editor {
            problem_editor.closing();
        }
    }
}

impl JobsPanel {
    /// Lists the problems of the selected job, if the lower pane shows problems.
    pub(super) fn show_problems(&mut self) {
        if !self.problems {
            return;
        }
        // If the job was removed, the focus returns to the list of jobs.
        match self.list.get().and_then(|at| self.views.get(at)) {
            Some(view) => self.table.show(view),
            None => self.table = JobProblems::default(),
        }
    }

    /// Handles Enter: shows the problems of the selected job and, once it has ended, moves the focus to them.
    pub(super) fn open_problems(&mut self) {
        self.problems = true;
        self.scrolled = 0;
        self.show_problems();
        self.enter_problems();
    }

    /// Moves the focus to the list of problems.
    pub(super) fn enter_problems(&mut self) {
        if let Some(view) = self.list.get().and_then(|at| self.views.get(at)) {
            self.table.focus_list(view, &self.env);
        }
    }

    /// Draws the list in the lower pane.
    pub(super) fn draw_problems(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let focused = self.table.has_cursor();
        let inner = draw_panel(frame, area, "Problems", focused, ui);
        let padded = padded(inner);
        self.table.table.draw(frame, padded, focused, focused, ui);
        self.mouse_areas.add(self.table.table.area, super::Pane::Problems);
        self.details_height = usize::from(inner.height);
    }
}
