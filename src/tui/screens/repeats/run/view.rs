//! Draws what a run removed: a list, and the text with its ranges marked.

use super::super::shown::shown;
use super::super::state::{Listed, Place};
use super::super::view::{before_and_after, places};
use super::state::{At, RunState};
use crate::engine::dedup::removed::{Document, KnownPassage, RangesOfFile, Removed};
use crate::model::dedup::Mode;
use crate::model::text::{bytes, count, grouped};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::draw_lines;
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{failure_lines, waiting, wrapped};
use crate::tui::widgets::{panel, text};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Draws everything; gives the rows in view that are not known, from which one on and how many.
pub fn draw(state: &mut RunState, frame: &mut Frame, area: Rect, ui: &Ui) -> Option<(u64, usize)> {
    state.places.clear();
    let columns = usize::from(area.width).saturating_sub(4);
    let waits = match state.removed.clone().as_deref() {
        None => Some(vec![waiting("opening what the run found", ui)]),
        Some(Err(failure)) => Some(failure_lines(failure, columns, ui)),
        Some(Ok(removed)) if removed.is_empty() => Some(nothing_lines(removed, columns, ui)),
        Some(Ok(_)) => None,
    };
    if let Some(lines) = waits {
        let block = panel("Repeats", true, ui);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        draw_lines(frame.buffer_mut(), Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner }, lines);
        return None;
    }
    let (rows, text) = places(state.listed, state.in_text, area);
    let missing = rows.and_then(|area| draw_rows(state, frame, area, ui));
    if let Some(area) = text {
        draw_text(state, frame, area, ui);
    }
    missing
}

fn nothing_lines(removed: &Removed, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let directory = removed.directory();
    let (length, files) = (count(directory.min_length, "byte"), count(directory.files.len() as u64, "file"));
    wrapped(&format!("The run found nothing of {length} and more that repeats in {files}."), columns, ui.theme.text)
}

fn draw_rows(state: &mut RunState, frame: &mut Frame, area: Rect, ui: &Ui) -> Option<(u64, usize)> {
    let removed = state.removed.clone()?;
    let Ok(removed) = removed.as_ref() else { return None };
    let directory = removed.directory();
    let (title, count) = match state.listed {
        Listed::Documents => ("Documents", removed.len()),
        Listed::Passages => ("Repeated most", directory.passages.len() as u64),
        Listed::Files => ("By file", directory.files.len() as u64),
    };
    let focused = !state.in_text;
    let block = panel(&format!("{title} {}", grouped(count)), focused, ui);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    state.places.put(inner, Place::Rows);
    let listed = state.listed;
    let window = state.rows().window(usize::from(inner.height));
    let missing = if listed == Listed::Documents { state.missing(window) } else { None };
    let known = std::mem::take(&mut state.known);
    draw_list(frame.buffer_mut(), inner, state.rows(), focused, ui, |row, columns| match listed {
        Listed::Documents => match known.get(&(row as u64)) {
            Some(document) => document_line(removed, document, columns, ui),
            None => Line::from(Span::styled(grouped(row as u64 + 1), ui.theme.muted)),
        },
        Listed::Passages => {
            directory.passages.get(row).map_or_else(Line::default, |one| passage_line(one, columns, ui))
        }
        Listed::Files => directory.files.get(row).map_or_else(Line::default, |file| file_line(file, columns, ui)),
    });
    state.known = known;
    missing
}

fn document_line(removed: &Removed, document: &Document, columns: usize, ui: &Ui) -> Line<'static> {
    let name = removed.directory().files.get(document.file).map_or("", |file| file.source.name.as_str());
    let size = text::pad_start(&bytes(document.removed()), 10);
    let room = columns.saturating_sub(11).max(8);
    let name = text::fit_middle(&format!("{name}:{}", document.line.saturating_add(1)), room, ui.glyphs);
    Line::from(vec![Span::raw(text::pad_end(&name, room)), Span::styled(format!(" {size}"), ui.theme.muted)])
}

