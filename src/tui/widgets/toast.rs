//! A short notice next to the bottom bar. The frame shows it until the next key.

use super::text::{fit_end, width};
use crate::tui::ui::Ui;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use ratatui::Frame;

/// The level of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Success.
    Ok,
    /// Information.
    Info,
    /// A warning.
    Warn,
    /// Failure.
    Error,
}

/// A notice. The text may come from the data: it is escaped when drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    /// The level of the notice.
    pub level: Level,
    /// The text of the notice; one line.
    pub text: String,
}

impl Toast {
    /// Returns a notice.
    pub fn new(level: Level, text: impl Into<String>) -> Self {
        Self { level, text: text.into() }
    }
    /// Returns the notice of a failure, with its hint.
    pub fn failure(failure: &gristmill_core::Failure) -> Self {
        let hint = failure.hint.as_ref().map(|h| format!(" ({h})")).unwrap_or_default();
        Self::new(Level::Error, format!("{failure}{hint}"))
    }

    /// Returns the number of columns that the notice takes in `line`.
    pub fn columns(&self, line: Rect, ui: &Ui) -> u16 {
        let text = fit_end(&self.text, text_columns(line), ui.glyphs);
        u16::try_from(width(&text) + 4).unwrap_or(line.width).min(line.width)
    }

    /// Draws the notice on the last line of `area`, on the right.
    pub fn draw(&self, frame: &mut Frame, area: Rect, ui: &Ui) {
        if area.is_empty() {
            return;
        }
        let (glyph, style) = match self.level {
            Level::Ok => (ui.glyphs.check, ui.theme.ok),
            Level::Info => (ui.glyphs.dot, ui.theme.accent),
            Level::Warn => (ui.glyphs.warn, ui.theme.warn),
            Level::Error => (ui.glyphs.cross, ui.theme.error),
        };
        let text = fit_end(&self.text, text_columns(area), ui.glyphs);
        let columns = self.columns(area, ui);
        let rect = Rect { x: area.right() - columns, y: area.bottom() - 1, width: columns, height: 1 };
        frame.render_widget(Clear, rect);
        frame.buffer_mut().set_style(rect, ui.theme.text);
        let line = Line::from(vec![Span::raw(" "), Span::styled(format!("{glyph} {text}"), style), Span::raw(" ")]);
        frame.render_widget(line, rect);
    }
}

/// Returns the number of columns available for the text of a notice.
fn text_columns(line: Rect) -> usize {
    usize::from(line.width).saturating_sub(5)
}
