//! The printed summary of `dedup`.

use crate::cli::prepare::summary::{count_lines, file_lines};
use crate::cli::printer::{paint, Tone};
use gristmill_core::dedup::Mode;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::{agree, bytes, count, count_verb, display_safe, duration, grouped};
use gristmill_core::DedupPlan;
use gristmill_ops::engine::plan::{shell_quote, CommandLine};
use gristmill_ops::job::dedup::{DedupEstimate, DedupReport, Figures, FileReport, RepeatedPassage};
use gristmill_ops::preview::text::cut_end;

/// Maximum number of listed files; those with the most removed bytes come first.
const FILES_SHOWN: usize = 10;
/// Maximum number of listed passages.
const PASSAGES_SHOWN: usize = 8;
/// Maximum number of columns shown of a passage.
const PASSAGE_COLUMNS: usize = 60;

/// Returns the lines after a run.
pub fn of_report(plan: &DedupPlan, report: &DedupReport) -> Vec<String> {
    let totals = &report.totals;
    let mut lines = Vec::new();
    if report.nothing_to_do {
        lines.push(nothing_to_do());
        lines.extend(removed(plan, totals));
        lines.push(next_step(plan));
        return lines;
    }
    let done = paint(Tone::Good, &format!("Deduplicated {}", count(report.files, "file")));
    lines.push(format!(
        "{done}: {}, {} of text in {}{}.",
        count(totals.documents, "document"),
        bytes(totals.text_bytes),
        duration(report.elapsed),
        speed(report)
    ));
    lines.extend(removed(plan, totals));
    if report.resumed_units > 0 {
        lines.push("Part of it was done by a run that was stopped.".into());
    }
    lines.extend(per_file(&report.per_file));
    lines.extend(passages(&report.passages));
    if !report.exported.is_empty() {
        let shown = report.exported.get(..report.exported.len().min(FILES_SHOWN)).unwrap_or_default();
        lines.extend(file_lines("Exported", shown));
        lines.extend(more(report.exported.len(), FILES_SHOWN, "file"));
    }
    lines.extend(count_lines(&report.counts));
    lines.push(String::new());
    lines.push(same_by_flags(plan));
    lines.push(next_step(plan));
    lines
}

/// Describes what was removed from the text, and what was not text.
fn removed(plan: &DedupPlan, totals: &Figures) -> Vec<String> {
    let verb = match plan.mode {
        Mode::Remove => "Removed",
        Mode::Annotate => "Listed, and left in the text:",
    };
    let removed = format!(
        "{verb} {} ({}) in {} of {}; {}.",
        bytes(totals.removed_bytes),
        percent(totals.removed_share()),
        count(totals.ranges, "range"),
        count(totals.changed_documents, "document"),
        whole(plan.mode, totals.emptied_documents)
    );
    let copied = (totals.copied_lines > 0).then(|| {
        let are = agree(totals.copied_lines, "is copied as it is", "are copied as they are");
        format!("{} without usable text {are}.", count(totals.copied_lines, "line"))
    });
    std::iter::once(removed).chain(copied).collect()
}

/// Describes the documents of which every byte is in a range.
fn whole(mode: Mode, documents: u64) -> String {
    match mode {
        Mode::Remove => count_verb(documents, "document", "has nothing left", "have nothing left"),
        Mode::Annotate => count_verb(documents, "document", "is a copy as a whole", "are copies as a whole"),
    }
}

