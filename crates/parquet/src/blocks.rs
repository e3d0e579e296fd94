//! Divides the text column of a file into blocks, in order. Decompresses only dictionaries and pages that are divided.

use crate::block::{BlockContext, TextBlock, MAX_BLOCK_ROWS};
use crate::chunk_reader::ChunkReader;
use crate::columns::TextColumn;
use crate::file::ParquetFile;
use crate::place::ChunkLocation;
use crate::window::Window;
use gristmill_core::Outcome;
use parquet::basic::CompressionCodec;
use std::ops::Range;
use std::sync::Arc;

/// Maximum target size of a block in bytes. A block may be larger, because most pages are not divided.
const MAX_BLOCK_BYTES: usize = 64 << 20;

/// Reads a text column from any row on, in blocks. A block usually has whole pages of one row group.
#[derive(Debug)]
pub struct TextBlocks {
    file: ParquetFile,
    column: TextColumn,
    block_bytes: usize,
    next_row: u64,
    row_group: usize,
    chunk: Option<ChunkReader>,
    window: Window,
    /// Ranges of rows whose row groups are not read.
    left_out: Vec<Range<u64>>,
}

impl TextBlocks {
    /// Starts at `from_row`, which is 0 or the end of an earlier block. A block has about `block_bytes` of text.
    pub fn open(file: &ParquetFile, column: &TextColumn, from_row: u64, block_bytes: usize) -> Outcome<Self> {
        Ok(Self {
            file: file.clone(),
            column: column.clone(),
            block_bytes: block_bytes.clamp(1, MAX_BLOCK_BYTES),
            next_row: from_row,
            row_group: file.row_group_of(from_row),
            chunk: None,
            window: Window::default(),
            left_out: Vec::new(),
        })
    }

    /// Leaves out row groups, given by their ranges of rows.
    #[must_use]
    pub fn without(self, row_groups: &[Range<u64>]) -> Self {
        Self { left_out: row_groups.to_vec(), ..self }
    }

    /// Returns the next block; `None` after the last row. `spare` is the memory of a block that is no longer used, or empty. After a
    /// failure the rest of the column cannot be read; blocks before it are valid.
    pub fn next(&mut self, spare: Vec<u8>) -> Outcome<Option<TextBlock>> {
        loop {
            let rows = self.file.rows_of(self.row_group);
            if self.row_group >= self.file.row_groups() {
                return Ok(None);
            }
            if self.next_row >= rows.end || self.left_out.iter().any(|left_out| left_out.contains(&self.next_row)) {
                self.row_group += 1;
                self.next_row = self.next_row.max(rows.end);
                self.chunk = None;
                continue;
            }
            if self.column.is_null() {
                return Ok(Some(self.null_block(rows.end)));
            }
            if self.chunk.is_none() {
                self.chunk = Some(self.open_chunk()?);
            }
            let Some(chunk) = &mut self.chunk else { continue };
            let block = chunk.read_block(&self.file, &mut self.window, self.next_row, self.block_bytes, spare)?;
            self.next_row += block.rows;
            return Ok(Some(block));
        }
    }

    /// Returns the number of bytes of the file that were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.window.bytes_read()
    }

    fn place(&self) -> ChunkLocation {
        ChunkLocation {
            path: self.file.file().path().to_owned(),
            column: self.column.path().to_owned(),
            row_group: self.row_group,
        }
    }

    fn open_chunk(&self) -> Outcome<ChunkReader> {
        let place = self.place();
        let chunk = self.file.chunk(self.row_group, self.column.leaf(), &place)?;
        let rows = self.file.rows_of(self.row_group);
        let context = BlockContext { place, codec: chunk.codec, max_definition: self.column.max_definition() };
        Ok(ChunkReader::new(Arc::new(context), &chunk, rows.end - rows.start, self.next_row.saturating_sub(rows.start)))
    }

    /// Returns a block of rows of a column whose type allows only null.
    fn null_block(&mut self, end: u64) -> TextBlock {
        let rows = (end - self.next_row).min(MAX_BLOCK_ROWS);
        let first_row = self.next_row;
        self.next_row += rows;
        let context = BlockContext { place: self.place(), codec: CompressionCodec::UNCOMPRESSED, max_definition: 0 };
        TextBlock {
            first_row,
            rows,
            row_group: self.row_group,
            context: Arc::new(context),
            pages: Vec::new(),
            bytes: Vec::new(),
            dictionary: None,
        }
    }
}
