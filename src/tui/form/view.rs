//! Draws a form: the list of steps, the fields of a step, and the review.

use super::field::{Field, FieldKind};
use super::frame::{divide, draft_line, draw_pane, draw_rail, narrow_title, RailRow, StepMark, JUMPS};
use super::guide::Guide;
use super::state::{Form, MouseTarget};
use super::steps::{blockers, blocking_reason, planning_blocker, solution};
use crate::tui::keymap::Action;
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{below, draw_lines, row, OptionLine};
use crate::tui::widgets::page::{
    command_lines, draw_more, draw_scrolled, failure_lines, fitted, reason_lines, waiting, wrapped,
};
use crate::tui::widgets::text;
use gristmill_core::options::Step;
use gristmill_core::text::count;
use gristmill_core::Severity;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Indentation, in columns, of fields that depend on another one.
const INDENT: u16 = 4;
/// Columns of the list of steps in addition to the titles: borders, marks and a blank.
const RAIL_COLUMNS: u16 = 6;
/// Columns of a label in addition to its text: the margins of a text field, and the sign of a switch.
const TEXT_MARGINS: usize = 2;
const SWITCH_COLUMNS: usize = 7;

pub(super) fn draw(form: &mut Form, guide: &mut dyn Guide, frame: &mut Frame, area: Rect, ui: &Ui) {
    form.mouse_areas.clear();
    if !guide.is_open() {
        let lines = guide.opening_lines(usize::from(area.width).saturating_sub(2), ui);
        return draw_lines(frame.buffer_mut(), below(area, 1), lines);
    }
    let contexts = guide.contexts(form);
    let widest = form.steps().iter().map(|step| text::width(step.title)).max().unwrap_or(0);
    let (rail, pane) = divide(area, u16::try_from(widest).unwrap_or(0).saturating_add(RAIL_COLUMNS));
    let shown = form.rail.unwrap_or(form.step);
    let title_of = |step: usize| form.steps().get(step).map_or("", |step| step.title);
    let title = match rail.is_empty() {
        false => title_of(form.step).to_owned(),
        true => {
            let key = form.rail.map(|_| ui.key(contexts.step_list, Action::Accept));
            narrow_title(title_of(shown), shown, form.steps().len(), key.as_deref())
        }
    };
    if !rail.is_empty() {
        let rows = rail_rows(form, guide);
        let place = draw_rail(frame.buffer_mut(), rail, &rows, form.rail, ui);
        form.mouse_areas.add(place, MouseTarget::Rail);
    }
    let mut inner = draw_pane(frame, pane, &title, form.rail.is_none(), ui);
    let draft = form.draft.filter(|_| !form.is_review()).map(|draft| {
        // In a text field, the key must be one that types nothing.
        let context = if form.wants_text() { contexts.text } else { contexts.step };
        draft_line(draft, ui.key(context, Action::StartAfresh), usize::from(inner.width), ui)
    });
    let message = guide.message(form).map(|message| Line::from(format!("{} {message}", ui.glyphs.arrow)));
    if let Some(line) = message.or(draft) {
        draw_lines(frame.buffer_mut(), inner, [line]);
        inner = below(inner, 1);
    }
    if form.is_review() {
        return draw_review(form, guide, frame, inner, ui);
    }
    let inner = draw_help(form, guide, frame, inner, ui);
    if !guide.draw_step(form, frame, inner, ui) {
        draw_all_fields(form, guide, frame, inner, ui);
    }
}

/// Draws the complete help of the focused field at the bottom of a step, because notes on rows are cut. Returns the area above it.
fn draw_help(form: &Form, guide: &dyn Guide, frame: &mut Frame, area: Rect, ui: &Ui) -> Rect {
    let columns = usize::from(area.width);
    let help = match form.field().filter(|_| form.rail.is_none()) {
        None => return area,
        Some(list @ Field::List(_)) => vec![guide.list_help(list).to_owned()],
        Some(field) => {
            let (value, meaning) = match form.kind(field) {
                FieldKind::Choice => form.choice(field),
                _ => ("", String::new()),
            };
            let meaning = if value.is_empty() { meaning } else { format!("{value}: {meaning}") };
            vec![form.table.help(field), meaning]
        }
    };
    let mut lines: Vec<String> =
        help.iter().filter(|part| !part.is_empty()).flat_map(|part| text::wrap(part, columns)).collect();
    let rows = lines.len().min(usize::from(area.height / 4));
    if rows == 0 {
        return area;
    }
    let is_cut = rows < lines.len();
    lines.truncate(rows);
    if let Some(last) = lines.last_mut().filter(|_| is_cut) {
        *last = text::fit_end(&format!("{last} {}", ui.glyphs.ellipsis), columns, ui.glyphs);
    }
    let height = area.height.saturating_sub(u16::try_from(rows).unwrap_or(area.height));
    let lines = lines.into_iter().map(|line| Line::from(Span::styled(line, ui.theme.muted)));
    draw_lines(frame.buffer_mut(), below(area, height), lines);
    // A blank row separates the help from the step.
    Rect { height: height.saturating_sub(1), ..area }
}

