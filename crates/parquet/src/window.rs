//! A window of a file in memory, which is extended as bytes are needed.

use crate::file::ParquetFile;
use gristmill_core::Outcome;
use std::ops::Range;

/// A range of a file in memory.
#[derive(Debug, Default)]
pub(crate) struct Window {
    /// The buffer. It may be longer than the filled part, so that its memory is reused without filling it with zeros.
    bytes: Vec<u8>,
    filled: usize,
    start: u64,
    read: u64,
}

impl Window {
    /// Removes the bytes before offset `at`, which becomes the start of the window.
    pub(crate) fn restart(&mut self, at: u64) {
        let dropped = at.checked_sub(self.start).and_then(|count| usize::try_from(count).ok());
        match dropped {
            Some(dropped) if dropped <= self.filled => {
                self.bytes.copy_within(dropped..self.filled, 0);
                self.filled -= dropped;
            }
            _ => self.filled = 0,
        }
        self.start = at;
    }

    /// Reads until `count` bytes from offset `at` on are in memory. If it has to read, it also reads `ahead` bytes more, but not beyond
    /// `limit`. `at` must not be before the start, and the bytes must end before `limit`.
    pub(crate) fn fill(&mut self, file: &ParquetFile, at: u64, count: u64, ahead: u64, limit: u64) -> Outcome<()> {
        let end = self.start.saturating_add(self.filled as u64);
        let wanted = at.saturating_add(count);
        if wanted <= end {
            return Ok(());
        }
        let until = wanted.saturating_add(ahead).min(limit).max(wanted);
        let size = usize::try_from(until.saturating_sub(self.start)).unwrap_or(usize::MAX);
        if self.bytes.len() < size {
            self.bytes.resize(size, 0);
        }
        let target = self.bytes.get_mut(self.filled..size).unwrap_or_default();
        file.read_at(target, end)?;
        self.read = self.read.saturating_add(until - end);
        self.filled = size;
        Ok(())
    }

    /// Counts bytes that were read without the window.
    pub(crate) fn count(&mut self, bytes: u64) {
        self.read = self.read.saturating_add(bytes);
    }

    /// Returns the bytes in memory from offset `at` on.
    pub(crate) fn from(&self, at: u64) -> &[u8] {
        self.bytes.get(self.index(at)..self.filled).unwrap_or_default()
    }

    /// Returns the range in memory of a range of the file.
    pub(crate) fn range(&self, part: &Range<u64>) -> Range<usize> {
        self.index(part.start)..self.index(part.end)
    }

    /// Returns the bytes of a range of the file, which must be in memory.
    pub(crate) fn get(&self, part: &Range<u64>) -> &[u8] {
        self.bytes.get(self.range(part)).unwrap_or_default()
    }

    /// Returns the buffer, and continues at offset `at` in the memory of `spare`.
    pub(crate) fn take_bytes(&mut self, at: u64, spare: Vec<u8>) -> Vec<u8> {
        let taken = std::mem::replace(&mut self.bytes, spare);
        let begin = self.index(at).min(self.filled);
        let rest = taken.get(begin..self.filled).unwrap_or_default();
        if self.bytes.len() < rest.len() {
            self.bytes.clear();
            self.bytes.extend_from_slice(rest);
        } else if let Some(target) = self.bytes.get_mut(..rest.len()) {
            target.copy_from_slice(rest);
        }
        self.filled = rest.len();
        self.start = at;
        taken
    }

    /// Returns the number of bytes that were read from the file.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.read
    }

    fn index(&self, at: u64) -> usize {
        usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX)
    }
}
