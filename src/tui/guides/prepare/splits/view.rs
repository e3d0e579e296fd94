//! Draws step Splits.

use super::super::click_targets::{ClickTarget, DrawContext, StepOption};
use super::super::derive::written_name;
use super::super::step::Answers;
use super::recorded::{has_rule, recorded_rule, recorded_splits};
use super::{FocusStop, Mode, SplitsStep};
use crate::tui::keymap::{Action, Context};
use crate::tui::widgets::layout::{draw_lines, heading, problem_lines, row, stack, Section};
use crate::tui::widgets::{draw_panel, popup, split_bar, text};
use gristmill_core::text::{count, grouped, percent};
use gristmill_core::{Problem, ProblemKind, ShardId};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::borrow::Cow;
use std::collections::HashMap;

/// Draws the step.
pub fn draw(step: &mut SplitsStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    if answers.is_update() {
        return draw_update(step, frame, area, answers, context);
    }
    let at = step.stop(answers);
    let columns = usize::from(area.width);
    let problems: Vec<Line<'static>> =
        answers.derived.split_problems().flat_map(|p| split_problem(p, columns, context)).take(8).collect();
    let focus = |on: bool, otherwise: u8| if on { Section::FOCUS } else { otherwise };
    let in_rows = matches!(at, FocusStop::Name(_) | FocusStop::Pattern(_));
    let details = match step.mode {
        Mode::Ratio => Section::fixed(0, 0),
        Mode::Patterns => Section::growing(3, step.rows.len() + 1 + broken_rows(answers), focus(in_rows, 4)),
        Mode::Hand => Section::growing(6, 1000, focus(at == FocusStop::Columns, 4)),
    };
    let switches =
        usize::from(step.mode != Mode::Hand) + usize::from(step.stop_list(answers).contains(&FocusStop::AllowEmpty));
    let on_switch = matches!(at, FocusStop::Shuffle | FocusStop::AllowEmpty);
    let bars = answers.derived.resolved.splits.len() + usize::from(!answers.derived.resolved.unassigned.is_empty());
    let sections = [
        Section::fixed(1, 1),
        Section::fixed(3, focus(at == FocusStop::Mode, 3)),
        Section::fixed(usize::from(step.note().is_some()), 0),
        Section::fixed(1, 0),
        details,
        Section::fixed(switches, focus(on_switch, 2)),
        Section::fixed(1, 0),
        Section::growing(bars.min(3) as u16, bars, 5),
        Section::fixed(usize::from(!problems.is_empty()), 0),
        Section::growing(problems.len().min(3) as u16, problems.len(), 6),
    ];
    let places = stack(area, &sections);
    let question = format!("How should the {} be divided?", count(super::usable_shards(answers).len() as u64, "shard"));
    draw_lines(frame.buffer_mut(), places[0], [heading(&question, context.ui)]);
    draw_modes(step, frame, places[1], answers, context);
    let notes = step.note().map(|(note, is_error)| {
        let note = text::fit_end(&format!("     {note}"), columns, context.ui.glyphs);
        Line::from(Span::styled(note, if is_error { context.ui.theme.error } else { context.ui.theme.muted }))
    });
    draw_lines(frame.buffer_mut(), places[2], notes);
    match step.mode {
        Mode::Ratio => {}
        Mode::Patterns => draw_rows(step, frame, places[4], answers, context),
        Mode::Hand => draw_columns(step, frame, places[4], answers, context),
    }
    draw_switches(step, frame, places[5], answers, context);
    draw_bars(frame, places[7], answers, context);
    draw_lines(frame.buffer_mut(), places[9], problems);
    if let Some(naming) = &step.naming {
        context.click_targets.clear();
        let inner = popup(frame, area, 44, 5, "Name of the new split", context.ui);
        let field = Rect { x: inner.x + 1, y: inner.y + 1, width: inner.width.saturating_sub(2), height: 1 };
        naming.draw(frame, field.intersection(inner), true, "holdout", context.ui);
        let key = |action| context.ui.key(Context::PrepareText, action);
        let words = format!("  {} adds it, {} does not", key(Action::Next), key(Action::Close));
        let keys = Span::styled(words, context.ui.theme.muted);
        draw_lines(
            frame.buffer_mut(),
            Rect { y: inner.y + 2, height: 1, ..inner }.intersection(inner),
            [Line::from(keys)],
        );
    }
}

