//! The lines of the form of `mix new`: data sets, and the metadataset as bars.

use crate::tui::guides::weights::WeightedRow;
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{heading, problem_lines};
use crate::tui::widgets::{split_bar, text};
use gristmill_core::mix::{MixKind, MixPlan};
use gristmill_core::text::{count, display_safe, grouped, percent};
use gristmill_ops::engine::mix::author::FoundMember;
use gristmill_ops::engine::mix::{MixNode, MixNodeKind};
use gristmill_ops::job::mix::MixReport;
use gristmill_ops::job::report::Report;
use ratatui::text::{Line, Span};

/// A data set that can be a member.
pub(super) type MemberRow = WeightedRow<FoundMember>;

/// Returns the typed weight; `None` if it is not a number above 0.
pub(super) fn number(row: &MemberRow) -> Option<f64> {
    row.weight.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0)
}

/// Returns the names of the aux sources.
pub(super) fn aux_names(plan: &MixPlan) -> Vec<String> {
    let sources = plan.members.iter().map(|member| &member.aux).find(|aux| !aux.is_empty());
    sources.into_iter().flatten().map(|source| format!("+{}", source.name)).collect()
}

/// Returns the line of a data set.
pub(super) fn member_line(row: &MemberRow, kind: MixKind, aux: &[String], columns: usize, ui: &Ui) -> Line<'static> {
    let sign = if row.is_chosen { ui.glyphs.box_on } else { ui.glyphs.box_off };
    let found = &row.item;
    let kind_name = match found.kind {
        MixNodeKind::WebDataset if found.is_crude => "crude",
        MixNodeKind::WebDataset => "WebDataset",
        MixNodeKind::Jsonl => "JSONL",
        MixNodeKind::Metadataset => "metadataset",
        _ => "",
    };
    let amount = if row.is_chosen && kind != MixKind::Join { row.weight.as_str() } else { "" };
    let amount_style = if number(row).is_some() { ui.theme.accent } else { ui.theme.error };
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

/// Returns lines about the metadataset and the file that would be written.
pub(super) fn draw_report(report: &dyn Report, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let Some(report) = report.typed::<MixReport>() else { return Vec::new() };
    let mut lines = bar_lines(report, columns, ui);
    lines.push(Line::default());
    lines.push(heading(&display_safe(&report.path.to_string_lossy()), ui));
    let room = columns.saturating_sub(2);
    lines.extend(report.text.lines().map(|line| Line::from(format!("  {}", text::fit_end(line, room, ui.glyphs)))));
    lines
}

/// Returns the problems, and bars of the members of each split.
pub(super) fn bar_lines(report: &MixReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
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
