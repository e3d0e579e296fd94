//! Writes a pickled list of pairs.

use super::PROTO;
use gristmill_core::Outcome;

/// Size at which a frame is closed before the next value, in bytes.
const MAX_FRAME_BYTES: usize = 65_536;
/// Frames with fewer bytes have no header.
const MIN_FRAME_BYTES: usize = 4;
/// Number of items in one append operation.
const ITEMS_PER_APPEND: u64 = 1_000;
/// The count for a list with an unknown number of items, at least two.
const UNKNOWN_COUNT: u64 = u64::MAX;
/// The protocol number that is written.
const PROTOCOL: u8 = 4;

/// Writes a pickled list of `count` pairs. Finished bytes are passed to `out` in pieces of about 64 KiB.
///
/// `items` must yield exactly `count` pairs.
pub fn write_index(
    count: u64,
    items: impl Iterator<Item = (u64, u64)>,
    out: &mut dyn FnMut(&[u8]) -> Outcome<()>,
) -> Outcome<()> {
    let mut writer = IndexWriter::new(count);
    for (offset, length) in items {
        writer.push(offset, length, out)?;
    }
    writer.finish(out)
}

/// Writes a pickled list pair by pair.
pub struct IndexWriter {
    frame: Vec<u8>,
    count: u64,
    written: u64,
}

impl IndexWriter {
    /// Creates a writer for a list of `count` items. The count is needed because a list of one item is encoded differently.
    pub fn new(count: u64) -> Self {
        let mut frame = Vec::with_capacity(MAX_FRAME_BYTES + 64);
        frame.extend_from_slice(&[0x5d, 0x94]);
        Self { frame, count, written: 0 }
    }

    /// Creates a writer for a list of at least two items whose number is not known in advance.
    pub fn of_several() -> Self {
        Self::new(UNKNOWN_COUNT)
    }

    /// Adds a pair.
    pub fn push(&mut self, offset: u64, length: u64, out: &mut dyn FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
        if self.written == 0 {
            out(&[PROTO, PROTOCOL])?;
        } else if self.count > 1 && self.written.is_multiple_of(ITEMS_PER_APPEND) {
            self.frame.push(0x65);
        }
        if self.count > 1 && self.written.is_multiple_of(ITEMS_PER_APPEND) {
            self.frame.push(b'(');
        }
        for number in [offset, length] {
            if self.frame.len() >= MAX_FRAME_BYTES {
                self.flush(out)?;
            }
            put_number(&mut self.frame, number);
        }
        self.frame.extend_from_slice(&[0x86, 0x94]);
        self.written += 1;
        Ok(())
    }

    /// Ends the list.
    pub fn finish(mut self, out: &mut dyn FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
        debug_assert!(
            self.written == self.count || (self.count == UNKNOWN_COUNT && self.written > 1),
            "as many items as were announced"
        );
        match (self.written, self.count) {
            (0, _) => out(&[PROTO, PROTOCOL])?,
            (_, 1) => self.frame.push(b'a'),
            _ => self.frame.push(0x65),
        }
        self.frame.push(b'.');
        self.flush(out)
    }

    fn flush(&mut self, out: &mut dyn FnMut(&[u8]) -> Outcome<()>) -> Outcome<()> {
        if self.frame.len() >= MIN_FRAME_BYTES {
            let mut head = [0x95; 9];
            head[1..].copy_from_slice(&(self.frame.len() as u64).to_le_bytes());
            out(&head)?;
        }
        out(&self.frame)?;
        self.frame.clear();
        Ok(())
    }
}

/// Appends a number in the shortest form that CPython uses.
fn put_number(bytes: &mut Vec<u8>, number: u64) {
    if let Ok(small) = u8::try_from(number) {
        bytes.extend_from_slice(&[0x4b, small]);
    } else if let Ok(short) = u16::try_from(number) {
        bytes.push(0x4d);
        bytes.extend_from_slice(&short.to_le_bytes());
    } else if let Ok(word) = i32::try_from(number) {
        bytes.push(0x4a);
        bytes.extend_from_slice(&word.to_le_bytes());
    } else {
        // A ninth byte stores the sign of numbers from 2⁶³ on.
        let count = (64 - number.leading_zeros()) as usize / 8 + 1;
        let mut digits = [0; 9];
        digits[..8].copy_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&[0x8a, count as u8]);
        bytes.extend_from_slice(&digits[..count]);
    }
}
