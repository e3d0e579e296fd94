//! Draws the columns, the excludes below them, and the line of problems.

use super::state::{column_name, columns, SplitsState};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{draw_lines, severity_sign};
use crate::tui::widgets::mouse::MouseAreas;
use crate::tui::widgets::{draw_list, draw_panel, padded, panel, text};
use gristmill_core::text::{count, grouped, percent};
use gristmill_core::{Failure, Problem};
use gristmill_ops::engine::splits::{ExcludeView, Matches, Names, ShardView, SplitEditor, SplitView};
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::ops::RangeInclusive;

/// Height in rows below which only the focused pane is drawn in full.
const SMALL_ROWS: u16 = 14;

/// A part of the screen that the mouse can point at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScreenArea {
    /// The inside of a column, by its index.
    Column(usize),
    /// The inside of the list of excludes.
    Excludes,
}

/// Draws the editor, and stores the areas for the mouse.
pub fn draw(
    state: &mut SplitsState,
    editor: &SplitEditor,
    problems: &[Problem],
    places: &mut MouseAreas<ScreenArea>,
    frame: &mut Frame,
    area: Rect,
    ui: &Ui,
) {
    let problem_rows = u16::from(!problems.is_empty() && area.height > 4);
    let bottom = Rect { y: area.bottom() - problem_rows, height: problem_rows, ..area };
    let area = Rect { height: area.height - problem_rows, ..area };
    let (above, below) = divide(state, area);
    if above.height > 1 {
        for (at, inner) in draw_columns(state, editor, frame, above, ui) {
            places.add(inner, ScreenArea::Column(at));
        }
    } else {
        draw_lines(frame.buffer_mut(), above, [columns_line(editor, usize::from(above.width), ui)]);
    }
    if below.height > 1 {
        places.add(draw_excludes(state, editor, frame, below, ui), ScreenArea::Excludes);
    } else {
        draw_lines(frame.buffer_mut(), below, [excludes_line(state, usize::from(below.width), ui)]);
    }
    draw_lines(frame.buffer_mut(), bottom, problems_line(problems, usize::from(bottom.width), ui));
}

/// Returns the areas of the columns and of the excludes below them. In a small terminal, the one without the focus has one line.
fn divide(state: &SplitsState, area: Rect) -> (Rect, Rect) {
    let excludes = u16::try_from(state.excludes.len).unwrap_or(u16::MAX);
    let rows = match (state.is_on_excludes, area.height < SMALL_ROWS) {
        (true, true) => area.height.saturating_sub(1),
        (false, true) => 1.min(area.height),
        (true, false) => excludes.saturating_add(2).clamp(5, area.height / 2),
        (false, false) => excludes.saturating_add(2).clamp(3, (area.height / 3).max(3)),
    };
    let above = Rect { height: area.height - rows, ..area };
    let below = Rect { y: above.bottom(), height: rows, ..area };
    (above, below)
}

