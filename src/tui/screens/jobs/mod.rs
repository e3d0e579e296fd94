//! The jobs panel: a list with bars, and the log or the problems of the selected job. The jobs of this process come first, then the runs of
//! other processes and interrupted runs ([`other_runs`]).

pub mod lines;
pub mod other_runs;
mod problems;

use crate::tui::jobs::{JobId, JobView};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui, UiEnv};
use crate::tui::screens::problems::ProblemTable;
use crate::tui::widgets::toast::Level;
use crate::tui::widgets::{draw_list, draw_panel, text, Gesture, ListState, MouseAreas, Toast};
use gristmill_ops::job::JobState;
use gristmill_storage::files;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::PathBuf;

use lines::{log_lines, other_run_line, other_run_lines, progress_line, title_line};
use other_runs::{OtherRun, ProcessWatcher};
use problems::JobProblems;

/// The panel opened by `J`.
pub struct JobsPanel {
    env: UiEnv,
    views: Vec<JobView>,
    watcher: ProcessWatcher,
    others: Vec<OtherRun>,
    list: ListState,
    /// Whether the lower pane shows problems instead of the log.
    problems: bool,
    /// The job for which the stop key was pressed once.
    confirms_cancel: Option<JobId>,
    /// The list of problems of the selected job.
    table: JobProblems,
    /// Number of lines by which the lower pane is scrolled from its initial position: the end of the log, or the first problem.
    scrolled: usize,
    details_height: usize,
    /// Cursor and scroll position of the list as last drawn.
    rows: ListState,
    mouse_areas: MouseAreas<Pane>,
}

/// A part of the panel that the mouse can point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pane {
    Jobs,
    Details,
    Problems,
}

