//! What the steps draw alike: the frame with the list of steps, stacked sections, options, findings.

use super::state::Wizard;
use super::step::Step;
use super::{field_map, review, run, sample_type, source, splits};
use crate::model::{text as words, Problem, Severity};
use crate::tui::screen::Ui;
use crate::tui::widgets::{panel, text};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::Frame;

/// Below this width the list of steps makes room.
const RAIL_FROM: u16 = 72;
const RAIL_WIDTH: u16 = 18;

/// What drawing needs besides the state.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// Styles, glyphs, keys.
    pub ui: &'a Ui<'a>,
    /// The step has the focus, not the list of steps.
    pub focused: bool,
    /// Shards are being read at this moment.
    pub is_scanning: bool,
    /// How pictures become cells.
    pub depth: crate::preview::cells::Depth,
}

/// Draws the whole guided prepare. Returns where the list of steps is, for the mouse.
pub fn draw(wizard: &mut Wizard, frame: &mut Frame, area: Rect, look: &Look) -> Rect {
    let ui = look.ui;
    let has_rail = area.width >= RAIL_FROM;
    let rail = Rect { width: if has_rail { RAIL_WIDTH } else { 0 }, ..area };
    let pane = Rect { x: area.x + rail.width, width: area.width - rail.width, ..area };
    if has_rail {
        draw_rail(wizard, frame.buffer_mut(), rail, ui);
    }
    let look = Look { focused: wizard.rail.is_none(), is_scanning: wizard.is_scanning, ..*look };
    let title = match has_rail {
        true => wizard.step.title().to_owned(),
        false => {
            let shown = wizard.rail.unwrap_or(wizard.step);
            let arrow = if wizard.rail.is_some() { "Enter: go to " } else { "" };
            format!("{arrow}{} ({} of {})", shown.title(), shown.index() + 1, Step::ALL.len())
        }
    };
    let block = panel(&title, look.focused, ui);
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let mut inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    if let Some(line) = draft_line(wizard, ui) {
        line.render(Rect { height: 1, ..inner }.intersection(inner), frame.buffer_mut());
        inner = below(inner, 1);
    }
    match wizard.step {
        Step::Source => source::view::draw(&mut wizard.source, frame, inner, &wizard.answers, &look),
        Step::Splits => splits::view::draw(&mut wizard.splits, frame, inner, &wizard.answers, &look),
        Step::SampleType => sample_type::view::draw(&mut wizard.sample_type, frame, inner, &wizard.answers, &look),
        Step::FieldMap => field_map::view::draw(&mut wizard.field_map, frame, inner, &wizard.answers, &look),
        Step::Review => review::view::draw(&mut wizard.review, frame, inner, &wizard.answers, &look),
        Step::Run => run::view::draw(&mut wizard.run, frame, inner, &wizard.answers, &look),
    }
    rail
}

fn draft_line(wizard: &Wizard, ui: &Ui) -> Option<Line<'static>> {
    if let Some(words) = wizard.continues().filter(|_| wizard.step != Step::Run) {
        return Some(Line::from(vec![
            Span::styled(format!("{} ", ui.glyphs.arrow), ui.theme.accent),
            Span::raw(words),
        ]));
    }
    let draft = wizard.draft.as_ref().filter(|_| !wizard.is_dirty && wizard.step != Step::Run)?;
    Some(Line::from(vec![
        Span::styled(format!("{} ", ui.glyphs.arrow), ui.theme.accent),
        Span::raw(format!("draft from {} found: your answers are back. ", age(draft.age))),
        Span::styled("N", ui.theme.key),
        Span::styled(" starts afresh", ui.theme.muted),
    ]))
}

/// `just now`, `5 minutes ago`, `3 hours ago`, `2 days ago`.
pub fn age(time: std::time::Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => "just now".into(),
        60..3600 => format!("{} ago", words::count(seconds / 60, "minute")),
        3600..86_400 => format!("{} ago", words::count(seconds / 3600, "hour")),
        _ => format!("{} ago", words::count(seconds / 86_400, "day")),
    }
}

fn draw_rail(wizard: &Wizard, buffer: &mut Buffer, area: Rect, ui: &Ui) {
    let focused = wizard.rail.is_some();
    let block = panel("Steps", focused, ui);
    let inner = block.inner(area);
    block.render(area, buffer);
    for (y, step) in (inner.y..inner.bottom()).zip(Step::ALL) {
        let row = Rect { y, height: 1, ..inner };
        let skipped = wizard.is_skipped(step);
        let broken = wizard.is_broken(step);
        let (glyph, style) = if step == wizard.step {
            (ui.glyphs.marker, ui.theme.accent)
        } else if skipped {
            (ui.glyphs.dash, ui.theme.muted)
        } else if broken {
            (ui.glyphs.cross, ui.theme.error)
        } else if wizard.answered[step.index()] {
            (ui.glyphs.check, ui.theme.ok)
        } else {
            (" ", ui.theme.text)
        };
        let name_style = match (step == wizard.step, wizard.why_not(step).is_some()) {
            (true, _) => ui.theme.title,
            (false, true) => ui.theme.disabled,
            (false, false) => ui.theme.text,
        };
        // The step on the screen keeps its marker and has the cross behind it.
        let (sign, second) = match broken && step == wizard.step {
            true => (glyph.to_owned(), format!("{} ", ui.glyphs.cross)),
            false => (format!(" {glyph} "), String::new()),
        };
        let line = Line::from(vec![
            Span::styled(sign, style),
            Span::styled(second, ui.theme.error),
            Span::styled(text::fit_end(step.title(), usize::from(row.width).saturating_sub(3), ui.glyphs), name_style),
        ]);
        line.render(row, buffer);
        if wizard.rail == Some(step) {
            buffer.set_style(row, ui.theme.selected);
        }
    }
}

