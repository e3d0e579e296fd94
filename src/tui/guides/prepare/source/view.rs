//! Draws step Source.

use super::super::click_targets::{ClickTarget, DrawContext, StepOption};
use super::super::step::Answers;
use super::{FocusStop, SourceStep};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{below, draw_lines, heading, row, severity_sign, stack, Section};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::fitted;
use crate::tui::widgets::{draw_table, padded, popup, text, Align, Cell, Column};
use gristmill_core::text::{bytes, count, grouped, percent};
use gristmill_core::{DatasetFacts, Duplicates, Problem, Rerun, ShardFacts, ShardState, Tgz};
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Draws the step.
pub fn draw(step: &mut SourceStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let facts = &answers.facts;
    let at = step.stop(answers);
    let stops = step.stop_list(answers);
    let rank = |of: &[FocusStop], otherwise: u8| if of.contains(&at) { Section::FOCUS } else { otherwise };
    let has = |stop: FocusStop| stops.contains(&stop);
    let mut info = info_lines(facts, usize::from(area.width), context);
    info.extend(refusal_lines(answers.derived.no_access.as_ref(), usize::from(area.width), context));
    let rerun_rows = if has(FocusStop::Rerun) { 4 + usize::from(has(FocusStop::ResetExcludes)) } else { 0 };
    let findings = facts.findings.len();
    let wrong = pattern_lines(step, answers, usize::from(area.width), context);
    let doubled = duplicates_title(answers, usize::from(area.width), context);
    let mut unusable = refusal_lines(answers.derived.unusable_samples.as_ref(), usize::from(area.width), context);
    if let Some(key) = shards_key(answers, context).filter(|_| !unusable.is_empty()) {
        let words = format!("  {key} opens the form of shard with this answer");
        unusable.push(fitted(&words, usize::from(area.width), context.ui.theme.muted, context.ui));
    }
    let key_lines = if has(FocusStop::Duplicates) { 2 + doubled.len() } else { unusable.len() };
    let sections = [
        // A problem that prevents every run is shown even if the window is small.
        Section::fixed(info.len() + 1, if answers.derived.no_access.is_some() { Section::FOCUS } else { 3 }),
        Section::fixed(rerun_rows, rank(&[FocusStop::Rerun, FocusStop::ResetExcludes], 4)),
        Section::growing(4, facts.shards.len() + 1, rank(&[FocusStop::Shards], 5)),
        Section::fixed(1 + wrong.len().max(1), rank(&[FocusStop::Pattern], 2)),
        Section::fixed(if has(FocusStop::Tgz) { 3 } else { 0 }, rank(&[FocusStop::Tgz], 1)),
        Section::fixed(key_lines, rank(&[FocusStop::Duplicates], if unusable.is_empty() { 1 } else { 2 })),
        Section::growing(if findings > 0 { 3 } else { 0 }, (findings + 2).min(9), rank(&[FocusStop::Findings], 1)),
    ];
    let places = stack(area, if findings > 0 { &sections } else { &sections[..6] });
    let buffer = frame.buffer_mut();
    draw_lines(buffer, places[0], info);
    draw_rerun(step, frame, places[1], answers, context);
    draw_shards(step, frame, places[2], answers, context);
    draw_pattern(step, frame, places[3], wrong, answers, context);
    draw_tgz(step, frame, places[4], answers, context);
    if has(FocusStop::Duplicates) {
        draw_duplicates(step, frame, places[5], doubled, answers, context);
    } else {
        draw_lines(frame.buffer_mut(), places[5], unusable);
    }
    if let Some(place) = places.get(6) {
        draw_findings(step, frame, *place, answers, context);
    }
    if step.shows_detail {
        draw_detail(step, frame, area, answers, context);
    }
}

/// Returns lines with the kind of the data set, its counts, and its parts with their shares.
fn info_lines(facts: &DatasetFacts, columns: usize, context: &DrawContext) -> Vec<Line<'static>> {
    let ui = context.ui;
    let dot = ui.glyphs.dot;
    let samples = if context.is_scanning { " so far" } else { "" };
    let counted: u64 = facts.shards.iter().map(|s| s.samples).sum();
    let mut summary = vec![facts.kind.title().to_owned(), count(facts.shards.len() as u64, "shard")];
    summary.push(bytes(facts.total_bytes()));
    summary.push(format!("{}{samples}", count(counted, "sample")));
    let mut lines = vec![Line::from(summary.join(&format!(" {dot} ")))];
    lines.extend(part_lines(facts, columns, context));
    lines
}

