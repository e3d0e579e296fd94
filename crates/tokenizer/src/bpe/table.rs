//! A table of words and their ids, two places a word.

use super::entry::{Entry, WordEntry};
use super::keys::Key;
use gristmill_storage::pages::Pages;
use prefetch_index::prefetch_index;

/// A table is too small when for so many pairs of places one word gave way to another.
const CROWDED: usize = 16;

/// Words of one kind.
#[derive(Debug)]
pub(super) struct Table<E> {
    /// Pairs of places side by side, a power of two of them; none before the first is wanted.
    entries: Pages<E>,
    /// Places, less one.
    mask: usize,
    /// Words that gave way to others since the table has its size.
    lost: usize,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self { entries: Pages::default(), mask: 0, lost: 0 }
    }
}

/// A table that is only looked at.
#[derive(Clone, Copy)]
pub(super) struct View<'t, E> {
    entries: &'t [E],
    mask: usize,
}

impl<'t, E: Entry> View<'t, E> {
    /// Fetches what [`first`](Self::first) looks at, so that it is at hand when it is needed.
    #[inline]
    pub(super) fn fetch(self, hash: u64) {
        prefetch_index(self.entries, hash as usize & self.mask);
    }

    /// What stands in the first place of words of this hash.
    #[inline]
    pub(super) fn first(self, hash: u64) -> Option<&'t E> {
        self.entries.get(hash as usize & self.mask)
    }
}

impl<E: Entry> Table<E> {
    /// Takes the memory for so many words, a power of two.
    pub(super) fn fill(&mut self, words: usize) {
        *self = Self { entries: Pages::new(words), mask: words - 1, lost: 0 };
    }

    /// Bytes that are taken.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.entries.all())
    }

    /// Whether the memory is taken.
    pub(super) fn is_filled(&self) -> bool {
        !self.entries.all().is_empty()
    }

    #[inline]
    pub(super) fn view(&self) -> View<'_, E> {
        View { entries: self.entries.all(), mask: self.mask }
    }

    /// Places for words.
    pub(super) fn places(&self) -> usize {
        self.mask + 1
    }

    /// Whether so many words gave way to others that more places would serve.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.lost > self.mask / (2 * CROWDED)
    }

    /// Takes so many times the memory, a power of two, and what is known with it.
    #[cold]
    pub(super) fn grow(&mut self, times: usize) {
        let mut larger = Self::default();
        larger.fill(times * self.places());
        // Those in their second places first: who comes later has the first.
        for is_first in [false, true] {
            for (place, entry) in self.entries.all().iter().enumerate() {
                if let Some(key) = entry.key().filter(|key| (self.place(key.hash()) == place) == is_first) {
                    larger.put(key, *entry);
                }
            }
        }
        larger.lost = 0;
        *self = larger;
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        hash as usize & self.mask
    }

    /// The two places of words of this hash, and which of them is the first.
    #[inline]
    fn both(&mut self, hash: u64) -> Option<(&mut [E; 2], usize)> {
        let place = self.place(hash);
        Some((self.entries.all_mut().get_mut(place & !1..)?.first_chunk_mut()?, place & 1))
    }

    /// What is known of a word; it has the first place from now on.
    pub(super) fn find(&mut self, key: E::Key) -> WordEntry {
        let Some((entries, first)) = self.both(key.hash()) else { return WordEntry::Nothing };
        match entries[first].known(key) {
            WordEntry::Nothing => {}
            known => return known,
        }
        let known = entries[1 - first].known(key);
        if known != WordEntry::Nothing {
            entries.swap(0, 1);
        }
        known
    }

    /// Keeps the ids of a word, or that they are elsewhere if they do not fit, which is `false` then.
    pub(super) fn keep(&mut self, key: E::Key, ids: &[u32]) -> bool {
        self.put(key, E::new(key, ids));
        ids.len() <= E::FIT
    }

    /// Puts a word into its first place. Who was there takes the second, and who was in that one is gone.
    #[inline]
    fn put(&mut self, key: E::Key, entry: E) {
        let Some((entries, first)) = self.both(key.hash()) else { return };
        let second = 1 - first;
        let is_same = |other: &E| other.known(key) != WordEntry::Nothing;
        if is_same(&entries[first]) {
            return;
        }
        let mut is_lost = false;
        if !entries[first].is_empty() {
            is_lost = !entries[second].is_empty() && !is_same(&entries[second]);
            entries[second] = entries[first];
        }
        entries[first] = entry;
        self.lost += usize::from(is_lost);
    }
}
