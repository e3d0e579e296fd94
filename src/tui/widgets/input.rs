//! A one-line text field.

use super::text::{fit_end, fit_middle, safe, suffix, width};
use crate::tui::ui::Ui;
use ratatui::crossterm::event::{Event, KeyEvent};
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::Frame;
use tui_input::backend::crossterm::EventHandler;
use tui_input::{Input, InputRequest};

/// The typed text and the position of the cursor.
#[derive(Clone, Debug, Default)]
pub struct TextField {
    input: Input,
    /// The text that Tab adds, shown after the cursor.
    completion: Option<String>,
}

/// Maximum length of the text in characters; longer texts are cut when they are pasted or set.
const MAX_CHARS: usize = 4096;

impl TextField {
    /// Returns a field that holds `text`, with the cursor after it.
    pub fn new(text: &str) -> Self {
        Self { input: Input::new(one_line(text)), completion: None }
    }

    /// Returns the text.
    pub fn value(&self) -> &str {
        self.input.value()
    }

    /// Whether the field is empty.
    pub fn is_empty(&self) -> bool {
        self.input.value().is_empty()
    }

    /// Replaces the content with `text`, and puts the cursor after it.
    pub fn set(&mut self, text: &str) {
        *self = Self::new(text);
    }

    /// Clears the field.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether the cursor is after the last character.
    pub fn is_cursor_at_end(&self) -> bool {
        self.cursor() == self.value().chars().count()
    }

    /// Shows a completion of the text, until the text changes.
    pub fn show_completion(&mut self, rest: String) {
        self.completion = Some(rest).filter(|_| self.is_cursor_at_end());
    }

    /// Accepts the shown completion. Returns whether there was one.
    pub fn complete(&mut self) -> bool {
        let Some(rest) = self.completion.take() else { return false };
        self.set(&format!("{}{rest}", self.value()));
        true
    }

    /// Returns the number of characters before the cursor.
    pub fn cursor(&self) -> usize {
        self.input.cursor()
    }

    /// Handles a key that types or edits. Returns whether the text changed.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        self.completion = None;
        let before = self.input.value().len();
        if before >= MAX_CHARS && matches!(key.code, ratatui::crossterm::event::KeyCode::Char(_)) {
            return false;
        }
        self.input.handle_event(&Event::Key(key)).is_some_and(|change| change.value)
    }

    /// Inserts a pasted text: line breaks become spaces, other control characters are removed.
    pub fn paste(&mut self, text: &str) -> bool {
        self.completion = None;
        let room = MAX_CHARS.saturating_sub(self.input.value().chars().count());
        let text = one_line(text);
        for c in text.chars().take(room) {
            self.input.handle(InputRequest::InsertChar(c));
        }
        !text.is_empty() && room > 0
    }

    /// Draws the field on the first line of `area`, and moves the terminal's cursor there if it is focused. An empty field shows
    /// `placeholder`.
    pub fn draw(&self, frame: &mut Frame, area: Rect, focused: bool, placeholder: &str, ui: &Ui) {
        let area = Rect { height: area.height.min(1), ..area };
        if area.is_empty() {
            return;
        }
        let style = if focused { ui.theme.input } else { ui.theme.text };
        frame.buffer_mut().set_style(area, style);
        if self.is_empty() {
            let words = fit_end(placeholder, usize::from(area.width), ui.glyphs);
            frame.render_widget(Line::from(Span::styled(words, ui.theme.muted)), area);
        }
        let columns = usize::from(area.width);
        let before: String = self.value().chars().take(self.cursor()).collect();
        let after: String = self.value().chars().skip(self.cursor()).collect();
        // The text scrolls so that the cursor, one column wide, is always visible.
        let shown = safe(&before);
        let shown = suffix(&shown, columns.saturating_sub(1));
        if !focused {
            // Without the cursor, both ends of the text are shown.
            let words = fit_middle(&safe(self.value()), columns, ui.glyphs);
            frame.render_widget(Line::from(Span::styled(words, style)), area);
        } else if !self.is_empty() {
            let mut line = Line::from(Span::styled(format!("{shown}{}", safe(&after)), style));
            if let Some(rest) = &self.completion {
                line.push_span(Span::styled(safe(rest), ui.theme.muted));
            }
            frame.render_widget(line, area);
        }
        if focused {
            let x = area.x.saturating_add(u16::try_from(width(shown)).unwrap_or(0));
            frame.set_cursor_position(Position { x: x.min(area.right().saturating_sub(1)), y: area.y });
        }
    }
}

fn one_line(text: &str) -> String {
    text.trim_end_matches(['\n', '\r'])
        .chars()
        .map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c })
        .filter(|c| !c.is_control())
        .take(MAX_CHARS)
        .collect()
}
