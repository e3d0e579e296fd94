//! A cache of words and their ids, for one thread.
//!
//! An entry stores the whole word and its length, so a hit needs one comparison and does not depend on hashes. The tables grow with the
//! number of distinct words, up to a limit: a page of prose needs little memory, texts in many languages have a million words.

use super::entry::{Entry, LongEntry, ShortEntry, WordEntry, MAX_IDS};
use super::keys::{Key, LongKey, ShortKey, MAX_KEY_BYTES, SHORT};
use super::long_words::LongWords;
use super::table::Table;
use std::ops::Range;

/// Initial sizes: 2 MiB for short words and 1 MiB for long words.
const FIRST: Sizes = Sizes { short: 1 << 16, long: 1 << 14 };
/// Maximum sizes.
const MAX_WORDS: Sizes = Sizes { short: 1 << 20, long: 1 << 18 };

/// Default limit for the growth of both tables together, in bytes.
const MAX_CACHE_BYTES: usize = 40 << 20;

/// Number of slots of the tables; powers of two.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) short: usize,
    pub(super) long: usize,
}

/// The words and their ids.
#[derive(Debug)]
pub(super) struct Cache {
    /// Words of up to [`SHORT`] bytes with few ids, other words of up to [`MAX_KEY_BYTES`] bytes, and longer words.
    pub(super) short: Table<ShortEntry>,
    long: Table<LongEntry>,
    longer: LongWords,
    first: Sizes,
    /// Number of bytes by which the tables may still grow.
    free_bytes: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            short: Table::default(),
            long: Table::default(),
            longer: LongWords::default(),
            first: FIRST,
            free_bytes: MAX_CACHE_BYTES,
        }
    }
}

impl Cache {
    /// Returns a cache whose tables grow by at most `bytes` bytes together.
    pub(super) fn with_bytes(bytes: usize) -> Self {
        Self { free_bytes: bytes.min(MAX_CACHE_BYTES), ..Self::default() }
    }

    /// Returns a cache whose tables never grow.
    pub(super) fn of(sizes: Sizes) -> Self {
        Self { first: sizes, ..Self::with_bytes(0) }
    }

    /// Allocates the tables if they are not allocated yet.
    pub(super) fn open(&mut self) {
        if !self.long.is_filled() {
            self.short.fill(self.first.short);
            self.long.fill(self.first.long);
        }
    }

    /// Prefetches the entry of a word with more than [`SHORT`] bytes.
    #[inline]
    pub(super) fn fetch_long(&self, key: LongKey) {
        self.long.view().fetch(key.hash());
    }

    /// Writes the ids of the word in this range of a text after the first `count` ids of `out`, if the word is known. Overwrites further
    /// elements of `out`. The key is computed faster if the text continues after the word.
    #[inline(never)]
    pub(super) fn put(&mut self, text: &[u8], word: Range<usize>, count: &mut usize, out: &mut Vec<u32>) -> bool {
        let (at, length) = (word.start, word.len());
        if length > MAX_KEY_BYTES {
            let known = text.get(word).and_then(|word| self.longer.find(word));
            return known.map(|ids| write(ids, ids.len(), count, out)).is_some();
        }
        if length <= SHORT {
            match self.short.find(ShortKey::new(text, at, length)) {
                WordEntry::Ids(more, ids) => {
                    write(&ids, more, count, out);
                    return true;
                }
                WordEntry::InTable => {}
                WordEntry::Nothing => return false,
            }
        }
        let WordEntry::Ids(more, ids) = self.long.find(LongKey::new(text, at, length)) else { return false };
        write(&ids, more, count, out);
        true
    }

    /// Stores the ids of the word in this range of a text, unless the word is too long or has too many ids.
    pub(super) fn keep(&mut self, text: &[u8], word: Range<usize>, ids: &[u32]) {
        let (at, length) = (word.start, word.len());
        if length > MAX_KEY_BYTES {
            return self.longer.keep(text.get(word).unwrap_or_default(), ids);
        }
        if ids.is_empty() || ids.len() > MAX_IDS {
            return;
        }
        let Self { short, long, free_bytes: room, .. } = self;
        if length <= SHORT {
            let is_kept = short.keep(ShortKey::new(text, at, length), ids);
            grow(short, MAX_WORDS.short, room);
            if is_kept {
                return;
            }
        }
        long.keep(LongKey::new(text, at, length), ids);
        grow(long, MAX_WORDS.long, room);
    }
}

/// Writes ids after the first `count` elements and increases `count` by `more`. After a long list, `out` has as many spare elements as
/// before.
#[inline]
fn write(ids: &[u32], more: usize, count: &mut usize, out: &mut Vec<u32>) {
    if ids.len() > MAX_IDS {
        out.resize(out.len() + ids.len(), 0);
    }
    if let Some(place) = out.get_mut(*count..*count + ids.len()) {
        place.copy_from_slice(ids);
    }
    *count += more;
}

/// Enlarges a table if it is crowded and memory is left.
#[inline]
fn grow<E: Entry>(table: &mut Table<E>, most: usize, room: &mut usize) {
    if !table.is_crowded() {
        return;
    }
    // A table that needs twice the size usually needs four times the size soon, and each growth copies all entries.
    let more = |times: &usize| (times - 1) * table.bytes();
    let times = [4, 2].into_iter().find(|times| times * table.places() <= most && more(times) <= *room);
    if let Some(times) = times {
        *room -= more(&times);
        table.grow(times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(cache: &mut Cache, word: &[u8]) -> Option<Vec<u32>> {
        let (mut ids, mut count) = (vec![7; MAX_IDS + 1], 1);
        cache.put(word, 0..word.len(), &mut count, &mut ids).then(|| ids[1..count].to_vec())
    }

    #[test]
    fn cached_words_have_their_own_ids() {
        // Unlimited memory, less memory than the tables need, and none.
        let known = [MAX_CACHE_BYTES, 6 << 20, 0].map(|room| count_known(Cache::with_bytes(room)));
        assert!(known[0] > known[1] && known[1] > known[2] && known[2] > 0, "{known:?}");
    }

    /// Returns the number of words that are known at their second occurrence.
    fn count_known(mut cache: Cache) -> usize {
        cache.open();
        let room = cache.free_bytes;
        let bytes = |cache: &Cache| cache.short.bytes() + cache.long.bytes();
        let before = bytes(&cache);
        let words: Vec<String> = (0..400_000u32)
            .map(|n| format!("{}{n}", "word\0é".repeat(n as usize % 4)))
            .chain(["a", "a\0", "a\0\0", "\0", "\0\0"].map(str::to_owned))
            .collect();
        let ids_of = |word: &str| -> Vec<u32> {
            (0..1 + word.len() % MAX_IDS)
                .map(|at| (at as u32 * 77_777 + word.len() as u32 * 99_999) & 0x1f_ffff)
                .collect()
        };
        let mut known = 0;
        for round in 0..2 {
            for word in &words {
                match find(&mut cache, word.as_bytes()) {
                    Some(ids) => {
                        known += round;
                        assert_eq!(ids, ids_of(word), "{word:?} {round}");
                    }
                    None => cache.keep(word.as_bytes(), 0..word.len(), &ids_of(word)),
                }
                assert!(find(&mut cache, word.as_bytes()).is_some_and(|ids| ids == ids_of(word)));
            }
        }
        assert_eq!(bytes(&cache), before + room - cache.free_bytes, "what a table takes is gone from the room");
        known
    }
}
