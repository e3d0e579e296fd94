//! A table that draws only the visible rows.

use super::list::{draw_list, ListState};
use super::text::{fit_end, fit_middle, pad_end, pad_start, width};
use crate::tui::ui::Ui;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use std::collections::HashMap;

/// How the texts of a column are aligned and cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Left, cut at the end: for texts.
    Text,
    /// Left, cut in the middle: for names and paths.
    Name,
    /// Right: for numbers.
    Number,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// The heading; if all are empty, no heading line is drawn.
    pub title: &'static str,
    /// The width of the column.
    pub width: Constraint,
    /// The alignment of the texts in the column.
    pub align: Align,
}

/// A cell of a table. Its text may come from the data: it is escaped when drawn.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The text of the cell.
    pub text: String,
    /// The style of the cell.
    pub style: Style,
}

impl Cell {
    /// Returns a cell with a style.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, style: Style::new() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// Draws the headings, if any column has one, and the visible rows. `row` is called with an index and returns the cells of that row.
pub fn draw_table(
    buffer: &mut Buffer,
    area: Rect,
    state: &mut ListState,
    columns: &[Column],
    focused: bool,
    ui: &Ui,
    mut row: impl FnMut(usize) -> Vec<Cell>,
) {
    let has_heading = columns.iter().any(|c| !c.title.is_empty()) && area.height > 1;
    let mut body = area;
    // The list uses three columns for its marker, and one on the right for the arrows.
    let mut widths = column_widths(columns, area.width.saturating_sub(4));
    let mut cells: HashMap<usize, Vec<Cell>> =
        state.clone().window(usize::from(area.height)).map(|at| (at, row(at))).collect();
    make_room(columns, &mut widths, &cells);
    widen_names(columns, &mut widths, &cells);
    if has_heading {
        let cells = columns.iter().map(|c| Cell::new(c.title, ui.theme.muted)).collect();
        let mut line = line_of(cells, columns, &widths, ui);
        line.spans.insert(0, "   ".into());
        line.render(Rect { height: 1, ..area }, buffer);
        body = Rect { y: area.y + 1, height: area.height - 1, ..area };
    }
    draw_list(buffer, body, state, focused, ui, |index, _| {
        let cells = cells.remove(&index).unwrap_or_else(|| row(index));
        line_of(cells, columns, &widths, ui)
    });
}

fn column_widths(columns: &[Column], width: u16) -> Vec<usize> {
    let area = Rect::new(0, 0, width, 1);
    let constraints = columns.iter().map(|c| c.width);
    Layout::horizontal(constraints).spacing(2).split(area).iter().map(|r| usize::from(r.width)).collect()
}

/// Minimum width in columns of a name if numbers need its space.
const MIN_NAME_COLUMNS: usize = 4;

/// Widens numbers to the width that they need in the visible rows, at the expense of names and texts. A column without any width is hidden.
fn make_room(columns: &[Column], widths: &mut [usize], rows: &HashMap<usize, Vec<Cell>>) {
    for (at, _) in columns.iter().enumerate().filter(|(_, column)| column.align == Align::Number) {
        let needed = rows.values().filter_map(|cells| cells.get(at)).map(|cell| width(&cell.text)).max().unwrap_or(0);
        let Some(missing) = widths.get(at).filter(|width| **width > 0).map(|width| needed.saturating_sub(*width))
        else {
            continue;
        };
        let mut left = missing;
        for align in [Align::Name, Align::Text] {
            for (other, _) in columns.iter().enumerate().filter(|(_, column)| column.align == align) {
                let Some(width) = widths.get_mut(other) else { continue };
                let given = left.min(width.saturating_sub(MIN_NAME_COLUMNS));
                *width -= given;
                left -= given;
            }
        }
        if let Some(width) = widths.get_mut(at) {
            *width += missing - left;
        }
    }
}

/// Widens a name that would be cut by the space that other columns do not need in the visible rows.
fn widen_names(columns: &[Column], widths: &mut [usize], rows: &HashMap<usize, Vec<Cell>>) {
    let needed = |at: usize| {
        let title = columns.get(at).map_or(0, |column| width(column.title));
        rows.values().filter_map(|cells| cells.get(at)).map(|cell| width(&cell.text)).fold(title, usize::max)
    };
    for (name, _) in columns.iter().enumerate().filter(|(_, column)| column.align == Align::Name) {
        for (other, _) in columns.iter().enumerate().filter(|(_, column)| column.align != Align::Name) {
            let missing = widths.get(name).map_or(0, |width| needed(name).saturating_sub(*width));
            let unused = widths.get(other).map_or(0, |width| width.saturating_sub(needed(other)));
            let given = missing.min(unused);
            if let Some(width) = widths.get_mut(name) {
                *width += given;
            }
            if let Some(width) = widths.get_mut(other) {
                *width -= given;
            }
        }
    }
}

fn line_of(cells: Vec<Cell>, columns: &[Column], widths: &[usize], ui: &Ui) -> Line<'static> {
    let mut spans = Vec::with_capacity(columns.len() * 2);
    for ((cell, column), &width) in cells.into_iter().zip(columns).zip(widths) {
        if !spans.is_empty() {
            spans.push(Span::raw("  "));
        }
        let text = match column.align {
            Align::Text => pad_end(&fit_end(&cell.text, width, ui.glyphs), width),
            Align::Name => pad_end(&fit_middle(&cell.text, width, ui.glyphs), width),
            Align::Number => pad_start(&fit_end(&cell.text, width, ui.glyphs), width),
        };
        spans.push(Span::styled(text, cell.style));
    }
    Line::from(spans)
}
