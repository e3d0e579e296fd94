//! Draws step Field map: the rows, and three real samples with their fields.

use super::super::click_targets::{ClickTarget, DrawContext};
use super::super::step::Answers;
use super::samples::SampleResult;
use super::FieldMapStep;
use crate::tui::widgets::layout::{below, draw_lines, heading, severity_sign, stack, Section};
use crate::tui::widgets::preview::draw_short;
use crate::tui::widgets::text;
use gristmill_core::{SampleMapping, Severity};
use gristmill_data::preview::{cells, text as wrapping, Drawable};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::sync::Arc;

/// Draws the step.
pub fn draw(step: &mut FieldMapStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let ui = context.ui;
    let SampleMapping::FieldMap { sample_type, .. } = &answers.plan.loading else {
        let words = "The sample type chosen needs no field map.";
        return draw_lines(frame.buffer_mut(), area, [Line::from(Span::styled(words, ui.theme.muted))]);
    };
    let row_lines = row_heights(step, answers, usize::from(area.width));
    let shown = row_lines.iter().sum::<usize>();
    let sections = [
        Section::fixed(1, 0),
        Section::growing(shown.min(4) as u16, shown.min(usize::from(area.height / 2).max(4)), Section::FOCUS),
        Section::fixed(1, 2),
        Section::growing(4, 200, 3),
    ];
    let places = stack(area, &sections);
    let question = format!("Which part fills which field of {sample_type}?");
    let question = text::fit_end(&question, usize::from(area.width), ui.glyphs);
    let grammar = "  PART[key],OTHER";
    let has_room = text::width(&question) + grammar.len() <= usize::from(area.width);
    let mut head = heading(&question, ui);
    head.spans.extend(has_room.then(|| Span::styled(grammar, ui.theme.muted)));
    draw_lines(frame.buffer_mut(), places[0], [head]);
    draw_rows(step, frame, places[1], &row_lines, answers, context);
    draw_lines(frame.buffer_mut(), places[2], [candidates_line(step, answers, usize::from(area.width), context)]);
    draw_samples(step, frame.buffer_mut(), places[3], answers, context);
}

/// Maximum number of lines of an error below the focused row; other rows show one line.
const PROBLEM_LINES: usize = 3;

/// Returns the number of lines of each row: one, and those of its problem.
fn row_heights(step: &FieldMapStep, answers: &Answers, columns: usize) -> Vec<usize> {
    (0..step.rows.len()).map(|row| 1 + problem_words(step, row, answers, columns).1.len()).collect()
}

fn name_columns(step: &FieldMapStep) -> u16 {
    let widest = step.rows.iter().map(|r| text::width(r.name.value())).max().unwrap_or(8);
    if step.is_own {
        16
    } else {
        widest.clamp(6, 22) as u16
    }
}

/// Returns the problems of a row as lines that fit next to the names.
fn problem_words(step: &FieldMapStep, row: usize, answers: &Answers, columns: usize) -> (Severity, Vec<String>) {
    let on_row = step.row_at_focus() == row;
    let empty = step.rows.get(row).is_some_and(|r| r.expr.is_empty());
    // An empty required field is not an error while it has the focus.
    let Some(problem) = step.row_problem(row, answers).filter(|_| !(empty && on_row)) else {
        return (Severity::Note, Vec::new());
    };
    let room = columns.saturating_sub(usize::from(name_columns(step)) + 6).max(10);
    let mut lines = text::wrap(&problem.message, room);
    lines.truncate(if on_row { PROBLEM_LINES } else { 1 });
    (problem.severity, lines)
}

fn draw_rows(
    step: &FieldMapStep,
    frame: &mut Frame,
    area: Rect,
    heights: &[usize],
    answers: &Answers,
    context: &DrawContext,
) {
    let ui = context.ui;
    let at = step.row_at_focus();
    // Scroll so that the focused row is visible.
    let mut first = 0;
    let fits = |first: usize| {
        heights.iter().skip(first).take(at + 1 - first.min(at)).sum::<usize>() <= usize::from(area.height)
    };
    while first < at && !fits(first) {
        first += 1;
    }
    let name_width = name_columns(step);
    if first > 0 {
        frame.buffer_mut().set_string(area.right(), area.y, ui.glyphs.more_up, ui.theme.accent);
    }
    let mut y = area.y;
    for (index, height) in heights.iter().enumerate().skip(first) {
        if y >= area.bottom() {
            let last = area.bottom().saturating_sub(1);
            frame.buffer_mut().set_string(area.right(), last, ui.glyphs.more_down, ui.theme.accent);
            break;
        }
        let place = Rect { y, height: 1, ..area };
        draw_row(step, frame, place, index, name_width, answers, context);
        let (severity, words) = problem_words(step, index, answers, usize::from(area.width));
        let (sign, style) = severity_sign(severity, ui);
        let sign = if severity == Severity::Note { ui.glyphs.warn } else { sign };
        let indent = " ".repeat(usize::from(name_width) + 4);
        let lines = words.into_iter().enumerate().map(|(at, words)| {
            let sign = if at == 0 { sign } else { " " };
            Line::from(Span::styled(format!("{indent}{sign} {words}"), style))
        });
        let below = below(Rect { height: area.bottom() - y, y, ..area }, 1);
        draw_lines(frame.buffer_mut(), below, lines);
        y = y.saturating_add(u16::try_from(*height).unwrap_or(1));
    }
}

