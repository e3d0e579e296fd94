//! Selects the candidate pieces for long windows by the first bytes of a piece, for many positions at a time.
//!
//! A candidate ranks below all other pieces, whatever their hashes. Candidates are ordered by some further bytes. With one candidate in
//! about seventy positions, almost nothing must be hashed.

use super::window_hash::BLOCK_WINDOWS;
use fearless_simd::{dispatch, Level};

/// Distance in bytes between the two-byte words that select candidates. Even in a text with few different words, combinations of them
/// differ.
const GRAM_DISTANCE: usize = 4;
/// Factors for these words: odd numbers without a pattern.
const FACTORS: [[u16; 4]; 2] = [[0x9e37, 0x79b9, 0x7f4b, 0x7c15], [0xd1b5, 0x4a33, 0xa0cf, 0x5851]];
/// Number of bytes that the words span.
pub(super) const GRAM: usize = 7 * GRAM_DISTANCE + 2;
/// Number of positions per word of flags.
const PLACES_PER_WORD: usize = 16;
/// Constants without a pattern, for ordering candidates.
const ORDER: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03];

/// Finds candidates by SIMD instructions.
pub(super) struct Grams {
    /// A position is a candidate if its sum is less than this.
    bound: i16,
    /// The SIMD instructions that the processor supports.
    level: Level,
}

/// The candidates of one block, in order, and the buffers needed to find them.
pub(super) struct Candidates {
    even: [i16; BLOCK_WINDOWS / 2],
    odd: [i16; BLOCK_WINDOWS / 2],
    /// One byte for every two positions, with one bit for each.
    flags: [u8; BLOCK_WINDOWS / 2],
    /// Indexes of the non-zero words of flags.
    words: [u16; BLOCK_WINDOWS / PLACES_PER_WORD],
    /// Index of each candidate in the block; the first `len` are valid.
    at: [u16; BLOCK_WINDOWS],
    len: usize,
}

impl Candidates {
    pub(super) fn new() -> Self {
        let sums = [0; BLOCK_WINDOWS / 2];
        Self {
            even: sums,
            odd: sums,
            flags: [0; BLOCK_WINDOWS / 2],
            words: [0; BLOCK_WINDOWS / PLACES_PER_WORD],
            at: [0; BLOCK_WINDOWS],
            len: 0,
        }
    }

    /// Returns the positions of the candidates in the block.
    pub(super) fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.at.iter().copied().take(self.len)
    }
}

impl Grams {
    /// Returns a finder that selects on average one candidate in `one_in` positions.
    pub(super) fn new(one_in: u64) -> Self {
        let share = (1 << 16) / one_in.clamp(2, 1 << 16);
        Self { bound: (i64::from(i16::MIN) + share as i64) as i16, level: Level::new() }
    }

    /// Finds the candidates of a block, among all positions that are followed by [`GRAM`] bytes, at most [`BLOCK_WINDOWS`].
    ///
    /// Only the last step branches on the rare case, so branches are hardly ever mispredicted.
    pub(super) fn scan(&self, bytes: &[u8], found: &mut Candidates) {
        // Uses the widest registers available. The result is the same on every processor.
        dispatch!(self.level, _ => self.scan_here(bytes, found));
    }

