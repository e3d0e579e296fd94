//! An open Arrow file: its schema, and the locations of its record batches and dictionaries.

use super::messages::{
    damage, read_exact, read_message, refusal, RawMessage, StreamItem, CONTINUATION, MAX_METADATA_BYTES,
};
use super::schema::ArrowSchema;
use arrow_ipc::{Endianness, MessageHeader};
use gristmill_core::catch_panic::catch_panic;
use gristmill_core::lfs::{LFS_HINT, LFS_POINTER};
use gristmill_core::text::{agree, bytes, count};
use gristmill_core::{Cancel, ExitClass, Outcome, Problem, ProblemKind, Subject};
use gristmill_storage::read::ReadFile;
use std::sync::Arc;

/// First and last bytes of the file format.
pub(super) const MAGIC: [u8; 6] = *b"ARROW1";
/// First bytes of version 1 of Feather, which is a different format.
const FEATHER_1: &[u8] = b"FEA1";
/// Offset of the first message in the file format.
const FIRST_MESSAGE: u64 = 8;
/// Size of the end of the file: the length of the footer, and the magic bytes.
const TAIL_BYTES: u64 = 10;
/// Number of bytes at the beginning from which other formats are recognized, for the message.
const HEAD_BYTES: u64 = 16;
/// Maximum number of rows of a record batch, the limit of 32-bit offsets.
const MAX_BATCH_ROWS: u64 = 1 << 31;
/// Maximum number of record batches and dictionaries.
const MAX_MESSAGES: usize = 1 << 24;

/// An Arrow file and the locations of its messages. Cheap to clone; all reads are positional.
#[derive(Clone, Debug)]
pub(super) struct ArrowFile(Arc<FileParts>);

#[derive(Debug)]
struct FileParts {
    file: Arc<ReadFile>,
    schema: ArrowSchema,
    batches: Vec<BatchLocation>,
    dictionaries: Vec<DictionaryLocation>,
    /// Offset before which all messages end.
    end: u64,
    loss: Option<StreamLoss>,
}

/// Location of a record batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchLocation {
    pub(super) at: u64,
    /// Offset of the end of the body.
    pub(super) end: u64,
    /// Number of rows from the beginning of the file to the end of this record batch.
    pub(super) row_end: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct DictionaryLocation {
    pub(super) at: u64,
    /// Number of the first record batch for which it is valid.
    pub(super) batch: usize,
}

/// Reason why bytes of a stream are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamLoss {
    /// The end mark is missing; the offset of the end of the last whole message.
    NoEnd(u64),
    /// There are bytes after the end mark, which ends at this offset.
    AfterEnd(u64),
}

/// The messages found so far.
#[derive(Debug, Default)]
struct MessageLocations {
    batches: Vec<BatchLocation>,
    dictionaries: Vec<DictionaryLocation>,
}

impl ArrowFile {
    /// Finds the messages of a stream or of the file format, which are distinguished by the first bytes.
    pub(super) fn open(file: ReadFile, cancel: &Cancel) -> Outcome<Self> {
        let mut head = vec![0; usize::try_from(file.len().min(HEAD_BYTES)).unwrap_or_default()];
        read_exact(&file, &mut head, 0)?;
        if head.is_empty() {
            return Err(refusal(&file, "it has 0 bytes", "get the file again from its source"));
        }
        if file.is_lfs_pointer()? {
            return Err(refusal(&file, LFS_POINTER, LFS_HINT));
        }
        if head.starts_with(FEATHER_1) {
            let hint = "write it again with a newer program; version 2 of Feather is Arrow's file format";
            return Err(refusal(&file, "it is a file of Feather version 1, which is not read", hint));
        }
        if head.trim_ascii_start().starts_with(b"<") {
            return Err(refusal(&file, "it is an HTML page", "download the file itself; the page may ask for a login"));
        }
        match head.starts_with(&MAGIC) {
            true => Self::open_file(file, cancel),
            false => {
                let is_marked = head.starts_with(&CONTINUATION);
                Self::open_stream(file, is_marked, cancel)
            }
        }
    }

