//! The review of the guided prepare: one page with everything that a run would do.

use super::step::Answers;
use crate::tui::screen::Ui;
use crate::tui::widgets::layout::{heading, problem_lines};
use crate::tui::widgets::page::wrapped;
use crate::tui::widgets::text;
use gristmill_core::text::{bytes, count, grouped, percent};
use gristmill_core::{MediaFilter, Problem, Severity, ShardState};
use gristmill_ops::job::prepare::Preview;
use gristmill_ops::job::report::OutputFile;
use ratatui::text::{Line, Span};

/// Maximum number of problems shown in full; further ones are counted.
const SHOWN_PROBLEMS: usize = 12;

/// The state of the data and of the preview.
pub struct Review<'a> {
    /// The preview of the run.
    pub preview: &'a Preview,
    /// The answers and the facts.
    pub answers: &'a Answers,
    /// Whether a dry run was requested: its result is complete once the last shard was scanned.
    pub is_dry_run: bool,
    /// Whether a step cannot be completed, so that a run would be refused.
    pub is_refused: bool,
    /// Whether shards are being scanned.
    pub is_scanning: bool,
    /// The remaining time of the scan, as text.
    pub time: Option<&'a str>,
}

impl Review<'_> {
    /// Returns the page as lines with at most this many columns.
    pub fn lines(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let mut lines = match () {
            () if self.is_dry_run => self.dry_run(columns, ui),
            () if self.preview.nothing_to_do => {
                let words =
                    format!("{} already prepared with these answers; nothing has changed since", ui.glyphs.check);
                let mut lines = wrapped(&words, columns, ui.theme.ok);
                lines.extend(wrapped("A run would not write anything.", columns, ui.theme.muted));
                lines
            }
            () => vec![Line::from(Span::styled(text::fit_end(&self.scan_state(), columns, ui.glyphs), ui.theme.muted))],
        };
        if !self.is_run_refused() {
            lines.extend(files(&self.preview.files, columns, ui));
        }
        lines.extend(self.splits(columns, ui));
        lines.extend(media(self.answers, columns, ui));
        lines.extend(self.problems(columns, ui));
        if !self.preview.differences.is_empty() {
            lines.push(Line::default());
            lines.push(heading("Changes since the last preparation", ui));
            for difference in &self.preview.differences {
                let wrapped = text::wrap(difference, columns.saturating_sub(2)).into_iter();
                lines.extend(wrapped.map(|line| Line::from(format!("  {line}"))));
            }
        }
        lines
    }

    fn scan_state(&self) -> String {
        let facts = &self.answers.facts;
        let waiting = facts.shards.iter().filter(|s| s.state == ShardState::Waiting).count() as u64;
        match (self.time, facts.scan_complete) {
            (_, false) if !self.is_scanning && self.answers.is_update() => {
                format!("  only {} to read; the rest stays as it is", count(waiting, "shard"))
            }
            (_, false) if !self.is_scanning => "  all shards are read again in the run".to_owned(),
            (_, true) => {
                let samples = facts.shards.iter().map(|shard| shard.samples).sum();
                let then = if self.is_run_refused() { "" } else { " already; writing takes seconds" };
                format!("  {} scanned{then}", count(samples, "sample"))
            }
            (Some(left), false) => format!("  about {left} to go; the scan has begun and continues in the run"),
            (None, false) => "  the scan has begun and continues in the run".to_owned(),
        }
    }

    fn is_run_refused(&self) -> bool {
        self.is_refused || self.all_problems().iter().any(|problem| problem.severity == Severity::Refusal)
    }

    /// Returns the result of a dry run; it confirms the plan only if every shard was read.
    fn dry_run(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let facts = &self.answers.facts;
        let read = facts.shards.iter().filter(|s| matches!(s.state, ShardState::Scanned | ShardState::Failed)).count();
        let problems = self.all_problems();
        let found = problems.iter().filter(|p| p.severity == Severity::Problem).count() as u64;
        let is_refused = self.is_run_refused();
        let (words, style) = match (self.is_scanning, found) {
            (true, _) => {
                let of = count(facts.shards.len() as u64, "shard");
                (format!("{} dry run: {} of {of} read", ui.spinner(), grouped(read as u64)), ui.theme.text)
            }
            (false, _) if is_refused => {
                let read = count(read as u64, "shard");
                (format!("{} dry run: the run is refused; {read} read", ui.glyphs.cross), ui.theme.error)
            }
            (false, 0) => {
                let read = count(read as u64, "shard");
                (format!("{} dry run: the run is possible; {read} read", ui.glyphs.check), ui.theme.ok)
            }
            (false, found) => {
                let (read, with) = (count(read as u64, "shard"), count(found, "problem"));
                let words = format!("{} dry run: the run is possible, with {with}; {read} read", ui.glyphs.warn);
                (words, ui.theme.warn)
            }
        };
        let keys = self.preview.key_comparison(self.answers.plan.duplicates).map(|words| format!(" {words}"));
        let note = format!("Nothing was written.{}", keys.unwrap_or_default());
        let mut lines = wrapped(&words, columns, style);
        lines.extend(wrapped(&note, columns, ui.theme.muted));
        lines
    }

    fn splits(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let (preview, answers) = (self.preview, self.answers);
        if preview.splits.is_empty() {
            return Vec::new();
        }
        let total: u64 = preview.splits.iter().map(|s| s.samples).sum();
        let (title, about) = if answers.is_counting() { ("Splits, so far", "~") } else { ("Splits", "") };
        let mut lines = vec![Line::default(), heading(title, ui)];
        for split in &preview.splits {
            let share = if total == 0 { 0.0 } else { split.samples as f64 / total as f64 };
            let name = text::pad_end(&text::fit_end(&split.name, 14, ui.glyphs), 14);
            let shards = text::pad_start(&count(split.shards, "shard"), 13);
            let samples = text::pad_start(&format!("{about}{}", count(split.samples, "sample")), 20);
            let share = text::pad_start(&format!("{about}{}", percent(share)), 9);
            let style = if split.shards == 0 { ui.theme.warn } else { ui.theme.text };
            let words = text::fit_end(&format!("  {name}{shards}{samples}{share}"), columns, ui.glyphs);
            lines.push(Line::from(Span::styled(words, style)));
        }
        lines
    }

    /// Returns all findings, each once, the most severe first.
    fn all_problems(&self) -> Vec<&Problem> {
        let answers = self.answers;
        let mut all: Vec<_> =
            self.preview.problems.iter().chain(&answers.derived.problems).chain(&answers.facts.findings).collect();
        // If a problem is reported twice, the more severe one is shown.
        all.sort_by_key(|p| std::cmp::Reverse(p.severity));
        let mut seen: Vec<String> = Vec::new();
        all.retain(|p| {
            let key = p.to_string();
            let new = !seen.contains(&key);
            if seen.len() < 200 {
                seen.push(key);
            }
            new
        });
        all
    }

    fn problems(&self, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
        let (all, answers) = (self.all_problems(), self.answers);
        if all.is_empty() {
            let none = match answers.is_counting() {
                true => Span::styled("  none found so far", ui.theme.muted),
                false => Span::styled(format!("  {} none found", ui.glyphs.check), ui.theme.ok),
            };
            return vec![Line::default(), heading("Findings", ui), Line::from(none)];
        }
        let of = |severity| all.iter().filter(|p| p.severity == severity).count() as u64;
        let so_far = if answers.is_counting() { ", so far" } else { "" };
        let severities = [(Severity::Refusal, "refusal"), (Severity::Problem, "problem"), (Severity::Note, "note")];
        let counts = severities.map(|(severity, word)| (of(severity), word)).into_iter().filter(|(n, _)| *n > 0);
        let counts: Vec<String> = counts.map(|(n, word)| count(n, word)).collect();
        let title = format!("Findings: {}{so_far}", counts.join(", "));
        let mut lines = vec![Line::default(), heading(&title, ui)];
        for problem in all.iter().take(SHOWN_PROBLEMS) {
            lines.extend(problem_lines(problem, columns.saturating_sub(2), ui).into_iter().map(|mut l| {
                l.spans.insert(0, Span::raw("  "));
                l
            }));
        }
        if all.len() > SHOWN_PROBLEMS {
            let words = format!("  and {} more, in the report", all.len() - SHOWN_PROBLEMS);
            lines.push(Line::from(Span::styled(words, ui.theme.muted)));
        }
        lines
    }
}

