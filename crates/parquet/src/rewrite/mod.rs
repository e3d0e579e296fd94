//! Rewrites a Parquet file with changed texts in one column, or with a new column of ranges.
//!
//! All other data is preserved byte for byte: pages of other columns are copied without decoding, and unaffected fields of the footer,
//! including unknown ones, are copied unchanged. Memory is bounded by the size of pages, regardless of the size of row groups.

mod bounds;
mod column;
mod indexes;
mod packer;
mod pages;
mod ranges_chunk;
mod schema;
#[cfg(test)]
mod tests;
mod text_chunk;

use self::column::{chunk_field, has_bounds, new_column, replace_column, shift_column_offsets};
use self::indexes::{write_indexes, ChunkPlacement};
use self::pages::{PageFormat, WrittenChunk};
use self::ranges_chunk::RangesWriter;
use self::schema::{columns_of, cut_sort_order, file_field, ELEMENT, LIST, NUMBERS};
use self::text_chunk::TextChunkWriter;
use crate::block::TextBlock;
use crate::blocks::TextBlocks;
use crate::columns::TextColumn;
use crate::decoder::{RawValue, TextDecoder, Value};
use crate::file::{encrypted, read_metadata, ParquetFile, MAGIC};
use crate::place::{ChunkLocation, DAMAGE_HINT, READING};
use crate::raw_struct::{struct_list, wire, RawStruct};
use crate::thrift::ThriftResult;
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use parquet::basic::CompressionCodec;
use std::ops::Range;

/// Name of this step in failures.
const WRITE_ACTIVITY: &str = "writing the Parquet file";
/// Name of the program in the footer.
const CREATED_BY: &str = concat!("gristmill version ", env!("CARGO_PKG_VERSION"));
/// Size of the copy buffer in bytes.
const COPY_BYTES: u64 = 1 << 20;
/// Target size in bytes of a block of texts.
const BLOCK_BYTES: usize = 1 << 20;
/// Fields of `RowGroup`.
mod group_field {
    pub(super) const COLUMNS: i16 = 1;
    pub(super) const UNPACKED: i16 = 2;
    pub(super) const SORT_ORDER: i16 = 4;
    pub(super) const FILE_OFFSET: i16 = 5;
    pub(super) const PACKED: i16 = 6;
}

/// Callback that receives a row: its number, its value, and an empty list, to which it adds the ranges of the text in bytes. Ranges must be
/// in order, must not overlap, and must begin and end at character boundaries.
pub type EditRow<'a> = dyn FnMut(u64, Value<'_>, &mut Vec<Range<usize>>) -> Outcome<()> + 'a;

/// The output file, which is written sequentially.
pub(crate) struct Output<'a> {
    write: &'a mut dyn FnMut(&[u8]) -> Outcome<()>,
    at: u64,
}

impl<'a> Output<'a> {
    pub(crate) fn new(write: &'a mut dyn FnMut(&[u8]) -> Outcome<()>, at: u64) -> Self {
        Self { write, at }
    }

    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.at += bytes.len() as u64;
        (self.write)(bytes)
    }
}

/// A file to rewrite.
#[derive(Debug)]
pub struct Rewriter<'a> {
    file: &'a ParquetFile,
    column: &'a TextColumn,
    ranges: Option<&'a str>,
    /// Ranges of rows whose row groups are not written.
    left_out: &'a [Range<u64>],
}

impl<'a> Rewriter<'a> {
    /// Checks that a file can be rewritten. `ranges` is the name of a new column for the ranges; without it, the ranges are removed from
    /// the texts. `left_out` are the ranges of rows whose row groups are not written. Refuses encrypted files, and a new column whose name
    /// exists.
    pub fn new(
        file: &'a ParquetFile,
        column: &'a TextColumn,
        ranges: Option<&'a str>,
        left_out: &'a [Range<u64>],
    ) -> Outcome<Self> {
        let path = file.file().path();
        let refused =
            |why: String, hint: &str| Err(Failure::data(WRITE_ACTIVITY, why).on(Subject::path(path)).with_hint(hint));
        let fields = file.metadata().file_metadata().schema().get_fields();
        if let Some(name) = ranges.filter(|name| fields.iter().any(|field| field.name() == *name)) {
            return refused(format!("it has a column `{name}` already"), "name another column with --annotate-key");
        }
        let rewriter = Self { file, column, ranges, left_out };
        let mut copied = 0_u64;
        for row_group in (0..file.row_groups()).filter(|row_group| rewriter.is_written(*row_group)) {
            for leaf in 0..file.metadata().file_metadata().schema_descr().num_columns() {
                let range = rewriter.chunk_range(row_group, leaf)?;
                copied = copied.saturating_add(range.end - range.start);
            }
        }
        if copied > file.file().len() {
            return refused("its footer states columns that overlap".to_owned(), DAMAGE_HINT);
        }
        Ok(rewriter)
    }

