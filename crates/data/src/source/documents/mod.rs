//! Text files of one JSON document per line: finds and unpacks them, cuts them into blocks of whole lines, and extracts the text of each
//! line, by the rules of the program that the tokens are for (docs/formats/modalities.md §2 and §4, docs/formats/nanosets.md §3,
//! docs/formats/forager.md §2 and §3).
//!
//! A line ends only at `\n`; where a reader also ends lines at `\r`, [`cr_lines`] cuts them further.

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
mod unit;
mod values;
mod verdict;
mod zip;

pub(in crate::source) use list::{
    is_packed_already, leave_out_others, missing_files, text_file, FileChoice, Walk, OURS,
};
pub(in crate::source) use packing::is_text;
pub(in crate::source) use set_aside::is_set_aside;
pub(in crate::source) use sources::is_table_name;
pub(in crate::source) use splits::missing_shards;
pub(in crate::source) use values::leave_out_values;
pub(in crate::source) use zip::member_count;

pub use blocks::{cr_lines, Block, Blocks, Damage, Line, Lines, OverlongLine, Position, MAX_LINE_BYTES};
pub use columns::{NOT_UTF8, TOO_LONG};
pub use extract::{keys_of, text_at, texts_at, value_of, Document, Extractor, ParsedLine, Text};
pub use glob::Glob;
pub use jsonl::Jsonl;
pub use layout::{layout_of, Layout};
pub use list::{
    folder_splits, list, list_jsonl, split_choices, summarize_splits, Listing, Selection, SplitChoices, SplitSummary,
};
pub use packing::Packing;
pub use packing::UnpackedReader;
pub use python_json::{python_line, python_lines, NotJson};
pub use rewriter::{EditRow, FileRewriter, TextEdits};
pub use rules::{DocumentRules, InputRules};
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
pub use unit::{plain_units, read_unit, unit_text, UnitText};
pub use verdict::{mark_hint, DocumentVerdict, Quirks, BYTE_ORDER_MARK, EMPTY};

use gristmill_core::{Failure, FileStamp, Outcome, Subject};
use gristmill_storage::location::is_remote;
use gristmill_storage::read::{open_read, ReadFile};
use std::ops::Range;
use std::path::PathBuf;

/// One file of documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFile {
    /// Path of the file; a link keeps its own path.
    pub path: PathBuf,
    /// Path relative to the input folder, with `/` separators; for a file that is itself an input, its bare name. Raw.
    pub name: String,
    /// Size on disk (packed), in bytes.
    pub bytes: u64,
    /// Size, time and inode at discovery.
    pub stamp: FileStamp,
    /// Packing of the file.
    pub packing: Packing,
    /// Kind of the file.
    pub source: &'static dyn DocumentSource,
    /// The rows that are read; `None` means all.
    pub rows: Option<FileRows>,
    /// Rows that are left out because they are damaged: groups of rows, in order.
    pub damaged: Vec<Range<u64>>,
}

/// Some of the rows, or lines, of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRows {
    /// Their numbers, counted from 0.
    pub range: Range<u64>,
    /// Number of all rows of the file.
    pub all: u64,
}

impl TextFile {
    /// Returns the approximate bytes on disk of the rows that are read.
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
    /// It cannot be opened. An object is not the version that was found: its bytes are never those of two versions.
    pub fn open(&self) -> Outcome<ReadFile> {
        let file = open_read(&self.path)?;
        let is_found = !is_remote(&self.path) || file.stamp().is_ok_and(|stamp| stamp == self.stamp);
        match is_found {
            true => Ok(file),
            false => Err(Failure::data("reading", "it was written to while it was read")
                .on(Subject::path(&self.path))
                .with_hint("wait until no program writes to it, then run the same command again")),
        }
    }

    /// Whether its lines are in the file as they are, so that reading can begin at any of them.
    pub fn has_plain_lines(&self) -> bool {
        self.has_plain_rows() && self.source.is_divisible(self)
    }

    /// Whether its documents are texts of JSON that are in the file as they are.
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