fn rail_rows(form: &Form, guide: &dyn Guide) -> Vec<RailRow> {
    let planned = planning_blocker(form, guide).map(|(step, _)| step);
    let mark_of = |step: usize| {
        let is_wrong = || planned == Some(step) || blocking_reason(form, guide, step).is_some();
        let is_broken = step != form.review() && (step < form.step || form.is_answered(step)) && is_wrong();
        match (step == form.step, is_broken) {
            (true, true) => StepMark::HereBroken,
            (true, false) => StepMark::Here,
            (false, _) if form.skipped.contains_key(&step) => StepMark::Skipped,
            (false, true) => StepMark::Broken,
            (false, false) if form.is_answered(step) => StepMark::Answered,
            (false, false) => StepMark::Open,
        }
    };
    let rows = form.steps().iter().enumerate();
    let row = |(number, step): (usize, &Step)| {
        let is_disabled = form.skipped.contains_key(&number);
        RailRow { title: step.title, mark: mark_of(number), is_disabled }
    };
    rows.map(row).collect()
}

/// Draws the review: the reason why the plan cannot be run, or the preview, and the command.
fn draw_review(form: &mut Form, guide: &mut dyn Guide, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width);
    let context = guide.contexts(form).review;
    let mut lines = Vec::new();
    let blockers = blockers(form, guide);
    for (step, why) in &blockers {
        let title = form.steps().get(*step).map_or("", |step| step.title);
        lines.extend(reason_lines(&format!("{title}: {why}"), columns, ui));
        lines.extend(solution(form, guide).iter().flat_map(|way| wrapped(way, columns, ui.theme.muted)));
        if let Some(jump) = JUMPS.get(*step).filter(|_| *step != form.review()) {
            let key = Span::styled(ui.key(context, *jump), ui.theme.key);
            lines.push(Line::from(vec![key, Span::styled(format!(" goes to {title}"), ui.theme.muted)]));
        }
    }
    let preview = guide.preview(form);
    if blockers.is_empty() {
        lines.push(ready_line(form, guide, &ui.key(context, Action::Run), ui));
        lines.push(Line::default());
        lines.extend(match preview {
            None => vec![waiting(guide.waits_for(), ui)],
            Some(Err(failure)) => failure_lines(failure, columns, ui),
            Some(Ok(_)) => guide.preview_lines(form, columns, ui),
        });
    } else if matches!(preview, Some(Ok(_))) {
        lines.push(Line::default());
        lines.extend(guide.preview_lines(form, columns, ui));
    }
    lines.push(Line::default());
    lines.extend(command_lines(&form.plan().command_line(), &ui.key(context, Action::Copy), columns, ui));
    draw_below(form, frame, area, lines, ui);
}

/// Returns the line that states that the plan can be run, with the number of problems.
fn ready_line(form: &Form, guide: &dyn Guide, key: &str, ui: &Ui) -> Line<'static> {
    let problems = guide.preview(form).and_then(Result::ok).unwrap_or_default();
    let found = problems.iter().filter(|problem| problem.severity == Severity::Problem).count() as u64;
    let (sign, with, style) = match found {
        0 => (ui.glyphs.check, String::new(), ui.theme.ok),
        found => (ui.glyphs.warn, format!(", with {}", count(found, "problem")), ui.theme.warn),
    };
    let is_stopped = form.stopped.as_ref().is_some_and(|stopped| *stopped == form.command());
    let words = match is_stopped {
        true => format!("{sign} a run of these answers was stopped{with}; {key} resumes it"),
        false => format!("{sign} everything is answered{with}; {key} runs it"),
    };
    Line::from(Span::styled(words, style))
}

/// Draws lines below the fields; page keys and the wheel scroll them.
pub fn draw_below(form: &mut Form, frame: &mut Frame, area: Rect, lines: Vec<Line<'static>>, ui: &Ui) {
    form.mouse_areas.add(area, MouseTarget::Below);
    draw_scrolled(frame, area, &mut form.offset, lines, ui);
}

/// Returns the rows of an area from `line` on.
pub fn from_row(area: Rect, line: usize) -> Rect {
    below(area, u16::try_from(line).unwrap_or(u16::MAX))
}

/// Returns the columns of the labels of the fields in a step of this width: those of the longest label, at most two thirds.
pub fn label_columns(form: &Form, width: u16) -> u16 {
    let columns_of = |field: &Field| {
        let margins = match form.kind(*field) {
            FieldKind::Switch => SWITCH_COLUMNS,
            FieldKind::Choice | FieldKind::Text => TEXT_MARGINS,
            FieldKind::List | FieldKind::Page | FieldKind::FocusStop => return 0,
        };
        let indent = if form.table.is_indented(*field) { usize::from(INDENT) } else { 0 };
        text::width(&form.table.label(*field)) + margins + indent
    };
    let widest = form.fields().iter().map(columns_of).max().unwrap_or(0);
    u16::try_from(widest).unwrap_or(width).min(width.saturating_mul(2) / 3)
}

