//! An open Parquet file with its checked footer.

use crate::dictionary::Dictionary;
use crate::footer::{scan_footer, FooterScan};
use crate::json_schema::{parse_for_json, JsonSchema};
use crate::page_header::{PageHeader, PageKind};
use crate::place::{io_failure, ChunkLocation, DAMAGE_HINT, READING};
use gristmill_core::catch_panic::catch_panic;
use gristmill_core::lfs::{LFS_HINT, LFS_POINTER};
use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Mutex, Outcome};
use gristmill_storage::read::ReadFile;
use parquet::basic::{CompressionCodec, Type};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Maximum size of the metadata in bytes.
const MAX_METADATA_BYTES: u64 = 64 << 20;
/// First and last bytes of a file.
pub(crate) const MAGIC: [u8; 4] = *b"PAR1";
/// First and last bytes of a file whose footer is encrypted.
const ENCRYPTED_MAGIC: [u8; 4] = *b"PARE";
/// Size in bytes of the end of the file: the length of the metadata, and the magic bytes.
const TAIL_BYTES: u64 = 8;
/// Number of bytes at the beginning from which other formats are recognized, for the message.
const HEAD_BYTES: usize = 64;

/// Maximum number of large dictionaries in the cache; their entries are in files.
const MAX_CACHED_DICTIONARIES: usize = 2;
/// Number of bytes that are read to find the header of a dictionary, which has no statistics.
const DICTIONARY_HEADER_BYTES: usize = 256;

/// A Parquet file with a parsed footer. Cheap to clone; all reads are positional.
#[derive(Clone, Debug)]
pub struct ParquetFile(Arc<FileParts>);

#[derive(Debug)]
struct FileParts {
    file: Arc<ReadFile>,
    metadata: Arc<ParquetMetaData>,
    scan: FooterScan,
    /// For each row group, the number of rows from the beginning of the file to its end.
    row_ends: Vec<u64>,
    /// Offset of the metadata; pages end before it.
    metadata_start: u64,
    json: OnceLock<JsonSchema>,
    /// Cached large dictionaries with their offsets, the most recent one at the end.
    dictionaries: Mutex<VecDeque<(u64, Arc<Dictionary>)>>,
}

/// Location of the pages of a column in a row group.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) range: Range<u64>,
    pub(crate) codec: CompressionCodec,
    /// Size of the pages after decompression, as the footer states it.
    pub(crate) unpacked: u64,
}

impl ParquetFile {
    /// Reads and checks the footer. Refuses an encrypted footer, and any file that is not a complete Parquet file, with the format that it
    /// has instead.
    pub fn open(file: Arc<ReadFile>) -> Outcome<Self> {
        let (bytes, metadata_start) = read_metadata(&file)?;
        let path = file.path();
        let damaged = |why: String| Failure::data(READING, why).on(Subject::path(path)).with_hint(DAMAGE_HINT);
        let scan = scan_footer(&bytes).map_err(|_| damaged("its footer is damaged".to_owned()))?;
        if scan.is_hidden {
            return Err(encrypted(path, "columns of it are encrypted"));
        }
        let parsed = catch_panic(|| ParquetMetaDataReader::decode_metadata(&bytes));
        let metadata = match parsed {
            Some(Ok(metadata)) => Arc::new(metadata),
            Some(Err(error)) => return Err(damaged(format!("its footer cannot be read ({error})"))),
            None => return Err(damaged("its footer cannot be read".to_owned())),
        };
        let row_ends = count_rows(&metadata).map_err(|why| damaged(why.to_owned()))?;
        let (json, dictionaries) = (OnceLock::new(), Mutex::default());
        Ok(Self(Arc::new(FileParts { file, metadata, scan, row_ends, metadata_start, json, dictionaries })))
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.0.row_ends.last().copied().unwrap_or_default()
    }

    /// Returns the number of row groups.
    pub fn row_groups(&self) -> usize {
        self.0.row_ends.len()
    }

