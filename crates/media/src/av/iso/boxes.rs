//! Reads boxes, and tables of numbers in them, by offset.

use crate::{ProbeError, Reader};

/// The location of a box. Its content never extends past the enclosing box.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoxHeader {
    /// The type of the box.
    pub kind: [u8; 4],
    /// Offset of the box, including its header, in bytes.
    pub at: u64,
    /// Offset of its content.
    pub body: u64,
    /// Offset of its end.
    pub end: u64,
}

impl BoxHeader {
    /// Returns the length of the content in bytes.
    pub fn len(&self) -> u64 {
        self.end.saturating_sub(self.body)
    }
}

/// Reads the box at `at`, inside a box that ends at `end`; `None` if there are no further boxes.
pub fn next(reader: &mut Reader, at: u64, end: u64) -> Result<Option<BoxHeader>, ProbeError> {
    let room = end.saturating_sub(at);
    if room < 8 {
        return Ok(None);
    }
    let &[a, b, c, d, k, l, m, n, ref more @ ..] = reader.up_to(at, 16)? else { return Ok(None) };
    let mut size = u64::from(u32::from_be_bytes([a, b, c, d]));
    let mut header = 8;
    if size == 1 && room >= 16 {
        let Ok(long) = <[u8; 8]>::try_from(more) else { return Ok(None) };
        size = u64::from_be_bytes(long);
        header = 16;
    } else if size == 0 {
        size = room;
    }
    if size < header {
        return Ok(None);
    }
    Ok(Some(BoxHeader { kind: [k, l, m, n], at, body: at + header, end: at.saturating_add(size).min(end) }))
}

/// Reads big-endian 32-bit words, a piece of the table at a time.
#[derive(Clone, Debug, Default)]
pub struct WordReader {
    /// Offset of the next piece in the file.
    at: u64,
    /// Number of words that were not returned yet.
    left: u64,
    piece: Vec<u8>,
    /// Number of bytes of the piece that were returned.
    done: usize,
}

/// Bytes of a table that are read at a time.
const READ_BYTES: u64 = 32 << 10;

impl WordReader {
    /// Creates a reader of `count` words from `at`.
    pub fn new(at: u64, count: u64) -> Self {
        Self { at, left: count, piece: Vec::new(), done: 0 }
    }

    /// Reads the next word; `None` after the last one.
    ///
    /// # Errors
    /// [`ProbeError::Broken`] if the file ends before the table.
    pub fn next(&mut self, reader: &mut Reader) -> Result<Option<u32>, ProbeError> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.done + 4 > self.piece.len() {
            let count = self.left.saturating_mul(4).min(READ_BYTES);
            let piece = reader.up_to(self.at, usize::try_from(count).unwrap_or(0))?;
            if piece.len() < 4 {
                return Err(ProbeError::broken("a table of its header is cut short", self.at));
            }
            self.piece.clear();
            self.piece.extend_from_slice(&piece[..piece.len() / 4 * 4]);
            self.at += self.piece.len() as u64;
            self.done = 0;
        }
        let word =
            self.piece.get(self.done..self.done + 4).and_then(|four| four.try_into().ok()).map(u32::from_be_bytes);
        self.done += 4;
        self.left -= 1;
        Ok(word)
    }

    /// Reads the next two words.
    pub fn pair(&mut self, reader: &mut Reader) -> Result<Option<(u32, u32)>, ProbeError> {
        match (self.next(reader)?, self.next(reader)?) {
            (Some(one), Some(other)) => Ok(Some((one, other))),
            _ => Ok(None),
        }
    }
}

/// Reads a big-endian number of four bytes at `at`.
pub fn be32(reader: &mut Reader, at: u64) -> Result<u32, ProbeError> {
    Ok(u32::from_be_bytes(reader.array(at)?))
}

/// Reads a big-endian number of eight bytes at `at`.
pub fn be64(reader: &mut Reader, at: u64) -> Result<u64, ProbeError> {
    Ok(u64::from_be_bytes(reader.array(at)?))
}