fn part_lines(facts: &DatasetFacts, columns: usize, context: &DrawContext) -> Vec<Line<'static>> {
    let ui = context.ui;
    if facts.parts.is_empty() {
        let words = match facts.sketches.first() {
            _ if context.is_scanning => "reading the first shards".to_owned(),
            None => "no sample has any part".to_owned(),
            Some(sketch) => {
                let names: Vec<&str> = sketch.parts.iter().map(|(name, _, _)| name.as_str()).collect();
                format!("parts  {} in the first sample", names.join("  "))
            }
        };
        return vec![Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), ui.theme.muted))];
    }
    let mut parts: Vec<_> = facts.parts.iter().collect();
    parts.sort_by_key(|(name, p)| (std::cmp::Reverse(p.samples), name.as_str()));
    let mut lines: Vec<Vec<Span<'static>>> = vec![vec![Span::styled("parts  ", ui.theme.muted)]];
    let mut used = 7;
    for (shown, (name, _)) in parts.iter().enumerate() {
        let name = text::fit_end(name, 24, ui.glyphs);
        let share = percent(facts.part_share(parts[shown].0));
        let width = text::width(&name) + text::width(&share) + 4;
        if used + width > columns && used > 7 {
            if lines.len() == 2 {
                let more = format!("and {} more", parts.len() - shown);
                lines.push(vec![Span::raw("       "), Span::styled(more, ui.theme.muted)]);
                break;
            }
            lines.push(vec![Span::raw("       ")]);
            used = 7;
        }
        if let Some(line) = lines.last_mut() {
            line.push(Span::raw(name));
            line.push(Span::styled(format!(" {share}   "), ui.theme.muted));
        }
        used += width;
    }
    lines.into_iter().map(Line::from).collect()
}

fn draw_rerun(step: &SourceStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let Some(prepared) = answers.facts.prepared.as_ref().filter(|_| !area.is_empty()) else { return };
    let ui = context.ui;
    let by = if prepared.by_gristmill { "by gristmill" } else { "by another program" };
    let samples: u64 = prepared.shard_counts.iter().map(|(_, n)| n).sum();
    let what = format!(
        "Already prepared {by}: {}, {}",
        count(prepared.shard_counts.len() as u64, "shard"),
        count(samples, "sample")
    );
    let buffer = frame.buffer_mut();
    draw_lines(buffer, area, [heading(&text::fit_end(&what, usize::from(area.width), ui.glyphs), ui)]);
    let changes = format!(
        "scan {} new, {} changed; {} gone; edits stay",
        grouped(prepared.new_shards.len() as u64),
        grouped(prepared.changed_shards.len() as u64),
        grouped(prepared.missing_shards.len() as u64)
    );
    let kept = match prepared.excludes.len() {
        0 => "answer all again; split.yaml is kept as a backup".to_owned(),
        n => format!("answer all again; {} kept unless you say so", count(n as u64, "exclude")),
    };
    let focused = step.stop(answers) == FocusStop::Rerun;
    let rows = [("update", changes.as_str(), Rerun::Update), ("overwrite", kept.as_str(), Rerun::Overwrite)];
    for (line, (label, note, value)) in rows.into_iter().enumerate() {
        let (target, is_on) =
            (ClickTarget::Choice(step.number_of(FocusStop::Rerun, answers), line), step.rerun == value);
        let option = StepOption { target, is_on, label, note, is_focused: focused && is_on, label_columns: 9 };
        context.draw_option(buffer, row(area, line + 1), option);
    }
    if step.stop_list(answers).contains(&FocusStop::ResetExcludes) {
        let target = ClickTarget::Switch(step.number_of(FocusStop::ResetExcludes, answers));
        let note = &format!("{} of the last preparation", count(prepared.excludes.len() as u64, "exclude"));
        let (is_on, is_focused) = (step.reset_excludes, step.stop(answers) == FocusStop::ResetExcludes);
        let option = StepOption { target, is_on, label: "remove excludes", note, is_focused, label_columns: 15 };
        context.draw_option(buffer, row(area, 3), option);
    }
}

