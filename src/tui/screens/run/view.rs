//! Draws the parts common to all runs: progress, problems, log, and the reason of a failure.

use super::{outputs, RunState, Tab};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{draw_lines, stack, Section};
use crate::tui::widgets::page::{draw_scrolled, join_fitting, wrapped};
use crate::tui::widgets::{progress_bar, text};
use gristmill_core::text::{bytes, count, duration, grouped, percent};
use gristmill_core::{ExitClass, Failure, Severity};
use gristmill_ops::job::{JobStatus, Phase};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// The texts that depend on the kind of the run.
#[derive(Clone, Debug)]
pub struct RunTexts {
    /// Success: `coco is ready to train on`.
    pub ready: String,
    /// Success with output to browse: `coco is prepared`.
    pub done: String,
    /// Nothing to do: `coco was prepared like this already`.
    pub idle: String,
    /// Label of the first tab while the run is active: `Shards`.
    pub overview: &'static str,
    /// Where Esc leads after a failure: `the answers`.
    pub back: &'static str,
    /// Whether a retry reuses finished work.
    pub keeps_work: bool,
}

/// Returns the description of a phase.
fn phase_words(phase: Phase, item: &str) -> String {
    match phase {
        Phase::Open => "opening".into(),
        Phase::Download => "downloading".into(),
        Phase::Scan => format!("reading {item}s"),
        Phase::Media => "reading media headers".into(),
        Phase::Tables => "building the index".into(),
        Phase::Find => "finding repeats".into(),
        Phase::Write => "writing".into(),
        Phase::Publish => format!("publishing {item}s"),
    }
}

/// Draws the common parts of a run in its pane. Returns the area of the overview, and its texts.
pub fn draw_frame(
    step: &mut RunState,
    frame: &mut Frame,
    area: Rect,
    words: &RunTexts,
    focused: bool,
    ui: &Ui,
) -> Option<Rect> {
    let head = head_lines(step, words, usize::from(area.width), ui);
    let sections = [
        Section::fixed(head.len(), Section::FOCUS),
        Section::fixed(1, 1),
        Section::fixed(1, 3),
        Section::growing(3, 1000, 4),
    ];
    let places = stack(area, &sections);
    draw_lines(frame.buffer_mut(), places[0], head);
    draw_lines(frame.buffer_mut(), places[2], [tabs(step, words, usize::from(area.width), ui)]);
    match (step.tab, step.result.clone()) {
        (Tab::Problems, _) => {
            let acts = step.has_cursor();
            step.problems.draw(frame, places[3], focused, acts, ui);
        }
        (Tab::Log, _) => draw_log(step, frame, places[3], ui),
        (Tab::Overview, Some(result)) if !result.is_ok() => {
            if let Some(failure) = result.failure() {
                draw_failure(step, frame, places[3], failure, words, ui);
            }
        }
        (Tab::Overview, _) => return Some(places[3]),
    }
    None
}

/// Returns the lines with the state, the progress and an open question.
pub fn head_lines(step: &RunState, words: &RunTexts, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let Some(status) = &step.status else {
        return vec![Line::from(format!("{} starting", ui.spinner()))];
    };
    let mut lines = vec![state_line(step, status, words, columns, ui)];
    if step.result.is_none() {
        // No bar is drawn while the total is unknown.
        if let Some(share) = status.share {
            let words = text::pad_start(&percent(share), 8);
            let bar = progress_bar(share, columns.saturating_sub(8), ui.glyphs);
            lines.push(Line::from(vec![Span::styled(bar, ui.theme.accent), Span::raw(words)]));
        }
        lines.push(Line::from(Span::styled(join_fitting(&figures(status), columns, ui), ui.theme.muted)));
    }
    if step.confirms_cancel {
        let key = ui.key(Context::Run, Action::CancelJob);
        let words = format!("{} Stop the run? {key} again stops it, any other key continues.", ui.glyphs.warn);
        lines.push(Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), ui.theme.warn)));
    } else if step.is_stopping {
        lines.push(Line::from(Span::styled("stopping at the next safe point", ui.theme.warn)));
    }
    lines
}

fn state_line(step: &RunState, status: &JobStatus, words: &RunTexts, columns: usize, ui: &Ui) -> Line<'static> {
    let took = duration(status.elapsed);
    let Some(result) = &step.result else {
        return Line::from(vec![
            Span::styled(format!("{} {}", ui.spinner(), phase_words(status.phase, status.item)), ui.theme.title),
            Span::styled(format!("   {took}"), ui.theme.muted),
        ]);
    };
    let fit = |words: &str| text::fit_middle(words, columns.saturating_sub(2), ui.glyphs);
    match result.report() {
        Ok(report) if report.is_nothing_to_do() => {
            Line::from(Span::styled(format!("{} {}", ui.glyphs.check, fit(&words.idle)), ui.theme.ok))
        }
        Ok(_) if result.found() > 0 => {
            let with = format!("{} {}, with {}", ui.glyphs.warn, words.done, count(result.found(), "problem"));
            let key = ui.key(Context::Run, Action::ShowProblems);
            let with = text::fit_middle(&with, columns, ui.glyphs);
            let left = columns.saturating_sub(text::width(&with));
            // A sentence that does not fit is omitted completely: the bottom bar shows the key, too.
            let after = [format!("   in {took}; {key} shows them"), format!("   in {took}")];
            let after = after.into_iter().find(|words| text::width(words) <= left).unwrap_or_default();
            Line::from(vec![Span::styled(with, ui.theme.warn), Span::styled(after, ui.theme.muted)])
        }
        Ok(_) => {
            let ready = format!("{} {}", ui.glyphs.check, fit(&words.ready));
            let after = format!("   in {took}");
            let has_room = text::width(&ready) + text::width(&after) <= columns;
            let after = if has_room { after } else { String::new() };
            Line::from(vec![Span::styled(ready, ui.theme.ok), Span::styled(after, ui.theme.muted)])
        }
        Err(failure) if failure.is_cancelled() => {
            Line::from(Span::styled(format!("{} stopped; nothing was published", ui.glyphs.warn), ui.theme.warn))
        }
        Err(_) => {
            Line::from(Span::styled(format!("{} it failed; nothing was published", ui.glyphs.cross), ui.theme.error))
        }
    }
}

