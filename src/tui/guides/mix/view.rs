//! Draws the step of `mix new`: kinds, data sets, fields, and the metadataset as bars.

use super::guide::{MixGuide, Row, KINDS, MEMBERS};
use crate::tui::form::{draw_below, draw_fields, Field, Form, MouseTarget};
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{draw_lines, heading, problem_lines, row, stack, Section};
use crate::tui::widgets::list::draw_list;
use crate::tui::widgets::page::{reason_lines, waiting};
use crate::tui::widgets::{split_bar, text};
use gristmill_core::mix::{MixKind, MixPlan};
use gristmill_core::text::{count, display_safe, grouped, percent};
use gristmill_ops::engine::mix::{MixNode, MixNodeKind};
use gristmill_ops::job::mix::MixReport;
use gristmill_ops::job::report::Report;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::Frame;

/// Kinds of metadatasets with their descriptions, in the order of the list.
const KIND_NOTES: [(&str, &str); 3] = [
    ("blend", "draw by weight, indefinitely"),
    ("epochized", "repeat each member N times per epoch"),
    ("join", "join samples with the same key"),
];

/// Draws the step with the data sets.
pub(super) fn draw_settings(guide: &mut MixGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let fields: Vec<Field> = form.fields().iter().copied().filter(|field| ![KINDS, MEMBERS].contains(field)).collect();
    let field_rows = fields.iter().map(|field| 1 + usize::from(form.mistakes.contains_key(field))).sum();
    let result = match guide.found {
        Some(_) => guide.preview.result_lines(guide, form, usize::from(area.width), ui, draw_bars),
        None => Vec::new(),
    };
    let focus = |is_focused: bool, otherwise: u8| if is_focused { Section::FOCUS } else { otherwise };
    let is_field = form.field().is_some_and(|field| fields.contains(&field));
    let sections = [
        Section::fixed(3, focus(form.is_focused(KINDS), 3)),
        Section::fixed(1, 0),
        Section::growing(3, guide.rows.len().max(1) + 1, focus(form.is_focused(MEMBERS), 5)),
        Section::fixed(1, 0),
        Section::fixed(field_rows, focus(is_field, 4)),
        Section::fixed(1, 0),
        Section::growing(u16::try_from(result.len().min(3)).unwrap_or(3), result.len(), 2),
    ];
    let places = stack(area, &sections);
    draw_kinds(guide, form, frame, places[0], ui);
    draw_members(guide, form, frame, places[2], ui);
    draw_fields(form, frame, places[4], 0, &fields, ui);
    draw_below(form, frame, places[6], result, ui);
}

fn draw_kinds(guide: &mut MixGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    form.mouse_areas.add(area, MouseTarget::Field(KINDS));
    let selected = guide.kinds.selected;
    draw_list(frame.buffer_mut(), area, &mut guide.kinds, form.is_focused(KINDS), ui, |at, columns| {
        let (label, note) = KIND_NOTES.get(at).copied().unwrap_or_default();
        let sign = if at == selected { ui.glyphs.radio_on } else { ui.glyphs.radio_off };
        let note = text::fit_end(note, columns.saturating_sub(16), ui.glyphs);
        Line::from(vec![Span::raw(format!("{sign} {label:<10}  ")), Span::styled(note, ui.theme.muted)])
    });
}

fn draw_members(guide: &mut MixGuide, form: &mut Form, frame: &mut Frame, area: Rect, ui: &Ui) {
    let key = ui.key(Context::Weights, Action::Toggle);
    let keys = match guide.kind() {
        MixKind::Blend => format!("{key} to choose, digits for the weight"),
        MixKind::Epochized => format!("{key} to choose, digits for the repetitions"),
        MixKind::Join => format!("{key} to choose"),
    };
    let mut head = heading("Data sets", ui);
    let room = usize::from(area.width).saturating_sub(12);
    head.spans.push(Span::styled(format!("   {}", text::fit_end(&keys, room, ui.glyphs)), ui.theme.muted));
    draw_lines(frame.buffer_mut(), row(area, 0), [head]);
    let body = Rect { y: area.y.saturating_add(1), height: area.height.saturating_sub(1), ..area }.intersection(area);
    let columns = usize::from(body.width);
    let lines = match &guide.found {
        None => vec![waiting("searching for data sets", ui)],
        Some(Err(why)) => reason_lines(why, columns, ui),
        Some(Ok(())) if guide.rows.is_empty() => {
            let why = "no prepared data set was found below this folder, up to three levels down";
            text::wrap(why, columns).into_iter().map(Line::from).collect()
        }
        Some(Ok(())) => Vec::new(),
    };
    if !lines.is_empty() {
        return draw_lines(frame.buffer_mut(), body, lines);
    }
    form.mouse_areas.add(body, MouseTarget::Field(MEMBERS));
    let aux = form.plan_of::<MixPlan>().map(aux_names).unwrap_or_default();
    let is_focused = form.is_focused(MEMBERS);
    let mut members = guide.members.clone();
    let (rows, kind) = (&guide.rows, guide.kind());
    draw_list(frame.buffer_mut(), body, &mut members, is_focused, ui, |at, columns| {
        rows.get(at).map(|row| member_line(row, kind, &aux, columns, ui)).unwrap_or_default()
    });
    guide.members = members;
}

