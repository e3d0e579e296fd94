//! Keys for words: the bytes and the length of a word in a few numbers.

use super::hash::folded_product;

/// Maximum length of a word with a short key, and with any key, in bytes.
pub(super) const SHORT: usize = 15;
pub(super) const MAX_KEY_BYTES: usize = 31;

/// A word in a form that is fast to compare.
pub(super) trait Key: Copy + Eq {
    /// Returns a hash of the whole word. All bits are equally distributed.
    fn hash(self) -> u64;
}

/// A word of at most [`SHORT`] bytes: its bytes, zeros, and its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortKey([u64; 2]);

/// A word of at most [`MAX_KEY_BYTES`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LongKey([u64; 4]);

/// Masks for the bytes of words, by length.
const KEPT_BITS: [[u64; 2]; 16] = {
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
    /// Returns the key with these numbers.
    pub(super) fn of(numbers: [u64; 2]) -> Self {
        Self(numbers)
    }

    /// Returns the numbers of the key. No word has only zeros.
    #[inline]
    pub(super) fn numbers(self) -> [u64; 2] {
        self.0
    }

    /// A key that no word has.
    pub(super) const NONE: Self = Self([u64::MAX; 2]);

    /// Returns the key of the first `length` bytes, which must be at most [`SHORT`].
    #[inline]
    pub(super) fn first_of(bytes: &[u8; 16], length: usize) -> Self {
        let all = u128::from_le_bytes(*bytes);
        let [low, high] = KEPT_BITS[length & SHORT];
        Self([all as u64 & low, (all >> 64) as u64 & high | (length as u64) << 56])
    }

    /// Returns the key of the word at offset `at` with this length, at most [`SHORT`].
    #[inline]
    pub(super) fn new(text: &[u8], at: usize, length: usize) -> Self {
        if let Some(part) = text.get(at..).and_then(|part| part.first_chunk()) {
            return Self::first_of(part, length);
        }
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(text.iter().skip(at).take(length)).for_each(|(to, from)| *to = *from);
        bytes[15] = length as u8;
        let key = u128::from_le_bytes(bytes);
        Self([key as u64, (key >> 64) as u64])
    }
}

impl Key for ShortKey {
    #[inline]
    fn hash(self) -> u64 {
        folded_product(self.0[0] ^ 0x9E37_79B9_7F4A_7C15, self.0[1] ^ 0xD6E8_FEB8_6659_FD93) >> 20
    }
}

impl LongKey {
    /// Returns the key with these numbers.
    pub(super) fn of(numbers: [u64; 4]) -> Self {
        Self(numbers)
    }

    /// Returns the numbers of the key. No word has only zeros.
    #[inline]
    pub(super) fn numbers(self) -> [u64; 4] {
        self.0
    }

    /// Returns the key of the word at offset `at` with this length, at most [`MAX_KEY_BYTES`].
    #[inline]
    pub(super) fn new(text: &[u8], at: usize, length: usize) -> Self {
        if length > SHORT {
            if let Some(first) = text.get(at..).and_then(|part| part.first_chunk::<16>()) {
                let (low, high) = (u128::from_le_bytes(*first), ShortKey::new(text, at + 16, length - 16).0);
                return Self([low as u64, (low >> 64) as u64, high[0], high[1] | 16 << 56]);
            }
        }
        let [low, high] = ShortKey::new(text, at, length.min(SHORT)).0;
        Self([low, high & (u64::MAX >> 8), 0, (length as u64) << 56])
    }
}

impl Key for LongKey {
    #[inline]
    fn hash(self) -> u64 {
        let [a, b, c, d] = self.0;
        let half = folded_product(a ^ 0x9E37_79B9_7F4A_7C15, b ^ 0xD6E8_FEB8_6659_FD93);
        folded_product(half ^ c, d ^ 0x2545_F491_4F6C_DD1D) >> 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_key_does_not_depend_on_the_position_in_the_text() {
        let text = b"some words and some more of them";
        for at in 0..text.len() {
            for length in 0..=SHORT.min(text.len() - at) {
                let word = &text[at..at + length];
                let key = ShortKey::new(text, at, length);
                assert!(key == ShortKey::new(word, 0, length));
                let mut bytes = [0; 16];
                bytes[..length].copy_from_slice(word);
                bytes[15] = length as u8;
                assert_eq!(
                    key.numbers(),
                    [0, 8].map(|from| u64::from_le_bytes(bytes[from..from + 8].try_into().unwrap()))
                );
            }
            for length in 0..=MAX_KEY_BYTES.min(text.len() - at) {
                let word = &text[at..at + length];
                let key = LongKey::new(text, at, length);
                assert!(key == LongKey::new(word, 0, length));
                let mut bytes = [0; 32];
                bytes[..length].copy_from_slice(word);
                bytes[31] = length as u8;
                let parts = [0, 8, 16, 24].map(|from| u64::from_le_bytes(bytes[from..from + 8].try_into().unwrap()));
                assert_eq!(key.numbers(), parts);
            }
        }
    }
}