    /// Returns the rows of a row group, numbered over the file; empty after the last row group.
    pub fn rows_of(&self, row_group: usize) -> Range<u64> {
        let begin = match row_group.checked_sub(1) {
            Some(before) => self.0.row_ends.get(before).copied().unwrap_or_default(),
            None => 0,
        };
        let end = self.0.row_ends.get(row_group).copied().unwrap_or(begin);
        begin..end
    }

    /// Returns the number of the row group that contains a row; after the last row, the number of row groups.
    pub fn row_group_of(&self, row: u64) -> usize {
        self.0.row_ends.partition_point(|end| *end <= row)
    }

    /// Returns the open file.
    pub fn file(&self) -> &Arc<ReadFile> {
        &self.0.file
    }

    /// Returns the large dictionary at an offset from the cache, or calls `read` and caches the result.
    pub(crate) fn cached_dictionary(
        &self,
        at: u64,
        read: impl FnOnce() -> Outcome<Dictionary>,
    ) -> Outcome<Arc<Dictionary>> {
        // The lock is held while the dictionary is read, because most waiting threads need the same one.
        let mut kept = self.0.dictionaries.lock();
        if let Some((_, dictionary)) = kept.iter().find(|(known, _)| *known == at) {
            return Ok(Arc::clone(dictionary));
        }
        let dictionary = Arc::new(read()?);
        kept.push_back((at, Arc::clone(&dictionary)));
        if kept.len() > MAX_CACHED_DICTIONARIES {
            kept.pop_front();
        }
        Ok(dictionary)
    }

    /// Returns the names of the top-level columns without encrypted parts, and the names of the other ones.
    pub fn readable_columns(&self) -> (Vec<String>, Vec<String>) {
        let hidden: HashSet<usize> = self.0.scan.encrypted.iter().map(|(_, leaf)| *leaf).collect();
        let columns = self.0.metadata.file_metadata().schema_descr().columns().iter().enumerate();
        let tops = columns.filter_map(|(leaf, column)| Some((leaf, column.path().parts().first()?.clone())));
        let (mut readable, mut encrypted): (Vec<String>, Vec<String>) = Default::default();
        for (leaf, top) in tops {
            let list = if hidden.contains(&leaf) { &mut encrypted } else { &mut readable };
            if list.last() != Some(&top) {
                list.push(top);
            }
        }
        readable.retain(|name| !encrypted.contains(name));
        (readable, encrypted)
    }

    pub(crate) fn metadata(&self) -> &Arc<ParquetMetaData> {
        &self.0.metadata
    }

    /// Returns the location of the pages of a leaf column in a row group. `place` is used in failures.
    pub(crate) fn chunk(&self, row_group: usize, leaf: usize, place: &ChunkLocation) -> Outcome<Chunk> {
        if self.0.scan.encrypted.contains(&(row_group, leaf)) {
            return Err(place.refusal("the column is encrypted", ENCRYPTED_HINT));
        }
        let group = self.0.metadata.row_groups().get(row_group);
        let column = group.and_then(|group| group.columns().get(leaf));
        let (Some(group), Some(column)) = (group, column) else {
            return Err(place.damage(None, "the footer does not describe the column"));
        };
        if column.file_path().is_some_and(|path| !path.is_empty()) {
            let hint = "read the files that hold the data instead of their index";
            return Err(place.refusal("the column is in another file", hint));
        }
        let schema = self.0.metadata.file_metadata().schema_descr();
        let is_flat = schema.columns().get(leaf).is_some_and(|column| column.max_rep_level() == 0);
        if is_flat && column.num_values() != group.num_rows() {
            return Err(place.damage(None, "its footer states different numbers of values and rows"));
        }
        let range = chunk_range(column).filter(|range| {
            range.start >= MAGIC.len() as u64 && range.end <= self.0.metadata_start && range.start < range.end
        });
        let Some(range) = range else {
            return Err(place.damage(None, "its footer states a position of the column that is outside of the file"));
        };
        let unpacked = u64::try_from(column.uncompressed_size()).unwrap_or_default();
        Ok(Chunk { range, codec: column.compression_codec(), unpacked })
    }

