//! The registry of the formats of files with documents.

use super::arrow::Arrow;
use super::delimited::{CSV, TEXT, TSV};
use super::json_array::JsonArray;
use super::jsonl::Jsonl;
use super::packing::is_text;
use super::parquet::Parquet;
use super::{DocumentSource, TableFormat};
use gristmill_core::TableKind;

/// All formats of files with documents. A file that no other format accepts is JSONL.
pub static SOURCES: &[&dyn DocumentSource] = &[&Parquet, &Arrow, &CSV, &TSV, &TEXT, &JsonArray, &Jsonl];

/// Returns the format of a file, given its name and its first bytes.
///
/// `is_chosen` is whether the user named the file.
pub(crate) fn source_of(name: &str, head: &[u8], is_chosen: bool) -> &'static dyn DocumentSource {
    let mut sources = SOURCES.iter().filter(|source| is_chosen || !source.is_chosen());
    sources.find(|source| source.accepts(name, head)).copied().unwrap_or(&Jsonl)
}

/// Returns the kind of table for a file with this name; `None` if the name is not that of a table.
pub fn table_kind(name: &str) -> Option<&'static TableKind> {
    let source = SOURCES.iter().find(|source| source.is_named(name))?;
    source.table().map(TableFormat::kind)
}

/// Whether files of a kind can be rewritten with changed texts.
pub fn is_written_back(kind: &TableKind) -> bool {
    let is_of = |source: &&&dyn DocumentSource| source.table().is_some_and(|format| format.kind() == kind);
    SOURCES.iter().find(is_of).is_some_and(|source| source.rewriter().is_some())
}

/// Returns the interface that opens files of a kind.
pub fn table_format(kind: &TableKind) -> Option<&'static dyn TableFormat> {
    SOURCES.iter().filter_map(|source| source.table()).find(|format| format.kind() == kind)
}

/// Determines the kind of the tables of a folder from the names of its files.
#[derive(Clone, Copy, Debug, Default)]
pub struct FolderTables {
    /// Index in [`SOURCES`] of the first format that was found.
    first: Option<usize>,
    has_lines: bool,
}

impl FolderTables {
    /// Adds the name of a file, and returns whether it is a table.
    pub fn add(&mut self, name: &str) -> bool {
        self.has_lines |= is_text(name);
        let found = SOURCES.iter().position(|source| source.table().is_some() && source.is_named(name));
        self.first = self.first.into_iter().chain(found).min();
        found.is_some()
    }

    /// Returns the kind after which the folder is named; `None` if it has no tables, or if they describe files of lines.
    pub fn kind(self) -> Option<&'static TableKind> {
        let source = SOURCES.get(self.first?)?;
        source.table().filter(|_| !(self.has_lines && source.is_secondary())).map(TableFormat::kind)
    }
}

/// Returns the names of the kinds of tables, as the end of the sentence that a folder has no file of lines.
pub(super) fn table_names() -> String {
    let tables = SOURCES.iter().filter(|source| source.is_table() && !source.is_chosen());
    let names: Vec<&str> = tables.map(|source| source.name()).collect();
    format!(", and no file of {}", names.join(", "))
}

/// Whether a relative name is that of a table.
pub(crate) fn is_table_name(name: &str) -> bool {
    SOURCES.iter().any(|source| source.is_table() && source.is_named(name))
}
