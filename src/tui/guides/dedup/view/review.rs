//! Draws the review of the form of dedup: what a run would do.

use super::passage_lines;
use crate::tui::guides::dedup::estimates::DedupFacts;
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{heading, problem_lines};
use crate::tui::widgets::page::wrapped;
use crate::tui::widgets::text;
use gristmill_core::dedup::Mode;
use gristmill_core::text::{bytes, count, display_safe, percent};
use gristmill_core::{DedupPlan, Severity};
use gristmill_data::source::dedup::Listing;
use gristmill_ops::job::dedup::DedupEstimate;
use ratatui::text::{Line, Span};

/// Maximum number of listed files.
const MAX_FILES: usize = 6;
/// Maximum number of listed passages.
const MAX_PASSAGES: usize = 8;

/// Returns lines about what a run would do.
pub fn review_lines(
    plan: &DedupPlan,
    known: &DedupFacts,
    found: &DedupEstimate,
    columns: usize,
    ui: &Ui,
) -> Vec<Line<'static>> {
    let mut lines = estimate_lines(plan, found, columns, ui);
    if let Some(Ok(listing)) = known.files.as_deref() {
        lines.extend(file_lines(plan, listing, columns, ui));
    }
    if !found.passages.is_empty() {
        lines.push(heading("Repeated most", ui));
        lines.extend(passage_lines(&found.passages, MAX_PASSAGES, columns, ui));
    }
    let problems = found.problems.iter().filter(|problem| problem.severity != Severity::Refusal);
    lines.extend(problems.take(12).flat_map(|problem| problem_lines(problem, columns, ui)));
    lines
}

/// Returns lines with the estimated results, time, memory and space.
fn estimate_lines(plan: &DedupPlan, found: &DedupEstimate, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let dot = ui.glyphs.dot;
    let mut lines = Vec::new();
    let fitted = |words: &str| text::fit_end(words, columns, ui.glyphs);
    if found.nothing_to_do {
        let words = "Up to date: this plan has already run on these files.";
        lines.extend(wrapped(words, columns, ui.theme.ok));
    }
    if found.resumable_units > 0 {
        let words = format!("{} a stopped run is resumed", ui.glyphs.arrow);
        lines.extend(wrapped(&words, columns, ui.theme.accent));
    }
    let about = if found.is_exact() { "" } else { "~" };
    let all = [
        format!("{}, {}", count(found.files, "file"), bytes(found.input_bytes)),
        format!("{about}{}", count(found.documents, "document")),
        format!("{about}{} of text", bytes(found.text_bytes)),
    ];
    lines.push(Line::from(fitted(&all.join(&format!(" {dot} ")))));
    let known = found.lengths.iter().find(|known| Some(known.min_length) == plan.min_length);
    if let Some(known) = known {
        let verb = if plan.mode == Mode::Remove { "cut out" } else { "listed" };
        let words = format!(
            "{}{} ({}) {verb}, repeats of {} and more",
            if known.is_exact { "" } else { "~" },
            bytes(known.removed_bytes),
            percent(known.share),
            count(known.min_length, "byte")
        );
        lines.push(Line::from(Span::styled(fitted(&words), ui.theme.title)));
    }
    let mut needs = format!(
        "{} {dot} at most {} of memory",
        gristmill_core::text::about(found.estimated),
        bytes(found.memory_bytes)
    );
    if found.scratch_bytes == 0 {
        needs.push_str(&format!(" {dot} no scratch space"));
    }
    lines.push(Line::from(fitted(&needs)));
    let mut space = |what: &str, about: &str, needed: u64, free: u64| {
        let words = format!("{what} needs {about}{} of {} free", bytes(needed), bytes(free));
        let style = if needed > free { ui.theme.error } else { ui.theme.text };
        lines.push(Line::from(Span::styled(fitted(&words), style)));
    };
    space("the result", "at most ", found.output_bytes, found.free_bytes);
    if found.scratch_bytes > 0 {
        let place = display_safe(&found.scratch.to_string_lossy()).into_owned();
        space(&format!("scratch in {place}"), "~", found.scratch_bytes, found.scratch_free_bytes);
    }
    if let Some(known) = known.filter(|known| !known.is_exact) {
        lines.extend(wrapped(&found.basis(known), columns, ui.theme.muted));
    }
    lines
}

/// Returns lines about the files that will be written.
fn file_lines(plan: &DedupPlan, listing: &Listing, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let output = plan.visible_output();
    let words = format!("Writes {}", count(listing.files.len() as u64, "file"));
    let mut lines = vec![heading(&words, ui)];
    for file in listing.files.iter().take(MAX_FILES) {
        let name = format!("  {}/{}", output.trim_end_matches('/'), file.name);
        let size = text::pad_start(&format!("of {}", bytes(file.bytes)), 14);
        let room = columns.saturating_sub(16).max(8);
        let name = text::pad_end(&text::fit_middle(&name, room, ui.glyphs), room);
        lines.push(Line::from(vec![Span::raw(name), Span::styled(size, ui.theme.muted)]));
    }
    if let Some(more) = listing.files.len().checked_sub(MAX_FILES).filter(|more| *more > 0) {
        lines.push(Line::from(Span::styled(format!("  and {more} more"), ui.theme.muted)));
    }
    for (what, place) in [("index", &plan.export_index), ("ranges", &plan.export_ranges)] {
        if let Some(place) = place {
            lines.push(Line::from(text::fit_middle(&format!("  {what} to {place}"), columns, ui.glyphs)));
        }
    }
    lines
}
