//! The table of the kinds of files that hold documents.

use super::arrow::Arrow;
use super::json_array::JsonArray;
use super::jsonl::Jsonl;
use super::parquet::Parquet;
use super::{DocumentSource, TableFormat};
use gristmill_core::TableKind;

/// All kinds of files with documents. A file that none of the others accepts is JSONL.
pub static SOURCES: &[&dyn DocumentSource] = &[&Parquet, &Arrow, &JsonArray, &Jsonl];

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

/// Returns the kinds of tables as the end of the sentence that a folder has no file of lines.
pub(super) fn table_names() -> String {
    let tables = SOURCES.iter().filter(|source| source.is_table());
    tables.map(|source| format!(", and no file of {}", source.name())).collect()
}

/// Whether a relative name is that of a file with rows.
pub(crate) fn is_table_name(name: &str) -> bool {
    SOURCES.iter().any(|source| source.is_table() && source.is_named(name))
}
