//! The preview in the form of `prepare-media`.

use super::tally::{count_lines, probed_lines, MediaTally};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{heading, problem_lines};
use crate::tui::widgets::page::wrapped;
use crate::tui::widgets::text;
use gristmill_core::text::{bytes, count};
use gristmill_ops::job::media::MediaPreview;
use gristmill_ops::job::report::Report;
use ratatui::text::{Line, Span};

/// Maximum number of listed problems.
const MAX_PROBLEMS: usize = 12;

/// Returns the preview of `prepare-media` as lines.
pub fn draw_preview(report: &dyn Report, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    report.typed::<MediaPreview>().map(|preview| preview_lines(preview, columns, ui)).unwrap_or_default()
}

fn preview_lines(preview: &MediaPreview, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let seen = MediaTally::of_outlook(&preview.outlook, false);
    let mut lines = Vec::new();
    if seen.candidates == 0 {
        let words = format!("{} no entry matches: no row would be written", ui.glyphs.warn);
        lines.extend(wrapped(&words, columns, ui.theme.warn));
    } else {
        lines.extend(count_lines(&seen, columns, ui));
        lines.push(Line::default());
        lines.extend(probed_lines(&seen, columns, true, ui));
    }
    lines.push(Line::default());
    lines.push(heading("File that will be written", ui));
    for file in &preview.files {
        let label = if file.replaces { ("replaced", ui.theme.warn) } else { ("new", ui.theme.muted) };
        let size = format!("  ~{}  ", bytes(file.bytes));
        let room = columns.saturating_sub(text::width(&size) + text::width(label.0) + 2);
        lines.push(Line::from(vec![
            Span::raw(format!("  {}{size}", text::fit_middle(&file.name, room, ui.glyphs))),
            Span::styled(label.0, label.1),
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
        lines.extend(preview.problems.iter().take(MAX_PROBLEMS).flat_map(|p| problem_lines(p, columns, ui)));
    }
    lines
}
