//! Summarizes the output of a job in a few lines.

use crate::tui::guides::dedup::passage_lines;
use crate::tui::jobs::JobResult;
use crate::tui::screen::Ui;
use crate::tui::widgets::page::{fitted, wrapped};
use crate::tui::widgets::report::report_lines;
use crate::tui::widgets::text;
use gristmill_core::text::{agree, bytes, count, grouped, percent};
use gristmill_ops::job::dedup::{DedupReport, FileReport};
use gristmill_ops::job::jsonl::JsonlReport;
use gristmill_ops::job::metadataset::MetadatasetReport;
use gristmill_ops::job::prepare::PrepareReport;
use gristmill_ops::job::report::OutputFile;
use gristmill_ops::job::report::Report;
use gristmill_ops::operations::prepare::{JsonlResult, MetadatasetResult};
use gristmill_ops::operations::PlannedResult;
use gristmill_ops::tokens::formats;
use gristmill_ops::tokens::pack::PackReport;
use ratatui::text::{Line, Span};

/// Returns the lines of a job that succeeded; empty for any other job.
pub fn lines(result: &JobResult, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let Ok(report) = result.report() else { return Vec::new() };
    if let Some(report) = report.typed() {
        pack(report, columns, ui)
    } else if let Some(planned) = report.typed::<PlannedResult<DedupReport>>() {
        dedup(&planned.report, columns, ui)
    } else if let Some((sentences, outputs)) = prepared(report, ui) {
        let mut lines = sentence_lines(sentences, columns, ui);
        lines.extend(files(outputs, columns, ui));
        lines
    } else {
        report_lines(report, false, columns, ui)
    }
}

/// Wraps each sentence to the width.
fn sentence_lines(sentences: Vec<String>, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    sentences.iter().flat_map(|words| wrapped(words, columns, ui.theme.text)).collect()
}

/// Maximum number of listed files (those with most bytes removed) and of listed passages.
const DEDUP_ROWS: usize = 200;

fn dedup(report: &DedupReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let (dot, totals) = (ui.glyphs.dot, &report.totals);
    let sentences = vec![
        format!(
            "{} {dot} {} {dot} {} of text",
            count(report.files, "file"),
            count(totals.documents, "document"),
            bytes(totals.text_bytes)
        ),
        format!(
            "{} ({}) in {} of {} repeat{}",
            bytes(totals.removed_bytes),
            percent(totals.removed_share()),
            count(totals.ranges, "range"),
            count(totals.changed_documents, "document"),
            match totals.emptied_documents {
                0 => String::new(),
                some => format!("; nothing is left of {}", grouped(some)),
            }
        ),
    ];
    let mut lines = sentence_lines(sentences, columns, ui);
    if !report.passages.is_empty() {
        lines.push(Line::from(Span::styled("Repeated most", ui.theme.title)));
        lines.extend(passage_lines(&report.passages, DEDUP_ROWS, columns, ui));
    }
    let mut touched: Vec<&FileReport> = report.per_file.iter().filter(|file| file.figures.ranges > 0).collect();
    touched.sort_by_key(|file| std::cmp::Reverse(file.figures.removed_bytes));
    if !touched.is_empty() {
        let name_columns = columns.saturating_sub(36).max(8);
        let head = format!("{}{:>12}{:>12}{:>9}", text::pad_end("By file", name_columns + 1), "text", "after", "");
        lines.push(Line::from(Span::styled(head, ui.theme.title)));
        for file in touched.iter().take(DEDUP_ROWS) {
            let figures = &file.figures;
            let name = text::pad_end(&text::fit_middle(&file.name, name_columns - 1, ui.glyphs), name_columns);
            let after = figures.text_bytes.saturating_sub(figures.removed_bytes);
            let share = format!("-{}", percent(figures.removed_share()));
            let sizes = format!("{:>12}{:>12}", bytes(figures.text_bytes), bytes(after));
            lines.push(Line::from(vec![
                Span::raw(format!(" {name}{sizes}")),
                Span::styled(format!("{share:>9}"), ui.theme.muted),
            ]));
        }
        if let Some(more) = touched.len().checked_sub(DEDUP_ROWS).filter(|more| *more > 0) {
            lines.push(Line::from(Span::styled(format!("  and {} more", grouped(more as u64)), ui.theme.muted)));
        }
    }
    for file in report.exported.iter().take(FILES_EACH) {
        lines.extend(files(std::slice::from_ref(file), columns, ui));
    }
    lines
}

