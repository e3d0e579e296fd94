//! Access to an archive during the walk: a window of bytes that moves forward, over a plain file or a decompressed stream.

use super::header::BLOCK_BYTES;
use super::scouts::HeaderPrefetches;
use crate::source::documents::UnpackedReader;
use gristmill_core::{Cancel, Failure, Outcome};
use gristmill_storage::read::ReadFile;
use std::io;
use std::sync::Arc;

/// Number of bytes that are read after a jump: a header, a short extension, and the small entries after it.
const CHUNK_MIN: usize = 8 << 10;
/// Maximum number of bytes in one read, which fits into the CPU cache.
const CHUNK_MAX: usize = 256 << 10;
/// Maximum size in bytes of a gap that is read instead of skipped by a jump.
const MIN_JUMP_BYTES: u64 = 128 << 10;
/// Minimum number of bytes that are read after a jump in a file in a store.
const JUMP_CHUNK_MIN: usize = 4 << 10;
/// Number of recent jumps whose needed bytes are recorded.
const MAX_REMEMBERED_JUMPS: usize = 8;
/// Number of bytes of a stream before the newest byte that remain accessible.
const STREAM_KEEPS: usize = 4 << 20;

/// A view of the bytes of one archive.
pub(super) trait Window {
    /// Returns `len` bytes from `offset` on; fewer only at the end of the archive or of its readable part.
    fn bytes(&mut self, offset: u64, len: usize) -> Outcome<&[u8]>;
    /// Whether the archive has at least `end` bytes.
    fn has_bytes_to(&mut self, end: u64) -> Outcome<bool>;
    /// Whether bytes from `offset` on can be read without losing access to earlier bytes.
    fn can_read_ahead(&self, offset: u64) -> bool;
    /// Returns the number of bytes of the *file* that are processed when the walk is at `offset` of the archive.
    fn file_bytes_done(&self, offset: u64) -> u64;
    /// Returns the known length of the archive: that of a plain file, or the number of decompressed bytes of a stream.
    fn known_len(&self) -> u64;
    /// Returns the reason why the bytes ended prematurely, if they did.
    fn broken(&self) -> Option<&str>;
}

/// Window over a plain file: reads ahead over small entries, and jumps from header to header over large ones.
pub(super) struct FileWindow {
    file: Arc<ReadFile>,
    len: u64,
    buffer: Vec<u8>,
    /// Offset in the file of the first byte of `buffer`.
    start: u64,
    /// Number of bytes of `buffer` that hold data.
    filled: usize,
    /// Number of bytes of the last read.
    chunk: usize,
    /// Offset at which reads must end.
    with_end: u64,
    jumps: Jumps,
    scouts: HeaderPrefetches,
}

/// Determines the number of bytes to read after a jump in a file in a store: as many as the walk needed after recent jumps, so that the
/// small entries after a large entry need no separate request.
struct Jumps {
    /// Offset of the last jump; `None` once the bytes after it are read sequentially.
    from: Option<u64>,
    /// Number of bytes needed after each of the recent jumps, as powers of two.
    needs: [usize; MAX_REMEMBERED_JUMPS],
    current: usize,
}

impl Jumps {
    fn new() -> Self {
        Self { from: None, needs: [JUMP_CHUNK_MIN; MAX_REMEMBERED_JUMPS], current: 0 }
    }

    /// Records a jump, and returns the number of bytes to read.
    fn jump(&mut self, to: u64) -> usize {
        self.from = Some(to);
        let chunk = self.needs.iter().copied().max().unwrap_or(JUMP_CHUNK_MIN);
        self.current = (self.current + 1) % MAX_REMEMBERED_JUMPS;
        self.needs[self.current] = JUMP_CHUNK_MIN;
        chunk
    }

    /// Returns the number of bytes to read when `len` bytes shortly after a jump are needed; `None` if reading is sequential from here on.
    fn read_on(&mut self, offset: u64, len: usize) -> Option<usize> {
        let before = usize::try_from(offset.checked_sub(self.from?)?).unwrap_or(usize::MAX);
        let need = before.saturating_add(len);
        if need > CHUNK_MAX {
            self.from = None;
            return None;
        }
        let need = need.next_power_of_two().max(self.needs[self.current]);
        self.needs[self.current] = need;
        Some(need.saturating_sub(before).max(JUMP_CHUNK_MIN))
    }
}

