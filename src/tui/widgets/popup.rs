//! A box that is drawn over the rest of the screen.

use super::panel::panel;
use crate::tui::ui::Ui;
use ratatui::layout::Rect;
use ratatui::widgets::Clear;
use ratatui::Frame;

/// Returns the middle part of `area`, at most `width` × `height` cells including the border.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width);
    let height = height.min(area.height);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// If fewer columns remain next to a box, the box uses them, too: they would show only fragments.
const MIN_SIDE_COLUMNS: u16 = 8;

/// Clears a box of at most `width` × `height` in the middle of `area`, draws its border, and returns the area inside. The box is slightly
/// wider if few columns would remain next to it.
pub fn popup(frame: &mut Frame, area: Rect, width: u16, height: u16, title: &str, ui: &Ui) -> Rect {
    boxed(frame, centred(area, widened(area, width), height), title, ui)
}

/// Like [`popup`], for content that grows while the user types: the top of the box is that of a box of `most` rows.
pub fn growing_popup(
    frame: &mut Frame,
    area: Rect,
    (width, height, most): (u16, u16, u16),
    title: &str,
    ui: &Ui,
) -> Rect {
    let outer = centred(area, widened(area, width), most);
    boxed(frame, Rect { height: height.min(outer.height), ..outer }, title, ui)
}

/// Returns the number of columns for text in a [`popup`], with one blank column on each side.
pub fn text_columns(area: Rect, width: u16) -> usize {
    usize::from(widened(area, width).min(area.width).saturating_sub(4))
}

fn widened(area: Rect, width: u16) -> u16 {
    if area.width.saturating_sub(width) < MIN_SIDE_COLUMNS {
        area.width
    } else {
        width
    }
}

fn boxed(frame: &mut Frame, outer: Rect, title: &str, ui: &Ui) -> Rect {
    let block = panel(title, true, ui);
    let inner = block.inner(outer);
    frame.render_widget(Clear, outer);
    frame.buffer_mut().set_style(outer, ui.theme.text);
    frame.render_widget(block, outer);
    inner
}
