//! Draws the mixture: the folders with what becomes of them, the other answers, what to know.

use super::state::{MixtureState, Place, Row, Stop};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{below, draw_lines, problem_lines, row};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{command_lines, draw_scrolled, failure_lines, trouble_lines, waiting, wrapped};
use crate::tui::widgets::{panel, text};
use gristmill_core::text::{count, grouped};
use gristmill_ops::engine::nanosets::mixture::Share;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Columns of the figures of a row.
const FIGURES: usize = 52;

/// Draws everything.
pub fn draw(state: &mut MixtureState, frame: &mut Frame, area: Rect, ui: &Ui) {
    state.places.clear();
    let block = panel("Mixture of token folders", true, ui);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let inner = Rect { x: inner.x.saturating_add(1), width: inner.width.saturating_sub(2), ..inner };
    let columns = usize::from(inner.width);
    let say = |frame: &mut Frame, words: &str, style| {
        draw_lines(frame.buffer_mut(), inner, wrapped(words, columns, style));
    };
    match &state.rows {
        None => return say(frame, &format!("{} looking for token folders", ui.spinner()), ui.theme.accent),
        Some(Err(why)) => return say(frame, &format!("{} {why}", ui.glyphs.cross), ui.theme.error),
        Some(Ok(rows)) if rows.is_empty() => {
            let words = "No folder of .ds files was found here. The guided pack makes them: key t on a .jsonl file. \
                         A folder elsewhere is added by its path.";
            say(frame, words, ui.theme.text);
            let lines = wrapped(words, columns, ui.theme.text).len();
            return draw_field(state, frame, row(inner, lines + 1), Stop::Folder, ui);
        }
        Some(Ok(_)) => {}
    }
    draw_lines(frame.buffer_mut(), inner, [head(columns, ui)]);
    let rows = u16::try_from(state.list.len).unwrap_or(u16::MAX).min(inner.height.saturating_sub(11)).max(2);
    let list = Rect { height: rows.min(inner.height), ..below(inner, 1) };
    draw_rows(state, frame, list, ui);
    let mut line = usize::from(rows) + 2;
    for stop in Stop::ALL.into_iter().filter(|stop| *stop != Stop::List) {
        draw_field(state, frame, row(inner, line), stop, ui);
        line += 1;
    }
    let rest = below(inner, u16::try_from(line + 1).unwrap_or(u16::MAX));
    state.places.put(rest, Place::Below);
    let lines = told(state, columns, ui);
    draw_scrolled(frame, rest, &mut state.offset, lines, ui);
}

fn head(columns: usize, ui: &Ui) -> Line<'static> {
    let name = text::pad_end("      data set", columns.saturating_sub(FIGURES + 1));
    let figures = format!("{:>12} {:>8} {:>9} {:>9} {:>9}", "windows", "weight", "share", "repeats", "unread");
    Line::from(Span::styled(format!("{name}{figures}"), ui.theme.muted))
}

fn draw_rows(state: &mut MixtureState, frame: &mut Frame, area: Rect, ui: &Ui) {
    state.places.put(area, Place::Rows);
    let focused = state.stop == Stop::List;
    let length = state.length();
    let shares: Vec<Share> = match state.worked_now() {
        Some(Ok(worked)) => worked.outlook.members.clone(),
        _ => Vec::new(),
    };
    let samples: u64 = shares.iter().map(|share| share.samples).sum();
    let rows: Vec<Row> = state.rows().to_vec();
    let mut list = std::mem::take(&mut state.list);
    draw_list(frame.buffer_mut(), area, &mut list, focused, ui, |index, columns| {
        let Some(row) = rows.get(index) else { return Line::default() };
        let sign = if row.chosen { ui.glyphs.box_on } else { ui.glyphs.box_off };
        let room = columns.saturating_sub(FIGURES + 4).max(6);
        let name = text::pad_end(&text::fit_middle(&row.member.name, room, ui.glyphs), room);
        if let Some(why) = &row.member.trouble {
            let words = text::fit_end(&format!("{} {why}", ui.glyphs.cross), FIGURES, ui.glyphs);
            return Line::from(vec![Span::raw(format!("{sign} {name} ")), Span::styled(words, ui.theme.error)]);
        }
        let windows = length.map_or_else(String::new, |length| grouped(row.member.windows(length)));
        let before = rows.iter().take(index).filter(|row| row.chosen).count();
        let share = shares.get(before).filter(|_| row.chosen);
        let figures = match share {
            Some(share) => {
                let part = share.samples as f64 * 100.0 / samples.max(1) as f64;
                let unread = share.unread as f64 * 100.0 / share.windows.max(1) as f64;
                format!(
                    "{windows:>12} {:>8} {part:>7.1} % {:>8.2}x {unread:>7.1} %",
                    text::fit_end(&row.weight, 8, ui.glyphs),
                    share.repeats
                )
            }
            None => format!("{windows:>12} {:>8}", if row.chosen { row.weight.as_str() } else { "" }),
        };
        let style = if row.chosen { ui.theme.text } else { ui.theme.muted };
        Line::from(vec![Span::styled(format!("{sign} {name} "), style), Span::styled(figures, style)])
    });
    state.list = list;
}

