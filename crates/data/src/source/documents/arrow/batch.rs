//! Record batches and dictionaries in memory. Sizes in the metadata are checked before memory is reserved, because the decoders of the
//! crate `arrow-ipc` reserve any stated size, and panic on some damaged metadata.

use super::file::ArrowFile;
use super::messages::{damage, read_exact, refusal, RawMessage};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{DataType, Field, Schema, SchemaRef, UnionMode};
use gristmill_arrow::ByteValues;
use gristmill_core::catch_panic::catch_panic;
use gristmill_core::{Failure, Outcome};
use gristmill_storage::read::ReadFile;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, OnceLock};

/// Maximum size in bytes of a record batch, and of all dictionaries together, both stored and decompressed.
const MAX_BATCH_BYTES: u64 = 2 << 30;
const MAX_BATCH_HINT: &str = "write the file with smaller record batches";
/// Maximum factor by which a codec expands its input; a larger stated size is damage.
const MAX_LZ4_FACTOR: u64 = 256;
const MAX_ZSTD_FACTOR: u64 = 1 << 16;
/// Size of the length that precedes the bytes of a compressed buffer.
const LENGTH_BYTES: u64 = 8;
/// Value of the length for a buffer that is not compressed although its record batch is.
const NOT_PACKED: i64 = -1;

/// Dictionaries by their ids.
type Dictionaries = HashMap<i64, ArrayRef>;

/// A record batch, decoded on first use.
#[derive(Debug)]
pub(super) struct Batch {
    /// Number of the record batch in the file.
    pub(super) number: usize,
    /// Number of its first row in the file.
    pub(super) first_row: u64,
    pub(super) rows: usize,
    /// Decompressed size of the columns that are read, in bytes.
    pub(super) bytes: u64,
    /// Total size of the longest entry of each of its dictionaries, which every row may repeat.
    pub(super) longest_entry: u64,
    file: Arc<ReadFile>,
    schema: SchemaRef,
    columns: Arc<[usize]>,
    message: RawMessage,
    body: arrow_buffer::Buffer,
    dictionaries: Arc<Dictionaries>,
    decoded: OnceLock<Result<RecordBatch, String>>,
}

impl Batch {
    /// Decodes the columns that are read, once.
    pub(super) fn decode(&self) -> Outcome<&RecordBatch> {
        let decoded = self.decoded.get_or_init(|| {
            let message = self.message.parse()?;
            let batch = message.header_as_record_batch().ok_or("its metadata is damaged")?;
            let version = message.version();
            let read = || {
                let (schema, columns) = (Arc::clone(&self.schema), Some(self.columns.as_ref()));
                arrow_ipc::reader::read_record_batch(&self.body, batch, schema, &self.dictionaries, columns, &version)
            };
            match catch_panic(read) {
                Some(Ok(batch)) => Ok(batch),
                Some(Err(error)) => Err(format!("it cannot be decoded ({error})")),
                None => Err("it is damaged".to_owned()),
            }
        });
        decoded.as_ref().map_err(|why| self.damage(why))
    }

    pub(super) fn damage(&self, why: &str) -> Failure {
        damage(&self.file, format!("record batch {}: {why}", self.number))
    }
}

/// Reads the record batches of a file in order, each with the dictionaries that are valid for it.
#[derive(Debug)]
pub(super) struct BatchReader {
    file: ArrowFile,
    columns: Arc<[usize]>,
    wanted: HashSet<i64>,
    dictionaries: Arc<Dictionaries>,
    /// Decompressed size of each dictionary.
    sizes: HashMap<i64, u64>,
    /// Size of the longest entry of each dictionary.
    longest: HashMap<i64, u64>,
    /// Number of dictionaries of the file that were read.
    read: usize,
}

impl BatchReader {
    pub(super) fn new(file: &ArrowFile, columns: Vec<usize>) -> Self {
        let wanted = file.schema().dictionaries(&columns);
        let (columns, dictionaries) = (Arc::from(columns), Arc::default());
        Self {
            file: file.clone(),
            columns,
            wanted,
            dictionaries,
            sizes: HashMap::new(),
            longest: HashMap::new(),
            read: 0,
        }
    }

    /// Whether the dictionaries that were read are valid for a record batch, or precede it.
    pub(super) fn can_read(&self, number: usize) -> bool {
        let last = self.read.checked_sub(1).and_then(|last| self.file.dictionaries().get(last));
        last.is_none_or(|last| last.batch <= number)
    }

