//! Divides panes from top to bottom, and creates lines that several screens use: headings, options, problems.

use super::list::draw_selection;
use super::text;
use crate::tui::ui::Ui;
use gristmill_core::{Problem, Severity, Subject};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

/// One of several vertically stacked parts of a pane.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Minimum number of rows; with fewer, the section is not drawn.
    pub min: u16,
    /// Maximum number of rows that it can use.
    pub max_rows: u16,
    /// If there is not enough space, sections with the lowest rank are omitted first. The focused section has [`Section::FOCUS`].
    pub rank: u8,
}

impl Section {
    /// The rank of a section that is never omitted.
    pub const FOCUS: u8 = u8::MAX;

    /// Returns a section of a fixed height.
    pub fn fixed(rows: usize, rank: u8) -> Self {
        let rows = u16::try_from(rows).unwrap_or(u16::MAX);
        Self { min: rows, max_rows: rows, rank }
    }
    /// Returns a section that grows with the available rows.
    pub fn growing(min: u16, want: usize, rank: u8) -> Self {
        let want = u16::try_from(want).unwrap_or(u16::MAX).max(min);
        Self { min, max_rows: want, rank }
    }
}

/// Divides `area` among sections from top to bottom. If there is not enough space, sections with low ranks are omitted; spare rows are
/// given first to the sections that can use fewest.
pub fn stack(area: Rect, sections: &[Section]) -> Vec<Rect> {
    let mut heights: Vec<u16> = sections.iter().map(|s| s.min).collect();
    let mut by_rank: Vec<usize> = (0..sections.len()).collect();
    by_rank.sort_by_key(|&i| sections[i].rank);
    for &i in &by_rank {
        let sum: u32 = heights.iter().map(|h| u32::from(*h)).sum();
        if sum <= u32::from(area.height) {
            break;
        }
        let over = u16::try_from(sum - u32::from(area.height)).unwrap_or(u16::MAX);
        heights[i] = if sections[i].rank == Section::FOCUS { heights[i].saturating_sub(over) } else { 0 };
    }
    let used: u16 = heights.iter().sum();
    let mut left = area.height.saturating_sub(used);
    let mut by_want: Vec<usize> = (0..sections.len()).filter(|&i| heights[i] > 0).collect();
    by_want.sort_by_key(|&i| sections[i].max_rows);
    for i in by_want {
        let more = (sections[i].max_rows - heights[i].min(sections[i].max_rows)).min(left);
        heights[i] += more;
        left -= more;
    }
    let mut y = area.y;
    let place = |height: u16| {
        let rect = Rect { y, height, ..area };
        y += height;
        rect
    };
    heights.into_iter().map(place).collect()
}

/// Returns the part of an area below its first rows.
pub fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// Draws lines from the top of an area; lines that do not fit are omitted.
pub fn draw_lines(buffer: &mut Buffer, area: Rect, lines: impl IntoIterator<Item = Line<'static>>) {
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        line.render(Rect { y, height: 1, ..area }, buffer);
    }
}

/// Returns a heading inside a pane.
pub fn heading(words: &str, ui: &Ui) -> Line<'static> {
    Line::from(Span::styled(words.to_owned(), ui.theme.title))
}

/// A line with an option of a choice, or with a switch.
pub struct OptionLine<'a> {
    /// The sign before the label.
    pub sign: &'static str,
    /// The name of the option.
    pub label: &'a str,
    /// An explanation after the label.
    pub note: &'a str,
    /// Whether the cursor is on it.
    pub focused: bool,
    /// Columns of the label, so that notes are aligned.
    pub label_columns: usize,
}

impl OptionLine<'_> {
    /// Draws it on the first row of `area`; `in_focus` is whether its pane has the focus.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, in_focus: bool, ui: &Ui) {
        if area.is_empty() {
            return;
        }
        let row = Rect { height: 1, ..area };
        let label = text::pad_end(&text::safe(self.label), self.label_columns);
        let room = usize::from(row.width).saturating_sub(text::width(&label) + 8);
        let line = Line::from(vec![
            Span::raw(format!(" {} ", self.sign)),
            Span::raw(label),
            Span::raw("  "),
            Span::styled(text::fit_end(self.note, room, ui.glyphs), ui.theme.muted),
        ]);
        line.render(row, buffer);
        if self.focused {
            let style = if in_focus { ui.theme.selected } else { ui.theme.selected_idle };
            draw_selection(buffer, row, style, ui);
        }
    }
}

/// Returns the sign and the style of a severity. The sign is unambiguous without colours.
pub fn severity_sign(severity: Severity, ui: &Ui) -> (&'static str, Style) {
    match severity {
        Severity::Refusal => (ui.glyphs.cross, ui.theme.error),
        Severity::Problem => (ui.glyphs.warn, ui.theme.warn),
        Severity::Note => (ui.glyphs.dot, ui.theme.muted),
    }
}

/// Returns a problem as wrapped lines with its sign on the first line, and its hint below.
pub fn problem_lines(problem: &Problem, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let (sign, style) = severity_sign(problem.severity, ui);
    let mut lines = Vec::new();
    // The message or the screen already names a field, flag or split.
    let is_named = problem.subject == Subject { field: problem.subject.field.clone(), ..Subject::default() };
    let words = if is_named { problem.message.clone() } else { problem.to_string() };
    for (index, part) in text::wrap(&words, columns.saturating_sub(2)).into_iter().enumerate() {
        let sign = if index == 0 { sign } else { " " };
        lines.push(Line::from(Span::styled(format!("{sign} {part}"), style)));
    }
    for part in problem.hint.iter().flat_map(|h| text::wrap(h, columns.saturating_sub(2))) {
        lines.push(Line::from(Span::styled(format!("  {part}"), ui.theme.muted)));
    }
    lines
}

/// Returns one row of an area; empty if the row does not exist.
pub fn row(area: Rect, line: usize) -> Rect {
    let y = area.y.saturating_add(u16::try_from(line).unwrap_or(u16::MAX));
    Rect { y, height: 1, ..area }.intersection(area)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heights(height: u16, sections: &[Section]) -> Vec<u16> {
        stack(Rect::new(0, 0, 10, height), sections).iter().map(|r| r.height).collect()
    }

    #[test]
    fn gives_space_to_growing_sections_and_drops_lowest_rank() {
        let sections = [Section::fixed(2, 1), Section::growing(3, 1000, Section::FOCUS), Section::growing(1, 4, 2)];
        assert_eq!(heights(20, &sections), [2, 14, 4]);
        assert_eq!(heights(6, &sections), [2, 3, 1]);
        assert_eq!(heights(5, &sections), [0, 3, 2]);
        assert_eq!(heights(3, &sections), [0, 3, 0]);
        assert_eq!(heights(1, &sections), [0, 1, 0]);
        assert_eq!(heights(0, &sections), [0, 0, 0]);
    }
}
