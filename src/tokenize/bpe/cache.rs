//! Words whose ids are known: for one thread, of a fixed size, in tables of two places a word.
//!
//! A word lies in its entry whole, with its length, so that a hit is one comparison and no hash is trusted. Short words have two
//! tables: a small one, which stays near the processor, for those that were met again, and a large one for all.

use super::hash::fold;
use std::hint::select_unpredictable;

/// The longest word that is kept.
pub(super) const LONGEST: usize = 31;
/// The longest word of the table of short ones.
pub(super) const SHORT: usize = 15;

/// Most ids of a short word, and of any.
const FEW: usize = 4;
const MOST: usize = 8;

/// Sets of two entries each: 256 KiB of short words met again, 16 MiB of all, 4 MiB of longer ones.
const NEAR_SETS: usize = 1 << 12;
const SHORT_SETS: usize = 1 << 18;
const LONG_SETS: usize = 1 << 15;

/// Words of 64 bits: an entry of a short word is its 15 bytes and length, then four ids.
const SHORT_ENTRY: usize = 4;
/// An entry of another word is its 31 bytes and length, then eight ids.
const LONG_ENTRY: usize = 8;

/// In the place of a number of ids: the word has more than fit here, and is among the longer ones.
const ELSEWHERE: u64 = 15;

/// The number of ids stands above the first id.
const COUNT_SHIFT: u32 = 28;
const ID: u64 = (1 << COUNT_SHIFT) - 1;

/// A short word: its bytes, zeros, its length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortKey([u64; 2]);

/// A word of any length that is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LongKey([u64; 4]);

/// The bits of words of each length.
const KEPT: [[u64; 2]; 16] = {
    let mut kept = [[0; 2]; 16];
    let mut length = 0;
    while length < 16 {
        let bits = !(u128::MAX << (8 * length));
        kept[length] = [bits as u64, (bits >> 64) as u64];
        length += 1;
    }
    kept
};

impl ShortKey {
    /// Of the word of this length, at most [`SHORT`], at this place.
    #[inline]
    pub(super) fn new(text: &[u8], at: usize, length: usize) -> Self {
        if let Some((low, high)) = text.get(at..at + 16).and_then(|part| part.split_first_chunk()) {
            let [first, second] = KEPT[length & 15];
            let high = high.try_into().map_or(0, u64::from_le_bytes);
            return Self([u64::from_le_bytes(*low) & first, high & second | (length as u64) << 56]);
        }
        let mut bytes = [0; 16];
        bytes.iter_mut().zip(text.iter().skip(at).take(length)).for_each(|(to, from)| *to = *from);
        bytes[15] = length as u8;
        let key = u128::from_le_bytes(bytes);
        Self([key as u64, (key >> 64) as u64])
    }

    /// The set in which the word is, if it is anywhere.
    #[inline]
    pub(super) fn set(self) -> usize {
        (fold(self.0[0] ^ 0x9E37_79B9_7F4A_7C15, self.0[1] ^ 0xD6E8_FEB8_6659_FD93) >> 20) as usize % SHORT_SETS
    }

    /// Whether this is the word of an entry.
    #[inline]
    fn is_of(self, entry: &[u64; SHORT_ENTRY]) -> bool {
        (self.0[0] ^ entry[0]) | (self.0[1] ^ entry[1]) == 0
    }
}

impl LongKey {
    /// Of a word of at most [`LONGEST`] bytes.
    #[inline]
    pub(super) fn new(word: &[u8]) -> Self {
        let mut bytes = [0; 32];
        if let Some(to) = bytes.get_mut(..word.len()) {
            to.copy_from_slice(word);
        }
        bytes[31] = word.len() as u8;
        let mut key = [0; 4];
        for (to, from) in key.iter_mut().zip(bytes.chunks_exact(8)) {
            *to = from.try_into().map_or(0, u64::from_le_bytes);
        }
        Self(key)
    }

    /// The set in which the word is, if it is anywhere.
    #[inline]
    pub(super) fn set(self) -> usize {
        let [a, b, c, d] = self.0;
        let half = fold(a ^ 0x9E37_79B9_7F4A_7C15, b ^ 0xD6E8_FEB8_6659_FD93);
        (fold(half ^ c, d ^ 0x2545_F491_4F6C_DD1D) >> 20) as usize % LONG_SETS
    }
}

/// The place of a set for a new word: one that is empty, or else the one whose turn it is.
fn free<const ENTRY: usize>(set: &mut [[u64; ENTRY]], turn: usize) -> Option<&mut [u64; ENTRY]> {
    let at = set.iter().position(|entry| entry[ENTRY / 2] == 0).unwrap_or(turn);
    set.get_mut(at)
}