    /// Reads a record batch, which must not precede that of an earlier call; `None` after the last one.
    pub(super) fn read(&mut self, number: usize) -> Outcome<Option<Batch>> {
        let Some((place, first_row)) = self.file.batch(number) else { return Ok(None) };
        while let Some(next) = self.file.dictionaries().get(self.read).filter(|next| next.batch <= number) {
            let at = next.at;
            self.read += 1;
            self.read_dictionary(at)?;
        }
        let file = Arc::clone(self.file.file());
        let message = self.file.message(place.at)?;
        let (schema, wanted) = (Arc::clone(self.file.schema().decoded()), |at| self.columns.contains(&at));
        let body = message.parse().and_then(|parsed| {
            let batch = parsed.header_as_record_batch().ok_or("its metadata is damaged")?;
            needed_buffers(&batch, schema.fields(), &wanted, parsed.version())
        });
        let in_batch = |failure: Failure| Failure { why: format!("record batch {number}: {}", failure.why), ..failure };
        let body = body.map_err(|why| damage(&file, why)).and_then(|needed| read_body(&file, &message, &needed));
        let (body, bytes) = body.map_err(in_batch)?;
        let rows = usize::try_from(place.row_end - first_row).unwrap_or(usize::MAX);
        let (columns, dictionaries) = (Arc::clone(&self.columns), Arc::clone(&self.dictionaries));
        let decoded = OnceLock::new();
        let longest_entry = self.longest.values().fold(0_u64, |sum, size| sum.saturating_add(*size));
        Ok(Some(Batch {
            number,
            first_row,
            rows,
            bytes,
            longest_entry,
            file,
            schema,
            columns,
            message,
            body,
            dictionaries,
            decoded,
        }))
    }

    /// Reads a dictionary, which replaces or extends the previous dictionary with its id.
    fn read_dictionary(&mut self, at: u64) -> Outcome<()> {
        let file = Arc::clone(self.file.file());
        let damaged = |why: String| damage(&file, format!("dictionary at byte {at}: {why}"));
        let message = self.file.message(at)?;
        let parsed = message.parse().map_err(damaged)?;
        let version = parsed.version();
        let lacking = || damaged("its metadata is damaged".to_owned());
        let dictionary = parsed.header_as_dictionary_batch().ok_or_else(lacking)?;
        let (number, is_delta) = (dictionary.id(), dictionary.isDelta());
        if !self.wanted.contains(&number) {
            return Ok(());
        }
        let entries = self.file.schema().dictionary_entries(number).ok_or_else(lacking)?;
        let fields = Schema::new(vec![Field::new("", entries, true)]);
        let needed = needed_buffers(&dictionary.data().ok_or_else(lacking)?, fields.fields(), &|_| true, version);
        let (body, bytes) = read_body(&file, &message, &needed.map_err(damaged)?)?;
        let before = if is_delta { self.sizes.get(&number).copied().unwrap_or_default() } else { 0 };
        self.sizes.insert(number, before.saturating_add(bytes));
        if self.sizes.values().fold(0_u64, |sum, size| sum.saturating_add(*size)) > MAX_BATCH_BYTES {
            return Err(refusal(
                &file,
                "its dictionaries have more than 2 GiB",
                "write the column without a dictionary",
            ));
        }
        let schema = Arc::clone(self.file.schema().decoded());
        // Earlier record batches keep their dictionaries.
        let mut changed = Dictionaries::clone(&self.dictionaries);
        let read = catch_panic(|| {
            arrow_ipc::reader::read_dictionary(&body, dictionary, &schema, &mut changed, &version).map(|()| changed)
        });
        self.dictionaries = match read {
            Some(Ok(changed)) => Arc::new(changed),
            Some(Err(error)) => return Err(damaged(format!("it cannot be decoded ({error})"))),
            None => return Err(damaged("it is damaged".to_owned())),
        };
        let longest = self.dictionaries.get(&number).map_or(0, |entries| longest_value(entries.as_ref()));
        self.longest.insert(number, longest);
        Ok(())
    }
}

/// Returns the size of the longest value of an array; for values other than text, the size of all values.
fn longest_value(array: &dyn Array) -> u64 {
    let longest = ByteValues::of(array).map(|values| {
        let present = (0..array.len()).filter(|entry| array.is_valid(*entry));
        present.map(|entry| values.value(entry).len()).max().unwrap_or_default()
    });
    longest.unwrap_or_else(|| array.get_buffer_memory_size()) as u64
}

/// The buffers of a message body that are needed.
#[derive(Debug)]
struct NeededBuffers {
    /// Offset in the body, and size, of each buffer.
    buffers: Vec<(u64, u64)>,
    /// Maximum factor by which they expand, if they are compressed.
    factor: Option<u64>,
}

