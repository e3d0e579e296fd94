//! Draws documents with ranges: a list, and the text with marked repeats.

use super::highlight::highlight;
use super::ranges::{ListKind, ListPlaceholder, Ranges, Row};
use super::state::{RangesPage, ScreenArea};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::draw_lines;
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{failure_lines, waiting, wrapped};
use crate::tui::widgets::{draw_panel, padded, text};
use gristmill_core::text::{bytes, grouped, percent};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Minimum width in columns for both list and text.
const BOTH_FROM: u16 = 72;
/// Maximum number of reading problems that are shown if there are no ranges.
const MAX_PROBLEMS: usize = 8;
/// Maximum number of characters of a passage in a row.
const MAX_PASSAGE_CHARS: usize = 200;
/// Minimum number of columns for the name of a file.
const MIN_NAME_COLUMNS: usize = 8;

/// Draws the page.
pub fn draw<R: Ranges>(page: &mut RangesPage<R>, frame: &mut Frame, area: Rect, ui: &Ui) {
    page.mouse_areas.clear();
    let columns = usize::from(area.width).saturating_sub(4);
    let placeholder = match page.ranges.placeholder() {
        Some(ListPlaceholder::Waits(words)) => Some(vec![waiting(&words, ui)]),
        Some(ListPlaceholder::Fails(failure)) => Some(failure_lines(failure, columns, ui)),
        Some(ListPlaceholder::Nothing(words, troubles)) => Some(nothing_lines(&words, troubles, columns, ui)),
        None => None,
    };
    if let Some(lines) = placeholder {
        let inner = draw_panel(frame, area, "Repeats", true, ui);
        return draw_lines(frame.buffer_mut(), indented(inner), lines);
    }
    let (rows, text) = areas(page.listed, page.in_text, area);
    if let Some(area) = rows {
        draw_rows(page, frame, area, ui);
    }
    if let Some(area) = text {
        draw_text(page, frame, area, ui);
    }
}

fn areas(listed: ListKind, in_text: bool, area: Rect) -> (Option<Rect>, Option<Rect>) {
    if area.width < BOTH_FROM {
        return if in_text { (None, Some(area)) } else { (Some(area), None) };
    }
    // The list of files has more figures, and its text is less important.
    let columns = match listed {
        ListKind::Files => area.width * 3 / 5,
        _ => (area.width * 2 / 5).clamp(34, 60),
    };
    let text = Rect { x: area.x + columns, width: area.width - columns, ..area };
    (Some(Rect { width: columns, ..area }), Some(text))
}

/// Returns an area without its first and last column.
fn indented(area: Rect) -> Rect {
    padded(area)
}

fn nothing_lines(words: &str, troubles: &[String], columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = wrapped(words, columns, ui.theme.text);
    for trouble in troubles.iter().take(MAX_PROBLEMS) {
        let words = format!("{} {}", ui.glyphs.warn, text::safe(trouble));
        lines.push(Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), ui.theme.warn)));
    }
    lines
}

fn draw_rows<R: Ranges>(page: &mut RangesPage<R>, frame: &mut Frame, area: Rect, ui: &Ui) {
    let (listed, focused) = (page.listed, !page.in_text);
    let title = match listed {
        ListKind::Documents => "Documents",
        ListKind::Passages => "Repeated most",
        ListKind::Files => "By file",
    };
    let count = page.ranges.len(listed);
    let title = format!("{title} {}", grouped(count as u64));
    let inner = draw_panel(frame, area, &title, focused, ui);
    page.mouse_areas.add(inner, ScreenArea::Rows);
    if listed == ListKind::Documents {
        page.ranges.need(page.lists.documents.window(usize::from(inner.height)));
    }
    // The last column is for the arrows of the list.
    let sign = usize::from(count > usize::from(inner.height));
    let (ranges, list) = (&page.ranges, page.lists.of(listed));
    draw_list(frame.buffer_mut(), inner, list, focused, ui, |row, columns| {
        let number = || Line::from(Span::styled(grouped(row as u64 + 1), ui.theme.muted));
        ranges.row(listed, row).map_or_else(number, |row| line(row, columns.saturating_sub(sign), ui))
    });
}

