//! The result of a run, in the form that every front end prints.

use gristmill_core::table::{Align, Table};
use gristmill_core::text::{bytes, count, display_safe, grouped};
use gristmill_core::{Failure, Problem, ProblemKind, Severity};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::any::Any;
use std::time::Duration;

pub use gristmill_core::report_line::{LineTone, ReportLine};

/// Maximum number of listed files.
pub const MAX_SHOWN_FILES: usize = 20;

/// Expands to the methods of [`Report`] that return fields of a job's report: of `self`, or of a field of it. After a semicolon: its field of
/// type [`RunFindings`].
#[macro_export]
macro_rules! job_report {
    ($($field:ident)? $(; $findings:ident)?) => {
        $crate::run_report!($($field)? $(; $findings)?);

        fn is_nothing_to_do(&self) -> bool {
            self$(.$field)?.nothing_to_do
        }
    };
}

/// Like [`job_report`], for a job that always has something to do.
#[macro_export]
macro_rules! run_report {
    ($($field:ident)? $(; $findings:ident)?) => {
        fn to_json(&self) -> serde_json::Value {
            serde_json::to_value(&self $(.$field)?).unwrap_or_default()
        }

        fn findings(
            &self,
        ) -> (&[gristmill_core::Problem], &[(gristmill_core::Severity, gristmill_core::ProblemKind, u64)]) {
            (&self$(.$field)?$(.$findings)?.problems, &self$(.$field)?$(.$findings)?.counts)
        }
    };
}

/// Like [`job_report`], for a preview, which lists all problems.
#[macro_export]
macro_rules! preview_report {
    ($($field:ident)?) => {
        fn to_json(&self) -> serde_json::Value {
            serde_json::to_value(&self $(.$field)?).unwrap_or_default()
        }

        fn is_nothing_to_do(&self) -> bool {
            self$(.$field)?.nothing_to_do
        }

        fn findings(
            &self,
        ) -> (&[gristmill_core::Problem], &[(gristmill_core::Severity, gristmill_core::ProblemKind, u64)]) {
            (&self$(.$field)?.problems, &[])
        }
    };
}

/// The result of a run, or of a preview.
pub trait Report: Any + Send + Sync {
    /// Returns the printed lines; none for a report that front ends show in their own form. `is_preview` means that the plan was not run.
    fn lines(&self, _is_preview: bool) -> Vec<ReportLine> {
        Vec::new()
    }
    /// Returns the report as the JSON value of the result.
    fn to_json(&self) -> serde_json::Value;
    /// Whether the result already existed.
    fn is_nothing_to_do(&self) -> bool {
        false
    }
    /// Returns the first problems and notes of each severity, and the counts of all.
    fn findings(&self) -> (&[Problem], &[(Severity, ProblemKind, u64)]) {
        (&[], &[])
    }
    /// Returns the failures of parts of the work that did not prevent the other parts.
    fn failures(&self) -> &[Failure] {
        &[]
    }
    /// Returns the suggested next command, quoted for a shell, if there is one.
    fn next_command(&self) -> Option<String> {
        None
    }
}

impl<R: Report> From<R> for Box<dyn Report> {
    fn from(report: R) -> Self {
        Box::new(report)
    }
}

impl dyn Report {
    /// Returns the report, if it is of this type.
    pub fn typed<R: 'static>(&self) -> Option<&R> {
        (self as &dyn Any).downcast_ref()
    }
}

/// The findings of a run, as the last fields of its report.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RunFindings {
    /// Problems and notes, the first 1,000 of each severity.
    pub problems: Vec<Problem>,
    /// Counts of all problems and notes.
    #[serde(skip)]
    pub counts: Vec<(Severity, ProblemKind, u64)>,
    /// Wall time.
    #[serde(rename = "elapsed_seconds", serialize_with = "super::as_seconds")]
    pub elapsed: Duration,
}

/// A file that a run writes or has written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFile {
    /// Path relative to the root of the data set.
    pub name: String,
    /// Size in bytes; an estimate before the run.
    pub bytes: u64,
    /// Whether an earlier version is replaced.
    pub replaces: bool,
}

/// Returns a heading with an empty line before it, followed by the lines. Empty if there are no lines.
pub fn section(heading: &str, lines: Vec<String>) -> Vec<ReportLine> {
    if lines.is_empty() {
        return Vec::new();
    }
    let head = [ReportLine::default(), ReportLine::heading(heading)];
    head.into_iter().chain(lines.into_iter().map(ReportLine::from)).collect()
}

/// Formats a table of the first files under a title, and the number of the others.
pub fn file_lines(title: &str, files: &[OutputFile]) -> Vec<ReportLine> {
    let mut table = Table::new(&[("", Align::Left), ("", Align::Right), ("", Align::Left)]);
    for file in files.iter().take(MAX_SHOWN_FILES) {
        let replaced = if file.replaces { "replaced" } else { "" };
        table.row([display_safe(&file.name).into_owned(), bytes(file.bytes), replaced.to_owned()]);
    }
    let mut lines = section(&format!("{title}:"), table.lines());
    lines.extend(unlisted_line(files.len(), MAX_SHOWN_FILES));
    lines
}

/// Returns the number of files of which only the first are listed; `None` if all are.
pub fn unlisted_line(all: usize, shown: usize) -> Option<ReportLine> {
    let left = all.checked_sub(shown).filter(|left| *left > 0)?;
    Some(format!("… and {} (--json lists them)", count(left as u64, "more file")).into())
}

/// Returns the counts of problems as a table, most severe first.
pub fn problem_table(counts: &[(Severity, ProblemKind, u64)]) -> Vec<ReportLine> {
    let mut table = Table::new(&[("", Align::Right), ("", Align::Left), ("", Align::Left)]);
    let mut sorted = counts.to_vec();
    sorted.sort_by(|a, b| b.0.cmp(&a.0).then(b.2.cmp(&a.2)));
    for (severity, kind, number) in sorted {
        let word = match severity {
            Severity::Note => "note",
            Severity::Problem => "problem",
            Severity::Refusal => "refused",
        };
        table.row([grouped(number), kind.title().to_owned(), word.to_owned()]);
    }
    section("Findings:", table.lines())
}

/// Converts counts to a JSON object of severities, each an object of kinds.
pub fn counts_value(counts: &[(Severity, ProblemKind, u64)]) -> Value {
    let mut value = json!({});
    for (severity, kind, number) in counts {
        let severity = serde_json::to_value(severity).unwrap_or(Value::Null);
        if let Some(name) = severity.as_str() {
            value[name][kind.id()] = json!(number);
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_files_are_listed_and_others_counted() {
        let files = |number: usize| {
            let file = |n| OutputFile { name: format!("f{n}"), bytes: 8, replaces: false };
            file_lines("Written", &(0..number).map(file).collect::<Vec<_>>())
        };
        // An empty line and a heading come first.
        assert_eq!((files(0).len(), files(20).len(), files(23).len()), (0, 22, 23));
        assert_eq!(files(23)[22].rest, "… and 3 more files (--json lists them)");
    }

    #[test]
    fn counts_are_grouped_by_severity() {
        let counts = [(Severity::Note, ProblemKind::UnnamedEntry, 3), (Severity::Problem, ProblemKind::EmptyShard, 1)];
        let value = counts_value(&counts);
        assert_eq!(value["note"]["unnamed-entry"], 3);
        assert_eq!(value["problem"]["empty-shard"], 1);
    }
}
