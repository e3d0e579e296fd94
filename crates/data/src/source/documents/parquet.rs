//! Parquet files as a source of documents (docs/formats/parquet.md).

mod table;

use super::columns::{
    json_lines, layout_of_table, may_have_text, sample_of_table, scale, why_unreadable, Columns, ROWS_PER_BATCH,
};
use super::packing::ends_in;
use super::source::{
    BlockReader, DocumentBlock, DocumentFields, DocumentSource, FirstLines, Row, RowBlock, SampledBlock,
};
use super::{EditRow, FileRewriter, Layout, Position, TableFormat, Text, TextEdits, TextFile};
use crate::source::jsonl::Unit;
use gristmill_core::{Cancel, Failure, Mutex, Outcome, Problem, Subject};
use gristmill_parquet::{
    BadText, ColumnProblem, ParquetFile, Rewriter, TextBlock, TextBlocks, TextColumn, TextDecoder, Value,
};
use std::ops::Range;
use std::sync::Arc;

/// First bytes of a file, and of a file whose footer is encrypted.
const MAGICS: [&[u8]; 2] = [b"PAR1", b"PARE"];
/// Suffixes of such files.
const SUFFIXES: [&str; 3] = [".parquet", ".parq", ".geoparquet"];
/// Maximum size in bytes of rows as JSON in memory. Larger than a block, whose rows may repeat entries of a dictionary.
const JSON_BYTES: usize = 64 << 20;
/// Name of the step that writes files, in failures.
const WRITE_ACTIVITY: &str = "writing the Parquet file";
/// Size of the copy buffer in bytes.
const COPY_BYTES: u64 = 1 << 20;

/// Apache Parquet.
#[derive(Debug)]
pub struct Parquet;

impl DocumentSource for Parquet {
    fn id(&self) -> &'static str {
        "parquet"
    }

    fn name(&self) -> &'static str {
        "Parquet"
    }

    fn item(&self) -> &'static str {
        "row"
    }

    fn is_table(&self) -> bool {
        true
    }

    fn table(&self) -> Option<&'static dyn TableFormat> {
        Some(self::table::FORMAT)
    }

    fn title(&self, _: &TextFile) -> &'static str {
        "Parquet"
    }

    fn is_named(&self, name: &str) -> bool {
        SUFFIXES.iter().any(|suffix| ends_in(name, suffix))
    }

    fn accepts(&self, name: &str, head: &[u8]) -> bool {
        self.is_named(name) || MAGICS.iter().any(|magic| head.starts_with(magic))
    }

    fn is_divisible(&self, _: &TextFile) -> bool {
        true
    }

    fn layout(&self, file: &TextFile, fields: &DocumentFields, _: &Cancel) -> Outcome<Layout> {
        let opened = open(file)?;
        let (column, is_at_top) = (|key: &str| column_type(&opened, key), |key: &str| opened.has_top_column(key));
        Ok(layout_of_table(fields, opened.rows() == 0, column, is_at_top, || opened.text_columns()))
    }

    fn open(
        &self,
        file: &TextFile,
        fields: &DocumentFields,
        from: Position,
        block_bytes: usize,
        cancel: &Cancel,
    ) -> Outcome<Box<dyn BlockReader>> {
        let opened = open(file)?;
        let rows = match Columns::of(fields, |key| opened.column(key).is_ok()) {
            // A file without a column of text was reported when its layout was determined.
            Columns::Text(key) => match opened.column(&key) {
                Ok(column) => {
                    let blocks = TextBlocks::open(&opened, &column, from.line, block_bytes)?;
                    Rows::Text(Box::new(blocks.without(&file.damaged)))
                }
                Err(_) => Rows::None,
            },
            Columns::Json { key: Some(key), .. } if !may_have_text(&column_type(&opened, &key)) => Rows::None,
            Columns::Json { names, .. } => {
                let (names, left_out) = (names.map(Arc::from), file.damaged.clone());
                let (next_row, block_bytes) = (from.line, block_bytes as u64);
                Rows::Json(JsonBlocks { file: opened, names, next_row, block_bytes, left_out })
            }
        };
        Ok(Box::new(RowReader { rows, at: from, before: from.offset, bytes: file.bytes, cancel: cancel.clone() }))
    }

    fn sample(&self, file: &TextFile, fields: &DocumentFields, range: Unit, cancel: &Cancel) -> Outcome<SampledBlock> {
        sample_of_table(self, (file, open(file)?.rows()), fields, range, cancel)
    }

    fn rewriter(&self) -> Option<&'static dyn FileRewriter> {
        Some(&Parquet)
    }

    fn count_rows(&self, file: &TextFile, _: &Cancel) -> Outcome<(u64, Option<Problem>)> {
        Ok((open(file)?.rows(), None))
    }

    fn first_documents(&self, file: &TextFile, most: usize, _: &Cancel) -> Outcome<FirstLines> {
        let opened = open(file)?;
        let mut bytes = Vec::new();
        opened.json_rows(None, 0..opened.rows().min(most as u64), JSON_BYTES, &mut bytes)?;
        let lines = json_lines(&bytes).enumerate().map(|(row, line)| (row as u64, Arc::from(line)));
        Ok(FirstLines { lines: lines.collect(), damage: None })
    }
}