fn passage_line(passage: &KnownPassage, columns: usize, ui: &Ui) -> Line<'static> {
    let words: Vec<&str> = passage.text.split_whitespace().collect();
    let figures = format!("{:>7} x {:>9} ", grouped(passage.count), bytes(passage.length));
    let room = columns.saturating_sub(text::width(&figures));
    Line::from(vec![Span::styled(figures, ui.theme.muted), Span::raw(text::fit_end(&words.join(" "), room, ui.glyphs))])
}

fn file_line(file: &RangesOfFile, columns: usize, ui: &Ui) -> Line<'static> {
    before_and_after(&file.source.name, file.text_bytes, file.removed_bytes, columns, ui)
}

fn draw_text(state: &mut RunState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let Some(removed) = state.removed.clone() else { return };
    let Ok(removed) = removed.as_ref() else { return };
    let title = title(state, removed, ui);
    let room = usize::from(area.width).saturating_sub(6);
    let block = panel(&text::fit_middle(&title, room, ui.glyphs), state.in_text, ui);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let inner = Rect { x: inner.x.saturating_add(1), width: inner.width.saturating_sub(2), ..inner };
    state.places.put(inner, Place::Text);
    let columns = usize::from(inner.width);
    let Some(spot) = state.spot.clone() else {
        let why = match state.listed {
            Listed::Passages => "Its places that the run saw first are in the earlier set, which stays as it is.",
            _ => "Nothing in this file repeats.",
        };
        let passage = directory_passage(state, removed).filter(|_| state.listed == Listed::Passages);
        let mut lines = wrapped(why, columns, ui.theme.muted);
        if let Some(passage) = passage {
            lines.extend(wrapped(&text::safe(&passage.text), columns, ui.theme.text));
        }
        return draw_lines(frame.buffer_mut(), inner, lines);
    };
    match state.page.clone().filter(|(at, _)| *at == spot.at).as_ref().map(|(_, page)| page.as_ref()) {
        None => draw_lines(frame.buffer_mut(), inner, [waiting("reading the document", ui)]),
        Some(Err(failure)) => draw_lines(frame.buffer_mut(), inner, failure_lines(failure, columns, ui)),
        Some(Ok(page)) => {
            let (marks, focus) = state.marks();
            shown(&page.text, &marks, focus, ui.glyphs.ascii).draw(&mut state.scroll, frame, inner, ui);
        }
    }
}

fn directory_passage<'a>(state: &RunState, removed: &'a Removed) -> Option<&'a KnownPassage> {
    removed.directory().passages.get(state.passages.selected)
}

/// Where one is.
fn title(state: &RunState, removed: &Removed, ui: &Ui) -> String {
    let (dot, Some(spot)) = (ui.glyphs.dot, &state.spot) else { return String::new() };
    let Some(page) = state.shown() else {
        return match spot.at {
            At::Number(number) => match state.known.get(&number) {
                Some(known) => place(removed, known.file + removed.directory().earlier.len(), known.line),
                None => format!("document {}", grouped(number + 1)),
            },
            At::Line(source, _, line) => place(removed, source, line),
        };
    };
    let ranges = page.ranges.len();
    let what = match &spot.copy {
        Some(copy) => copy.what.to_owned(),
        None if ranges == 0 => "nothing of it was found to repeat".to_owned(),
        None => {
            let verb = if removed.directory().mode == Mode::Remove { "removed" } else { "listed" };
            format!("{verb} {} of {}", grouped(spot.range as u64 + 1), grouped(ranges as u64))
        }
    };
    format!("{} {dot} {what}", place(removed, page.source, page.line))
}

/// A file and a line of it, counted from 0.
fn place(removed: &Removed, source: usize, line: u64) -> String {
    let name = removed.source(source).map_or("", |source| source.name.as_str());
    format!("{name} line {}", grouped(line.saturating_add(1)))
}
