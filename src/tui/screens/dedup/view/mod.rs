//! Draws the guided dedup: the list of steps, the fields of the step, and what they come to.

mod review;
mod steps;

use super::state::{DedupState, Place};
use super::step::{Field, Kind, Step};
use crate::job::dedup::RepeatedPassage;
use crate::model::text::{count, grouped};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::screens::prepare::draw::age;
use crate::tui::widgets::layout::{below, draw_lines, row, OptionLine};
use crate::tui::widgets::{panel, text};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use ratatui::Frame;

/// Below this width the list of steps makes room.
const RAIL_FROM: u16 = 72;
const RAIL_WIDTH: u16 = 17;
/// Columns of the name of a field.
const LABEL: usize = 16;

/// Draws everything.
pub fn draw(state: &mut DedupState, frame: &mut Frame, area: Rect, ui: &Ui) {
    state.places.clear();
    let has_rail = area.width >= RAIL_FROM;
    let rail = Rect { width: if has_rail { RAIL_WIDTH } else { 0 }, ..area };
    let pane = Rect { x: area.x + rail.width, width: area.width - rail.width, ..area };
    if has_rail {
        draw_rail(state, frame.buffer_mut(), rail, ui);
    }
    let title = match has_rail {
        true => state.step.title().to_owned(),
        false => {
            let shown = state.rail.unwrap_or(state.step);
            format!("{} ({} of {})", shown.title(), shown.index() + 1, Step::ALL.len())
        }
    };
    let block = panel(&title, state.rail.is_none(), ui);
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let mut inner = Rect { x: inner.x.saturating_add(1), width: inner.width.saturating_sub(2), ..inner };
    if let Some(draft) = state.draft.filter(|_| state.step != Step::Review) {
        let key = ui.key(Context::Dedup, Action::StartAfresh);
        let words = format!("{} your answers of {} are back. ", ui.glyphs.arrow, age(draft));
        let line = Line::from(vec![
            Span::styled(words, ui.theme.accent),
            Span::styled(key, ui.theme.key),
            Span::styled(" starts afresh", ui.theme.muted),
        ]);
        draw_lines(frame.buffer_mut(), inner, [line]);
        inner = below(inner, 1);
    }
    match state.step {
        Step::Source => steps::source(state, frame, inner, ui),
        Step::Length => steps::length(state, frame, inner, ui),
        Step::Mode => steps::mode(state, frame, inner, ui),
        Step::Review => review::draw(state, frame, inner, ui),
    }
}

fn draw_rail(state: &mut DedupState, buffer: &mut Buffer, area: Rect, ui: &Ui) {
    let block = panel("Steps", state.rail.is_some(), ui);
    let inner = block.inner(area);
    block.render(area, buffer);
    state.places.put(inner, Place::Rail);
    for (y, step) in (inner.y..inner.bottom()).zip(Step::ALL) {
        let place = Rect { y, height: 1, ..inner };
        let is_broken = state.blocker(step).is_some() && (state.answered[step.index()] || step < state.step);
        let (glyph, style) = match () {
            () if step == state.step => (ui.glyphs.marker, ui.theme.accent),
            () if is_broken => (ui.glyphs.cross, ui.theme.error),
            () if state.answered[step.index()] => (ui.glyphs.check, ui.theme.ok),
            () => (" ", ui.theme.text),
        };
        let name = text::fit_end(step.title(), usize::from(place.width).saturating_sub(3), ui.glyphs);
        let name_style = if step == state.step { ui.theme.title } else { ui.theme.text };
        Line::from(vec![Span::styled(format!(" {glyph} "), style), Span::styled(name, name_style)])
            .render(place, buffer);
        if state.rail == Some(step) {
            buffer.set_style(place, ui.theme.selected);
        }
    }
}

