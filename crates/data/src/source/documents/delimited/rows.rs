//! Blocks of rows: stored as bytes, and decoded to cells by the threads that use the block.

use super::cells::Cells;
use super::columns::Columns;
use crate::source::documents::columns::{with_column, Columns as Wanted, NOT_UTF8, ROWS_PER_BATCH};
use crate::source::documents::jsonl::LineReader;
use crate::source::documents::source::{BlockReader, DocumentBlock, Row, RowBlock};
use crate::source::documents::{Block, Position, Text};
use gristmill_core::{Failure, Outcome, Problem};
use std::ops::Range;
use std::sync::Arc;

/// Size in bytes of the rows that are passed to the caller together.
const BYTES_PER_BATCH: usize = 4 << 20;
/// Memory for cells is released if it is larger than this, in bytes.
const MAX_KEPT_BYTES: usize = 8 << 20;
/// Message for a row that is too long; it is left out.
const TOO_LONG: &str = "the row is longer than 64 MiB";
const TOO_MANY_CELLS: &str = "the row has more cells than the header has names";
const TOO_FEW_CELLS: &str = "the row has fewer cells than the header has names";

/// Fields that are read from rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowFields {
    /// The text in the column with this index.
    Text(usize),
    /// Columns as a JSON object: the index of each, and its name as JSON.
    Json(Vec<(usize, String)>),
    /// All columns as a JSON object whose values are the cells as texts.
    Verbatim(Vec<(usize, String)>),
}

impl RowFields {
    /// Returns the fields to read from rows with these columns; `None` if the column does not exist.
    pub(super) fn of(wanted: Wanted, columns: &Columns) -> Option<Self> {
        let json = |name: &String| Some((columns.find(name)?, as_json(name)));
        Some(match wanted {
            Wanted::Text(key) => Self::Text(columns.find(&key)?),
            Wanted::Json { key: Some(key), .. } if columns.find(&key).is_none() => return None,
            Wanted::Json { names: Some(names), .. } => Self::Json(names.iter().filter_map(json).collect()),
            Wanted::Json { names: None, .. } => Self::all(columns),
        })
    }

    /// Returns the fields for all columns.
    pub(super) fn all(columns: &Columns) -> Self {
        Self::Json(names_of(columns))
    }

    /// Returns the fields for all columns, with the cells as texts.
    pub(super) fn verbatim(columns: &Columns) -> Self {
        Self::Verbatim(names_of(columns))
    }
}

fn names_of(columns: &Columns) -> Vec<(usize, String)> {
    columns.names.iter().map(|name| as_json(name)).enumerate().collect()
}

fn as_json(name: &str) -> String {
    serde_json::Value::from(name).to_string()
}

/// Reads the rows of one file in blocks.
pub(super) struct RowReader {
    pub(super) lines: LineReader,
    pub(super) columns: Arc<Columns>,
    /// The fields that are read; `None` if the file lacks the column.
    pub(super) fields: Option<Arc<RowFields>>,
}

impl BlockReader for RowReader {
    fn next(&mut self, spare: Vec<u8>) -> Outcome<Option<DocumentBlock>> {
        let Some(fields) = &self.fields else { return Ok(None) };
        let block = self.lines.blocks.next(spare)?;
        let rows = |block| LineRows { block, columns: Arc::clone(&self.columns), fields: Arc::clone(fields) };
        Ok(block.map(|block| DocumentBlock::Rows(Box::new(rows(block)))))
    }

    fn position(&self) -> Position {
        self.lines.position()
    }

    fn consumed(&self) -> u64 {
        self.lines.consumed()
    }

    fn damage(&self) -> Outcome<Option<Problem>> {
        self.lines.damage()
    }
}

/// Rows as lines of a block.
#[derive(Debug)]
pub(super) struct LineRows {
    pub(super) block: Block,
    pub(super) columns: Arc<Columns>,
    pub(super) fields: Arc<RowFields>,
}

/// A row whose text or JSON object is in a shared buffer.
enum PendingRow {
    Text(Range<usize>),
    Json(Range<usize>),
    Null,
    /// The reason, and the index of the column whose text cannot be read.
    LeftOut(&'static str, Option<usize>),
}

impl RowBlock for LineRows {
    fn decode(&self, each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>) -> Outcome<()> {
        self.decode_rows(0..u64::MAX, each)
    }

    fn memory_bytes(&self) -> usize {
        self.block.bytes.capacity()
    }

    fn into_memory(self: Box<Self>) -> Vec<u8> {
        self.block.bytes
    }
}

impl LineRows {
    /// Decodes the rows of the block whose numbers are in `rows`, as [`RowBlock::decode`] decodes all rows.
    pub(super) fn decode_rows(&self, rows: Range<u64>, each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>) -> Outcome<()> {
        let (mut cells, mut bytes, mut held) = (Cells::default(), Vec::new(), Vec::with_capacity(ROWS_PER_BATCH));
        let mut first = self.block.first_line.max(rows.start);
        let lines = self.block.lines().skip_while(|line| line.number < rows.start);
        for line in lines.take_while(|line| line.number < rows.end) {
            held.push(match line.is_overlong() {
                true => PendingRow::LeftOut(TOO_LONG, None),
                false => {
                    cells.read(line.bytes, self.columns.delimiter, self.columns.names.len());
                    self.row(&cells, &mut bytes)?
                }
            });
            if held.len() == ROWS_PER_BATCH || bytes.len() > BYTES_PER_BATCH {
                self.pass_on(first, &held, &bytes, each)?;
                first += held.len() as u64;
                held.clear();
                bytes.clear();
                bytes.shrink_to(MAX_KEPT_BYTES);
                cells.shrink(MAX_KEPT_BYTES);
            }
        }
        self.pass_on(first, &held, &bytes, each)
    }

