//! Messages of an Arrow file: their verified metadata, and the locations of their bodies.

use arrow_ipc::{Message, MetadataVersion};
use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::read::ReadFile;
use std::io;
use std::ops::Range;

/// Name of this step in failures.
pub(super) const READING: &str = "reading the Arrow file";
pub(super) const DAMAGE_HINT: &str = "the file is damaged or was not written completely; get it again from its source";
/// Maximum size in bytes of the metadata of a message, and of a footer.
pub(super) const MAX_METADATA_BYTES: u64 = 64 << 20;
/// First bytes of a message, which old writers omit.
pub(super) const CONTINUATION: [u8; 4] = [0xFF; 4];
/// Size of the first bytes and of the length of the metadata.
const PREFIX_BYTES: usize = 8;
/// Size of the length of the metadata.
const LENGTH_BYTES: usize = 4;

/// A message with valid metadata.
#[derive(Debug)]
pub(super) struct RawMessage {
    pub(super) metadata: Vec<u8>,
    pub(super) body: Range<u64>,
}

/// The item at an offset of a stream.
#[derive(Debug)]
pub(super) enum StreamItem {
    Message(RawMessage),
    /// The mark that ends the stream, with the offset after it.
    End(u64),
    /// An incomplete item at the end of the file.
    Cut,
}

impl RawMessage {
    pub(super) fn parse(&self) -> Result<Message<'_>, String> {
        let message = arrow_ipc::root_as_message(&self.metadata);
        let message = message.map_err(|_| "the metadata of a message is damaged".to_owned())?;
        match message.version() {
            MetadataVersion::V4 | MetadataVersion::V5 => Ok(message),
            _ => Err("it was written with a version of the format before 0.8".to_owned()),
        }
    }
}

/// Reads the metadata of the message at an offset; it must end before `end`.
pub(super) fn read_message(file: &ReadFile, at: u64, end: u64) -> Outcome<StreamItem> {
    let damaged = |why: String| Err(damage(file, format!("byte {at}: {why}")));
    let left = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
    let mut prefix = [0; PREFIX_BYTES];
    let prefix = prefix.get_mut(..left.min(PREFIX_BYTES)).unwrap_or_default();
    read_exact(file, prefix, at)?;
    let (length, start) = match prefix.starts_with(&CONTINUATION) {
        true => (prefix.get(LENGTH_BYTES..), at + PREFIX_BYTES as u64),
        false => (Some(&*prefix), at + LENGTH_BYTES as u64),
    };
    let Some(length) = length.and_then(<[u8]>::first_chunk) else { return Ok(StreamItem::Cut) };
    let length = match u64::try_from(i32::from_le_bytes(*length)) {
        Ok(0) => return Ok(StreamItem::End(start)),
        Ok(length) if length <= MAX_METADATA_BYTES => length,
        _ => return damaged("the size of a message is damaged".to_owned()),
    };
    let Some(body) = start.checked_add(length).filter(|body| *body <= end) else { return Ok(StreamItem::Cut) };
    let mut metadata = vec![0; usize::try_from(length).unwrap_or_default()];
    read_exact(file, &mut metadata, start)?;
    let mut message = RawMessage { metadata, body: body..body };
    let size = match message.parse() {
        Ok(message) => message.bodyLength(),
        Err(why) => return damaged(why),
    };
    let Ok(size) = u64::try_from(size) else { return damaged("the size of a message is negative".to_owned()) };
    match body.checked_add(size).filter(|after| *after <= end) {
        Some(after) => message.body.end = after,
        None => return Ok(StreamItem::Cut),
    }
    Ok(StreamItem::Message(message))
}

/// Fills `bytes` from an offset of the file.
pub(super) fn read_exact(file: &ReadFile, bytes: &mut [u8], at: u64) -> Outcome<()> {
    file.read_exact_at(bytes, at).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => damage(file, "it became shorter while it was read"),
        _ => Failure::io(READING, file.path(), &error),
    })
}

pub(super) fn damage(file: &ReadFile, why: impl Into<String>) -> Failure {
    refusal(file, why, DAMAGE_HINT)
}

/// Returns the failure for a file that is not read, with a hint.
pub(super) fn refusal(file: &ReadFile, why: impl Into<String>, hint: &str) -> Failure {
    Failure::data(READING, why.into()).on(Subject::path(file.path())).with_hint(hint)
}
