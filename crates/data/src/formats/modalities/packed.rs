//! Packed files: a header, the tokens of all documents, and the pickled list of the location of each document (docs/formats/modalities.md
//! §3). Every historical layout is read; only the latest is written.

use gristmill_core::problem::Subject;
use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_pycompat::pickle::{IndexReader, PROTO, STOP};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

#[cfg(test)]
mod tests;

/// Bytes before the tokens, in the current layout.
pub const HEADER_BYTES: u64 = 12;
/// Bytes before the tokens, in the oldest files.
const OLD_HEADER_BYTES: u64 = 8;
/// The header length in bytes and whether numbers are big-endian, for every historical layout, the current one first.
const ERAS: [(u64, bool); 4] =
    [(HEADER_BYTES, false), (HEADER_BYTES, true), (OLD_HEADER_BYTES, false), (OLD_HEADER_BYTES, true)];
/// Items between two checks for cancellation.
const CANCEL_CHECK_EVERY: u64 = 1 << 16;

/// The fields of the header before the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of all documents together, in bytes.
    pub data_bytes: u64,
    /// Bytes of one token: 1, 2 or 4.
    pub token_bytes: u8,
}

impl Header {
    /// Returns the twelve bytes of the current layout.
    pub fn to_bytes(self) -> [u8; HEADER_BYTES as usize] {
        let mut bytes = [0; HEADER_BYTES as usize];
        bytes[..8].copy_from_slice(&self.data_bytes.to_le_bytes());
        bytes[8] = self.token_bytes;
        bytes
    }
}

/// Layout of a packed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Layout {
    /// Bytes before the tokens: 12, in the oldest files 8.
    pub header_bytes: u64,
    /// Whether numbers and tokens are big-endian, as in files written until April 2024.
    pub is_big_endian: bool,
    /// Bytes of one token: 1 to 4.
    pub token_bytes: u8,
    /// Value subtracted from the offsets of the index: 0, or in old files the length of the header.
    pub base: u64,
}

impl Layout {
    /// Returns the current layout, with tokens of `token_bytes` bytes.
    pub fn current(token_bytes: u8) -> Self {
        Self { header_bytes: HEADER_BYTES, is_big_endian: false, token_bytes, base: 0 }
    }

    /// Whether current loaders can read the file.
    pub fn is_current(self) -> bool {
        self == Self::current(self.token_bytes) && self.token_bytes != 3
    }

    /// Describes when files of this layout were written.
    pub fn era(self) -> &'static str {
        match (self.header_bytes, self.is_big_endian, self.base, self.token_bytes) {
            (OLD_HEADER_BYTES, ..) => "until January 2024",
            (_, true, ..) => "until April 2024",
            (_, false, HEADER_BYTES, _) => "until June 2024",
            (_, false, _, 3) => "until December 2024",
            _ => "since June 2024",
        }
    }

    /// Returns the id of one token, of `token_bytes` bytes.
    pub fn token(self, bytes: &[u8]) -> u32 {
        let join = |id: u32, byte: &u8| (id << 8) | u32::from(*byte);
        if self.is_big_endian {
            bytes.iter().fold(0, join)
        } else {
            bytes.iter().rev().fold(0, join)
        }
    }

    /// Appends the ids of whole tokens to `ids`.
    pub fn tokens(self, bytes: &[u8], ids: &mut Vec<u32>) {
        ids.extend(bytes.chunks_exact(usize::from(self.token_bytes.max(1))).map(|token| self.token(token)));
    }
}

/// Locations of the documents: offsets and lengths in bytes, from the start of the tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    /// Offset of each document in bytes, from the start of the tokens.
    pub offsets: Vec<u64>,
    /// Length of each document in bytes, with its end token.
    pub lengths: Vec<u64>,
}

impl Index {
    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }
    /// Whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }
    /// Returns offset and length of a document.
    pub fn get(&self, document: usize) -> Option<(u64, u64)> {
        Some((*self.offsets.get(document)?, *self.lengths.get(document)?))
    }
}

/// A packed file open for reading.
#[derive(Debug)]
pub struct PackedReader {
    file: ReadFile,
    layout: Layout,
    data_bytes: u64,
    documents: u64,
}

impl PackedReader {
    /// Detects the layout of a file and reads its index once, in bounded memory.
    ///
    /// # Errors
    /// The file has no known layout, or its index is not a list of pairs; the failure states the byte offset.
    pub fn open(file: ReadFile) -> Outcome<Self> {
        Self::open_watched(file, &Cancel::default())
    }

