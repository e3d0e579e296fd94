//! Rows as JSON objects, with all or some columns. The crate `parquet` decodes the columns in small batches.

mod failure;
mod large_texts;
mod pages;
#[cfg(test)]
mod tests;

use crate::blocks::TextBlocks;
use crate::columns::TextColumn;
use crate::decoder::TextDecoder;
use crate::file::ParquetFile;
use crate::json_schema::JsonSchema;
use crate::place::{ChunkLocation, DAMAGE_HINT, READING};
use gristmill_arrow::{BadText, Cell};
use gristmill_core::catch_panic::catch_panic;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use large_texts::{LongTexts, PAGE_BYTES};
pub(crate) use pages::ChunkPages;
use pages::JsonRowGroup;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowSelection, RowSelector};
use parquet::arrow::{parquet_to_arrow_field_levels, ProjectionMask};
use std::ops::Range;

/// Target size of a batch in bytes, estimated from known sizes.
const BATCH_BYTES: u64 = 4 << 20;
/// Maximum size of a batch in bytes if every row had the longest entry of the dictionary.
const MAX_REPEATED_BYTES: u64 = 64 << 20;
/// Maximum number of rows in a batch.
const MAX_BATCH_ROWS: u64 = 1024;
/// Maximum number of rows in a range.
const MAX_RANGE_ROWS: u64 = 1 << 16;

/// Rows that were appended as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppendedRows {
    /// Number of rows.
    pub rows: u64,
    /// Rows that have a text that cannot be read, in order. The JSON of such a text is not the text.
    pub bad_rows: Vec<BadRow>,
}

/// A row with a text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRow {
    /// Number of the row in the file.
    pub row: u64,
    /// Reason.
    pub bad: BadText,
    /// Column of the text at the top level; `None` if it is not known.
    pub column: Option<String>,
}