/// A row of the list.
enum Row<'a> {
    Own(&'a JobView),
    Other(&'a OtherRun),
}

/// Number of lines per job in the list.
const JOB_LINES: usize = 2;

impl JobsPanel {
    /// Creates the panel with the newest job selected.
    pub fn new(env: UiEnv) -> Self {
        let views = env.jobs.views();
        let mut list = ListState::new(views.len());
        list.select(usize::MAX);
        Self {
            watcher: ProcessWatcher::start(&env),
            others: Vec::new(),
            env,
            views,
            list,
            problems: false,
            confirms_cancel: None,
            table: JobProblems::default(),
            scrolled: 0,
            details_height: 0,
            rows: ListState::default(),
            mouse_areas: MouseAreas::default(),
        }
    }

    fn row(&self, at: usize) -> Option<Row<'_>> {
        let other = || self.others.get(at - self.views.len()).map(Row::Other);
        self.views.get(at).map(Row::Own).or_else(other)
    }

    fn selected(&self) -> Option<Row<'_>> {
        self.list.get().and_then(|at| self.row(at))
    }

    /// Returns the selected job, if it belongs to this process.
    fn selected_own(&self) -> Option<&JobView> {
        self.list.get().and_then(|at| self.views.get(at))
    }

    /// Reads the jobs again. The selected run stays selected when jobs of this process are inserted before it.
    fn refresh(&mut self) {
        let selected = self.selected().and_then(|row| match row {
            Row::Own(_) => None,
            Row::Other(run) => Some(run.path.clone()),
        });
        self.views = self.env.jobs.views();
        let own: Vec<PathBuf> = self.views.iter().map(|view| files::absolute_or_same(&view.path)).collect();
        self.others = self.watcher.others(&own);
        self.list.set_len(self.views.len() + self.others.len());
        self.show_problems();
        if let Some(at) = selected.and_then(|path| self.others.iter().position(|run| run.path == path)) {
            self.list.select(self.views.len() + at);
        }
    }

    /// Starts the selected job again, or resumes the selected run.
    fn rerun(&mut self) -> Vec<Effect> {
        let started = match self.selected() {
            Some(Row::Other(run)) => return run.resume(&self.env),
            Some(Row::Own(view)) => self.env.jobs.restart(view.id),
            None => None,
        };
        self.table.focus_jobs();
        let notice = match started {
            Some(Ok(_)) => Toast::new(Level::Info, "Started again; finished work is reused"),
            Some(Err(failure)) => return vec![Effect::failure(&failure)],
            None => return Vec::new(),
        };
        self.refresh();
        self.list.select(self.views.len().saturating_sub(1));
        self.scrolled = 0;
        vec![Effect::Toast(notice)]
    }

    /// Handles the stop key: the first press asks, the second one for the same job stops it. `confirmed` is the job of the press before.
    fn confirm_cancel(&mut self, confirmed: Option<JobId>) -> Vec<Effect> {
        let Some(view) = self.selected_own() else { return Vec::new() };
        if confirmed != Some(view.id) {
            let key = self.env.key(Context::Jobs, Action::CancelJob);
            let words = format!("Stop {}? {key} again stops it", view.title);
            self.confirms_cancel = Some(view.id);
            return vec![Effect::Toast(Toast::new(Level::Warn, words))];
        }
        self.cancel();
        vec![Effect::Toast(Toast::new(Level::Info, "Stopping at the next safe point"))]
    }

    fn cancel(&mut self) -> bool {
        let stopped = self.selected_own().is_some_and(|view| self.env.jobs.cancel(view.id));
        self.refresh();
        stopped
    }

    /// Scrolls the lower pane towards its end or its beginning.
    fn scroll(&mut self, down: bool, lines: usize) {
        // A log is shown from its end, so it scrolls in the opposite direction.
        let from_the_top = self.selected_own().is_none();
        if down == from_the_top {
            self.scrolled = self.scrolled.saturating_add(lines);
        } else {
            self.scrolled = self.scrolled.saturating_sub(lines);
        }
    }

    fn handle_action(&mut self, action: Action) {
        if self.problems && self.table.has_cursor() {
            self.table.table.list.handle_action(action);
            return;
        }
        let page = self.details_height.max(2);
        match action {
            Action::PageDown => self.scroll(true, page),
            Action::PageUp => self.scroll(false, page),
            Action::HalfDown => self.scroll(true, page / 2),
            Action::HalfUp => self.scroll(false, page / 2),
            action if self.list.handle_action(action) => {
                self.scrolled = 0;
                self.show_problems();
            }
            _ => {}
        }
    }

    fn mouse(&mut self, mouse: MouseEvent) -> Vec<Effect> {
        match self.mouse_areas.gesture(mouse) {
            Some(Gesture::Wheel { on: Pane::Problems, rows }) => self.table.table.list.scroll(rows),
            Some(Gesture::Wheel { on: Pane::Jobs, rows }) => {
                self.table.focus_jobs();
                self.handle_action(if rows < 0 { Action::Up } else { Action::Down });
            }
            Some(Gesture::Wheel { on: Pane::Details, rows }) => self.scroll(rows > 0, rows.unsigned_abs()),
            Some(Gesture::Click { on: Pane::Jobs, line, .. }) => {
                if let Some(row) = self.rows.row_at(line) {
                    self.table.focus_jobs();
                    self.list.select(row / JOB_LINES);
                    self.scrolled = 0;
                    self.show_problems();
                }
            }
            Some(Gesture::Click { on: Pane::Problems, line, .. }) => {
                if let Some(row) = self.table.table.list.row_at(line) {
                    self.table.table.list.select(row);
                }
                self.enter_problems();
            }
            Some(Gesture::DoubleClick { on: Pane::Problems, .. }) if self.table.has_cursor() => {
                return vec![Effect::Do(Action::OpenProblem)];
            }
            Some(Gesture::DoubleClick { on: Pane::Problems, .. }) => {}
            Some(Gesture::DoubleClick { .. }) => return vec![Effect::Do(Action::ShowProblems)],
            Some(Gesture::Click { .. }) | None => {}
        }
        Vec::new()
    }

    fn draw_jobs(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let focused = !self.table.has_cursor();
        let inner = draw_panel(frame, area, "Jobs", focused, ui);
        self.mouse_areas.add(inner, Pane::Jobs);
        if self.list.len == 0 {
            let line = Line::from(Span::styled("   no running or interrupted jobs", ui.theme.muted));
            frame.render_widget(line, Rect { height: inner.height.min(1), ..inner });
            return;
        }
        // Each job has two lines: the selection covers both.
        let mut rows = ListState::new(self.list.len * JOB_LINES);
        rows.select(self.list.selected * JOB_LINES + 1);
        rows.window(usize::from(inner.height));
        rows.select(self.list.selected * JOB_LINES);
        draw_list(frame.buffer_mut(), inner, &mut rows, focused, ui, |line, columns| {
            match (self.row(line / JOB_LINES), line % JOB_LINES) {
                (Some(Row::Own(view)), 0) => title_line(view, columns, ui),
                (Some(Row::Own(view)), _) => progress_line(view, columns, ui),
                (Some(Row::Other(run)), 0) => other_run_line(run, columns, ui),
                (Some(Row::Other(run)), _) => {
                    let place = text::fit_middle(&run.place, columns, ui.glyphs);
                    Line::from(Span::styled(place, ui.theme.muted))
                }
                (None, _) => Line::default(),
            }
        });
        self.rows = rows;
    }

    fn draw_details(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        if self.problems && self.selected_own().is_some() {
            return self.draw_problems(frame, area, ui);
        }
        let columns = usize::from(area.width).saturating_sub(4);
        let (title, lines) = match self.selected() {
            Some(Row::Own(view)) => ("Log", log_lines(view, columns, ui)),
            Some(Row::Other(run)) => ("Run", other_run_lines(run, columns, ui)),
            None => return,
        };
        let is_log = title == "Log";
        let inner = draw_panel(frame, area, title, false, ui);
        self.mouse_areas.add(inner, Pane::Details);
        self.details_height = usize::from(inner.height);
        let most = lines.len().saturating_sub(self.details_height);
        self.scrolled = self.scrolled.min(most);
        // The newest lines of a log are at its end; everything else starts at the first line.
        let skip = if is_log { most - self.scrolled } else { self.scrolled };
        if skip > 0 {
            frame.buffer_mut().set_string(inner.right().saturating_sub(1), inner.y, ui.glyphs.more_up, ui.theme.muted);
        }
        if skip < most {
            let y = inner.bottom().saturating_sub(1);
            frame.buffer_mut().set_string(inner.right().saturating_sub(1), y, ui.glyphs.more_down, ui.theme.muted);
        }
        for (y, line) in (inner.y..inner.bottom()).zip(lines.into_iter().skip(skip)) {
            let place = Rect { x: inner.x.saturating_add(1), y, height: 1, width: inner.width.saturating_sub(2) };
            frame.render_widget(line, place);
        }
    }
}