fn draw_field(state: &mut MixtureState, frame: &mut Frame, place: Rect, stop: Stop, ui: &Ui) {
    if place.is_empty() {
        return;
    }
    state.places.put(place, Place::Field(stop));
    let (label, note) = match stop {
        Stop::List => return,
        Stop::Folder => ("add a folder", "path of a folder of .ds files"),
        Stop::Length => ("sequence length", "tokens that training sees at a time"),
        Stop::Samples => ("samples", "training steps times the global batch"),
        Stop::Seed => ("seed", "1234"),
        Stop::Output => ("index goes to", "a folder"),
    };
    let focused = state.stop == stop;
    let style = if focused { ui.theme.accent } else { ui.theme.text };
    draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled(format!(" {label}"), style))]);
    let value = Rect { x: place.x.saturating_add(18), width: place.width.saturating_sub(18), ..place };
    let slot = Stop::ALL.iter().position(|known| *known == stop).unwrap_or(0);
    if let Some(input) = state.inputs.get(slot) {
        input.draw(frame, value.intersection(place), focused, note, ui);
    }
}

/// What the answers come to.
fn told(state: &MixtureState, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let dot = ui.glyphs.dot;
    let mut lines = Vec::new();
    match (state.request(), state.worked_now()) {
        (Err(why), _) => lines.extend(trouble_lines(&why, columns, ui)),
        (Ok(_), None) => lines.push(waiting("counting", ui)),
        (Ok(_), Some(Err(failure))) => lines.extend(failure_lines(failure, columns, ui)),
        (Ok(_), Some(Ok(worked))) => {
            let outlook = &worked.outlook;
            let weights: Vec<(f64, ratatui::style::Style)> = outlook
                .members
                .iter()
                .enumerate()
                .map(|(at, share)| (share.samples as f64, ui.theme.bar(at)))
                .collect();
            lines.push(split_line(&weights, columns, ui));
            let about = if outlook.is_exact { "" } else { "about " };
            let words = format!(
                "{} {dot} an epoch is {} {dot} {about}{:.2} epochs",
                count(outlook.samples, "sample"),
                count(outlook.epoch, "window"),
                outlook.passes
            );
            lines.push(Line::from(text::fit_end(&words, columns, ui.glyphs)));
            lines.extend(worked.notes.iter().flat_map(|note| problem_lines(note, columns, ui)));
        }
    }
    lines.push(Line::default());
    lines.extend(command_lines(&state.command(), &ui.key(Context::Form, Action::Copy), columns, ui));
    lines
}

/// One bar of all shares beside each other.
fn split_line(shares: &[(f64, ratatui::style::Style)], columns: usize, ui: &Ui) -> Line<'static> {
    let all: f64 = shares.iter().map(|(share, _)| share).sum();
    let mut spans = Vec::new();
    let (mut sum, mut used) = (0.0, 0);
    for (share, style) in shares {
        sum += share;
        let end = if all > 0.0 { (sum / all * columns as f64).round() as usize } else { 0 };
        let cells = end.min(columns).saturating_sub(used);
        spans.push(Span::styled(ui.glyphs.bar_full.repeat(cells), *style));
        used += cells;
    }
    Line::from(spans)
}