fn draw_shards(step: &mut SourceStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let ui = context.ui;
    let focused = context.focused && step.stop(answers) == FocusStop::Shards;
    let left_out = |at: usize, s: &ShardFacts| step.is_left_out(at, &s.name, answers);
    let shards = &answers.facts.shards;
    let columns = [
        Column { title: "shard", width: Constraint::Fill(1), align: Align::Name },
        Column { title: "size", width: Constraint::Length(10), align: Align::Number },
        Column { title: "samples", width: Constraint::Length(13), align: Align::Number },
    ];
    if shards.is_empty() {
        let words = if context.is_scanning { "searching for shards" } else { "no shards here" };
        draw_lines(frame.buffer_mut(), area, [Line::from(Span::styled(words, ui.theme.muted))]);
        return;
    }
    let heading_rows = u16::from(area.height > 1);
    context
        .click_targets
        .add(below(area, heading_rows), ClickTarget::Rows(step.number_of(FocusStop::Shards, answers), 0));
    let mut state = step.shards.clone();
    let spinner = ui.spinner();
    draw_table(frame.buffer_mut(), area, &mut state, &columns, focused, ui, |at| {
        let Some(shard) = shards.get(at) else { return Vec::new() };
        let out = left_out(at, shard);
        let style = if out { ui.theme.disabled } else { ui.theme.text };
        let samples = if out {
            Cell::new("x left out", ui.theme.warn)
        } else {
            samples_cell(shard, answers.facts.is_damaged(shard), spinner, ui)
        };
        vec![Cell::new(shard.name.clone(), style), Cell::new(bytes(shard.stamp.bytes), style), samples]
    });
    step.shards = state;
}

/// Returns the number of samples of a shard, or its state if they are not counted.
pub(in super::super) fn samples_cell(shard: &ShardFacts, is_damaged: bool, spinner: &str, ui: &Ui) -> Cell {
    match shard.state {
        ShardState::Waiting => Cell::new("waiting", ui.theme.muted),
        ShardState::Scanning => Cell::new(format!("{spinner} {}", grouped(shard.samples)), ui.theme.muted),
        ShardState::Failed => Cell::new(format!("{} unreadable", ui.glyphs.cross), ui.theme.error),
        ShardState::Scanned if shard.samples == 0 && is_damaged => {
            Cell::new(format!("{} damaged", ui.glyphs.cross), ui.theme.error)
        }
        ShardState::Scanned if shard.samples == 0 => Cell::new(format!("{} empty", ui.glyphs.warn), ui.theme.warn),
        ShardState::Scanned => Cell::new(grouped(shard.samples), ui.theme.text),
    }
}

fn draw_pattern(
    step: &SourceStep,
    frame: &mut Frame,
    area: Rect,
    below_it: Vec<Line<'static>>,
    answers: &Answers,
    context: &DrawContext,
) {
    if area.is_empty() {
        return;
    }
    let ui = context.ui;
    let focused = context.focused && step.stop(answers) == FocusStop::Pattern;
    let label = "leave out, by pattern: ";
    let line = row(area, 0);
    context.click_targets.add(line, ClickTarget::Field(step.number_of(FocusStop::Pattern, answers)));
    let label_style = if focused { ui.theme.accent } else { ui.theme.text };
    draw_lines(frame.buffer_mut(), line, [Line::from(Span::styled(label, label_style))]);
    let indent = u16::try_from(text::width(label)).unwrap_or(0).min(line.width);
    let field = Rect { x: line.x + indent, width: line.width - indent, ..line };
    step.pattern.draw(frame, field, focused, "regular expression, anywhere in the name", ui);
    draw_lines(frame.buffer_mut(), below(area, 1), below_it);
}

