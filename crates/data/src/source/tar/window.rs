//! Access of the walk to an archive: a window of bytes that moves forward, over a plain file or a decompressed stream.

use super::header::BLOCK_BYTES;
use crate::source::compressed::Decompressed;
use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_storage::read::ReadFile;
use std::io;
use std::sync::Arc;

/// Bytes read after a jump: a header, a short extension, and small entries that follow.
const CHUNK_MIN: usize = 8 << 10;
/// Maximum bytes read at once; fits into the processor's cache.
const CHUNK_MAX: usize = 256 << 10;
/// A gap up to this size, in bytes, is read instead of jumped over.
const JUMP_WORTH: u64 = 128 << 10;
/// Bytes of a stream before the newest one that remain accessible.
const STREAM_KEEPS: usize = 4 << 20;

/// Moves over the bytes of one archive.
pub(super) trait Window {
    /// Returns `len` bytes from `offset`; fewer only where the archive ends (or cannot be read any further).
    fn bytes(&mut self, offset: u64, len: usize) -> Outcome<&[u8]>;
    /// Whether the archive has at least `end` bytes.
    fn reaches(&mut self, end: u64) -> Outcome<bool>;
    /// Whether bytes from `offset` on can be read without losing those before.
    fn can_look_ahead(&self, offset: u64) -> bool;
    /// Returns the bytes of the *file* that are finished when the walk is at `offset` of the archive.
    fn file_bytes_done(&self, offset: u64) -> u64;
    /// Returns the known bytes of the archive: all of a plain file, the unpacked ones of a stream.
    fn known_len(&self) -> u64;
    /// Returns why the bytes ended prematurely, if they did.
    fn broken(&self) -> Option<&str>;
}

/// A plain file: reads ahead among small entries, jumps from header to header among large ones.
pub(super) struct FileWindow {
    file: Arc<ReadFile>,
    len: u64,
    buffer: Vec<u8>,
    start: u64,
    filled: usize,
    chunk: usize,
    /// Nothing after this offset is read.
    until: u64,
}

impl FileWindow {
    pub(super) fn new(file: Arc<ReadFile>) -> Self {
        let len = file.len();
        Self { file, len, buffer: vec![0; CHUNK_MAX], start: 0, filled: 0, chunk: CHUNK_MIN * 4, until: u64::MAX }
    }

    /// Treats the bytes before an offset as the whole file.
    pub(super) fn until(file: Arc<ReadFile>, end: u64) -> Self {
        let len = file.len().min(end);
        Self { file, len, buffer: Vec::new(), start: 0, filled: 0, chunk: CHUNK_MIN * 4, until: len }
    }

    fn refill(&mut self, offset: u64, len: usize) -> Outcome<()> {
        let end = self.start + self.filled as u64;
        let near = offset >= self.start && offset <= end.saturating_add(JUMP_WORTH);
        self.chunk = if near { (self.chunk * 2).min(CHUNK_MAX) } else { CHUNK_MIN };
        let left = usize::try_from(self.until.saturating_sub(offset)).unwrap_or(usize::MAX);
        let want = self.chunk.max(len).min(left);
        if self.buffer.len() < want {
            self.buffer.resize(want, 0);
        }
        self.start = offset;
        self.filled = 0;
        while self.filled < len.min(want) {
            let at = offset.saturating_add(self.filled as u64);
            match self.file.read_at(&mut self.buffer[self.filled..want], at) {
                Ok(0) => break,
                Ok(n) => self.filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Failure::io("reading the shard", self.file.path(), &e)),
            }
        }
        Ok(())
    }
}

impl Window for FileWindow {
    #[inline]
    fn bytes(&mut self, offset: u64, len: usize) -> Outcome<&[u8]> {
        let held = |w: &Self| offset >= w.start && offset - w.start + len as u64 <= w.filled as u64;
        if !held(self) {
            self.refill(offset, len)?;
        }
        let from = (offset - self.start) as usize;
        let to = (from + len).min(self.filled);
        Ok(&self.buffer[from.min(to)..to])
    }
    fn reaches(&mut self, end: u64) -> Outcome<bool> {
        Ok(end <= self.len)
    }
    fn can_look_ahead(&self, offset: u64) -> bool {
        offset <= self.len
    }
    fn file_bytes_done(&self, offset: u64) -> u64 {
        offset.min(self.len)
    }
    fn known_len(&self) -> u64 {
        self.len
    }
    fn broken(&self) -> Option<&str> {
        None
    }
}

/// A decompressed stream: forward only; a few MiB before the newest byte remain accessible.
pub(super) struct StreamWindow<'a> {
    stream: Decompressed,
    cancel: &'a Cancel,
    buffer: Vec<u8>,
    start: u64,
}

impl<'a> StreamWindow<'a> {
    pub(super) fn new(stream: Decompressed, cancel: &'a Cancel) -> Self {
        Self { stream, cancel, buffer: Vec::new(), start: 0 }
    }
    fn end(&self) -> u64 {
        self.start + self.buffer.len() as u64
    }
    /// Unpacks until the archive is known to have `end` bytes; returns `false` if it ends before.
    fn unpack_to(&mut self, end: u64) -> Outcome<bool> {
        while self.end() < end {
            self.cancel.check()?;
            if self.buffer.len() >= 2 * STREAM_KEEPS {
                let drop = self.buffer.len() - STREAM_KEEPS;
                self.buffer.drain(..drop);
                self.start += drop as u64;
            }
            let filled = self.buffer.len();
            self.buffer.resize(filled + CHUNK_MAX, 0);
            let read = self.stream.read(&mut self.buffer[filled..]);
            self.buffer.truncate(filled + read.as_ref().map_or(0, |&n| n));
            if read? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Window for StreamWindow<'_> {
    fn bytes(&mut self, offset: u64, len: usize) -> Outcome<&[u8]> {
        self.unpack_to(offset.saturating_add(len as u64))?;
        if offset < self.start {
            return Ok(&[]);
        }
        let from = usize::try_from(offset - self.start).unwrap_or(usize::MAX).min(self.buffer.len());
        let to = from.saturating_add(len).min(self.buffer.len());
        Ok(&self.buffer[from..to])
    }
    fn reaches(&mut self, end: u64) -> Outcome<bool> {
        self.unpack_to(end)
    }
    fn can_look_ahead(&self, offset: u64) -> bool {
        offset.saturating_add(BLOCK_BYTES) <= self.end().saturating_add(STREAM_KEEPS as u64 / 2)
    }
    fn file_bytes_done(&self, _offset: u64) -> u64 {
        self.stream.consumed()
    }
    fn known_len(&self) -> u64 {
        self.end()
    }
    fn broken(&self) -> Option<&str> {
        self.stream.broken()
    }
}