/// The ids of a short word as they lie in an entry; zeros where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packed([u64; 2]);

impl Packed {
    /// Whether there is no word.
    #[inline]
    pub(super) fn is_none(self) -> bool {
        self.0[0] == 0
    }

    /// Whether there are ids; a word may be there whose ids are among those of longer words.
    #[inline]
    pub(super) fn has_ids(self) -> bool {
        self.0[0] & ELSEWHERE << COUNT_SHIFT != ELSEWHERE << COUNT_SHIFT && !self.is_none()
    }

    /// Appends the ids: all four places, and then as many are taken off as are not used.
    #[inline]
    pub(super) fn put(self, out: &mut Vec<u32>) {
        let [a, b] = self.0;
        let length = out.len() + (a as u32 >> COUNT_SHIFT) as usize;
        out.extend_from_slice(&[(a & ID) as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]);
        out.truncate(length);
    }
}

/// The words and their ids.
#[derive(Debug, Default)]
pub(super) struct Cache {
    near: Table<SHORT_ENTRY>,
    /// In which of two places the next word is put: words that are met often are near, so that no order has to be kept here.
    turn: usize,
    short: Table<SHORT_ENTRY>,
    long: Table<LONG_ENTRY>,
}

/// Entries, beginning where a line of the processor's own cache does.
#[derive(Debug, Default)]
struct Table<const ENTRY: usize> {
    words: Vec<u64>,
    start: usize,
}

impl<const ENTRY: usize> Table<ENTRY> {
    fn fill(&mut self, sets: usize) {
        self.words = vec![0; sets * 2 * ENTRY + 8];
        let beyond = self.words.as_ptr() as usize % 64;
        self.start = (64 - beyond) % 64 / 8;
    }

    /// The two entries of a set.
    #[inline]
    fn set(&self, set: usize) -> Option<&[[u64; ENTRY]]> {
        let from = self.start + set * 2 * ENTRY;
        Some(self.words.get(from..from + 2 * ENTRY)?.as_chunks::<ENTRY>().0)
    }

    #[inline]
    fn set_mut(&mut self, set: usize) -> Option<&mut [[u64; ENTRY]]> {
        let from = self.start + set * 2 * ENTRY;
        Some(self.words.get_mut(from..from + 2 * ENTRY)?.as_chunks_mut::<ENTRY>().0)
    }
}

impl Cache {
    /// Takes the memory, unless it is there.
    pub(super) fn open(&mut self) {
        if !self.is_open() {
            self.near.fill(NEAR_SETS);
            self.short.fill(SHORT_SETS);
            self.long.fill(LONG_SETS);
        }
    }

    /// Whether the memory is taken.
    pub(super) fn is_open(&self) -> bool {
        !self.short.words.is_empty()
    }

    /// The ids of a short word as they are packed, if it is among those met again; else 0. `set` is the key's.
    #[inline]
    pub(super) fn near(&self, key: ShortKey, set: usize) -> Packed {
        let Some([first, second]) = self.near.set(set % NEAR_SETS) else { return Packed([0; 2]) };
        // Which of the two it is, and whether it is any, cannot be predicted.
        let entry = select_unpredictable(key.is_of(second), second, first);
        let is_known = key.is_of(entry);
        Packed([select_unpredictable(is_known, entry[2], 0), select_unpredictable(is_known, entry[3], 0)])
    }

    /// Something of the set of all short words: who asks for it early has it at hand when it is needed.
    #[inline]
    pub(super) fn touch(&self, set: usize) -> u64 {
        self.short.words.get(self.short.start + set * 2 * SHORT_ENTRY).copied().unwrap_or_default()
    }

    /// [`touch`](Self::touch) for longer words.
    #[inline]
    pub(super) fn touch_long(&self, set: usize) -> u64 {
        self.long.words.get(self.long.start + set * 2 * LONG_ENTRY).copied().unwrap_or_default()
    }

    /// The ids of a short word that is among all; it is one of those met again from now on.
    #[inline]
    pub(super) fn far(&mut self, key: ShortKey, set: usize) -> Packed {
        let Some([first, second]) = self.short.set(set) else { return Packed([0; 2]) };
        let entry = if key.is_of(first) {
            *first
        } else if key.is_of(second) {
            *second
        } else {
            return Packed([0; 2]);
        };
        self.turn ^= 1;
        if let Some(place) = self.near.set_mut(set % NEAR_SETS).and_then(|set| set.get_mut(self.turn)) {
            *place = entry;
        }
        Packed([entry[2], entry[3]])
    }

