//! Reads of parts of an object.

use std::io;

/// An object that is read by ranges from any number of threads.
pub trait RangeRead: Send + Sync {
    /// Fills the buffer from an offset. The range is within the object.
    ///
    /// # Errors
    /// Also if the object is no longer the one that was opened.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// The same for a range after which a larger gap follows: nothing more than the range is fetched.
    fn read_alone_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    /// Returns the size of a gap, in bytes, from which on it is jumped over rather than read.
    fn bytes_worth_a_jump(&self) -> u64 {
        0
    }
}