    /// Writes the file, and passes every row to `edit` in order.
    pub fn write(&self, edit: &mut EditRow<'_>, write: &mut dyn FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
        let out = &mut Output::new(write, 0);
        let (bytes, _) = read_metadata(self.file.file())?;
        let (mut footer, _) = self.checked(RawStruct::parse(&bytes))?;
        drop(bytes);
        if footer.has(file_field::ENCRYPTION) {
            return Err(encrypted(self.file.file().path(), "columns of it are encrypted"));
        }
        out.write(&MAGIC)?;
        let groups = footer.get(file_field::ROW_GROUPS).unwrap_or(&[wire::STRUCT]);
        let groups = self.checked(struct_list(groups))?;
        let mut placed = Vec::with_capacity(groups.len());
        let mut rows = Rows::new(self)?;
        let is_written = |(number, _): &(usize, RawStruct)| self.is_written(*number);
        let (numbers, mut groups): (Vec<_>, Vec<_>) = groups.into_iter().enumerate().filter(is_written).unzip();
        for (number, group) in numbers.into_iter().zip(&mut groups) {
            placed.push(self.write_group(number, group, &mut rows, edit, out)?);
        }
        if !self.left_out.is_empty() {
            let left_out: u64 = self.left_out.iter().map(|rows| rows.end - rows.start).sum();
            footer.set_i64(file_field::ROWS, self.file.rows().saturating_sub(left_out));
        }
        write_indexes(self, &mut groups, &placed, out)?;
        let groups: Vec<Vec<u8>> = groups.iter().map(RawStruct::encode).collect();
        footer.set_list(file_field::ROW_GROUPS, wire::STRUCT, &groups);
        footer.set_binary(file_field::CREATED_BY, CREATED_BY.as_bytes());
        if let Some(name) = self.ranges {
            self.checked(schema::add_column(&mut footer, self.file.metadata(), name))?;
        }
        let footer = footer.encode();
        let size =
            u32::try_from(footer.len()).map_err(|_| Failure::data(WRITE_ACTIVITY, "its footer has more than 4 GiB"))?;
        out.write(&footer)?;
        out.write(&size.to_le_bytes())?;
        out.write(&MAGIC)
    }

    fn is_written(&self, row_group: usize) -> bool {
        let rows = self.file.rows_of(row_group);
        rows.is_empty() || !self.left_out.contains(&rows)
    }

    /// Writes a row group. Returns the locations of its columns.
    fn write_group(
        &self,
        number: usize,
        group: &mut RawStruct,
        rows: &mut Rows<'_>,
        edit: &mut EditRow<'_>,
        out: &mut Output<'_>,
    ) -> Outcome<Vec<ChunkPlacement>> {
        let mut columns = self.checked(columns_of(group))?;
        let start = out.position();
        let mut placed = Vec::with_capacity(columns.len() + 2);
        for (leaf, column) in columns.iter_mut().enumerate() {
            let is_text = leaf == self.column.leaf() && self.ranges.is_none() && !self.column.is_null();
            let range = self.chunk_range(number, leaf)?;
            if is_text && !self.file.rows_of(number).is_empty() {
                let chunk = self.write_texts(number, column, rows, edit, out)?;
                self.checked(replace_column(column, &chunk))?;
                placed.push(ChunkPlacement::New(chunk));
            } else {
                // A row group without rows may state an offset although it has no pages.
                let from = if range.is_empty() { self.file.stated_data_offset(number, leaf) } else { range.start };
                let by = out.position() as i64 - from as i64;
                self.copy(&range, out)?;
                self.checked(shift_column_offsets(column, by))?;
                placed.push(ChunkPlacement::Moved(by));
            }
        }
        match self.ranges {
            Some(name) => {
                let format = self.format(number)?;
                for (chunk, leaf) in self.write_ranges(format, rows, number, edit, out)?.into_iter().zip(NUMBERS) {
                    columns.push(new_column(&[name, LIST, ELEMENT, leaf], format.codec, &chunk));
                    placed.push(ChunkPlacement::New(chunk));
                }
            }
            // The rows of a column without texts are passed to the editor, too.
            None => rows.for_each_row(number, |row| pass(edit, row, &mut Vec::new()))?,
        }
        self.checked(finish_group(group, &columns, start, out.position(), self.sort_column()))?;
        Ok(placed)
    }

