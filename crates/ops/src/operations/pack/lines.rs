//! The printed lines of `pack`.

use crate::job::report::{file_lines, problem_table, section, Report, ReportLine};
use crate::tokens::formats;
use crate::tokens::pack::{PackPreview, PackReport, Skipped, TargetReport};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{agree, bytes, count, display_safe, duration, grouped};
use gristmill_core::DatasetKind;
use gristmill_data::source::kind::kind_of;
use gristmill_storage::files;
use std::path::Path;

impl Report for PackReport {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let mut lines = Vec::new();
        if self.nothing_to_do {
            lines.push(nothing_to_do());
        } else {
            let figures = format!(
                ": {}, {}, {} of text in {}{}.",
                count(self.documents, "document"),
                count(self.tokens, "token"),
                bytes(self.bytes),
                duration(self.elapsed),
                speed(self)
            );
            lines.push(ReportLine::success(format!("Packed {}", count(self.files, "file")), figures));
            if self.resumed_bytes > 0 {
                let words = format!("{} of it were done by a run that was stopped.", bytes(self.resumed_bytes));
                lines.push(words.into());
            }
        }
        let rows =
            self.targets.iter().map(|t| (t.format.as_str(), t.documents, t.tokens, t.token_bytes, t.path.as_str()));
        lines.extend(target_lines(rows));
        for target in &self.targets {
            lines.extend(skipped_lines(&target.format, &target.skipped));
            lines.extend(detail_lines(target));
            if !self.nothing_to_do {
                lines.extend(file_lines(&format!("Written for {}", target.format), &target.outputs));
            }
        }
        if let Some(why) = &self.switched_to_reference {
            lines.push(ReportLine::default());
            let why = display_safe(why);
            let words = format!(
                "The fast tokenizer differed from the reference ({why}); everything was encoded by the reference."
            );
            lines.push(words.into());
        }
        lines.extend(problem_table(&self.counts));
        lines
    }

    crate::job_report!();

    fn next_command(&self) -> Option<String> {
        let target = self.targets.first()?;
        Some(format!("gristmill info {}", shell_quote(next_path(target))))
    }
}

impl Report for PackPreview {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let mut lines = vec![match self.nothing_to_do {
            true => nothing_to_do(),
            false => format!("Would pack {}. Nothing was written.", self.estimate_line()).into(),
        }];
        if self.resumable_bytes > 0 {
            let words = format!("A stopped run would be resumed: {} are done.", bytes(self.resumable_bytes));
            lines.push(words.into());
        }
        let rows =
            self.targets.iter().map(|t| (t.format.as_str(), t.documents, t.tokens, t.token_bytes, t.path.as_str()));
        lines.extend(target_lines(rows));
        for target in &self.targets {
            lines.extend(skipped_lines(&target.format, &target.skipped));
            if !self.nothing_to_do {
                lines.extend(file_lines(&format!("Would be written for {}, about", target.format), &target.outputs));
            }
        }
        if !self.nothing_to_do {
            lines.push(ReportLine::default());
            let words = format!(
                "It needs about {}; {} are free. Figures are estimates from {}.",
                bytes(self.needed_bytes),
                bytes(self.free_bytes),
                count(self.sample.documents, "document")
            );
            lines.push(words.into());
        }
        lines
    }

    crate::preview_report!();
}

/// Returns lines about dropped tokens and the size of the vocabulary.
fn detail_lines(target: &TargetReport) -> Vec<ReportLine> {
    let mut lines = Vec::new();
    let format = &target.format;
    if target.dropped_tokens > 0 {
        let unit = formats::named(format).map_or("sample", |format| format.info().unit);
        let tokens = count(target.dropped_tokens, "token");
        let fill = agree(target.dropped_tokens, "fills", "fill");
        let are = agree(target.dropped_tokens, "is", "are");
        lines.push(format!("{format}: {tokens} at the end {fill} no {unit} and {are} left out.").into());
    }
    if let Some(size) = target.vocab_size {
        lines.push(format!("{format}: the training configuration needs vocab_size: {size}").into());
    }
    lines
}

/// Returns the path to browse next. If the folder is not a data set because it has other files, returns the first packed file.
fn next_path(target: &TargetReport) -> &str {
    let is_data = || !files::is_dir(&target.path) || kind_of(Path::new(&target.path)).is_ok_and(DatasetKind::is_tokens);
    let has_single_files = formats::named(&target.format).is_some_and(|format| format.info().has_single_files);
    // The path in a store is queried only if the result matters.
    let first = target.outputs.first().filter(|_| has_single_files && !is_data());
    first.map_or(&target.path, |file| &file.name)
}

fn nothing_to_do() -> ReportLine {
    let words = " Packed already with this plan, and nothing changed since. Nothing was written.";
    ReportLine::success("Nothing to do.", words)
}

/// Formats bytes and tokens per second, excluding the work of earlier runs.
fn speed(report: &PackReport) -> String {
    let seconds = report.elapsed.as_secs_f64();
    let done = report.bytes.saturating_sub(report.resumed_bytes);
    if seconds < 0.05 || done == 0 {
        return String::new();
    }
    let share = done as f64 / report.bytes.max(1) as f64;
    let tokens = grouped((report.tokens as f64 * share / seconds) as u64);
    format!(" ({}/s, {tokens} tokens/s)", bytes((done as f64 / seconds) as u64))
}

fn target_lines<'a>(targets: impl Iterator<Item = (&'a str, u64, u64, u8, &'a str)>) -> Vec<ReportLine> {
    let mut table = Table::new(&[
        ("format", Align::Left),
        ("holds", Align::Right),
        ("tokens", Align::Right),
        ("bytes each", Align::Right),
        ("at", Align::Left),
    ]);
    for (format, documents, tokens, token_bytes, path) in targets {
        let path = display_safe(path).into_owned();
        let held = count(documents, formats::item(format));
        table.row([format.to_owned(), held, grouped(tokens), token_bytes.to_string(), path]);
    }
    let lines = table.lines().into_iter().map(ReportLine::from);
    std::iter::once(ReportLine::default()).chain(lines).collect()
}

fn skipped_lines(format: &str, skipped: &[Skipped]) -> Vec<ReportLine> {
    let mut table = Table::new(&[("", Align::Right), ("", Align::Left), ("", Align::Left)]);
    for skip in skipped {
        let also = if skip.is_by_design { "as the reference program does" } else { "" };
        table.row([grouped(skip.documents), display_safe(&skip.reason).into_owned(), also.to_owned()]);
    }
    section(&format!("Not in the output for {format}:"), table.lines())
}
