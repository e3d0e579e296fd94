//! Where a long word can be cut without changing its ids: at places over which no token reaches that comes of joining.
//!
//! Scripts without blanks make words of whole sentences, none of which comes again; their parts do. Only places before a character
//! of three or four bytes are looked at.

use super::hash::fold;

/// Bits that two bytes on either side of a place leave, where a token reaches over it: a filter, so that a place may be taken for
/// one that cannot be cut, never the other way round.
#[derive(Debug)]
pub(super) struct Cuts {
    words: Vec<u64>,
}

/// The first byte of a character of three or four bytes, at the least.
const LONG: u8 = 0xe0;

impl Cuts {
    /// For tokens that have so many bytes together, each given to [`add`](Self::add).
    pub(super) fn new(bytes: usize) -> Self {
        Self { words: vec![0; (bytes / 32).next_power_of_two()] }
    }

    /// A token that comes of joining.
    pub(super) fn add(&mut self, token: &[u8]) {
        for at in (1..token.len()).filter(|at| token[*at] >= LONG) {
            let left = at.checked_sub(2).map_or(0, |before| u64::from(token[before]) | 0x100);
            let right = token.get(at + 1).map_or(0, |behind| u64::from(*behind) | 0x100);
            let (place, bits) = self.place(left, token[at - 1], token[at], right);
            if let Some(word) = self.words.get_mut(place) {
                *word |= bits;
            }
        }
    }

    /// The end of the first part of a word that ends at `end`.
    #[inline]
    pub(super) fn first(&self, text: &[u8], at: usize, end: usize) -> usize {
        (at + 1..end).find(|at| text[*at] >= LONG && !self.is_crossed(text, *at)).unwrap_or(end)
    }

    fn is_crossed(&self, text: &[u8], at: usize) -> bool {
        let left = at.checked_sub(2).map_or(0, |before| u64::from(text[before]) | 0x100);
        let right = text.get(at + 1).map_or(0, |behind| u64::from(*behind) | 0x100);
        // A token may begin or end right beside the place.
        [(left, right), (left, 0), (0, right), (0, 0)].into_iter().any(|(left, right)| {
            let (place, bits) = self.place(left, text[at - 1], text[at], right);
            self.words.get(place).is_none_or(|word| word & bits == bits)
        })
    }

    /// The word of the filter for these bytes, and the bits in it.
    fn place(&self, left: u64, before: u8, behind: u8, right: u64) -> (usize, u64) {
        let hash = fold(
            (left << 32 | right << 16 | u64::from(before) << 8 | u64::from(behind)) ^ 0x2545_F491_4F6C_DD1D,
            0x9E37_79B9_7F4A_7C15,
        );
        ((hash >> 12) as usize & (self.words.len() - 1), 1 << (hash & 63) | 1 << ((hash >> 6) & 63))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_cut_where_no_token_reaches_over_and_nowhere_else() {
        let mut cuts = Cuts::new(1 << 16);
        // Whole characters, the end of one and the start of the next, and more of both.
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
