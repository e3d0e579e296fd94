//! The description of a data set: facts and a table of its files, for every front end; and the words for what a check counts.

use gristmill_core::table::Table;
use gristmill_core::Problem;
use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum number of files that a table lists.
pub(crate) const MAX_LISTED: usize = 50;

/// The words for what a check counts.
#[derive(Clone, Copy, Debug)]
pub struct CheckTexts {
    /// The word for its shards, in the singular; `None` if the path itself is the only thing checked.
    pub shards: Option<&'static str>,
    /// The word for an item of its progress, in the singular.
    pub item: &'static str,
}

/// The description of a data set.
#[derive(Debug, Default)]
pub struct DatasetInfo {
    /// Names and values, in the order of display.
    pub facts: Vec<(&'static str, String)>,
    /// The files, at most [`MAX_LISTED`].
    pub table: Table,
    /// Number of files.
    pub files: u64,
    /// Number of documents, samples or rows.
    pub items: u64,
    /// Size of the files in bytes.
    pub bytes: u64,
    /// What is wrong with them.
    pub problems: Vec<Problem>,
    /// The same facts for `--json`.
    pub result: Map<String, Value>,
}

impl DatasetInfo {
    /// Creates a description with the facts for `--json`.
    pub(crate) fn of(result: impl Serialize) -> Self {
        let result = match serde_json::to_value(result) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        };
        Self { result, ..Self::default() }
    }

    /// Adds a fact.
    pub(crate) fn add(&mut self, name: &'static str, value: impl Into<String>) {
        self.facts.push((name, value.into()));
    }

    /// Returns the number of files that the table does not list.
    pub fn unlisted(&self) -> u64 {
        self.files.saturating_sub(MAX_LISTED as u64)
    }
}