/// Returns the problem of a split without shards as an error even if such splits are accepted, because training on it fails.
fn split_problem(problem: &Problem, columns: usize, context: &DrawContext) -> Vec<Line<'static>> {
    let mut lines = problem_lines(problem, columns, context.ui);
    if problem.kind == ProblemKind::EmptySplit {
        let error = context.ui.theme.error;
        for (at, line) in lines.iter_mut().enumerate() {
            let sign = if at == 0 { context.ui.glyphs.warn } else { " " };
            if let Some(first) = line.spans.first_mut() {
                let words: String = first.content.chars().skip(1).collect();
                *first = Span::styled(format!("{sign}{words}"), error);
            }
        }
    }
    lines
}

fn draw_modes(step: &SplitsStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let ui = context.ui;
    let focused = step.stop(answers) == FocusStop::Mode && step.naming.is_none();
    for (line, mode) in Mode::ALL.into_iter().enumerate() {
        let is_on = step.mode == mode;
        let (label, note) = match mode {
            Mode::Ratio => ("by ratio", ""),
            Mode::Patterns => ("by pattern", "regular expressions on shard names"),
            Mode::Hand => ("by hand", "move shards between splits"),
        };
        let place = row(area, line);
        let target = ClickTarget::Choice(step.number_of(FocusStop::Mode, answers), line);
        let is_focused = focused && is_on && mode != Mode::Ratio;
        let option = StepOption { target, is_on, label, note, is_focused, label_columns: 11 };
        context.draw_option(frame.buffer_mut(), place, option);
        if mode == Mode::Ratio && !place.is_empty() {
            let x = place.x + 18;
            let field = Rect { x, width: 20, ..place }.intersection(place);
            let typing = focused && is_on && context.focused;
            step.ratio.draw(frame, field, typing, "such as 8,1,1", ui);
            if typing {
                let sign = Rect { width: 17.min(place.width), ..place };
                frame.buffer_mut().set_style(sign, ui.theme.accent);
            }
        }
    }
}

fn broken_rows(answers: &Answers) -> usize {
    answers.derived.patterns.iter().filter(|p| p.as_ref().map_or(true, |m| m.shards.is_empty())).count()
}

fn draw_rows(step: &SplitsStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let ui = context.ui;
    let at = step.stop(answers);
    let name_width = 10u16;
    let figure_width = 14u16.min(area.width / 4);
    let pattern_width = area.width.saturating_sub(name_width + figure_width + 6);
    let heads =
        format!("   {}  pattern, matched from the start of the name", text::pad_end("split", usize::from(name_width)));
    let heads = text::fit_end(&heads, usize::from(area.width), ui.glyphs);
    draw_lines(frame.buffer_mut(), area, [Line::from(Span::styled(heads, ui.theme.muted))]);
    let mut line = 1;
    let mut known = answers.derived.patterns.iter();
    // Scroll so that the focused row is visible.
    let first = match at {
        FocusStop::Name(r) | FocusStop::Pattern(r) => (r + 3).saturating_sub(usize::from(area.height)),
        _ => 0,
    };
    for (index, pattern_row) in step.rows.iter().enumerate() {
        let result = if pattern_row.name.is_empty() && pattern_row.pattern.is_empty() { None } else { known.next() };
        if index < first {
            continue;
        }
        let place = row(area, line);
        if place.is_empty() {
            break;
        }
        let marker =
            if matches!(at, FocusStop::Name(r) | FocusStop::Pattern(r) if r == index) { ui.glyphs.marker } else { " " };
        draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled(format!(" {marker}"), ui.theme.accent))]);
        let name = Rect { x: place.x + 3, width: name_width, ..place };
        let pattern = Rect { x: name.right() + 2, width: pattern_width, ..place };
        let figure = Rect { x: pattern.right() + 1, width: figure_width, ..place };
        context
            .click_targets
            .add(name.intersection(place), ClickTarget::Field(step.number_of(FocusStop::Name(index), answers)));
        context
            .click_targets
            .add(pattern.intersection(place), ClickTarget::Field(step.number_of(FocusStop::Pattern(index), answers)));
        let hint = if index + 1 == step.rows.len() { "one more" } else { "name" };
        pattern_row.name.draw(
            frame,
            name.intersection(place),
            context.focused && at == FocusStop::Name(index),
            hint,
            ui,
        );
        let typing = context.focused && at == FocusStop::Pattern(index);
        pattern_row.pattern.draw(frame, pattern.intersection(place), typing, "train/.*", ui);
        let (words, style, below) = match result {
            None => (String::new(), ui.theme.muted, None),
            Some(Ok(m)) if m.shards.is_empty() => {
                let meant = m.meant.as_ref().map(|x| format!("{}: {} matches {}", x.why, x.pattern, x.matches));
                let below = meant.unwrap_or_else(|| format!("matches none of {}", count(m.total as u64, "shard")));
                (format!("{} nothing", ui.glyphs.cross), ui.theme.error, Some(below))
            }
            Some(Ok(m)) => (count(m.shards.len() as u64, "shard"), ui.theme.ok, None),
            Some(Err(p)) => (format!("{} invalid", ui.glyphs.cross), ui.theme.error, Some(p.message.clone())),
        };
        let words = text::pad_start(&words, usize::from(figure_width));
        draw_lines(frame.buffer_mut(), figure.intersection(place), [Line::from(Span::styled(words, style))]);
        line += 1;
        if let Some(below) = below {
            let words = text::fit_end(&format!("               {below}"), usize::from(area.width), ui.glyphs);
            draw_lines(frame.buffer_mut(), row(area, line), [Line::from(Span::styled(words, ui.theme.error))]);
            line += 1;
        }
    }
}

