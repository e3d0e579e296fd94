//! Files with documents: finds and decompresses them, divides them into blocks of whole lines or rows, and extracts the text of each
//! document, by the rules of the program that reads the tokens (docs/formats/modalities.md §2 and §4, docs/formats/nanosets.md §3,
//! docs/formats/forager.md §2 and §3). The formats of the files are the rows of `sources`: JSON lines, tables, JSON arrays and plain text.
//!
//! A line ends only at `\n`; for readers that also end lines at `\r`, [`cr_lines`] splits lines further.

mod arrow;
mod blocks;
mod columns;
mod delimited;
mod elements;
mod extract;
mod glob;
mod jq;
mod json_array;
mod jsonl;
mod layout;
mod line_form;
mod list;
mod members;
pub(in crate::source) mod packing;
mod parquet;
mod python_json;
mod quirks;
mod rewriter;
mod rules;
mod saved;
mod set_aside;
mod share;
mod snapshot;
mod source;
mod sources;
mod splits;
mod table;
mod text;
mod unit;
mod values;
mod verdict;
mod zip;

pub(in crate::source) use list::{leave_out_others, missing_files, text_file, FileChoice, Walk, OURS};
pub(in crate::source) use packing::is_text;
pub(in crate::source) use set_aside::{is_packed_already, is_set_aside};
pub(in crate::source) use sources::is_table_name;
pub(in crate::source) use splits::missing_shards;
pub(in crate::source) use values::leave_out_values;
pub(in crate::source) use zip::member_count;

pub use blocks::{cr_lines, Block, Blocks, Damage, Line, Lines, OverlongLine, Position, MAX_LINE_BYTES};
pub use columns::{with_column, NOT_UTF8, TOO_LONG};
pub use extract::{keys_of, text_at, texts_at, value_of, Document, Extractor, ParsedLine};
pub use glob::Glob;
pub use jsonl::Jsonl;
pub use layout::{layout_of, Layout};
pub use list::{
    folder_splits, list, list_jsonl, split_choices, summarize_splits, Listing, Selection, SplitChoices, SplitSummary,
};
pub use packing::{Compression, Packing, UnpackedReader};
pub use python_json::{python_line, python_lines, NotJson};
pub use quirks::{Quirks, BYTE_ORDER_MARK};
pub use rewriter::{EditRow, FileRewriter, TextEdits};
pub use rules::{DocumentRules, InputRules};
pub(in crate::source) use saved::descriptions as saved_descriptions;
pub use set_aside::is_no_data;
pub use share::{text_share, unpacked_share};
pub use snapshot::is_file_input;
pub use snapshot::HubSnapshot;
pub use source::{BlockReader, DocumentBlock, DocumentFields, DocumentSource, FirstLines, OtherFields, Row, RowBlock};
pub use sources::{is_written_back, table_format, table_kind, FolderTables, SOURCES};
pub use splits::{
    find_splits, no_such_split, parse_split, FolderListing, MissingShards, Split, SplitFile, SplitPart, Splits,
};
pub use table::{
    table_files, tables_in_order, Table, TableColumn, TableFile, TableFindings, TableFormat, TableSummary, TableUnit,
};
pub use text::Text;
pub use unit::{plain_units, read_unit, unit_text, UnitText};
pub use verdict::{mark_hint, DocumentVerdict, EMPTY};

use gristmill_core::{Failure, FileStamp, Outcome, Subject};
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{not_pointer, open_any, ReadFile};
use std::ops::Range;
use std::path::PathBuf;

/// One file of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// Path of the file; for a link the path of the link.
    pub path: PathBuf,
    /// Path relative to the input folder, with `/` separators; for a file that is an input itself, its file name. Raw.
    pub name: String,
    /// Size in the file system (compressed), in bytes.
    pub bytes: u64,
    /// Stamp of the file when it was found.
    pub stamp: FileStamp,
    /// Compression of the file.
    pub packing: Packing,
    /// Format of the file.
    pub source: &'static dyn DocumentSource,
    /// Range of rows that are read; `None` means all.
    pub rows: Option<FileRows>,
    /// Ranges of rows that are left out because their row groups are damaged, in order.
    pub damaged: Vec<Range<u64>>,
}

/// A range of the rows, or lines, of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRows {
    /// Numbers of the rows, counted from 0.
    pub range: Range<u64>,
    /// Number of all rows in the file.
    pub all: u64,
}

impl TextFile {
    /// Returns the approximate size in the file of the rows that are read, in bytes.
    pub fn bytes_read(&self) -> u64 {
        let Some(rows) = &self.rows else { return self.bytes };
        let share =
            u128::from(self.bytes) * u128::from(rows.range.end - rows.range.start) / u128::from(rows.all.max(1));
        u64::try_from(share).unwrap_or(self.bytes)
    }
}

impl TextFile {
    /// Opens the file.
    ///
    /// # Errors
    /// The file cannot be opened, or an object in a store is another version than the one that was found, so that two versions are never
    /// mixed.
    pub fn open(&self) -> Outcome<ReadFile> {
        not_pointer(self.open_any()?)
    }

    /// Like [`open`](Self::open), but also opens a Git LFS pointer, for formats that refuse it themselves.
    pub(in crate::source) fn open_any(&self) -> Outcome<ReadFile> {
        let file = open_any(&self.path)?;
        let is_found = !is_remote(&self.path) || file.stamp().is_ok_and(|stamp| stamp == self.stamp);
        match is_found {
            true => Ok(file),
            false => Err(Failure::data("reading", "it was written to while it was read")
                .on(Subject::path(&self.path))
                .with_hint("wait until no program writes to it, then run the same command again")),
        }
    }

    /// Whether the bytes of the file are its lines, so that reading can begin at any line.
    pub fn has_plain_lines(&self) -> bool {
        self.has_plain_rows() && self.source.is_divisible(self)
    }

    /// Whether the bytes of the file are JSON texts of its documents, without compression.
    pub fn has_plain_rows(&self) -> bool {
        self.packing.is_plain() && !self.source.is_table()
    }
}

#[cfg(test)]
mod blocks_tests;
#[cfg(test)]
mod list_tests;
#[cfg(test)]
mod tests;
