//! The list of problems over the browser; Enter selects a sample in the browser.

use super::editor::edit;
use super::rows::{DatasetProblems, OpenTarget, ProblemRows};
use super::table::ProblemTable;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::screens::splits::SplitSession;
use crate::tui::widgets::mouse::{Gesture, MouseAreas};
use crate::tui::widgets::{draw_panel, padded};
use gristmill_core::text::grouped;
use gristmill_ops::engine::browse::{Groups, Marks, ProblemList, SampleAt};
use ratatui::layout::Rect;
use ratatui::Frame;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// The browser's data for the list, updated while the list is open.
#[derive(Clone, Default)]
pub struct ProblemFeed {
    /// The problems.
    pub problems: Arc<ProblemList>,
    /// The shards, files or folders.
    pub groups: Arc<Groups>,
    /// The exclude marks.
    pub marks: Arc<Marks>,
    /// The reason why nothing can be excluded now.
    pub why_no_edit: Option<String>,
    /// The split session, if there is one.
    pub session: Option<SplitSession>,
}

/// The screen of the list over the browser.
pub struct ProblemScreen {
    problem_feed: Rc<RefCell<ProblemFeed>>,
    /// Receives the selected sample.
    chosen: Rc<Cell<Option<SampleAt>>>,
    crumbs: Vec<String>,
    table: ProblemTable,
    shown: Option<Arc<ProblemList>>,
    mouse_areas: MouseAreas<()>,
}

impl ProblemScreen {
    /// Creates the screen with the first problem at or after the sample `here` selected.
    pub fn new(
        feed: Rc<RefCell<ProblemFeed>>,
        chosen: Rc<Cell<Option<SampleAt>>>,
        crumbs: Vec<String>,
        here: SampleAt,
    ) -> Self {
        let row = feed.borrow().problems.iter().position(|(at, _)| at >= here);
        let mut screen = Self {
            problem_feed: feed,
            chosen,
            crumbs,
            table: ProblemTable::default(),
            shown: None,
            mouse_areas: MouseAreas::default(),
        };
        screen.refresh();
        screen.table.list.select(row.unwrap_or(0));
        screen
    }

    /// Updates the list from the browser's data. Returns whether it changed.
    fn refresh(&mut self) -> bool {
        let feed = self.problem_feed.borrow();
        let is_same = self.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, &feed.problems));
        if !is_same {
            let selected = match self.table.goal() {
                Ok(OpenTarget::Sample(at)) => feed.problems.iter().position(|(place, _)| place == at),
                _ => None,
            };
            let rows = DatasetProblems::new(Arc::clone(&feed.problems), Arc::clone(&feed.groups));
            self.table.set_rows(ProblemRows::Known(rows));
            self.shown = Some(Arc::clone(&feed.problems));
            if let Some(row) = selected {
                self.table.list.select(row);
            }
        }
        let pending = feed.session.as_ref().map_or(0, SplitSession::pending);
        let why = feed.why_no_edit.as_deref().map(Arc::from);
        let is_changed = !is_same
            || !Arc::ptr_eq(&self.table.marks, &feed.marks)
            || self.table.pending != pending
            || self.table.why_no_edit != why;
        self.table.marks = Arc::clone(&feed.marks);
        self.table.pending = pending;
        self.table.why_no_edit = why;
        is_changed
    }

    fn open(&self) -> Vec<Effect> {
        if let Ok(OpenTarget::Sample(at)) = self.table.goal() {
            self.chosen.set(Some(at));
            return vec![Effect::Pop];
        }
        Vec::new()
    }

    fn handle_action(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Close => return vec![Effect::Pop],
            Action::OpenProblem => return self.open(),
            action if ProblemTable::takes(action) => {
                let ProblemFeed { session, groups, .. } = self.problem_feed.borrow().clone();
                let effects = session.map(|session| edit(&session, &groups, action, &mut self.table));
                self.refresh();
                return effects.unwrap_or_default();
            }
            moving => {
                self.table.list.handle_action(moving);
            }
        }
        Vec::new()
    }
}

impl Screen for ProblemScreen {
    fn context(&self) -> Context {
        Context::Problems
    }

    fn title(&self) -> Vec<String> {
        self.crumbs.clone()
    }

    fn status_right(&self) -> Option<String> {
        self.table.status()
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        self.table.disabled_reason(action)
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(action) => return self.handle_action(action),
            Input::Mouse(mouse) => match self.mouse_areas.gesture(mouse) {
                Some(Gesture::Wheel { rows, .. }) => self.table.list.scroll(rows),
                Some(Gesture::Click { line, .. }) => {
                    if let Some(row) = self.table.list.row_at(line) {
                        self.table.list.select(row);
                    }
                }
                Some(Gesture::DoubleClick { .. }) => return vec![Effect::Do(Action::OpenProblem)],
                None => {}
            },
            Input::Key(_) | Input::Paste(_) => {}
        }
        Vec::new()
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        self.refresh()
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        let number = grouped(self.table.rows().len() as u64);
        let title = match self.table.rows().is_cut() {
            true => format!("Problems  the first {number}"),
            false => format!("Problems  {number}"),
        };
        let inner = draw_panel(frame, area, &title, true, ui);
        let padded = padded(inner);
        self.table.draw(frame, padded, true, true, ui);
        self.mouse_areas.clear();
        self.mouse_areas.add(self.table.area, ());
    }
}