fn draw_row(
    step: &FieldMapStep,
    frame: &mut Frame,
    place: Rect,
    index: usize,
    name_width: u16,
    answers: &Answers,
    context: &DrawContext,
) {
    let ui = context.ui;
    let Some(row) = step.rows.get(index) else { return };
    let on_row = step.row_at_focus() == index;
    let typing_name = context.focused && step.name_has_focus(index);
    let typing = context.focused && on_row && !step.name_has_focus(index);
    let marker = if on_row { ui.glyphs.marker } else { " " };
    draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled(format!(" {marker} "), ui.theme.accent))]);
    let name = Rect { x: place.x + 3, width: name_width, ..place }.intersection(place);
    if step.is_own {
        row.name.draw(frame, name, typing_name, "field", ui);
    } else {
        let style = if on_row { ui.theme.title } else { ui.theme.text };
        draw_lines(frame.buffer_mut(), name, [Line::from(Span::styled(row.name.value().to_owned(), style))]);
    }
    let state = row_state(step, index, answers, context);
    let state_width = text::width(&state.0);
    let x = place.x + 3 + name_width + 1;
    let room = place.right().saturating_sub(x);
    let state_room = u16::try_from(state_width).unwrap_or(0).min(room / 2);
    let field = Rect { x, width: room.saturating_sub(state_room + 1), ..place }.intersection(place);
    let hint = match row.default {
        Some(default) => format!("optional: empty means {default}"),
        None if step.is_own => "part, or part[key]".to_owned(),
        None => format!("required: {}", row.python),
    };
    let stops = if step.is_own { 2 } else { 1 };
    if step.is_own {
        context.click_targets.add(name, ClickTarget::Field(index * stops));
    }
    context.click_targets.add(field, ClickTarget::Field(index * stops + stops - 1));
    row.expr.draw(frame, field, typing, &hint, ui);
    let end = Rect { x: place.right().saturating_sub(state_room), width: state_room, ..place };
    let words = text::fit_end(&state.0, usize::from(state_room), ui.glyphs);
    draw_lines(frame.buffer_mut(), end, [Line::from(Span::styled(words, state.1))]);
}

/// Returns the right end of a row: the share of samples that resolve, or a mark for a problem.
fn row_state(step: &FieldMapStep, index: usize, answers: &Answers, context: &DrawContext) -> (String, Style) {
    let ui = context.ui;
    let Some(row) = step.rows.get(index) else { return (String::new(), ui.theme.muted) };
    if row.expr.is_empty() {
        return match row.default {
            Some(_) => (ui.glyphs.dash.to_owned(), ui.theme.muted),
            None if step.is_own => (String::new(), ui.theme.muted),
            None => (format!("{} required", ui.glyphs.cross), ui.theme.error),
        };
    }
    let found = step.results.of(row.name.value().trim(), row.expr.value().trim());
    let Some(found) = found else { return (ui.spinner().to_owned(), ui.theme.muted) };
    let share = step.results.shares.get(found).copied().flatten().map(|s| s.text());
    let share = share.unwrap_or_else(|| "looking".into());
    match step.row_problem(index, answers).map(|p| p.severity) {
        Some(Severity::Refusal) => (format!("{} fails", ui.glyphs.cross), ui.theme.error),
        Some(_) => (format!("{} {share}", ui.glyphs.warn), ui.theme.warn),
        None => (format!("{} {share}", ui.glyphs.check), ui.theme.ok),
    }
}

/// Returns the line with the candidates of the completion, or with the names that can be typed.
fn candidates_line(step: &FieldMapStep, answers: &Answers, columns: usize, context: &DrawContext) -> Line<'static> {
    let ui = context.ui;
    if let Some(cycle) = &step.cycle {
        let mut spans = vec![Span::styled("   Tab: ", ui.theme.muted)];
        let first = cycle.at.saturating_sub(3);
        let mut used = 8;
        for (index, candidate) in cycle.candidates.iter().enumerate().skip(first) {
            let words = text::fit_end(candidate, 30, ui.glyphs);
            used += text::width(&words) + 2;
            if used > columns {
                spans.push(Span::styled(ui.glyphs.ellipsis, ui.theme.muted));
                break;
            }
            let style = if index == cycle.at { ui.theme.selected } else { ui.theme.muted };
            spans.push(Span::styled(words, style));
            spans.push(Span::raw("  "));
        }
        return Line::from(spans);
    }
    let parts = answers.derived.parts_by_share(&answers.facts).join(" ");
    let words = text::fit_end(&format!("   parts: {parts}"), columns, ui.glyphs);
    Line::from(Span::styled(words, ui.theme.muted))
}

