//! A table of words and what is kept of them, two places a word.

use super::keys::Key;
use std::hint::{black_box, select_unpredictable};

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
    /// Words that gave way to others since the table has its size.
    lost: usize,
}

/// Bytes of a page of memory, at the least.
const PAGE: usize = 4096;

/// A table is too small when for so many sets one word gave way to another.
const CROWDED: usize = 16;

impl<const WORD: usize, const REST: usize, const ENTRY: usize> Table<WORD, REST, ENTRY> {
    /// Takes the memory for so many sets, a power of two.
    pub(super) fn fill(&mut self, sets: usize) {
        self.numbers = vec![0; sets * 2 * ENTRY + 8];
        // A page that is read before it is written is mapped twice, and the second time all processors are stopped for it.
        self.numbers.iter_mut().step_by(PAGE / 8).for_each(|number| *number = black_box(0));
        let beyond = self.numbers.as_ptr() as usize % 64;
        self.start = (64 - beyond) % 64 / 8;
        self.mask = sets - 1;
        self.lost = 0;
    }

    /// Bytes that are taken.
    pub(super) fn bytes(&self) -> usize {
        8 * self.numbers.len()
    }

    /// Whether so many words gave way to others that twice the sets would serve, and there are fewer than `most`.
    #[inline]
    pub(super) fn is_crowded(&self, most: usize) -> bool {
        self.lost > self.mask / CROWDED && self.mask + 1 < most
    }

    /// Takes twice the memory, and what is known with it.
    #[cold]
    pub(super) fn grow<K: Key<WORD>>(&mut self) {
        let mut larger = Self::default();
        larger.fill(2 * (self.mask + 1));
        for entry in self.numbers.get(self.start..).unwrap_or_default().as_chunks::<ENTRY>().0 {
            if let (Some(word), Some(rest)) = (entry.first_chunk(), entry.last_chunk::<REST>()) {
                if rest[0] != 0 {
                    let key = K::of(*word);
                    larger.put(key, key.hash(), *rest);
                }
            }
        }
        larger.lost = 0;
        *self = larger;
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
        // Which of the two it is, and whether it is any, cannot be predicted. A word that is in both has the same there.
        let (is_first, is_second) = (is_of(first), is_of(second));
        std::array::from_fn(|at| {
            let [first, second] = [first, second].map(|entry| entry[WORD + at]);
            select_unpredictable(is_first, first, 0) | select_unpredictable(is_second, second, 0)
        })
    }

    /// Keeps something of a word: in the place that is empty, or else in the one whose turn it is.
    #[inline]
    pub(super) fn put(&mut self, key: impl Key<WORD>, hash: u64, rest: [u64; REST]) {
        self.turn ^= 1;
        let turn = self.turn;
        let Some(set) = self.set_mut(hash) else { return };
        let free = set.iter().position(|entry| entry[WORD] == 0);
        let (word, kept) = set[free.unwrap_or(turn)].split_at_mut(WORD);
        word.copy_from_slice(&key.numbers());
        kept.copy_from_slice(&rest);
        self.lost += usize::from(free.is_none());
    }
}
