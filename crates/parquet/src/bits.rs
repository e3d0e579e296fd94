//! Bit-packed values and varints.

/// Returns the value with index `index` in a sequence of values of `width` bits, packed from the lowest bit on. Bits after the end are 0.
#[inline]
pub(crate) fn bits_at(bytes: &[u8], index: usize, width: u32) -> u32 {
    let bit = index.saturating_mul(width as usize);
    let begin = bit / 8;
    let word = match bytes.get(begin..begin.saturating_add(8)) {
        Some(full) => full.try_into().map(u64::from_le_bytes).unwrap_or_default(),
        None => {
            let rest = bytes.get(begin..).unwrap_or_default();
            rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
        }
    };
    let mask = (1_u64 << width.min(32)) - 1;
    ((word >> (bit % 8)) & mask) as u32
}

/// Reads an unsigned varint from the beginning of `bytes`; also returns its size.
pub(crate) fn read_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7F);
        if index == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

/// Appends an unsigned varint.
pub(crate) fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a little-endian number of four bytes at `at`.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    four.try_into().ok().map(u32::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_bits_are_read_across_bytes_and_past_the_end() {
        let bytes = [0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!((0..8).map(|index| bits_at(&bytes, index, 3)).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(bits_at(&[0xFF; 9], 1, 32), u32::MAX);
        assert_eq!(bits_at(&[0xFF], 0, 32), 0xFF);
        assert_eq!(bits_at(&[0xFF], usize::MAX, 32), 0);
    }

    #[test]
    fn varints_have_ten_bytes_at_most() {
        assert_eq!(read_varint(&[0xAC, 0x02, 9]), Some((300, 2)));
        assert_eq!(read_varint(&[0x80]), None);
        assert_eq!(read_varint(&[0xFF; 11]), None);
        assert_eq!(u32_at(&[1, 0, 0, 0, 2], 0), Some(1));
        assert_eq!(u32_at(&[1, 0, 0, 0, 2], 2), None);
    }
}
