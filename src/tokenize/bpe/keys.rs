//! Words as they are compared: their bytes and their lengths in a few numbers.

use super::hash::fold;

/// The longest word of each kind, in bytes.
pub(super) const TINY: usize = 7;
pub(super) const SHORT: usize = 15;
pub(super) const LONGEST: usize = 31;

/// A word of so many numbers.
pub(super) trait Key<const N: usize>: Copy {
    /// The key that has these.
    fn of(numbers: [u64; N]) -> Self;

    /// Zeros are no word.
    fn numbers(self) -> [u64; N];

    /// Bits that hang on all of it, the lowest as good as the others.
    fn hash(self) -> u64;
}

/// A word of at most [`TINY`] bytes: these, zeros, its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TinyKey(u64);

/// A word of at most [`SHORT`] bytes, likewise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortKey([u64; 2]);

/// A word of any length that is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LongKey([u64; 4]);

/// The bits of words of each length.
const KEPT: [[u64; 2]; 16] = {
    let mut kept = [[0; 2]; 16];
    let mut length = 0;
    while length < 16 {
        let bits = !(u128::MAX << (8 * length));
        kept[length] = [bits as u64, (bits >> 64) as u64];
        length += 1;
    }
    kept
};

impl ShortKey {
    /// Of the word of this length, at most [`SHORT`], at this place.
    #[inline]
    pub(super) fn new(text: &[u8], at: usize, length: usize) -> Self {
        if let Some((low, high)) = text.get(at..at + 16).and_then(|part| part.split_first_chunk()) {
            let [first, second] = KEPT[length & 15];
            let high = high.try_into().map_or(0, u64::from_le_bytes);
            return Self([u64::from_le_bytes(*low) & first, high & second | (length as u64) << 56]);
        }
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(text.iter().skip(at).take(length)).for_each(|(to, from)| *to = *from);
        bytes[15] = length as u8;
        let key = u128::from_le_bytes(bytes);
        Self([key as u64, (key >> 64) as u64])
    }

    /// The same of a word of at most [`TINY`] bytes.
    #[inline]
    pub(super) fn tiny(self) -> TinyKey {
        TinyKey(self.0[0] | self.0[1])
    }
}

impl Key<1> for TinyKey {
    fn of([number]: [u64; 1]) -> Self {
        Self(number)
    }

    #[inline]
    fn numbers(self) -> [u64; 1] {
        [self.0]
    }

    #[inline]
    fn hash(self) -> u64 {
        fold(self.0, 0x9E37_79B9_7F4A_7C15) >> 20
    }
}

impl Key<2> for ShortKey {
    fn of(numbers: [u64; 2]) -> Self {
        Self(numbers)
    }

    #[inline]
    fn numbers(self) -> [u64; 2] {
        self.0
    }

    #[inline]
    fn hash(self) -> u64 {
        fold(self.0[0] ^ 0x9E37_79B9_7F4A_7C15, self.0[1] ^ 0xD6E8_FEB8_6659_FD93) >> 20
    }
}

impl LongKey {
    /// Of a word of at most [`LONGEST`] bytes.
    #[inline]
    pub(super) fn new(word: &[u8]) -> Self {
        let mut bytes = [0; 32];
        if let Some(to) = bytes.get_mut(..word.len()) {
            to.copy_from_slice(word);
        }
        bytes[31] = word.len() as u8;
        let mut key = [0; 4];
        for (to, from) in key.iter_mut().zip(bytes.chunks_exact(8)) {
            *to = from.try_into().map_or(0, u64::from_le_bytes);
        }
        Self(key)
    }
}

impl Key<4> for LongKey {
    fn of(numbers: [u64; 4]) -> Self {
        Self(numbers)
    }

    #[inline]
    fn numbers(self) -> [u64; 4] {
        self.0
    }

    #[inline]
    fn hash(self) -> u64 {
        let [a, b, c, d] = self.0;
        let half = fold(a ^ 0x9E37_79B9_7F4A_7C15, b ^ 0xD6E8_FEB8_6659_FD93);
        fold(half ^ c, d ^ 0x2545_F491_4F6C_DD1D) >> 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_the_same_in_the_middle_of_a_text_and_at_its_end() {
        let text = b"some words and some more of them";
        for at in 0..text.len() {
            for length in 0..=SHORT.min(text.len() - at) {
                let word = &text[at..at + length];
                let key = ShortKey::new(text, at, length);
                assert!(key == ShortKey::new(word, 0, length));
                let mut bytes = [0; 16];
                bytes[..length].copy_from_slice(word);
                bytes[if length <= TINY { TINY } else { SHORT }] = length as u8;
                let [low, high] = [0, 8].map(|from| u64::from_le_bytes(bytes[from..from + 8].try_into().unwrap()));
                if length <= TINY {
                    assert_eq!(key.tiny().numbers(), [low]);
                } else {
                    assert_eq!(key.numbers(), [low, high]);
                }
            }
        }
    }
}
