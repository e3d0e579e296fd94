//! Reads an entry at arbitrary offsets through a small window, within a byte budget.

use super::ProbeError;
use gristmill_core::Cancel;
use gristmill_storage::read::ReadFile;
use std::io;

/// Random access to the bytes of one entry: a whole file, or a range of an archive.
pub trait ByteSource {
    /// Length in bytes.
    fn len(&self) -> u64;
    /// Whether the length is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Reads up to `buf.len()` bytes at `offset`; returns 0 at the end.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ByteSource for ReadFile {
    fn len(&self) -> u64 {
        ReadFile::len(self)
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        ReadFile::read_at(self, buf, offset)
    }
}

impl ByteSource for &[u8] {
    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or_default();
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// A range of a file: the content of an entry in an archive.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    file: &'a ReadFile,
    start: u64,
    len: u64,
}

impl<'a> Part<'a> {
    /// Creates a range of `len` bytes from offset `start`; bytes past the end of the file are not returned.
    pub fn new(file: &'a ReadFile, start: u64, len: u64) -> Self {
        Self { file, start, len }
    }
}

impl ByteSource for Part<'_> {
    fn len(&self) -> u64 {
        self.len
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.len.saturating_sub(offset);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        match self.start.checked_add(offset) {
            Some(at) if count > 0 => self.file.read_at(&mut buf[..count], at),
            _ => Ok(0),
        }
    }
}

/// Length of the first read of an entry, in bytes: enough for the header of most images.
const FIRST_READ_BYTES: usize = 4 << 10;
/// Length of later reads, in bytes.
const READ_BYTES: usize = 32 << 10;
/// The maximum number of bytes returned by one call.
pub const MAX_READ_BYTES: usize = 1 << 20;
/// Maximum number of bytes that are read from one entry, because a malicious file may cause a reader to jump back and forth.
const MAX_ENTRY_READ_BYTES: u64 = 4 << 30;

/// Reads an entry through a window. Memory is bounded by [`MAX_READ_BYTES`], the total of bytes read by a budget.
pub struct Reader<'a> {
    source: &'a dyn ByteSource,
    cancel: &'a Cancel,
    window: Vec<u8>,
    /// Offset of the window's first byte.
    at: u64,
    read: u64,
}

impl<'a> Reader<'a> {
    /// Creates a reader of one entry.
    pub fn new(source: &'a dyn ByteSource, cancel: &'a Cancel) -> Self {
        Self::with_window(source, cancel, Vec::new())
    }

    /// Like [`new`](Self::new), but reuses the memory of an earlier reader.
    pub fn with_window(source: &'a dyn ByteSource, cancel: &'a Cancel, mut window: Vec<u8>) -> Self {
        window.clear();
        Self { source, cancel, window, at: 0, read: 0 }
    }

    /// Returns the window's memory, to be reused for the next entry.
    pub fn into_window(self) -> Vec<u8> {
        self.window
    }

    /// Returns the length of the entry in bytes.
    pub fn len(&self) -> u64 {
        self.source.len()
    }

    /// Whether the entry is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes read from the source so far.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Returns up to `count` bytes (at most [`MAX_READ_BYTES`]) from `offset`; fewer only at the end of the entry.
    pub fn up_to(&mut self, offset: u64, count: usize) -> Result<&[u8], ProbeError> {
        let count = count.min(MAX_READ_BYTES);
        let left = self.len().saturating_sub(offset);
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(count);
        if count == 0 {
            return Ok(&[]);
        }
        if let Some(start) = self.in_window(offset, count) {
            return Ok(&self.window[start..start + count]);
        }
        self.fill(offset, count)?;
        Ok(&self.window[..count.min(self.window.len())])
    }

    /// Like [`up_to`](Self::up_to), but without reading ahead: for pieces that are far apart.
    pub fn sparse(&mut self, offset: u64, count: usize) -> Result<&[u8], ProbeError> {
        let count = count.min(MAX_READ_BYTES);
        if let Some(start) = self.in_window(offset, 1) {
            let end = (start + count).min(self.window.len());
            // A short rest of the window may be only the beginning of the piece.
            if end - start >= 64.min(count) || self.at + end as u64 == self.len() {
                return Ok(&self.window[start..end]);
            }
        }
        let left = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let count = left.min(count);
        if count > 0 {
            self.fill_with(offset, count, count)?;
        }
        Ok(&self.window[..count.min(self.window.len())])
    }

