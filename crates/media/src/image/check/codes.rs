//! Checks whether the entropy-coded data of a JPEG image without an end marker contain all of its units.
//!
//! The codes are counted, but no pixels are reconstructed. The result depends on where libjpeg runs out of bytes: it reads ahead by several
//! bytes, and fails if they are missing even if the remaining codes do not need them.

use super::scans::Huffman;
use crate::{ProbeError, Reader};

/// Number of bits to which the buffer is filled near the end of the file.
const FULL_BITS: u32 = 57;
/// Number of remaining bits at which the buffer is refilled with [`FAR_BYTES`] bytes, far from the end of the file.
const REFILL_AT_BITS: u32 = 16;
const FAR_BYTES: u32 = 6;
/// Bytes per block of a unit that must remain for libjpeg to use its fast path.
const FAST_PATH_BYTES: u64 = 512;

/// A lookup table of codes by their length.
struct Table {
    /// For each length: one more than its last code, and the offset to add to a code to get the index of its value.
    ends: [(u32, i64); 17],
    values: Vec<u8>,
}

impl Table {
    fn new(table: &Huffman) -> Self {
        let mut ends = [(0, 0); 17];
        let (mut code, mut index) = (0_u32, 0_i64);
        for (end, count) in ends.iter_mut().skip(1).zip(table.counts) {
            let add = index - i64::from(code);
            code += u32::from(count);
            index += i64::from(count);
            *end = (if count > 0 { code } else { 0 }, add);
            code <<= 1;
        }
        Self { ends, values: table.values.clone() }
    }
}

/// Reads bits of the entropy-coded data, without stuffed bytes.
struct Bits<'r, 'a> {
    reader: &'r mut Reader<'a>,
    at: u64,
    buffer: u64,
    left: u32,
    is_far: bool,
}

/// Reason why no further bits can be read.
enum BitsError {
    End,
    Error(ProbeError),
}

impl From<ProbeError> for BitsError {
    fn from(error: ProbeError) -> Self {
        Self::Error(error)
    }
}

impl Bits<'_, '_> {
    fn byte(&mut self) -> Result<(), BitsError> {
        let byte = match *self.reader.up_to(self.at, 2)? {
            [0xff, 0] => {
                self.at += 1;
                0xff
            }
            [0xff, _] | [0xff] | [] => return Err(BitsError::End),
            [byte, ..] => byte,
        };
        self.at += 1;
        self.buffer = self.buffer << 8 | u64::from(byte);
        self.left += 8;
        Ok(())
    }

    /// Ensures that `count` bits (at most 16) are buffered.
    fn ensure_bits(&mut self, count: u32) -> Result<(), BitsError> {
        if self.is_far {
            if self.left <= REFILL_AT_BITS {
                for _ in 0..FAR_BYTES {
                    self.byte()?;
                }
            }
        } else if self.left < count {
            while self.left < FULL_BITS {
                self.byte()?;
            }
        }
        Ok(())
    }

    fn peek(&self, count: u32) -> u32 {
        let bits = self.buffer >> self.left.saturating_sub(count) & ((1 << count) - 1);
        u32::try_from(bits).unwrap_or_default()
    }

    fn symbol(&mut self, table: &Table) -> Result<u8, BitsError> {
        self.ensure_bits(8)?;
        for (len, (end, add)) in (1_u32..).zip(table.ends.iter().skip(1)) {
            if len > 8 {
                self.ensure_bits(len)?;
            }
            let code = self.peek(len);
            if code < *end {
                self.left -= len;
                let index = usize::try_from(i64::from(code) + add).unwrap_or(usize::MAX);
                return Ok(table.values.get(index).copied().unwrap_or_default());
            }
        }
        // An invalid code yields 0, like in libjpeg.
        self.left = self.left.saturating_sub(16);
        Ok(0)
    }

    fn skip(&mut self, count: u32) -> Result<(), BitsError> {
        if count > 0 {
            self.ensure_bits(count)?;
            self.left = self.left.saturating_sub(count);
        }
        Ok(())
    }

    fn block(&mut self, first: &Table, other: &Table) -> Result<(), BitsError> {
        let size = self.symbol(first)?;
        self.skip(size.into())?;
        let mut place = 1;
        while place < 64 {
            let symbol = self.symbol(other)?;
            let (run, size) = (symbol >> 4, symbol & 15);
            if size == 0 {
                if run != 15 {
                    break;
                }
                place += 16;
            } else {
                place += u32::from(run) + 1;
                self.skip(size.into())?;
            }
        }
        Ok(())
    }
}

/// Whether `units` units of `blocks` are present from offset `from` on.
pub(super) fn are_there(
    reader: &mut Reader,
    from: u64,
    units: u64,
    blocks: &[(Huffman, Huffman)],
) -> Result<bool, ProbeError> {
    let tables: Vec<_> = blocks.iter().map(|(first, other)| (Table::new(first), Table::new(other))).collect();
    let far = FAST_PATH_BYTES * tables.len() as u64;
    let mut bits = Bits { reader, at: from, buffer: 0, left: 0, is_far: false };
    for _ in 0..units {
        bits.is_far = bits.at + far <= bits.reader.len();
        for (first, other) in &tables {
            match bits.block(first, other) {
                Ok(()) => {}
                Err(BitsError::End) => return Ok(false),
                Err(BitsError::Error(error)) => return Err(error),
            }
        }
    }
    Ok(true)
}
