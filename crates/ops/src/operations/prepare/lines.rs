//! The printed lines of `prepare`.

use crate::engine::media::{forecast, MediaForecast};
use crate::engine::plan::fields::try_out;
use crate::engine::splits::SplitSummary;
use crate::job::media::{outlook_lines, summary_line};
use crate::job::prepare::{preview, PrepareReport, Preview};
use crate::job::report::{file_lines, problem_table, section, OutputFile, Report, ReportLine, MAX_SHOWN_FILES};
use crate::job::scan::LiveScan;
use crate::job::times;
use gristmill_core::table::{Align, Table};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{count, count_verb, display_safe, duration, grouped, percent};
use gristmill_core::{
    Cancel, DatasetFacts, Duplicates, Outcome, PreparePlan, Problem, ProblemKind, Rerun, RunOptions, Severity,
};
use gristmill_data::formats::energon::layout;
use std::path::Path;
use std::time::Duration;

/// Interval at which the state of a scan is read.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The preview of a run on a folder of shards.
pub struct PreparePreview {
    path: String,
    preview: Preview,
    media: Option<MediaForecast>,
    duplicates: Duplicates,
}

impl PreparePreview {
    /// Scans the shards, because the result depends on their content, and returns the preview of a plan.
    ///
    /// # Errors
    /// The data set cannot be opened or read, or the work is cancelled.
    pub fn scan(plan: &PreparePlan, options: &RunOptions, cancel: &Cancel) -> Outcome<Self> {
        let scan = LiveScan::start(Path::new(&plan.path), options)?;
        while !scan.is_finished() {
            cancel.check()?;
            std::thread::sleep(POLL_INTERVAL);
        }
        let facts = scan.wait()?;
        Ok(Self::of(plan, &facts))
    }

    /// Returns the preview of a plan for the shards scanned so far.
    pub fn of(plan: &PreparePlan, facts: &DatasetFacts) -> Self {
        let mut preview = preview(plan, facts);
        preview.problems.extend(try_out(plan, facts));
        let is_refused = preview.problems.iter().any(|problem| problem.severity == Severity::Refusal);
        let media = plan.media.as_ref().filter(|_| !is_refused).map(|media| forecast(facts, media));
        Self { path: plan.path.clone(), preview, media, duplicates: plan.duplicates }
    }
}

impl Report for PreparePreview {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let (path, preview) = (display_safe(&self.path), &self.preview);
        let mut lines = vec![ReportLine::plain(match preview.nothing_to_do {
            true => format!("Nothing to do: {path} is prepared like this already, and nothing has changed since."),
            false => format!("Would prepare {path}. Nothing was written."),
        })];
        lines.extend(split_lines(&preview.splits, preview.samples, preview.excludes));
        lines.extend(self.media.iter().flat_map(outlook_lines));
        lines.extend(written_lines("Would be written", &preview.files));
        lines.extend(difference_lines(&preview.differences));
        if let Some(words) = preview.key_comparison(self.duplicates) {
            lines.push(ReportLine::default());
            lines.push(ReportLine::plain(words));
        }
        lines
    }

    fn to_json(&self) -> serde_json::Value {
        let mut value = serde_json::to_value(&self.preview).unwrap_or_default();
        if let Some(media) = &self.media {
            value["media"] = serde_json::to_value(media).unwrap_or_default();
        }
        value
    }

    fn is_nothing_to_do(&self) -> bool {
        self.preview.nothing_to_do
    }

    fn findings(&self) -> (&[Problem], &[(Severity, ProblemKind, u64)]) {
        (&self.preview.problems, &[])
    }
}

/// The result of a run on a folder of shards.
pub struct PrepareResult {
    /// The data set.
    pub path: String,
    /// The [differences] to an earlier preparation.
    pub differences: Vec<String>,
    /// The report of the run.
    pub report: PrepareReport,
}