/// Returns the names of the aux sources.
fn aux_names(plan: &MixPlan) -> Vec<String> {
    let sources = plan.members.iter().map(|member| &member.aux).find(|aux| !aux.is_empty());
    sources.into_iter().flatten().map(|source| format!("+{}", source.name)).collect()
}

fn member_line(row: &Row, kind: MixKind, aux: &[String], columns: usize, ui: &Ui) -> Line<'static> {
    let sign = if row.is_chosen { ui.glyphs.box_on } else { ui.glyphs.box_off };
    let found = &row.member;
    let kind_name = match found.kind {
        MixNodeKind::WebDataset if found.is_crude => "crude",
        MixNodeKind::WebDataset => "WebDataset",
        MixNodeKind::Jsonl => "JSONL",
        MixNodeKind::Metadataset => "metadataset",
        _ => "",
    };
    let amount = if row.is_chosen && kind != MixKind::Join { row.amount.as_str() } else { "" };
    let amount_style = if row.number().is_some() { ui.theme.accent } else { ui.theme.error };
    let mut notes: Vec<&str> = found.splits.iter().map(|(name, _)| name.as_str()).collect();
    notes.truncate(5);
    if row.is_chosen && found.is_crude && found.kind != MixNodeKind::Metadataset {
        notes.extend(aux.iter().map(String::as_str));
    }
    let names = (columns / 3).max(10);
    let name = text::pad_end(&text::fit_middle(&row.name, names, ui.glyphs), names);
    let kind_name = text::fit_end(kind_name, columns.saturating_sub(names + 13), ui.glyphs);
    let sample_columns = columns.saturating_sub(names + 24).min(20);
    let samples = found.samples.map(|samples| count(samples, "sample")).unwrap_or_default();
    let samples = match text::width(&samples) > sample_columns {
        true => found.samples.map(grouped).unwrap_or_default(),
        false => samples,
    };
    let room = columns.saturating_sub(names + 50);
    Line::from(vec![
        Span::raw(format!("{sign} {name} ")),
        Span::styled(text::pad_start(&text::fit_end(amount, 6, ui.glyphs), 6), amount_style),
        Span::styled(format!("  {}", text::pad_end(&kind_name, 11)), ui.theme.muted),
        Span::raw(text::pad_start(&samples, sample_columns)),
        Span::styled(format!("  {}", text::fit_end(&notes.join(" "), room, ui.glyphs)), ui.theme.muted),
    ])
}

fn draw_bars(report: &dyn Report, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    report.typed().map(|report| bars(report, columns, ui)).unwrap_or_default()
}

/// Returns lines about the metadataset and the file that would be written.
pub(super) fn draw_report(report: &dyn Report, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let Some(report) = report.typed::<MixReport>() else { return Vec::new() };
    let mut lines = bars(report, columns, ui);
    lines.push(Line::default());
    lines.push(heading(&display_safe(&report.path.to_string_lossy()), ui));
    let room = columns.saturating_sub(2);
    lines.extend(report.text.lines().map(|line| Line::from(format!("  {}", text::fit_end(line, room, ui.glyphs)))));
    lines
}

/// Returns the problems, and bars of the members of each split.
fn bars(report: &MixReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines: Vec<_> =
        report.facts.problems.iter().flat_map(|problem| problem_lines(problem, columns, ui)).collect();
    for split in &report.facts.splits {
        let epoch = split.root.samples_per_epoch.map(|samples| format!("  {} an epoch", count(samples, "sample")));
        lines.push(Line::from(vec![
            Span::styled(text::fit_end(&split.name, columns / 2, ui.glyphs), ui.theme.title),
            Span::styled(epoch.unwrap_or_default(), ui.theme.muted),
        ]));
        let members = match split.root.children.is_empty() {
            true => std::slice::from_ref(&split.root),
            false => &split.root.children,
        };
        lines.extend(members.iter().enumerate().map(|(at, node)| node_line(node, at, columns, ui)));
    }
    lines
}

/// Returns the bar of a member, its share, its samples per epoch, and how often each of them is used.
fn node_line(node: &MixNode, at: usize, columns: usize, ui: &Ui) -> Line<'static> {
    let names = (columns / 4).clamp(6, 28);
    let name = text::pad_end(&text::fit_middle(&node.label, names, ui.glyphs), names);
    let samples = node.samples_per_epoch.or(node.samples).map(grouped).unwrap_or_default();
    let repetitions = match node.oversampling {
        Some(times) if (times - 1.0).abs() > 0.005 => format!("each {times:.2}x"),
        _ => String::new(),
    };
    let bar_columns = columns.saturating_sub(names + 38).min(40);
    Line::from(vec![
        Span::raw(format!("  {name} ")),
        Span::styled(split_bar(node.share, bar_columns, ui.glyphs), ui.theme.bar(at)),
        Span::raw(text::pad_start(&percent(node.share), 9)),
        Span::raw(text::pad_start(&samples, 14)),
        Span::styled(format!("  {repetitions}"), ui.theme.muted),
    ])
}
