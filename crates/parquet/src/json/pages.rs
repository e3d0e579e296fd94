//! Pages for the decoders of the crate `parquet`. Sizes are checked first, because the decoders reserve memory of any size that a page
//! states.

use super::failure::{keep, FirstFailure};
use super::large_texts::{LargeTexts, LongTexts};
use crate::bits::u32_at;
use crate::check::PageCounts;
use crate::codec::{is_packed, verify, Unpacker};
use crate::delta::DeltaReader;
use crate::file::{Chunk, ParquetFile};
use crate::headers::read_header;
use crate::page_header::{DataPage, LevelLayout, PageHeader, PageKind, ValueEncoding};
use crate::place::ChunkLocation;
use crate::window::Window;
use bytes::Bytes;
use gristmill_arrow::BadText;
use gristmill_core::Outcome;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::basic::{CompressionCodec, Encoding};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use std::ops::Range;
use std::sync::Arc;

/// Maximum size after decompression of a page that is checked as a whole.
const MAX_WHOLE_PAGE_BYTES: u32 = 256 << 20;

/// One row group, in the interface of the decoders.
pub(crate) struct JsonRowGroup<'a> {
    pub(crate) file: &'a ParquetFile,
    pub(crate) metadata: &'a ParquetMetaData,
    pub(crate) row_group: usize,
    /// Number of the first row that is needed.
    pub(crate) first: u64,
    pub(crate) failure: FirstFailure,
    pub(crate) long_texts: LongTexts,
}

impl JsonRowGroup<'_> {
    /// Returns the reason why a text of a row was not passed to the decoders, if one was not.
    pub(crate) fn long_text(&self, row: u64) -> Option<BadText> {
        let rows = self.long_texts.lock();
        rows.contains(&row).then_some(BadText::TooLong)
    }
}

