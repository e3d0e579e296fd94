//! Draws the mix form: the members, the mixture as bars, and the file before it is written.

use super::state::{quoted, MixState, Place, Row, Stop, Worked};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{draw_lines, heading, problem_lines, row, stack, OptionLine, Section};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{command_lines, draw_scrolled, failure_lines, trouble_lines, waiting};
use crate::tui::widgets::{panel, popup, split_bar, text};
use gristmill_core::mix::{MixAux, MixKind};
use gristmill_core::text::{count, grouped};
use gristmill_ops::engine::mix::{MixNode, MixNodeKind};
use gristmill_ops::engine::plan::fields::percent;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;
use std::path::Path;

/// Draws everything.
pub fn draw(state: &mut MixState, frame: &mut Frame, area: Rect, ui: &Ui) {
    state.places.clear();
    let title = if state.is_reviewing { "The file that will be written" } else { "Mix" };
    let title = if state.written.is_some() { "Written" } else { title };
    let block = panel(title, true, ui);
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let inner = Rect { x: inner.x.saturating_add(1), width: inner.width.saturating_sub(2), ..inner };
    if state.is_reviewing {
        return draw_review(state, frame, inner, ui);
    }
    match &state.found {
        None => {
            return draw_lines(frame.buffer_mut(), inner, [waiting("looking for data sets", ui)]);
        }
        Some(Err(why)) => {
            return draw_lines(frame.buffer_mut(), inner, trouble_lines(why, usize::from(inner.width), ui));
        }
        Some(Ok(())) if state.rows.is_empty() => {
            let words =
                "No prepared data set was found below this folder, up to three levels down. Prepare some first.";
            let lines = text::wrap(words, usize::from(inner.width)).into_iter().map(Line::from);
            return draw_lines(frame.buffer_mut(), inner, lines);
        }
        Some(Ok(())) => {}
    }
    draw_form(state, frame, inner, ui);
    draw_source(state, frame, area, ui);
}

/// The popup in which a source of media is typed.
fn draw_source(state: &mut MixState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let Some(field) = &state.aux else { return };
    state.places.clear();
    let inside = popup(frame, area, 66, 6, "Source of media", ui);
    let inside = Rect { x: inside.x + 1, width: inside.width.saturating_sub(2), ..inside };
    field.draw(frame, row(inside, 0), true, "images=filesystem:///data/images", ui);
    let words = "NAME=PATH of a prepared data set, or NAME=filesystem://FOLDER";
    let words = text::fit_end(words, usize::from(inside.width), ui.glyphs);
    draw_lines(frame.buffer_mut(), row(inside, 1), [Line::from(Span::styled(words, ui.theme.muted))]);
    let mut x = inside.x;
    for (label, adds) in [(" add ", true), (" back ", false)] {
        let width = u16::try_from(label.len()).unwrap_or(0);
        let place = Rect { x, width, ..row(inside, 3) }.intersection(row(inside, 3));
        let style = if adds { ui.theme.selected } else { ui.theme.text };
        frame.render_widget(Line::from(Span::styled(label, style)), place);
        state.places.put(place, Place::Aux(adds));
        x = x.saturating_add(width + 2);
    }
}

fn draw_form(state: &mut MixState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let columns = usize::from(area.width);
    let mut mixture = mixture(state, columns, ui);
    if state.stop() == Stop::Mixture {
        mixture.insert(0, Line::from(Span::styled("Result", ui.theme.accent)));
    }
    let focus = |on: bool, otherwise: u8| if on { Section::FOCUS } else { otherwise };
    let at = state.stop();
    let sections = [
        Section::fixed(2, focus(at == Stop::Kind, 3)),
        Section::fixed(1, 0),
        Section::growing(3, state.rows.len() + 1, focus(at == Stop::Members, 5)),
        Section::fixed(1, 0),
        Section::fixed(2, focus(matches!(at, Stop::Splits | Stop::Output), 2)),
        Section::fixed(1, 0),
        Section::growing(
            u16::try_from(mixture.len().min(3)).unwrap_or(3),
            mixture.len(),
            focus(at == Stop::Mixture, 4),
        ),
    ];
    let places = stack(area, &sections);
    draw_kinds(state, frame, places[0], ui);
    draw_members(state, frame, places[2], ui);
    draw_fields(state, frame, places[4], ui);
    state.places.put(places[6], Place::Mixture);
    draw_scrolled(frame, places[6], &mut state.mixture_offset, mixture, ui);
}

