//! Finds the starts of words in 64 bytes of a text at once. Branches that depend on letters cannot be predicted, so bit operations are used
//! instead.

use super::super::classes::{Classes, LETTER, NUMBER, SPACE};
use wide::u8x16;

/// Number of bytes of a block.
pub(super) const BLOCK: usize = 64;

/// Positions of a block for which it is decided whether a word starts there. Excludes the first, which is always a start, and those at the
/// end whose context is not in the block.
pub(super) const DECIDED_PLACES: u64 = (1 << (BLOCK - 3)) - 2;

/// Bit masks with one bit per byte of a block, the first byte lowest. All bytes of a character have the class of the character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) letters: u64,
    pub(super) numbers: u64,
    /// Single-byte spaces.
    pub(super) spaces: u64,
    /// The space character.
    pub(super) blanks: u64,
    /// Line ends.
    pub(super) lines: u64,
    /// Apostrophes.
    pub(super) quotes: u64,
    /// Continuation bytes.
    pub(super) further: u64,
    /// Multi-byte spaces and numbers.
    pub(super) wide_spaces: u64,
    pub(super) wide_numbers: u64,
}

/// Ranges of first bytes of two-byte and three-byte characters that are always letters: Latin, Cyrillic, Chinese and Korean.
const TWO: [(u8, u8); 2] = [(0xc4, 0xca), (0xd0, 0xd1)];
const THREE: [(u8, u8); 2] = [(0xe5, 0xe9), (0xeb, 0xec)];

/// Sets the highest bit of each byte that is in this range.
#[inline]
fn is_among(part: u8x16, (from, last): (u8, u8)) -> u8x16 {
    let beyond = part - u8x16::splat(from);
    beyond.simd_eq(beyond.min(u8x16::splat(last - from)))
}

/// Returns the bytes of characters whose first byte implies a letter.
#[inline]
fn letters_of(bytes: &[u8; BLOCK]) -> u64 {
    let (mut two, mut three) = (0, 0);
    for (number, part) in bytes.as_chunks::<16>().0.iter().enumerate() {
        let part = u8x16::from(*part);
        let any = |[one, other]: [(u8, u8); 2]| is_among(part, one) | is_among(part, other);
        two |= u64::from(any(TWO).to_bitmask()) << (16 * number);
        three |= u64::from(any(THREE).to_bitmask()) << (16 * number);
    }
    two | two << 1 | three | three << 1 | three << 2
}

impl Block {
    /// Classifies the bytes at this offset, where a character starts. Returns `None` if fewer than [`BLOCK`] bytes remain.
    #[inline]
    pub(super) fn new(classes: &Classes, text: &[u8], at: usize) -> Option<Self> {
        let bytes: &[u8; BLOCK] = text.get(at..at + BLOCK)?.try_into().ok()?;
        let mut block = Self::default();
        let mut firsts = 0;
        for (number, part) in bytes.as_chunks::<16>().0.iter().enumerate() {
            let part = u8x16::from(*part);
            let put = |bits: u8x16| u64::from(bits.to_bitmask()) << (16 * number);
            let blanks = part.simd_eq(u8x16::splat(b' '));
            block.letters |= put(is_among(part | u8x16::splat(0x20), (b'a', b'z')));
            block.numbers |= put(is_among(part, (b'0', b'9')));
            block.blanks |= put(blanks);
            block.lines |= put(part.simd_eq(u8x16::splat(b'\n')) | part.simd_eq(u8x16::splat(b'\r')));
            block.spaces |= put(blanks | is_among(part, (b'\t', b'\r')));
            block.quotes |= put(part.simd_eq(u8x16::splat(b'\'')));
            // Only the highest bit of each byte is significant.
            let first = part & (part + part);
            firsts |= put(first);
            block.further |= put(part ^ first);
        }
        if firsts != 0 {
            let letters = letters_of(bytes);
            block.letters |= letters;
            firsts &= !letters;
        }
        while firsts != 0 {
            let place = firsts.trailing_zeros();
            firsts &= firsts - 1;
            let (class, length) = classes.class_at(text, at + place as usize);
            let bits = !(u64::MAX << length) << place;
            let if_in = |wanted: u8| bits & u64::from(class & wanted != 0).wrapping_neg();
            block.letters |= if_in(LETTER);
            block.wide_numbers |= if_in(NUMBER);
            block.wide_spaces |= if_in(SPACE);
        }
        Some(block)
    }

    /// Returns the bytes that are neither letters nor numbers nor spaces.
    #[inline]
    pub(super) fn others(&self) -> u64 {
        !(self.letters | self.numbers | self.spaces | self.wide_spaces | self.wide_numbers)
    }

    /// Returns the bits below the lowest set bit.
    #[inline]
    pub(super) fn bits_below(bits: u64) -> u64 {
        (bits & bits.wrapping_neg()).wrapping_sub(1)
    }

    /// Returns the part of each run of `all` from the first bit of `from` in it.
    #[inline]
    pub(super) fn filled(from: u64, all: u64) -> u64 {
        (from.wrapping_add(all) ^ all) & all
    }

    /// Returns the bits below the lowest bit of `wide`, except those after the first of a run of `spaces` that extends to this bit or to
    /// the end of the block.
    #[inline]
    pub(super) fn decided_bits(spaces: u64, wide: u64) -> u64 {
        let count = wide.trailing_zeros();
        // Bits from `count` are shifted out; if the count is 0, no bit is used.
        let run = (spaces << (64 - count.max(1))).leading_ones();
        let decided_count = count - run.min(count) + u32::from(run > 0);
        u64::MAX.checked_shr(64 - decided_count).unwrap_or_default()
    }

    /// Returns the first and the last byte of each run of spaces, where a word may start.
    #[inline]
    pub(super) fn ends(spaces: u64) -> u64 {
        spaces & !(spaces << 1 & spaces >> 1)
    }

    /// Splits contractions from the text after them. `length` returns the length of a contraction at an offset of the text, or 0.
    #[inline]
    pub(super) fn contract(&self, starts: u64, at: usize, length: impl Fn(usize) -> usize) -> u64 {
        let mut quotes = self.quotes & (starts | 1) & (DECIDED_PLACES | 1);
        let mut starts = starts;
        while quotes != 0 {
            let place = quotes.trailing_zeros() as usize;
            quotes &= quotes - 1;
            let length = length(at + place);
            if length > 0 {
                starts = starts & !(((1 << length) - 2) << place) | 1 << (place + length);
            }
        }
        starts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_classified_by_their_first_byte_are_letters() {
        let mut found = 0;
        for character in '\u{80}'..=char::MAX {
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).as_bytes();
            let ranges = match bytes.len() {
                2 => TWO.as_slice(),
                3 => THREE.as_slice(),
                _ => &[],
            };
            if ranges.iter().any(|(from, last)| (*from..=*last).contains(&bytes[0])) {
                found += 1;
                assert_eq!(
                    Classes::get().of(u32::from(character)) & (LETTER | NUMBER | SPACE),
                    LETTER,
                    "{character:?}"
                );
            }
        }
        assert_eq!(found, 9 * 0x40 + 7 * 0x1000);
    }
}
