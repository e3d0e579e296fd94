//! Sequential reading of the rows of one table.

use super::record::{Body, Kind, Record, SkippedLine};
use crate::source::documents::{
    BlockReader, DocumentBlock, DocumentFields, OtherFields, Position, Row, Text, TextFile,
};
use gristmill_core::pack::TextField;
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_pycompat::json_fields::Fields;
use gristmill_storage::read::stamp_at;

/// Size of the texts in a block, in bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// Returns the fields that dedup reads from tables, which is only the text.
pub fn text_field(text_key: &str) -> DocumentFields {
    DocumentFields { text: TextField::Key(text_key.to_owned()), others: OtherFields::None }
}

/// Reads the rows of one table in order. The offset of a row is the size of the texts before it, with a separator after each.
pub struct RowDocuments {
    reader: Box<dyn BlockReader>,
    file: TextFile,
    /// Memory of a block, which the next block reuses.
    spare: Vec<u8>,
    /// Texts of the rows of a block, concatenated.
    texts: String,
    rows: Vec<BufferedRow>,
    /// Index of the next row in `rows`.
    next: usize,
    at: Position,
    /// The fields of a row, which has none.
    fields: Fields,
}

/// A row of the current block.
#[derive(Clone, Copy)]
struct BufferedRow {
    number: u64,
    group: u64,
    kind: Kind,
    /// Offset of its text in `texts`.
    from: usize,
    to: usize,
}

impl RowDocuments {
    /// Opens a file at a row. A file that changed since it was listed is refused.
    pub(super) fn open(file: &TextFile, text_key: &str, from: Position, cancel: &Cancel) -> Outcome<Self> {
        let row = Position { offset: 0, line: from.line };
        let reader = file.source.open(file, &text_field(text_key), row, BLOCK_BYTES, cancel)?;
        let documents = Self {
            reader,
            file: file.clone(),
            spare: Vec::new(),
            texts: String::new(),
            rows: Vec::new(),
            next: 0,
            at: from,
            fields: Fields::new(text_key),
        };
        documents.check_unchanged()?;
        Ok(documents)
    }

    /// Returns the next row; `None` after the last one.
    pub fn next(&mut self) -> Outcome<Option<Record<'_>>> {
        while self.next >= self.rows.len() {
            if !self.read_block()? {
                self.check_unchanged()?;
                return Ok(None);
            }
        }
        let Some(row) = self.rows.get(self.next).copied() else { return Ok(None) };
        self.next += 1;
        let text = self.texts.get(row.from..row.to).unwrap_or_default();
        let start = self.at.offset;
        self.at = Position { offset: offset_after(start, row.kind, text.len()), line: row.number + 1 };
        Ok(Some(row_record((row.number, row.group), start, row.kind, text, &self.fields)))
    }

    /// Reads the next block; returns false at the end.
    fn read_block(&mut self) -> Outcome<bool> {
        let Some(block) = self.reader.next(std::mem::take(&mut self.spare))? else { return Ok(false) };
        self.texts.clear();
        self.texts.shrink_to(8 * BLOCK_BYTES);
        self.rows.clear();
        self.next = 0;
        let (texts, rows) = (&mut self.texts, &mut self.rows);
        if let DocumentBlock::Rows(block) = &block {
            block.decode(&mut |several: &[Row<'_>]| {
                for row in several {
                    let (kind, text) = row_kind(row);
                    let from = texts.len();
                    texts.push_str(text);
                    rows.push(BufferedRow { number: row.number, group: row.group, kind, from, to: texts.len() });
                }
                Ok(())
            })?;
        }
        self.spare = block.into_memory();
        Ok(true)
    }

    /// Returns the position of the next row.
    pub fn position(&self) -> Position {
        self.at
    }

    /// Returns the number of bytes of the file read so far, for progress.
    pub fn consumed(&self) -> u64 {
        self.reader.consumed()
    }

    fn check_unchanged(&self) -> Outcome<()> {
        match stamp_at(&self.file.path)? == self.file.stamp {
            true => Ok(()),
            false => Err(Failure::data("reading the text", "the file changed since it was listed")
                .on(Subject::path(&self.file.path))
                .with_hint("run again when no program writes to it")),
        }
    }
}

/// Returns the kind of a row and its text.
pub fn row_kind<'a>(row: &Row<'a>) -> (Kind, &'a str) {
    match row.text {
        Some(Text::Is(text)) => (Kind::Document, text),
        Some(Text::Null | Text::Missing) => (Kind::Null, ""),
        Some(Text::Unreadable(why)) => (Kind::Passed(SkippedLine::NoText(why)), ""),
        _ => (Kind::Passed(SkippedLine::NoText("it has no text")), ""),
    }
}

/// Returns the record of a row, given the numbers of the row and of its row group. `fields` must be empty.
pub fn row_record<'a>(
    (number, group): (u64, u64),
    start: u64,
    kind: Kind,
    text: &'a str,
    fields: &'a Fields,
) -> Record<'a> {
    let bytes = text.len() as u64;
    Record { line: number, start, bytes, kind, body: Body::Buffered(b""), text, group: Some(group), fields }
}

/// Returns the offset of the next row.
pub fn offset_after(start: u64, kind: Kind, text_bytes: usize) -> u64 {
    start + text_bytes as u64 + u64::from(kind == Kind::Document)
}