/// One of several parts of a step that stand below each other.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Rows without which it makes no sense.
    pub min: u16,
    /// Rows it can use.
    pub want: u16,
    /// What goes first when there is no room: the lowest. The section in focus has [`Section::FOCUS`].
    pub rank: u8,
}

impl Section {
    /// Never left out.
    pub const FOCUS: u8 = u8::MAX;

    /// A section of a fixed height.
    pub fn fixed(rows: usize, rank: u8) -> Self {
        let rows = u16::try_from(rows).unwrap_or(u16::MAX);
        Self { min: rows, want: rows, rank }
    }
    /// A section that grows with the room there is.
    pub fn growing(min: u16, want: usize, rank: u8) -> Self {
        let want = u16::try_from(want).unwrap_or(u16::MAX).max(min);
        Self { min, want, rank }
    }
}

/// Divides `area` among sections from top to bottom. Where there is no room the least important get nothing; what is
/// left goes first to those that want least.
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
    by_want.sort_by_key(|&i| sections[i].want);
    for i in by_want {
        let more = (sections[i].want - heights[i].min(sections[i].want)).min(left);
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

/// What is left of an area below its first rows.
pub fn below(area: Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    Rect { y: area.y + rows, height: area.height - rows, ..area }
}

/// Draws lines from the top of an area; what does not fit is left out.
pub fn draw_lines(buffer: &mut Buffer, area: Rect, lines: impl IntoIterator<Item = Line<'static>>) {
    for (y, line) in (area.y..area.bottom()).zip(lines) {
        line.render(Rect { y, height: 1, ..area }, buffer);
    }
}

/// A heading inside a pane.
pub fn heading(words: &str, ui: &Ui) -> Line<'static> {
    Line::from(Span::styled(words.to_owned(), ui.theme.title))
}

/// One option of several, or a switch.
pub struct OptionLine<'a> {
    /// The sign before it.
    pub sign: &'static str,
    /// What it is called.
    pub label: &'a str,
    /// What it means.
    pub note: &'a str,
    /// The cursor is on it.
    pub focused: bool,
    /// Columns of the label, so that notes stand below each other.
    pub label_columns: usize,
}

impl OptionLine<'_> {
    /// Draws it on the first row of `area`.
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, look: &Look) {
        if area.is_empty() {
            return;
        }
        let ui = look.ui;
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
            let style = if look.focused { ui.theme.selected } else { ui.theme.selected_idle };
            buffer.set_style(row, style);
        }
    }
}

/// The sign and the style of a severity. The sign tells it without colours, too.
pub fn severity_sign(severity: Severity, ui: &Ui) -> (&'static str, Style) {
    match severity {
        Severity::Refusal => (ui.glyphs.cross, ui.theme.error),
        Severity::Problem => (ui.glyphs.warn, ui.theme.warn),
        Severity::Note => (ui.glyphs.dot, ui.theme.muted),
    }
}

/// A problem as wrapped lines with its sign, and its hint below.
pub fn problem_lines(problem: &Problem, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let (sign, style) = severity_sign(problem.severity, ui);
    let mut lines = Vec::new();
    for (index, part) in text::wrap(&problem.message, columns.saturating_sub(2)).into_iter().enumerate() {
        let sign = if index == 0 { sign } else { " " };
        lines.push(Line::from(Span::styled(format!("{sign} {part}"), style)));
    }
    for part in problem.hint.iter().flat_map(|h| text::wrap(h, columns.saturating_sub(2))) {
        lines.push(Line::from(Span::styled(format!("  {part}"), ui.theme.muted)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heights(height: u16, sections: &[Section]) -> Vec<u16> {
        stack(Rect::new(0, 0, 10, height), sections).iter().map(|r| r.height).collect()
    }

    #[test]
    fn room_goes_to_what_grows_and_the_least_important_makes_way() {
        let sections = [Section::fixed(2, 1), Section::growing(3, 1000, Section::FOCUS), Section::growing(1, 4, 2)];
        assert_eq!(heights(20, &sections), [2, 14, 4]);
        assert_eq!(heights(6, &sections), [2, 3, 1]);
        assert_eq!(heights(5, &sections), [0, 3, 2]);
        assert_eq!(heights(3, &sections), [0, 3, 0]);
        assert_eq!(heights(1, &sections), [0, 1, 0]);
        assert_eq!(heights(0, &sections), [0, 0, 0]);
    }

    #[test]
    fn ages_are_told_in_words() {
        let of = |s| age(std::time::Duration::from_secs(s));
        assert_eq!([of(5), of(60), of(7200), of(100_000)], ["just now", "1 minute ago", "2 hours ago", "1 day ago"]);
    }
}
