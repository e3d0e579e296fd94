//! Reads of ranges of objects.

use std::io;
use std::ops::Range;

/// Bytes after a part of an object that are fetched with it, for the end of its last line.
pub(crate) const AFTER_PART_BYTES: u64 = 32 << 10;

/// An object that is read by ranges from any number of threads.
pub trait RangeRead: Send + Sync {
    /// Fills the buffer from an offset. The range is within the object.
    ///
    /// # Errors
    /// The range cannot be read, or the object was replaced since it was opened.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Like [`read_exact_at`](Self::read_exact_at), for a range before a larger gap: nothing after the range is fetched.
    fn read_at_directly(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    /// Reads several ranges like [`read_at_directly`](Self::read_at_directly), requested at once if possible.
    fn read_ranges_directly(&self, ranges: &[Range<u64>]) -> Vec<io::Result<Vec<u8>>> {
        read_each(ranges, |buffer, offset| self.read_at_directly(buffer, offset))
    }

    /// Returns the minimum size of a gap, in bytes, that is skipped rather than read.
    fn bytes_worth_a_jump(&self) -> u64 {
        0
    }
}

/// Reads one range after another.
pub(super) fn read_each(
    ranges: &[Range<u64>],
    read: impl Fn(&mut [u8], u64) -> io::Result<()>,
) -> Vec<io::Result<Vec<u8>>> {
    let read = |range: &Range<u64>| {
        let mut bytes = buffer_for(range)?;
        read(&mut bytes, range.start)?;
        Ok(bytes)
    };
    ranges.iter().map(read).collect()
}

/// Allocates a buffer for a range.
pub(super) fn buffer_for(range: &Range<u64>) -> io::Result<Vec<u8>> {
    let bytes = usize::try_from(range.end.saturating_sub(range.start)).map_err(io::Error::other)?;
    Ok(vec![0; bytes])
}
