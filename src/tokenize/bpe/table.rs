//! A table of words and what is kept of them, two places a word.

use super::keys::Key;
use std::hint::select_unpredictable;

/// `WORD` numbers of a word and `REST` of what is kept of it, side by side: `ENTRY` of both.
#[derive(Debug, Default)]
pub(super) struct Table<const WORD: usize, const REST: usize, const ENTRY: usize> {
    numbers: Vec<u64>,
    /// The first entry begins where a line of the processor's own cache does.
    start: usize,
    /// Sets of two entries, less one; there is a power of two of them.
    mask: usize,
    /// In which of two places the next word is put where none is empty: words that are met often are near, so that no order has to be kept.
    turn: usize,
}

impl<const WORD: usize, const REST: usize, const ENTRY: usize> Table<WORD, REST, ENTRY> {
    /// Takes the memory for so many sets, a power of two.
    pub(super) fn fill(&mut self, sets: usize) {
        self.numbers = vec![0; sets * 2 * ENTRY + 8];
        let beyond = self.numbers.as_ptr() as usize % 64;
        self.start = (64 - beyond) % 64 / 8;
        self.mask = sets - 1;
    }

    /// Whether the memory is taken.
    pub(super) fn is_filled(&self) -> bool {
        !self.numbers.is_empty()
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        self.start + (hash as usize & self.mask) * 2 * ENTRY
    }

    #[inline]
    fn set(&self, hash: u64) -> Option<&[[u64; ENTRY]; 2]> {
        let from = self.place(hash);
        self.numbers.get(from..from + 2 * ENTRY)?.as_chunks::<ENTRY>().0.try_into().ok()
    }

    #[inline]
    fn set_mut(&mut self, hash: u64) -> Option<&mut [[u64; ENTRY]; 2]> {
        let from = self.place(hash);
        self.numbers.get_mut(from..from + 2 * ENTRY)?.as_chunks_mut::<ENTRY>().0.try_into().ok()
    }

    /// Something of the set of a hash: who asks for it early has it at hand when it is needed.
    #[inline]
    pub(super) fn touch(&self, hash: u64) -> u64 {
        self.numbers.get(self.place(hash)).copied().unwrap_or_default()
    }

    /// What is kept of a word of this hash; zeros where there is nothing.
    #[inline]
    pub(super) fn get(&self, key: impl Key<WORD>, hash: u64) -> [u64; REST] {
        let Some([first, second]) = self.set(hash) else { return [0; REST] };
        let numbers = key.numbers();
        let is_of = |entry: &[u64; ENTRY]| numbers.iter().zip(entry).fold(0, |all, (a, b)| all | (a ^ b)) == 0;
        // Which of the two it is, and whether it is any, cannot be predicted.
        let entry = select_unpredictable(is_of(second), second, first);
        let is_known = is_of(entry);
        std::array::from_fn(|at| select_unpredictable(is_known, entry[WORD + at], 0))
    }

    /// Keeps something of a word: in the place that is empty, or else in the one whose turn it is.
    #[inline]
    pub(super) fn put(&mut self, key: impl Key<WORD>, hash: u64, rest: [u64; REST]) {
        self.turn ^= 1;
        let turn = self.turn;
        let Some(set) = self.set_mut(hash) else { return };
        let at = set.iter().position(|entry| entry[WORD] == 0).unwrap_or(turn);
        let (word, kept) = set[at].split_at_mut(WORD);
        word.copy_from_slice(&key.numbers());
        kept.copy_from_slice(&rest);
    }
}
