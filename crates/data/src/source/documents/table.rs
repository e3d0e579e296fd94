//! Files whose documents are rows of a table, as data sets of their own: their size, columns, rows and damage.

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

/// A kind of files with tables.
pub trait TableFormat: Sync {
    /// Returns the kind of data set that such a file is.
    fn kind(&self) -> &'static TableKind;

    /// Opens a file; reads only what describes its contents.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or is not what its name says.
    fn open(&self, path: &Path) -> Outcome<Box<dyn Table>>;
}

/// An open file with a table.
pub trait Table: Debug + Send + Sync {
    /// Returns the number of rows.
    fn rows(&self) -> u64;

    /// Returns the mean size of a row in bytes, as the file states it.
    fn row_bytes(&self) -> u64;

    /// Returns the rows of the group that a row is in.
    fn group_of(&self, row: u64) -> Range<u64>;

    /// Returns what the file states of its contents.
    fn summary(&self) -> TableSummary;

    /// Returns what of the file is not read because it was not written completely.
    fn loss(&self) -> Option<Problem> {
        None
    }

    /// Returns the rows without an object of JSON, of a file that states nothing of its rows: all of it is read.
    fn row_problems(&self, _cancel: &Cancel) -> Outcome<Vec<Problem>> {
        Ok(Vec::new())
    }

    /// Appends one object of JSON and a newline for each row of a range, until these have `most_bytes` or a little more: at least one row, if
    /// there is one. Returns their number. If it fails, nothing is appended.
    fn json_rows(&self, rows: Range<u64>, most_bytes: usize, out: &mut Vec<u8>) -> Outcome<u64>;

    /// Returns the parts that can be checked independently.
    fn check_units(&self) -> Vec<TableUnit>;

    /// Checks a part: its structure and its texts; with `is_deep`, that all rows can be decoded as well.
    ///
    /// # Errors
    /// The file cannot be read, or the work is cancelled. Damage is among the findings.
    fn check(&self, unit: &TableUnit, is_deep: bool, cancel: &Cancel) -> Outcome<TableFindings>;
}

/// What a file states of its contents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TableSummary {
    /// Number of rows.
    pub rows: u64,
    /// Number of groups of rows that are stored together.
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
    /// Its name; raw.
    pub name: String,
    /// Its type; raw.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Bytes in the file, where the file states them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Bytes after decompression, where the file states them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unpacked_bytes: Option<u64>,
}

/// A group of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableUnit {
    /// Number of the group.
    pub row_group: usize,
    /// Bytes in the file.
    pub bytes: u64,
}

/// What a check of a part found.
#[derive(Clone, Debug, Default)]
pub struct TableFindings {
    /// Rows that were checked.
    pub rows: u64,
    /// Pieces of the file that were read.
    pub pages: u64,
    /// Pieces without a checksum.
    pub without_checksum: u64,
    /// Damage, and texts that cannot be read.
    pub problems: Vec<Problem>,
}

/// A file with a table that was found.
pub struct TableFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Path relative to the folder, or the bare name of a single file; raw.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// What opens it.
    pub format: &'static dyn TableFormat,
}

fn format_of(name: &str) -> Option<&'static dyn TableFormat> {
    table_kind(name).and_then(table_format)
}

/// Returns a file, or the files below a folder by their names, in the order of their relative paths.
///
/// # Errors
/// The folder cannot be read, or nothing opens such a file.
pub fn table_files(path: &Path) -> Outcome<Vec<TableFile>> {
    table_listing(path).map(|(files, _)| files)
}

/// Does the same, but in the order of a saved data set; returns also what is missing or left out by its name.
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
            // The commands that read everything report what cannot be read.
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
