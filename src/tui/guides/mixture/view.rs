//! Draws the step of `mix index`: folders with their share, repeats and unused part, fields, and the mixture.

use super::guide::{MixtureGuide, Row, FOLDERS};
use crate::tui::form::{draw_below, draw_fields, Field, Form, MouseTarget};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{below, draw_lines, problem_lines, stack, Section};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{reason_lines, waiting, wrapped};
use crate::tui::widgets::report::report_lines;
use crate::tui::widgets::text;
use gristmill_core::text::{count, grouped, percent};
use gristmill_core::Severity;
use gristmill_ops::job::report::Report;
use gristmill_ops::tokens::mixture::job::MixtureIndexReport;
use gristmill_ops::tokens::mixture::{MixtureIndexPlan, Share};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Columns of the figures of a row.
const FIGURE_COLUMNS: usize = 46;

/// Draws the step with the folders.
pub(super) fn draw_settings(guide: &mut MixtureGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let fields: Vec<Field> = form.fields().iter().copied().filter(|field| *field != FOLDERS).collect();
    let field_rows = fields.iter().map(|field| 1 + usize::from(form.mistakes.contains_key(field))).sum();
    let result = match guide.found {
        Some(_) => guide.preview.result_lines(guide, form, usize::from(area.width), ui, draw_mixture),
        None => Vec::new(),
    };
    let focus = |is_focused: bool, otherwise: u8| if is_focused { Section::FOCUS } else { otherwise };
    let sections = [
        Section::growing(3, guide.rows.len().max(2) + 1, focus(form.is_focused(FOLDERS), 5)),
        Section::fixed(1, 0),
        Section::fixed(field_rows, focus(!form.is_focused(FOLDERS), 4)),
        Section::fixed(1, 0),
        Section::growing(u16::try_from(result.len().min(3)).unwrap_or(3), result.len(), 2),
    ];
    let places = stack(area, &sections);
    draw_folders(guide, form, frame, places[0], ui);
    draw_fields(form, frame, places[2], 0, &fields, ui);
    draw_below(form, frame, places[4], result, ui);
}

fn draw_folders(guide: &mut MixtureGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width);
    let lines = match &guide.found {
        None => vec![waiting("searching for token folders", ui)],
        Some(Err(why)) => reason_lines(why, columns, ui),
        Some(Ok(())) if guide.rows.is_empty() => {
            let why = "no folder of .ds files was found here. The guided pack makes them: key t on a .jsonl file.";
            wrapped(why, columns, ui.theme.text)
        }
        Some(Ok(())) => Vec::new(),
    };
    if !lines.is_empty() {
        return draw_lines(frame.buffer_mut(), area, lines);
    }
    draw_lines(frame.buffer_mut(), area, [table_header(columns, ui)]);
    let body = below(area, 1);
    form.mouse_areas.add(body, MouseTarget::Field(FOLDERS));
    let length = form.plan_of::<MixtureIndexPlan>().and_then(|plan| plan.sequence_length);
    let shares = match report_of(guide, form) {
        Some(report) => report.outlook.members.clone(),
        None => Vec::new(),
    };
    let rows = &guide.rows;
    let is_focused = form.is_focused(FOLDERS);
    draw_list(frame.buffer_mut(), body, &mut guide.folders, is_focused, ui, |index, columns| {
        rows.get(index)
            .map(|row| {
                let number = rows.iter().take(index).filter(|row| row.is_chosen).count();
                let share = shares.get(number).filter(|_| row.is_chosen);
                let samples = shares.iter().map(|share| share.samples).sum();
                folder_line(row, length, share.map(|share| (share, samples)), columns, ui)
            })
            .unwrap_or_default()
    });
}

fn report_of<'a>(guide: &'a MixtureGuide, form: &Form) -> Option<&'a MixtureIndexReport> {
    guide.preview.report(form)?.as_ref().ok()?.typed()
}