    /// Appends the ids of a word, if it is there; `set` is the key's.
    #[inline]
    pub(super) fn long(&self, key: LongKey, set: usize, out: &mut Vec<u32>) -> bool {
        let Some([first, second]) = self.long.set(set) else { return false };
        let entry = if first[..4] == key.0 {
            first
        } else if second[..4] == key.0 {
            second
        } else {
            return false;
        };
        let [_, _, _, _, a, b, c, d] = *entry;
        let length = out.len() + (a as u32 >> COUNT_SHIFT) as usize;
        let ids = [
            (a & ID) as u32,
            (a >> 32) as u32,
            b as u32,
            (b >> 32) as u32,
            c as u32,
            (c >> 32) as u32,
            d as u32,
            (d >> 32) as u32,
        ];
        out.extend_from_slice(&ids);
        out.truncate(length);
        true
    }

    /// Keeps the ids of a word of at most [`LONGEST`] bytes, if they are few enough.
    pub(super) fn keep(&mut self, word: &[u8], ids: &[u32]) {
        let mut packed = [0; MOST / 2];
        let id = |at: usize| ids.get(at).map_or(0, |id| u64::from(*id));
        for (at, two) in packed.iter_mut().enumerate() {
            *two = id(2 * at) | id(2 * at + 1) << 32;
        }
        packed[0] |= (ids.len() as u64) << COUNT_SHIFT;
        if word.len() > LONGEST || ids.is_empty() || ids.len() > MOST {
            return;
        }
        self.turn ^= 1;
        let turn = self.turn;
        if word.len() <= SHORT {
            let (a, b) = if ids.len() <= FEW { (packed[0], packed[1]) } else { (ELSEWHERE << COUNT_SHIFT, 0) };
            let key = ShortKey::new(word, 0, word.len());
            if let Some(place) = self.short.set_mut(key.set()).and_then(|set| free(set, turn)) {
                *place = [key.0[0], key.0[1], a, b];
            }
        }
        if word.len() > SHORT || ids.len() > FEW {
            let key = LongKey::new(word);
            if let Some(place) = self.long.set_mut(key.set()).and_then(|set| free(set, turn)) {
                *place = [key.0[0], key.0[1], key.0[2], key.0[3], packed[0], packed[1], packed[2], packed[3]];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_as_they_were_kept_and_never_one_for_another() {
        let mut cache = Cache::default();
        cache.open();
        let words: Vec<String> = (0..200_000u32)
            .map(|n| format!("{}{n}", "word\0é".repeat(n as usize % 4)))
            .chain(["a", "a\0", "a\0\0", "\0", "\0\0"].map(str::to_owned))
            .collect();
        let ids_of = |word: &str| -> Vec<u32> {
            (0..1 + word.len() % MOST).map(|at| (at as u32 * 77 + word.len() as u32 * 9) & 0x1f_ffff).collect()
        };
        let short = |cache: &mut Cache, key: ShortKey, ids: &mut Vec<u32>| {
            let near = cache.near(key, key.set());
            let known = if near.is_none() { cache.far(key, key.set()) } else { near };
            known.has_ids() && {
                known.put(ids);
                true
            }
        };
        let find = |cache: &mut Cache, word: &str| {
            let mut ids = vec![5];
            let bytes = word.as_bytes();
            let found = (bytes.len() <= SHORT && short(cache, ShortKey::new(bytes, 0, bytes.len()), &mut ids))
                || (bytes.len() <= LONGEST && cache.long(LongKey::new(bytes), LongKey::new(bytes).set(), &mut ids));
            found.then(|| ids.split_off(1))
        };
        let mut known = 0;
        for round in 0..2 {
            for word in &words {
                match find(&mut cache, word) {
                    Some(ids) => assert_eq!(ids, ids_of(word), "{word:?} {round}"),
                    None => cache.keep(word.as_bytes(), &ids_of(word)),
                }
                let ids = find(&mut cache, word);
                known += usize::from(ids.is_some());
                assert!(ids.is_none_or(|ids| ids == ids_of(word)));
            }
        }
        assert!(known > words.len(), "{known}");
    }

    #[test]
    fn a_key_is_the_same_in_the_middle_of_a_text_and_at_its_end() {
        let text = b"some words and some more of them";
        for at in 0..text.len() {
            for length in 0..=SHORT.min(text.len() - at) {
                let word = &text[at..at + length];
                assert!(ShortKey::new(text, at, length) == ShortKey::new(word, 0, length));
            }
        }
    }
}