    /// Calls `each` with the number of each row, and the reason why the row is left out, if it is.
    pub(super) fn check(&self, each: &mut dyn FnMut(u64, Option<String>) -> Outcome<()>) -> Outcome<()> {
        let (mut cells, most) = (Cells::default(), self.columns.names.len());
        for line in self.block.lines() {
            let why = match line.is_overlong() {
                true => Some(TOO_LONG.to_owned()),
                false => {
                    cells.read(line.bytes, self.columns.delimiter, most);
                    let is_text = |number: &usize| simdutf8::basic::from_utf8(cells.get(*number)).is_ok();
                    match cells.len() {
                        cells if cells > most => Some(TOO_MANY_CELLS.to_owned()),
                        cells => (0..cells)
                            .find(|number| !is_text(number))
                            .map(|number| with_column(NOT_UTF8, self.columns.names.get(number).map(String::as_str))),
                    }
                }
            };
            each(line.number, why)?;
        }
        Ok(())
    }

    /// Appends the fields of a row to `bytes`. JSON objects have no keys for missing cells: their number of keys is that of the cells of
    /// the row, not of the columns.
    fn row(&self, cells: &Cells, bytes: &mut Vec<u8>) -> Outcome<PendingRow> {
        if cells.len() > self.columns.names.len() {
            return Ok(PendingRow::LeftOut(TOO_MANY_CELLS, None));
        }
        let start = bytes.len();
        match &*self.fields {
            RowFields::Text(column) => {
                let cell = cells.get(*column);
                if self.columns.is_null(cell) {
                    return Ok(PendingRow::Null);
                }
                bytes.extend_from_slice(cell);
                Ok(PendingRow::Text(start..bytes.len()))
            }
            RowFields::Verbatim(_) if cells.len() < self.columns.names.len() => {
                Ok(PendingRow::LeftOut(TOO_FEW_CELLS, None))
            }
            RowFields::Json(columns) | RowFields::Verbatim(columns) => {
                let is_verbatim = matches!(&*self.fields, RowFields::Verbatim(_));
                let (comma, colon) = if is_verbatim { (&b", "[..], &b": "[..]) } else { (&b","[..], &b":"[..]) };
                bytes.push(b'{');
                for (column, name) in columns.iter().filter(|(column, _)| *column < cells.len()) {
                    if bytes.len() > start + 1 {
                        bytes.extend_from_slice(comma);
                    }
                    bytes.extend_from_slice(name.as_bytes());
                    bytes.extend_from_slice(colon);
                    let cell = cells.get(*column);
                    if !is_verbatim && self.columns.is_null(cell) {
                        bytes.extend_from_slice(b"null");
                        continue;
                    }
                    let Ok(text) = simdutf8::basic::from_utf8(cell) else {
                        bytes.truncate(start);
                        return Ok(PendingRow::LeftOut(NOT_UTF8, Some(*column)));
                    };
                    serde_json::to_writer(&mut *bytes, text)
                        .map_err(|error| Failure::internal("writing a row", error.to_string()))?;
                }
                bytes.push(b'}');
                Ok(PendingRow::Json(start..bytes.len()))
            }
        }
    }

    fn pass_on(
        &self,
        first: u64,
        held: &[PendingRow],
        bytes: &[u8],
        each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>,
    ) -> Outcome<()> {
        let rows = held.iter().zip(first..).map(|(row, number)| {
            let (text, line, bad) = match row {
                PendingRow::Text(range) => {
                    let bytes = bytes.get(range.clone()).unwrap_or_default();
                    match (simdutf8::basic::from_utf8(bytes), &*self.fields) {
                        (Ok(text), _) => (Some(Text::Is(text)), &b""[..], None),
                        (Err(_), RowFields::Text(column)) => {
                            (Some(Text::Unreadable(NOT_UTF8)), &b""[..], Some(*column))
                        }
                        (Err(_), _) => (Some(Text::Unreadable(NOT_UTF8)), &b""[..], None),
                    }
                }
                PendingRow::Json(range) => (None, bytes.get(range.clone()).unwrap_or_default(), None),
                PendingRow::Null => (Some(Text::Null), &b""[..], None),
                PendingRow::LeftOut(why, column) => (Some(Text::Unreadable(why)), &b""[..], *column),
            };
            let bad_column = bad.and_then(|column| self.columns.names.get(column)).map(String::as_str);
            Row { number, group: 0, text, line, bad_column }
        });
        each(&rows.collect::<Vec<_>>())
    }
}
