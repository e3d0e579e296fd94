//! Draws the review of the form of pack: what a run would do.

use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{heading, problem_lines};
use crate::tui::widgets::page::wrapped;
use crate::tui::widgets::text;
use gristmill_core::text::{about, bytes, count};
use gristmill_core::Severity;
use gristmill_ops::tokens::pack::PackPreview;
use ratatui::text::{Line, Span};

/// Maximum number of listed files of each format.
const FILES_EACH: usize = 6;
/// Maximum number of listed reasons why documents are left out, for each format.
const REASONS_EACH: usize = 4;

/// Returns lines about what a run would do.
pub fn preview_lines(preview: &PackPreview, output: &str, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let dot = ui.glyphs.dot;
    let mut lines = Vec::new();
    if preview.nothing_to_do {
        lines.extend(wrapped("Up to date: this plan has already run on these files.", columns, ui.theme.ok));
    }
    if preview.resumable_bytes > 0 {
        let words =
            format!("{} a stopped run is resumed: {} are done", ui.glyphs.arrow, bytes(preview.resumable_bytes));
        lines.extend(wrapped(&words, columns, ui.theme.accent));
    }
    let all = [
        count(preview.file_count, "file"),
        bytes(preview.bytes),
        format!("~{}", count(preview.documents, "document")),
        format!("~{}", count(preview.tokens, "token")),
    ];
    lines.push(Line::from(text::fit_end(&all.join(&format!(" {dot} ")), columns, ui.glyphs)));
    let needs = format!(
        "{} {dot} needs {} of {} free",
        about(preview.estimated),
        bytes(preview.needed_bytes),
        bytes(preview.free_bytes)
    );
    let is_tight = preview.needed_bytes > preview.free_bytes;
    let style = if is_tight { ui.theme.error } else { ui.theme.text };
    lines.push(Line::from(Span::styled(text::fit_end(&needs, columns, ui.glyphs), style)));
    let sample = format!(
        "from a sample of {}, {}, {}",
        count(preview.sample.lines, preview.sample.unit()),
        bytes(preview.sample.bytes),
        count(preview.sample.tokens, "token")
    );
    lines.push(Line::from(Span::styled(text::fit_end(&sample, columns, ui.glyphs), ui.theme.muted)));
    for target in &preview.targets {
        let figures = format!(
            "{}  {dot} ~{} of {} {dot} ~{}",
            target.format,
            count(target.tokens, "token"),
            count(u64::from(target.token_bytes), "byte"),
            bytes(target.bytes)
        );
        lines.push(heading(&text::fit_end(&figures, columns, ui.glyphs), ui));
        for skipped in target.skipped.iter().take(REASONS_EACH) {
            let words = format!(
                "  {} of the sample left out: {}",
                count(skipped.documents, "document"),
                text::safe(&skipped.reason)
            );
            let style = if skipped.is_by_design { ui.theme.muted } else { ui.theme.warn };
            lines.push(Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), style)));
        }
        if let Some(more) = target.skipped.len().checked_sub(REASONS_EACH).filter(|more| *more > 0) {
            let words = format!("  and for {}", count(more as u64, "more reason"));
            lines.push(Line::from(Span::styled(words, ui.theme.muted)));
        }
        for file in target.outputs.iter().take(FILES_EACH) {
            let label = if file.replaces { ("replaced", ui.theme.warn) } else { ("new", ui.theme.muted) };
            let size = format!("  ~{}  ", bytes(file.bytes));
            let room = columns.saturating_sub(text::width(&size) + text::width(label.0) + 2);
            let name = text::fit_middle(below(&file.name, output), room, ui.glyphs);
            lines.push(Line::from(vec![Span::raw(format!("  {name}{size}")), Span::styled(label.0, label.1)]));
        }
        if let Some(more) = target.outputs.len().checked_sub(FILES_EACH).filter(|more| *more > 0) {
            lines.push(Line::from(Span::styled(format!("  and {more} more"), ui.theme.muted)));
        }
    }
    for warning in &preview.warnings {
        lines.extend(wrapped(&format!("{} {}", ui.glyphs.warn, text::safe(warning)), columns, ui.theme.warn));
    }
    lines.extend(preview.notes.iter().flat_map(|note| problem_lines(note, columns, ui)));
    let problems = preview.problems.iter().filter(|problem| problem.severity != Severity::Refusal);
    lines.extend(problems.take(12).flat_map(|problem| problem_lines(problem, columns, ui)));
    lines
}

/// Returns the path of a file relative to the output, or the name of the file if `output` is only a prefix of its name.
fn below<'a>(path: &'a str, output: &str) -> &'a str {
    match path.strip_prefix(output.trim_end_matches('/')) {
        None | Some("") => path,
        Some(rest) => rest.strip_prefix('/').or_else(|| path.rsplit('/').next()).unwrap_or(path),
    }
}