    /// Like [`open`](Self::open), with cancellation, for files with a large index.
    pub fn open_watched(file: ReadFile, cancel: &Cancel) -> Outcome<Self> {
        let head = head_of(&file)?;
        let mut failure = None;
        for (header_bytes, is_big_endian) in ERAS {
            let Some(candidate) = candidate(&file, &head, header_bytes, is_big_endian)? else { continue };
            let (layout, data_bytes) = candidate;
            match walk(&file, header_bytes + data_bytes, cancel) {
                Ok((documents, first)) => {
                    let is_from_start = first == Some(OLD_HEADER_BYTES) || first == Some(HEADER_BYTES);
                    let base = first.filter(|first| is_from_start && *first == header_bytes).unwrap_or(0);
                    let layout = Layout { base, ..layout };
                    return Ok(Self { file, layout, data_bytes, documents });
                }
                Err(error) if error.is_cancelled() => return Err(error),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| no_layout(&file, &head)))
    }

    /// Returns the layout of the file.
    pub fn layout(&self) -> Layout {
        self.layout
    }
    /// Returns the length of all documents together and the size of a token.
    pub fn header(&self) -> Header {
        Header { data_bytes: self.data_bytes, token_bytes: self.layout.token_bytes }
    }
    /// Returns the length of all documents together, in bytes.
    pub fn data_bytes(&self) -> u64 {
        self.data_bytes
    }
    /// Returns the total number of tokens.
    pub fn tokens(&self) -> u64 {
        self.data_bytes / u64::from(self.layout.token_bytes.max(1))
    }
    /// Returns the number of items in the index.
    pub fn documents(&self) -> u64 {
        self.documents
    }
    /// Returns the open file.
    pub fn file(&self) -> &ReadFile {
        &self.file
    }
    /// Returns the offset of the index in the file, in bytes.
    pub fn index_at(&self) -> u64 {
        self.layout.header_bytes + self.data_bytes
    }

    /// Returns the documents in order, streamed: offset and length in bytes, from the start of the tokens.
    pub fn items(&self) -> Items<'_> {
        let reader = IndexReader::new(&self.file, self.index_at()..self.file.len()).with_negative();
        Items { reader, base: self.layout.base }
    }

    /// Reads the whole index into memory, which takes sixteen bytes per document.
    pub fn load_index(&self, cancel: &Cancel) -> Outcome<Index> {
        let mut index = Index::default();
        let mut items = self.items();
        while let Some((offset, length)) = items.next_item()? {
            if (index.offsets.len() as u64).is_multiple_of(CANCEL_CHECK_EVERY) {
                cancel.check()?;
            }
            index.offsets.push(offset);
            index.lengths.push(length);
        }
        Ok(index)
    }

    /// Whether a span is within the tokens and consists of whole tokens.
    pub fn contains_span(&self, offset: u64, length: u64) -> bool {
        let size = u64::from(self.layout.token_bytes.max(1));
        offset.checked_add(length).is_some_and(|end| end <= self.data_bytes)
            && offset.is_multiple_of(size)
            && length.is_multiple_of(size)
    }

    /// Fills `target` with the bytes of the tokens from `offset` on, counted from the start of the tokens.
    pub fn read(&self, offset: u64, target: &mut [u8]) -> Outcome<()> {
        if offset.checked_add(target.len() as u64).is_none_or(|end| end > self.data_bytes) {
            return Err(Failure::data("reading tokens", "the index points after the last token")
                .on(Subject::path(self.file.path()).at(self.layout.header_bytes.saturating_add(offset))));
        }
        self.file
            .read_exact_at(target, self.layout.header_bytes + offset)
            .map_err(|error| Failure::io("reading tokens", self.file.path(), &error))
    }
}

/// Iterates over the documents of a packed file.
pub struct Items<'a> {
    reader: IndexReader<'a>,
    /// See [`Layout::base`].
    base: u64,
}

impl Items<'_> {
    /// Returns offset and length of the next document, in bytes from the start of the tokens; `None` at the end. An offset before the
    /// tokens is the two's complement of a negative number, for which [`contains_span`](PackedReader::contains_span) is false.
    pub fn next_item(&mut self) -> Outcome<Option<(u64, u64)>> {
        let Some((offset, length)) = self.reader.next_item()? else { return Ok(None) };
        Ok(Some((offset.wrapping_sub(self.base), length)))
    }
}