    /// Opens a stream. `is_marked` is whether its first message begins with the mark of the current version of the format.
    fn open_stream(file: ReadFile, is_marked: bool, cancel: &Cancel) -> Outcome<Self> {
        let end = file.len();
        let first = match read_message(&file, 0, end) {
            Ok(StreamItem::Message(message)) => message,
            Ok(StreamItem::Cut) => return Err(damage(&file, "it is cut short in its schema, or is not an Arrow file")),
            Ok(StreamItem::End(_)) => return Err(damage(&file, "it has no schema")),
            Err(failure) if failure.class == ExitClass::Data && !is_marked => {
                let hint = "leave the file out, or get it again from its source";
                return Err(refusal(&file, "it is not an Arrow file", hint));
            }
            Err(failure) => return Err(failure),
        };
        let schema = schema_of_message(&file, &first)?;
        let mut places = MessageLocations::default();
        let mut at = first.body.end;
        let loss = loop {
            cancel.check()?;
            match read_message(&file, at, end)? {
                StreamItem::Message(message) => {
                    places.add(&file, at, &message, None)?;
                    at = message.body.end;
                }
                StreamItem::End(after) if after == end => break None,
                StreamItem::End(after) => break Some(StreamLoss::AfterEnd(after)),
                StreamItem::Cut => break Some(StreamLoss::NoEnd(at)),
            }
        };
        Ok(Self::new(file, schema, places, end, loss))
    }

    fn open_file(file: ReadFile, cancel: &Cancel) -> Outcome<Self> {
        let tail_at = file.len().checked_sub(TAIL_BYTES).filter(|tail| *tail >= FIRST_MESSAGE);
        let mut tail = [0; TAIL_BYTES as usize];
        if let Some(at) = tail_at {
            read_exact(&file, &mut tail, at)?;
        }
        let (Some(tail_at), true) = (tail_at, tail.ends_with(&MAGIC)) else {
            let hint = "read what is there as a stream: tail -c +9 FILE > NEW.arrow";
            return Err(refusal(&file, "it is cut short: the footer is missing", hint));
        };
        let size = tail.first_chunk().map(|size| i32::from_le_bytes(*size)).unwrap_or_default();
        let start = u64::try_from(size).ok().and_then(|size| tail_at.checked_sub(size));
        let Some(start) = start.filter(|start| *start >= FIRST_MESSAGE) else {
            return Err(damage(&file, "its footer is larger than the file"));
        };
        if tail_at - start > MAX_METADATA_BYTES {
            return Err(refusal(&file, "its footer has more than 64 MiB", "write the file with larger record batches"));
        }
        let mut bytes = vec![0; usize::try_from(tail_at - start).unwrap_or_default()];
        read_exact(&file, &mut bytes, start)?;
        let damaged = || damage(&file, "its footer is damaged");
        let footer = arrow_ipc::root_as_footer(&bytes).map_err(|_| damaged())?;
        let schema = schema_of(&file, footer.schema().ok_or_else(damaged)?)?;
        let mut places = MessageLocations::default();
        // In the file format, any record batch may refer to any dictionary.
        for (blocks, batch) in [(footer.dictionaries(), Some(0)), (footer.recordBatches(), None)] {
            for block in blocks.iter().flatten() {
                cancel.check()?;
                let at = u64::try_from(block.offset()).ok().filter(|at| *at >= FIRST_MESSAGE).ok_or_else(damaged)?;
                let StreamItem::Message(message) = read_message(&file, at, start)? else { return Err(damaged()) };
                places.add(&file, at, &message, batch)?;
            }
        }
        Ok(Self::new(file, schema, places, start, None))
    }

    fn new(file: ReadFile, schema: ArrowSchema, places: MessageLocations, end: u64, loss: Option<StreamLoss>) -> Self {
        let MessageLocations { batches, dictionaries } = places;
        Self(Arc::new(FileParts { file: Arc::new(file), schema, batches, dictionaries, end, loss }))
    }

    pub(super) fn rows(&self) -> u64 {
        self.0.batches.last().map(|batch| batch.row_end).unwrap_or_default()
    }

    /// Returns the number of record batches.
    pub(super) fn batches(&self) -> usize {
        self.0.batches.len()
    }

    /// Returns the location of a record batch, and the number of its first row.
    pub(super) fn batch(&self, number: usize) -> Option<(BatchLocation, u64)> {
        let first_row = match number.checked_sub(1) {
            Some(before) => self.0.batches.get(before)?.row_end,
            None => 0,
        };
        self.0.batches.get(number).map(|batch| (*batch, first_row))
    }

    /// Returns the number of the record batch that contains a row; for a row beyond the end, the number of record batches.
    pub(super) fn batch_of(&self, row: u64) -> usize {
        self.0.batches.partition_point(|batch| batch.row_end <= row)
    }