/// Returns lines about the files with their sizes; the `.tar.idx` files share one line.
fn files(files: &[OutputFile], columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default(), heading("Files that will be written", ui)];
    let is_index = |f: &&OutputFile| f.name.ends_with(".tar.idx");
    let indexes: Vec<&OutputFile> = files.iter().filter(is_index).collect();
    let mut rows: Vec<(String, u64, bool)> = Vec::new();
    match indexes.as_slice() {
        [] => {}
        [first, .., last] if indexes.len() > 3 => {
            let size = indexes.iter().map(|f| f.bytes).sum();
            let name =
                format!("{} {} {}  ({})", first.name, ui.glyphs.ellipsis, last.name, grouped(indexes.len() as u64));
            rows.push((name, size, indexes.iter().any(|f| f.replaces)));
        }
        few => rows.extend(few.iter().map(|f| (f.name.clone(), f.bytes, f.replaces))),
    }
    rows.extend(files.iter().filter(|f| !is_index(f)).map(|f| (f.name.clone(), f.bytes, f.replaces)));
    if rows.is_empty() {
        lines.push(Line::from(Span::styled("  none", ui.theme.muted)));
    }
    let name_columns = columns.saturating_sub(26).max(10);
    for (name, size, replaces) in rows {
        let name = text::pad_end(&text::fit_middle(&name, name_columns, ui.glyphs), name_columns);
        let size = text::pad_start(&format!("~{}", bytes(size)), 12);
        let what = if replaces { ("  replaced", ui.theme.warn) } else { ("  new", ui.theme.muted) };
        lines.push(Line::from(vec![Span::raw(format!("  {name}{size}")), Span::styled(what.0, what.1)]));
    }
    lines
}

/// Returns lines about the entries whose media metadata will be recorded; empty if that is not requested.
fn media(answers: &Answers, columns: usize, ui: &Ui) -> Vec<Line<'static>> {
    let Some(plan) = &answers.plan.media else { return Vec::new() };
    let filter_text = match &plan.filter {
        MediaFilter::Extension => "entries picked by the end of their names".to_owned(),
        MediaFilter::Header => "entries picked by their first bytes".to_owned(),
        MediaFilter::Glob(patterns) => format!("entries that match {}", patterns.join(", ")),
    };
    let how = if plan.decode { "; each picture is decoded completely" } else { "" };
    let words = text::fit_end(&format!("  {filter_text}{how}"), columns, ui.glyphs);
    vec![Line::default(), heading("Media metadata", ui), Line::from(words)]
}

#[cfg(test)]
mod tests;