/// Returns the lines of a dry run.
pub fn of_estimate(plan: &DedupPlan, found: &DedupEstimate) -> Vec<String> {
    let mut lines = vec![match found.nothing_to_do {
        true => nothing_to_do(),
        false => format!("Would deduplicate {}. Nothing was written.", found.outlook()),
    }];
    if found.resumable_units > 0 {
        lines.push("A run that was stopped would be gone on with.".into());
    }
    let verb = match plan.mode {
        Mode::Remove => "removed",
        Mode::Annotate => "listed",
    };
    for length in &found.lengths {
        lines.push(format!(
            "At a minimum length of {}, {}{} ({}) would be {verb}.",
            count(length.min_length, "byte"),
            if length.is_exact { "" } else { "about " },
            percent(length.share),
            bytes(length.removed_bytes)
        ));
        if !length.is_exact {
            lines.push(found.basis(length));
        }
    }
    lines.extend(passages(&found.passages));
    lines.push(String::new());
    if found.nothing_to_do {
        lines.push(same_by_flags(plan));
        return lines;
    }
    lines.push(match found.scratch_bytes {
        0 => format!("Memory: at most {}; no scratch space is needed.", bytes(found.memory_bytes)),
        scratch => format!(
            "Memory: at most {}. Scratch: about {} in {}, where {} are free.",
            bytes(found.memory_bytes),
            bytes(scratch),
            display_safe(&found.scratch.to_string_lossy()),
            bytes(found.scratch_free_bytes)
        ),
    });
    lines.push(format!(
        "The result needs at most {}; {} are free.",
        bytes(found.output_bytes),
        bytes(found.free_bytes)
    ));
    lines.push(same_by_flags(plan));
    lines
}

fn nothing_to_do() -> String {
    let nothing = paint(Tone::Good, "Nothing to do.");
    format!("{nothing} Deduplicated already with this plan, and nothing changed since. Nothing was written.")
}

fn same_by_flags(plan: &DedupPlan) -> String {
    let command = CommandLine::of_dedup(plan).text();
    // An estimate needs no output, but the printed command has to be runnable.
    let output = if plan.output.is_empty() { " --output DIR" } else { "" };
    format!("{} {command}{output}", paint(Tone::Strong, "The same by flags:"))
}

fn next_step(plan: &DedupPlan) -> String {
    format!("{} gristmill browse {}", paint(Tone::Strong, "Next:"), shell_quote(&plan.visible_output()))
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Formats bytes of text per second.
fn speed(report: &DedupReport) -> String {
    let seconds = report.elapsed.as_secs_f64();
    if seconds < 0.05 || report.totals.text_bytes == 0 || report.resumed_units > 0 {
        return String::new();
    }
    format!(" ({}/s)", bytes((report.totals.text_bytes as f64 / seconds) as u64))
}

fn more(all: usize, shown: usize, noun: &str) -> Option<String> {
    let left = all.checked_sub(shown).filter(|left| *left > 0)?;
    Some(format!("… and {} (--json lists them)", count(left as u64, &format!("more {noun}"))))
}

/// Formats sizes before and after of the files with the most removed bytes.
fn per_file(files: &[FileReport]) -> Vec<String> {
    let mut touched: Vec<&FileReport> = files.iter().filter(|file| file.figures.ranges > 0).collect();
    if touched.is_empty() {
        return Vec::new();
    }
    touched.sort_by_key(|file| std::cmp::Reverse(file.figures.removed_bytes));
    let mut table = Table::new(&[
        ("text", Align::Right),
        ("removed", Align::Right),
        ("", Align::Right),
        ("ranges", Align::Right),
        ("file", Align::Left),
    ]);
    for file in touched.iter().take(FILES_SHOWN) {
        let figures = &file.figures;
        table.row([
            bytes(figures.text_bytes),
            bytes(figures.removed_bytes),
            percent(figures.removed_share()),
            grouped(figures.ranges),
            display_safe(&file.name).into_owned(),
        ]);
    }
    let heading = paint(Tone::Strong, "By file:");
    let lines = [String::new(), heading].into_iter().chain(table.lines());
    lines.chain(more(touched.len(), FILES_SHOWN, "file")).collect()
}

/// Formats the passages that repeat most often.
pub fn passages(passages: &[RepeatedPassage]) -> Vec<String> {
    if passages.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&[
        ("times", Align::Right),
        ("bytes", Align::Right),
        ("passage", Align::Left),
        ("for example in", Align::Left),
    ]);
    for passage in passages.iter().take(PASSAGES_SHOWN) {
        let place = match passage.line {
            0 => display_safe(&passage.file).into_owned(),
            line => format!("{}, line {line}", display_safe(&passage.file)),
        };
        let text = display_safe(&passage.text);
        table.row([grouped(passage.count), grouped(passage.length), cut_end(&text, PASSAGE_COLUMNS), place]);
    }
    let heading = paint(Tone::Strong, "Repeated most:");
    [String::new(), heading].into_iter().chain(table.lines()).collect()
}
