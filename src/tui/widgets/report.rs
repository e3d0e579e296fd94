//! The report of an operation as lines.

use super::layout::{heading, problem_lines};
use super::page::wrapped;
use super::text;
use crate::tui::screen::Ui;
use gristmill_core::Severity;
use gristmill_ops::job::report::{LineTone, Report};
use ratatui::text::{Line, Span};

/// Problems that are listed.
const MAX_PROBLEMS: usize = 12;

/// Returns the printed lines of a report, and its first problems.
pub fn report_lines(report: &dyn Report, is_preview: bool, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for line in report.lines(is_preview) {
        let line = if ui.glyphs.ascii { line.in_ascii() } else { line };
        match (line.tone, line.rest.is_empty()) {
            (LineTone::Strong, true) => lines.push(heading(&line.lead, ui)),
            (_, true) if line.lead.is_empty() => lines.push(Line::default()),
            (LineTone::Plain, _) if line.rest.starts_with("  ") => {
                let row = text::fit_end(&line.rest, columns, ui.glyphs);
                lines.push(Line::from(Span::styled(row, ui.theme.text)));
            }
            (tone, _) => {
                let style = if tone == LineTone::Good { ui.theme.ok } else { ui.theme.text };
                lines.extend(wrapped(&(line.lead + &line.rest), columns, style));
            }
        }
    }
    let problems = report.findings().0.iter().filter(|problem| problem.severity != Severity::Refusal);
    lines.extend(problems.take(MAX_PROBLEMS).flat_map(|problem| problem_lines(problem, columns, ui)));
    lines
}