    /// Returns the column whose sort order is lost, which is the changed text column.
    fn sort_column(&self) -> Option<usize> {
        self.ranges.is_none().then(|| self.column.leaf())
    }

    /// Writes the texts of a row group without their ranges.
    fn write_texts(
        &self,
        number: usize,
        column: &RawStruct,
        rows: &mut Rows<'_>,
        edit: &mut EditRow<'_>,
        out: &mut Output<'_>,
    ) -> Outcome<WrittenChunk> {
        let place = self.place(number, self.column.path());
        let has_dictionary = self.file.first_pages(number, self.column.leaf(), &place)?.has_dictionary;
        let has_bounds = has_bounds(column) || column.has(chunk_field::COLUMN_INDEX.0);
        let mut texts = TextChunkWriter::new(self.format(number)?, out.position(), has_dictionary, has_bounds)?;
        let (mut ranges, mut kept) = (Vec::new(), Vec::new());
        rows.for_each_row(number, |row| {
            pass(edit, row, &mut ranges)?;
            match row.null_level {
                Some(level) => texts.add_null(level, out),
                None if ranges.is_empty() => texts.add(row.bytes, out),
                None => {
                    copy_without_ranges(row.bytes, &ranges, &mut kept);
                    texts.add(&kept, out)
                }
            }
        })?;
        texts.finish(out)
    }

    /// Writes the ranges of the texts of a row group.
    fn write_ranges(
        &self,
        format: PageFormat,
        rows: &mut Rows<'_>,
        number: usize,
        edit: &mut EditRow<'_>,
        out: &mut Output<'_>,
    ) -> Outcome<[WrittenChunk; 2]> {
        let mut lists = RangesWriter::new(format, out.position())?;
        let mut ranges = Vec::new();
        rows.for_each_row(number, |row| {
            pass(edit, row, &mut ranges)?;
            lists.add(matches!(row.value, Value::Text(_)).then_some(ranges.as_slice()), out)
        })?;
        lists.finish(out)
    }

    /// Returns the format of new pages in a row group, which is that of the old pages.
    fn format(&self, number: usize) -> Outcome<PageFormat> {
        let (leaf, place) = (self.column.leaf(), self.place(number, self.column.path()));
        let max_definition = self.column.max_definition();
        let format = |codec, is_version_2| PageFormat { codec, is_version_2, max_definition, max_repetition: 0 };
        if self.chunk_range(number, leaf)?.is_empty() {
            return Ok(format(CompressionCodec::UNCOMPRESSED, false));
        }
        let codec = self.file.chunk(number, leaf, &place)?.codec;
        Ok(format(codec, self.file.first_pages(number, leaf, &place)?.is_version_2))
    }

    fn place(&self, row_group: usize, column: &str) -> ChunkLocation {
        ChunkLocation { path: self.file.file().path().to_owned(), column: column.to_owned(), row_group }
    }

    /// Returns the range of a column in the file; empty if the row group has no rows.
    fn chunk_range(&self, row_group: usize, leaf: usize) -> Outcome<Range<u64>> {
        let column = self.file.metadata().row_groups().get(row_group).and_then(|group| group.columns().get(leaf));
        let name = column.map(|column| column.column_path().string()).unwrap_or_default();
        match self.file.rows_of(row_group).is_empty() && column.is_some_and(|column| column.compressed_size() == 0) {
            true => Ok(0..0),
            false => self.file.chunk(row_group, leaf, &self.place(row_group, &name)).map(|chunk| chunk.range),
        }
    }

