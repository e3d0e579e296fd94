//! Draws step Review: one page that scrolls.

use super::super::draw::Look;
use super::super::step::Answers;
use super::ReviewStep;
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::layout::{draw_lines, heading, problem_lines};
use crate::tui::widgets::page::{draw_scrolled, wrapped};
use crate::tui::widgets::{popup, text};
use gristmill_core::text::{bytes, count, grouped};
use gristmill_core::{MediaFilter, Problem, Severity, ShardState};
use gristmill_ops::engine::plan::fields::percent;
use gristmill_ops::engine::plan::{shell_quote, CommandLine};
use gristmill_ops::job::report::OutputFile;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Problems shown in full; more are counted.
const SHOWN_PROBLEMS: usize = 12;

/// Draws the step.
pub fn draw(step: &mut ReviewStep, frame: &mut Frame, area: Rect, answers: &Answers, look: &Look) {
    let lines = page(step, answers, usize::from(area.width), look);
    step.height = usize::from(area.height);
    step.last_offset = lines.len().saturating_sub(step.height);
    let ui = look.ui;
    draw_scrolled(frame, area, &mut step.offset, lines, ui);
    if let Some(field) = &step.saving {
        look.spots.clear();
        let inner = popup(frame, area, area.width.min(60), 5, "Save the plan as", ui);
        let place = Rect { x: inner.x + 1, y: inner.y + 1, width: inner.width.saturating_sub(2), height: 1 };
        field.draw(frame, place.intersection(inner), true, "plan.yaml", ui);
        let below = Rect { y: inner.y + 2, height: 1, ..inner }.intersection(inner);
        let key = ui.key(Context::PrepareText, Action::Next);
        let words = Span::styled(format!(" {key} saves; `gristmill run FILE` replays it"), ui.theme.muted);
        draw_lines(frame.buffer_mut(), below, [Line::from(words)]);
    }
}

fn page(step: &ReviewStep, answers: &Answers, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let mut lines = verdict(step, answers, columns, look);
    let Some(preview) = &step.preview else {
        lines.push(Line::from(Span::styled("working out what will be written", look.ui.theme.muted)));
        return lines;
    };
    lines.extend(files(&preview.files, columns, look));
    lines.extend(splits(step, answers, columns, look));
    lines.extend(media(answers, columns, look));
    lines.extend(problems(step, answers, columns, look));
    if !preview.differences.is_empty() {
        lines.push(Line::default());
        lines.push(heading("Against the last preparation", look.ui));
        for difference in &preview.differences {
            lines.extend(
                text::wrap(difference, columns.saturating_sub(2)).into_iter().map(|l| Line::from(format!("  {l}"))),
            );
        }
    }
    lines.extend(command(answers, columns, look));
    lines
}

/// Whether it can run, and how long it takes.
fn verdict(step: &ReviewStep, answers: &Answers, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let ui = look.ui;
    if let Some(why) = step.refusal(answers) {
        let mut lines = Vec::new();
        for (at, part) in text::wrap(&why, columns.saturating_sub(2)).into_iter().enumerate() {
            let sign = if at == 0 { ui.glyphs.cross } else { " " };
            lines.push(Line::from(Span::styled(format!("{sign} {part}"), ui.theme.error)));
        }
        let way = step.way_out(answers).unwrap_or_else(|| "go back and change it".into());
        lines.push(Line::from(vec![
            Span::styled(format!("  {way}"), ui.theme.key),
            Span::styled("; it cannot run as it is", ui.theme.muted),
        ]));
        return lines;
    }
    let facts = &answers.facts;
    if step.dry_run {
        return dry_run_verdict(step, answers, columns, look);
    }
    if step.preview.as_ref().is_some_and(|preview| preview.nothing_to_do) {
        let words = format!("{} it is prepared like this already, and nothing has changed since", ui.glyphs.check);
        let mut lines = wrapped(&words, columns, ui.theme.ok);
        lines.extend(wrapped("A run would write nothing.", columns, ui.theme.muted));
        return lines;
    }
    let key = ui.key(Context::PrepareReview, Action::Run);
    let found = all_problems(step, answers).iter().filter(|p| p.severity == Severity::Problem).count() as u64;
    let (state, style) = match found {
        0 => (format!("{} ready: ", ui.glyphs.check), ui.theme.ok),
        n => (format!("{} ready, with {}: ", ui.glyphs.warn, count(n, "problem")), ui.theme.warn),
    };
    // In a narrow terminal the reassurance gives way.
    let ends = [" runs it. Nothing is written before.", " runs it."];
    let before = text::width(&state) + text::width(&key);
    let end = ends.into_iter().find(|end| before + text::width(end) <= columns).unwrap_or(ends[1]);
    let ready = Line::from(vec![Span::styled(state, style), Span::styled(key, ui.theme.key), Span::raw(end)]);
    let waiting = facts.shards.iter().filter(|s| s.state == ShardState::Waiting).count() as u64;
    let time = match (&step.time, facts.scan_complete) {
        (_, false) if !look.is_scanning && answers.is_update() => {
            format!("  only {} to read; the rest stays as it is", count(waiting, "shard"))
        }
        (_, false) if !look.is_scanning => "  all shards are read again in the run".to_owned(),
        (_, true) => format!("  {} scanned already; writing takes seconds", count(facts.samples_seen, "sample")),
        (Some(left), false) => format!("  about {left} to go; the scan is under way and goes on in the run"),
        (None, false) => "  the scan is under way and goes on in the run".to_owned(),
    };
    vec![ready, Line::from(Span::styled(text::fit_end(&time, columns, ui.glyphs), ui.theme.muted))]
}