impl FileWindow {
    pub(super) fn new(file: Arc<ReadFile>) -> Self {
        let len = file.len();
        Self { buffer: vec![0; CHUNK_MAX], with_end: u64::MAX, ..Self::with_end(file, len) }
    }

    /// Creates a window that treats the bytes before `end` as the whole file.
    pub(super) fn with_end(file: Arc<ReadFile>, end: u64) -> Self {
        let len = file.len().min(end);
        let jumps = Jumps::new();
        let scouts = HeaderPrefetches::default();
        Self { file, len, buffer: Vec::new(), start: 0, filled: 0, chunk: CHUNK_MIN * 4, with_end: len, jumps, scouts }
    }

    fn refill(&mut self, offset: u64, len: usize) -> Outcome<()> {
        let end = self.start + self.filled as u64;
        let remote = self.file.bytes_worth_a_jump();
        let near = offset >= self.start && offset <= end.saturating_add(remote.unwrap_or(MIN_JUMP_BYTES));
        if let (Some(_), false) = (remote, near) {
            return self.jump(offset, len);
        }
        let alone = remote.and_then(|_| self.jumps.read_on(offset, len));
        self.chunk = match alone {
            Some(chunk) => chunk,
            None if near => (self.chunk * 2).min(CHUNK_MAX),
            None => CHUNK_MIN,
        };
        let left = usize::try_from(self.with_end.saturating_sub(offset)).unwrap_or(usize::MAX);
        let want = self.chunk.max(len).min(left);
        if self.buffer.len() < want {
            self.buffer.resize(want, 0);
        }
        self.start = offset;
        self.filled = 0;
        while self.filled < len.min(want) {
            let at = offset.saturating_add(self.filled as u64);
            let rest = &mut self.buffer[self.filled..want];
            let read = if alone.is_some() { self.file.read_at_directly(rest, at) } else { self.file.read_at(rest, at) };
            match read {
                Ok(0) => break,
                Ok(n) => self.filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Failure::io("reading the shard", self.file.path(), &e)),
            }
        }
        Ok(())
    }
}

impl FileWindow {
    /// Returns the number of jumps that had to wait for a request.
    #[cfg(test)]
    pub(super) fn waits(&self) -> u64 {
        self.scouts.waits
    }

    /// Jumps to an offset of a file in a store. The requests of the scouts are sent at the same time.
    fn jump(&mut self, offset: u64, len: usize) -> Outcome<()> {
        let chunk = self.jumps.jump(offset).max(len) as u64;
        let end = self.with_end.min(self.len);
        if let Some((start, piece)) = self.scouts.take(offset, len, end) {
            (self.start, self.filled, self.buffer) = (start, piece.len(), piece);
            return Ok(());
        }
        let wanted = offset..offset.saturating_add(chunk).min(end).max(offset);
        let mut ranges: Vec<_> = std::iter::once(wanted).collect();
        ranges.extend(self.scouts.begin_jump(offset, chunk, end));
        let mut answers = self.file.read_ranges_directly(&ranges).into_iter();
        let own = answers.next().unwrap_or_else(|| Ok(Vec::new()));
        self.scouts.end_jump(answers.map(Result::ok).collect());
        self.buffer = own.map_err(|error| Failure::io("reading the shard", self.file.path(), &error))?;
        (self.start, self.filled) = (offset, self.buffer.len());
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
    fn has_bytes_to(&mut self, end: u64) -> Outcome<bool> {
        Ok(end <= self.len)
    }
    fn can_read_ahead(&self, offset: u64) -> bool {
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

/// Window over a decompressed stream, which moves only forward; a few MiB before the newest byte remain accessible.
pub(super) struct StreamWindow<'a> {
    stream: UnpackedReader,
    cancel: &'a Cancel,
    buffer: Vec<u8>,
    start: u64,
}

impl<'a> StreamWindow<'a> {
    pub(super) fn new(stream: UnpackedReader, cancel: &'a Cancel) -> Self {
        Self { stream, cancel, buffer: Vec::new(), start: 0 }
    }
    fn end(&self) -> u64 {
        self.start + self.buffer.len() as u64
    }
    /// Decompresses until `end` bytes of the archive are known; returns `false` if it ends earlier.
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
    fn has_bytes_to(&mut self, end: u64) -> Outcome<bool> {
        self.unpack_to(end)
    }
    fn can_read_ahead(&self, offset: u64) -> bool {
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