/// Returns lines about the shards that the pattern leaves out, or the mistake in it.
fn pattern_lines(step: &SourceStep, answers: &Answers, columns: usize, context: &DrawContext) -> Vec<Line<'static>> {
    let ui = context.ui;
    let shards = &answers.facts.shards;
    let wrong = |words: &str| {
        let lines = text::wrap(words, columns.saturating_sub(4)).into_iter().take(3).enumerate();
        let sign = |at: usize| if at == 0 { ui.glyphs.cross } else { " " };
        lines.map(|(at, l)| Line::from(Span::styled(format!("  {} {l}", sign(at)), ui.theme.error))).collect()
    };
    match &answers.derived.excluded {
        _ if step.pattern.is_empty() && step.left_out.is_empty() => Vec::new(),
        Some(Err(problem)) => {
            let hint = problem.hint.as_deref().map(|h| format!("; {h}")).unwrap_or_default();
            wrong(&format!("{}{hint}", problem.message))
        }
        Some(Ok(hits)) if hits.is_empty() && !step.pattern.is_empty() => {
            let meant = answers.derived.excluded_meant.as_ref();
            let meant = meant.map(|m| format!("; did you mean {m} ?")).unwrap_or_default();
            wrong(&format!("matches none of {}{meant}", count(shards.len() as u64, "shard")))
        }
        _ => {
            let out = shards.iter().enumerate().filter(|(at, s)| step.is_left_out(*at, &s.name, answers));
            let names: Vec<&str> = out.clone().take(3).map(|(_, s)| s.name.as_str()).collect();
            let total = out.count();
            let more = if total > names.len() { format!(" and {} more", total - names.len()) } else { String::new() };
            let words = format!("  {total} of {} left out: {}{more}", shards.len(), names.join(", "));
            vec![Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), ui.theme.muted))]
        }
    }
}

fn draw_pair(
    frame: &mut Frame,
    area: Rect,
    title: Vec<String>,
    options: [(bool, &str, &str); 2],
    (stop, focused): (usize, bool),
    context: &DrawContext,
) {
    if area.is_empty() {
        return;
    }
    let ui = context.ui;
    let buffer = frame.buffer_mut();
    let below = title.len();
    draw_lines(buffer, area, title.iter().map(|line| heading(line, ui)));
    for (line, (is_on, label, note)) in (below..).zip(options) {
        let target = ClickTarget::Choice(stop, line - below);
        let option = StepOption { target, is_on, label, note, is_focused: focused && is_on, label_columns: 10 };
        context.draw_option(buffer, row(area, line), option);
    }
}

fn draw_tgz(step: &SourceStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let compressed = answers.facts.shards.iter().filter(|s| s.is_tgz).count();
    let title = format!("{} compressed (.tgz); the loader cannot read them", count(compressed as u64, "shard"));
    let options = [
        (step.tgz == Tgz::Skip, "skip", "index them, but exclude them from the splits"),
        (step.tgz == Tgz::Rewrite, "rewrite", "write a plain .tar next to each and use that"),
    ];
    let focus = (step.number_of(FocusStop::Tgz, answers), step.stop(answers) == FocusStop::Tgz);
    draw_pair(frame, area, vec![title], options, focus, context);
}

/// Returns lines with a problem that no answer of this step solves, and its hint.
fn refusal_lines(problem: Option<&Problem>, columns: usize, context: &DrawContext) -> Vec<Line<'static>> {
    let ui = context.ui;
    let Some(problem) = problem else { return Vec::new() };
    let message = text::wrap(&format!("{} {}", ui.glyphs.cross, problem.message), columns);
    let hint = text::wrap(problem.hint.as_deref().unwrap_or_default(), columns.saturating_sub(2));
    let message = message.into_iter().take(3).map(|line| Line::from(Span::styled(line, ui.theme.error)));
    let hint = hint.into_iter().take(5).map(|line| Line::from(Span::styled(format!("  {line}"), ui.theme.muted)));
    message.chain(hint).collect()
}

/// Returns the key that opens the form of `shard`, if new shards can be prepared although these cannot.
fn shards_key(answers: &Answers, context: &DrawContext) -> Option<String> {
    answers.derived.keys_in_new_shards.map(|_| context.ui.key(Context::Prepare, Action::Shards))
}