fn draw_columns(step: &mut SplitsStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    use crate::tui::widgets::list::draw_list;
    let ui = context.ui;
    let focused = context.focused && step.stop(answers) == FocusStop::Columns && step.naming.is_none();
    let stop = step.number_of(FocusStop::Columns, answers);
    let hand = &mut step.hand;
    let fit = usize::from((area.width / 18).max(1)).min(hand.columns.len().max(1));
    let first = (hand.at + 1).saturating_sub(fit);
    let width = area.width / u16::try_from(fit).unwrap_or(1).max(1);
    let chosen = hand.chosen();
    let (mark, at) = (hand.mark, hand.at);
    let beyond = match hand.columns.get(first + fit..).unwrap_or_default() {
        [] => None,
        [one] => Some(format!("{} {}", one.name, one.shards.len())),
        more => Some(format!("{} more", more.len())),
    };
    let samples: HashMap<Cow<'_, str>, u64> =
        answers.facts.shards.iter().map(|s| (written_name(s), s.samples)).collect();
    for (place, (index, column)) in hand.columns.iter_mut().enumerate().skip(first).take(fit).enumerate() {
        let x = area.x + width * u16::try_from(place).unwrap_or(0);
        let rect = Rect { x, width, ..area }.intersection(area);
        let before = if place == 0 && first > 0 { format!("{} ", ui.glyphs.ellipsis) } else { String::new() };
        // The edge shows the name of the next column that does not fit.
        let after = match beyond.as_ref().filter(|_| place + 1 == fit) {
            Some(name) => format!(" {} {name}", ui.glyphs.arrow),
            None => String::new(),
        };
        let title = format!("{before}{} {}{after}", column.name, column.shards.len());
        let is_focused = focused && index == at;
        let inner = draw_panel(frame, rect, &title, is_focused, ui);
        context.click_targets.add(inner, ClickTarget::Rows(stop, index));
        if column.shards.is_empty() {
            let words = Span::styled(" no shards", ui.theme.muted);
            draw_lines(frame.buffer_mut(), inner, [Line::from(words)]);
            continue;
        }
        let shards = &column.shards;
        let chosen = chosen.clone().filter(|_| index == at && mark.is_some());
        // Only the focused column shows a selection: keys do not act on the other columns.
        draw_list(frame.buffer_mut(), inner, &mut column.list, is_focused, ui, |row, columns| {
            let Some(name) = shards.get(row) else { return Line::default() };
            let marked = chosen.as_ref().is_some_and(|range| range.contains(&row));
            let sign = if marked { "*" } else { "" };
            let columns = columns.saturating_sub(sign.len());
            let number = samples.get(&**name).map(|n| grouped(*n)).filter(|_| columns >= 26).unwrap_or_default();
            let name = text::fit_middle(name, columns.saturating_sub(number.len() + 1), ui.glyphs);
            let pad = columns.saturating_sub(text::width(&name) + number.len());
            let style = if marked { ui.theme.matched } else { ui.theme.text };
            Line::from(vec![
                Span::styled(format!("{sign}{name}{}", " ".repeat(pad)), style),
                Span::styled(number, ui.theme.muted),
            ])
        });
    }
}