/// Draws one field on one row.
fn draw_field(form: &mut Form, label_columns: u16, frame: &mut Frame, place: Rect, field: Field, ui: &Ui) {
    if place.is_empty() {
        return;
    }
    form.mouse_areas.add(place, MouseTarget::Field(field));
    let focused = form.is_focused(field);
    let indent = if form.table.is_indented(field) { INDENT } else { 0 };
    let place = Rect { x: place.x + indent, width: place.width.saturating_sub(indent), ..place };
    let columns = usize::from(label_columns.saturating_sub(indent));
    let (name, note) = (form.table.label(field), form.table.note(field).replace(" (repeat)", ""));
    let label = text::pad_end(&text::fit_end(&format!(" {name}"), columns.saturating_sub(1), ui.glyphs), columns);
    match form.kind(field) {
        FieldKind::Switch => {
            let sign = match (form.table.is_exclusive(field), form.is_on(field)) {
                (true, true) => ui.glyphs.radio_on,
                (true, false) => ui.glyphs.radio_off,
                (false, true) => ui.glyphs.box_on,
                (false, false) => ui.glyphs.box_off,
            };
            let label_columns = columns.saturating_sub(SWITCH_COLUMNS);
            // A note after a longer label would not be aligned with the others.
            let note = if text::width(&name) > label_columns { "" } else { &note };
            let option = OptionLine { sign, label: &name, note, focused, label_columns };
            option.draw(frame.buffer_mut(), place, true, ui);
        }
        FieldKind::Choice => {
            let (value, meaning) = form.choice(field);
            let style = if focused { ui.theme.selected } else { ui.theme.text };
            let room = usize::from(place.width).saturating_sub(columns + text::width(value) + 6);
            let line = Line::from(vec![
                Span::styled(label, style),
                Span::styled(format!("< {value} >"), style),
                Span::styled(format!("  {}", text::fit_end(&meaning, room, ui.glyphs)), ui.theme.muted),
            ]);
            draw_lines(frame.buffer_mut(), place, [line]);
        }
        FieldKind::Text => {
            let style = match (form.mistakes.contains_key(&field), focused) {
                (true, _) => ui.theme.error,
                (false, true) => ui.theme.accent,
                (false, false) => ui.theme.text,
            };
            draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled(label, style))]);
            let taken = u16::try_from(columns).unwrap_or(0).min(place.width);
            let value = Rect { x: place.x + taken, width: place.width - taken, ..place };
            form.inputs.entry(field).or_default().draw(frame, value, focused, &note, ui);
        }
        FieldKind::List | FieldKind::Page | FieldKind::FocusStop => {}
    }
}

/// Draws fields, one per row from `line` on, each with its mistake below it. Returns the row after them.
pub fn draw_fields(
    form: &mut Form,
    frame: &mut Frame,
    area: Rect,
    mut line: usize,
    fields: &[Field],
    ui: &Ui,
) -> usize {
    let label_columns = label_columns(form, area.width);
    for field in fields {
        draw_field(form, label_columns, frame, row(area, line), *field, ui);
        line += 1;
        if let Some(why) = form.mistakes.get(field) {
            let words = format!("{}{} {why}", " ".repeat(usize::from(label_columns)), ui.glyphs.cross);
            let shown = fitted(&words, usize::from(area.width), ui.theme.error, ui);
            draw_lines(frame.buffer_mut(), row(area, line), [shown]);
            line += 1;
        }
    }
    line
}

/// Returns the mistakes in answers whose field is not in the step on the screen.
pub(super) fn hidden_mistakes(form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let hidden = form.mistakes.iter().filter(|(field, _)| !form.fields().contains(field));
    hidden.flat_map(|(_, why)| reason_lines(why, columns, ui)).collect()
}

/// Draws a step that consists of fields, scrolled to the focused one. Below them are mistakes, or the lines of the guide.
fn draw_all_fields(form: &mut Form, guide: &mut dyn Guide, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width);
    let fields = form.fields().to_vec();
    let mut foot: Vec<_> = form.mistakes.values().flat_map(|why| reason_lines(why, columns, ui)).collect();
    if foot.is_empty() {
        foot = guide.foot(form, columns, ui);
    }
    let foot_rows = foot.len().min(usize::from(area.height / 3));
    let room = usize::from(area.height).saturating_sub(foot_rows);
    let at = form.field().and_then(|field| fields.iter().position(|known| *known == field)).unwrap_or(0);
    let first = (at + 2).saturating_sub(room).min(fields.len().saturating_sub(room));
    let label_columns = label_columns(form, area.width);
    for (line, field) in fields.iter().skip(first).take(room).enumerate() {
        draw_field(form, label_columns, frame, row(area, line), *field, ui);
    }
    let shown = Rect { height: u16::try_from(room).unwrap_or(area.height).min(area.height), ..area };
    draw_more(frame, shown, (first > 0, first + room < fields.len()), ui);
    let used = fields.len().min(room);
    let place = from_row(area, used.saturating_add(usize::from(used + foot_rows < usize::from(area.height))));
    draw_lines(frame.buffer_mut(), place, foot);
}