fn draw_samples(step: &mut FieldMapStep, buffer: &mut Buffer, area: Rect, answers: &Answers, context: &DrawContext) {
    let ui = context.ui;
    if area.height < 2 {
        return;
    }
    if step.results.samples.is_empty() {
        let words = if !context.is_scanning && answers.facts.sketches.is_empty() {
            "no sample to show"
        } else {
            "reading the first samples"
        };
        return draw_lines(buffer, area, [Line::from(Span::styled(words, ui.theme.muted))]);
    }
    // Samples need at least 18 columns; in narrow windows, fewer samples are shown.
    let fit = usize::from((area.width / 18).max(1)).min(step.results.samples.len());
    let width = area.width / u16::try_from(fit).unwrap_or(1).max(1);
    let results = Arc::clone(&step.results);
    for (place, sample) in results.samples.iter().take(fit).enumerate() {
        let x = area.x + width * u16::try_from(place).unwrap_or(0);
        let column = Rect { x, width: width.saturating_sub(2), ..area }.intersection(area);
        draw_sample(step, buffer, column, sample, context);
    }
}

/// Draws one sample: its key, then its fields; the height of pictures depends on the space.
fn draw_sample(step: &mut FieldMapStep, buffer: &mut Buffer, area: Rect, sample: &SampleResult, context: &DrawContext) {
    let ui = context.ui;
    let columns = usize::from(area.width);
    let key = text::fit_middle(&sample.key, columns, ui.glyphs);
    draw_lines(buffer, area, [Line::from(Span::styled(key, ui.theme.accent))]);
    let area = below(area, 1);
    let focus = step.rows.get(step.row_at_focus()).map(|r| r.name.value().trim().to_owned());
    let results = Arc::clone(&step.results);
    let is_focus = |at: usize| results.fields.get(at).map(|f| &f.field) == focus.as_ref();
    let sections: Vec<Section> = sample
        .fields
        .iter()
        .enumerate()
        .map(|(at, field)| {
            let rank = if is_focus(at) { Section::FOCUS } else { u8::try_from(at).map_or(0, |a| 200 - a.min(200)) };
            match field {
                Ok(Drawable::Picture(picture)) => {
                    let rows = cells::fitted_cells(picture, area.width, area.height.saturating_sub(1)).1;
                    Section::growing(4.min(rows + 1), usize::from(rows) + 1, rank)
                }
                Ok(Drawable::Fact(_)) => Section::growing(2, 2, rank),
                _ => Section::growing(2, 5, rank),
            }
        })
        .collect();
    for ((at, place), result) in stack(area, &sections).into_iter().enumerate().zip(&sample.fields) {
        if place.height == 0 {
            continue;
        }
        let name = results.fields.get(at).map(|f| f.field.clone()).unwrap_or_default();
        draw_field(buffer, place, &name, result, is_focus(at), context);
        if let Ok(Drawable::Picture(picture)) = result {
            step.pixels.draw(buffer, below(place, 1), picture, context.depth);
        }
    }
}

fn draw_field(
    buffer: &mut Buffer,
    area: Rect,
    name: &str,
    result: &Result<Drawable, String>,
    focused: bool,
    context: &DrawContext,
) {
    let ui = context.ui;
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    let name_style = if focused { ui.theme.title } else { ui.theme.muted };
    let facts = match result {
        Ok(Drawable::Picture(picture)) if ui.glyphs.ascii => format!(" {}", picture.facts().replace('×', "x")),
        Ok(Drawable::Picture(picture)) => format!(" {}", picture.facts()),
        _ => String::new(),
    };
    let name = text::fit_end(name, columns, ui.glyphs);
    let room = columns.saturating_sub(text::width(&name));
    let head =
        vec![Span::styled(name, name_style), Span::styled(text::fit_end(&facts, room, ui.glyphs), ui.theme.muted)];
    draw_lines(buffer, area, [Line::from(head)]);
    let body = below(area, 1);
    match result {
        Err(why) => {
            let lines = wrapping::wrap(&format!("{} {why}", ui.glyphs.cross), columns, rows.saturating_sub(1));
            draw_lines(buffer, body, lines.into_iter().map(|l| Line::from(Span::styled(l, ui.theme.error))));
        }
        Ok(drawable) => draw_short(buffer, body, drawable, ui),
    }
}