fn draw_columns(
    state: &mut SplitsState,
    editor: &SplitEditor,
    frame: &mut Frame,
    area: Rect,
    ui: &Ui,
) -> Vec<(usize, Rect)> {
    let window = state.window(area.width);
    let fit = u16::try_from(window.len()).unwrap_or(1).max(1);
    let (width, wider) = (area.width / fit, area.width % fit);
    let chosen = state.rows().filter(|_| state.mark.is_some() && !state.is_on_excludes);
    let (at, all) = (state.at, state.lists.len());
    let views: Vec<&SplitView> = columns(editor).collect();
    let mut x = area.x;
    let mut places = Vec::new();
    for (place, index) in window.clone().enumerate() {
        // The first columns are one cell wider if the width cannot be divided evenly.
        let width = width + u16::from(place < usize::from(wider));
        let rect = Rect { x, width, ..area };
        x += width;
        let (Some(view), Some(list)) = (views.get(index), state.lists.get_mut(index)) else { continue };
        let focused = index == at && !state.is_on_excludes;
        let mut block = panel(&title(view, usize::from(width).saturating_sub(4), ui), focused, ui);
        let last = place + 1 == window.len();
        if let Some(more) = hidden_columns(&window, place == 0, last, all) {
            let more = Line::from(Span::styled(format!(" {more} "), ui.theme.accent));
            block = block.title_bottom(if last { more.right_aligned() } else { more });
        }
        let inner = block.inner(rect);
        frame.render_widget(block, rect);
        places.push((index, inner));
        if view.shards.is_empty() {
            let words = if view.name.is_empty() { " every shard is in a split" } else { " no shards" };
            draw_lines(frame.buffer_mut(), inner, [Line::from(Span::styled(words, ui.theme.muted))]);
            continue;
        }
        let chosen = chosen.clone().filter(|_| index == at);
        draw_list(frame.buffer_mut(), inner, list, focused, ui, |row, columns| {
            view.shards.get(row).map(|shard| shard_line(shard, row, chosen.as_ref(), columns, ui)).unwrap_or_default()
        });
    }
    places
}

/// Returns the number of hidden columns for the edge of the first or last visible one; `None` if there are none.
fn hidden_columns(window: &std::ops::Range<usize>, is_first: bool, is_last: bool, all: usize) -> Option<String> {
    let (before, after) = (window.start, all - window.end);
    match (is_first && before > 0, is_last && after > 0) {
        (true, true) => Some(format!("< {before}  {after} >")),
        (true, false) => Some(format!("< {before} more")),
        (false, true) => Some(format!("{after} more >")),
        (false, false) => None,
    }
}

/// Returns as much of `train  16 shards  80.1 %` as fits.
fn title(view: &SplitView, room: usize, ui: &Ui) -> String {
    let shards = view.shards.len() as u64;
    let sign = if view.is_new { "+ " } else { "" };
    let name = format!("{sign}{}", text::safe(column_name(view)));
    if view.name.is_empty() {
        return longest_fitting(&name, &[&count(shards, "shard"), &grouped(shards)], room, ui);
    }
    if view.samples == 0 {
        let why = match view.shards.iter().any(|shard| shard.samples > 0) {
            true => "empty: all excluded",
            false if shards > 0 => "empty: no sample",
            false => "empty",
        };
        return longest_fitting(&format!("{} {name}", ui.glyphs.warn), &[why, "empty"], room, ui);
    }
    let share = percent(view.share);
    let long = format!("{}  {share}", count(shards, "shard"));
    let longest = format!("{}  {}  {share}", count(shards, "shard"), count(view.samples, "sample"));
    let short = format!("{}  {share}", grouped(shards));
    longest_fitting(&name, &[&longest, &long, &short, &share], room, ui)
}

/// Returns a name, followed by the first of the facts that fits.
fn longest_fitting(name: &str, facts: &[&str], room: usize, ui: &Ui) -> String {
    let fitting = facts.iter().find(|fact| text::width(name) + 2 + text::width(fact) <= room);
    match fitting {
        Some(fact) => format!("{name}  {fact}"),
        None => text::fit_middle(name, room, ui.glyphs),
    }
}

fn shard_line(
    shard: &ShardView,
    row: usize,
    chosen: Option<&RangeInclusive<usize>>,
    columns: usize,
    ui: &Ui,
) -> Line<'static> {
    let is_marked = chosen.is_some_and(|rows| rows.contains(&row));
    let (sign, style) = match shard {
        _ if is_marked => ("*", ui.theme.matched),
        ShardView { id: None, .. } => (ui.glyphs.warn, ui.theme.error),
        ShardView { is_excluded: true, .. } => ("x", ui.theme.disabled),
        ShardView { is_moved: true, .. } => ("+", ui.theme.accent),
        _ => (" ", ui.theme.text),
    };
    let right = match shard.id {
        None => "no such shard".to_owned(),
        Some(_) => grouped(shard.samples),
    };
    let right = if columns >= 20 { right } else { String::new() };
    let room = columns.saturating_sub(text::width(&right) + 4);
    let name = text::pad_end(&text::fit_middle(&shard.name, room, ui.glyphs), room);
    Line::from(vec![Span::styled(format!("{sign} {name} "), style), Span::styled(right, ui.theme.muted)])
}

