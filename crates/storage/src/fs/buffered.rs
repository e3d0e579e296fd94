//! A file that buffers small writes.

use super::WriteFile;
use gristmill_core::{Failure, Outcome};
use std::io;

/// Combines small writes into large ones. Buffered bytes are lost unless [`finish`](Self::finish) or [`close`](Self::close) is called: a
/// writer that fails has nothing worth keeping.
pub struct BufferedFile {
    file: Box<dyn WriteFile>,
    waiting: Vec<u8>,
}

impl BufferedFile {
    /// Creates a buffer of `capacity` bytes.
    pub fn new(file: Box<dyn WriteFile>, capacity: usize) -> Self {
        Self { file, waiting: Vec::with_capacity(capacity.max(1)) }
    }
    /// Keeps the file in the page cache, because this run will read it again ([`WriteFile::keep_in_page_cache`]).
    #[must_use]
    pub fn with_cached_pages(mut self) -> Self {
        self.file.keep_in_page_cache();
        self
    }
    /// Appends bytes.
    pub fn write_all(&mut self, bytes: &[u8]) -> Outcome<()> {
        if self.waiting.len() + bytes.len() > self.waiting.capacity() {
            self.hand_over()?;
            if bytes.len() >= self.waiting.capacity() {
                return self.file.write_all(bytes);
            }
        }
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }
    /// Returns the size in bytes, including buffered bytes.
    pub fn len(&self) -> u64 {
        self.file.len() + self.waiting.len() as u64
    }
    /// Whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the path of the file.
    pub fn path(&self) -> &std::path::Path {
        self.file.path()
    }
    /// Passes all buffered bytes to the system.
    pub fn hand_over(&mut self) -> Outcome<()> {
        let result = self.file.write_all(&self.waiting);
        self.waiting.clear();
        result
    }
    /// Makes everything durable, closes the file and returns its size in bytes.
    pub fn finish(mut self) -> Outcome<u64> {
        self.hand_over()?;
        self.file.finish()
    }
    /// Closes the file without waiting for the disk, and returns its size in bytes.
    pub fn close(mut self) -> Outcome<u64> {
        self.hand_over()?;
        self.file.close()
    }
    /// Returns the failure inside an error of the [`io::Write`] side, or creates one from it.
    pub fn failure(what: &str, path: &std::path::Path, error: io::Error) -> Failure {
        match error.downcast::<Failure>() {
            Ok(failure) => failure,
            Err(error) => Failure::io(what, path, &error),
        }
    }
}

impl io::Write for BufferedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.hand_over().map_err(io::Error::other)
    }
}
