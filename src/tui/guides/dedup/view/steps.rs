//! Draws the steps of the form of dedup.

use super::passage_lines;
use crate::tui::form::{draw_below, draw_fields, from_row, Form, MouseTarget};
use crate::tui::guides::dedup::guide::{plan_of, DedupGuide, LENGTHS, OWN_LENGTH};
use crate::tui::guides::text_files::{file_line, listing_lines};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::bars::range_bar;
use crate::tui::widgets::layout::{draw_lines, heading, problem_lines};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{failure_lines, waiting, wrapped};
use crate::tui::widgets::text;
use gristmill_core::dedup::{Mode, SHOWN_LENGTHS};
use gristmill_core::text::{bytes, count, grouped, percent};
use gristmill_core::Outcome;
use gristmill_ops::job::dedup::DedupEstimate;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Maximum number of listed files.
const SHOWN_FILES: usize = 1_000;
/// Maximum number of listed passages.
const MAX_PASSAGES: usize = 12;
/// Columns of a length and its marker.
const LENGTH_COLUMNS: usize = 14;
/// Columns of the figures after a bar.
const FIGURES_COLUMNS: usize = 32;
/// Columns of the share in the figures, and of its bounds.
const SHARE_COLUMNS: usize = 8;
const BOUNDS_COLUMNS: usize = 10;

/// Draws the fields of the step Source, and the files.
pub fn draw_source(guide: &DedupGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width);
    let fields = form.fields().to_vec();
    let line = draw_fields(form, frame, area, 0, &fields, ui) + 1;
    let files = guide.known.files.clone();
    let lines = listing_lines(files.as_deref(), columns, ui, |found| {
        let size = found.files.iter().map(|file| file.bytes).sum();
        let total = found.files.len();
        let mut lines =
            vec![heading(&format!("{} {} {}", count(total as u64, "file"), ui.glyphs.dot, bytes(size)), ui)];
        let words = "Files are read in this order; the first copy of a repeat is kept.";
        lines.extend(wrapped(words, columns, ui.theme.muted));
        lines.extend(found.problems.iter().take(8).flat_map(|problem| problem_lines(problem, columns, ui)));
        lines.push(Line::default());
        lines.extend(found.files.iter().take(SHOWN_FILES).map(|file| file_line(file, columns, ui)));
        if let Some(more) = total.checked_sub(SHOWN_FILES).filter(|more| *more > 0) {
            lines.push(Line::from(Span::styled(format!("and {} more", grouped(more as u64)), ui.theme.muted)));
        }
        lines
    });
    draw_below(form, frame, from_row(area, line), lines, ui);
}

/// Draws the minimum lengths with their estimates.
pub fn draw_length(guide: &mut DedupGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width);
    draw_lines(frame.buffer_mut(), area, [heading("Minimum length of a repeat, in bytes of text", ui)]);
    let rows = guide.lengths.len.min(usize::from(area.height).saturating_sub(1));
    let place = Rect { height: u16::try_from(rows).unwrap_or(0), ..from_row(area, 1) };
    draw_lengths(guide, form, frame, place, ui);
    let mut line = rows + 1;
    if guide.is_own {
        line = draw_fields(form, frame, area, line, &[OWN_LENGTH], ui);
    }
    let mut lines = Vec::new();
    let length = plan_of(form).min_length;
    let chosen = length.and_then(|length| guide.known.estimate(length));
    match chosen {
        _ if guide.known.estimates.is_stopped => {
            let key = ui.key(Context::Dedup, Action::Reload);
            let words = format!("{} estimating was stopped; {key} begins again", ui.glyphs.dash);
            lines.extend(wrapped(&words, columns, ui.theme.muted));
        }
        None if length.is_none() => {}
        None => lines.push(waiting("reading a sample of the documents", ui)),
        Some(Err(failure)) => lines = failure_lines(failure, columns, ui),
        Some(Ok(found)) => lines = found_lines(found, columns, ui),
    }
    draw_below(form, frame, from_row(area, line + 1), lines, ui);
}

