//! Draws the screen of `prepare-media`.

use super::form::Strategy;
use super::screen::{MediaState, Place, Stop};
use super::seen::{count_lines, probed_lines, Seen};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{draw_lines, heading, problem_lines, row, OptionLine};
use crate::tui::widgets::page::{command_lines, draw_scrolled, failure_lines, waiting, wrapped};
use crate::tui::widgets::{panel, text};
use gristmill_core::text::{bytes, count};
use gristmill_ops::job::media::MediaPreview;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Draws everything: the form above, what it comes to below.
pub fn draw(state: &mut MediaState, title: &str, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width).saturating_sub(22);
    let title = format!("Media metadata of {}", text::fit_middle(title, columns, ui.glyphs));
    let block = panel(&title, true, ui);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let inner = Rect { x: inner.x.saturating_add(1), width: inner.width.saturating_sub(2), ..inner };
    state.places.clear();
    let form_rows = u16::try_from(state.stop_list().len() + 2).unwrap_or(6).min(inner.height);
    draw_form(state, frame, Rect { height: form_rows, ..inner }, ui);
    let gap = form_rows.saturating_add(1).min(inner.height);
    let below = Rect { y: inner.y + gap, height: inner.height - gap, ..inner };
    state.places.put(below, Place::Outcome);
    let lines = outcome(state, usize::from(below.width), ui);
    draw_scrolled(frame, below, &mut state.offset, lines, ui);
}

fn draw_form(state: &mut MediaState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let at = state.stop();
    let mut line = 0;
    for strategy in Strategy::ALL.into_iter().filter(|s| *s != Strategy::None) {
        let on = state.form.strategy == strategy;
        let sign = if on { ui.glyphs.radio_on } else { ui.glyphs.radio_off };
        let focused = on && at == Stop::Strategy;
        let option = OptionLine { sign, label: strategy.label(), note: strategy.note(), focused, label_columns: 13 };
        option.draw(frame.buffer_mut(), row(area, line), true, ui);
        state.places.put(row(area, line), Place::Strategy(strategy));
        line += 1;
        if strategy == Strategy::Glob && on {
            draw_patterns(state, frame, row(area, line), ui);
            state.places.put(row(area, line), Place::Field(Stop::Patterns));
            line += 1;
        }
    }
    let switches = [
        (Stop::Decode, "decode", state.form.decode, "read pictures whole: finds damage"),
        (Stop::Prune, "prune", state.prune, "remove rows of entries that are gone"),
    ];
    for (stop, label, on, note) in switches {
        let sign = if on { ui.glyphs.box_on } else { ui.glyphs.box_off };
        let option = OptionLine { sign, label, note, focused: at == stop, label_columns: 13 };
        option.draw(frame.buffer_mut(), row(area, line), true, ui);
        state.places.put(row(area, line), Place::Field(stop));
        line += 1;
    }
}

fn draw_patterns(state: &MediaState, frame: &mut Frame, place: Rect, ui: &Ui) {
    let typing = state.stop() == Stop::Patterns;
    let style = if typing { ui.theme.accent } else { ui.theme.muted };
    draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled("     patterns", style))]);
    let field = Rect { x: place.x.saturating_add(20), width: place.width.saturating_sub(21), ..place };
    state.form.patterns.draw(frame, field.intersection(place), typing, "*.jpg,*.png", ui);
}

/// What the answers come to.
fn outcome(state: &MediaState, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let muted = |words: &str| Line::from(Span::styled(text::fit_end(words, columns, ui.glyphs), ui.theme.muted));
    if let Some(why) = state.form.blocker() {
        return vec![muted(&why)];
    }
    let mut lines = match state.preview_now() {
        None => vec![waiting("counting", ui)],
        Some(Err(failure)) => failure_lines(failure, columns, ui),
        Some(Ok(preview)) => preview_lines(preview, columns, ui),
    };
    lines.push(Line::default());
    lines.extend(command_lines(&state.command(), &ui.key(Context::Form, Action::Copy), columns, ui));
    lines
}

fn preview_lines(preview: &MediaPreview, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let seen = Seen::of_outlook(&preview.outlook, false);
    let mut lines = Vec::new();
    if seen.candidates == 0 {
        let words = format!("{} nothing is picked like this: no row would be recorded", ui.glyphs.warn);
        lines.extend(wrapped(&words, columns, ui.theme.warn));
    } else {
        lines.extend(count_lines(&seen, columns, ui));
        lines.push(Line::default());
        lines.extend(probed_lines(&seen, columns, true, ui));
    }
    lines.push(Line::default());
    lines.push(heading("File that will be written", ui));
    for file in &preview.files {
        let what = if file.replaces { ("replaced", ui.theme.warn) } else { ("new", ui.theme.muted) };
        let size = format!("  ~{}  ", bytes(file.bytes));
        let room = columns.saturating_sub(text::width(&size) + text::width(what.0) + 2);
        lines.push(Line::from(vec![
            Span::raw(format!("  {}{size}", text::fit_middle(&file.name, room, ui.glyphs))),
            Span::styled(what.0, what.1),
        ]));
    }
    if preview.rows_before > 0 {
        let rows = count(preview.rows_before, "row");
        let words = format!("  {rows} there already; those of the same entries are replaced, others stay");
        lines.push(Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), ui.theme.muted)));
    }
    if !preview.problems.is_empty() {
        lines.push(Line::default());
        lines.push(heading("Problems", ui));
        lines.extend(preview.problems.iter().take(12).flat_map(|p| problem_lines(p, columns, ui)));
    }
    lines
}