    #[inline(always)]
    fn scan_here(&self, bytes: &[u8], found: &mut Candidates) {
        let Candidates { even, odd, flags, words, at, len } = found;
        let count = sums(bytes, even);
        let odd_count = sums(bytes.get(1..).unwrap_or_default(), odd);
        // The number of positions may be odd.
        odd.iter_mut().skip(odd_count).take(1).for_each(|sum| *sum = i16::MAX);
        for ((flag, even), odd) in flags.iter_mut().zip(even.iter()).zip(odd.iter()).take(count) {
            *flag = u8::from(*even < self.bound) | u8::from(*odd < self.bound) << 1;
        }
        flags.iter_mut().skip(count).take(PLACES_PER_WORD / 2).for_each(|flag| *flag = 0);
        let (of_words, _) = flags.as_chunks::<{ PLACES_PER_WORD / 2 }>();
        let mut set = 0;
        for (number, word) in of_words.iter().take(count.div_ceil(PLACES_PER_WORD / 2)).enumerate() {
            words[set % (BLOCK_WINDOWS / PLACES_PER_WORD)] = number as u16;
            set += usize::from(u64::from_le_bytes(*word) != 0);
        }
        *len = 0;
        for number in words.iter().take(set) {
            let mut word = of_words.get(usize::from(*number)).map_or(0, |word| u64::from_le_bytes(*word));
            while word != 0 {
                let bit = word.trailing_zeros() as u16;
                at[*len % BLOCK_WINDOWS] = *number * PLACES_PER_WORD as u16 + bit / 8 * 2 + bit % 8;
                *len += 1;
                word &= word - 1;
            }
        }
    }
}

/// Returns the rank of a candidate, computed from its first sixteen bytes. Of equal ranks, the leftmost candidate is selected.
#[inline]
pub(super) fn order(piece: &[u8]) -> u64 {
    let (words, _) = piece.as_chunks::<8>();
    let word = |place: usize| words.get(place).map_or(0, |word| u64::from_le_bytes(*word));
    let product = u128::from(word(0) ^ ORDER[0]) * u128::from(word(1) ^ ORDER[1]);
    product as u64 ^ (product >> 64) as u64
}

/// Computes the sums of every second position from the first on, as many as fit. Returns their number.
#[inline(always)]
fn sums(bytes: &[u8], sums: &mut [i16; BLOCK_WINDOWS / 2]) -> usize {
    let words = |from: usize| bytes.get(from..).unwrap_or_default().as_chunks::<2>().0;
    let count = words(GRAM - 2).len().min(sums.len());
    let [a, b, c, d, e, f, g, h] =
        [0, 1, 2, 3, 4, 5, 6, 7].map(|number| words(number * GRAM_DISTANCE).get(..count).unwrap_or_default());
    let [[fa, fb, fc, fd], [fe, ff, fg, fh]] = FACTORS;
    let term = |word: [u8; 2], factor: u16| u16::from_le_bytes(word).wrapping_mul(factor);
    let all = a.iter().zip(b).zip(c.iter().zip(d)).zip(e.iter().zip(f).zip(g.iter().zip(h)));
    for (sum, (((a, b), (c, d)), ((e, f), (g, h)))) in sums.iter_mut().zip(all) {
        let first = term(*a, fa).wrapping_add(term(*b, fb)).wrapping_add(term(*c, fc).wrapping_add(term(*d, fd)));
        let other = term(*e, fe).wrapping_add(term(*f, ff)).wrapping_add(term(*g, fg).wrapping_add(term(*h, fh)));
        *sum = first.wrapping_add(other) as i16;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::super::window_hash::mix;
    use super::*;

    #[test]
    fn gram_candidates_depend_only_on_the_bytes_after_them() {
        let grams = Grams::new(20);
        let text: Vec<u8> = (0..3_000).map(|at| b'a' + (mix(at) % 26) as u8).collect();
        let sum = |gram: &[u8]| {
            let words = gram.windows(2).step_by(GRAM_DISTANCE).zip(FACTORS.as_flattened());
            let products = words.map(|(word, factor)| u16::from_le_bytes([word[0], word[1]]).wrapping_mul(*factor));
            products.fold(0, u16::wrapping_add) as i16
        };
        let mut found = Candidates::new();
        for (from, to) in [(0, 3_000), (1, 2_999), (7, 60), (3, 48), (9, 40), (3, 33), (3, 32), (5, 5), (900, 2_000)] {
            grams.scan(&text[from..to], &mut found);
            let wanted: Vec<u16> = text[from..to]
                .windows(GRAM)
                .enumerate()
                .filter(|(_, gram)| sum(gram) < grams.bound)
                .map(|(at, _)| at as u16)
                .collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{from} {to}");
        }
        grams.scan(&text, &mut found);
        assert!((75..300).contains(&found.len), "{}", found.len);
    }
}