impl FileRewriter for Parquet {
    fn check(&self, file: &TextFile, edits: &TextEdits<'_>) -> Outcome<()> {
        let opened = open(file)?;
        let Some(column) = text_column(&opened, edits) else { return Ok(()) };
        let described = match () {
            () if column.is_json() => "JSON",
            () if column.is_binary() => "binary",
            () => return Rewriter::new(&opened, &column, edits.ranges_key, &file.damaged).map(drop),
        };
        let why = format!("its column `{}` holds {described}, and only text is changed", edits.text_key);
        let hint = "name a column of text with --text-key, or convert the column to text";
        Err(Failure::usage(WRITE_ACTIVITY, why).on(Subject::path(&file.path)).with_hint(hint))
    }

    fn rewrite(
        &self,
        file: &TextFile,
        edits: &TextEdits<'_>,
        edit: &mut EditRow<'_>,
        write: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let opened = open(file)?;
        let Some(column) = text_column(&opened, edits) else { return copy(&opened, write) };
        let mut edit = |number, value: Value<'_>, ranges: &mut Vec<_>| {
            edit(&row_of(number, opened.row_group_of(number) as u64, value, edits.text_key), ranges)
        };
        Rewriter::new(&opened, &column, edits.ranges_key, &file.damaged)?.write(&mut edit, write)
    }
}

/// Returns the type of a column, as in [`layout_of_table`].
fn column_type(file: &ParquetFile, key: &str) -> Result<(), Option<String>> {
    match file.column(key) {
        Ok(_) => Ok(()),
        Err(ColumnProblem::Missing) => Err(None),
        Err(ColumnProblem::NotText { described }) => Err(Some(described)),
    }
}

fn open(file: &TextFile) -> Outcome<ParquetFile> {
    ParquetFile::open(Arc::new(file.open_any()?))
}

/// Reads the rows of one file in blocks.
struct RowReader {
    rows: Rows,
    /// The next row, and the number of bytes of the file before it.
    at: Position,
    /// Number of bytes that earlier readers read.
    before: u64,
    /// Size of the file.
    bytes: u64,
    cancel: Cancel,
}

enum Rows {
    /// The file lacks the column.
    None,
    Text(Box<TextBlocks>),
    Json(JsonBlocks),
}

impl BlockReader for RowReader {
    fn next(&mut self, spare: Vec<u8>) -> Outcome<Option<DocumentBlock>> {
        self.cancel.check()?;
        match &mut self.rows {
            Rows::None => Ok(None),
            Rows::Text(blocks) => {
                let block = blocks.next(spare)?;
                let line = block.as_ref().map_or(self.at.line, |block| block.first_row + block.rows);
                self.at = Position { offset: self.before.saturating_add(blocks.bytes_read()), line };
                Ok(block.map(rows))
            }
            Rows::Json(blocks) => {
                let Some(range) = blocks.next_range() else { return Ok(None) };
                let offset = scale(range.end, self.bytes, blocks.file.rows());
                self.at = Position { offset, line: range.end };
                let (file, names) = (blocks.file.clone(), blocks.names.clone());
                Ok(Some(DocumentBlock::Rows(Box::new(JsonBlock { file, names, range, spare }))))
            }
        }
    }

    fn position(&self) -> Position {
        self.at
    }

    fn consumed(&self) -> u64 {
        self.at.offset
    }

    fn damage(&self) -> Outcome<Option<Problem>> {
        Ok(None)
    }
}

/// Divides a file into ranges of rows that are read as JSON.
struct JsonBlocks {
    file: ParquetFile,
    names: Option<Arc<[String]>>,
    next_row: u64,
    block_bytes: u64,
    /// Ranges of rows whose row groups are not read.
    left_out: Vec<Range<u64>>,
}