impl RowGroups for JsonRowGroup<'_> {
    fn num_rows(&self) -> usize {
        let rows = self.file.rows_of(self.row_group);
        usize::try_from(rows.end - rows.start).unwrap_or(usize::MAX)
    }

    fn column_chunks(&self, leaf: usize) -> ParquetResult<Box<dyn PageIterator>> {
        let place = self.file.chunk_location(self.row_group, leaf);
        let chunk = self.file.chunk(self.row_group, leaf, &place);
        let chunk = chunk.map_err(|failure| keep(&self.failure, failure))?;
        if let Some(column) = self.file.large_column(self.row_group, leaf, chunk.codec) {
            let shared = (Arc::clone(&self.failure), Arc::clone(&self.long_texts));
            let texts = LargeTexts::open(self.file, column, self.row_group, self.first, shared);
            let texts = texts.map_err(|failure| keep(&self.failure, failure))?;
            return Ok(Box::new(SingleChunk(Some(Box::new(texts)))));
        }
        let schema = self.metadata.file_metadata().schema_descr();
        let levels = schema.columns().get(leaf).map(|column| (column.max_rep_level() > 0, column.max_def_level() > 0));
        let (has_repetition, has_definition) = levels.unwrap_or_default();
        let levels = Levels { has_repetition, has_definition };
        let pages = ChunkPages::new(self.file.clone(), place, &chunk, levels, Arc::clone(&self.failure));
        Ok(Box::new(SingleChunk(Some(Box::new(pages)))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(self.metadata.row_groups().get(self.row_group).into_iter())
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

/// Iterator over the pages of a column in a single row group.
struct SingleChunk(Option<Box<dyn PageReader>>);

impl Iterator for SingleChunk {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for SingleChunk {}

/// The kinds of levels that a column has.
#[derive(Clone, Copy)]
struct Levels {
    has_repetition: bool,
    has_definition: bool,
}

/// Pages of a column in a row group.
pub(crate) struct ChunkPages {
    file: ParquetFile,
    place: ChunkLocation,
    codec: CompressionCodec,
    levels: Levels,
    failure: FirstFailure,
    window: Window,
    unpacker: Unpacker,
    /// Offset of the next header; then the end of the pages.
    at: u64,
    end: u64,
    /// The header of the next page and the range of its body, if they were read.
    next: Option<(PageHeader, Range<u64>)>,
}

impl ChunkPages {
    fn new(file: ParquetFile, place: ChunkLocation, chunk: &Chunk, levels: Levels, failure: FirstFailure) -> Self {
        Self {
            file,
            place,
            codec: chunk.codec,
            levels,
            failure,
            window: Window::default(),
            unpacker: Unpacker::default(),
            at: chunk.range.start,
            end: chunk.range.end,
            next: None,
        }
    }

    /// Reads all pages. `values` is the number of values that the footer states.
    pub(crate) fn check(file: &ParquetFile, place: ChunkLocation, chunk: &Chunk, values: u64) -> Outcome<PageCounts> {
        let levels = Levels { has_repetition: false, has_definition: false };
        let failure = FirstFailure::default();
        let mut pages = Self::new(file.clone(), place, chunk, levels, Arc::clone(&failure));
        let mut counts = PageCounts::default();
        let walked = pages.check_each(values, &mut counts);
        let first = failure.lock().ok().and_then(|mut first| first.take());
        match (walked, first) {
            (Ok(()), _) => Ok(counts),
            (Err(_), Some(failure)) => Err(failure),
            (Err(error), None) => Err(pages.place.damage(Some(pages.at), &error.to_string())),
        }
    }

    fn check_each(&mut self, values: u64, counts: &mut PageCounts) -> ParquetResult<()> {
        let mut found = 0_u64;
        loop {
            self.find_next()?;
            let Some((header, body)) = self.next.take() else { break };
            // A larger page is decompressed in pieces when its texts are read.
            if header.unpacked <= MAX_WHOLE_PAGE_BYTES {
                self.read_body(&header, &body)?;
            }
            counts.pages += 1;
            counts.without_checksum += u64::from(header.checksum.is_none());
            if let PageKind::Data(page) = &header.kind {
                found += u64::from(page.values);
            }
            self.at = body.end;
        }
        match found == values {
            true => Ok(()),
            false => Err(self.damage(&format!("the pages have {found} values, and the footer states {values}"))),
        }
    }

    /// Reads headers up to a page with values or a dictionary.
    fn find_next(&mut self) -> ParquetResult<()> {
        while self.next.is_none() && self.at < self.end {
            self.window.restart(self.at);
            let header = read_header(&self.file, &mut self.window, self.at, self.end);
            let header = header.map_err(|failure| keep(&self.failure, failure))?;
            let (header, body) = header.map_err(|why| self.damage(why))?;
            match header.kind {
                PageKind::Other => self.at = body.end,
                _ => self.next = Some((header, body)),
            }
        }
        Ok(())
    }

    /// Reads, checks and decompresses the body of a page.
    fn read_body(&mut self, header: &PageHeader, body: &Range<u64>) -> ParquetResult<Bytes> {
        let filled = self.window.fill(&self.file, body.start, body.end - body.start, 0, self.end);
        filled.map_err(|failure| keep(&self.failure, failure))?;
        let stored = self.window.get(body);
        let page = match &header.kind {
            PageKind::Data(page) => Some(page),
            _ => None,
        };
        verify(header, stored).map_err(|why| self.damage(&why))?;
        if !is_packed(self.codec, page) {
            return Ok(Bytes::copy_from_slice(stored));
        }
        let levels = usize::try_from(page.map_or(0, DataPage::level_bytes)).unwrap_or(usize::MAX);
        let (levels, packed) = stored.split_at_checked(levels).unwrap_or_default();
        let size = usize::try_from(header.unpacked).unwrap_or(usize::MAX).saturating_sub(levels.len());
        let mut content = Vec::new();
        let unpacked = self.unpacker.unpack(self.codec, packed, size, &mut content);
        content.splice(0..0, levels.iter().copied());
        unpacked.map_err(|why| self.damage(&why))?;
        Ok(content.into())
    }

    fn damage(&self, why: &str) -> ParquetError {
        keep(&self.failure, self.place.damage(Some(self.at), why))
    }
}

impl Iterator for ChunkPages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for ChunkPages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        self.find_next()?;
        let Some((header, body)) = self.next.take() else { return Ok(None) };
        let buf = self.read_body(&header, &body)?;
        let page = match &header.kind {
            PageKind::Data(page) => data_page(page, buf, self.levels),
            PageKind::Dictionary { values, encoding } => match encoding_of(*encoding) {
                Some(encoding) => Ok(Page::DictionaryPage { buf, num_values: *values, encoding, is_sorted: false }),
                None => Err("its dictionary has an unknown encoding"),
            },
            PageKind::Other => Err("it has no values"),
        };
        let page = page.map_err(|why| self.damage(why))?;
        self.at = body.end;
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        self.find_next()?;
        Ok(self.next.as_ref().map(|(header, _)| match &header.kind {
            PageKind::Data(page) => PageMetadata {
                num_rows: page.rows().map(|rows| rows as usize),
                num_levels: Some(page.values as usize),
                is_dict: false,
            },
            _ => PageMetadata { num_rows: None, num_levels: None, is_dict: true },
        }))
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        self.find_next()?;
        if let Some((_, body)) = self.next.take() {
            self.at = body.end;
        }
        Ok(())
    }
}

fn data_page(page: &DataPage, buf: Bytes, levels: Levels) -> Result<Page, &'static str> {
    check_lengths(page, &buf, levels)?;
    let encoding = encoding_of(page.encoding).ok_or("its encoding is unknown")?;
    match page.levels {
        LevelLayout::Prefixed { definition_is_runs, repetition_is_runs } => {
            if (levels.has_definition && !definition_is_runs) || (levels.has_repetition && !repetition_is_runs) {
                return Err("its levels have a deprecated encoding");
            }
            Ok(Page::DataPage {
                buf,
                num_values: page.values,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            })
        }
        LevelLayout::Separate { repetition, definition, is_packed, rows, nulls } => {
            if nulls > page.values {
                return Err("it states more nulls than values");
            }
            Ok(Page::DataPageV2 {
                buf,
                num_values: page.values,
                encoding,
                num_nulls: nulls,
                num_rows: rows,
                def_levels_byte_len: definition,
                rep_levels_byte_len: repetition,
                is_compressed: is_packed,
                statistics: None,
            })
        }
    }
}

/// Checks that a page does not have more text lengths than values.
fn check_lengths(page: &DataPage, buf: &[u8], levels: Levels) -> Result<(), &'static str> {
    let lists = match page.encoding {
        ValueEncoding::DeltaLength => 1,
        ValueEncoding::DeltaStrings => 2,
        _ => return Ok(()),
    };
    let why = "its lengths are damaged";
    let mut rest = match page.levels {
        LevelLayout::Separate { .. } => buf.get(usize::try_from(page.level_bytes()).unwrap_or(usize::MAX)..),
        LevelLayout::Prefixed { .. } => {
            let mut rest = Some(buf);
            for has_levels in [levels.has_repetition, levels.has_definition] {
                if has_levels {
                    rest = rest.and_then(|bytes| bytes.get((u32_at(bytes, 0)? as usize).saturating_add(4)..));
                }
            }
            rest
        }
    }
    .ok_or(why)?;
    for _ in 0..lists {
        // A page that has only nulls may have no lengths.
        if rest.is_empty() {
            break;
        }
        let (lengths, after) = DeltaReader::open(rest).map_err(|_| why)?;
        if lengths.left() > page.values as usize {
            return Err(why);
        }
        rest = after;
    }
    Ok(())
}

fn encoding_of(encoding: ValueEncoding) -> Option<Encoding> {
    Some(match encoding {
        ValueEncoding::Plain => Encoding::PLAIN,
        ValueEncoding::Dictionary => Encoding::RLE_DICTIONARY,
        ValueEncoding::DeltaLength => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        ValueEncoding::DeltaStrings => Encoding::DELTA_BYTE_ARRAY,
        ValueEncoding::Other(3) => Encoding::RLE,
        ValueEncoding::Other(5) => Encoding::DELTA_BINARY_PACKED,
        ValueEncoding::Other(9) => Encoding::BYTE_STREAM_SPLIT,
        ValueEncoding::Other(_) => return None,
    })
}
