//! Reads the bits of a codec header, most significant first. Every read past the end returns `None`.

/// A cursor over bits.
#[derive(Clone)]
pub struct Bits<'a> {
    bytes: &'a [u8],
    /// Position of the next bit.
    at: usize,
}

impl<'a> Bits<'a> {
    /// Starts at the first bit of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads one bit.
    pub fn bit(&mut self) -> Option<bool> {
        let byte = self.bytes.get(self.at / 8)?;
        let bit = byte >> (7 - self.at % 8) & 1;
        self.at += 1;
        Some(bit == 1)
    }

    /// Reads `count` bits (at most 32) as a number.
    pub fn number(&mut self, count: u32) -> Option<u32> {
        let mut number = 0_u64;
        for _ in 0..count.min(32) {
            number = number << 1 | u64::from(self.bit()?);
        }
        u32::try_from(number).ok()
    }

    /// Skips `count` bits.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count).filter(|&at| at <= self.bytes.len().saturating_mul(8))?;
        Some(())
    }

    /// Returns the number of remaining bits.
    pub fn left(&self) -> usize {
        (self.bytes.len() * 8).saturating_sub(self.at)
    }

    /// Reads an unsigned Exp-Golomb number (H.264 §9.1).
    pub fn ue(&mut self) -> Option<u32> {
        let mut zeros = 0;
        while !self.bit()? {
            zeros += 1;
            if zeros > 31 {
                return None;
            }
        }
        let low = self.number(zeros)?;
        u32::try_from((1_u64 << zeros) - 1 + u64::from(low)).ok()
    }

    /// Reads a signed Exp-Golomb number.
    pub fn se(&mut self) -> Option<i32> {
        let code = i64::from(self.ue()?);
        i32::try_from(if code % 2 == 0 { -(code / 2) } else { (code + 1) / 2 }).ok()
    }
}

/// Returns the bytes of a NAL unit without the third byte of each `00 00 03` (H.264 §7.4.1).
pub fn without_emulation(unit: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(unit.len());
    let mut zeros = 0;
    for &byte in unit {
        if zeros >= 2 && byte == 3 {
            zeros = 0;
            continue;
        }
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        plain.push(byte);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_reader_reads_numbers_and_ends_with_the_bytes() {
        let mut bits = Bits::new(&[0b1010_0110, 0b0100_0010]);
        assert_eq!(bits.bit(), Some(true));
        assert_eq!(bits.number(3), Some(2));
        assert_eq!(bits.ue(), Some(2));
        assert_eq!(bits.se(), Some(2));
        assert_eq!(bits.left(), 4);
        assert_eq!(bits.skip(4), Some(()));
        assert_eq!(bits.bit(), None);
        assert_eq!(bits.number(1), None);
        assert_eq!(Bits::new(&[0; 9]).ue(), None);
        assert_eq!(Bits::new(&[0b0011_0000]).se(), Some(3));
        assert_eq!(Bits::new(&[0b0110_0000]).se(), Some(-1));
    }

    #[test]
    fn emulation_prevention_bytes_are_removed() {
        assert_eq!(without_emulation(&[0, 0, 3, 1, 0, 0, 3, 0, 0, 3, 3]), [0, 0, 1, 0, 0, 0, 0, 3]);
    }
}
