//! Reads the pages of a column in one row group, and groups them into blocks.

use crate::block::MAX_BLOCK_ROWS;
use crate::block::{BlockContext, PageBody, RawPage, TextBlock, UnpackedPage};
use crate::codec::{is_packed, verify, Unpacker};
use crate::dictionary::Dictionary;
use crate::file::{Chunk, ParquetFile};
use crate::headers::{read_header, HEADER_AHEAD};
use crate::large_dictionary::{is_large, read_large};
use crate::page_header::{DataPage, PageHeader, PageKind, ValueEncoding};
use crate::page_stream::{is_streamed, PageStream};
use crate::window::Window;
use gristmill_core::{Failure, Outcome};
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of bytes that are read ahead at the start of a block.
const MAX_AHEAD: u64 = 4 << 20;
/// Maximum size of the texts of a block if each of its rows had the longest entry of the dictionary.
const MAX_REPEATED_BYTES: u64 = 64 << 20;

/// Reader of the text column in one row group.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    context: Arc<BlockContext>,
    /// Offset of the next page header; then the end of the pages.
    at: u64,
    end: u64,
    /// Number of rows in pages that were not read yet.
    rows_left: u64,
    rows: u64,
    /// Number of rows to skip before the first returned row.
    skip: u64,
    /// Ratio of the size in the file to the size of the text, times 256.
    packed_ratio: u64,
    dictionary: Option<Arc<Dictionary>>,
    cut: Option<DividedPage>,
    stream: Option<PageStream>,
}

/// A page whose rows are divided into several blocks.
#[derive(Debug)]
struct DividedPage {
    page: RawPage,
    step: u32,
}

/// Pages of a block that is being assembled.
#[derive(Debug, Default)]
struct BlockDraft {
    pages: Vec<RawPage>,
    rows: u64,
    /// Size of the texts: for pages with texts the size that their headers state, for pages with dictionary indices an estimate.
    bytes: u64,
    /// Maximum size of the texts of pages with dictionary indices.
    repeated: u64,
}

/// The amount that rows of a page add to a block.
#[derive(Clone, Copy, Debug)]
struct PageLoad {
    rows: u64,
    bytes: u64,
    repeated: u64,
}

impl BlockDraft {
    fn has_space(&self, load: PageLoad, block_bytes: u64) -> bool {
        let bytes = self.bytes.saturating_add(load.bytes);
        self.pages.is_empty()
            || (bytes <= block_bytes.saturating_add(block_bytes / 4)
                && self.rows + load.rows <= MAX_BLOCK_ROWS
                && self.repeated.saturating_add(load.repeated) <= MAX_REPEATED_BYTES)
    }

    fn add(&mut self, page: RawPage, load: PageLoad) {
        self.pages.push(page);
        self.rows += load.rows;
        self.bytes = self.bytes.saturating_add(load.bytes);
        self.repeated = self.repeated.saturating_add(load.repeated);
    }
}

impl ChunkReader {
    /// Starts after the first `skip` of the `rows` rows of a row group.
    pub(crate) fn new(context: Arc<BlockContext>, chunk: &Chunk, rows: u64, skip: u64) -> Self {
        let size = chunk.range.end - chunk.range.start;
        Self {
            context,
            at: chunk.range.start,
            end: chunk.range.end,
            rows_left: rows,
            rows,
            skip,
            packed_ratio: size.saturating_mul(256).checked_div(chunk.unpacked).unwrap_or(256).clamp(1, 512),
            dictionary: None,
            cut: None,
            stream: None,
        }
    }

    /// Returns the next block; `first_row` is the number of its first row in the file, which must exist.
    pub(crate) fn read_block(
        &mut self,
        file: &ParquetFile,
        window: &mut Window,
        first_row: u64,
        block_bytes: usize,
        spare: Vec<u8>,
    ) -> Outcome<TextBlock> {
        let block_bytes = block_bytes as u64;
        let mut draft = BlockDraft::default();
        window.restart(self.at);
        self.read_ahead(file, window, block_bytes)?;
        while self.is_between_pages() && self.rows_left > 0 && draft.bytes < block_bytes {
            let (header, body) = self.read_header(file, window)?;
            let page = match &header.kind {
                PageKind::Data(page) => page.clone(),
                PageKind::Other => {
                    self.at = body.end;
                    continue;
                }
                PageKind::Dictionary { values, encoding } => {
                    self.check_dictionary(*encoding)?;
                    self.dictionary = Some(match is_large(self.context.codec, u64::from(header.unpacked)) {
                        true => {
                            window.count(body.end - body.start);
                            let place = (self.at, &header);
                            file.cached_dictionary(self.at, || read_large(file, &self.context, place, &body, *values))?
                        }
                        false => {
                            window.fill(file, body.start, body.end - body.start, HEADER_AHEAD, self.end)?;
                            Arc::new(self.read_dictionary(&header, *values, window.get(&body))?)
                        }
                    });
                    self.at = body.end;
                    window.restart(self.at);
                    continue;
                }
            };
            self.check_page(&page)?;
            if u64::from(page.values) <= self.skip {
                self.skip_page(&page, body.end);
                if draft.pages.is_empty() {
                    window.restart(self.at);
                }
                continue;
            }
            if is_streamed(self.context.codec, &header, &page) {
                if draft.pages.is_empty() {
                    self.open_stream(file, header, &page, &body, window)?;
                    continue;
                }
                break;
            }
            let load = self.measure_page(&header, &page);
            let step = self.max_rows_per_block(&page, load, block_bytes);
            if !draft.has_space(load, block_bytes) || (step < load.rows && !draft.pages.is_empty()) {
                break;
            }
            window.fill(file, body.start, body.end - body.start, HEADER_AHEAD, self.end)?;
            let raw = self.take_page(header, page, &body, window);
            if step < load.rows {
                let unpacked = Arc::new(self.unpack(&raw, window.get(&body))?);
                let page = RawPage { body: PageBody::Unpacked(unpacked), ..raw };
                self.cut = Some(DividedPage { page, step: u32::try_from(step).unwrap_or(u32::MAX) });
            } else {
                draft.add(raw, load);
            }
        }
        let piece = match self.next_streamed(block_bytes)? {
            None => self.next_cut(),
            piece => piece,
        };
        if let Some(page) = piece {
            draft.rows = u64::from(page.rows.end - page.rows.start);
            draft.pages.push(page);
        }
        self.finish_block(draft, first_row, window.take_bytes(self.at, spare))
    }

