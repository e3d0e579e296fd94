//! Blocks of rows: ranges of consecutive record batches.

use super::batch::{Batch, BatchReader};
use super::file::ArrowFile;
use crate::source::documents::columns::{scale, why_unreadable, ROWS_PER_BATCH};
use crate::source::documents::source::{BlockReader, DocumentBlock, Row, RowBlock};
use crate::source::documents::{Position, Text};
use arrow_array::cast::AsArray as _;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use gristmill_arrow::{dictionary_keys, BadText, ByteValues, Cell, LeafContent, MAX_TEXT_BYTES};
use gristmill_core::catch_panic::catch_panic;
use gristmill_core::{Cancel, Outcome, Problem};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of rows in a block.
const MAX_BLOCK_ROWS: usize = 1 << 20;
/// Maximum size in bytes of the texts of a block if every row had the longest entry of the dictionary.
const MAX_REPEATED_BYTES: u64 = 64 << 20;
/// Size in bytes of the rows as JSON that are passed to the caller together.
const JSON_BYTES_PER_BATCH: usize = 4 << 20;

/// Form in which rows are read.
#[derive(Clone, Debug)]
pub(super) enum RowForm {
    /// The text of a column, as the index of the field at each level of structs.
    Text(Arc<[usize]>),
    /// JSON objects; the content of each leaf.
    Json(Arc<[LeafContent]>),
}

/// Reads the rows of one file in blocks.
pub(super) struct RowReader {
    pub(super) file: ArrowFile,
    /// The record batches; `None` if the file lacks the column.
    pub(super) batches: Option<BatchReader>,
    pub(super) form: RowForm,
    pub(super) block_bytes: u64,
    /// The record batch that contains the next row, once it was read.
    pub(super) current: Option<Arc<Batch>>,
    /// The next row, and the number of bytes of the file before it.
    pub(super) at: Position,
    /// Ranges of rows whose record batches are not read.
    pub(super) left_out: Vec<Range<u64>>,
    pub(super) cancel: Cancel,
}

impl RowReader {
    /// Returns the record batch of the next row; `None` after the last one.
    fn batch(&mut self) -> Outcome<Option<Arc<Batch>>> {
        let Some(batches) = &mut self.batches else { return Ok(None) };
        while let Some(left_out) = self.left_out.iter().find(|rows| rows.contains(&self.at.line)) {
            self.at.line = left_out.end;
        }
        let number = self.file.batch_of(self.at.line);
        if self.current.as_ref().is_none_or(|current| current.number != number) {
            self.current = batches.read(number)?.map(Arc::new);
        }
        Ok(self.current.clone())
    }
}

impl BlockReader for RowReader {
    fn next(&mut self, spare: Vec<u8>) -> Outcome<Option<DocumentBlock>> {
        let mut block = BatchBlock { parts: Vec::new(), form: self.form.clone(), bytes: 0, spare };
        let mut rows = 0;
        while block.bytes < self.block_bytes && rows < MAX_BLOCK_ROWS {
            self.cancel.check()?;
            let Some(batch) = self.batch()? else { break };
            let first = usize::try_from(self.at.line - batch.first_row).unwrap_or(usize::MAX);
            let row_bytes = (batch.bytes / batch.rows.max(1) as u64).max(1);
            let wanted = usize::try_from((self.block_bytes - block.bytes).div_ceil(row_bytes)).unwrap_or(usize::MAX);
            let most = usize::try_from(MAX_REPEATED_BYTES / batch.longest_entry.max(1)).unwrap_or(usize::MAX);
            let most = most.clamp(1, MAX_BLOCK_ROWS).saturating_sub(rows);
            if most == 0 {
                break;
            }
            let count = wanted.min(most).min(batch.rows.saturating_sub(first));
            rows += count;
            block.bytes = block.bytes.saturating_add(row_bytes.saturating_mul(count as u64));
            self.at.line += count as u64;
            if let Some((place, _)) = self.file.batch(batch.number) {
                let done = scale((first + count) as u64, place.end - place.at, batch.rows as u64);
                self.at.offset = place.at + done;
            }
            block.parts.push((batch, first..first + count));
        }
        Ok((rows > 0).then(|| DocumentBlock::Rows(Box::new(block))))
    }

    fn position(&self) -> Position {
        self.at
    }

    fn consumed(&self) -> u64 {
        self.at.offset
    }

    fn damage(&self) -> Outcome<Option<Problem>> {
        Ok(self.file.loss())
    }
}

/// Rows of consecutive record batches.
#[derive(Debug)]
struct BatchBlock {
    parts: Vec<(Arc<Batch>, Range<usize>)>,
    form: RowForm,
    /// Size of the rows.
    bytes: u64,
    spare: Vec<u8>,
}

impl RowBlock for BatchBlock {
    fn decode(&self, each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>) -> Outcome<()> {
        for (batch, rows) in &self.parts {
            match &self.form {
                RowForm::Text(path) => decode_texts(batch, path, rows.clone(), each)?,
                RowForm::Json(contents) => {
                    let decoded = batch.decode()?;
                    decode_json(batch, decoded, contents, rows.clone(), each)?;
                }
            }
        }
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.spare.capacity().saturating_add(usize::try_from(self.bytes).unwrap_or(usize::MAX))
    }

