//! Draws the frame of a step: the list of steps on the left, the pane with its title, and the notice about a restored draft.

use crate::tui::keymap::Action;
use crate::tui::screen::Ui;
use crate::tui::widgets::{draw_panel, draw_selection, padded, panel, text};
use gristmill_core::text::count;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::Frame;
use std::time::Duration;

/// Width in columns below which the list of steps is hidden.
const RAIL_FROM: u16 = 72;

/// The actions that jump to a step, in the order of the steps.
pub const JUMPS: [Action; 8] = [
    Action::GoStep1,
    Action::GoStep2,
    Action::GoStep3,
    Action::GoStep4,
    Action::GoStep5,
    Action::GoStep6,
    Action::GoStep7,
    Action::GoStep8,
];

/// Returns the index of the step that an action jumps to.
pub fn find_step_index(action: Action) -> Option<usize> {
    JUMPS.iter().position(|jump| *jump == action)
}

/// The state of a step in the list of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepMark {
    /// The step on the screen, in which no error was shown yet.
    Here,
    /// The step on the screen, in which an error was shown before.
    HereBroken,
    /// A step without questions for the current answers.
    Skipped,
    /// A completed step with wrong answers.
    Broken,
    /// A completed step.
    Answered,
    /// A step that was not opened yet.
    Open,
}

/// A row in the list of steps.
#[derive(Clone, Copy, Debug)]
pub struct RailRow {
    /// The name of the step.
    pub title: &'static str,
    /// The state of the step.
    pub mark: StepMark,
    /// Whether it cannot be opened now.
    pub is_disabled: bool,
}

/// Returns the area of the list of steps, which is empty if the window is narrow, and the area of the step.
pub fn divide(area: Rect, rail_columns: u16) -> (Rect, Rect) {
    let width = if area.width >= RAIL_FROM { rail_columns } else { 0 };
    (Rect { width, ..area }, Rect { x: area.x + width, width: area.width - width, ..area })
}

/// Draws the list of steps, with a cursor if the list has the focus. Returns the area of its rows.
pub fn draw_rail(buffer: &mut Buffer, area: Rect, rows: &[RailRow], cursor: Option<usize>, ui: &Ui) -> Rect {
    let block = panel("Steps", cursor.is_some(), ui);
    let inner = block.inner(area);
    block.render(area, buffer);
    for ((y, row), number) in (inner.y..inner.bottom()).zip(rows).zip(0..) {
        let place = Rect { y, height: 1, ..inner };
        let (glyph, style) = match row.mark {
            StepMark::Here | StepMark::HereBroken => (ui.glyphs.marker, ui.theme.accent),
            StepMark::Skipped => (ui.glyphs.dash, ui.theme.muted),
            StepMark::Broken => (ui.glyphs.cross, ui.theme.error),
            StepMark::Answered => (ui.glyphs.check, ui.theme.ok),
            StepMark::Open => (" ", ui.theme.text),
        };
        let name_style = match row.mark {
            StepMark::Here | StepMark::HereBroken => ui.theme.title,
            _ if row.is_disabled => ui.theme.disabled,
            _ => ui.theme.text,
        };
        // The step on the screen keeps its marker; the cross follows.
        let (sign, second) = match row.mark {
            StepMark::HereBroken => (glyph.to_owned(), format!("{} ", ui.glyphs.cross)),
            _ => (format!(" {glyph} "), String::new()),
        };
        let name = text::fit_end(row.title, usize::from(place.width).saturating_sub(3), ui.glyphs);
        let spans = [Span::styled(sign, style), Span::styled(second, ui.theme.error), Span::styled(name, name_style)];
        Line::from(spans.to_vec()).render(place, buffer);
        if cursor == Some(number) {
            draw_selection(buffer, place, ui.theme.selected, ui);
        }
    }
    inner
}

/// Returns the title of a step's pane for windows without a list of steps: the current step, or, with a `key`, the step that the key opens.
pub fn narrow_title(title: &str, number: usize, of: usize, key: Option<&str>) -> String {
    let arrow = key.map(|key| format!("{key}: go to ")).unwrap_or_default();
    format!("{arrow}{title} ({} of {of})", number + 1)
}

/// Draws the pane of a step. Returns the area inside it.
pub fn draw_pane(frame: &mut Frame, pane: Rect, title: &str, focused: bool, ui: &Ui) -> Rect {
    let inner = draw_panel(frame, pane, title, focused, ui);
    padded(inner)
}

/// Returns a duration as words: `just now`, `5 minutes ago`, `3 hours ago`, `2 days ago`.
pub fn age(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => "just now".into(),
        60..3600 => format!("{} ago", count(seconds / 60, "minute")),
        3600..86_400 => format!("{} ago", count(seconds / 3600, "hour")),
        _ => format!("{} ago", count(seconds / 86_400, "day")),
    }
}

/// Returns the notice about a restored draft of this age, with the key that discards it.
pub fn draft_line(time: Duration, key: String, columns: usize, ui: &Ui) -> Line<'static> {
    const WORDS: &str = " discards it";
    let words = format!("{} restored from a draft ({}) {}", ui.glyphs.arrow, age(time), ui.glyphs.dot);
    let room = columns.saturating_sub(text::width(&key) + WORDS.len() + 1);
    Line::from(vec![
        Span::styled(text::fit_end(&words, room, ui.glyphs), ui.theme.accent),
        Span::raw(" "),
        Span::styled(key, ui.theme.key),
        Span::styled(WORDS, ui.theme.muted),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_shown_in_words() {
        let of = |s| age(Duration::from_secs(s));
        assert_eq!([of(5), of(60), of(7200), of(100_000)], ["just now", "1 minute ago", "2 hours ago", "1 day ago"]);
    }
}