/// Whether the content of a file looks like a packed file, regardless of its name: checks the twelve bytes of the header, and the first and
/// last byte of the index.
pub fn is_packed(path: &Path) -> bool {
    let has_layout = |file: ReadFile| {
        let (mut head, mut last) = ([0; HEADER_BYTES as usize], [0]);
        file.read_exact_at(&mut head, 0).ok()?;
        file.read_exact_at(&mut last, file.len().checked_sub(1)?).ok()?;
        let is_one = |big_endian| candidate(&file, &head, HEADER_BYTES, big_endian).is_ok_and(|found| found.is_some());
        Some(last == [STOP] && (is_one(false) || is_one(true)))
    };
    open_read(path).ok().and_then(has_layout).unwrap_or(false)
}

/// Whether the header of a file may be that of a packed file, in any historical layout: checks its first bytes and the first byte of the
/// index. Returns true for a file that cannot be read.
pub fn may_be_packed(path: &Path) -> bool {
    let Ok(file) = open_read(path) else { return true };
    let Ok(head) = head_of(&file) else { return true };
    ERAS.into_iter().any(|(bytes, is_big)| candidate(&file, &head, bytes, is_big).map_or(true, |found| found.is_some()))
}

/// Returns the first bytes of a file, followed by zeros if the file is shorter.
fn head_of(file: &ReadFile) -> Outcome<[u8; HEADER_BYTES as usize]> {
    let mut head = [0; HEADER_BYTES as usize];
    let wanted = file.len().min(HEADER_BYTES) as usize;
    let read = head.get_mut(..wanted).map_or(Ok(()), |head| file.read_exact_at(head, 0));
    read.map_err(|error| Failure::io("reading the header", file.path(), &error)).map(|()| head)
}

/// Returns the layout and the length of the tokens, if the header is valid for this header size and byte order.
fn candidate(
    file: &ReadFile,
    head: &[u8; HEADER_BYTES as usize],
    header_bytes: u64,
    is_big_endian: bool,
) -> Outcome<Option<(Layout, u64)>> {
    let [a, b, c, d, e, f, g, h, size @ ..] = *head;
    let length = [a, b, c, d, e, f, g, h];
    let (data_bytes, size) = match is_big_endian {
        false => (u64::from_le_bytes(length), u32::from_le_bytes(size)),
        true => (u64::from_be_bytes(length), u32::from_be_bytes(size)),
    };
    let size = if header_bytes == HEADER_BYTES { size } else { 4 };
    let Some(token_bytes) = u8::try_from(size).ok().filter(|size| (1..=4).contains(size)) else { return Ok(None) };
    let index_at = header_bytes.checked_add(data_bytes).filter(|at| *at < file.len());
    let Some(index_at) = index_at.filter(|_| data_bytes % u64::from(token_bytes) == 0) else { return Ok(None) };
    let mut first = [0];
    file.read_exact_at(&mut first, index_at).map_err(|error| Failure::io("reading the index", file.path(), &error))?;
    let layout = Layout { header_bytes, is_big_endian, token_bytes, base: 0 };
    Ok((first == [PROTO]).then_some((layout, data_bytes)))
}

/// Reads an index to its end; returns the number of its items and the first offset.
fn walk(file: &ReadFile, at: u64, cancel: &Cancel) -> Outcome<(u64, Option<u64>)> {
    let mut reader = IndexReader::new(file, at..file.len()).with_negative();
    let (mut count, mut first) = (0, None);
    while let Some((offset, _)) = reader.next_item()? {
        first = first.or(Some(offset));
        count += 1;
        if count % CANCEL_CHECK_EVERY == 0 {
            cancel.check()?;
        }
    }
    Ok((count, first))
}

fn no_layout(file: &ReadFile, head: &[u8; HEADER_BYTES as usize]) -> Failure {
    let [length @ .., _, _, _, _] = *head;
    let data_bytes = u64::from_le_bytes(length);
    let why = if file.len() < OLD_HEADER_BYTES {
        "it is too short for a header".to_owned()
    } else if data_bytes == 0 {
        "its header says that there are no tokens, and no index follows: a run that wrote it did not end".to_owned()
    } else if data_bytes.saturating_add(HEADER_BYTES) >= file.len() {
        let bytes = file.len();
        format!("its header states {data_bytes} bytes of tokens, but the file has only {bytes} bytes in total")
    } else {
        "no index begins where the tokens end".to_owned()
    };
    Failure::data("opening a packed file", why).on(Subject::path(file.path()))
}
