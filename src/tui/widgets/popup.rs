//! A box over everything else.

use super::panel::panel;
use crate::tui::screen::Ui;
use ratatui::layout::Rect;
use ratatui::widgets::Clear;
use ratatui::Frame;

/// The middle of `area`, at most `width` × `height` (border included).
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width);
    let height = height.min(area.height);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// Clears a box of at most `width` × `height` in the middle of `area`, frames it, and returns its inside.
pub fn popup(frame: &mut Frame, area: Rect, width: u16, height: u16, title: &str, ui: &Ui) -> Rect {
    let outer = centred(area, width, height);
    let block = panel(title, true, ui);
    let inner = block.inner(outer);
    frame.render_widget(Clear, outer);
    frame.buffer_mut().set_style(outer, ui.theme.text);
    frame.render_widget(block, outer);
    inner
}