/// What a dry run says: only once every shard was read it can say that the plan works.
fn dry_run_verdict(step: &ReviewStep, answers: &Answers, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let ui = look.ui;
    let facts = &answers.facts;
    let read = facts.shards.iter().filter(|s| matches!(s.state, ShardState::Scanned | ShardState::Failed)).count();
    let found = all_problems(step, answers).iter().filter(|p| p.severity == Severity::Problem).count() as u64;
    let (words, style) = if !look.is_scanning && step.preview.is_some() {
        let read = count(read as u64, "shard");
        match found {
            0 => (format!("{} dry run: nothing is in the way; {read} read", ui.glyphs.check), ui.theme.ok),
            n => {
                let with = count(n, "problem");
                (format!("{} dry run: nothing is in the way, with {with}; {read} read", ui.glyphs.warn), ui.theme.warn)
            }
        }
    } else {
        let of = count(facts.shards.len() as u64, "shard");
        (format!("{} dry run: {} of {of} read", ui.spinner(), grouped(read as u64)), ui.theme.text)
    };
    let note = "Nothing was written. Only the run compares keys with each other; the same key twice stops it.";
    let mut lines = wrapped(&words, columns, style);
    lines.extend(wrapped(note, columns, ui.theme.muted));
    lines
}

/// Files with sizes; the many `.tar.idx` as one line.
fn files(files: &[OutputFile], columns: usize, look: &Look) -> Vec<Line<'static>> {
    let ui = look.ui;
    let mut lines = vec![Line::default(), heading("Files that will be written", ui)];
    let is_index = |f: &&OutputFile| f.name.ends_with(".tar.idx");
    let indexes: Vec<&OutputFile> = files.iter().filter(is_index).collect();
    let mut rows: Vec<(String, u64, bool)> = Vec::new();
    match indexes.as_slice() {
        [] => {}
        [first, .., last] if indexes.len() > 3 => {
            let size = indexes.iter().map(|f| f.bytes).sum();
            let name =
                format!("{} {} {}  ({})", first.name, ui.glyphs.ellipsis, last.name, grouped(indexes.len() as u64));
            rows.push((name, size, indexes.iter().any(|f| f.replaces)));
        }
        few => rows.extend(few.iter().map(|f| (f.name.clone(), f.bytes, f.replaces))),
    }
    rows.extend(files.iter().filter(|f| !is_index(f)).map(|f| (f.name.clone(), f.bytes, f.replaces)));
    if rows.is_empty() {
        lines.push(Line::from(Span::styled("  none", ui.theme.muted)));
    }
    let name_columns = columns.saturating_sub(26).max(10);
    for (name, size, replaces) in rows {
        let name = text::pad_end(&text::fit_middle(&name, name_columns, ui.glyphs), name_columns);
        let size = text::pad_start(&format!("~{}", bytes(size)), 12);
        let what = if replaces { ("  replaced", ui.theme.warn) } else { ("  new", ui.theme.muted) };
        lines.push(Line::from(vec![Span::raw(format!("  {name}{size}")), Span::styled(what.0, what.1)]));
    }
    lines
}

fn splits(step: &ReviewStep, answers: &Answers, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let ui = look.ui;
    let Some(preview) = step.preview.as_ref().filter(|p| !p.splits.is_empty()) else { return Vec::new() };
    let total: u64 = preview.splits.iter().map(|s| s.samples).sum();
    let (title, about) = if answers.is_counting() { ("Splits, so far", "~") } else { ("Splits", "") };
    let mut lines = vec![Line::default(), heading(title, ui)];
    for split in &preview.splits {
        let share = if total == 0 { 0.0 } else { split.samples as f64 / total as f64 };
        let name = text::pad_end(&text::fit_end(&split.name, 14, ui.glyphs), 14);
        let shards = text::pad_start(&count(split.shards, "shard"), 13);
        let samples = text::pad_start(&format!("{about}{}", count(split.samples, "sample")), 20);
        let share = text::pad_start(&format!("{about}{} %", percent(share)), 9);
        let style = if split.shards == 0 { ui.theme.warn } else { ui.theme.text };
        let words = text::fit_end(&format!("  {name}{shards}{samples}{share}"), columns, ui.glyphs);
        lines.push(Line::from(Span::styled(words, style)));
    }
    lines
}