fn line(row: Row, columns: usize, ui: &Ui) -> Line<'static> {
    match row {
        Row::Document(name, line, removed) => {
            let size = text::pad_start(&bytes(removed), 10);
            named(&format!("{name}:{line}"), MIN_NAME_COLUMNS, format!(" {size}"), columns, ui)
        }
        Row::Passage(count, length, begin) => {
            let begin: String = begin.chars().take(MAX_PASSAGE_CHARS).collect();
            let words: Vec<&str> = begin.split_whitespace().collect();
            let figures = format!("{:>7} x {:>9} ", grouped(count), bytes(length));
            let room = columns.saturating_sub(text::width(&figures));
            let words = Span::raw(text::fit_end(&words.join(" "), room, ui.glyphs));
            Line::from(vec![Span::styled(figures, ui.theme.muted), words])
        }
        Row::File(name, all, removed) => {
            let after = bytes(all.saturating_sub(removed));
            let share = percent(removed as f64 / all.max(1) as f64);
            let figures = format!(" {:>9} {} {after:>9} {share:>7}", bytes(all), ui.glyphs.arrow);
            named(name, 4, figures, columns, ui)
        }
    }
}

/// Returns a line with a name in at least `least` columns, followed by figures.
fn named(name: &str, least: usize, figures: String, columns: usize, ui: &Ui) -> Line<'static> {
    let room = columns.saturating_sub(text::width(&figures)).max(least);
    let name = text::pad_end(&text::fit_middle(name, room, ui.glyphs), room);
    Line::from(vec![Span::raw(name), Span::styled(figures, ui.theme.muted)])
}

fn draw_text<R: Ranges>(page: &mut RangesPage<R>, frame: &mut Frame, area: Rect, ui: &Ui) {
    let title = title(page, usize::from(area.width).saturating_sub(6), ui);
    let inner = indented(draw_panel(frame, area, &title, page.in_text, ui));
    page.mouse_areas.add(inner, ScreenArea::Text);
    let columns = usize::from(inner.width);
    let lines = match page.displayed.as_ref().map(|spot| page.ranges.text(spot.at)) {
        None => no_text_lines(page, columns, ui),
        Some(None) => vec![waiting("reading the document", ui)],
        Some(Some(Err(failure))) => failure_lines(failure, columns, ui),
        Some(Some(Ok(text))) => {
            let (marks, focus) = page.marks();
            let drawn = highlight(text.text, &marks, focus, ui.glyphs.ascii);
            return drawn.draw(&mut page.scroll, frame, inner, ui);
        }
    };
    draw_lines(frame.buffer_mut(), inner, lines);
}

/// Returns lines about the reason why a row has no text.
fn no_text_lines<R: Ranges>(page: &mut RangesPage<R>, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let row = page.rows().selected;
    match page.ranges.row(page.listed, row) {
        Some(Row::File(..)) => wrapped("Nothing in this file repeats.", columns, ui.theme.muted),
        Some(Row::Passage(_, _, begin)) => {
            let why = "Its places that the run saw first are in the earlier set, which stays as it is.";
            let mut lines = wrapped(why, columns, ui.theme.muted);
            lines.extend(wrapped(begin, columns, ui.theme.text));
            lines
        }
        Some(Row::Document(..)) | None => Vec::new(),
    }
}

/// Returns the title of the text pane, at most `columns` wide; the name is shortened first.
fn title<R: Ranges>(page: &RangesPage<R>, columns: usize, ui: &Ui) -> String {
    let Some(spot) = &page.displayed else { return String::new() };
    let (dot, place) = (ui.glyphs.dot, page.ranges.place(spot.at));
    let mut rest = match (&place, page.ranges.row_of(spot.at)) {
        (Some(place), _) => format!(" line {}", grouped(place.line)),
        (None, row) => row.map_or_else(String::new, |row| format!("document {}", grouped(row as u64 + 1))),
    };
    let ranges = page.text().map(|text| text.ranges.len() as u64);
    rest += &match (&spot.copy, ranges) {
        (_, None) => String::new(),
        (Some(copy), _) => format!(" {dot} {}", copy.what),
        (None, Some(0)) => format!(" {dot} nothing of it repeats"),
        (None, Some(all)) => {
            let (word, number) = (page.ranges.range_word(), grouped(spot.range as u64 + 1));
            format!(" {dot} {word} {number} of {}", grouped(all))
        }
    };
    let room = columns.saturating_sub(text::width(&rest)).max(MIN_NAME_COLUMNS);
    let name = place.map_or_else(String::new, |place| text::fit_middle(place.name, room, ui.glyphs));
    text::fit_end(&format!("{name}{rest}"), columns, ui.glyphs)
}