    /// Returns the size of a leaf column in the file in bytes, over all row groups.
    pub(crate) fn leaf_bytes(&self, leaf: usize) -> u64 {
        let columns = self.0.metadata.row_groups().iter().filter_map(|group| group.columns().get(leaf));
        columns.map(|column| u64::try_from(column.compressed_size()).unwrap_or_default()).fold(0, u64::saturating_add)
    }

    /// Returns the size of a row group in the file, in bytes.
    pub fn row_group_bytes(&self, row_group: usize) -> u64 {
        let leaves = 0..self.metadata().file_metadata().schema_descr().num_columns();
        let columns = leaves.filter_map(|leaf| self.column_of(row_group, leaf));
        columns.map(|column| u64::try_from(column.compressed_size()).unwrap_or_default()).fold(0, u64::saturating_add)
    }

    /// Returns the schema for decoding rows as JSON.
    pub(crate) fn json_schema(&self) -> Outcome<&JsonSchema> {
        if let Some(schema) = self.0.json.get() {
            return Ok(schema);
        }
        let (bytes, _) = read_metadata(&self.0.file)?;
        let schema = match catch_panic(|| parse_for_json(&bytes, &self.0.metadata)) {
            Some(Ok(schema)) => schema,
            _ => {
                let why = "its schema cannot be read";
                return Err(Failure::data(READING, why).on(Subject::path(self.0.file.path())).with_hint(DAMAGE_HINT));
            }
        };
        Ok(self.0.json.get_or_init(|| schema))
    }

    fn column_of(&self, row_group: usize, leaf: usize) -> Option<&ColumnChunkMetaData> {
        self.0.metadata.row_groups().get(row_group)?.columns().get(leaf)
    }

    /// Returns the size in bytes of a leaf column in a row group after decompression, as the footer states it.
    pub(crate) fn unpacked_bytes(&self, row_group: usize, leaf: usize) -> u64 {
        let size = self.column_of(row_group, leaf).map(ColumnChunkMetaData::uncompressed_size);
        size.and_then(|size| u64::try_from(size).ok()).unwrap_or_default()
    }

    /// Returns the offset of the data pages of a leaf column in a row group, as the footer states it; 0 if it is not valid.
    pub(crate) fn stated_data_offset(&self, row_group: usize, leaf: usize) -> u64 {
        let offset = self.column_of(row_group, leaf).map(ColumnChunkMetaData::data_page_offset);
        offset.and_then(|offset| u64::try_from(offset).ok()).unwrap_or_default()
    }

    /// Returns the number of values of a leaf column in a row group.
    pub(crate) fn values_of(&self, row_group: usize, leaf: usize) -> u64 {
        let count = self.column_of(row_group, leaf).map(ColumnChunkMetaData::num_values);
        count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default()
    }

    /// Returns the size of the dictionary of a leaf column of byte strings, from its page header; 0 if there is none.
    pub(crate) fn dictionary_bytes(&self, row_group: usize, leaf: usize) -> u64 {
        let column = self.column_of(row_group, leaf).filter(|column| column.column_type() == Type::BYTE_ARRAY);
        let Some(range) = column.filter(|column| column.dictionary_page_offset().is_some()).and_then(chunk_range)
        else {
            return 0;
        };
        let mut bytes = vec![0; DICTIONARY_HEADER_BYTES];
        let count = self.0.file.read_at(&mut bytes, range.start).unwrap_or_default();
        match PageHeader::parse(bytes.get(..count).unwrap_or_default()) {
            Ok((PageHeader { kind: PageKind::Dictionary { .. }, unpacked, .. }, _)) => u64::from(unpacked),
            _ => 0,
        }
    }

    /// Fills `bytes` from an offset in the file.
    pub(crate) fn read_at(&self, bytes: &mut [u8], offset: u64) -> Outcome<()> {
        self.0.file.read_exact_at(bytes, offset).map_err(|error| io_failure(self.0.file.path(), &error))
    }
}

