//! Decompression of a very large page in pieces. Each piece becomes a small page of whole values.

use crate::bits::u32_at;
use crate::block::{BlockContext, PageBody, RawPage, UnpackedPage};
use crate::file::ParquetFile;
use crate::page_header::{DataPage, LevelLayout, PageHeader, ValueEncoding};
use crate::place::io_failure;
use crate::runs::{InvalidRuns, RunReader, RunWriter};
use crate::snappy::SnappyReader;
use gristmill_core::{Failure, Outcome};
use parquet::basic::CompressionCodec;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Maximum size in bytes after decompression of a page that is read as a whole.
pub(crate) const MAX_WHOLE_BYTES: u32 = 32 << 20;
/// Maximum number of rows of a page that is read in pieces, because all levels are in memory.
const MAX_ROWS: u32 = 1 << 20;
/// Maximum size in bytes of the levels of such a page.
const MAX_LEVEL_BYTES: u64 = 8 << 20;
const BUFFER_BYTES: usize = 256 << 10;

/// A page that is read in pieces.
pub(crate) struct PageStream {
    context: Arc<BlockContext>,
    offset: u64,
    header: PageHeader,
    body: BodyReader,
    content: Box<dyn Read + Send>,
    /// Definition level of each remaining row.
    levels: std::vec::IntoIter<u8>,
    /// The beginning of a value that continues in the next piece.
    rest: Vec<u8>,
}

/// The decompressed bytes of a page, as a stream.
pub(crate) struct PageBytes {
    body: BodyReader,
    pub(crate) content: Box<dyn Read + Send>,
}

impl PageBytes {
    /// Opens the body of a page.
    pub(crate) fn open(file: &ParquetFile, codec: CompressionCodec, body: &Range<u64>) -> io::Result<Self> {
        let body = BodyReader::new(file, body);
        Ok(Self { content: open_content(body.clone(), codec)?, body })
    }

    /// Compares the whole body with its checksum, if there is one.
    pub(crate) fn check(mut self, checksum: Option<u32>) -> io::Result<()> {
        self.body.check(checksum)
    }
}

/// Reads the body of a page and computes its checksum. Clones share their position.
#[derive(Clone)]
struct BodyReader {
    file: ParquetFile,
    state: Arc<Mutex<BodyState>>,
}

struct BodyState {
    at: u64,
    end: u64,
    checksum: crc32fast::Hasher,
}

/// Whether a page is read in pieces.
pub(crate) fn is_streamed(codec: CompressionCodec, header: &PageHeader, page: &DataPage) -> bool {
    use CompressionCodec as C;
    header.unpacked > MAX_WHOLE_BYTES
        && page.values <= MAX_ROWS
        && page.encoding == ValueEncoding::Plain
        && matches!(codec, C::UNCOMPRESSED | C::SNAPPY | C::GZIP | C::BROTLI | C::ZSTD)
}

impl PageStream {
    /// Opens the page whose header is at `offset` and whose body is at `body`.
    pub(crate) fn open(
        file: &ParquetFile,
        context: &Arc<BlockContext>,
        offset: u64,
        header: PageHeader,
        page: &DataPage,
        body: &Range<u64>,
    ) -> Outcome<Self> {
        let mut stream = Self {
            context: Arc::clone(context),
            offset,
            header,
            body: BodyReader::new(file, body),
            content: Box::new(io::empty()),
            levels: Vec::new().into_iter(),
            rest: Vec::new(),
        };
        stream.start(page).map_err(|error| stream.failure(&error))?;
        Ok(stream)
    }

    /// Reads the levels.
    fn start(&mut self, page: &DataPage) -> io::Result<()> {
        let max_definition = self.context.max_definition;
        let mut levels = Vec::new();
        let mut is_packed = self.context.codec != CompressionCodec::UNCOMPRESSED;
        if let LevelLayout::Separate { repetition, is_packed: page_is_packed, .. } = page.levels {
            levels = read_levels(&mut self.body, page.level_bytes())?;
            levels.drain(..levels.len().min(repetition as usize));
            is_packed &= page_is_packed;
        }
        self.content = open_content(
            self.body.clone(),
            if is_packed { self.context.codec } else { CompressionCodec::UNCOMPRESSED },
        )?;
        if let LevelLayout::Prefixed { definition_is_runs, .. } = page.levels {
            if max_definition > 0 {
                if !definition_is_runs {
                    return Err(damaged("its definition levels have a deprecated encoding"));
                }
                let mut size = [0; 4];
                self.content.read_exact(&mut size)?;
                levels = read_levels(&mut self.content, u64::from(u32::from_le_bytes(size)))?;
            }
        }
        let rows = page.values as usize;
        let mut row_levels = Vec::with_capacity(rows);
        if max_definition == 0 {
            row_levels.resize(rows, 0);
        } else {
            let width = u32::BITS - max_definition.leading_zeros();
            let mut runs = RunReader::new(&levels, width).ok_or_else(|| damaged("its levels are damaged"))?;
            let read = runs.read_each(rows, |level| {
                row_levels.push(u8::try_from(level).map_err(|_| InvalidRuns)?);
                if level <= max_definition {
                    Ok(())
                } else {
                    Err(InvalidRuns)
                }
            });
            read.map_err(|_| damaged("its levels are damaged"))?;
        }
        self.levels = row_levels.into_iter();
        Ok(())
    }

