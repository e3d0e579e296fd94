//! A cache of words that are too long for the tables of short words: lines of dashes, indentations, addresses. There are few, but merging
//! one takes as long as fifty others, and many recur. Most long words of scripts without spaces occur once, so the first occurrence
//! stores only a hash, and the second the ids.

use super::hash::of_bytes;

/// Maximum length of a stored word, in bytes.
const MAX_WORD_BYTES: usize = 512;

/// Number of slots; a power of two. Each word has one possible slot.
const SLOTS: usize = 1 << 12;

/// Size of all words, or of all ids, above which the cache is cleared.
const FULL: usize = 1 << 20;

/// A stored word: start and length of its bytes, and of its ids.
#[derive(Clone, Copy, Debug, Default)]
struct StoredWord {
    hash: u64,
    bytes: (u32, u32),
    ids: (u32, u32),
}

/// The words and their ids.
#[derive(Debug, Default)]
pub(super) struct LongWords {
    /// The slots; not allocated before the first word.
    places: Vec<StoredWord>,
    bytes: Vec<u8>,
    ids: Vec<u32>,
}

impl LongWords {
    /// Returns the ids of a word; `None` if it is not stored.
    pub(super) fn find(&self, word: &[u8]) -> Option<&[u32]> {
        if word.len() > MAX_WORD_BYTES {
            return None;
        }
        let hash = of_bytes(word);
        let StoredWord { hash: same, bytes, ids } = self.places.get(hash as usize % SLOTS)?;
        let is_same = *same == hash && part(&self.bytes, *bytes) == Some(word);
        part(&self.ids, *ids).filter(|_| is_same)
    }

    /// Stores the ids of a word unless it is too long. At the first occurrence, stores only its hash.
    pub(super) fn keep(&mut self, word: &[u8], ids: &[u32]) {
        // A word of a byte vocabulary has at most one id per byte; other words are not worth storing.
        if word.len() > MAX_WORD_BYTES || ids.len() > word.len() {
            return;
        }
        let Self { places, bytes, ids: all } = self;
        if bytes.len().max(size_of_val(all.as_slice())) > FULL || places.is_empty() {
            *places = vec![StoredWord::default(); SLOTS];
            bytes.clear();
            all.clear();
        }
        let hash = of_bytes(word);
        let Some(place) = places.get_mut(hash as usize % SLOTS) else { return };
        if place.hash != hash {
            *place = StoredWord { hash, ..StoredWord::default() };
        } else if part(bytes, place.bytes) != Some(word) {
            *place = StoredWord { hash, bytes: put(bytes, word), ids: put(all, ids) };
        }
    }
}

/// Appends a slice. Returns its start and length.
fn put<T: Copy>(all: &mut Vec<T>, more: &[T]) -> (u32, u32) {
    let start = all.len();
    all.extend_from_slice(more);
    (start as u32, more.len() as u32)
}

fn part<T>(all: &[T], (start, length): (u32, u32)) -> Option<&[T]> {
    all.get(start as usize..)?.get(..length as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_long_words_have_their_own_ids() {
        let (mut longer, mut known) = (LongWords::default(), 0);
        let word = |number: usize| format!("{number}-").repeat(8 + number % 80);
        let ids = |number: usize| -> Vec<u32> { (0..1 + number % 16).map(|at| (number * 7 + at) as u32).collect() };
        for round in 0..2 {
            for number in 0..3_000 {
                // Some words occur in both rounds before the cache is cleared, and some do not.
                let (word, ids) = (word(number), ids(number));
                match longer.find(word.as_bytes()) {
                    Some(found) => {
                        known += round;
                        assert_eq!(found, ids);
                    }
                    None => {
                        longer.keep(word.as_bytes(), &ids);
                        assert!(longer.find(word.as_bytes()).is_none(), "it came once");
                        longer.keep(word.as_bytes(), &ids);
                    }
                }
                assert_eq!(longer.find(word.as_bytes()).is_some(), word.len() <= MAX_WORD_BYTES);
                assert!(longer.bytes.len() <= FULL + MAX_WORD_BYTES);
            }
        }
        assert!((100..2_900).contains(&known), "{known}");
        assert!(longer.find(b"").is_none() && LongWords::default().find(b"word").is_none());
    }
}
