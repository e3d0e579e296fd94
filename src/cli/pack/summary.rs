//! The printed summary of `pack`.

use crate::cli::prepare::summary::{count_lines, file_lines};
use crate::cli::printer::{paint, Tone};
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{agree, bytes, count, display_safe, duration, grouped};
use gristmill_core::{DatasetKind, PackFormat, PackPlan};
use gristmill_ops::engine::plan::{shell_quote, CommandLine};
use gristmill_ops::job::pack::{PackPreview, PackReport, Skipped, TargetReport};
use gristmill_ops::job::prepare::OutputFile;
use gristmill_ops::source::kind::kind_of;
use std::path::Path;

/// Maximum number of listed files per format.
const FILES_SHOWN: usize = 12;

/// Returns the lines after a run.
pub fn of_report(plan: &PackPlan, report: &PackReport) -> Vec<String> {
    let mut lines = Vec::new();
    if report.nothing_to_do {
        lines.push(nothing_to_do());
    } else {
        let done = paint(Tone::Good, &format!("Packed {}", count(report.files, "file")));
        let speed = speed(report);
        lines.push(format!(
            "{done}: {}, {}, {} of text in {}{speed}.",
            count(report.documents, "document"),
            count(report.tokens, "token"),
            bytes(report.bytes),
            duration(report.elapsed)
        ));
        if report.resumed_bytes > 0 {
            lines.push(format!("{} of it were done by a run that was stopped.", bytes(report.resumed_bytes)));
        }
    }
    let rows = report.targets.iter().map(|t| (t.format, t.documents, t.tokens, t.token_bytes, t.path.as_str()));
    lines.extend(target_lines(rows));
    for target in &report.targets {
        lines.extend(skipped_lines(target.format, &target.skipped));
        if target.dropped_tokens > 0 {
            let unit = if target.format == PackFormat::Nanosets { "chunk" } else { "sample" };
            let tokens = count(target.dropped_tokens, "token");
            let fill = agree(target.dropped_tokens, "fills", "fill");
            let are = agree(target.dropped_tokens, "is", "are");
            lines.push(format!("{}: {tokens} at the end {fill} no {unit} and {are} left out.", target.format.word()));
        }
        if let Some(size) = target.vocab_size {
            lines.push(format!("{}: the training configuration needs vocab_size: {size}", target.format.word()));
        }
        if !report.nothing_to_do {
            lines.extend(written(&format!("Written for {}", target.format.word()), &target.outputs));
        }
    }
    if let Some(why) = &report.switched_to_reference {
        lines.push(String::new());
        lines.push(format!(
            "The fast tokenizer differed from the reference ({}); everything was encoded by the reference.",
            display_safe(why)
        ));
    }
    lines.extend(count_lines(&report.counts));
    lines.push(String::new());
    lines.push(same_by_flags(plan));
    if let Some(target) = report.targets.first() {
        lines.push(format!("{} gristmill info {}", paint(Tone::Strong, "Next:"), shell_quote(next(target))));
    }
    lines
}

/// Returns the path to browse next. A folder that also holds other files is not a data set: then its first packed file.
fn next(target: &TargetReport) -> &str {
    let is_data =
        !Path::new(&target.path).is_dir() || kind_of(Path::new(&target.path)).is_ok_and(DatasetKind::is_tokens);
    let first = target.outputs.first().filter(|_| !is_data && target.format == PackFormat::Modalities);
    first.map_or(&target.path, |file| &file.name)
}

/// Returns the lines of a dry run.
pub fn of_preview(plan: &PackPlan, preview: &PackPreview) -> Vec<String> {
    let mut lines = vec![match preview.nothing_to_do {
        true => nothing_to_do(),
        false => format!("Would pack {}. Nothing was written.", preview.outlook()),
    }];
    if preview.resumable_bytes > 0 {
        lines.push(format!(
            "A run that was stopped would be gone on with: {} are done.",
            bytes(preview.resumable_bytes)
        ));
    }
    let rows = preview.targets.iter().map(|t| (t.format, t.documents, t.tokens, t.token_bytes, t.path.as_str()));
    lines.extend(target_lines(rows));
    for target in &preview.targets {
        lines.extend(skipped_lines(target.format, &target.skipped));
        if !preview.nothing_to_do {
            lines.extend(written(&format!("Would be written for {}, about", target.format.word()), &target.outputs));
        }
    }
    lines.push(String::new());
    if !preview.nothing_to_do {
        lines.push(format!(
            "It needs about {}; {} are free. Figures are estimates from {}.",
            bytes(preview.needed_bytes),
            bytes(preview.free_bytes),
            count(preview.sample.documents, "document")
        ));
    }
    lines.push(same_by_flags(plan));
    lines
}

fn nothing_to_do() -> String {
    let nothing = paint(Tone::Good, "Nothing to do.");
    format!("{nothing} Packed already with this plan, and nothing changed since. Nothing was written.")
}

fn same_by_flags(plan: &PackPlan) -> String {
    format!("{} {}", paint(Tone::Strong, "The same by flags:"), CommandLine::of_pack(plan).text())
}

/// Formats bytes and tokens per second, counting only the work of this run.
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

fn target_lines<'a>(targets: impl Iterator<Item = (PackFormat, u64, u64, u8, &'a str)>) -> Vec<String> {
    let mut table = Table::new(&[
        ("format", Align::Left),
        ("holds", Align::Right),
        ("tokens", Align::Right),
        ("bytes each", Align::Right),
        ("at", Align::Left),
    ]);
    for (format, documents, tokens, token_bytes, path) in targets {
        let path = display_safe(path).into_owned();
        let held = count(documents, format.item());
        table.row([format.word().to_owned(), held, grouped(tokens), token_bytes.to_string(), path]);
    }
    std::iter::once(String::new()).chain(table.lines()).collect()
}

fn skipped_lines(format: PackFormat, skipped: &[Skipped]) -> Vec<String> {
    if skipped.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&[("", Align::Right), ("", Align::Left), ("", Align::Left)]);
    for skip in skipped {
        let also = if skip.is_by_design { "as the reference program does" } else { "" };
        table.row([grouped(skip.documents), display_safe(&skip.reason).into_owned(), also.to_owned()]);
    }
    let heading = paint(Tone::Strong, &format!("Not in the output for {}:", format.word()));
    [String::new(), heading].into_iter().chain(table.lines()).collect()
}

fn written(title: &str, files: &[OutputFile]) -> Vec<String> {
    let mut lines = file_lines(title, &files[..files.len().min(FILES_SHOWN)]);
    if let Some(more) = files.len().checked_sub(FILES_SHOWN).filter(|more| *more > 0) {
        lines.push(format!("… and {} (--json lists them)", count(more as u64, "more file")));
    }
    lines
}
