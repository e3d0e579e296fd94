//! What a job made, in a few lines.

use crate::job::prepare::OutputFile;
use crate::model::text::{bytes, count};
use crate::tui::jobs::JobResult;
use crate::tui::screen::Ui;
use crate::tui::widgets::text;
use ratatui::text::{Line, Span};

/// The lines of a job that ended well; none for one that did not.
pub fn lines(result: &JobResult, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let Ok(report) = result.report() else { return Vec::new() };
    let mut lines = facts(result, ui);
    lines.extend(files(report.files(), columns, ui));
    lines
}

fn facts(result: &JobResult, ui: &Ui) -> Vec<Line<'static>> {
    let dot = ui.glyphs.dot;
    match result {
        JobResult::Prepare(end) => match end.as_ref() {
            Ok(report) => vec![Line::from(format!(
                "{} {dot} {} {dot} {}",
                count(report.shards, "shard"),
                count(report.samples, "sample"),
                bytes(report.bytes)
            ))],
            Err(_) => Vec::new(),
        },
    }
}

/// Files with their sizes.
fn files(files: &[OutputFile], columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for file in files {
        let what = if file.replaces { "  replaced" } else { "  new" };
        let size = text::pad_start(&bytes(file.bytes), 11);
        let name_columns = columns.saturating_sub(24).max(8);
        let name = text::pad_end(&text::fit_middle(&file.name, name_columns, ui.glyphs), name_columns);
        lines.push(Line::from(vec![
            Span::raw(format!("  {name}{size}")),
            Span::styled(what.to_owned(), ui.theme.muted),
        ]));
    }
    lines
}
