//! The scroll position in lines that may not all fit.

use crate::tui::keymap::Action;
use crate::tui::ui::Ui;
use ratatui::layout::Rect;
use ratatui::Frame;

/// The visible part of a number of lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scroll {
    /// The first visible line.
    pub top: usize,
    total: usize,
    height: usize,
}

impl Scroll {
    /// Sets the total number of lines, and the number of lines that fit.
    pub fn set_size(&mut self, total: usize, height: usize) {
        (self.total, self.height) = (total, height);
        self.scroll(0);
    }

    /// Scrolls by a number of lines.
    pub fn scroll(&mut self, lines: isize) {
        self.top = self.top.saturating_add_signed(lines).min(self.total.saturating_sub(self.height));
    }

    /// Handles a movement action.
    pub fn handle_action(&mut self, action: Action) {
        action.rows(self.height.max(2)).into_iter().for_each(|rows| self.scroll(rows));
    }

    /// Draws marks on the right edge of `area` if there are lines above or below.
    pub fn draw_marks(&self, frame: &mut Frame, area: Rect, ui: &Ui) {
        if self.top > 0 {
            frame.buffer_mut().set_string(area.right(), area.y, ui.glyphs.more_up, ui.theme.accent);
        }
        if self.total > self.top + self.height && self.height > 0 {
            let y = area.bottom().saturating_sub(1);
            frame.buffer_mut().set_string(area.right(), y, ui.glyphs.more_down, ui.theme.accent);
        }
    }
}