impl ParquetFile {
    /// Appends the rows of a range as JSON objects, each with a newline, until `most_bytes` are reached or slightly exceeded; appends at
    /// least one row, if there is one. `columns` are names at the top level, of which unknown ones are ignored; `None` means all columns.
    /// Appends nothing if it fails.
    ///
    /// A text, number, boolean or null has its JSON form; a struct is an object, a list an array, and a map an array of objects with `key`
    /// and `value`. A decimal, date, time, timestamp or interval is text; the latter four are in ISO 8601, with `Z` if they are in UTC.
    /// Binary is base64 text. Numbers that are not finite are null.
    pub fn json_rows(
        &self,
        columns: Option<&[String]>,
        rows: Range<u64>,
        most_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Outcome<AppendedRows> {
        let begin = out.len();
        let result = self.append_rows(columns, rows, begin.saturating_add(most_bytes), out);
        if result.is_err() {
            out.truncate(begin);
        }
        result
    }

    /// Divides all rows into ranges within row groups; in each range, the columns have about `block_bytes`.
    pub fn row_ranges(&self, columns: Option<&[String]>, block_bytes: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let leaves = self.leaves_of(columns);
        (0..self.row_groups()).flat_map(move |row_group| {
            let rows = self.rows_of(row_group);
            let count = rows.end - rows.start;
            let size = leaves.iter().map(|leaf| self.unpacked_bytes(row_group, *leaf)).fold(0, u64::saturating_add);
            let ranges = size.div_ceil(block_bytes.max(1)).clamp(1, count.max(1));
            let step = count.div_ceil(ranges).clamp(1, MAX_RANGE_ROWS);
            (0..count.div_ceil(step)).map(move |number| {
                let start = rows.start + number * step;
                start..(start + step).min(rows.end)
            })
        })
    }

    fn append_rows(
        &self,
        columns: Option<&[String]>,
        rows: Range<u64>,
        end: usize,
        out: &mut Vec<u8>,
    ) -> Outcome<AppendedRows> {
        let rows = rows.start..rows.end.min(self.rows());
        let (leaves, mut appended) = (self.leaves_of(columns), AppendedRows::default());
        let mut row_group = self.row_group_of(rows.start);
        let mut at = rows.start;
        while at < rows.end && (out.len() < end || appended.rows == 0) {
            let group = self.rows_of(row_group);
            let part = at - group.start..rows.end.min(group.end) - group.start;
            if !part.is_empty() {
                let more = self.append_part(row_group, &leaves, part, end, out)?;
                appended.rows += more.rows;
                appended.bad_rows.extend(more.bad_rows);
            }
            at = rows.start + appended.rows;
            row_group += 1;
        }
        Ok(appended)
    }

    /// Appends rows of a row group until `out` has `end` bytes. The rows are numbered within the row group.
    fn append_part(
        &self,
        row_group: usize,
        leaves: &[usize],
        rows: Range<u64>,
        end: usize,
        out: &mut Vec<u8>,
    ) -> Outcome<AppendedRows> {
        let schema = self.json_schema()?;
        let batch_rows = self.batch_rows(row_group, leaves);
        let (metadata, first) = (&schema.metadata, rows.start);
        let (failure, long_texts) = (failure::FirstFailure::default(), LongTexts::default());
        let group = JsonRowGroup { file: self, metadata, row_group, first, failure: failure.clone(), long_texts };
        // The decoders of the crate panic on some damaged pages.
        let result = catch_panic(|| append_batches(schema, &group, leaves, rows.clone(), (batch_rows, end), out));
        let why = match result {
            Some(Ok(appended)) => return Ok(appended),
            Some(Err(why)) => why,
            None => "its pages are damaged".to_owned(),
        };
        if let Some(first) = failure.lock().ok().and_then(|mut first| first.take()) {
            return Err(first);
        }
        for leaf in leaves {
            if let Some(column) = TextColumn::of_leaf(self, *leaf) {
                self.decode_texts(row_group, &column)?;
            }
            let only = [*leaf];
            let alone =
                catch_panic(|| append_batches(schema, &group, &only, rows.clone(), (batch_rows, end), &mut Vec::new()));
            if !matches!(alone, Some(Ok(_))) {
                return Err(self.chunk_location(row_group, *leaf).damage(None, &why));
            }
        }
        let why = format!("row group {row_group}: {why}");
        Err(Failure::data(READING, why).on(Subject::path(self.file().path())).with_hint(DAMAGE_HINT))
    }

    /// Decodes the texts of a column in a row group; the failure names the page.
    fn decode_texts(&self, row_group: usize, column: &TextColumn) -> Outcome<()> {
        let rows = self.rows_of(row_group);
        let mut blocks = TextBlocks::open(self, column, rows.start, PAGE_BYTES)?;
        let (mut decoder, mut spare) = (TextDecoder::new(), Vec::new());
        while let Some(block) = blocks.next(spare)?.filter(|block| block.first_row < rows.end) {
            decoder.decode(&block)?.for_each(drop);
            spare = block.into_spare();
        }
        Ok(())
    }

    /// Returns the location of a leaf column, for failures.
    pub(crate) fn chunk_location(&self, row_group: usize, leaf: usize) -> ChunkLocation {
        let schema = self.metadata().file_metadata().schema_descr();
        let column = schema.columns().get(leaf).map(|column| column.path().string()).unwrap_or_default();
        ChunkLocation { path: self.file().path().to_owned(), column, row_group }
    }

    /// Returns the leaf columns in columns at the top level.
    fn leaves_of(&self, columns: Option<&[String]>) -> Vec<usize> {
        let schema = self.metadata().file_metadata().schema_descr();
        let is_wanted = |leaf: &usize| {
            let path = schema.columns().get(*leaf).map(|column| column.path().parts());
            let top = path.and_then(|parts| parts.first());
            columns.is_none_or(|names| top.is_some_and(|top| names.contains(top)))
        };
        (0..schema.num_columns()).filter(is_wanted).collect()
    }

    /// Returns the number of rows that are decoded at once.
    fn batch_rows(&self, row_group: usize, leaves: &[usize]) -> usize {
        let rows = self.rows_of(row_group);
        let rows = (rows.end - rows.start).max(1);
        let (mut size, mut repeated) = (0_u64, 0_u64);
        for leaf in leaves {
            size = size.saturating_add(self.unpacked_bytes(row_group, *leaf));
            let for_each_row = self.values_of(row_group, *leaf).div_ceil(rows);
            repeated = repeated.saturating_add(self.dictionary_bytes(row_group, *leaf).saturating_mul(for_each_row));
        }
        let by_size = BATCH_BYTES / size.div_ceil(rows).max(1);
        let by_longest = MAX_REPEATED_BYTES / repeated.max(1);
        usize::try_from(by_size.min(by_longest).clamp(1, MAX_BATCH_ROWS)).unwrap_or(1)
    }
}

/// Decodes rows of a row group and appends them as JSON. The error is a message.
fn append_batches(
    schema: &JsonSchema,
    group: &JsonRowGroup<'_>,
    leaves: &[usize],
    rows: Range<u64>,
    (batch_rows, end): (usize, usize),
    out: &mut Vec<u8>,
) -> Result<AppendedRows, String> {
    let text = |error: &dyn std::fmt::Display| format!("the rows cannot be decoded ({error})");
    let descriptor = schema.metadata.file_metadata().schema_descr();
    let mask = ProjectionMask::leaves(descriptor, leaves.iter().copied());
    let levels = parquet_to_arrow_field_levels(descriptor, mask, None).map_err(|error| text(&error))?;
    let to_usize = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let selectors = [RowSelector::skip(to_usize(rows.start)), RowSelector::select(to_usize(rows.end - rows.start))];
    let selection = RowSelection::from(selectors.to_vec());
    let batches = ParquetRecordBatchReader::try_new_with_row_groups(&levels, group, batch_rows, Some(selection))
        .map_err(|error| text(&error))?;
    let first_row = group.file.rows_of(group.row_group).start + rows.start;
    let mut appended = AppendedRows::default();
    for batch in batches {
        let batch = batch.map_err(|error| text(&error))?;
        let mut next_leaf = leaves.iter().copied();
        let cell = Cell::of_batch(&batch, &mut next_leaf, &schema.contents)?;
        for row in 0..batch.num_rows() {
            let number = first_row + appended.rows;
            if let Some((column, bad)) = cell.append_row(row, out)? {
                let column = batch.schema_ref().fields().get(column).map(|field| field.name().clone());
                appended.bad_rows.push(BadRow { row: number, bad, column });
            } else if let Some(bad) = group.long_text(number) {
                appended.bad_rows.push(BadRow { row: number, bad, column: None });
            }
            out.push(b'\n');
            appended.rows += 1;
            if out.len() >= end {
                return Ok(appended);
            }
        }
    }
    match appended.rows == rows.end - rows.start {
        true => Ok(appended),
        false => Err("its pages have fewer rows than its footer states".to_owned()),
    }
}
