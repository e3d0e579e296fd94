//! Reading of dictionaries that are too large for memory.

use crate::block::BlockContext;
use crate::columns::TextColumn;
use crate::dictionary::{bad_count, Dictionary, DictionaryContent, DictionaryEntry};
use crate::dictionary_file::DictionaryFile;
use crate::file::ParquetFile;
use crate::page_header::PageHeader;
use crate::page_stream::{page_failure, PageBytes, MAX_WHOLE_BYTES};
use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_storage::fs::{BufferedFile, Fs as _, RealFs};
use gristmill_storage::location::is_remote;
use gristmill_storage::read::open_read;
use gristmill_storage::scratch::Scratch;
use parquet::basic::CompressionCodec;
use std::io::{self, Read as _};
use std::ops::Range;
use std::sync::Arc;

const BUFFER_BYTES: usize = 256 << 10;
/// Maximum number of entries, whose locations are in memory.
const MAX_ENTRIES: u32 = 1 << 24;
/// Number of entries between two checks for cancellation.
const CHECKED_ENTRIES: usize = 1 << 16;

/// Whether a dictionary is too large for memory.
pub(crate) fn is_large(codec: CompressionCodec, unpacked: u64) -> bool {
    use CompressionCodec as C;
    unpacked > u64::from(MAX_WHOLE_BYTES)
        && matches!(codec, C::UNCOMPRESSED | C::SNAPPY | C::GZIP | C::BROTLI | C::ZSTD)
}

impl ParquetFile {
    /// Returns a leaf column whose dictionary in a row group is too large for memory; `None` for other columns.
    pub(crate) fn large_column(&self, row_group: usize, leaf: usize, codec: CompressionCodec) -> Option<TextColumn> {
        TextColumn::of_leaf(self, leaf).filter(|_| is_large(codec, self.dictionary_bytes(row_group, leaf)))
    }
}

/// Reads the `count` entries of the dictionary whose header is at `offset` and whose body is at `body`, and copies them to a scratch file
/// if they are compressed or in a store. Only the locations of entries are in memory.
pub(crate) fn read_large(
    file: &ParquetFile,
    context: &BlockContext,
    (offset, header): (u64, &PageHeader),
    body: &Range<u64>,
    count: u32,
) -> Outcome<Dictionary> {
    if count > header.unpacked / 4 {
        return Err(context.place.damage(Some(offset), &bad_count(u64::from(header.unpacked), u64::from(count))));
    }
    if count > MAX_ENTRIES {
        let why = format!("its dictionary has {count} entries, and at most {MAX_ENTRIES} are read");
        return Err(context.place.refusal(&why, "write the file again with smaller row groups"));
    }
    let cancel = Cancel::of_thread();
    let failure = |error: &io::Error| page_failure(context, offset, error);
    let mut page = PageBytes::open(file, context.codec, body).map_err(|error| failure(&error))?;
    // In a store, reading each entry would be a request, so the dictionary is copied.
    let is_stored = context.codec == CompressionCodec::UNCOMPRESSED && !is_remote(file.file().path());
    let scratch = if is_stored { None } else { Some(Scratch::create(None)?) };
    let path = scratch.as_ref().map(|scratch| scratch.path().join("dictionary"));
    let mut copy = match &path {
        Some(path) => Some(BufferedFile::new(RealFs.create_file(path)?, BUFFER_BYTES).with_cached_pages()),
        None => None,
    };
    let mut entries = Vec::new();
    let (mut at, mut buffer) = (0_u32, vec![0; BUFFER_BYTES]);
    for number in 0..count as usize {
        if number % CHECKED_ENTRIES == 0 {
            cancel.check()?;
        }
        let mut size = [0; 4];
        page.content.read_exact(&mut size).map_err(|error| failure(&error))?;
        let size = u32::from_le_bytes(size);
        let end = at.checked_add(4).and_then(|begin| begin.checked_add(size)).filter(|end| *end <= header.unpacked);
        let Some(end) = end else { return Err(context.place.damage(Some(offset), "an entry is longer than its page")) };
        let mut left = size as usize;
        while left > 0 {
            let part = buffer.get_mut(..left.min(BUFFER_BYTES)).unwrap_or_default();
            page.content.read_exact(part).map_err(|error| failure(&error))?;
            if let Some(copy) = &mut copy {
                copy.write_all(part).map_err(with_hint)?;
            }
            left -= part.len();
        }
        // The copy has no lengths between the entries.
        let begin = at + 4 - if path.is_some() { 4 * (entries.len() as u32 + 1) } else { 0 };
        entries.push(DictionaryEntry { at: begin, size });
        at = end;
    }
    page.check(header.checksum).map_err(|error| failure(&error))?;
    let content = match (copy, &path) {
        (Some(copy), Some(path)) => {
            copy.close().map_err(with_hint)?;
            DictionaryFile::new(Arc::new(open_read(path)?), 0, scratch)
        }
        _ => DictionaryFile::new(Arc::clone(file.file()), body.start, None),
    };
    Ok(Dictionary::new(DictionaryContent::File(content), entries))
}

fn with_hint(failure: Failure) -> Failure {
    failure.with_hint("a large dictionary needs scratch space: name a folder that has it with --scratch, or by TMPDIR")
}
