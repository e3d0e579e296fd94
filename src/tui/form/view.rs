//! Draws a guided form: what is around the step, its fields, and the review.

use super::frame::{age, divide, draft_line, draw_pane, draw_rail, narrow_title, RailRow, Standing};
use super::screen::Guide;
use super::state::{Answers, Place, StepOf};
use super::words::{Field, Kind, Setting, Step};
use crate::tui::keymap::Action;
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{below, draw_lines, row, OptionLine};
use crate::tui::widgets::page::{
    command_lines, draw_more, draw_scrolled, failure_lines, fitted, trouble_lines, waiting, wrapped,
};
use crate::tui::widgets::text;
use gristmill_core::text::bytes;
use gristmill_core::Outcome;
use gristmill_ops::source::text::TextFile;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Columns of the own parts of a form.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Of the list of steps.
    pub rail: u16,
    /// Of the name of a field.
    pub label: u16,
}

/// Draws everything.
pub fn draw<G: Guide>(state: &mut G::Answers, frame: &mut Frame, area: Rect, ui: &Ui) {
    state.form_mut().places.clear();
    let (rail, pane) = divide(area, G::LOOK.rail);
    let form = state.form();
    let shown = form.rail.unwrap_or(form.step);
    let title = match rail.is_empty() {
        false => form.step.title().to_owned(),
        true => {
            let key = form.rail.map(|_| ui.key(G::CONTEXTS.rail, Action::Accept));
            narrow_title(shown.title(), shown.index(), StepOf::<G::Answers>::ALL.len(), key.as_deref())
        }
    };
    if !rail.is_empty() {
        let rows = rail_rows(state);
        let cursor = state.form().rail.map(Step::index);
        let place = draw_rail(frame.buffer_mut(), rail, &rows, cursor, ui);
        state.form_mut().places.put(place, Place::Rail);
    }
    let mut inner = draw_pane(frame, pane, &title, state.form().rail.is_none(), ui);
    let is_review = state.form().step.is_review();
    if let Some(draft) = state.form().draft.filter(|_| !is_review) {
        let words = format!("your answers of {} are back.", age(draft));
        // In a text field a letter is a letter.
        let context = if state.wants_text() { G::CONTEXTS.text } else { G::CONTEXTS.step };
        let line = draft_line(&words, ui.key(context, Action::StartAfresh), ui);
        draw_lines(frame.buffer_mut(), inner, [line]);
        inner = below(inner, 1);
    }
    match is_review {
        true => draw_review::<G>(state, frame, inner, ui),
        false => G::draw_step(state, frame, inner, ui),
    }
}

fn rail_rows<A: Answers>(state: &A) -> Vec<RailRow> {
    let form = state.form();
    let standing = |step: StepOf<A>| match (step == form.step, state.is_broken(step)) {
        (true, true) => Standing::HereBroken,
        (true, false) => Standing::Here,
        (false, true) => Standing::Broken,
        (false, false) if form.answered.contains(&step) => Standing::Answered,
        (false, false) => Standing::Open,
    };
    let rows = StepOf::<A>::ALL.iter();
    rows.map(|step| RailRow { title: step.title(), standing: standing(*step), is_disabled: false }).collect()
}

/// Draws the review: what stands in the way or what a run would do, and the command.
fn draw_review<G: Guide>(state: &mut G::Answers, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width);
    let mut lines = Vec::new();
    match state.first_blocker() {
        Some((step, why)) => {
            lines.extend(trouble_lines(&format!("{}: {why}", step.title()), columns, ui));
            lines.extend(state.way_out().iter().flat_map(|way| wrapped(way, columns, ui.theme.muted)));
        }
        None => {
            let key = ui.key(G::CONTEXTS.review, Action::Run);
            let words = match state.form().stopped == Some(state.command()) {
                true => format!("{} a run of these answers was stopped; {key} goes on with it", ui.glyphs.check),
                false => format!("{} everything is answered; {key} runs it", ui.glyphs.check),
            };
            lines.push(Line::from(Span::styled(words, ui.theme.ok)));
            lines.push(Line::default());
            lines.extend(match state.outlook() {
                None => vec![waiting("reading a sample of the documents", ui)],
                Some(Err(failure)) => failure_lines(failure, columns, ui),
                Some(Ok(_)) => G::outlook_lines(state, columns, ui),
            });
        }
    }
    lines.push(Line::default());
    lines.extend(command_lines(&state.command(), &ui.key(G::CONTEXTS.review, Action::Copy), columns, ui));
    draw_below(state, frame, area, lines, ui);
}

/// Draws what stands below the fields; the keys of the step and the wheel scroll it.
pub fn draw_below<A: Answers>(state: &mut A, frame: &mut Frame, area: Rect, lines: Vec<Line<'static>>, ui: &Ui) {
    let form = state.form_mut();
    form.places.put(area, Place::Below);
    draw_scrolled(frame, area, &mut form.offset, lines, ui);
}

/// The rows from `line` on.
pub fn from_row(area: Rect, line: usize) -> Rect {
    below(area, u16::try_from(line).unwrap_or(u16::MAX))
}

