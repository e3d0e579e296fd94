//! Tables as data sets: their size, columns, rows and damage.

use super::sources::{table_format, table_kind};
use super::splits::missing_shards;
use super::{is_text, missing_files, saved};
use gristmill_core::text::{count_verb, display_safe};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, Subject, TableKind};
use gristmill_storage::files;
use gristmill_storage::walk::walk;
use serde::Serialize;
use std::fmt::Debug;
use std::ops::Range;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "looking for tables";

/// A format of files with tables.
pub trait TableFormat: Sync {
    /// Returns the kind of data set for such a file.
    fn kind(&self) -> &'static TableKind;

    /// Opens a file; reads only its description, such as a footer.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or its content does not match its name.
    fn open(&self, path: &Path) -> Outcome<Box<dyn Table>>;
}

/// An open file with a table.
pub trait Table: Debug + Send + Sync {
    /// Returns the number of rows.
    fn rows(&self) -> u64;

    /// Returns the average size of a row in bytes, as the file states it.
    fn row_bytes(&self) -> u64;

    /// Returns the rows of the row group that contains a row.
    fn group_of(&self, row: u64) -> Range<u64>;

    /// Returns the facts that the file states about its content.
    fn summary(&self) -> TableSummary;

    /// Returns the problem of a file that was not written completely, so that a part of it is not read.
    fn loss(&self) -> Option<Problem> {
        None
    }

    /// Returns the problems of rows that cannot be represented as a JSON object. Reads the whole file; only for formats without an index of
    /// rows.
    fn row_problems(&self, _cancel: &Cancel) -> Outcome<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// Appends the rows of a range as JSON objects, each with a newline, until `most_bytes` are reached or slightly exceeded; appends at
    /// least one row, if there is one. Returns the number of rows. Appends nothing if it fails.
    fn json_rows(&self, rows: Range<u64>, most_bytes: usize, out: &mut Vec<u8>) -> Outcome<u64>;

    /// Returns the units that can be checked independently.
    fn check_units(&self) -> Vec<TableUnit>;

    /// Checks the structure and the texts of a unit; with `is_deep` also that all rows can be decoded.
    ///
    /// # Errors
    /// The file cannot be read, or the work is cancelled. Damage is among the findings.
    fn check(&self, unit: &TableUnit, is_deep: bool, cancel: &Cancel) -> Outcome<TableFindings>;
}

/// Facts that a file states about its content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TableSummary {
    /// Number of rows.
    pub rows: u64,
    /// Number of row groups.
    pub row_groups: u64,
    /// Names of the codecs.
    pub codecs: Vec<String>,
    /// Program that wrote the file; raw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writer: Option<String>,
    /// Columns at the top level.
    pub columns: Vec<TableColumn>,
}

/// A column at the top level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableColumn {
    /// Name of the column; raw.
    pub name: String,
    /// Type of the column; raw.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Size in the file in bytes, if the file states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Size after decompression in bytes, if the file states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpacked_bytes: Option<u64>,
}

/// A row group as a unit of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableUnit {
    /// Number of the row group.
    pub row_group: usize,
    /// Size in the file, in bytes.
    pub bytes: u64,
}

/// Result of checking a unit.
#[derive(Clone, Debug, Default)]
pub struct TableFindings {
    /// Rows that were checked.
    pub rows: u64,
    /// Number of pages, or similar pieces of the file, that were read.
    pub pages: u64,
    /// Number of pieces without a checksum.
    pub without_checksum: u64,
    /// Problems: damage, and texts that cannot be read.
    pub problems: Vec<Problem>,
}

/// Returns the failure for a row that cannot be represented as a JSON object.
pub(super) fn row_not_shown(path: &Path, row: u64, why: &str) -> Failure {
    Failure::data("reading the rows", format!("row {row} cannot be shown: {why}")).on(Subject::path(path))
}

/// A file with a table in a listing.
pub struct TableFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Path relative to the folder, or the bare name of a single file; raw.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Interface that opens the file.
    pub format: &'static dyn TableFormat,
}

fn format_of(name: &str) -> Option<&'static dyn TableFormat> {
    table_kind(name).and_then(table_format)
}

/// Returns a file, or the tables below a folder in the order of their relative paths.
///
/// # Errors
/// The folder cannot be read, or the file has no known format of tables.
pub fn table_files(path: &Path) -> Outcome<Vec<TableFile>> {
    table_listing(path).map(|(files, _)| files)
}

/// Like [`table_files`], but in the order of a saved data set; also returns problems of missing files and of files that are left out by
/// name.
///
/// # Errors
/// Also: a description of a saved data set is damaged, or it names a file that does not exist.
pub fn tables_in_order(path: &Path) -> Outcome<(Vec<TableFile>, Vec<Problem>)> {
    let saved = if files::is_dir(path) { saved::splits(path)? } else { None };
    let Some(saved) = saved else { return table_listing(path) };
    let file = |file: PathBuf| {
        let (path, name) = (path.join(&file), file.to_string_lossy().into_owned());
        let format = format_of(&name)?;
        let bytes = files::metadata(&path).map_or(0, |facts| facts.len());
        Some(TableFile { path, name, bytes, format })
    };
    Ok((saved.into_iter().flat_map(|split| split.files).filter_map(file).collect(), Vec::new()))
}

fn table_listing(path: &Path) -> Outcome<(Vec<TableFile>, Vec<Problem>)> {
    let facts = files::metadata(path).map_err(|error| Failure::io(ACTIVITY, path, &error))?;
    if !facts.is_dir() {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let Some(format) = format_of(&name) else {
            return Err(Failure::usage(ACTIVITY, "it is not a file with a table").on(Subject::path(path)));
        };
        return Ok((vec![TableFile { path: path.to_owned(), name, bytes: facts.len(), format }], Vec::new()));
    }
    let (mut files, mut lines) = (Vec::new(), Vec::new());
    for entry in walk(path, usize::MAX) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if error.path() == Some(path) => return Err(error.failure(ACTIVITY, path)),
            // Unreadable entries are reported by the commands that read all files.
            Err(_) => continue,
        };
        let Ok(relative) = entry.path().strip_prefix(path) else { continue };
        let name = relative.to_string_lossy().into_owned();
        if let Some(format) = format_of(&name).filter(|_| entry.kind().is_file()) {
            let bytes = entry.metadata().map_or(0, |facts| facts.len());
            files.push(TableFile { path: entry.path().to_owned(), name, bytes, format });
        } else if is_text(&name) && entry.kind().is_file() {
            lines.push(name);
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let mut problems = missing_files(path, "", missing_shards(files.iter().map(|file| file.name.as_str())));
    if let Some(first) = lines.iter().min() {
        let (lines, first) = (count_verb(lines.len() as u64, "file", "is", "are"), display_safe(first));
        let message = format!("{lines} left out, with lines of JSON in place of rows, the first is {first}");
        let note = Problem::note(ProblemKind::FileLeftOut, Subject::path(path), message);
        problems.push(note.with_hint("name such a file to open it"));
    }
    Ok((files, problems))
}
