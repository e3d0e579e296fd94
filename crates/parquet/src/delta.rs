//! Integers encoded as differences in blocks (DELTA_BINARY_PACKED), read one by one.

use crate::bits::{bits_at, read_varint};

/// Maximum number of values in a block; writers use 128.
const MAX_BLOCK_VALUES: u64 = 1 << 20;

/// Reads 32-bit values that are stored as differences.
#[derive(Clone, Debug)]
pub(crate) struct DeltaReader<'a> {
    bytes: &'a [u8],
    per_group: usize,
    groups: usize,
    /// Number of remaining values, including the next one.
    left: usize,
    next: i32,
    min_delta: i32,
    /// Widths of the remaining groups of the block.
    widths: &'a [u8],
    group: &'a [u8],
    width: u32,
    at: usize,
}

/// Error for values that end early or are malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidDeltas;

impl<'a> DeltaReader<'a> {
    /// Creates a reader, and returns the bytes after its values.
    pub(crate) fn open(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), InvalidDeltas> {
        let mut rest = bytes;
        let block = take_varint(&mut rest)?;
        let groups = take_varint(&mut rest)?;
        let left = take_varint(&mut rest)?;
        let first = take_zigzag(&mut rest)?;
        let is_sound = block <= MAX_BLOCK_VALUES && groups > 0 && block % groups == 0 && (block / groups) % 8 == 0;
        if !is_sound || block == 0 {
            return Err(InvalidDeltas);
        }
        let to_usize = |number: u64| usize::try_from(number).map_err(|_| InvalidDeltas);
        let reader = Self {
            bytes: rest,
            per_group: to_usize(block / groups)?,
            groups: to_usize(groups)?,
            left: to_usize(left)?,
            next: first,
            min_delta: 0,
            widths: &[],
            group: &[],
            width: 0,
            at: usize::MAX,
        };
        let mut scout = reader.clone();
        scout.skip_to_end()?;
        Ok((reader, scout.bytes))
    }

    /// Returns the number of remaining values.
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Reads the next value.
    #[inline]
    pub(crate) fn read(&mut self) -> Result<i32, InvalidDeltas> {
        self.left = self.left.checked_sub(1).ok_or(InvalidDeltas)?;
        let value = self.next;
        if self.left > 0 {
            if self.at >= self.per_group {
                self.open_group()?;
            }
            let delta = bits_at(self.group, self.at, self.width) as i32;
            self.next = value.wrapping_add(self.min_delta).wrapping_add(delta);
            self.at += 1;
        }
        Ok(value)
    }

    /// Moves to the end of the values group by group, without decoding them.
    fn skip_to_end(&mut self) -> Result<(), InvalidDeltas> {
        let mut left = self.left.saturating_sub(1);
        while left > 0 {
            self.open_group()?;
            left = left.saturating_sub(self.per_group);
        }
        Ok(())
    }

    fn open_group(&mut self) -> Result<(), InvalidDeltas> {
        if self.widths.is_empty() {
            let mut rest = self.bytes;
            self.min_delta = take_zigzag(&mut rest)?;
            self.widths = rest.get(..self.groups).ok_or(InvalidDeltas)?;
            self.bytes = rest.get(self.groups..).ok_or(InvalidDeltas)?;
        }
        let (width, widths) = self.widths.split_first().ok_or(InvalidDeltas)?;
        if *width > 32 {
            return Err(InvalidDeltas);
        }
        // Some writers truncate the last group after its last value. Missing values are detected when they are read.
        let size = (self.per_group / 8).saturating_mul(usize::from(*width)).min(self.bytes.len());
        self.group = self.bytes.get(..size).unwrap_or_default();
        self.bytes = self.bytes.get(size..).unwrap_or_default();
        (self.width, self.widths, self.at) = (u32::from(*width), widths, 0);
        Ok(())
    }
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64, InvalidDeltas> {
    let (value, size) = read_varint(bytes).ok_or(InvalidDeltas)?;
    *bytes = bytes.get(size..).unwrap_or_default();
    Ok(value)
}

/// Reads a signed number and returns its lower 32 bits.
fn take_zigzag(bytes: &mut &[u8]) -> Result<i32, InvalidDeltas> {
    let value = take_varint(bytes)?;
    Ok(((value >> 1) as i64 ^ -((value & 1) as i64)) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn delta_values_are_sums_of_differences() {
        // Blocks of 8 values in one group: the value 7, then the differences 1 to 4 as 1 + (0, 1, 2, 3), each in two bits.
        let bytes = [8, 1, 5, 14, 2, 2, 0b1110_0100, 0, 99];
        let (mut reader, rest) = DeltaReader::open(&bytes).unwrap();
        let values: Vec<_> = (0..5).map(|_| reader.read().unwrap()).collect();
        assert_eq!((values, rest), (vec![7, 8, 10, 13, 17], &[99][..]));
        assert_eq!(reader.read(), Err(InvalidDeltas));
    }

    #[test]
    fn invalid_delta_headers_are_refused() {
        for bytes in
            [&[0, 1, 5, 14][..], &[8, 0, 5, 14], &[9, 1, 5, 14], &[8, 1, 5], &[8, 1, 5, 14, 2], &[8, 1, 5, 14, 2, 33]]
        {
            assert!(DeltaReader::open(bytes).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_delta_bytes_are_read_or_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..100), count in 0..120_u8) {
            bytes.splice(0..0, [128, 1, 4, count]);
            if let Ok((mut reader, _)) = DeltaReader::open(&bytes) {
                while reader.read().is_ok() {}
            }
        }
    }
}