impl JsonBlocks {
    fn next_range(&mut self) -> Option<Range<u64>> {
        // An earlier reader may have ended inside a range, if its blocks had another size.
        let mut ranges = self.file.row_ranges(self.names.as_deref(), self.block_bytes);
        let is_read = |range: &Range<u64>| !self.left_out.iter().any(|left_out| left_out.contains(&range.start));
        let range = ranges.find(|range| range.end > self.next_row && is_read(range))?;
        let range = range.start.max(self.next_row)..range.end;
        self.next_row = range.end;
        Some(range)
    }
}

/// Rows that are read as JSON when they are decoded.
#[derive(Debug)]
struct JsonBlock {
    file: ParquetFile,
    names: Option<Arc<[String]>>,
    range: Range<u64>,
    /// Memory that the next block reuses.
    spare: Vec<u8>,
}

impl RowBlock for JsonBlock {
    fn decode(&self, each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>) -> Outcome<()> {
        let group = self.file.row_group_of(self.range.start) as u64;
        let (mut bytes, mut left) = (Vec::new(), self.range.clone());
        while !left.is_empty() {
            bytes.clear();
            let appended = self.file.json_rows(self.names.as_deref(), left.clone(), JSON_BYTES, &mut bytes)?;
            let mut bad_rows = appended.bad_rows.iter().peekable();
            let row = |(number, line)| {
                let bad = bad_rows.next_if(|bad| bad.row == number);
                let text = bad.map(|bad| Text::Unreadable(why_unreadable(bad.bad)));
                Row { number, group, text, line, bad_column: bad.and_then(|bad| bad.column.as_deref()) }
            };
            let rows: Vec<Row<'_>> = left.clone().zip(json_lines(&bytes)).map(row).collect();
            rows.chunks(ROWS_PER_BATCH).try_for_each(&mut *each)?;
            left.start += appended.rows.max(1);
        }
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.spare.capacity()
    }

    fn into_memory(self: Box<Self>) -> Vec<u8> {
        self.spare
    }
}

fn rows(block: TextBlock) -> DocumentBlock {
    DocumentBlock::Rows(Box::new(block))
}

fn row_of<'a>(number: u64, group: u64, value: Value<'a>, column: &'a str) -> Row<'a> {
    let text = match value {
        Value::Text(text) => Text::Is(text),
        Value::Null => Text::Null,
        Value::NotUtf8 => Text::Unreadable(why_unreadable(BadText::NotUtf8)),
        Value::TooLong(_) => Text::Unreadable(why_unreadable(BadText::TooLong)),
    };
    let bad_column = matches!(text, Text::Unreadable(_)).then_some(column);
    Row { number, group, text: Some(text), line: b"", bad_column }
}

/// Idle decoders, whose memory is reused.
static DECODERS: Mutex<Vec<TextDecoder>> = Mutex::new(Vec::new());

impl RowBlock for TextBlock {
    fn decode(&self, each: &mut dyn FnMut(&[Row<'_>]) -> Outcome<()>) -> Outcome<()> {
        let spare = || DECODERS.lock();
        let mut decoder = spare().pop().unwrap_or_default();
        let mut batch = Vec::with_capacity(ROWS_PER_BATCH);
        let group = self.row_group as u64;
        for (number, value) in decoder.decode(self)? {
            batch.push(row_of(number, group, value, self.column()));
            if batch.len() == ROWS_PER_BATCH {
                each(&batch)?;
                batch.clear();
            }
        }
        each(&batch)?;
        drop(batch);
        spare().push(decoder);
        Ok(())
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes()
    }

    fn into_memory(self: Box<Self>) -> Vec<u8> {
        self.into_spare()
    }
}

/// Returns the column of the text; `None` if the file has none, which was reported before the work.
fn text_column(file: &ParquetFile, edits: &TextEdits<'_>) -> Option<TextColumn> {
    file.column(edits.text_key).ok()
}

/// Copies a file.
fn copy(file: &ParquetFile, write: &mut dyn FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
    let (file, mut at, mut buffer) = (file.file(), 0, Vec::new());
    while at < file.len() {
        let size = (file.len() - at).min(COPY_BYTES);
        buffer.resize(usize::try_from(size).unwrap_or_default(), 0);
        file.read_exact_at(&mut buffer, at).map_err(|error| Failure::io(WRITE_ACTIVITY, file.path(), &error))?;
        write(&buffer)?;
        at += size;
    }
    Ok(())
}