/// Draws one field on one row.
fn draw_field(state: &mut DedupState, frame: &mut Frame, place: Rect, field: Field, ui: &Ui) {
    if place.is_empty() {
        return;
    }
    state.places.put(place, Place::Field(field));
    let focused = state.rail.is_none() && state.field() == Some(field);
    let label = text::pad_end(&format!(" {}", field.label()), LABEL);
    match field.kind() {
        Kind::Switch => {
            let sign = if state.is_on(field) { ui.glyphs.box_on } else { ui.glyphs.box_off };
            let option =
                OptionLine { sign, label: field.label(), note: field.note(), focused, label_columns: LABEL - 6 };
            option.draw(frame.buffer_mut(), place, true, ui);
        }
        Kind::Choice => {
            let (value, meaning) = state.choice(field);
            let style = if focused { ui.theme.selected } else { ui.theme.text };
            let room = usize::from(place.width).saturating_sub(LABEL + text::width(value) + 6);
            let line = Line::from(vec![
                Span::styled(label, style),
                Span::styled(format!("< {value} >"), style),
                Span::styled(format!("  {}", text::fit_end(meaning, room, ui.glyphs)), ui.theme.muted),
            ]);
            draw_lines(frame.buffer_mut(), place, [line]);
        }
        Kind::Text => {
            let style = match (state.troubles.contains_key(&field), focused) {
                (true, _) => ui.theme.error,
                (false, true) => ui.theme.accent,
                (false, false) => ui.theme.text,
            };
            draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled(label, style))]);
            let columns = u16::try_from(LABEL).unwrap_or(0).min(place.width);
            let value = Rect { x: place.x + columns, width: place.width - columns, ..place };
            let input = state.inputs.entry(field).or_default();
            input.draw(frame, value, focused, field.note(), ui);
        }
        Kind::List => {}
    }
}

/// Draws lines that may be more than fit; they are scrolled by the keys of the step.
fn draw_scrolled(state: &mut DedupState, frame: &mut Frame, area: Rect, lines: Vec<Line<'static>>, ui: &Ui) {
    state.places.put(area, Place::Below);
    let last = lines.len().saturating_sub(usize::from(area.height));
    state.offset = state.offset.min(last);
    let offset = state.offset;
    draw_lines(frame.buffer_mut(), area, lines.into_iter().skip(offset));
    if offset < last && !area.is_empty() {
        let y = area.bottom().saturating_sub(1);
        frame.buffer_mut().set_string(area.right(), y, ui.glyphs.more_down, ui.theme.accent);
    }
    if offset > 0 && !area.is_empty() {
        frame.buffer_mut().set_string(area.right(), area.y, ui.glyphs.more_up, ui.theme.accent);
    }
}

/// Words that wrap, in a style.
fn wrapped(words: &str, columns: usize, style: ratatui::style::Style) -> Vec<Line<'static>> {
    text::wrap(words, columns).into_iter().map(|line| Line::from(Span::styled(line, style))).collect()
}

/// The rows from `line` on.
fn from_row(area: Rect, line: usize) -> Rect {
    below(area, u16::try_from(line).unwrap_or(u16::MAX))
}

/// The fields of the step, one to a row from `line` on; returns the row behind them.
fn draw_fields(
    state: &mut DedupState,
    frame: &mut Frame,
    area: Rect,
    mut line: usize,
    fields: &[Field],
    ui: &Ui,
) -> usize {
    for field in fields {
        draw_field(state, frame, row(area, line), *field, ui);
        line += 1;
        if let Some(why) = state.troubles.get(field) {
            let words = format!("{}{} {why}", " ".repeat(LABEL), ui.glyphs.cross);
            draw_lines(frame.buffer_mut(), row(area, line), [Line::from(Span::styled(words, ui.theme.error))]);
            line += 1;
        }
    }
    line
}

/// The passages that repeat most, a line each: how often, how long, how they begin.
pub(in crate::tui::screens) fn passage_lines(
    passages: &[RepeatedPassage],
    most: usize,
    columns: usize,
    ui: &Ui,
) -> Vec<Line<'static>> {
    let shown: Vec<(String, String)> = passages
        .iter()
        .take(most)
        .map(|passage| (format!("{} times", grouped(passage.count)), count(passage.length, "byte")))
        .collect();
    let widest = |pick: fn(&(String, String)) -> &String| shown.iter().map(|s| text::width(pick(s))).max().unwrap_or(0);
    let (times, sizes) = (widest(|s| &s.0), widest(|s| &s.1));
    let room = columns.saturating_sub(times + sizes + 6);
    let line = |(passage, (often, size)): (&RepeatedPassage, &(String, String))| {
        let words: Vec<&str> = passage.text.split_whitespace().collect();
        Line::from(vec![
            Span::raw(format!("  {}  ", text::pad_start(often, times))),
            Span::styled(format!("{}  ", text::pad_start(size, sizes)), ui.theme.muted),
            Span::styled(text::fit_end(&words.join(" "), room, ui.glyphs), ui.theme.accent),
        ])
    };
    passages.iter().zip(&shown).map(line).collect()
}
