//! A bordered pane with a title.

use super::text::safe;
use crate::tui::ui::Ui;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders};
use ratatui::Frame;

/// Returns the block of a pane. The title is escaped. The focused pane has the accent.
pub fn panel<'a>(title: &str, focused: bool, ui: &Ui) -> Block<'a> {
    let border: Style = if focused { ui.theme.border_focus } else { ui.theme.border };
    let block = Block::new().borders(Borders::ALL).border_set(ui.glyphs.border).border_style(border);
    if title.is_empty() {
        return block;
    }
    block.title(Line::from(Span::styled(format!(" {} ", safe(title)), ui.theme.title)))
}

/// Draws the border of a pane; see [`panel`]. Returns the area inside it.
pub fn draw_panel(frame: &mut Frame, area: Rect, title: &str, focused: bool, ui: &Ui) -> Rect {
    let block = panel(title, focused, ui);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// Returns an area without its first and last column.
pub fn padded(area: Rect) -> Rect {
    Rect { x: area.x.saturating_add(1), width: area.width.saturating_sub(2), ..area }
}