impl Screen for JobsPanel {
    fn context(&self) -> Context {
        match self.table.has_cursor() {
            true => Context::JobsProblems,
            false => Context::Jobs,
        }
    }
    fn title(&self) -> Vec<String> {
        vec!["jobs".to_owned()]
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Retry if matches!(self.selected(), Some(Row::Other(_))) => "resume",
            action => action.label(),
        }
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        let ended = |view: &JobView| !matches!(view.status.state, JobState::Pending | JobState::Running);
        match action {
            Action::Jobs => Some("they are shown already".into()),
            Action::CancelJob | Action::ShowLog | Action::ShowProblems if self.list.len == 0 => {
                Some("there is no job".into())
            }
            Action::CancelJob => match self.selected_own() {
                Some(view) => ended(view).then(|| "it is not running".into()),
                None => Some("it belongs to another process".into()),
            },
            Action::ShowLog | Action::ShowProblems if self.selected_own().is_none() => {
                Some("only its own process keeps a log of it".into())
            }
            Action::ShowLog if !self.problems => Some("it is shown already".into()),
            Action::ShowProblems if self.problems && self.selected_own().is_some_and(|view| !ended(view)) => {
                Some("they can be opened once the job has ended".into())
            }
            Action::Retry => match self.selected() {
                Some(Row::Own(view)) if !ended(view) => Some("it runs".into()),
                Some(Row::Own(view)) if view.status.state == JobState::Done => Some("it is done".into()),
                Some(Row::Own(view)) if self.env.jobs.can_restart(view.id) => None,
                Some(Row::Own(_)) => Some("it can be started again in the screen that started it".into()),
                Some(Row::Other(run)) => run.rerun_refusal(),
                None => Some("there is no job".into()),
            },
            Action::ClearFinished if !self.views.iter().any(ended) => Some("no job has finished".into()),
            action => self.table.disabled_reason(action),
        }
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        let confirmed = self.confirms_cancel.take();
        match input {
            Input::Action(Action::Close) if self.table.focus_jobs() => return self.table.unwritten_notice(),
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::ShowLog) => {
                self.table.focus_jobs();
                self.problems = false;
                self.scrolled = 0;
            }
            Input::Action(Action::ShowProblems) => self.open_problems(),
            Input::Action(action) if ProblemTable::takes(action) => return self.table.handle_action(action),
            Input::Action(Action::CancelJob) => return self.confirm_cancel(confirmed),
            Input::Action(Action::Retry) => return self.rerun(),
            Input::Action(Action::ClearFinished) => {
                self.table.focus_jobs();
                self.env.jobs.clear_finished();
                self.refresh();
            }
            Input::Action(action) => self.handle_action(action),
            Input::Mouse(mouse) => return self.mouse(mouse),
            Input::Key(_) | Input::Paste(_) => {}
        }
        Vec::new()
    }

    fn tick(&mut self, effects: &mut Vec<Effect>) -> bool {
        let came = self.watcher.update();
        self.refresh();
        self.table.update(effects) || came || !self.views.is_empty()
    }

    fn shows_job(&self, _: JobId) -> bool {
        true
    }

    fn is_busy(&self) -> bool {
        self.others.iter().any(OtherRun::is_running) || self.table.is_busy()
    }

    fn status_right(&self) -> Option<String> {
        self.table.table.status()
    }

    fn unwritten(&self) -> Option<String> {
        self.table.unwritten()
    }

    fn closing(&mut self) {
        self.table.closing();
    }

    fn interrupt(&mut self) -> bool {
        self.cancel()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        self.mouse_areas.clear();
        if area.height < 12 || self.list.len == 0 {
            return self.draw_jobs(frame, area, ui);
        }
        let wanted = u16::try_from(self.list.len * JOB_LINES + 2).unwrap_or(u16::MAX);
        let top = wanted.min(area.height / 2);
        let parts = Layout::vertical([Constraint::Length(top), Constraint::Fill(1)]).split(area);
        self.draw_jobs(frame, parts[0], ui);
        self.draw_details(frame, parts[1], ui);
    }
}