/// Draws one field on one row.
pub fn draw_field<G: Guide>(
    state: &mut G::Answers,
    frame: &mut Frame,
    place: Rect,
    field: <G::Answers as Answers>::Field,
    ui: &Ui,
) {
    if place.is_empty() {
        return;
    }
    state.form_mut().places.put(place, Place::Field(field));
    let focused = state.is_focused(field);
    let place = Rect { x: place.x + field.indent(), width: place.width.saturating_sub(field.indent()), ..place };
    let columns = usize::from(G::LOOK.label);
    let label = text::pad_end(&format!(" {}", field.label()), columns);
    match field.kind() {
        Kind::Switch => {
            let sign = if state.is_on(field) { ui.glyphs.box_on } else { ui.glyphs.box_off };
            let label_columns = columns.saturating_sub(6);
            let option = OptionLine { sign, label: field.label(), note: field.note(), focused, label_columns };
            option.draw(frame.buffer_mut(), place, true, ui);
        }
        Kind::Choice => {
            let (value, meaning) = state.choice(field);
            let style = if focused { ui.theme.selected } else { ui.theme.text };
            let room = usize::from(place.width).saturating_sub(columns + text::width(&value) + 6);
            let line = Line::from(vec![
                Span::styled(label, style),
                Span::styled(format!("< {value} >"), style),
                Span::styled(format!("  {}", text::fit_end(meaning, room, ui.glyphs)), ui.theme.muted),
            ]);
            draw_lines(frame.buffer_mut(), place, [line]);
        }
        Kind::Text => {
            let style = match (state.form().troubles.contains_key(&field), focused) {
                (true, _) => ui.theme.error,
                (false, true) => ui.theme.accent,
                (false, false) => ui.theme.text,
            };
            draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled(label, style))]);
            let label = G::LOOK.label.min(place.width);
            let value = Rect { x: place.x + label, width: place.width - label, ..place };
            let input = state.form_mut().inputs.entry(field).or_default();
            input.draw(frame, value, focused, field.note(), ui);
        }
        Kind::List | Kind::Page => {}
    }
}

/// Fields, one to a row from `line` on, each with its trouble below it; returns the row behind them.
pub fn draw_fields<G: Guide>(
    state: &mut G::Answers,
    frame: &mut Frame,
    area: Rect,
    mut line: usize,
    fields: &[<G::Answers as Answers>::Field],
    ui: &Ui,
) -> usize {
    for field in fields {
        draw_field::<G>(state, frame, row(area, line), *field, ui);
        line += 1;
        if let Some(why) = state.form().troubles.get(field) {
            let words = format!("{}{} {why}", " ".repeat(usize::from(G::LOOK.label)), ui.glyphs.cross);
            draw_lines(
                frame.buffer_mut(),
                row(area, line),
                [fitted(&words, usize::from(area.width), ui.theme.error, ui)],
            );
            line += 1;
        }
    }
    line
}

/// A step that is all fields, more than may fit: the one with the keys is in view, and what is wrong stands below them. `foot` is
/// what stands there when nothing is wrong.
pub fn draw_all_fields<G: Guide>(
    state: &mut G::Answers,
    frame: &mut Frame,
    area: Rect,
    wrong: Vec<Line<'static>>,
    usual: Vec<Line<'static>>,
    ui: &Ui,
) {
    let columns = usize::from(area.width);
    let fields = state.fields();
    let mut foot = wrong;
    foot.extend(state.form().troubles.values().flat_map(|why| trouble_lines(why, columns, ui)));
    if foot.is_empty() {
        foot = usual;
    }
    let foot_rows = foot.len().min(usize::from(area.height / 3));
    let room = usize::from(area.height).saturating_sub(foot_rows);
    let at = state.field().and_then(|field| fields.iter().position(|known| *known == field)).unwrap_or(0);
    let first = (at + 2).saturating_sub(room).min(fields.len().saturating_sub(room));
    for (line, field) in fields.iter().skip(first).take(room).enumerate() {
        draw_field::<G>(state, frame, row(area, line), *field, ui);
    }
    let shown = Rect { height: u16::try_from(room).unwrap_or(area.height).min(area.height), ..area };
    draw_more(frame, shown, (first > 0, first + room < fields.len()), ui);
    let used = fields.len().min(room);
    let place = from_row(area, used.saturating_add(usize::from(used + foot_rows < usize::from(area.height))));
    draw_lines(frame.buffer_mut(), place, foot);
}

/// What is said of the files that a run would read, until they are known or when there are none; else what `found` makes of them.
pub fn listing_lines<T>(
    files: Option<&Outcome<T>>,
    columns: usize,
    ui: &Ui,
    found: impl FnOnce(&T) -> Vec<Line<'static>>,
) -> Vec<Line<'static>> {
    match files {
        None => vec![waiting("looking for files", ui)],
        Some(Err(failure)) => failure_lines(failure, columns, ui),
        Some(Ok(files)) => found(files),
    }
}

/// A file of documents: its name, how it is packed, its size.
pub fn file_line(file: &TextFile, columns: usize, ui: &Ui) -> Line<'static> {
    let size = text::pad_start(&bytes(file.bytes), 11);
    let packing = text::pad_end(file.packing.title(), 10);
    let room = columns.saturating_sub(24).max(8);
    let name = text::pad_end(&text::fit_middle(&file.name, room, ui.glyphs), room);
    Line::from(vec![Span::raw(format!(" {name} ")), Span::styled(format!("{packing}{size}"), ui.theme.muted)])
}