    /// Reads ahead about the size of a block, so that most blocks need few reads and few bytes are moved to the next block.
    fn read_ahead(&self, file: &ParquetFile, window: &mut Window, block_bytes: u64) -> Outcome<()> {
        let size = (block_bytes.saturating_mul(self.packed_ratio) / 256).clamp(HEADER_AHEAD, MAX_AHEAD);
        match self.is_between_pages() && self.rows_left > 0 && self.skip == 0 && self.at < self.end {
            true => window.fill(file, self.at, 1, size, self.end),
            false => Ok(()),
        }
    }

    /// Whether no page is partly returned.
    fn is_between_pages(&self) -> bool {
        self.cut.is_none() && self.stream.is_none()
    }

    /// Begins a page that is read in pieces.
    fn open_stream(
        &mut self,
        file: &ParquetFile,
        header: PageHeader,
        page: &DataPage,
        body: &Range<u64>,
        window: &mut Window,
    ) -> Outcome<()> {
        self.stream = Some(PageStream::open(file, &self.context, self.at, header, page, body)?);
        window.count(body.end - body.start);
        self.rows_left -= u64::from(page.values);
        self.at = body.end;
        Ok(())
    }

    /// Returns the next rows of a page that is read in pieces.
    fn next_streamed(&mut self, block_bytes: u64) -> Outcome<Option<RawPage>> {
        let Some(mut stream) = self.stream.take() else { return Ok(None) };
        let bytes = usize::try_from(block_bytes).unwrap_or(usize::MAX);
        while let Some(mut piece) = stream.next_piece(bytes)? {
            let rows = u64::from(piece.page.values);
            if rows <= self.skip {
                self.skip -= rows;
                continue;
            }
            piece.rows.start = u32::try_from(self.skip).unwrap_or(u32::MAX);
            self.skip = 0;
            if !stream.is_finished() {
                self.stream = Some(stream);
            }
            return Ok(Some(piece));
        }
        Ok(None)
    }

    fn finish_block(&self, draft: BlockDraft, first_row: u64, bytes: Vec<u8>) -> Outcome<TextBlock> {
        if draft.rows == 0 {
            return Err(self.context.place.damage(None, "its pages have fewer rows than its footer states"));
        }
        Ok(TextBlock {
            first_row,
            rows: draft.rows,
            row_group: self.context.place.row_group,
            context: Arc::clone(&self.context),
            pages: draft.pages,
            bytes,
            dictionary: self.dictionary.clone(),
        })
    }

    /// Moves past a page whose rows are all skipped.
    fn skip_page(&mut self, page: &DataPage, end: u64) {
        self.skip -= u64::from(page.values);
        self.rows_left -= u64::from(page.values);
        self.at = end;
    }

    /// Moves past a page, and returns it without the rows that are skipped.
    fn take_page(&mut self, header: PageHeader, page: DataPage, body: &Range<u64>, window: &Window) -> RawPage {
        let first = u32::try_from(self.skip).unwrap_or(u32::MAX);
        let rows = first..page.values;
        let offset = self.at;
        self.rows_left -= u64::from(page.values);
        (self.at, self.skip) = (body.end, 0);
        RawPage { offset, header, page, body: PageBody::Stored(window.range(body)), rows }
    }

    /// Returns the next rows of a page that is divided.
    fn next_cut(&mut self) -> Option<RawPage> {
        let mut cut = self.cut.take()?;
        let mut now = cut.page.clone();
        let end = now.rows.start.saturating_add(cut.step).min(now.rows.end);
        now.rows.end = end;
        cut.page.rows.start = end;
        if !cut.page.rows.is_empty() {
            self.cut = Some(cut);
        }
        Some(now)
    }

