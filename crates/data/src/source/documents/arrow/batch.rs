//! Record batches and dictionaries in memory. What their metadata states is checked before memory is reserved, because the decoders of the
//! crate `arrow-ipc` reserve what is stated, and panic on some metadata that is damaged.

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

/// Maximum size of a record batch, and of all dictionaries, in bytes: stored, and after decompression.
const MAX_BATCH_BYTES: u64 = 2 << 30;
const MAX_BATCH_HINT: &str = "write the file with smaller record batches";
/// Largest factor by which a codec grows its input; more cannot be true.
const MAX_LZ4_FACTOR: u64 = 256;
const MAX_ZSTD_FACTOR: u64 = 1 << 16;
/// Size of the length before the bytes of a compressed buffer.
const LENGTH_BYTES: u64 = 8;
/// Length of a buffer that is not compressed, although others are.
const NOT_PACKED: i64 = -1;

/// The dictionaries by their numbers.
type Dictionaries = HashMap<i64, ArrayRef>;

/// A record batch, which is decoded when it is needed first.
#[derive(Debug)]
pub(super) struct Batch {
    /// Its number in the file.
    pub(super) number: usize,
    /// Number of its first row.
    pub(super) first_row: u64,
    pub(super) rows: usize,
    /// Size of the columns that are read, after decompression.
    pub(super) bytes: u64,
    /// Size of the longest entries of its dictionaries together, which each row may repeat.
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
    /// Returns some of the columns, decoded.
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

/// Reads the record batches of a file in order, with the dictionaries that are valid for each.
#[derive(Debug)]
pub(super) struct BatchReader {
    file: ArrowFile,
    columns: Arc<[usize]>,
    wanted: HashSet<i64>,
    dictionaries: Arc<Dictionaries>,
    /// Size of each dictionary after decompression.
    sizes: HashMap<i64, u64>,
    /// Size of the longest entry of each dictionary.
    longest: HashMap<i64, u64>,
    /// Number of the dictionaries of the file that were read.
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

    /// Reads a record batch, which is not before that of an earlier call; `None` after the last one.
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

    /// Reads a dictionary that replaces or extends one of the same number.
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
        // Record batches before it keep their own.
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

/// Returns the size of the longest value of an array; that of all values if they are no texts.
fn longest_value(array: &dyn Array) -> u64 {
    let longest = ByteValues::of(array).map(|values| {
        let present = (0..array.len()).filter(|entry| array.is_valid(*entry));
        present.map(|entry| values.value(entry).len()).max().unwrap_or_default()
    });
    longest.unwrap_or_else(|| array.get_buffer_memory_size()) as u64
}

/// The parts of a body that are needed.
#[derive(Debug)]
struct NeededBuffers {
    /// Position in the body, and size.
    buffers: Vec<(u64, u64)>,
    /// Largest factor by which they grow, if they are compressed.
    factor: Option<u64>,
}

/// Returns the buffers of some columns at the top level.
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

/// Returns the number of buffers of a column; `None` if more are stated than there can be.
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

/// Reads the buffers of a body that are needed, each at its position, and returns their size after decompression.
fn read_body(file: &ReadFile, message: &RawMessage, needed: &NeededBuffers) -> Outcome<(arrow_buffer::Buffer, u64)> {
    let size = message.body.end - message.body.start;
    let too_large = || refusal(file, "it has more than 2 GiB", MAX_BATCH_HINT);
    let Some(length) = usize::try_from(size).ok().filter(|_| size <= MAX_BATCH_BYTES) else { return Err(too_large()) };
    let stored = needed.buffers.iter().fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
    if stored > size {
        return Err(damage(file, "its buffers are larger than the message"));
    }
    // Parts that are not read use no memory: they stay as they were reserved.
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

/// Returns the size of a buffer after decompression, which is checked against what its bytes can produce.
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
