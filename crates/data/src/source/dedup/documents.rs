//! Sequential reading of the documents of one file of any format.

use super::document_range::DocumentRange;
use super::line_documents::LineDocuments;
use super::long::Spool;
use super::record::Record;
use super::row_documents::RowDocuments;
use super::MAX_BUFFERED_LINE_BYTES;
use crate::source::documents::{Damage, Position, TextFile};
use gristmill_core::{Cancel, Outcome};

/// Reads the lines or rows of one file in order. A row counts as a line.
pub enum Documents {
    /// Reader of a file of lines.
    Lines(Box<LineDocuments>),
    /// Reader of a table.
    Rows(Box<RowDocuments>),
}

impl Documents {
    /// Opens a file at a position between two lines; a compressed file is decompressed from its beginning in any case. `spool` stores lines
    /// of compressed files that are too long for memory.
    ///
    /// A file that changed since it was listed is refused.
    pub fn open(
        file: &TextFile,
        text_key: &str,
        range: impl Into<DocumentRange>,
        spool: Box<dyn Spool>,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        Self::open_holding(file, text_key, range, spool, MAX_BUFFERED_LINE_BYTES, cancel)
    }

    /// Like [`open`](Self::open), with another maximum size of lines in memory, `held_line`. The result for a line is the same, except for
    /// limits that apply only to lines beyond this size.
    pub fn open_holding(
        file: &TextFile,
        text_key: &str,
        range: impl Into<DocumentRange>,
        spool: Box<dyn Spool>,
        held_line: usize,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let range = range.into();
        Ok(match file.source.is_table() {
            true => Self::Rows(Box::new(RowDocuments::open(file, text_key, range.from, cancel)?)),
            false => {
                Self::Lines(Box::new(LineDocuments::open_holding(file, text_key, range, spool, held_line, cancel)?))
            }
        })
    }

    /// Returns the next line; `None` at the end of the text, or of its readable part.
    ///
    /// At the end the file is compared with its state when it was listed; a file that has changed is an error.
    #[expect(clippy::should_implement_trait, reason = "what it hands out borrows from it")]
    pub fn next(&mut self) -> Outcome<Option<Record<'_>>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Rows(rows) => rows.next(),
        }
    }

    /// Returns the next line, which an earlier pass found to be in memory and to have this number of bytes; `None` if it does not, or for a
    /// table.
    pub fn next_known(&mut self, bytes: usize) -> Outcome<Option<&[u8]>> {
        match self {
            Self::Lines(lines) => lines.next_known(bytes),
            Self::Rows(_) => Ok(None),
        }
    }

    /// Returns the position of the next line.
    pub fn position(&self) -> Position {
        match self {
            Self::Lines(lines) => lines.position(),
            Self::Rows(rows) => rows.position(),
        }
    }

    /// Returns the number of bytes of the file read so far, for progress.
    pub fn consumed(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.consumed(),
            Self::Rows(rows) => rows.consumed(),
        }
    }

    /// Returns where and why the text ended prematurely; valid after the last line. All lines before the damage were returned, except a
    /// truncated line at the end. Damage of a table is a failure instead.
    pub fn damage(&self) -> Option<&Damage> {
        match self {
            Self::Lines(lines) => lines.damage(),
            Self::Rows(_) => None,
        }
    }
}