fn excluded_words(state: &SplitsState) -> String {
    let totals = state.totals;
    let mut words = Vec::new();
    if totals.shards > 0 {
        words.push(count(totals.shards, "shard"));
    }
    if totals.samples > 0 {
        words.push(count(totals.samples, "sample"));
    }
    if totals.idle > 0 {
        words.push(format!("{} matching nothing", grouped(totals.idle)));
    }
    if words.is_empty() {
        words.push("nothing".to_owned());
    }
    words.join(", ")
}

fn draw_excludes(state: &mut SplitsState, editor: &SplitEditor, frame: &mut Frame, area: Rect, ui: &Ui) -> Rect {
    let title = format!("Excluded  {}", excluded_words(state));
    let focused = state.is_on_excludes;
    let inner = draw_panel(frame, area, &title, focused, ui);
    let excludes = editor.excludes();
    if excludes.is_empty() {
        let key = |action| ui.key(Context::SplitsExcludes, action);
        let words = format!(
            " {} excludes what is selected; {} excludes what you type",
            ui.key(Context::Splits, Action::Exclude),
            key(Action::AddExclude)
        );
        let words = text::fit_end(&words, usize::from(inner.width), ui.glyphs);
        draw_lines(frame.buffer_mut(), inner, [Line::from(Span::styled(words, ui.theme.muted))]);
        return inner;
    }
    let chosen = state.rows().filter(|_| state.mark.is_some() && focused);
    draw_list(frame.buffer_mut(), inner, &mut state.excludes, focused, ui, |row, columns| {
        let Some(exclude) = excludes.get(row) else { return Line::default() };
        exclude_line(exclude, chosen.as_ref().is_some_and(|rows| rows.contains(&row)), columns, ui)
    });
    inner
}

fn exclude_line(exclude: &ExcludeView, is_marked: bool, columns: usize, ui: &Ui) -> Line<'static> {
    let state = exclude_words(exclude);
    let is_idle = exclude.matches == Matches::Nothing;
    let (sign, style) = match (is_marked, is_idle, exclude.is_new) {
        (true, ..) => ("*", ui.theme.matched),
        (_, true, _) => (ui.glyphs.warn, ui.theme.warn),
        (_, _, true) => ("+", ui.theme.accent),
        _ => (" ", ui.theme.text),
    };
    // Two columns for the sign, two before the state, and one for the arrows of the list.
    let room = columns.saturating_sub(text::width(&state) + 5);
    let note = exclude.note.as_deref().unwrap_or_default();
    let item_room = if note.is_empty() { room } else { (room * 3 / 5).max(room.min(12)) };
    let item = text::fit_middle(&exclude.item, item_room, ui.glyphs);
    // Notes are aligned if the items are short enough.
    let item_columns = text::width(&item).max(room * 2 / 5).min(room);
    let note_room = room.saturating_sub(item_columns + 2);
    let note = if note_room > 3 { text::fit_end(note, note_room, ui.glyphs) } else { String::new() };
    let rest = room.saturating_sub(item_columns);
    let note = if note.is_empty() { " ".repeat(rest) } else { text::pad_end(&format!("  {note}"), rest) };
    Line::from(vec![
        Span::styled(format!("{sign} {}", text::pad_end(&item, item_columns)), style),
        Span::styled(note, ui.theme.text),
        Span::styled(format!("  {state}"), if is_idle { ui.theme.warn } else { ui.theme.muted }),
    ])
}