/// Returns the figures of a run, ordered by importance: the last are omitted if there is no space.
fn figures(status: &JobStatus) -> Vec<String> {
    let r = status.progress;
    let mut parts = Vec::new();
    if let Some(left) = status.remaining {
        parts.push(format!("{} left", duration(left)));
    }
    match (status.phase, r.items_total) {
        (Phase::Open, _) | (Phase::Publish, 0) => {}
        (_, 0) => parts.push(count(r.items_done, status.item)),
        (_, total) => parts.push(format!("{} of {}", grouped(r.items_done), count(total, status.item))),
    }
    if r.bytes_total > 0 {
        parts.push(format!("{} of {}", bytes(r.bytes_done), bytes(r.bytes_total)));
    }
    if status.bytes_per_second >= 1.0 {
        parts.push(format!("{}/s", bytes(status.bytes_per_second as u64)));
    }
    if status.tokens_per_second >= 1.0 {
        parts.push(format!("{}/s", count(status.tokens_per_second as u64, "token")));
    }
    parts
}

/// Returns the line with the three tabs and, if there is space, the keys that switch them.
fn tabs(step: &RunState, words: &RunTexts, columns: usize, ui: &Ui) -> Line<'static> {
    let counted = |at_least: Severity| -> u64 {
        step.findings().1.iter().filter(|(s, _, _)| *s >= at_least).map(|(_, _, n)| n).sum()
    };
    let bad = counted(Severity::Problem);
    // The same number as in the line above; notes need no action and are counted separately.
    let problems = match counted(Severity::Note) - bad {
        0 => format!("Problems {}", grouped(bad)),
        notes => format!("Problems {}, {}", grouped(bad), count(notes, "note")),
    };
    let first = if step.is_done() { "Summary" } else { words.overview };
    let names = [(Tab::Overview, first.to_owned()), (Tab::Problems, problems), (Tab::Log, "Log".to_owned())];
    let mut spans = Vec::new();
    for (tab, name) in names {
        let style = match (step.tab == tab, tab == Tab::Problems && bad > 0) {
            (true, _) => ui.theme.selected,
            (false, true) => ui.theme.warn,
            (false, false) => ui.theme.muted,
        };
        spans.push(Span::styled(format!(" {name} "), style));
        spans.push(Span::raw(" "));
    }
    let key = ui.key(Context::Run, Action::NextPane);
    let switches = format!(" {key} switches");
    let used: usize = spans.iter().map(|span| text::width(&span.content)).sum();
    if used + text::width(&switches) <= columns {
        spans.push(Span::styled(switches, ui.theme.muted));
    }
    Line::from(spans)
}

/// Draws the visible lines, according to the scroll position of the list.
pub fn draw_page(step: &mut RunState, frame: &mut Frame, area: Rect, lines: Vec<Line<'static>>, ui: &Ui) {
    let height = usize::from(area.height);
    let last = lines.len().saturating_sub(height);
    // The cursor is at the first visible line, so moving it scrolls.
    step.list.set_len(last + 1);
    if step.scrolls_to_end {
        step.list.select(last);
    }
    draw_scrolled(frame, area, &mut step.list.selected, lines, ui);
}

/// Draws the failure and the possible next steps.
pub fn draw_failure(step: &mut RunState, frame: &mut Frame, area: Rect, failure: &Failure, words: &RunTexts, ui: &Ui) {
    let columns = usize::from(area.width);
    let mut lines = Vec::new();
    let style = if failure.is_cancelled() { ui.theme.text } else { ui.theme.error };
    let what = if failure.is_cancelled() { "The run was cancelled.".to_owned() } else { failure.to_string() };
    lines.extend(wrapped(&what, columns, style));
    if let Some(hint) = &failure.hint {
        lines.push(Line::default());
        lines.extend(text::wrap(hint, columns).into_iter().map(Line::from));
    }
    lines.push(Line::default());
    let retry = ui.key(Context::Run, Action::Retry);
    let back = ui.key(Context::Run, Action::Close);
    // An error in the data requires other answers, so finished work is reused only after other failures.
    let tries = match failure.class {
        ExitClass::Environment | ExitClass::Interrupted if words.keeps_work => " retries; finished work is reused.",
        _ => " tries again.",
    };
    lines.push(Line::from(vec![Span::styled(retry, ui.theme.key), Span::styled(tries, ui.theme.muted)]));
    lines.push(Line::from(vec![
        Span::styled(back, ui.theme.key),
        Span::styled(format!(" goes back to {}.", words.back), ui.theme.muted),
    ]));
    let outputs = step.status.as_ref().map(|status| outputs::lines(status, columns, ui)).unwrap_or_default();
    lines.extend((!outputs.is_empty()).then(Line::default).into_iter().chain(outputs));
    draw_page(step, frame, area, lines, ui);
}

fn draw_log(step: &mut RunState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let log: Vec<String> = step.status.as_ref().map(|s| s.log.clone()).unwrap_or_default();
    let columns = usize::from(area.width);
    // Newest last, as in the jobs panel; initially scrolled to the end.
    let lines = log.iter().flat_map(|l| text::wrap(l, columns)).map(Line::from).collect();
    draw_page(step, frame, area, lines, ui);
}
