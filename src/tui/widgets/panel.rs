//! A bordered pane with a title.

use super::text::safe;
use crate::tui::ui::Ui;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders};

/// Returns the block of a pane. The title may come from the data: it is made safe. The pane in focus has the accent.
pub fn panel<'a>(title: &str, focused: bool, ui: &Ui) -> Block<'a> {
    let border: Style = if focused { ui.theme.border_focus } else { ui.theme.border };
    let block = Block::new().borders(Borders::ALL).border_set(ui.glyphs.border).border_style(border);
    if title.is_empty() {
        return block;
    }
    block.title(Line::from(Span::styled(format!(" {} ", safe(title)), ui.theme.title)))
}
