//! Decompression of Snappy in pieces, for pages that are too large for memory.

use std::io::{self, Read};

/// Maximum distance of copies in bytes; compressors work in blocks of this size.
const WINDOW_BYTES: usize = 64 << 10;
/// Size of the buffer in bytes at which bytes that are too old for copies are removed.
const MAX_KEPT_BYTES: usize = 1 << 20;

/// Reads decompressed bytes.
pub(crate) struct SnappyReader<R> {
    input: R,
    /// Decompressed bytes; the bytes before `taken` were returned and remain for copies.
    out: Vec<u8>,
    taken: usize,
    /// Number of remaining decompressed bytes; `None` until the size is read.
    left: Option<u64>,
}

impl<R: Read> SnappyReader<R> {
    /// Creates a reader of the raw format, which begins with the decompressed size. `input` should be buffered.
    pub(crate) fn new(input: R) -> Self {
        Self { input, out: Vec::new(), taken: 0, left: None }
    }

    fn read_size(&mut self) -> io::Result<u64> {
        let mut size = 0_u64;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.read_number(1)?;
            size |= (byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return Ok(size);
            }
        }
        Err(damaged())
    }

    /// Reads a little-endian number of up to four bytes.
    fn read_number(&mut self, bytes: usize) -> io::Result<u64> {
        let mut number = [0; 8];
        self.input.read_exact(number.get_mut(..bytes).unwrap_or_default())?;
        Ok(u64::from_le_bytes(number))
    }

    /// Decompresses one element, and returns its size.
    fn read_element(&mut self, left: u64) -> io::Result<u64> {
        let tag = self.read_number(1)?;
        let count = match tag & 3 {
            0 => {
                let count = match tag >> 2 {
                    short @ 0..=59 => short,
                    long => self.read_number((long - 59) as usize)?,
                } + 1;
                if count > left {
                    return Err(damaged());
                }
                // Memory grows only with the bytes that are actually read.
                let read = (&mut self.input).take(count).read_to_end(&mut self.out)? as u64;
                return if read == count { Ok(count) } else { Err(io::ErrorKind::UnexpectedEof.into()) };
            }
            1 => (tag >> 2 & 7) + 4,
            _ => (tag >> 2) + 1,
        };
        let offset = match tag & 3 {
            1 => (tag >> 5) << 8 | self.read_number(1)?,
            2 => self.read_number(2)?,
            _ => self.read_number(4)?,
        };
        let begin = usize::try_from(offset).ok().filter(|offset| *offset > 0);
        let begin = begin.and_then(|offset| self.out.len().checked_sub(offset)).ok_or_else(damaged)?;
        if count > left {
            return Err(damaged());
        }
        let end = begin + count as usize;
        if end <= self.out.len() {
            self.out.extend_from_within(begin..end);
            return Ok(count);
        }
        // A copy may overlap the bytes that it produces.
        for index in begin..end {
            let byte = *self.out.get(index).ok_or_else(damaged)?;
            self.out.push(byte);
        }
        Ok(count)
    }
}

impl<R: Read> Read for SnappyReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut left = match self.left {
            Some(left) => left,
            None => self.read_size()?,
        };
        if self.out.len() > MAX_KEPT_BYTES && self.taken > WINDOW_BYTES {
            self.out.drain(..self.taken - WINDOW_BYTES);
            self.taken = WINDOW_BYTES;
        }
        while left > 0 && self.out.len() - self.taken < buffer.len().min(WINDOW_BYTES) {
            left -= self.read_element(left)?;
        }
        self.left = Some(left);
        let ready = self.out.get(self.taken..).unwrap_or_default();
        let count = ready.len().min(buffer.len());
        if let (Some(target), Some(source)) = (buffer.get_mut(..count), ready.get(..count)) {
            target.copy_from_slice(source);
        }
        self.taken += count;
        Ok(count)
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "corrupt Snappy data")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn unpack(packed: &[u8], at_once: usize) -> io::Result<Vec<u8>> {
        let mut reader = SnappyReader::new(packed);
        let (mut all, mut buffer) = (Vec::new(), vec![0; at_once]);
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(all),
                count => all.extend_from_slice(&buffer[..count]),
            }
        }
    }

    #[test]
    fn large_texts_are_read_in_pieces() {
        let mut text = b"a long text with some repeats ".repeat(100_000);
        text.iter_mut().enumerate().for_each(|(at, byte)| {
            if at % 97 < 3 {
                *byte = (at / 97 % 251) as u8
            }
        });
        let packed = snap::raw::Encoder::new().compress_vec(&text).unwrap();
        for at_once in [1 << 10, 100_000, 10_000_000] {
            assert!(unpack(&packed, at_once).unwrap() == text);
        }
        assert!(unpack(&packed[..packed.len() - 1], 5000).is_err());
        assert_eq!(unpack(&[0], 10).unwrap(), b"");
    }

    proptest! {
        #[test]
        fn snappy_of_any_bytes_agrees_with_the_snap_crate(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(expected) = snap::raw::Decoder::new().decompress_vec(&bytes) {
                prop_assert_eq!(unpack(&bytes, 7).unwrap(), expected);
            } else {
                let _ = unpack(&bytes, 7);
            }
        }
    }
}