/// Returns at most two lines about duplicate keys.
fn duplicates_title(answers: &Answers, columns: usize, context: &DrawContext) -> Vec<String> {
    let found = answers.derived.same_keys.as_ref();
    let words = found.map_or("Some keys name two samples; keys must be unique", |problem| problem.message.as_str());
    let lines = text::wrap(&format!("{} {words}", context.ui.glyphs.warn), columns);
    lines.into_iter().take(2).map(|line| text::fit_end(&line, columns, context.ui.glyphs)).collect()
}

fn draw_duplicates(
    step: &SourceStep,
    frame: &mut Frame,
    area: Rect,
    title: Vec<String>,
    answers: &Answers,
    context: &DrawContext,
) {
    let key = shards_key(answers, context);
    let stop = key.map(|key| format!("publish nothing; leave a shard out, or {key} writes new shards"));
    let stop = stop.as_deref().unwrap_or("publish nothing; leave a shard out");
    let options = [
        (step.duplicates == Duplicates::Fail, "stop", stop),
        (step.duplicates == Duplicates::KeepFirst, "keep first", "later copies are left out of the tables"),
    ];
    let focus = (step.number_of(FocusStop::Duplicates, answers), step.stop(answers) == FocusStop::Duplicates);
    draw_pair(frame, area, title, options, focus, context);
}

fn draw_findings(step: &mut SourceStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    if area.is_empty() {
        return;
    }
    let ui = context.ui;
    let focused = context.focused && step.stop(answers) == FocusStop::Findings;
    let findings = &answers.facts.findings;
    let title = count(findings.len() as u64, "finding");
    let mut line = heading(&title, ui);
    line.spans.push(Span::styled("   i shows one in full", ui.theme.muted));
    let list_area = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
    draw_lines(frame.buffer_mut(), area, [line]);
    context.click_targets.add(list_area, ClickTarget::Rows(step.number_of(FocusStop::Findings, answers), 0));
    let mut state = step.findings.clone();
    draw_list(frame.buffer_mut(), list_area, &mut state, focused, ui, |at, columns| {
        let Some(problem) = findings.get(at) else { return Line::default() };
        let (sign, style) = severity_sign(problem.severity, ui);
        let words = text::fit_end(&problem.to_string(), columns.saturating_sub(2), ui.glyphs);
        Line::from(vec![Span::styled(format!("{sign} "), style), Span::raw(words)])
    });
    let hint = state.get().and_then(|at| findings.get(at)).map(|p| match &p.hint {
        Some(hint) => hint.clone(),
        None => p.kind.title().to_owned(),
    });
    let hint = text::fit_end(&hint.unwrap_or_default(), usize::from(area.width).saturating_sub(5), ui.glyphs);
    let last = Rect { y: area.bottom().saturating_sub(1), height: 1, ..area };
    draw_lines(frame.buffer_mut(), last, [Line::from(Span::styled(format!("     {hint}"), ui.theme.muted))]);
    step.findings = state;
}

fn draw_detail(step: &SourceStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let ui = context.ui;
    let Some(problem) = step.findings.get().and_then(|at| answers.facts.findings.get(at)) else { return };
    context.click_targets.clear();
    context.click_targets.add(area, ClickTarget::Page);
    let columns = usize::from(area.width.saturating_sub(8));
    let mut lines = vec![heading(problem.kind.title(), ui), Line::default()];
    if !problem.subject.is_empty() {
        lines.extend(text::wrap(&problem.subject.to_string(), columns).into_iter().map(Line::from));
    }
    lines.extend(text::wrap(&problem.message, columns).into_iter().map(Line::from));
    if let Some(hint) = &problem.hint {
        lines.push(Line::default());
        lines.extend(text::wrap(hint, columns).into_iter().map(|l| Line::from(Span::styled(l, ui.theme.accent))));
    }
    lines.push(Line::default());
    lines.push(Line::from(Span::styled("press any key to close; up and down show the other findings", ui.theme.muted)));
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let at = step.findings.selected + 1;
    let title = format!("{at} of {}", answers.facts.findings.len());
    let inner = padded(popup(frame, area, area.width.saturating_sub(4), height, &title, ui));
    draw_lines(frame.buffer_mut(), inner, lines);
}
