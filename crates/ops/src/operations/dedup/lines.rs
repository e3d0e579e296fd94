//! The printed lines of `dedup`.

use crate::job::dedup::{DedupEstimate, DedupReport, Figures, FileReport, RepeatedPassage};
use crate::job::report::{file_lines, problem_table, section, unlisted_line, Report, ReportLine};
use gristmill_core::dedup::Mode;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{agree, bytes, count, count_verb, display_safe, duration, grouped, percent};
use gristmill_core::DedupPlan;
use gristmill_data::preview::text::cut_end;

/// Maximum number of listed files; those with the most removed bytes come first.
const FILES_SHOWN: usize = 10;
/// Maximum number of columns of a displayed passage.
const PASSAGES_SHOWN: usize = 8;
/// Maximum number of columns shown of a passage.
const PASSAGE_COLUMNS: usize = 60;

/// A report or estimate, and its plan.
pub struct PlannedResult<R> {
    /// The plan.
    pub plan: DedupPlan,
    /// The report or estimate.
    pub report: R,
}

impl Report for PlannedResult<DedupReport> {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let (mode, report) = (self.plan.mode, &self.report);
        let totals = &report.totals;
        let mut lines = Vec::new();
        if report.nothing_to_do {
            lines.push(nothing_to_do());
            lines.extend(removed(mode, totals).map(ReportLine::from));
            return lines;
        }
        let figures = format!(
            ": {}, {} of text in {}{}.",
            count(totals.documents, "document"),
            bytes(totals.text_bytes),
            duration(report.elapsed),
            speed(report)
        );
        lines.push(ReportLine::success(format!("Deduplicated {}", count(report.files, "file")), figures));
        lines.extend(removed(mode, totals).map(ReportLine::from));
        if report.resumed_units > 0 {
            lines.push(ReportLine::plain("Part of it was done by a run that was stopped."));
        }
        lines.extend(per_file(&report.per_file));
        lines.extend(passages(&report.passages));
        lines.extend(file_lines("Exported", &report.exported));
        lines.extend(problem_table(&report.counts));
        lines
    }

    crate::job_report!(report);

    fn next_command(&self) -> Option<String> {
        Some(format!("gristmill browse {}", shell_quote(&self.plan.visible_output())))
    }
}

impl Report for PlannedResult<DedupEstimate> {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let found = &self.report;
        let mut lines = vec![match found.nothing_to_do {
            true => nothing_to_do(),
            false => format!("Would deduplicate {}. Nothing was written.", found.estimate_line()).into(),
        }];
        if found.resumable_units > 0 {
            lines.push(ReportLine::plain("A stopped run would be resumed."));
        }
        let verb = match self.plan.mode {
            Mode::Remove => "removed",
            Mode::Annotate => "listed",
        };
        for length in &found.lengths {
            let words = format!(
                "At a minimum length of {}, {}{} ({}) would be {verb}.",
                count(length.min_length, "byte"),
                if length.is_exact { "" } else { "about " },
                percent(length.share),
                bytes(length.removed_bytes)
            );
            lines.push(words.into());
            if !length.is_exact {
                lines.push(found.basis(length).into());
            }
        }
        lines.extend(passages(&found.passages));
        if found.nothing_to_do {
            return lines;
        }
        lines.push(ReportLine::default());
        let memory = match found.scratch_bytes {
            0 => format!("Memory: at most {}; no scratch space is needed.", bytes(found.memory_bytes)),
            scratch => format!(
                "Memory: at most {}. Scratch: about {} in {}, where {} are free.",
                bytes(found.memory_bytes),
                bytes(scratch),
                display_safe(&found.scratch.to_string_lossy()),
                bytes(found.scratch_free_bytes)
            ),
        };
        lines.push(memory.into());
        let space =
            format!("The result needs at most {}; {} are free.", bytes(found.output_bytes), bytes(found.free_bytes));
        lines.push(space.into());
        lines
    }

    crate::preview_report!(report);
}

/// Describes the removed text, and the lines without text.
fn removed(mode: Mode, totals: &Figures) -> impl Iterator<Item = String> {
    let verb = match mode {
        Mode::Remove => "Removed",
        Mode::Annotate => "Listed, and left in the text:",
    };
    let removed = format!(
        "{verb} {} ({}) in {} of {}; {}.",
        bytes(totals.removed_bytes),
        percent(totals.removed_share()),
        count(totals.ranges, "range"),
        count(totals.changed_documents, "document"),
        covered_documents(mode, totals.emptied_documents)
    );
    let copied = (totals.copied_lines > 0).then(|| {
        let are = agree(totals.copied_lines, "is copied as it is", "are copied as they are");
        format!("{} without usable text {are}.", count(totals.copied_lines, "line"))
    });
    std::iter::once(removed).chain(copied)
}

/// Describes the documents that are covered by ranges completely.
fn covered_documents(mode: Mode, documents: u64) -> String {
    match mode {
        Mode::Remove => count_verb(documents, "document", "has nothing left", "have nothing left"),
        Mode::Annotate => count_verb(documents, "document", "is a copy as a whole", "are copies as a whole"),
    }
}

fn nothing_to_do() -> ReportLine {
    let words = " Deduplicated already with this plan, and nothing changed since. Nothing was written.";
    ReportLine::success("Nothing to do.", words)
}

/// Formats bytes of text per second.
fn speed(report: &DedupReport) -> String {
    let seconds = report.elapsed.as_secs_f64();
    if seconds < 0.05 || report.totals.text_bytes == 0 || report.resumed_units > 0 {
        return String::new();
    }
    format!(" ({}/s)", bytes((report.totals.text_bytes as f64 / seconds) as u64))
}

/// Formats the sizes before and after for the files with the most removed bytes.
fn per_file(files: &[FileReport]) -> Vec<ReportLine> {
    let mut touched: Vec<&FileReport> = files.iter().filter(|file| file.figures.ranges > 0).collect();
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
    let lines = section("By file:", if touched.is_empty() { Vec::new() } else { table.lines() });
    lines.into_iter().chain(unlisted_line(touched.len(), FILES_SHOWN)).collect()
}

/// Formats the passages that repeat most often.
pub fn passages(passages: &[RepeatedPassage]) -> Vec<ReportLine> {
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
    section("Repeated most:", table.lines())
}