/// Maximum number of listed files per format.
const FILES_EACH: usize = 8;

fn pack(report: &PackReport, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let dot = ui.glyphs.dot;
    let all = format!(
        "{} {dot} {} {dot} {} of text",
        count(report.documents, "document"),
        count(report.tokens, "token"),
        bytes(report.bytes)
    );
    let mut lines = sentence_lines(vec![all], columns, ui);
    if let Some(why) = &report.switched_to_reference {
        let words = format!("{} the reference tokenizer did the work: {why}", ui.glyphs.warn);
        lines.extend(wrapped(&words, columns, ui.theme.warn));
    }
    for target in &report.targets {
        let documents = format!("{}: {}", target.format, count(target.documents, formats::item(&target.format)));
        let tokens = format!("{} of {}", count(target.tokens, "token"), count(u64::from(target.token_bytes), "byte"));
        lines.extend(wrapped(&format!("{documents} {dot} {tokens}"), columns, ui.theme.title));
        if target.dropped_tokens > 0 {
            let words = format!(
                "  {} at the end {} left out: not enough for a sample",
                count(target.dropped_tokens, "token"),
                agree(target.dropped_tokens, "is", "are")
            );
            lines.extend(wrapped(&words, columns, ui.theme.text));
        }
        if let Some(size) = target.vocab_size {
            let words = format!("  the training configuration needs vocab_size: {size}");
            lines.extend(wrapped(&words, columns, ui.theme.text));
        }
        for skipped in &target.skipped {
            let style = if skipped.is_by_design { ui.theme.muted } else { ui.theme.warn };
            let words = format!("  {} left out: {}", count(skipped.documents, "document"), skipped.reason);
            lines.push(fitted(&words, columns, style, ui));
        }
        lines.extend(files(target.outputs.get(..FILES_EACH).unwrap_or(&target.outputs), columns, ui));
        if let Some(more) = target.outputs.len().checked_sub(FILES_EACH).filter(|more| *more > 0) {
            lines.push(Line::from(Span::styled(format!("  and {} more", grouped(more as u64)), ui.theme.muted)));
        }
    }
    lines
}

/// Returns the figures of a preparation and its files; `None` for other reports.
fn prepared<'a>(report: &'a dyn Report, ui: &Ui) -> Option<(Vec<String>, &'a [OutputFile])> {
    let dot = ui.glyphs.dot;
    if let Some(report) = report.typed::<PrepareReport>() {
        let (shards, samples) = (count(report.shards, "shard"), count(report.samples, "sample"));
        return Some((vec![format!("{shards} {dot} {samples} {dot} {}", bytes(report.bytes))], &report.files));
    }
    if let Some(JsonlResult { report, .. }) = report.typed() {
        return Some((jsonl(report, dot), &report.files));
    }
    let MetadatasetResult { report, .. } = report.typed()?;
    Some((metadataset(report, dot), &report.files))
}

fn metadataset(report: &MetadatasetReport, dot: &str) -> Vec<String> {
    let mut lines =
        vec![format!("{} {dot} {}", count(report.splits, "split"), count(report.joins.len() as u64, "join"))];
    for join in &report.joins {
        let mut words = format!("  {}: {} of {}", join.split, count(join.rows, "row"), grouped(join.samples));
        if join.skipped > 0 {
            words.push_str(&format!(", {} skipped", grouped(join.skipped)));
        }
        lines.push(words);
    }
    lines
}

