//! The printed reports of `prepare` for data without questions: JSONL files and metadatasets.

use crate::job::jsonl::{clean_path, JsonlReport};
use crate::job::metadataset::{JoinReport, MetadatasetReport};
use crate::job::report::OutputFile;
use crate::job::report::{problem_table, Report, ReportLine};
use gristmill_core::text::shell_quote;
use gristmill_core::text::{agree, bytes, count, display_safe, duration};
use std::path::Path;

/// The result of a run, or of its preview, for a JSONL file.
pub struct JsonlResult {
    /// The path of the JSONL file.
    pub path: String,
    /// The report of the run.
    pub report: JsonlReport,
}

impl JsonlResult {
    /// Returns the path of the indexed file, which is a copy if lines were left out.
    fn indexed(&self) -> String {
        match self.report.lines_left_out {
            0 => self.path.clone(),
            _ => clean_path(Path::new(&self.path)).to_string_lossy().into_owned(),
        }
    }
}

impl Report for JsonlResult {
    fn lines(&self, is_preview: bool) -> Vec<ReportLine> {
        let (indexed, report) = (self.indexed(), &self.report);
        let path = display_safe(&indexed);
        let (samples, size) = (count(report.samples, "sample"), bytes(report.bytes));
        if report.nothing_to_do {
            let rest = format!(" The index of {path} is up to date: {samples}, {size}. Nothing was written.");
            return vec![ReportLine::success("Nothing to do.", rest)];
        }
        let file = report.files.iter().map(size_of).collect::<Vec<_>>().join(", ");
        if is_preview {
            let head = format!("Would index {path}: {samples}, {size}. Nothing was written.");
            return vec![head.into(), format!("Would be written: {file}").into()];
        }
        let rest = format!(": {samples}, {size} in {}.", duration(report.findings.elapsed));
        let mut lines = vec![ReportLine::success(format!("Indexed {path}"), rest), format!("Written: {file}").into()];
        if report.lines_left_out > 0 {
            let verb = agree(report.lines_left_out, "is", "are");
            let left_out = count(report.lines_left_out, "bad line");
            let source = display_safe(&self.path);
            lines.push(format!("{left_out} of {source} {verb} left out; the file stays as it is.").into());
        }
        lines.extend(problem_table(&report.findings.counts));
        lines
    }

    crate::job_report!(report; findings);

    fn next_command(&self) -> Option<String> {
        Some(format!("gristmill info {}", shell_quote(&self.indexed())))
    }
}

/// The result of a run, or of its preview, for a metadataset.
pub struct MetadatasetResult {
    /// The path of the metadataset.
    pub path: String,
    /// The report of the run.
    pub report: MetadatasetReport,
}

impl Report for MetadatasetResult {
    fn lines(&self, is_preview: bool) -> Vec<ReportLine> {
        let (path, report) = (display_safe(&self.path), &self.report);
        let nothing = |rest: String| ReportLine::success("Nothing to do.", rest);
        let mut lines: Vec<ReportLine> = report.joins.iter().map(|join| join_line(join).into()).collect();
        lines.push(if report.joins.is_empty() {
            nothing(format!(" {path} has {} and no join. All its members were opened.", count(report.splits, "split")))
        } else if report.nothing_to_do {
            nothing(format!(" The join indexes of {path} are up to date. Nothing was written."))
        } else if is_preview {
            ReportLine::plain("Nothing was written.")
        } else {
            let rest =
                format!(": {} in {}.", count(report.joins.len() as u64, "join"), duration(report.findings.elapsed));
            ReportLine::success(format!("Prepared {path}"), rest)
        });
        let verb = if is_preview { "Would be written" } else { "Written" };
        lines.extend(report.files.iter().map(|file| format!("{verb}: {}", size_of(file)).into()));
        let removed = report.removed.iter().map(|name| display_safe(name));
        lines.extend(removed.map(|name| format!("Removed: {name}, which no join uses").into()));
        lines.extend(problem_table(&report.findings.counts));
        lines
    }

    crate::job_report!(report; findings);

    fn next_command(&self) -> Option<String> {
        Some(format!("gristmill mix check {}", shell_quote(&self.path)))
    }
}

fn size_of(file: &OutputFile) -> String {
    let how = if file.replaces { ", replacing an older one" } else { "" };
    format!("{} ({}{how})", display_safe(&file.name), bytes(file.bytes))
}

fn join_line(join: &JoinReport) -> String {
    let split = display_safe(&join.split);
    let mut line = format!("{split}: {} joined of {}", count(join.rows, "sample"), count(join.samples, "sample"));
    if join.skipped > 0 {
        line.push_str(&format!(", {} left out", count(join.skipped, "sample")));
    }
    for (member, rows) in &join.filled {
        line.push_str(&format!(", {} without {}", count(*rows, "sample"), display_safe(member)));
    }
    line
}