    /// Copies a range of the file.
    fn copy(&self, range: &Range<u64>, out: &mut Output<'_>) -> Outcome<()> {
        let (mut at, mut buffer) = (range.start, Vec::new());
        while at < range.end {
            let size = (range.end - at).min(COPY_BYTES);
            buffer.resize(usize::try_from(size).unwrap_or_default(), 0);
            self.file.read_at(&mut buffer, at)?;
            out.write(&buffer)?;
            at += size;
        }
        Ok(())
    }

    fn checked<T>(&self, result: ThriftResult<T>) -> Outcome<T> {
        result.map_err(|_| {
            let failure = Failure::data(READING, "its footer is damaged");
            failure.on(Subject::path(self.file.file().path())).with_hint(DAMAGE_HINT)
        })
    }
}

/// Updates the entry of a row group: columns, sizes, offset, and sort order.
fn finish_group(
    group: &mut RawStruct,
    columns: &[RawStruct],
    start: u64,
    end: u64,
    sort_column: Option<usize>,
) -> ThriftResult<()> {
    let mut unpacked = 0_u64;
    for column in columns {
        let (metadata, _) = RawStruct::parse(column.get(chunk_field::METADATA).unwrap_or_default())?;
        let size = metadata.get_int(column::metadata_field::UNPACKED).and_then(|size| u64::try_from(size).ok());
        unpacked = unpacked.saturating_add(size.unwrap_or_default());
    }
    let columns: Vec<Vec<u8>> = columns.iter().map(RawStruct::encode).collect();
    group.set_list(group_field::COLUMNS, wire::STRUCT, &columns).set_i64(group_field::UNPACKED, unpacked);
    if group.has(group_field::FILE_OFFSET) {
        group.set_i64(group_field::FILE_OFFSET, start);
    }
    if group.has(group_field::PACKED) {
        group.set_i64(group_field::PACKED, end - start);
    }
    if let (Some(leaf), Some(order)) = (sort_column, group.get(group_field::SORT_ORDER)) {
        match cut_sort_order(order, leaf)? {
            kept if kept.is_empty() => group.remove(group_field::SORT_ORDER),
            kept => {
                group.set_list(group_field::SORT_ORDER, wire::STRUCT, &kept);
            }
        }
    }
    Ok(())
}

/// Passes a row to the editor.
fn pass(edit: &mut EditRow<'_>, row: &RawValue<'_>, ranges: &mut Vec<Range<usize>>) -> Outcome<()> {
    ranges.clear();
    edit(row.row, row.value, ranges)
}

/// Copies a text without its ranges.
fn copy_without_ranges(text: &[u8], ranges: &[Range<usize>], kept: &mut Vec<u8>) {
    kept.clear();
    let mut at = 0;
    for range in ranges {
        kept.extend_from_slice(text.get(at..range.start).unwrap_or_default());
        at = range.end;
    }
    kept.extend_from_slice(text.get(at..).unwrap_or_default());
}

/// Reads the rows of the text column once, in order.
struct Rows<'a> {
    file: &'a ParquetFile,
    blocks: TextBlocks,
    decoder: TextDecoder,
    /// The next block, if it was already read.
    next: Option<TextBlock>,
    spare: Vec<u8>,
}

impl<'a> Rows<'a> {
    fn new(rewriter: &Rewriter<'a>) -> Outcome<Self> {
        let file = rewriter.file;
        let blocks = TextBlocks::open(file, rewriter.column, 0, BLOCK_BYTES)?.without(rewriter.left_out);
        Ok(Self { file, blocks, decoder: TextDecoder::new(), next: None, spare: Vec::new() })
    }

    /// Passes the remaining rows of a row group to `take`.
    fn for_each_row(&mut self, row_group: usize, mut take: impl FnMut(&RawValue<'_>) -> Outcome<()>) -> Outcome<()> {
        let end = self.file.rows_of(row_group).end;
        loop {
            let block = match self.next.take() {
                Some(block) => Some(block),
                None => self.blocks.next(std::mem::take(&mut self.spare))?,
            };
            let Some(block) = block else { return Ok(()) };
            if block.first_row >= end {
                self.next = Some(block);
                return Ok(());
            }
            let mut rows = self.decoder.decode(&block)?;
            while let Some(row) = rows.next_raw() {
                take(&row)?;
            }
            self.spare = block.into_spare();
        }
    }
}