/// Returns the kind of an exclude's matches in one or two words.
pub fn exclude_words(exclude: &ExcludeView) -> String {
    match (exclude.names, exclude.matches) {
        (Names::Broken, _) => "braces cannot be read".to_owned(),
        (Names::NoShard, _) => "no such shard".to_owned(),
        (_, Matches::Nothing) => "matches nothing".to_owned(),
        (Names::Shard, _) => "shard".to_owned(),
        (Names::Sample, Matches::Unknown) => "sample?".to_owned(),
        (Names::Sample, _) => "sample".to_owned(),
        (Names::Range(all), Matches::Some(found)) if found == all => format!("all {}", grouped(all)),
        (Names::Range(all), Matches::Some(found)) => format!("{} of {}", grouped(found), grouped(all)),
        (Names::Range(all), Matches::Unknown) => format!("{}?", grouped(all)),
    }
}

/// Returns the columns on one line, for small terminals.
fn columns_line(editor: &SplitEditor, columns_wide: usize, ui: &Ui) -> Line<'static> {
    let parts: Vec<String> =
        columns(editor).map(|view| format!("{} {}", column_name(view), grouped(view.shards.len() as u64))).collect();
    let words = format!(" {}", parts.join(&format!(" {} ", ui.glyphs.dot)));
    Line::from(Span::styled(text::fit_end(&words, columns_wide, ui.glyphs), ui.theme.muted))
}

/// Returns the excludes on one line, for small terminals.
fn excludes_line(state: &SplitsState, columns: usize, ui: &Ui) -> Line<'static> {
    let words = format!(" Excluded  {}", excluded_words(state));
    let style = if state.totals.idle > 0 { ui.theme.warn } else { ui.theme.muted };
    Line::from(Span::styled(text::fit_end(&words, columns, ui.glyphs), style))
}

/// Returns the most severe problem, and the number of further ones.
fn problems_line(problems: &[Problem], columns: usize, ui: &Ui) -> Option<Line<'static>> {
    let worst = problems.iter().rev().max_by_key(|p| p.severity)?;
    let (sign, style) = severity_sign(worst.severity, ui);
    let key = ui.key(Context::Splits, Action::Details);
    let more = match problems.len() - 1 {
        0 => String::new(),
        more => format!("  {} {} more ({key})", ui.glyphs.dot, grouped(more as u64)),
    };
    let room = columns.saturating_sub(text::width(&more) + 4);
    Some(Line::from(vec![
        Span::styled(format!(" {sign} {}", text::fit_end(&problem_words(worst), room, ui.glyphs)), style),
        Span::styled(more, ui.theme.muted),
    ]))
}

/// Returns a problem in one sentence with its shard, which the message does not contain; not escaped.
pub fn problem_words(problem: &Problem) -> String {
    match &problem.subject.shard {
        Some(shard) => format!("{shard}: {}", problem.message),
        None => problem.message.clone(),
    }
}

/// Draws the message shown if there are no splits to edit.
pub fn draw_nothing(failure: Option<&Failure>, frame: &mut Frame, area: Rect, ui: &Ui) {
    let inner = padded(draw_panel(frame, area, "Splits", true, ui));
    let columns = usize::from(inner.width);
    let Some(failure) = failure else {
        let words = format!("{} reading", ui.spinner());
        return draw_lines(frame.buffer_mut(), inner, [Line::from(Span::styled(words, ui.theme.muted))]);
    };
    let message = text::wrap(&format!("{} {failure}", ui.glyphs.cross), columns);
    let hint = failure.hint.iter().flat_map(|hint| text::wrap(hint, columns));
    let lines = message.into_iter().map(|line| Line::from(Span::styled(line, ui.theme.error)));
    let hints = hint.map(|line| Line::from(Span::styled(line, ui.theme.muted)));
    draw_lines(frame.buffer_mut(), inner, lines.chain([Line::default()]).chain(hints));
}