/// Returns lines about how much of the data the estimate is based on, and the most repeated passages.
fn found_lines(found: &DedupEstimate, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let words = found.lengths.first().map(|length| found.basis(length)).unwrap_or_default();
    let mut lines = wrapped(&words, columns, ui.theme.muted);
    if !found.passages.is_empty() {
        lines.push(Line::default());
        lines.push(heading("Repeated most", ui));
        lines.extend(passage_lines(&found.passages, MAX_PASSAGES, columns, ui));
    }
    lines.extend(found.problems.iter().take(8).flat_map(|problem| problem_lines(problem, columns, ui)));
    lines
}

fn draw_lengths(guide: &mut DedupGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    form.mouse_areas.add(area, MouseTarget::Field(LENGTHS));
    let focused = form.is_focused(LENGTHS);
    let chosen = plan_of(form).min_length;
    let (known, is_own) = (&guide.known, guide.is_own);
    let own = chosen.filter(|_| is_own);
    draw_list(frame.buffer_mut(), area, &mut guide.lengths, focused, ui, |index, columns| {
        let length = SHOWN_LENGTHS.get(index).copied();
        let is_chosen = if length.is_none() { is_own } else { !is_own && length == chosen };
        let sign = if is_chosen { ui.glyphs.radio_on } else { ui.glyphs.radio_off };
        let word = length.map_or_else(|| "another".to_owned(), grouped);
        let mut spans = vec![Span::raw(text::pad_end(&format!("{sign} {word}"), LENGTH_COLUMNS))];
        let Some(length) = length.or(own) else { return Line::from(spans) };
        let room = columns.saturating_sub(LENGTH_COLUMNS + FIGURES_COLUMNS).min(50);
        match (known.estimate(length), known.estimates.is_stopped) {
            (Some(found), _) => spans.extend(figures(found, length, room, ui)),
            (None, true) => spans.push(Span::styled(ui.glyphs.dash, ui.theme.muted)),
            (None, false) => spans.push(Span::styled(ui.spinner(), ui.theme.muted)),
        }
        Line::from(spans)
    });
}

/// Returns the bar of a length, with the removed share and bytes.
fn figures(found: &Outcome<DedupEstimate>, length: u64, room: usize, ui: &Ui) -> Vec<Span<'static>> {
    let known = found.as_ref().ok().and_then(|found| found.lengths.iter().find(|known| known.min_length == length));
    let Some(known) = known else { return vec![Span::styled(ui.glyphs.cross, ui.theme.error)] };
    let about = if known.is_exact { "" } else { "~" };
    let most = known.most_share.filter(|_| !known.is_exact);
    let bounds = most
        .map(|most| format!("{:.0}{}{:.0} %", known.least_share * 100.0, ui.glyphs.dash, most * 100.0))
        .unwrap_or_default();
    vec![
        Span::styled(range_bar(known.share, most, room, ui.glyphs), ui.theme.bar(0)),
        Span::raw(text::pad_start(&format!("{about}{}", percent(known.share)), SHARE_COLUMNS)),
        Span::styled(text::pad_start(&bounds, BOUNDS_COLUMNS), ui.theme.muted),
        Span::styled(format!(" {}", text::pad_start(&bytes(known.removed_bytes), 12)), ui.theme.muted),
    ]
}

/// Returns the lines below the fields of the mode.
pub fn mode_foot(form: &Form, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let wrong = form.plan().check(false);
    if !wrong.is_empty() {
        return wrong.iter().take(2).flat_map(|problem| problem_lines(problem, columns, ui)).collect();
    }
    let words = match plan_of(form).mode {
        Mode::Remove => "The same files are written to the output, without repeated text. The input stays as it is.",
        Mode::Annotate => "The same files are written to the output; no text is removed. The input stays as it is.",
    };
    wrapped(words, columns, ui.theme.muted)
}