    /// Reads the header of the next page; also returns the range of its body.
    fn read_header(&self, file: &ParquetFile, window: &mut Window) -> Outcome<(PageHeader, Range<u64>)> {
        if self.at >= self.end {
            let found = self.rows - self.rows_left;
            return Err(self.damage(self.at, &format!("the pages end after {found} of {} rows", self.rows)));
        }
        read_header(file, window, self.at, self.end)?.map_err(|why| self.damage(self.at, why))
    }

    /// Refuses an invalid dictionary page.
    fn check_dictionary(&self, encoding: ValueEncoding) -> Outcome<()> {
        let offset = self.at;
        if self.dictionary.is_some() {
            return Err(self.damage(offset, "it is a second dictionary"));
        }
        if !matches!(encoding, ValueEncoding::Plain | ValueEncoding::Dictionary) {
            return Err(self.damage(offset, "its dictionary has an unknown encoding"));
        }
        Ok(())
    }

    fn read_dictionary(&self, header: &PageHeader, values: u32, body: &[u8]) -> Outcome<Dictionary> {
        let mut content = Vec::new();
        let unpacked = verify(header, body).and_then(|()| match is_packed(self.context.codec, None) {
            true => {
                let size = usize::try_from(header.unpacked).unwrap_or(usize::MAX);
                Unpacker::default().unpack(self.context.codec, body, size, &mut content)?;
                Dictionary::parse(&content, values)
            }
            false => Dictionary::parse(body, values),
        });
        unpacked.map_err(|why| self.damage(self.at, &why))
    }

    /// Checks the fields of a page that are known without its body.
    fn check_page(&self, page: &DataPage) -> Outcome<()> {
        let offset = self.at;
        if page.rows().is_some_and(|rows| rows != page.values) {
            return Err(self.damage(offset, "it has different numbers of rows and values"));
        }
        if u64::from(page.values) > self.rows_left {
            return Err(self.damage(offset, "it has more rows than its row group"));
        }
        match page.encoding {
            ValueEncoding::Dictionary if self.dictionary.is_none() && page.values > 0 => {
                Err(self.damage(offset, "it refers to a dictionary, and there is none"))
            }
            ValueEncoding::Other(number) if page.values > 0 => {
                Err(self.damage(offset, &format!("its encoding {number} is not one of texts")))
            }
            _ => Ok(()),
        }
    }

    /// Returns the amount that the rows of a page add to a block, without skipped rows.
    fn measure_page(&self, header: &PageHeader, page: &DataPage) -> PageLoad {
        let rows = u64::from(page.values) - self.skip;
        match (&self.dictionary, page.encoding) {
            (Some(dictionary), ValueEncoding::Dictionary) => PageLoad {
                rows,
                bytes: rows.saturating_mul(dictionary.average() as u64),
                repeated: rows.saturating_mul(dictionary.longest() as u64),
            },
            _ => PageLoad { rows, bytes: u64::from(header.unpacked), repeated: 0 },
        }
    }

    /// Returns the maximum number of rows of a page in one block.
    fn max_rows_per_block(&self, page: &DataPage, load: PageLoad, block_bytes: u64) -> u64 {
        match (&self.dictionary, page.encoding) {
            (Some(dictionary), ValueEncoding::Dictionary) => {
                let by_average = block_bytes / (dictionary.average() as u64).max(1);
                let by_longest = MAX_REPEATED_BYTES / (dictionary.longest() as u64).max(1);
                // A page that is at most twice as large as a block is not divided.
                let is_whole = load.bytes <= block_bytes.saturating_mul(2);
                let by_average = if is_whole { load.rows } else { by_average };
                by_average.min(by_longest).clamp(1, MAX_BLOCK_ROWS)
            }
            _ => MAX_BLOCK_ROWS,
        }
    }

    /// Decompresses a page that is divided.
    fn unpack(&self, raw: &RawPage, body: &[u8]) -> Outcome<UnpackedPage> {
        let mut unpacked = UnpackedPage::default();
        let levels = usize::try_from(raw.page.level_bytes()).unwrap_or(usize::MAX);
        let split = verify(&raw.header, body).map(|()| body.split_at_checked(levels));
        let (levels, packed) = match split {
            Ok(Some(parts)) => parts,
            Ok(None) => return Err(self.damage(raw.offset, "its levels are larger than the page")),
            Err(why) => return Err(self.damage(raw.offset, &why)),
        };
        unpacked.levels.extend_from_slice(levels);
        if is_packed(self.context.codec, Some(&raw.page)) {
            let size = usize::try_from(raw.header.unpacked).unwrap_or(usize::MAX).saturating_sub(levels.len());
            let result = Unpacker::default().unpack(self.context.codec, packed, size, &mut unpacked.content);
            result.map_err(|why| self.damage(raw.offset, &why))?;
        } else {
            unpacked.content.extend_from_slice(packed);
        }
        Ok(unpacked)
    }

    fn damage(&self, offset: u64, why: &str) -> Failure {
        self.context.place.damage(Some(offset), why)
    }
}
