//! Pages of a column whose dictionary is too large for memory, for the decoders of the crate `parquet`. The texts are read block by block
//! from the file with the dictionary, and passed to the decoders in PLAIN encoding.

use super::failure::{keep, FirstFailure};
use crate::block::TextBlock;
use crate::blocks::TextBlocks;
use crate::columns::TextColumn;
use crate::decoder::{TextDecoder, Value};
use crate::file::ParquetFile;
use crate::runs::RunWriter;
use gristmill_core::Outcome;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::Result as ParquetResult;
use std::ops::Range;

/// Target size in bytes of the texts of a page.
const PAGE_BYTES: usize = 4 << 20;

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
}

impl LargeTexts {
    /// Opens a column of a row group at the row `first`; the rows before it are skipped.
    pub(super) fn open(
        file: &ParquetFile,
        column: TextColumn,
        row_group: usize,
        first: u64,
        failure: FirstFailure,
    ) -> Outcome<Self> {
        let rows = file.rows_of(row_group);
        let blocks = TextBlocks::open(file, &column, rows.start + first, PAGE_BYTES)?;
        let (file, decoder) = (file.clone(), TextDecoder::new());
        Ok(Self { file, column, rows, blocks, decoder, skipped: first, next: None, failure })
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
        let (place, max) = (&block.context.place, block.context.max_definition);
        let (mut levels, mut values) = (RunWriter::new(max), Vec::new());
        let mut rows = self.decoder.decode(block)?;
        while let Some(row) = rows.next_raw() {
            match (row.value, row.null_level) {
                (Value::TooLong(bytes), _) => {
                    let why = format!("a text of {bytes} bytes is too long to be read");
                    return Err(place.refusal(&why, "leave the column out, or shorten its texts"));
                }
                (_, Some(level)) => levels.append(level),
                (_, None) => {
                    levels.append(max);
                    values.extend_from_slice(&(row.bytes.len() as u32).to_le_bytes());
                    values.extend_from_slice(row.bytes);
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
