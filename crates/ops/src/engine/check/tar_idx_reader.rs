//! Reads a `.tar.idx` word by word, in order, with a buffer of fixed size.

use gristmill_core::{Failure, Outcome, Subject};
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

const WORD_BYTES: usize = 8;
const BUFFER_BYTES: usize = 1 << 16;

/// The offsets of one `.tar.idx`. Unlike the format's own reader, it also returns words that do not ascend.
pub(super) struct TarIdxReader {
    file: ReadFile,
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` that hold data, and of those that were returned.
    filled: usize,
    used: usize,
    /// Offset in the file after the buffer.
    at: u64,
}

impl TarIdxReader {
    /// Opens a file of any length.
    pub(super) fn open(path: &Path) -> Outcome<Self> {
        Ok(Self { file: open_read(path)?, buffer: vec![0; BUFFER_BYTES], filled: 0, used: 0, at: 0 })
    }
    /// Returns the number of whole words in the file, including the end offset.
    pub(super) fn count(&self) -> u64 {
        self.file.len() / WORD_BYTES as u64
    }
    /// Returns the number of bytes after the last whole word.
    pub(super) fn trailing_bytes(&self) -> u64 {
        self.file.len() % WORD_BYTES as u64
    }
    /// Returns the next word; `None` at the end.
    pub(super) fn next(&mut self) -> Outcome<Option<u64>> {
        if self.filled - self.used < WORD_BYTES && !self.fill()? {
            return Ok(None);
        }
        let mut word = [0; WORD_BYTES];
        word.copy_from_slice(&self.buffer[self.used..self.used + WORD_BYTES]);
        self.used += WORD_BYTES;
        Ok(Some(u64::from_le_bytes(word)))
    }

    fn fill(&mut self) -> Outcome<bool> {
        let left = self.file.len().saturating_sub(self.at) / WORD_BYTES as u64 * WORD_BYTES as u64;
        let take = left.min(BUFFER_BYTES as u64) as usize;
        if take == 0 {
            return Ok(false);
        }
        self.file.read_exact_at(&mut self.buffer[..take], self.at).map_err(|e| {
            Failure::io("reading a tar index", self.file.path(), &e).on(Subject::path(self.file.path()).at(self.at))
        })?;
        self.at += take as u64;
        (self.filled, self.used) = (take, 0);
        Ok(true)
    }
}