/// What is recorded about pictures, sounds and videos, where that was asked for.
fn media(answers: &Answers, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let Some(plan) = &answers.plan.media else { return Vec::new() };
    let which = match &plan.filter {
        MediaFilter::Extension => "entries picked by the end of their names".to_owned(),
        MediaFilter::Header => "entries picked by their first bytes".to_owned(),
        MediaFilter::Glob(patterns) => format!("entries that match {}", patterns.join(", ")),
    };
    let how = if plan.decode { "; each picture is decoded whole" } else { "" };
    let words = text::fit_end(&format!("  {which}{how}"), columns, look.ui.glyphs);
    vec![Line::default(), heading("Media metadata", look.ui), Line::from(words)]
}

/// Everything found, told once, the worst first.
fn all_problems<'a>(step: &'a ReviewStep, answers: &'a Answers) -> Vec<&'a Problem> {
    let of_preview = step.preview.as_ref().map_or(&[][..], |p| &p.problems);
    let mut all: Vec<_> = of_preview.iter().chain(&answers.derived.problems).chain(&answers.facts.findings).collect();
    // Of one problem that is reported twice the worse counts.
    all.sort_by_key(|p| std::cmp::Reverse(p.severity));
    let mut seen: Vec<String> = Vec::new();
    all.retain(|p| {
        let key = p.to_string();
        let new = !seen.contains(&key);
        if seen.len() < 200 {
            seen.push(key);
        }
        new
    });
    all
}

fn problems(step: &ReviewStep, answers: &Answers, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let ui = look.ui;
    let all = all_problems(step, answers);
    if all.is_empty() {
        let none = match answers.is_counting() {
            true => Span::styled("  none found so far", ui.theme.muted),
            false => Span::styled(format!("  {} none found", ui.glyphs.check), ui.theme.ok),
        };
        return vec![Line::default(), heading("Problems", ui), Line::from(none)];
    }
    let of = |severity| all.iter().filter(|p| p.severity == severity).count() as u64;
    let so_far = if answers.is_counting() { ", so far" } else { "" };
    let title = format!(
        "Problems: {} in the way, {} to know, {}{so_far}",
        of(Severity::Refusal),
        of(Severity::Problem),
        count(of(Severity::Note), "note")
    );
    let mut lines = vec![Line::default(), heading(&title, ui)];
    for problem in all.iter().take(SHOWN_PROBLEMS) {
        lines.extend(problem_lines(problem, columns.saturating_sub(2), ui).into_iter().map(|mut l| {
            l.spans.insert(0, Span::raw("  "));
            l
        }));
    }
    if all.len() > SHOWN_PROBLEMS {
        let words = format!("  and {} more, in the report", all.len() - SHOWN_PROBLEMS);
        lines.push(Line::from(Span::styled(words, ui.theme.muted)));
    }
    lines
}

fn command(answers: &Answers, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let ui = look.ui;
    let key = ui.key(Context::PrepareReview, Action::Copy);
    let mut head = heading("The same as a command", ui);
    head.spans.push(Span::styled(format!("   {key} copies it"), ui.theme.muted));
    let mut lines = vec![Line::default(), head];
    lines.extend(command_lines(&answers.derived.command, columns.saturating_sub(4), look));
    for (name, _) in &answers.derived.command.files {
        let words = format!("with {name} holding what is too long for a flag; a saved plan needs no other file");
        let words = text::wrap(&words, columns.saturating_sub(2)).into_iter();
        lines.extend(words.map(|l| Line::from(Span::styled(format!("  {l}"), ui.theme.muted))));
    }
    lines
}

/// A command on several lines, broken only between a flag and the next so that it can still be pasted.
fn command_lines(command: &CommandLine, columns: usize, look: &Look) -> Vec<Line<'static>> {
    let mut groups: Vec<String> = Vec::new();
    for argument in &command.arguments {
        let quoted = text::safe(&shell_quote(argument));
        match groups.last_mut() {
            Some(last) if !argument.starts_with("--") => last.push_str(&format!(" {quoted}")),
            _ => groups.push(quoted),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for group in groups {
        match lines.last_mut() {
            Some(last) if text::width(last) + text::width(&group) + 3 <= columns => last.push_str(&format!(" {group}")),
            _ => lines.push(group),
        }
    }
    let last = lines.len().saturating_sub(1);
    let draw = |(at, words): (usize, String)| {
        let indent = if at == 0 { "  " } else { "    " };
        let end = if at == last { "" } else { " \\" };
        Line::from(Span::styled(format!("{indent}{words}{end}"), look.ui.theme.accent))
    };
    lines.into_iter().enumerate().map(draw).collect()
}