    fn into_memory(self: Box<Self>) -> Vec<u8> {
        self.spare
    }
}

/// Texts of an array.
enum Texts<'a> {
    Null,
    Plain(&'a dyn Array, ByteValues<'a>),
    Dictionary(&'a dyn Array, Vec<usize>, Box<Texts<'a>>),
}

impl<'a> Texts<'a> {
    fn of(array: &'a dyn Array) -> Option<Self> {
        match array.data_type() {
            DataType::Null => Some(Self::Null),
            DataType::Dictionary(..) => {
                let entries = Self::of(array.as_any_dictionary().values())?;
                Some(Self::Dictionary(array, dictionary_keys(array), Box::new(entries)))
            }
            _ => ByteValues::of(array).map(|values| Self::Plain(array, values)),
        }
    }

    /// Returns the text of a row; `None` for null.
    fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Self::Null => None,
            Self::Plain(array, values) => array.is_valid(row).then(|| values.value(row)),
            Self::Dictionary(array, keys, entries) => {
                keys.get(row).filter(|_| array.is_valid(row)).and_then(|key| entries.get(*key))
            }
        }
    }
}

fn decode_texts(
    batch: &Batch,
    path: &[usize],
    rows: Range<usize>,
    each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>,
) -> Outcome<()> {
    let decoded = batch.decode()?;
    let damaged = || batch.damage("its columns do not fit the schema");
    let mut array = decoded.columns().first().ok_or_else(damaged)?;
    let mut parents: Vec<&dyn Array> = Vec::new();
    for at in path.iter().skip(1) {
        parents.push(array.as_ref());
        array = array.as_struct_opt().and_then(|array| array.columns().get(*at)).ok_or_else(damaged)?;
    }
    let first = rows.start;
    let wanted = array.slice(first, rows.len());
    let texts = Texts::of(&wanted).ok_or_else(damaged)?;
    let mut together = Vec::with_capacity(ROWS_PER_BATCH);
    for row in rows {
        let is_valid = parents.iter().all(|parent| parent.is_valid(row));
        let text = match texts.get(row - first).filter(|_| is_valid) {
            None => Text::Null,
            Some(bytes) if bytes.len() as u64 > MAX_TEXT_BYTES => unreadable(BadText::TooLong),
            Some(bytes) => simdutf8::basic::from_utf8(bytes).map_or(unreadable(BadText::NotUtf8), Text::Is),
        };
        let (number, group) = (batch.first_row + row as u64, batch.number as u64);
        let bad_column = matches!(text, Text::Unreadable(_)).then(|| name_of(decoded, 0)).flatten();
        together.push(Row { number, group, text: Some(text), line: b"", bad_column });
        if together.len() == ROWS_PER_BATCH {
            each(&together)?;
            together.clear();
        }
    }
    each(&together)
}

/// Returns the name of a column at the top level.
fn name_of(batch: &RecordBatch, column: usize) -> Option<&str> {
    batch.schema_ref().fields().get(column).map(|field| field.name().as_str())
}

fn unreadable(bad: BadText) -> Text<'static> {
    Text::Unreadable(why_unreadable(bad))
}

/// A text that cannot be read, with the number of its column.
type BadCell = (usize, BadText);

/// Passes rows to the caller as JSON objects.
pub(super) fn decode_json(
    batch: &Batch,
    decoded: &RecordBatch,
    contents: &[LeafContent],
    rows: Range<usize>,
    each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>,
) -> Outcome<()> {
    let begin = rows.start;
    let wanted = decoded.slice(begin, rows.len());
    let cell = Cell::of_batch(&wanted, &mut (0..contents.len()), contents).map_err(|why| batch.damage(&why))?;
    let mut bytes = Vec::new();
    let mut ends: Vec<(Range<usize>, Option<BadCell>)> = Vec::new();
    let mut first = rows.start;
    for row in rows.clone() {
        let at = bytes.len();
        let bad =
            catch_panic(|| cell.append_row(row - begin, &mut bytes)).unwrap_or_else(|| Err("it is damaged".to_owned()));
        ends.push((at..bytes.len(), bad.map_err(|why| batch.damage(&why))?));
        if ends.len() < ROWS_PER_BATCH && bytes.len() < JSON_BYTES_PER_BATCH && row + 1 < rows.end {
            continue;
        }
        let together = ends.drain(..).zip(first..).map(|((range, bad), row)| Row {
            number: batch.first_row + row as u64,
            group: batch.number as u64,
            text: bad.map(|(_, bad)| unreadable(bad)),
            line: bytes.get(range).unwrap_or_default(),
            bad_column: bad.and_then(|(column, _)| name_of(decoded, column)),
        });
        each(&together.collect::<Vec<_>>())?;
        bytes.clear();
        first = row + 1;
    }
    Ok(())
}