fn draw_kinds(state: &mut MixState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let options = [
        (MixKind::Blend, "blend", "drawn by weight, for ever"),
        (MixKind::Epochized, "epochized", "each a number of times per epoch"),
    ];
    for (line, (kind, label, note)) in options.into_iter().enumerate() {
        let on = state.kind == kind;
        let sign = if on { ui.glyphs.radio_on } else { ui.glyphs.radio_off };
        let focused = on && state.stop() == Stop::Kind;
        let option = OptionLine { sign, label, note, focused, label_columns: 10 };
        option.draw(frame.buffer_mut(), row(area, line), true, ui);
        state.places.put(row(area, line), Place::Kind(kind));
    }
}

fn draw_members(state: &mut MixState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let amount = if state.kind == MixKind::Epochized { "repetitions" } else { "weight" };
    let keys = format!("{} to choose, digits for the {amount}", ui.key(Context::Form, Action::Toggle));
    let mut head = heading("Data sets", ui);
    let room = usize::from(area.width).saturating_sub(12);
    head.spans.push(Span::styled(format!("   {}", text::fit_end(&keys, room, ui.glyphs)), ui.theme.muted));
    draw_lines(frame.buffer_mut(), row(area, 0), [head]);
    let body = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area };
    state.places.put(body.intersection(area), Place::Members);
    let (rows, sources) = (&state.rows, &state.sources);
    let focused = state.stop() == Stop::Members;
    let mut list = state.list.clone();
    draw_list(frame.buffer_mut(), body.intersection(area), &mut list, focused, ui, |at, columns| {
        rows.get(at).map(|r| member_line(r, sources, columns, ui)).unwrap_or_default()
    });
    state.list = list;
}

fn member_line(member: &Row, sources: &[MixAux], columns: usize, ui: &Ui) -> Line<'static> {
    let sign = if member.chosen { ui.glyphs.box_on } else { ui.glyphs.box_off };
    let kind = match member.member.kind {
        MixNodeKind::WebDataset if member.member.is_crude => "crude",
        MixNodeKind::WebDataset => "WebDataset",
        MixNodeKind::Jsonl => "JSONL",
        MixNodeKind::Metadataset => "metadataset",
        _ => "",
    };
    let amount = if member.chosen { member.amount.clone() } else { String::new() };
    let amount_style = if member.number().is_some() { ui.theme.accent } else { ui.theme.error };
    let samples = member.member.samples.map(|n| count(n, "sample")).unwrap_or_default();
    let mut splits: Vec<&str> = member.member.splits.iter().map(|(name, _)| name.as_str()).collect();
    splits.truncate(5);
    let has_sources = member.chosen && member.may_have_aux();
    let aux: Vec<String> = sources.iter().filter(|_| has_sources).map(|a| format!("+{}", a.name)).collect();
    let more = [splits.join(" "), aux.join(" ")].join(" ");
    let names = (columns / 3).max(10);
    let name = text::pad_end(&text::fit_middle(&member.name, names, ui.glyphs), names);
    let kind = text::fit_end(kind, columns.saturating_sub(names + 13), ui.glyphs);
    let used = names + 50;
    Line::from(vec![
        Span::raw(format!("{sign} {name} ")),
        Span::styled(text::pad_start(&text::fit_end(&amount, 6, ui.glyphs), 6), amount_style),
        Span::styled(format!("  {}", text::pad_end(&kind, 11)), ui.theme.muted),
        Span::raw(text::pad_start(&samples, 20)),
        Span::styled(
            format!("  {}", text::fit_end(more.trim(), columns.saturating_sub(used), ui.glyphs)),
            ui.theme.muted,
        ),
    ])
}

fn draw_fields(state: &mut MixState, frame: &mut Frame, area: Rect, ui: &Ui) {
    let fields = [
        (Stop::Splits, "splits", &state.splits, "those of train, val, test that every member has"),
        (Stop::Output, "file", &state.output, "mix.yaml"),
    ];
    let mut places = Vec::new();
    for (line, (stop, label, field, placeholder)) in fields.into_iter().enumerate() {
        let place = row(area, line);
        places.push((place, stop));
        let typing = state.stop() == stop && state.aux.is_none();
        let style = if typing { ui.theme.accent } else { ui.theme.text };
        draw_lines(frame.buffer_mut(), place, [Line::from(Span::styled(format!(" {label}"), style))]);
        let field_place = Rect { x: place.x.saturating_add(9), width: place.width.saturating_sub(10), ..place };
        field.draw(frame, field_place.intersection(place), typing, placeholder, ui);
    }
    for (place, stop) in places {
        state.places.put(place, Place::Field(stop));
    }
}

