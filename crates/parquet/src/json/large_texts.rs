//! Pages of a column whose dictionary is too large for memory, for the decoders of the crate `parquet`. The texts are read block by block
//! from the file with the dictionary, and passed to the decoders in PLAIN encoding.

use super::failure::{keep, FirstFailure};
use crate::block::TextBlock;
use crate::blocks::TextBlocks;
use crate::columns::TextColumn;
use crate::decoder::{TextDecoder, Value};
use crate::file::ParquetFile;
use crate::runs::RunWriter;
use gristmill_core::{Mutex, Outcome};
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::Result as ParquetResult;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Target size in bytes of the texts of a page.
pub(super) const PAGE_BYTES: usize = 4 << 20;

/// Numbers of the rows in the file with a text that is too long; the decoders get an empty one.
pub(crate) type LongTexts = Arc<Mutex<BTreeSet<u64>>>;

/// Pages of a column in a row group.
pub(super) struct LargeTexts {
    file: ParquetFile,
    column: TextColumn,
    /// Range of the rows of the row group in the file.
    rows: Range<u64>,
    blocks: TextBlocks,
    decoder: TextDecoder,
    /// Number of rows before the first block; their pages are not read unless the decoder requests them.
    skipped: u64,
    next: Option<TextBlock>,
    failure: FirstFailure,
    long_texts: LongTexts,
}

impl LargeTexts {
    /// Opens a column of a row group at the row `first`; the rows before it are skipped.
    pub(super) fn open(
        file: &ParquetFile,
        column: TextColumn,
        row_group: usize,
        first: u64,
        (failure, long_texts): (FirstFailure, LongTexts),
    ) -> Outcome<Self> {
        let rows = file.rows_of(row_group);
        let blocks = TextBlocks::open(file, &column, rows.start + first, PAGE_BYTES)?;
        let (file, decoder) = (file.clone(), TextDecoder::new());
        Ok(Self { file, column, rows, blocks, decoder, skipped: first, next: None, failure, long_texts })
    }

    /// Reads the next block if it was not read yet.
    fn find_next(&mut self) -> ParquetResult<()> {
        if self.next.is_none() {
            let block = self.blocks.next(Vec::new()).map_err(|failure| keep(&self.failure, failure))?;
            self.next = block.filter(|block| block.first_row < self.rows.end);
        }
        Ok(())
    }

    /// Converts a block to a page of plain values.
    fn page_of(&mut self, block: &TextBlock) -> Outcome<Page> {
        let max = block.context.max_definition;
        let (mut levels, mut values) = (RunWriter::new(max), Vec::new());
        let mut rows = self.decoder.decode(block)?;
        while let Some(row) = rows.next_raw() {
            let bytes = match row.value {
                Value::TooLong(_) => {
                    self.long_texts.lock().insert(row.row);
                    &[]
                }
                _ => row.bytes,
            };
            match row.null_level {
                Some(level) => levels.append(level),
                None => {
                    levels.append(max);
                    values.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
                    values.extend_from_slice(bytes);
                }
            }
        }
        if max > 0 {
            let levels = levels.finish();
            values.splice(0..0, (levels.len() as u32).to_le_bytes().into_iter().chain(levels));
        }
        Ok(Page::DataPage {
            buf: values.into(),
            num_values: u32::try_from(block.rows).unwrap_or(u32::MAX),
            encoding: Encoding::PLAIN,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        })
    }
}

impl Iterator for LargeTexts {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for LargeTexts {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        if std::mem::take(&mut self.skipped) > 0 {
            let blocks = TextBlocks::open(&self.file, &self.column, self.rows.start, PAGE_BYTES);
            self.blocks = blocks.map_err(|failure| keep(&self.failure, failure))?;
        }
        self.find_next()?;
        let Some(block) = self.next.take() else { return Ok(None) };
        self.page_of(&block).map(Some).map_err(|failure| keep(&self.failure, failure))
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        let rows = match self.skipped {
            0 => {
                self.find_next()?;
                self.next.as_ref().map(|block| block.rows)
            }
            skipped => Some(skipped),
        };
        let to_usize = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        Ok(rows.map(|rows| PageMetadata { num_rows: Some(to_usize(rows)), num_levels: None, is_dict: false }))
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        if std::mem::take(&mut self.skipped) == 0 {
            self.find_next()?;
            self.next = None;
        }
        Ok(())
    }
}
