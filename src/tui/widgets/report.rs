//! The report of an operation as lines.

use super::layout::{heading, problem_lines};
use super::page::wrapped;
use super::text;
use crate::tui::ui::Ui;
use gristmill_core::{Failure, Problem, ProblemKind, Severity};
use gristmill_ops::job::report::{LineTone, Report};
use ratatui::text::{Line, Span};

/// Maximum number of listed problems.
const MAX_PROBLEMS: usize = 12;
/// The end of the first line of a dry run on the command line.
const NOTHING_WRITTEN: &str = " Nothing was written.";

/// Returns a report as the command line prints it, with its first problems.
pub fn report_lines(report: &dyn Report, is_preview: bool, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for mut line in report.lines(is_preview) {
        // In a form, it is clear that a preview writes nothing.
        if let Some(kept) = line.rest.strip_suffix(NOTHING_WRITTEN).map(str::len).filter(|_| is_preview) {
            line.rest.truncate(kept);
        }
        let line = if ui.glyphs.ascii { line.in_ascii() } else { line };
        match (line.tone, line.rest.is_empty()) {
            (LineTone::Strong, true) => lines.push(heading(&line.lead, ui)),
            (_, true) if line.lead.is_empty() => lines.push(Line::default()),
            (LineTone::Plain, _) if line.rest.starts_with("  ") => {
                let row = text::fit_end(&line.rest, columns, ui.glyphs);
                lines.push(Line::from(Span::styled(row, ui.theme.text)));
            }
            (tone, _) => {
                let style = if tone == LineTone::Success { ui.theme.ok } else { ui.theme.text };
                lines.extend(wrapped(&(line.lead + &line.rest), columns, style));
            }
        }
    }
    let problems = report.findings().0.iter().filter(|problem| problem.severity != Severity::Refusal);
    lines.extend(problems.take(MAX_PROBLEMS).flat_map(|problem| problem_lines(problem, columns, ui)));
    lines.extend(report.failures().iter().flat_map(|failure| problem_lines(&refusal_of(failure), columns, ui)));
    lines
}

fn refusal_of(failure: &Failure) -> Problem {
    let kind = failure.kind.unwrap_or(ProblemKind::Other);
    Problem { severity: Severity::Refusal, ..Problem::of_failure(kind, failure.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;
    use gristmill_core::options::Answer;
    use gristmill_core::RunOptions;
    use gristmill_ops::operations::operation;
    use gristmill_storage::fs::RealFs;
    use gristmill_storage::publish::write_file;
    use ratatui::widgets::Paragraph;

    #[test]
    fn report_lists_files_that_could_not_be_indexed() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("a.jsonl", "1\n"), ("b.jsonl", "nope\n")] {
            write_file(&RealFs, &dir.path().join(name), text.as_bytes(), 0o644).unwrap();
        }
        let mut plan = operation("index").unwrap().plan_for(vec![dir.path().to_string_lossy().into_owned()]);
        plan.set("format", &Answer::Text("modalities".to_owned())).unwrap();
        let report = plan.start(false, RunOptions::default()).unwrap().wait().unwrap();
        let shown = testing::shown((120, 20, false), |frame, area, ui| {
            frame.render_widget(Paragraph::new(report_lines(&*report, false, 118, ui)), area);
        });
        assert!(shown.contains("Indexed") && shown.contains("a.jsonl"), "{shown}");
        assert!(shown.contains("no JSON") && shown.contains("nothing was written"), "{shown}");
    }
}
