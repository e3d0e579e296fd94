//! The table of the kinds of files that hold documents.

use super::arrow::Arrow;
use super::delimited::{CSV, TEXT, TSV};
use super::json_array::JsonArray;
use super::jsonl::Jsonl;
use super::packing::is_text;
use super::parquet::Parquet;
use super::{DocumentSource, TableFormat};
use gristmill_core::TableKind;

/// All kinds of files with documents. A file that none of the others accepts is JSONL.
pub static SOURCES: &[&dyn DocumentSource] = &[&Parquet, &Arrow, &CSV, &TSV, &TEXT, &JsonArray, &Jsonl];

/// Returns the kind of a file by its name and its first bytes.
///
/// `is_chosen` says whether the user has named the file.
pub(crate) fn source_of(name: &str, head: &[u8], is_chosen: bool) -> &'static dyn DocumentSource {
    let mut sources = SOURCES.iter().filter(|source| is_chosen || !source.is_chosen());
    sources.find(|source| source.accepts(name, head)).copied().unwrap_or(&Jsonl)
}

/// Returns the kind of table that a file with this name is; `None` if it is another file.
pub fn table_kind(name: &str) -> Option<&'static TableKind> {
    let source = SOURCES.iter().find(|source| source.is_named(name))?;
    source.table().map(TableFormat::kind)
}

/// Whether files of a kind can be written again with other texts.
pub fn is_written_back(kind: &TableKind) -> bool {
    let is_of = |source: &&&dyn DocumentSource| source.table().is_some_and(|format| format.kind() == kind);
    SOURCES.iter().find(is_of).is_some_and(|source| source.rewriter().is_some())
}

/// Returns what opens files of a kind.
pub fn table_format(kind: &TableKind) -> Option<&'static dyn TableFormat> {
    SOURCES.iter().filter_map(|source| source.table()).find(|format| format.kind() == kind)
}

/// The kind of the tables of a folder, by the names of its files.
#[derive(Clone, Copy, Debug, Default)]
pub struct FolderTables {
    /// The first of the kinds in the order of [`SOURCES`].
    first: Option<usize>,
    has_lines: bool,
}

impl FolderTables {
    /// Adds the name of a file; whether it is a table.
    pub fn add(&mut self, name: &str) -> bool {
        self.has_lines |= is_text(name);
        let found = SOURCES.iter().position(|source| source.table().is_some() && source.is_named(name));
        self.first = self.first.into_iter().chain(found).min();
        found.is_some()
    }

    /// Returns the kind that the folder is named by; `None` if it has no tables, or these describe lines.
    pub fn kind(self) -> Option<&'static TableKind> {
        let source = SOURCES.get(self.first?)?;
        source.table().filter(|_| !(self.has_lines && source.is_secondary())).map(TableFormat::kind)
    }
}

/// Returns the kinds of tables as the end of the sentence that a folder has no file of lines.
pub(super) fn table_names() -> String {
    let tables = SOURCES.iter().filter(|source| source.is_table() && !source.is_chosen());
    let names: Vec<&str> = tables.map(|source| source.name()).collect();
    format!(", and no file of {}", names.join(", "))
}

/// Whether a relative name is that of a file with rows.
pub(crate) fn is_table_name(name: &str) -> bool {
    SOURCES.iter().any(|source| source.is_table() && source.is_named(name))
}