fn draw_switches(step: &SplitsStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let at = step.stop(answers);
    let mut line = 0;
    if step.mode != Mode::Hand {
        let target = ClickTarget::Switch(step.number_of(FocusStop::Shuffle, answers));
        let (label, note) = ("shuffle shards", "with a fixed seed, before they are divided");
        let (is_on, is_focused) = (step.shuffle, at == FocusStop::Shuffle);
        let option = StepOption { target, is_on, label, note, is_focused, label_columns: 15 };
        context.draw_option(frame.buffer_mut(), row(area, line), option);
        line += 1;
    }
    if step.stop_list(answers).contains(&FocusStop::AllowEmpty) {
        let target = ClickTarget::Switch(step.number_of(FocusStop::AllowEmpty, answers));
        let (label, note) = ("allow empty", "accept patterns that match no shard");
        let (is_on, is_focused) = (step.allow_empty, at == FocusStop::AllowEmpty);
        let option = StepOption { target, is_on, label, note, is_focused, label_columns: 15 };
        context.draw_option(frame.buffer_mut(), row(area, line), option);
    }
}

/// The values of one bar.
struct Bar {
    name: String,
    shards: usize,
    samples: u64,
    share: f64,
    style: ratatui::style::Style,
}

/// Draws one bar per split: by samples if all of them are counted, otherwise by bytes.
pub(in super::super) fn draw_bars(frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let ui = context.ui;
    let facts = &answers.facts;
    let resolved = &answers.derived.resolved;
    let all = resolved.splits.iter().map(|(name, ids)| (name.as_str(), ids.as_slice()));
    let none = Some(("none", resolved.unassigned.as_slice())).filter(|(_, ids)| !ids.is_empty());
    let groups: Vec<(&str, &[ShardId])> = all.chain(none).collect();
    let is_counted = !answers.is_counting();
    let weigh = |ids: &[ShardId]| -> (u64, u64) {
        let shards = ids.iter().filter_map(|id| facts.shards.get(id.0 as usize));
        shards.fold((0, 0), |(n, b), s| (n + s.samples, b + s.stamp.bytes))
    };
    let weights: Vec<(u64, u64)> = groups.iter().map(|(_, ids)| weigh(ids)).collect();
    let of = |w: &(u64, u64)| if is_counted { w.0 } else { w.1 };
    let total: u64 = weights.iter().map(of).sum();
    let bars = groups.iter().zip(&weights).enumerate().map(|(index, ((name, ids), weight))| Bar {
        name: (*name).to_owned(),
        shards: ids.len(),
        samples: weight.0,
        share: if total == 0 { 0.0 } else { of(weight) as f64 / total as f64 },
        style: if index < resolved.splits.len() { ui.theme.bar(index) } else { ui.theme.muted },
    });
    let bars: Vec<Bar> = bars.collect();
    let columns = usize::from(area.width);
    let name_columns = bars.iter().map(|b| text::width(&b.name)).max().unwrap_or(5).clamp(5, 14);
    let lines = bars.iter().map(|bar| bar_line(bar, name_columns, columns, is_counted, context));
    draw_lines(frame.buffer_mut(), area, lines);
}