fn table_header(columns: usize, ui: &Ui) -> Line<'static> {
    let name = text::pad_end("       folder", columns.saturating_sub(FIGURE_COLUMNS));
    let figures = format!("{:>11} {:>7} {:>8} {:>8} {:>8}", "windows", "weight", "share", "repeats", "unread");
    Line::from(Span::styled(format!("{name}{figures}"), ui.theme.muted))
}

/// Returns the line of a folder. `share` is its share, and the number of samples of the mixture.
fn folder_line(row: &Row, length: Option<u64>, share: Option<(&Share, u64)>, columns: usize, ui: &Ui) -> Line<'static> {
    let sign = if row.is_chosen { ui.glyphs.box_on } else { ui.glyphs.box_off };
    let room = columns.saturating_sub(FIGURE_COLUMNS + 5).max(6);
    let name = text::pad_end(&text::fit_middle(&row.folder.name, room, ui.glyphs), room);
    if let Some(why) = &row.folder.failure {
        let why = text::fit_end(&format!("{} {why}", ui.glyphs.cross), FIGURE_COLUMNS, ui.glyphs);
        return Line::from(vec![Span::raw(format!("{sign} {name} ")), Span::styled(why, ui.theme.error)]);
    }
    let windows = length.map(|length| grouped(row.folder.windows(length))).unwrap_or_default();
    let weight = if row.is_chosen { text::fit_end(&row.weight, 7, ui.glyphs) } else { String::new() };
    let mut figures = format!("{windows:>11} {weight:>7}");
    if let Some((share, samples)) = share {
        let part = percent(share.samples as f64 / samples.max(1) as f64);
        let unread = percent(share.unread as f64 / share.windows.max(1) as f64);
        figures.push_str(&format!(" {part:>8} {:>7.2}x {unread:>8}", share.repeats));
    }
    let style = if row.is_chosen { ui.theme.text } else { ui.theme.muted };
    Line::from(vec![Span::styled(format!("{sign} {name} "), style), Span::styled(figures, style)])
}

fn draw_mixture(report: &dyn Report, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    report.typed().map(|report| mixture(report, columns, ui)).unwrap_or_default()
}

/// Returns lines about the mixture as the command line prints it, with its bar and refusals.
pub(super) fn draw_report(report: &dyn Report, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let bar = report.typed().map(|report| bar(report, columns, ui));
    let refusals = report.findings().0.iter().filter(|problem| problem.severity == Severity::Refusal);
    let refusals = refusals.flat_map(|problem| problem_lines(problem, columns, ui));
    bar.into_iter().chain(report_lines(report, true, columns, ui)).chain(refusals).collect()
}

/// Returns the bar of all shares, the length of an epoch, and the problems.
fn mixture(report: &MixtureIndexReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let outlook = &report.outlook;
    let about = if outlook.is_exact { "" } else { "about " };
    let epochs = format!(
        "{} {dot} an epoch is {} {dot} {about}{:.2} epochs",
        count(outlook.samples, "sample"),
        count(outlook.epoch, "window"),
        outlook.passes,
        dot = ui.glyphs.dot,
    );
    let mut lines = vec![bar(report, columns, ui), Line::from(text::fit_end(&epochs, columns, ui.glyphs))];
    lines.extend(report.findings.problems.iter().flat_map(|problem| problem_lines(problem, columns, ui)));
    lines
}

/// Returns one bar with the shares of all folders.
fn bar(report: &MixtureIndexReport, columns: usize, ui: &Ui) -> Line<'static> {
    let shares: Vec<(f64, Style)> =
        report.outlook.members.iter().enumerate().map(|(at, share)| (share.samples as f64, ui.theme.bar(at))).collect();
    let all: f64 = shares.iter().map(|(share, _)| share).sum();
    let mut spans = Vec::new();
    let (mut sum, mut used) = (0.0, 0);
    for (share, style) in shares {
        sum += share;
        let end = if all > 0.0 { (sum / all * columns as f64).round() as usize } else { 0 };
        let cells = end.min(columns).saturating_sub(used);
        spans.push(Span::styled(ui.glyphs.bar_full.repeat(cells), style));
        used += cells;
    }
    Line::from(spans)
}
