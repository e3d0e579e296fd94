//! Finds positions at which a long word can be cut without changing its ids: positions that no merged token spans.
//!
//! In scripts without spaces, words are whole sentences, which do not recur, but their parts do. Only positions before a character of three
//! or four bytes are examined.

use super::hash::folded_product;

/// A filter of the bytes around the positions that tokens span, up to three bytes on each side. False positives are possible: a position
/// may be reported although no token spans it. False negatives are not.
#[derive(Debug)]
pub(super) struct BoundaryFilter {
    words: Vec<u64>,
}

/// Smallest first byte of a character of three or four bytes.
pub(super) const LONG: u8 = 0xe0;

/// Number of bytes that are examined on each side.
const SIDE: usize = 3;

impl BoundaryFilter {
    /// Returns an empty filter for tokens of `bytes` bytes in total. Each token must then be passed to [`add`](Self::add).
    pub(super) fn new(bytes: usize) -> Self {
        Self { words: vec![0; (bytes / 32).next_power_of_two()] }
    }

    /// Adds a merged token. Returns whether it spans a position before a long character.
    pub(super) fn add(&mut self, token: &[u8]) -> bool {
        let mut reaches = false;
        for at in (1..token.len()).filter(|at| token[*at] >= LONG) {
            reaches = true;
            let (left, right) = (at.min(SIDE), (token.len() - at).min(SIDE));
            let sides = ContextBytes::new(token, at);
            let (place, bits) = self.place(sides.key(left, right));
            if let Some(word) = self.words.get_mut(place) {
                *word |= bits;
            }
        }
        reaches
    }

    /// Returns the end of the first part of the word at `at..end`.
    #[inline]
    pub(super) fn first(&self, text: &[u8], at: usize, end: usize) -> usize {
        (at + 1..end).find(|at| text[*at] >= LONG && !self.is_crossed(text, *at)).unwrap_or(end)
    }

    /// Whether a token may span this position.
    pub(super) fn is_crossed(&self, text: &[u8], at: usize) -> bool {
        let sides = ContextBytes::new(text, at);
        // A token may start or end within these bytes, but most tokens cover all of them.
        (1..=SIDE).rev().any(|left| {
            (1..=SIDE).rev().any(|right| {
                let (place, bits) = self.place(sides.key(left, right));
                self.words.get(place).is_none_or(|word| word & bits == bits)
            })
        })
    }

    /// Returns the bytes around a position in the lower 48 bits. They determine the result of [`is_crossed`](Self::is_crossed).
    #[inline]
    pub(super) fn surrounding_bytes(text: &[u8], at: usize) -> u64 {
        let ContextBytes { left, right } = ContextBytes::new(text, at);
        left << 24 | right
    }

    /// Returns the index of the filter word for these bytes, and the bits in the word.
    #[inline]
    fn place(&self, key: u64) -> (usize, u64) {
        let hash = folded_product(key ^ 0x2545_F491_4F6C_DD1D, 0x9E37_79B9_7F4A_7C15);
        ((hash >> 12) as usize & (self.words.len() - 1), 1 << (hash & 63) | 1 << ((hash >> 6) & 63))
    }
}

/// The bytes before and after a position, nearest byte lowest. Zeros beyond the text.
struct ContextBytes {
    left: u64,
    right: u64,
}

impl ContextBytes {
    #[inline]
    fn new(text: &[u8], at: usize) -> Self {
        let byte = |place: Option<usize>| place.and_then(|place| text.get(place)).map_or(0, |byte| u64::from(*byte));
        Self {
            left: byte(at.checked_sub(1)) | byte(at.checked_sub(2)) << 8 | byte(at.checked_sub(3)) << 16,
            right: byte(Some(at)) | byte(Some(at + 1)) << 8 | byte(Some(at + 2)) << 16,
        }
    }

    /// Returns the nearest `left` and `right` bytes, and both counts, in one number.
    #[inline]
    fn key(&self, left: usize, right: usize) -> u64 {
        let part = |side: u64, count: usize| side & !(u64::MAX << (8 * count)) | (count as u64) << 24;
        part(self.left, left) << 32 | part(self.right, right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn word_is_cut_only_where_no_token_crosses() {
        let mut cuts = BoundaryFilter::new(1 << 16);
        // Whole characters, the end of one and the start of the next, and longer parts of two characters.
        for token in ["世界".as_bytes(), &"時間".as_bytes()[2..4], &"経済".as_bytes()[1..5], "今日は".as_bytes()]
        {
            cuts.add(token);
        }
        for (text, parts) in [
            ("世界", "世界"),
            ("世世界界", "世|世界|界"),
            ("時間間", "時間|間"),
            ("経済経", "経済|経"),
            ("は今日はは", "は|今日は|は"),
            ("aé世", "aé|世"),
            ("né", "né"),
        ] {
            let (mut at, mut found) = (0, Vec::new());
            while at < text.len() {
                let end = cuts.first(text.as_bytes(), at, text.len());
                found.push(&text[at..end]);
                at = end;
            }
            assert_eq!(found.join("|"), parts);
        }
    }
}
