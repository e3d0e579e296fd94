//! A hash table of words and their ids, with two slots for each word.

use super::entry::{Entry, WordEntry};
use super::keys::Key;
use gristmill_storage::pages::Pages;
use prefetch_index::prefetch_index;

/// A table counts as too small if more than one word was evicted per this many pairs of slots.
const PAIRS_PER_EVICTION: usize = 16;

/// The words of one kind.
#[derive(Debug)]
pub(super) struct Table<E> {
    /// Pairs of adjacent slots; their number is a power of two. Empty until first use.
    entries: Pages<E>,
    /// Number of slots minus one.
    mask: usize,
    /// Number of words evicted since the table was last resized.
    evicted: usize,
}

impl<E> Default for Table<E> {
    fn default() -> Self {
        Self { entries: Pages::default(), mask: 0, evicted: 0 }
    }
}

/// A read-only view of a table.
#[derive(Clone, Copy)]
pub(super) struct View<'t, E> {
    entries: &'t [E],
    mask: usize,
}

impl<'t, E: Entry> View<'t, E> {
    /// Prefetches the data that [`first`](Self::first) reads.
    #[inline]
    pub(super) fn fetch(self, hash: u64) {
        prefetch_index(self.entries, hash as usize & self.mask);
    }

    /// Returns the entry in the first slot for a hash.
    #[inline]
    pub(super) fn first(self, hash: u64) -> Option<&'t E> {
        self.entries.get(hash as usize & self.mask)
    }
}

impl<E: Entry> Table<E> {
    /// Allocates slots for this many words, a power of two.
    pub(super) fn fill(&mut self, words: usize) {
        *self = Self { entries: Pages::new(words), mask: words - 1, evicted: 0 };
    }

    /// Returns the size of the slots in bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(self.entries.all())
    }

    /// Whether the slots are allocated.
    pub(super) fn is_filled(&self) -> bool {
        !self.entries.all().is_empty()
    }

    #[inline]
    pub(super) fn view(&self) -> View<'_, E> {
        View { entries: self.entries.all(), mask: self.mask }
    }

    /// Returns the number of slots.
    pub(super) fn places(&self) -> usize {
        self.mask + 1
    }

    /// Whether enough words were evicted that more slots would be useful.
    #[inline]
    pub(super) fn is_crowded(&self) -> bool {
        self.evicted > self.mask / (2 * PAIRS_PER_EVICTION)
    }

    /// Enlarges the table by this factor, a power of two. Its entries are preserved.
    #[cold]
    pub(super) fn grow(&mut self, times: usize) {
        let mut larger = Self::default();
        larger.fill(times * self.places());
        // Entries in second slots are inserted first, because each insertion takes the first slot.
        for is_first in [false, true] {
            for (place, entry) in self.entries.all().iter().enumerate() {
                if let Some(key) = entry.key().filter(|key| (self.place(key.hash()) == place) == is_first) {
                    larger.put(key, *entry);
                }
            }
        }
        larger.evicted = 0;
        *self = larger;
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        hash as usize & self.mask
    }

    /// Returns the two slots for a hash, and the index of the first of them.
    #[inline]
    fn slots_of(&mut self, hash: u64) -> Option<(&mut [E; 2], usize)> {
        let place = self.place(hash);
        Some((self.entries.all_mut().get_mut(place & !1..)?.first_chunk_mut()?, place & 1))
    }

    /// Looks up a word, and moves it to its first slot.
    pub(super) fn find(&mut self, key: E::Key) -> WordEntry {
        let Some((entries, first)) = self.slots_of(key.hash()) else { return WordEntry::Nothing };
        match entries[first].lookup(key) {
            WordEntry::Nothing => {}
            known => return known,
        }
        let known = entries[1 - first].lookup(key);
        if known != WordEntry::Nothing {
            entries.swap(0, 1);
        }
        known
    }

    /// Stores the ids of a word. If they do not fit, stores a reference to the other table and returns `false`.
    pub(super) fn keep(&mut self, key: E::Key, ids: &[u32]) -> bool {
        self.put(key, E::new(key, ids));
        ids.len() <= E::MAX_STORED_IDS
    }

    /// Stores a word in its first slot. Moves the previous entry to the second slot, whose entry is evicted.
    #[inline]
    fn put(&mut self, key: E::Key, entry: E) {
        let Some((entries, first)) = self.slots_of(key.hash()) else { return };
        let second = 1 - first;
        let is_same = |other: &E| other.lookup(key) != WordEntry::Nothing;
        if is_same(&entries[first]) {
            return;
        }
        let mut is_lost = false;
        if !entries[first].is_empty() {
            is_lost = !entries[second].is_empty() && !is_same(&entries[second]);
            entries[second] = entries[first];
        }
        entries[first] = entry;
        self.evicted += usize::from(is_lost);
    }
}
