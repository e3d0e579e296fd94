//! Words that are too long for a table: rules of dashes, indentations, addresses. There are few, but to join one takes as long as fifty
//! others do, and many come again. Those of scripts without blanks hardly ever do: no word is kept before it came twice.

use super::hash::of_bytes;

/// The longest word that is kept, in bytes.
const MAX_WORD_BYTES: usize = 512;

/// Places, a power of two; each word has one.
const PLACES: usize = 1 << 12;

/// Bytes of words, or of their ids, that are kept before all are forgotten.
const FULL: usize = 1 << 20;

/// A word: where its bytes and its ids begin, and how many there are.
#[derive(Clone, Copy, Debug, Default)]
struct StoredWord {
    hash: u64,
    bytes: (u32, u32),
    ids: (u32, u32),
}

/// The words and their ids.
#[derive(Debug, Default)]
pub(super) struct LongWords {
    /// None before the first word is kept.
    places: Vec<StoredWord>,
    bytes: Vec<u8>,
    ids: Vec<u32>,
}

impl LongWords {
    /// The ids of a word, if it is known.
    pub(super) fn find(&self, word: &[u8]) -> Option<&[u32]> {
        if word.len() > MAX_WORD_BYTES {
            return None;
        }
        let hash = of_bytes(word);
        let StoredWord { hash: same, bytes, ids } = self.places.get(hash as usize % PLACES)?;
        let is_same = *same == hash && part(&self.bytes, *bytes) == Some(word);
        part(&self.ids, *ids).filter(|_| is_same)
    }

    /// Keeps the ids of a word, unless it is too long; of one that was not met before, only that it was met.
    pub(super) fn keep(&mut self, word: &[u8], ids: &[u32]) {
        // A word of bytes has no more ids than these; others are not worth it.
        if word.len() > MAX_WORD_BYTES || ids.len() > word.len() {
            return;
        }
        let Self { places, bytes, ids: all } = self;
        if bytes.len().max(size_of_val(all.as_slice())) > FULL || places.is_empty() {
            *places = vec![StoredWord::default(); PLACES];
            bytes.clear();
            all.clear();
        }
        let hash = of_bytes(word);
        let Some(place) = places.get_mut(hash as usize % PLACES) else { return };
        if place.hash != hash {
            *place = StoredWord { hash, ..StoredWord::default() };
        } else if part(bytes, place.bytes) != Some(word) {
            *place = StoredWord { hash, bytes: put(bytes, word), ids: put(all, ids) };
        }
    }
}

/// Appends something; where it begins, and its length.
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
    fn words_are_found_as_they_were_kept_and_never_one_for_another() {
        let (mut longer, mut known) = (LongWords::default(), 0);
        let word = |number: usize| format!("{number}-").repeat(8 + number % 80);
        let ids = |number: usize| -> Vec<u32> { (0..1 + number % 16).map(|at| (number * 7 + at) as u32).collect() };
        for round in 0..2 {
            for number in 0..3_000 {
                // Some come in both rounds before all are forgotten, and some do not.
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