/// Returns the range of a column in the file. The dictionary precedes the data; files of old writers state the offset 0 if there is no
/// dictionary.
fn chunk_range(column: &ColumnChunkMetaData) -> Option<Range<u64>> {
    let data = u64::try_from(column.data_page_offset()).ok()?;
    let dictionary = column.dictionary_page_offset().unwrap_or_default();
    let start = match (u64::try_from(dictionary).ok()?, data) {
        (0, data) => data,
        // A column without rows may consist of a dictionary only.
        (dictionary, 0) => dictionary,
        (dictionary, data) => dictionary.min(data),
    };
    let size = u64::try_from(column.compressed_size()).ok()?;
    Some(start..start.checked_add(size)?)
}

/// Returns, for each row group, the number of rows from the beginning of the file to its end.
fn count_rows(metadata: &ParquetMetaData) -> Result<Vec<u64>, &'static str> {
    let columns = metadata.file_metadata().schema_descr().num_columns();
    let mut row_ends = Vec::with_capacity(metadata.num_row_groups());
    let mut rows = 0_u64;
    for group in metadata.row_groups() {
        let more = u64::try_from(group.num_rows()).map_err(|_| "its footer states a negative number of rows")?;
        rows = rows
            .checked_add(more)
            .filter(|rows| i64::try_from(*rows).is_ok())
            .ok_or("its footer states too many rows")?;
        if group.columns().len() != columns {
            return Err("its footer states different numbers of columns");
        }
        row_ends.push(rows);
    }
    match u64::try_from(metadata.file_metadata().num_rows()) == Ok(rows) {
        true => Ok(row_ends),
        false => Err("its footer states different numbers of rows for the file and for its row groups"),
    }
}

/// Returns the bytes of the metadata, and their offset.
pub(crate) fn read_metadata(file: &ReadFile) -> Outcome<(Vec<u8>, u64)> {
    let path = file.path();
    let refused = |why: &str, hint: &str| Err(Failure::data(READING, why).on(Subject::path(path)).with_hint(hint));
    if file.is_empty() {
        return refused("it has 0 bytes", "get the file again from its source");
    }
    if file.is_lfs_pointer()? {
        return refused(LFS_POINTER, LFS_HINT);
    }
    let read = |offset: u64, size: u64| {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        file.read_exact_at(&mut bytes, offset).map(|()| bytes).map_err(|error| io_failure(path, &error))
    };
    let head = read(0, file.len().min(HEAD_BYTES as u64))?;
    let tail = read(file.len().saturating_sub(TAIL_BYTES), file.len().min(TAIL_BYTES))?;
    if head.starts_with(&ENCRYPTED_MAGIC) || tail.ends_with(&ENCRYPTED_MAGIC) {
        return Err(encrypted(path, "its footer is encrypted"));
    }
    if is_html(&head) {
        return refused("it is an HTML page", "download the file itself; the page may ask for a login");
    }
    if !head.starts_with(&MAGIC) {
        return refused("it is not a Parquet file", "leave the file out, or get it again from its source");
    }
    if !tail.ends_with(&MAGIC) || file.len() < TAIL_BYTES + MAGIC.len() as u64 {
        return refused("it is cut short: the footer is missing", DAMAGE_HINT);
    }
    let size = crate::bits::u32_at(&tail, 0).map(u64::from).unwrap_or_default();
    let Some(start) = (file.len() - TAIL_BYTES).checked_sub(size).filter(|start| *start >= MAGIC.len() as u64) else {
        return refused("its footer is larger than the file", DAMAGE_HINT);
    };
    if size > MAX_METADATA_BYTES {
        return refused("its footer has more than 64 MiB", "write the file with fewer row groups or columns");
    }
    Ok((read(start, size)?, start))
}

fn is_html(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start().to_ascii_lowercase();
    [&b"<!doctype html"[..], b"<html", b"<head"].iter().any(|start| text.starts_with(start))
}

/// Hint for encrypted files.
pub const ENCRYPTED_HINT: &str = "write the file without encryption; there is no way to pass keys";

/// Returns the failure for encrypted data.
pub(crate) fn encrypted(path: &Path, why: &str) -> Failure {
    Failure::data(READING, why).on(Subject::path(path)).with_hint(ENCRYPTED_HINT)
}
