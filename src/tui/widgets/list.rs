//! A list of any length that draws only visible rows, which are requested from the caller one by one.

use crate::tui::keymap::Action;
use crate::tui::theme::BAR;
use crate::tui::ui::Ui;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::Widget;
use std::ops::Range;

/// The selected row and the visible rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListState {
    /// The selected row, counted from 0; less than `len` unless the list is empty.
    pub selected: usize,
    /// Number of rows.
    pub len: usize,
    offset: usize,
    height: usize,
}

impl ListState {
    /// Returns a list of `len` rows, with the first one selected.
    pub fn new(len: usize) -> Self {
        Self { len, ..Self::default() }
    }

    /// Sets the number of rows; the selection moves to the last row if its row no longer exists.
    pub fn set_len(&mut self, len: usize) {
        self.len = len;
        self.selected = self.selected.min(len.saturating_sub(1));
    }

    /// Selects a row, or the last one if there are fewer.
    pub fn select(&mut self, row: usize) {
        self.selected = row.min(self.len.saturating_sub(1));
    }

    /// Returns the selected row, unless the list is empty.
    pub fn get(&self) -> Option<usize> {
        (self.len > 0).then_some(self.selected)
    }

    /// Handles a movement action. Returns whether the selection changed.
    pub fn handle_action(&mut self, action: Action) -> bool {
        let before = self.selected;
        let Some(rows) = action.rows(self.height.max(2)) else { return false };
        self.select(before.saturating_add_signed(rows));
        self.selected != before
    }

    /// Scrolls by rows, as the mouse wheel does; the selection moves only to stay visible.
    pub fn scroll(&mut self, rows: isize) {
        let last = self.len.saturating_sub(self.height.max(1));
        self.offset = self.offset.saturating_add_signed(rows).min(last);
        let margin = self.margin();
        let bottom = self.offset + self.height.max(1) - 1;
        let highest = if self.offset == 0 { 0 } else { self.offset + margin };
        let lowest = if self.offset == last { bottom } else { bottom.saturating_sub(margin) };
        self.selected = self.selected.clamp(highest.min(lowest), lowest).min(self.len.saturating_sub(1));
    }

    /// Returns the number of rows that stay visible above and below the selected one.
    fn margin(&self) -> usize {
        usize::from(self.height > 4)
    }

    /// Returns the visible rows in a pane of `height` rows; the selected row is always visible.
    pub fn window(&mut self, height: usize) -> Range<usize> {
        self.height = height;
        if height == 0 {
            return 0..0;
        }
        let margin = self.margin();
        let lowest = (self.selected + margin + 1).saturating_sub(height);
        let highest = self.selected.saturating_sub(margin);
        self.offset = self.offset.max(lowest).min(highest.max(lowest));
        self.offset = self.offset.min(self.len.saturating_sub(height));
        self.offset..(self.offset + height).min(self.len)
    }

    /// Returns the row at a line of the drawn pane, counted from 0, if there is one.
    pub fn row_at(&self, line: usize) -> Option<usize> {
        let row = self.offset + line;
        (line < self.height && row < self.len).then_some(row)
    }
}

/// Draws the visible rows. The selected row has a marker, and its whole line the style of the selection. `row` is called with the index of
/// a row and the available columns.
pub fn draw_list(
    buffer: &mut Buffer,
    area: Rect,
    state: &mut ListState,
    focused: bool,
    ui: &Ui,
    mut row: impl FnMut(usize, usize) -> Line<'static>,
) {
    let window = state.window(usize::from(area.height));
    let columns = usize::from(area.width).saturating_sub(3);
    for (line, index) in window.clone().enumerate() {
        let selected = index == state.selected;
        let y = area.y.saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
        let rect = Rect { y, height: 1, ..area }.intersection(area);
        let marker = if selected { ui.glyphs.marker } else { " " };
        let mut text = row(index, columns);
        text.spans.insert(0, format!(" {marker} ").into());
        text.render(rect, buffer);
        if selected {
            let style = if focused { ui.theme.selected } else { ui.theme.selected_idle };
            draw_selection(buffer, rect, style, ui);
        }
    }
    draw_more(buffer, area, &window, state.len, ui);
}

/// Applies the style of the selection to a row. Bars are not changed: if inverted, their filled part would look like the empty one. If the
/// style inverts, the other cells use the colour of plain text: an inverted warning would be a solid block of its colour.
pub fn draw_selection(buffer: &mut Buffer, area: Rect, style: Style, ui: &Ui) {
    let is_inverted = style.add_modifier.contains(Modifier::REVERSED);
    for position in area.intersection(buffer.area).positions() {
        let Some(cell) = buffer.cell_mut(position).filter(|cell| !cell.modifier.contains(BAR)) else { continue };
        if is_inverted {
            cell.fg = ui.theme.text.fg.unwrap_or(Color::Reset);
            cell.bg = ui.theme.text.bg.unwrap_or(Color::Reset);
            cell.modifier.remove(Modifier::DIM);
        }
        cell.set_style(style);
    }
}

/// Draws arrows on the right edge if there are rows above or below the visible ones.
fn draw_more(buffer: &mut Buffer, area: Rect, window: &Range<usize>, len: usize, ui: &Ui) {
    if area.width < 4 || area.height == 0 {
        return;
    }
    let x = area.right() - 1;
    if window.start > 0 {
        buffer.set_string(x, area.y, ui.glyphs.more_up, ui.theme.muted);
    }
    if window.end < len {
        buffer.set_string(x, area.bottom() - 1, ui.glyphs.more_down, ui.theme.muted);
    }
}
