//! The lines of the form of `mix index`: folders with their share, repeats and unused part, and the mixture.

use super::folders::FolderRow;
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::problem_lines;
use crate::tui::widgets::report::report_lines;
use crate::tui::widgets::text;
use gristmill_core::text::{count, grouped, percent};
use gristmill_core::Severity;
use gristmill_ops::job::report::Report;
use gristmill_ops::tokens::formats::mixture::job::MixtureIndexReport;
use gristmill_ops::tokens::formats::mixture::Share;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

/// Columns of the figures of a row.
const FIGURE_COLUMNS: usize = 46;

/// Returns the header of the list of folders.
pub(super) fn table_header(columns: usize, ui: &Ui) -> Line<'static> {
    let name = text::pad_end("       folder", columns.saturating_sub(FIGURE_COLUMNS));
    let figures = format!("{:>11} {:>7} {:>8} {:>8} {:>8}", "windows", "weight", "share", "repeats", "unread");
    Line::from(Span::styled(format!("{name}{figures}"), ui.theme.muted))
}

/// Returns the line of a folder. `share` is its share, and the number of samples of the mixture.
pub(super) fn folder_line(
    row: &FolderRow,
    length: Option<u64>,
    share: Option<(&Share, u64)>,
    columns: usize,
    ui: &Ui,
) -> Line<'static> {
    let sign = if row.is_chosen { ui.glyphs.box_on } else { ui.glyphs.box_off };
    let room = columns.saturating_sub(FIGURE_COLUMNS + 5).max(6);
    let name = text::pad_end(&text::fit_middle(&row.name, room, ui.glyphs), room);
    if let Some(why) = &row.item.failure {
        let why = text::fit_end(&format!("{} {why}", ui.glyphs.cross), FIGURE_COLUMNS, ui.glyphs);
        return Line::from(vec![Span::raw(format!("{sign} {name} ")), Span::styled(why, ui.theme.error)]);
    }
    let windows = length.map(|length| grouped(row.item.windows(length))).unwrap_or_default();
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

/// Returns lines about the mixture as the command line prints it, with its bar and refusals.
pub(super) fn draw_report(report: &dyn Report, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let bar = report.typed().map(|report| bar(report, columns, ui));
    let refusals = report.findings().0.iter().filter(|problem| problem.severity == Severity::Refusal);
    let refusals = refusals.flat_map(|problem| problem_lines(problem, columns, ui));
    bar.into_iter().chain(report_lines(report, true, columns, ui)).chain(refusals).collect()
}

/// Returns the bar of all shares, the length of an epoch, and the problems.
pub(super) fn mixture_lines(report: &MixtureIndexReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
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