impl Report for PrepareResult {
    fn lines(&self, _: bool) -> Vec<ReportLine> {
        let report = &self.report;
        if report.nothing_to_do {
            let rest = " Prepared already with this plan, and no shard has changed since. Nothing was written; edits of split.yaml stay.";
            return vec![ReportLine::success("Nothing to do.", rest)];
        }
        let rest = format!(": {} in {}.", report.amounts().join(", "), duration(report.elapsed));
        let mut lines = difference_lines(&self.differences);
        lines.push(ReportLine::success(format!("Prepared {}", display_safe(&self.path)), rest));
        lines.extend(report.media.as_ref().map(summary_line).map(ReportLine::from));
        lines.extend(split_lines(&report.splits, report.samples, report.excludes));
        lines.extend(written_lines("Written", &report.files));
        lines.extend(problem_table(&report.counts));
        lines
    }

    crate::job_report!(report);

    fn next_command(&self) -> Option<String> {
        Some(format!("gristmill info {}", shell_quote(&self.path)))
    }
}

/// Returns the changes that an update makes, one line each, determined only by names and sizes; empty for other runs.
///
/// Also empty if the data set cannot be opened, which the run itself reports after completing an interrupted publication.
pub fn differences(plan: &PreparePlan, threads: usize) -> Vec<String> {
    if plan.rerun != Rerun::Update {
        return Vec::new();
    }
    let opened = times::open(Path::new(&plan.path), threads, &Cancel::default());
    opened.map(|opened| preview(plan, &opened.facts).differences).unwrap_or_default()
}

fn difference_lines(differences: &[String]) -> Vec<ReportLine> {
    let lines = differences.iter().map(|difference| format!("  {}", display_safe(difference)));
    section("Against the earlier preparation:", lines.collect())
}

/// Formats the splits. Shares refer to all `total` samples, as in `info`, so they do not add up to 100 % if samples are in no split.
fn split_lines(splits: &[SplitSummary], total: u64, excludes: u64) -> Vec<ReportLine> {
    if splits.is_empty() {
        return Vec::new();
    }
    let columns =
        [("split", Align::Left), ("shards", Align::Right), ("samples", Align::Right), ("share", Align::Right)];
    let mut table = Table::new(&columns);
    for split in splits {
        table.row([
            display_safe(&split.name).into_owned(),
            grouped(split.shards),
            grouped(split.samples),
            share(split.samples, total),
        ]);
    }
    let note = (excludes > 0).then(|| {
        let items = count(excludes, "exclude");
        format!("{items} in force: shards among them are not counted above, single samples still are.")
    });
    let counted = splits.iter().map(|split| split.samples).sum();
    let base = total.checked_sub(counted).filter(|rest| *rest > 0 && counted > 0).map(|rest| {
        let rest = count_verb(rest, "sample", "is", "are");
        format!("Shares are of all {}; {rest} in excluded shards or in no split.", count(total, "sample"))
    });
    let lines = table.lines().into_iter().chain(note).chain(base).map(ReportLine::from);
    std::iter::once(ReportLine::default()).chain(lines).collect()
}

/// Formats the written files. If not all of them are listed, the files of the data set come before those of its shards.
fn written_lines(title: &str, files: &[OutputFile]) -> Vec<ReportLine> {
    let mut files = files.to_vec();
    if files.len() > MAX_SHOWN_FILES {
        files.sort_by_key(|file| !file.name.starts_with(layout::NV_META));
    }
    file_lines(title, &files)
}

fn share(part: u64, total: u64) -> String {
    if total == 0 {
        return "–".to_owned();
    }
    percent(part as f64 / total as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_data_set_are_listed_before_those_of_many_shards() {
        let names = (0..30).map(|n| format!("s_{n:02}.tar.idx")).chain([".nv-meta/split.yaml".to_owned()]);
        let files: Vec<_> = names.map(|name| OutputFile { name, bytes: 8, replaces: false }).collect();
        let lines = written_lines("Written", &files);
        assert!(lines[2].rest.contains("split.yaml") && lines[3].rest.contains("s_00.tar.idx"), "{lines:?}");
        assert_eq!(lines.last().unwrap().rest, "… and 11 more files (--json lists them)");
    }

    #[test]
    fn share_of_zero_items_is_a_dash() {
        assert_eq!(share(0, 0), "–");
        assert_eq!(share(1, 3), "33.3 %");
    }
}