    /// Returns the next rows, with about `bytes` of text; `None` after the last row.
    pub(crate) fn next_piece(&mut self, bytes: usize) -> Outcome<Option<RawPage>> {
        if self.is_finished() {
            return Ok(None);
        }
        let piece = self.read_piece(bytes).map_err(|error| self.failure(&error))?;
        Ok(Some(piece))
    }

    /// Whether a row with this definition level has a value.
    fn is_value(&self, level: u8) -> bool {
        u32::from(level) == self.context.max_definition
    }

    /// Whether all rows were returned.
    pub(crate) fn is_finished(&self) -> bool {
        self.levels.as_slice().is_empty()
    }

    fn read_piece(&mut self, bytes: usize) -> io::Result<RawPage> {
        let mut content = std::mem::take(&mut self.rest);
        let values = self.levels.as_slice().iter().filter(|level| self.is_value(**level)).count();
        let (mut count, mut end, mut wanted) = (0, 0, bytes.max(4));
        while count < values && (count == 0 || content.len() < bytes) {
            let missing = wanted.saturating_sub(content.len()) as u64;
            let read = (&mut self.content).take(missing).read_to_end(&mut content)? as u64;
            while count < values {
                let Some(size) = u32_at(&content, end) else { break };
                let after = end + 4 + size as usize;
                if after > content.len() {
                    // A single value may be larger than a block.
                    wanted = if count == 0 { after } else { wanted };
                    break;
                }
                (count, end) = (count + 1, after);
            }
            if read < missing && count < values {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.rest = content.get(end..).unwrap_or_default().to_vec();
        content.truncate(end);
        let piece = self.take_rows(count, content);
        if self.is_finished() {
            self.body.check(self.header.checksum)?;
        }
        Ok(piece)
    }

    /// Returns a page of the next rows with `values` values in `content`, including nulls after the last of these values.
    fn take_rows(&mut self, mut values: usize, content: Vec<u8>) -> RawPage {
        let (mut levels, mut rows) = (RunWriter::new(self.context.max_definition), 0);
        while let Some(level) = self.levels.as_slice().first().copied() {
            let is_value = self.is_value(level);
            if is_value && values == 0 {
                break;
            }
            values -= usize::from(is_value);
            levels.append(u32::from(level));
            rows += 1;
            self.levels.next();
        }
        let levels = levels.finish();
        let layout =
            LevelLayout::Separate { repetition: 0, definition: levels.len() as u32, is_packed: false, rows, nulls: 0 };
        RawPage {
            offset: self.offset,
            header: self.header.clone(),
            page: DataPage { values: rows, encoding: ValueEncoding::Plain, levels: layout },
            body: PageBody::Unpacked(Arc::new(UnpackedPage { levels, content })),
            rows: 0..rows,
        }
    }

    fn failure(&self, error: &io::Error) -> Failure {
        page_failure(&self.context, self.offset, error)
    }
}

/// Returns the failure for an error while a page is read in pieces.
pub(crate) fn page_failure(context: &BlockContext, offset: u64, error: &io::Error) -> Failure {
    match error.kind() {
        _ if error.raw_os_error().is_some() => io_failure(&context.place.path, error),
        io::ErrorKind::UnexpectedEof => context.place.damage(Some(offset), "its values end early"),
        _ => context.place.damage(Some(offset), &error.to_string()),
    }
}

impl BodyReader {
    fn new(file: &ParquetFile, body: &Range<u64>) -> Self {
        let state = BodyState { at: body.start, end: body.end, checksum: crc32fast::Hasher::new() };
        Self { file: file.clone(), state: Arc::new(Mutex::new(state)) }
    }

    /// Compares the whole body with its checksum, if there is one.
    fn check(&mut self, checksum: Option<u32>) -> io::Result<()> {
        io::copy(self, &mut io::sink())?;
        let computed = self.state.lock().map(|state| state.checksum.clone().finalize()).ok();
        match checksum {
            Some(checksum) if computed != Some(checksum) => Err(damaged("its checksum does not match")),
            _ => Ok(()),
        }
    }
}

impl std::fmt::Debug for PageStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageStream").field("offset", &self.offset).finish_non_exhaustive()
    }
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.state.lock().map_err(|_| damaged("it cannot be read"))?;
        let left = usize::try_from(state.end - state.at).unwrap_or(usize::MAX);
        let most = buffer.len().min(left);
        let target = buffer.get_mut(..most).unwrap_or_default();
        let count = self.file.file().read_at(target, state.at)?;
        state.checksum.update(target.get(..count).unwrap_or_default());
        state.at += count as u64;
        Ok(count)
    }
}

/// Returns a reader of the decompressed content.
fn open_content(body: BodyReader, codec: CompressionCodec) -> io::Result<Box<dyn Read + Send>> {
    let buffered = BufReader::with_capacity(BUFFER_BYTES, body);
    Ok(match codec {
        CompressionCodec::SNAPPY => Box::new(SnappyReader::new(buffered)),
        CompressionCodec::GZIP => Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
        CompressionCodec::BROTLI => Box::new(brotli::Decompressor::new(buffered, BUFFER_BYTES)),
        CompressionCodec::ZSTD => Box::new(zstd::stream::read::Decoder::with_buffer(buffered)?),
        _ => Box::new(buffered),
    })
}

fn read_levels(reader: &mut dyn Read, size: u64) -> io::Result<Vec<u8>> {
    if size > MAX_LEVEL_BYTES {
        return Err(damaged("its levels are too large"));
    }
    let mut levels = vec![0; usize::try_from(size).unwrap_or_default()];
    reader.read_exact(&mut levels).map(|()| levels)
}

fn damaged(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
