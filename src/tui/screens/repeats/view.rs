//! Draws documents with repeats: a list, and the text with what repeats marked.

use super::shown::shown;
use super::state::{Listed, Place, RepeatsState};
use crate::engine::dedup::look::{FileSeen, Repeats};
use crate::model::text::{bytes, count, grouped};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::draw_lines;
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{failure_lines, waiting, wrapped};
use crate::tui::widgets::{panel, text};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Below this width the list and the text take turns.
const BOTH_FROM: u16 = 72;
/// Troubles that are told where nothing else is.
const TROUBLES: usize = 8;

/// What is told beside what was found.
pub struct Told {
    /// The minimum length, in bytes.
    pub length: u64,
    /// Bytes of text read so far.
    pub read: u64,
    /// The field that holds the text; raw.
    pub text_key: String,
}

/// Draws everything.
pub fn draw(state: &mut RepeatsState, told: &Told, frame: &mut Frame, area: Rect, ui: &Ui) {
    state.places.clear();
    let waits = match state.seen.clone().as_deref() {
        None => Some(vec![waiting(&format!("looking for repeats: {} of text", bytes(told.read)), ui)]),
        Some(Err(failure)) => Some(failure_lines(failure, usize::from(area.width).saturating_sub(4), ui)),
        Some(Ok(repeats)) if repeats.changed.is_empty() => {
            Some(nothing_lines(repeats, told, usize::from(area.width).saturating_sub(4), ui))
        }
        Some(Ok(_)) => None,
    };
    if let Some(lines) = waits {
        let block = panel("Repeats", true, ui);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        draw_lines(frame.buffer_mut(), Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }, lines);
        return;
    }
    let (rows, text) = places(state.listed, state.in_text, area);
    if let Some(area) = rows {
        draw_rows(state, frame, area, ui);
    }
    if let Some(area) = text {
        draw_text(state, frame, area, ui);
    }
}

/// Where the list and the text are drawn.
pub fn places(listed: Listed, in_text: bool, area: Rect) -> (Option<Rect>, Option<Rect>) {
    if area.width < BOTH_FROM {
        return if in_text { (None, Some(area)) } else { (Some(area), None) };
    }
    // Figures of files take more room, and less of the text is looked at.
    let columns = match listed {
        Listed::Files => area.width * 3 / 5,
        _ => (area.width * 2 / 5).clamp(34, 60),
    };
    let text = Rect { x: area.x + columns, width: area.width - columns, ..area };
    (Some(Rect { width: columns, ..area }), Some(text))
}

fn nothing_lines(repeats: &Repeats, told: &Told, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let words = match repeats.is_empty() {
        true => format!("no document has text under {:?}", told.text_key),
        false => format!(
            "nothing of {} and more repeats in {}",
            count(told.length, "byte"),
            count(repeats.len() as u64, "document")
        ),
    };
    let mut lines = wrapped(&words, columns, ui.theme.text);
    for trouble in repeats.troubles.iter().take(TROUBLES) {
        let words = format!("{} {}", ui.glyphs.warn, text::safe(trouble));
        lines.push(Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), ui.theme.warn)));
    }
    lines
}

fn draw_rows(state: &mut RepeatsState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let Some(seen) = state.seen.clone() else { return };
    let Ok(repeats) = seen.as_ref() else { return };
    let (title, count) = match state.listed {
        Listed::Documents => ("Documents", repeats.changed.len()),
        Listed::Passages => ("Repeated most", repeats.passages.len()),
        Listed::Files => ("By file", repeats.files.len()),
    };
    let focused = !state.in_text;
    let block = panel(&format!("{title} {}", grouped(count as u64)), focused, ui);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    state.places.put(inner, Place::Rows);
    let listed = state.listed;
    draw_list(frame.buffer_mut(), inner, state.rows(), focused, ui, |row, columns| match listed {
        Listed::Documents => document_line(repeats, row, columns, ui),
        Listed::Passages => passage_line(repeats, row, columns, ui),
        Listed::Files => repeats.files.get(row).map_or_else(Line::default, |file| file_line(file, columns, ui)),
    });
}

fn document_line(repeats: &Repeats, row: usize, columns: usize, ui: &Ui) -> Line<'static> {
    let Some(index) = repeats.changed.get(row).copied() else { return Line::default() };
    let (name, line) = repeats.place_of(index);
    let size = text::pad_start(&bytes(repeats.removed_of(index) as u64), 10);
    let room = columns.saturating_sub(11).max(8);
    let name = text::fit_middle(&format!("{name}:{line}"), room, ui.glyphs);
    Line::from(vec![Span::raw(text::pad_end(&name, room)), Span::styled(format!(" {size}"), ui.theme.muted)])
}

fn passage_line(repeats: &Repeats, row: usize, columns: usize, ui: &Ui) -> Line<'static> {
    let Some(passage) = repeats.passages.get(row) else { return Line::default() };
    let text = repeats.text_of(passage.document);
    let begin: String =
        text.get(passage.from..passage.from + passage.bytes).unwrap_or_default().chars().take(200).collect();
    let words: Vec<&str> = begin.split_whitespace().collect();
    let figures = format!("{:>7} x {:>9} ", grouped(passage.count), bytes(passage.bytes as u64));
    let room = columns.saturating_sub(text::width(&figures));
    Line::from(vec![Span::styled(figures, ui.theme.muted), Span::raw(text::fit_end(&words.join(" "), room, ui.glyphs))])
}

fn file_line(file: &FileSeen, columns: usize, ui: &Ui) -> Line<'static> {
    before_and_after(&file.name, file.text_bytes, file.removed_bytes, columns, ui)
}

/// A file with its text before and after.
pub fn before_and_after(name: &str, all: u64, removed: u64, columns: usize, ui: &Ui) -> Line<'static> {
    let after = all.saturating_sub(removed);
    let share = removed as f64 * 100.0 / all.max(1) as f64;
    let figures = format!(" {:>9} {} {:>9} {share:>5.1} %", bytes(all), ui.glyphs.arrow, bytes(after));
    let room = columns.saturating_sub(text::width(&figures)).max(4);
    let name = text::pad_end(&text::fit_middle(name, room, ui.glyphs), room);
    Line::from(vec![Span::raw(name), Span::styled(figures, ui.theme.muted)])
}

fn draw_text(state: &mut RepeatsState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let Some(seen) = state.seen.clone() else { return };
    let (Ok(repeats), spot) = (seen.as_ref(), state.spot.clone()) else { return };
    let dot = ui.glyphs.dot;
    let title = spot.as_ref().map_or_else(String::new, |spot| {
        let (name, line) = repeats.place_of(spot.document);
        let ranges = repeats.ranges_of(spot.document).len();
        let what = match &spot.copy {
            Some((_, what)) => (*what).to_owned(),
            None if ranges == 0 => "nothing of it repeats".to_owned(),
            None => format!("range {} of {}", grouped(spot.range as u64 + 1), grouped(ranges as u64)),
        };
        format!("{name} line {} {dot} {what}", grouped(line))
    });
    let room = usize::from(area.width).saturating_sub(6);
    let block = panel(&text::fit_middle(&title, room, ui.glyphs), state.in_text, ui);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let inner = Rect { x: inner.x.saturating_add(1), width: inner.width.saturating_sub(2), ..inner };
    state.places.put(inner, Place::Text);
    let Some(spot) = spot else { return };
    let (marks, focus) = state.marks();
    let drawn = shown(repeats.text_of(spot.document), &marks, focus, ui.glyphs.ascii);
    drawn.draw(&mut state.scroll, frame, inner, ui);
}