fn jsonl(report: &JsonlReport, dot: &str) -> Vec<String> {
    let mut words = format!("{} {dot} {}", count(report.samples, "sample"), bytes(report.bytes));
    if report.blank_lines > 0 {
        words.push_str(&format!(" {dot} {}, no samples", count(report.blank_lines, "blank line")));
    }
    let mut lines = vec![words];
    if report.lines_left_out > 0 {
        lines.push(format!(
            "{} left out of the copy; the file stays as it is",
            count(report.lines_left_out, "bad line")
        ));
    }
    lines
}

/// Lists files with their sizes.
fn files(files: &[OutputFile], columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for file in files {
        let label = if file.replaces { "  replaced" } else { "  new" };
        let size = text::pad_start(&bytes(file.bytes), 11);
        let name_columns = columns.saturating_sub(24).max(8);
        let name = text::pad_end(&text::fit_middle(&file.name, name_columns, ui.glyphs), name_columns);
        lines.push(Line::from(vec![
            Span::raw(format!("  {name}{size}")),
            Span::styled(label.to_owned(), ui.theme.muted),
        ]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::testing;
    use gristmill_core::DedupPlan;
    use gristmill_ops::job::dedup::Figures;
    use gristmill_ops::tokens::pack::TargetReport;
    use std::time::Duration;

    #[test]
    fn the_vocabulary_size_that_training_needs_is_shown() {
        let target = |format: &str, vocab_size| TargetReport {
            format: format.to_owned(),
            path: "/data/web-tokens".into(),
            outputs: Vec::new(),
            documents: 2,
            tokens: 8,
            dropped_tokens: 0,
            token_bytes: 2,
            vocab_size,
            skipped: Vec::new(),
        };
        let report = PackReport {
            files: 1,
            documents: 2,
            tokens: 8,
            bytes: 30,
            targets: vec![target("nanosets", Some(50_257)), target("modalities", None)],
            nothing_to_do: false,
            resumed_bytes: 0,
            switched_to_reference: None,
            problems: Vec::new(),
            counts: Vec::new(),
            elapsed: Duration::ZERO,
        };
        let result = JobResult::from(Ok(Box::new(report) as Box<dyn Report>));
        let shown = testing::shown((60, 10, false), |frame, area, ui| {
            let lines = lines(&result, usize::from(area.width), ui);
            crate::tui::widgets::layout::draw_lines(frame.buffer_mut(), area, lines);
        });
        assert_eq!(shown.matches("the training configuration needs vocab_size: 50257").count(), 1, "{shown}");
    }

    #[test]
    fn summary_sentence_wraps_in_narrow_windows() {
        let totals = Figures {
            documents: 12_345_678,
            text_bytes: 9_100 << 30,
            ranges: 98_765_432,
            removed_bytes: 1_234 << 30,
            changed_documents: 8_765_432,
            emptied_documents: 1_234_567,
            ..Figures::default()
        };
        let report = DedupReport {
            output: "/data/web-dedup".into(),
            files: 1_200,
            totals,
            per_file: Vec::new(),
            passages: Vec::new(),
            exported: Vec::new(),
            nothing_to_do: false,
            resumed_units: 0,
            scratch_bytes: 0,
            problems: Vec::new(),
            counts: Vec::new(),
            elapsed: Duration::ZERO,
        };
        let result =
            JobResult::from(Ok(Box::new(PlannedResult { plan: DedupPlan::new("", ""), report }) as Box<dyn Report>));
        for columns in [36, 76] {
            let size = (columns, 10, false);
            let shown = testing::shown(size, |frame, area, ui| {
                let lines = lines(&result, usize::from(area.width), ui);
                crate::tui::widgets::layout::draw_lines(frame.buffer_mut(), area, lines);
            });
            let words: Vec<&str> = shown.split_whitespace().collect();
            assert!(words.join(" ").contains("8,765,432 documents repeat; nothing is left of 1,234,567"), "{shown}");
        }
    }
}