    /// Returns exactly `count` bytes (at most [`MAX_READ_BYTES`]) from `offset`; [`ProbeError::Broken`] if the entry ends before.
    pub fn exactly(&mut self, offset: u64, count: usize) -> Result<&[u8], ProbeError> {
        if count > MAX_READ_BYTES {
            return Err(ProbeError::broken(format!("a piece of {count} bytes is too long"), offset));
        }
        let end = self.len();
        let bytes = self.up_to(offset, count)?;
        if bytes.len() < count {
            return Err(ProbeError::broken("it ends too early", end));
        }
        Ok(bytes)
    }

    /// Returns `N` bytes from `offset`.
    pub fn array<const N: usize>(&mut self, offset: u64) -> Result<[u8; N], ProbeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.exactly(offset, N)?);
        Ok(array)
    }

    fn in_window(&self, offset: u64, count: usize) -> Option<usize> {
        let start = usize::try_from(offset.checked_sub(self.at)?).ok()?;
        (start.checked_add(count)? <= self.window.len()).then_some(start)
    }

    fn fill(&mut self, offset: u64, count: usize) -> Result<(), ProbeError> {
        let ahead = if self.read == 0 { FIRST_READ_BYTES } else { READ_BYTES };
        self.fill_with(offset, count, ahead)
    }

    fn fill_with(&mut self, offset: u64, count: usize, ahead: usize) -> Result<(), ProbeError> {
        if self.cancel.is_cancelled() {
            return Err(ProbeError::Cancelled);
        }
        let left = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = count.max(ahead).min(left);
        self.window.resize(wanted, 0);
        self.at = offset;
        let mut done = 0;
        while done < count {
            let got = match self.source.read_at(&mut self.window[done..], offset + done as u64) {
                Ok(got) => got,
                Err(error) => {
                    self.window.clear();
                    return Err(error.into());
                }
            };
            if got == 0 {
                break;
            }
            done += got;
        }
        self.window.truncate(done);
        self.read += done as u64;
        if self.read > MAX_ENTRY_READ_BYTES {
            return Err(ProbeError::broken("too much had to be read to understand it", offset));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_returns_any_range_up_to_the_end_of_the_entry() {
        let bytes: Vec<u8> = (0..100_000_u32).map(|i| (i % 251) as u8).collect();
        let (source, cancel) = (bytes.as_slice(), Cancel::default());
        let mut reader = Reader::new(&source, &cancel);
        for (offset, count) in [(0_usize, 10_usize), (3, 4_000), (90_000, 9_999), (99_990, 10), (5, 100_000)] {
            let end = (offset + count).min(bytes.len());
            assert_eq!(reader.up_to(offset as u64, count).unwrap(), &bytes[offset..end], "{offset} {count}");
        }
        assert!(reader.up_to(200_000, 1).unwrap().is_empty());
        assert!(reader.up_to(u64::MAX, 5).unwrap().is_empty());
        assert_eq!(reader.array::<2>(99_998).unwrap(), [bytes[99_998], bytes[99_999]]);
        assert!(matches!(reader.exactly(99_999, 2), Err(ProbeError::Broken { at: 100_000, .. })));
    }

    #[test]
    fn header_bytes_are_read_in_one_small_read() {
        let bytes = vec![7; 1 << 20];
        let (source, cancel) = (bytes.as_slice(), Cancel::default());
        let mut reader = Reader::new(&source, &cancel);
        for at in 0..4000 {
            assert_eq!(reader.array::<1>(at).unwrap(), [7]);
        }
        assert_eq!(reader.bytes_read(), 4096);
    }

    #[test]
    fn cancelled_reader_fails_as_cancelled() {
        let cancel = Cancel::default();
        cancel.cancel();
        assert!(matches!(Reader::new(&[1_u8, 2].as_slice(), &cancel).exactly(0, 1), Err(ProbeError::Cancelled)));
    }
}