fn bar_line(bar: &Bar, name_columns: usize, columns: usize, is_counted: bool, context: &DrawContext) -> Line<'static> {
    let ui = context.ui;
    let about = if is_counted { "" } else { "~" };
    let share = text::pad_start(&format!("{about}{}", percent(bar.share)), 8);
    let wide = columns >= name_columns + 48;
    let (shards, samples) = if wide {
        let samples = format!("{about}{}", count(bar.samples, "sample"));
        (text::pad_start(&count(bar.shards as u64, "shard"), 13), text::pad_start(&samples, 18))
    } else {
        let samples = format!("{about}{}", grouped(bar.samples));
        (text::pad_start(&grouped(bar.shards as u64), 6), text::pad_start(&samples, 11))
    };
    let figures = format!("{shards}{samples}{share}");
    let room = columns.saturating_sub(name_columns + 1 + text::width(&figures));
    let name = text::pad_end(&text::fit_end(&bar.name, name_columns, ui.glyphs), name_columns + 1);
    let style = if bar.shards == 0 { ui.theme.warn } else { ui.theme.text };
    Line::from(vec![
        Span::styled(name, style),
        Span::styled(split_bar(bar.share, room, ui.glyphs), bar.style),
        Span::styled(figures, style),
    ])
}

/// Draws the step of an update, in which the splits stay and only new shards need one.
fn draw_update(step: &SplitsStep, frame: &mut Frame, area: Rect, answers: &Answers, context: &DrawContext) {
    let ui = context.ui;
    let names = recorded_splits(answers);
    let new = answers.facts.prepared.as_ref().map_or(0, |p| p.new_shards.len());
    let columns = usize::from(area.width);
    let problems: Vec<Line<'static>> =
        answers.derived.split_problems().flat_map(|p| problem_lines(p, columns, ui)).take(8).collect();
    let bars = answers.derived.resolved.splits.len() + 1;
    let sections = [
        Section::fixed(3, 1),
        Section::fixed(names.len() + 1, Section::FOCUS),
        Section::fixed(1, 0),
        Section::growing(bars.min(3) as u16, bars, 5),
        Section::growing(problems.len().min(3) as u16, problems.len(), 6),
    ];
    let places = stack(area, &sections);
    let question = match new {
        0 => "No new shard: the splits stay as they are.".to_owned(),
        1 => "The splits are kept. Which split does the new shard join?".to_owned(),
        _ => format!("The splits are kept. Which split do {} join?", count(new as u64, "new shard")),
    };
    let lines = [
        heading(&question, ui),
        Line::from(Span::styled("Edits of split.yaml and excludes are kept.", ui.theme.muted)),
    ];
    draw_lines(frame.buffer_mut(), places[0], lines);
    let rule = rule_words(answers);
    let options = std::iter::once((None, "by the recorded rule", rule.as_str()))
        .chain(names.iter().map(|n| (Some(n), n.as_str(), "all of them")));
    let has_rule = has_rule(answers);
    for (line, (value, label, note)) in options.enumerate().filter(|_| new > 0) {
        let is_on = step.new_to.as_ref() == value && (value.is_some() || has_rule);
        let (place, target) =
            (row(places[1], line), ClickTarget::Choice(step.number_of(FocusStop::NewTo, answers), line));
        let option = StepOption { target, is_on, label, note, is_focused: is_on, label_columns: 21 };
        context.draw_option(frame.buffer_mut(), place, option);
        if value.is_none() && !has_rule && !is_on {
            frame.buffer_mut().set_style(place, ui.theme.disabled);
        }
    }
    draw_bars(frame, places[3], answers, context);
    draw_lines(frame.buffer_mut(), places[4], problems);
}

/// Returns the rule by which the last run divided the shards, as text.
fn rule_words(answers: &Answers) -> String {
    use gristmill_core::SplitPlan;
    match recorded_rule(answers) {
        Some(SplitPlan::Ratio(ratio)) => format!("ratio {ratio}"),
        Some(SplitPlan::Patterns(patterns)) => {
            let all: Vec<String> = patterns.iter().map(|p| format!("{}:{}", p.name, p.pattern)).collect();
            format!("{} {}", if all.len() == 1 { "pattern" } else { "patterns" }, all.join("  "))
        }
        Some(SplitPlan::Listed(_)) if has_rule(answers) => "the list made by hand names them".into(),
        Some(SplitPlan::Listed(_)) => "made by hand: choose a split below".into(),
        _ => "none is recorded: choose a split below".into(),
    }
}
