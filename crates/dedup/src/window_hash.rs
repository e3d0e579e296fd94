//! The rolling hash that selects anchors: one table lookup per byte.
//!
//! `h = 2h + T[byte]`, where the table is shifted so that a byte leaves the hash at the top after `k` further bytes. No byte must be
//! subtracted.

/// Number of bytes that are hashed in one call.
pub(super) const BLOCK_WINDOWS: usize = 4096;
/// Number of pieces per window from which on candidates are so rare that [grams](super::grams) find them faster.
pub(super) const MIN_SPARSE_PIECES: usize = 160;
/// Number of candidates in an average window. With this number, one window in some hundreds has none.
pub(super) const CANDIDATES: u64 = 6;

/// SplitMix64: mixes all bits.
pub(super) const fn mix(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The hash for pieces of `k` bytes. A window has `w` pieces.
pub(super) struct WindowHash {
    table: [u64; 256],
    /// A piece is a candidate if its hash is not greater than this.
    threshold: u64,
}

/// The candidates of one block, in order.
pub(super) struct CandidateBlock {
    /// Index of each candidate in the block; the first `len` are valid.
    at: [u32; BLOCK_WINDOWS],
    hash: [u64; BLOCK_WINDOWS],
    len: usize,
}

impl CandidateBlock {
    pub(super) fn new() -> Self {
        Self { at: [0; BLOCK_WINDOWS], hash: [0; BLOCK_WINDOWS], len: 0 }
    }

    /// Returns the position of the last byte in the block, and the hash, of each candidate.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.at.iter().copied().zip(self.hash.iter().copied()).take(self.len)
    }

    /// Stores a candidate. If `is_one` is `false`, the next call overwrites it.
    #[inline(always)]
    fn note(&mut self, at: usize, hash: u64, is_one: bool) {
        let slot = self.len % BLOCK_WINDOWS;
        self.at[slot] = at as u32;
        self.hash[slot] = hash;
        self.len += usize::from(is_one);
    }
}

impl WindowHash {
    /// Returns the hash for a `k` from 1 to 64. Only the upper `bits` of hashes are used: fewer than 64 in tests that need collisions.
    pub(super) fn new(k: usize, w: usize, bits: u32) -> Self {
        let mut table = [0; 256];
        for (byte, value) in (0u64..).zip(&mut table) {
            // A byte must affect only the upper bits, so that no carry from lower bits reaches them.
            *value = mix(byte) << (64 - k.clamp(1, 64)) >> (64 - bits) << (64 - bits);
        }
        let w = w as u64;
        let threshold = if w < 2 * CANDIDATES { u64::MAX } else { u64::MAX / w * CANDIDATES };
        Self { table, threshold }
    }

    /// Returns the hash after one more byte.
    #[inline(always)]
    pub(super) fn next(&self, hash: u64, byte: u8) -> u64 {
        (hash << 1).wrapping_add(self.table[usize::from(byte)])
    }

    /// Hashes at most [`BLOCK_WINDOWS`] bytes and stores the candidates. Returns the hash at the end.
    pub(super) fn scan(&self, mut hash: u64, bytes: &[u8], found: &mut CandidateBlock) -> u64 {
        found.len = 0;
        for (place, byte) in bytes.iter().enumerate() {
            hash = self.next(hash, *byte);
            found.note(place, hash, hash <= self.threshold);
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn window_hash_depends_only_on_the_last_k_bytes() {
        for (k, bits) in [(1, 64), (3, 64), (5, 2), (20, 64), (64, 64), (64, 8)] {
            let hasher = WindowHash::new(k, 500, bits);
            let text: Vec<u8> = (0..200u64).map(|at| mix(at) as u8).collect();
            let hash = |bytes: &[u8]| bytes.iter().fold(0, |hash, byte| hasher.next(hash, *byte));
            assert_eq!(hash(&text), hash(&text[200 - k..]), "{k} {bits}");
            assert!(k < 20 || hash(&text) != hash(&text[1..199]), "{k}");
        }
    }
}
