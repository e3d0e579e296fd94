//! The description of a data set for every front end: facts and a table of its files. Also the nouns for the counts of a check.

use super::CheckCounts;
use gristmill_core::report_line::ReportLine;
use gristmill_core::table::Table;
use gristmill_core::Problem;
use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum number of files that a table lists.
pub(crate) const MAX_LISTED: usize = 50;

/// Nouns for the counts of a check.
#[derive(Clone, Copy, Debug, Default)]
pub struct CheckTexts {
    /// The noun for its shards, in the singular; `None` if only the path itself is checked.
    pub shards: Option<&'static str>,
    /// The noun for an item of its progress, in the singular.
    pub item: &'static str,
    /// The noun for the counted items, in the singular.
    pub counted: &'static str,
}

/// The coverage of a check, in addition to its findings.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Counts of the checked items.
    pub checked: CheckCounts,
    /// The checked items, as the end of a sentence; `None` to use the counts.
    pub covered: Option<String>,
    /// Lines that describe the data set.
    pub lines: Vec<ReportLine>,
    /// Values for the output of `--json`.
    pub result: Map<String, Value>,
}

impl CheckReport {
    /// Adds values for `--json`.
    pub(crate) fn with_result(self, result: &impl Serialize) -> Self {
        Self { result: object(result), ..self }
    }
}

impl From<CheckCounts> for CheckReport {
    fn from(checked: CheckCounts) -> Self {
        Self { checked, ..Self::default() }.with_result(&checked)
    }
}

/// A list of facts with a title.
#[derive(Clone, Debug, Default)]
pub struct InfoList {
    /// The title, in lower case.
    pub title: String,
    /// Names and values of the facts.
    pub rows: Vec<(String, String)>,
    /// Number of rows that are not listed.
    pub unlisted: u64,
    /// Whether the list is only shown in scrollable views.
    pub is_long: bool,
}

impl InfoList {
    pub(crate) fn new(title: impl Into<String>, rows: Vec<(String, String)>) -> Self {
        Self { title: title.into(), rows, ..Self::default() }
    }
}

/// The description of a data set.
#[derive(Debug, Default)]
pub struct DatasetInfo {
    /// Names and values, in the order of display.
    pub facts: Vec<(&'static str, String)>,
    /// Lists of facts with titles.
    pub lists: Vec<InfoList>,
    /// Lines of a tree.
    pub tree: Vec<ReportLine>,
    /// The files, at most [`MAX_LISTED`] of them.
    pub table: Table,
    /// Number of files.
    pub files: u64,
    /// Number of documents, samples or rows.
    pub items: u64,
    /// Size of the files in bytes.
    pub bytes: u64,
    /// Problems of the files.
    pub problems: Vec<Problem>,
    /// The same facts for `--json`.
    pub result: Map<String, Value>,
}

impl DatasetInfo {
    /// Creates a description with the facts for `--json`.
    pub(crate) fn of(result: impl Serialize) -> Self {
        Self { result: object(&result), ..Self::default() }
    }

    /// Adds a fact to the description.
    pub(crate) fn add(&mut self, name: &'static str, value: impl Into<String>) {
        self.facts.push((name, value.into()));
    }

    /// Returns the number of rows that the table does not list.
    pub fn unlisted(&self) -> u64 {
        self.files.saturating_sub(MAX_LISTED as u64)
    }
}

fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
