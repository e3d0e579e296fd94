//! A dialog with a text field and the rows of a result, which is looked up while the user types.

use super::session::SplitSession;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::{Effect, Input, Screen, Ui};
use crate::tui::widgets::mouse::{Gesture, MouseAreas};
use crate::tui::widgets::{draw_list, text, Level, ListState, TextField, Toast};
use crate::tui::work::LatestWorker;
use gristmill_core::{Failure, Outcome};
use gristmill_ops::engine::splits::SplitEditor;
use ratatui::crossterm::event::MouseEvent;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// The rows below the field of a dialog.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Cursor and scroll position.
    pub list: ListState,
    /// Maximum height of the dialog so far, in rows: the dialog does not shrink while the user types.
    pub tallest: u16,
    /// Mouse area of the rows, as drawn last.
    mouse_areas: MouseAreas<()>,
}

impl Rows {
    /// Sets the number of rows, and resets the selection.
    pub fn set(&mut self, len: usize) {
        self.list = ListState::new(len);
    }

    /// Returns the height of the dialog for `lines` of text and the rows, including the border; at most `most`.
    pub fn height(&mut self, lines: usize, most: u16) -> u16 {
        let wanted = u16::try_from(lines + self.list.len + 2).unwrap_or(u16::MAX).min(most);
        self.tallest = self.tallest.max(wanted);
        self.tallest
    }

    /// Draws the rows. `row` is called with an index and a width in columns, and returns the text of the row.
    pub fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui, row: impl Fn(usize, usize) -> Line<'static>) {
        self.mouse_areas.clear();
        self.mouse_areas.add(area, ());
        draw_list(frame.buffer_mut(), area, &mut self.list, false, ui, row);
    }

    /// Handles the mouse: a click selects, the wheel scrolls. Returns whether a row was double-clicked.
    pub fn point(&mut self, mouse: MouseEvent) -> bool {
        let Some(gesture) = self.mouse_areas.gesture(mouse) else { return false };
        match gesture {
            Gesture::Wheel { rows, .. } => self.list.scroll(rows),
            Gesture::Click { line, .. } => {
                if let Some(row) = self.list.row_at(line) {
                    self.list.select(row);
                }
            }
            Gesture::DoubleClick { line, .. } => return self.list.row_at(line).is_some(),
        }
        false
    }
}

/// The result of looking up a text.
pub(super) trait LookupResult: Send + Sized + 'static {
    /// The label of Enter in the bottom bar.
    const ACCEPT: &'static str;

    /// Returns the number of rows of the result.
    fn rows(&self) -> usize;

    /// Applies the result, and closes the dialog. The error is the reason why it cannot be applied; the dialog then stays open.
    fn accept(typed: &mut LookupDialog<Self>) -> Result<Vec<Effect>, String>;

    /// Draws the dialog.
    fn draw(typed: &mut LookupDialog<Self>, frame: &mut Frame, area: Rect, ui: &Ui);
}

/// A dialog with a text field, and a worker that looks up the text. `T` is the result for a text.
pub struct LookupDialog<T> {
    session: SplitSession,
    pub(super) field: TextField,
    pub(super) rows: Rows,
    /// The text that was looked up, and its result.
    found: Option<(String, Outcome<T>)>,
    worker: LatestWorker<(SplitEditor, String), (String, Outcome<T>)>,
}

impl<T: LookupResult> LookupDialog<T> {
    /// Creates a dialog whose field has a text, which is looked up immediately. `name` is the name of the worker.
    pub(super) fn new(
        session: SplitSession,
        name: &'static str,
        value: &str,
        look_up: fn(&SplitEditor, &str) -> Outcome<T>,
    ) -> Self {
        let worker = LatestWorker::start(name, session.env().wake, move |(editor, typed): (SplitEditor, String)| {
            let found = look_up(&editor, &typed);
            (typed, found)
        });
        let mut typed = Self { session, field: TextField::new(value), rows: Rows::default(), found: None, worker };
        typed.request_preview();
        typed
    }

    pub(super) fn session(&mut self) -> &mut SplitSession {
        &mut self.session
    }

    fn request_preview(&mut self) {
        if self.field.is_empty() {
            self.found = None;
            self.rows.set(0);
        } else if let Some(editor) = self.session.editor() {
            self.worker.submit((editor.clone(), self.field.value().to_owned()));
        }
    }

    /// Returns the result for the current text of the field.
    pub(super) fn now(&self) -> Option<&Outcome<T>> {
        found_for(&self.found, &self.field)
    }

    /// Returns the values for drawing the dialog: the field, its result, the rows.
    pub(super) fn drawn(&mut self) -> (&TextField, Option<&Outcome<T>>, &mut Rows) {
        (&self.field, found_for(&self.found, &self.field), &mut self.rows)
    }

    fn accept(&mut self) -> Vec<Effect> {
        match T::accept(self) {
            Ok(then) => std::iter::once(Effect::Pop).chain(then).collect(),
            Err(why) => vec![Effect::Toast(Toast::new(Level::Warn, why))],
        }
    }
}

impl<T: LookupResult> Screen for LookupDialog<T> {
    fn context(&self) -> Context {
        Context::SplitsText
    }
    fn is_popup(&self) -> bool {
        true
    }
    fn wants_text(&self) -> bool {
        true
    }
    fn is_busy(&self) -> bool {
        self.worker.is_waiting()
    }

    fn label(&self, action: Action) -> &'static str {
        match action {
            Action::Accept => T::ACCEPT,
            action => action.label(),
        }
    }

    fn disabled_reason(&self, action: Action) -> Option<String> {
        one_field(action)
    }

    fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Action(Action::Close) => return vec![Effect::Pop],
            Input::Action(Action::Accept) => return self.accept(),
            Input::Action(action) => {
                self.rows.list.handle_action(action);
            }
            Input::Key(key) => {
                if self.field.key(key) {
                    self.request_preview();
                }
            }
            Input::Paste(words) => {
                self.field.paste(&words);
                self.request_preview();
            }
            Input::Mouse(mouse) => {
                if self.rows.point(mouse) {
                    return self.accept();
                }
            }
        }
        Vec::new()
    }

    fn tick(&mut self, _: &mut Vec<Effect>) -> bool {
        let Some(found) = self.worker.take() else { return false };
        self.rows.set(found.1.as_ref().map_or(0, T::rows));
        self.found = Some(found);
        true
    }

    fn draw(&mut self, frame: &mut Frame, area: Rect, ui: &Ui) {
        T::draw(self, frame, area, ui);
    }
}

fn found_for<'a, T>(found: &'a Option<(String, Outcome<T>)>, field: &TextField) -> Option<&'a Outcome<T>> {
    found.as_ref().filter(|(typed, _)| typed == field.value()).map(|(_, found)| found)
}

/// Returns why the focus cannot move to another field.
pub(super) fn one_field(action: Action) -> Option<String> {
    matches!(action, Action::NextField | Action::PreviousField).then(|| "there is one field only".to_owned())
}

/// Returns lines with the reason why a text cannot be used, and its hint.
pub fn failure_lines(failure: &Failure, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let why = text::wrap(&format!("{} {}", ui.glyphs.warn, failure.why), columns);
    let hint = failure.hint.iter().flat_map(|hint| text::wrap(hint, columns));
    let why = why.into_iter().map(|line| Line::from(Span::styled(line, ui.theme.warn)));
    why.chain(hint.map(|line| Line::from(Span::styled(line, ui.theme.muted)))).collect()
}