/// The mixture as bars, split by split.
fn mixture(state: &MixState, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let muted = |words: &str| Line::from(Span::styled(text::fit_end(words, columns, ui.glyphs), ui.theme.muted));
    if let Some(why) = state.blocker() {
        return vec![muted(&why)];
    }
    match state.worked_now() {
        None => vec![waiting("working it out", ui)],
        Some(Err(failure)) => failure_lines(failure, columns, ui),
        Some(Ok(worked)) => worked_lines(worked, &state.folder, columns, ui),
    }
}

fn worked_lines(worked: &Worked, folder: &Path, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for split in &worked.facts.splits {
        let epoch = split.root.samples_per_epoch.map(|n| format!("  {} an epoch", count(n, "sample")));
        lines.push(Line::from(vec![
            Span::styled(text::fit_end(&split.name, columns / 2, ui.glyphs), ui.theme.title),
            Span::styled(epoch.unwrap_or_default(), ui.theme.muted),
        ]));
        let members =
            if split.root.children.is_empty() { std::slice::from_ref(&split.root) } else { &split.root.children };
        lines.extend(members.iter().enumerate().map(|(at, node)| node_line(node, folder, at, columns, ui)));
    }
    lines.extend(worked.facts.problems.iter().flat_map(|problem| problem_lines(problem, columns, ui)));
    lines
}

/// One member: its bar, its share, the samples that one epoch takes from it, and how often each is seen.
fn node_line(node: &MixNode, folder: &Path, at: usize, columns: usize, ui: &Ui) -> Line<'static> {
    let names = (columns / 4).clamp(6, 28);
    // As in the list above: from the folder that was searched.
    let label = Path::new(&node.label).strip_prefix(folder).map_or(node.label.clone().into(), |p| p.to_string_lossy());
    let name = text::pad_end(&text::fit_middle(&label, names, ui.glyphs), names);
    let samples = node.samples_per_epoch.or(node.samples).map(grouped).unwrap_or_default();
    let often = match node.oversampling {
        Some(times) if (times - 1.0).abs() > 0.005 => format!("each {times:.2}x"),
        _ => String::new(),
    };
    let bars = columns.saturating_sub(names + 38).min(40);
    Line::from(vec![
        Span::raw(format!("  {name} ")),
        Span::styled(split_bar(node.share, bars, ui.glyphs), ui.theme.bar(at)),
        Span::raw(text::pad_start(&format!("{} %", percent(node.share)), 9)),
        Span::raw(text::pad_start(&samples, 14)),
        Span::styled(format!("  {often}"), ui.theme.muted),
    ])
}

/// The file as it will be, or was, written.
fn draw_review(state: &mut MixState, frame: &mut Frame, area: Rect, ui: &Ui) {
    state.places.put(area, Place::Page);
    let columns = usize::from(area.width);
    let mut lines = Vec::new();
    match &state.written {
        Some(path) => {
            let words = format!("{} {} is written", ui.glyphs.check, path.to_string_lossy());
            lines.push(Line::from(Span::styled(text::fit_middle(&words, columns, ui.glyphs), ui.theme.ok)));
            let check = format!("  gristmill mix check {}", quoted(path));
            lines.push(Line::from(Span::styled(text::fit_middle(&check, columns, ui.glyphs), ui.theme.accent)));
        }
        None => {
            let name = text::fit_middle(state.output.value(), columns.saturating_sub(30), ui.glyphs);
            lines.push(Line::from(vec![
                Span::raw(format!("{name}  ")),
                Span::styled(ui.key(Context::Form, Action::Run), ui.theme.key),
                Span::styled(" writes it", ui.theme.muted),
            ]));
        }
    }
    lines.push(Line::default());
    if let Some(Ok(worked)) = state.worked_now() {
        lines.extend(
            worked
                .text
                .lines()
                .map(|l| Line::from(format!("  {}", text::fit_end(l, columns.saturating_sub(2), ui.glyphs)))),
        );
    }
    lines.push(Line::default());
    lines.extend(command_lines(&state.command(), &ui.key(Context::Form, Action::Copy), columns, ui));
    draw_scrolled(frame, area, &mut state.offset, lines, ui);
}