    /// Returns the locations of the dictionaries in order.
    pub(super) fn dictionaries(&self) -> &[DictionaryLocation] {
        &self.0.dictionaries
    }

    pub(super) fn schema(&self) -> &ArrowSchema {
        &self.0.schema
    }

    pub(super) fn file(&self) -> &Arc<ReadFile> {
        &self.0.file
    }

    /// Reads a message whose location is known.
    pub(super) fn message(&self, at: u64) -> Outcome<RawMessage> {
        match read_message(&self.0.file, at, self.0.end)? {
            StreamItem::Message(message) => Ok(message),
            StreamItem::End(_) | StreamItem::Cut => Err(damage(&self.0.file, "it changed while it was read")),
        }
    }

    /// Returns a problem if part of the file is not read.
    pub(super) fn loss(&self) -> Option<Problem> {
        let batches = self.0.batches.len() as u64;
        let read = format!("{} before it {} read", count(batches, "record batch"), agree(batches, "was", "were"));
        let (at, message, hint) = match self.0.loss? {
            StreamLoss::NoEnd(at) => {
                let lost = match self.0.end - at {
                    0 => String::new(),
                    lost => format!(", and {} of an unfinished one are lost", bytes(lost)),
                };
                let hint =
                    "the program that wrote it was stopped; write the file again, or get it again from its source";
                (at, format!("the stream has no end mark: {read}{lost}"), hint)
            }
            StreamLoss::AfterEnd(at) => {
                let rest = bytes(self.0.end - at);
                (
                    at,
                    format!("{rest} after the end mark of the stream are not read; {read}"),
                    "keep each stream in a file of its own",
                )
            }
        };
        let subject = Subject::path(self.0.file.path()).at(at);
        Some(Problem::problem(ProblemKind::CutShort, subject, message).with_hint(hint))
    }
}

impl MessageLocations {
    /// Adds the message at an offset. `batch` is the first record batch for which a dictionary is valid; `None` means the next one.
    fn add(&mut self, file: &ReadFile, at: u64, message: &RawMessage, batch: Option<usize>) -> Outcome<()> {
        let parsed = message.parse().map_err(|why| damage(file, why))?;
        if self.batches.len() + self.dictionaries.len() >= MAX_MESSAGES {
            return Err(refusal(file, "it has more than 16 million messages", "write it with larger record batches"));
        }
        match parsed.header_type() {
            MessageHeader::RecordBatch => {
                let rows = parsed.header_as_record_batch().and_then(|batch| u64::try_from(batch.length()).ok());
                let rows = rows.filter(|rows| *rows <= MAX_BATCH_ROWS);
                let before = self.batches.last().map(|batch| batch.row_end).unwrap_or_default();
                let row_end =
                    rows.and_then(|rows| before.checked_add(rows)).filter(|rows| i64::try_from(*rows).is_ok());
                let Some(row_end) = row_end else { return Err(damage(file, "its number of rows is damaged")) };
                self.batches.push(BatchLocation { at, end: message.body.end, row_end });
            }
            MessageHeader::DictionaryBatch => {
                let batch = batch.unwrap_or(self.batches.len());
                self.dictionaries.push(DictionaryLocation { at, batch });
            }
            MessageHeader::Schema => {
                let hint = "keep each stream in a file of its own";
                return Err(refusal(file, format!("it has a second schema at byte {at}"), hint));
            }
            _ => return Err(refusal(file, "it holds tensors, not rows", "leave the file out")),
        }
        Ok(())
    }
}

fn schema_of_message(file: &ReadFile, message: &RawMessage) -> Outcome<ArrowSchema> {
    let parsed = message.parse().map_err(|why| damage(file, why))?;
    match parsed.header_as_schema() {
        Some(schema) => schema_of(file, schema),
        None => Err(damage(file, "its first message is not a schema")),
    }
}

fn schema_of(file: &ReadFile, schema: arrow_ipc::Schema<'_>) -> Outcome<ArrowSchema> {
    if schema.endianness() == Endianness::Big {
        let hint = "write it again on a machine of the usual byte order";
        return Err(refusal(file, "its numbers are big-endian, which is not read", hint));
    }
    match catch_panic(|| arrow_ipc::convert::try_fb_to_schema(schema)) {
        Some(Ok(schema)) => Ok(ArrowSchema::new(schema)),
        Some(Err(error)) => Err(damage(file, format!("its schema cannot be read ({error})"))),
        None => Err(damage(file, "its schema cannot be read")),
    }
}
