//! The problems of the selected job: a list with a cursor once the job has ended.

use super::JobsPanel;
use crate::tui::jobs::{JobId, JobView};
use crate::tui::keymap::Action;
use crate::tui::screen::{Effect, Ui, UiEnv};
use crate::tui::screens::problems::{ProblemEditor, ProblemTable};
use crate::tui::widgets::{panel, Level, Toast};
use gristmill_ops::job::JobState;
use ratatui::layout::Rect;
use ratatui::Frame;

/// The list of problems of one job.
#[derive(Default)]
pub struct JobProblems {
    /// The list.
    pub table: ProblemTable,
    /// The job that it is of, and whether that had ended when it was listed.
    of: Option<(JobId, bool)>,
    /// The keys go to the list.
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

    /// Gives the list the keys; not before the job has ended.
    fn enter(&mut self, view: &JobView, env: &UiEnv) {
        if !has_ended(view) || self.table.is_empty() {
            return;
        }
        self.is_entered = true;
        if self.problem_editor.is_none() {
            self.problem_editor = Some(ProblemEditor::new(view.root.clone(), &mut self.table, env));
        }
    }

    /// Gives the keys back to the list of jobs. Returns whether they were here.
    pub fn leave(&mut self) -> bool {
        std::mem::take(&mut self.is_entered)
    }

    /// Whether the keys go to the list.
    pub fn has_cursor(&self) -> bool {
        self.is_entered
    }

    /// Picks up what was found out about the problems.
    pub fn follow(&mut self, effects: &mut Vec<Effect>) -> bool {
        self.problem_editor.as_mut().is_some_and(|problem_editor| problem_editor.follow(&mut self.table, effects))
    }

    /// Does what a key of the list means.
    pub fn act(&mut self, action: Action) -> Vec<Effect> {
        match self.problem_editor.as_mut().filter(|_| self.is_entered) {
            Some(problem_editor) => problem_editor.act(action, &mut self.table),
            None => Vec::new(),
        }
    }

    /// Why a key of the list does nothing now.
    pub fn why_not(&self, action: Action) -> Option<String> {
        match ProblemTable::takes(action) && !self.is_entered {
            true => Some("no problem is selected".to_owned()),
            false => self.table.why_not(action),
        }
    }

    /// Whether something is looked up that is waited for.
    pub fn is_busy(&self) -> bool {
        self.problem_editor.as_ref().is_some_and(ProblemEditor::is_busy)
    }

    /// Changes to splits that are not written, as a sentence.
    pub fn unwritten(&self) -> Option<String> {
        self.problem_editor.as_ref().and_then(ProblemEditor::unwritten)
    }

    /// The same as a notice.
    pub fn unwritten_notice(&self) -> Vec<Effect> {
        self.unwritten().map(|words| Effect::Toast(Toast::new(Level::Info, words))).into_iter().collect()
    }

    /// Keeps the changes that are not written as a draft.
    pub fn closing(&self) {
        if let Some(problem_editor) = &self.problem_editor {
            problem_editor.closing();
        }
    }
}

impl JobsPanel {
    /// Lists the problems of the selected job, where they are shown.
    pub(super) fn show_problems(&mut self) {
        if !self.problems {
            return;
        }
        // A job that is gone, or of which the keys were: they go back to the list of jobs.
        match self.list.get().and_then(|at| self.views.get(at)) {
            Some(view) => self.table.show(view),
            None => self.table = JobProblems::default(),
        }
    }

    /// What Enter does: shows the problems of the selected job, and once it has ended gives them the keys.
    pub(super) fn open_problems(&mut self) {
        self.problems = true;
        self.scrolled = 0;
        self.show_problems();
        self.enter_problems();
    }

    /// Gives the list of problems the keys.
    pub(super) fn enter_problems(&mut self) {
        if let Some(view) = self.list.get().and_then(|at| self.views.get(at)) {
            self.table.enter(view, &self.env);
        }
    }

    /// Draws the list in the lower pane.
    pub(super) fn draw_problems(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let focused = self.table.has_cursor();
        let block = panel("Problems", focused, ui);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let padded = Rect { x: inner.x.saturating_add(1), width: inner.width.saturating_sub(2), ..inner };
        self.table.table.draw(frame, padded, focused, focused, ui);
        self.places.put(self.table.table.area, super::Pane::Problems);
        self.details_height = usize::from(inner.height);
    }
}