/// Returns the buffers of the columns at the top level for which `is_wanted` is true.
fn needed_buffers(
    batch: &arrow_ipc::RecordBatch<'_>,
    fields: &arrow_schema::Fields,
    is_wanted: &dyn Fn(usize) -> bool,
    version: MetadataVersion,
) -> Result<NeededBuffers, String> {
    let factor = match batch.compression().map(|compression| compression.codec()) {
        None => None,
        Some(CompressionType::LZ4_FRAME) => Some(MAX_LZ4_FACTOR),
        Some(CompressionType::ZSTD) => Some(MAX_ZSTD_FACTOR),
        Some(_) => return Err("its compression is unknown".to_owned()),
    };
    let mut all = batch.buffers().into_iter().flatten();
    let mut view_buffers = batch.variadicBufferCounts().into_iter().flatten().collect();
    let mut buffers = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let count = count_buffers(field.data_type(), version, &mut view_buffers);
        for _ in 0..count.ok_or("its metadata does not fit the schema")? {
            let buffer = all.next().ok_or("its metadata does not fit the schema")?;
            let (Ok(start), Ok(size)) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length())) else {
                return Err("the position of a buffer is negative".to_owned());
            };
            if is_wanted(at) {
                buffers.push((start, size));
            }
        }
    }
    Ok(NeededBuffers { buffers, factor })
}

/// Returns the number of buffers of a column; `None` if the metadata states an impossible number.
fn count_buffers(data_type: &DataType, version: MetadataVersion, view_buffers: &mut VecDeque<i64>) -> Option<usize> {
    let mut inner = |field: &Field| count_buffers(field.data_type(), version, view_buffers);
    match data_type {
        DataType::Null => Some(0),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => Some(3),
        DataType::Utf8View | DataType::BinaryView => usize::try_from(view_buffers.pop_front()?).ok()?.checked_add(2),
        DataType::List(field) | DataType::LargeList(field) | DataType::Map(field, _) => inner(field)?.checked_add(2),
        DataType::ListView(field) | DataType::LargeListView(field) => inner(field)?.checked_add(3),
        DataType::FixedSizeList(field, _) => inner(field)?.checked_add(1),
        DataType::Struct(fields) => fields.iter().try_fold(1_usize, |sum, field| sum.checked_add(inner(field)?)),
        DataType::RunEndEncoded(ends, values) => inner(ends)?.checked_add(inner(values)?),
        DataType::Union(fields, mode) => {
            let own = 1 + usize::from(version < MetadataVersion::V5) + usize::from(*mode == UnionMode::Dense);
            fields.iter().try_fold(own, |sum, (_, field)| sum.checked_add(inner(field)?))
        }
        _ => Some(2),
    }
}

/// Reads the needed buffers of a body to their offsets, and returns the body with its size after decompression.
fn read_body(file: &ReadFile, message: &RawMessage, needed: &NeededBuffers) -> Outcome<(arrow_buffer::Buffer, u64)> {
    let size = message.body.end - message.body.start;
    let too_large = || refusal(file, "it has more than 2 GiB", MAX_BATCH_HINT);
    let Some(length) = usize::try_from(size).ok().filter(|_| size <= MAX_BATCH_BYTES) else { return Err(too_large()) };
    let stored = needed.buffers.iter().fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
    if stored > size {
        return Err(damage(file, "its buffers are larger than the message"));
    }
    // Zeroed memory is not backed by pages until it is written, so ranges that are not read use none.
    let mut body = vec![0; length];
    let mut total = 0_u64;
    for (start, size) in needed.buffers.iter().filter(|(_, size)| *size > 0) {
        let part = start
            .checked_add(*size)
            .and_then(|end| body.get_mut(usize::try_from(*start).ok()?..usize::try_from(end).ok()?));
        let Some(part) = part else { return Err(damage(file, "a buffer is outside of the message")) };
        read_exact(file, part, message.body.start + start)?;
        let unpacked = unpacked_size(part, needed.factor).map_err(|why| damage(file, why))?;
        total = total.saturating_add(unpacked);
    }
    match total > MAX_BATCH_BYTES {
        true => Err(too_large()),
        false => Ok((arrow_buffer::Buffer::from_vec(body), total)),
    }
}

/// Returns the size of a buffer after decompression, checked against the maximum that its codec can produce.
fn unpacked_size(buffer: &[u8], factor: Option<u64>) -> Result<u64, &'static str> {
    let size = buffer.len() as u64;
    let Some(factor) = factor else { return Ok(size) };
    let stated = buffer.first_chunk().map(|bytes| i64::from_le_bytes(*bytes)).ok_or("a buffer has no size")?;
    if stated == NOT_PACKED {
        return Ok(size - LENGTH_BYTES);
    }
    let packed = size - LENGTH_BYTES;
    u64::try_from(stated)
        .ok()
        .filter(|stated| stated / factor <= packed)
        .ok_or("the size of a buffer after decompression is damaged")
}
