//! GIF: checks that the codes of the first frame yield all of its pixels. The pixels are counted, but not reconstructed.

use super::super::gif::first_frame;
use super::{error, truncated};
use crate::{ProbeError, Reader};

/// The number of codes of at most [`MAX_CODE_BITS`] bits.
const MAX_CODES: usize = 4096;
const MAX_CODE_BITS: u32 = 12;

pub(super) fn check(reader: &mut Reader) -> Result<(), ProbeError> {
    let frame = first_frame(reader).map_err(error)?;
    let pixels = u64::from(frame.width) * u64::from(frame.height);
    if pixels == 0 {
        return Err(ProbeError::broken("the first frame of the GIF picture has no pixels", frame.data));
    }
    let mut bits = Bits { reader, at: frame.data, block: 0, buffer: 0, count: 0 };
    if frame.code_bits > 11 {
        return Err(ProbeError::broken("the codes of the GIF picture are too long", frame.data));
    }
    let clear = 1_usize << frame.code_bits;
    let end = clear + 1;
    // The number of pixels of each code.
    let mut lengths = vec![1_u32; MAX_CODES];
    let (mut next, mut size, mut last, mut done) = (clear + 2, frame.code_bits + 1, None, 0_u64);
    while done < pixels {
        let code = bits.take(size)?;
        if code == clear {
            (next, size, last) = (clear + 2, frame.code_bits + 1, None);
            continue;
        }
        if code == end {
            return Err(truncated(bits.reader));
        }
        let Some(before) = last else {
            if code > clear {
                return Err(wrong(bits.at));
            }
            done += 1;
            last = Some(code);
            continue;
        };
        if code > next {
            return Err(wrong(bits.at));
        }
        // A code that is not defined yet means the previous code followed by the first pixel of the previous code.
        let longer = lengths[before].saturating_add(1);
        done += u64::from(if code == next { longer } else { lengths[code] });
        if next < MAX_CODES {
            lengths[next] = longer;
            if next + 1 == 1 << size && size < MAX_CODE_BITS {
                size += 1;
            }
            next += 1;
        }
        last = Some(code.min(MAX_CODES - 1));
    }
    Ok(())
}

fn wrong(at: u64) -> ProbeError {
    ProbeError::broken("the GIF picture has an invalid code", at)
}

/// Reads bits of a frame's sub-blocks, least significant first.
struct Bits<'r, 'a> {
    reader: &'r mut Reader<'a>,
    at: u64,
    /// Bytes left in the sub-block.
    block: u8,
    buffer: u32,
    count: u32,
}

impl Bits<'_, '_> {
    fn take(&mut self, size: u32) -> Result<usize, ProbeError> {
        while self.count < size {
            let byte = self.byte()?;
            if self.block == 0 {
                // Sub-blocks must be complete; empty ones are skipped.
                if self.at + u64::from(byte) > self.reader.len() {
                    return Err(truncated(self.reader));
                }
                self.block = byte;
                continue;
            }
            self.block -= 1;
            self.buffer |= u32::from(byte) << self.count;
            self.count += 8;
        }
        let code = self.buffer & ((1 << size) - 1);
        self.buffer >>= size;
        self.count -= size;
        Ok(code as usize)
    }

    fn byte(&mut self) -> Result<u8, ProbeError> {
        let byte = self.reader.up_to(self.at, 1)?.first().copied().ok_or(());
        self.at += 1;
        byte.map_err(|()| truncated(self.reader))
    }
}
