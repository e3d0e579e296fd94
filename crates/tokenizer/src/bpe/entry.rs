//! A cache entry with a word and its ids, as stored in a [`Table`](super::table::Table). It contains the whole word, so that a lookup does
//! not depend on hashes.

use super::keys::{Key, LongKey, ShortKey};
use bytemuck::Pod;

/// Maximum number of ids stored with a short word, and with any word.
pub(super) const MAX_SHORT_IDS: usize = 4;
pub(super) const MAX_IDS: usize = 8;

/// The result of a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordEntry {
    /// The number of ids, and the ids, followed by arbitrary values.
    Ids(usize, [u32; MAX_IDS]),
    /// The ids are in the other table.
    InTable,
    Nothing,
}

/// A slot of a table. A slot of zeros is empty.
pub(super) trait Entry: Pod {
    type Key: Key;

    /// Returns the entry of a word and its ids. If the ids do not fit, the entry refers to the other table.
    fn new(key: Self::Key, ids: &[u32]) -> Self;

    /// Maximum number of ids of an entry.
    const MAX_STORED_IDS: usize;

    /// Returns the word in this slot; `None` for an empty slot.
    fn key(&self) -> Option<Self::Key>;

    /// Whether the slot is empty.
    fn is_empty(&self) -> bool;

    /// Looks up a word in this entry.
    fn lookup(&self, key: Self::Key) -> WordEntry;
}

/// The entry of a short word: two numbers of its key, then its ids. The number of ids is stored in the bits above the length, which are
/// zero in a key. If the ids are in the other table, the length is stored in these bits instead, and its own bits are zero. No key has this
/// form, so only a lookup of the word finds the entry.
pub(super) type ShortEntry = [u64; 4];

/// Position and number of the bits for the length in the second number of a key.
const LENGTH_SHIFT: u32 = 56;
const LENGTH_BITS: u32 = 4;
const COUNT_SHIFT: u32 = LENGTH_SHIFT + LENGTH_BITS;
const BYTES: u64 = (1 << LENGTH_SHIFT) - 1;

/// Returns the number of ids of a word, and the ids followed by zeros; `None` if the entry has another word or no ids.
#[inline]
pub(super) fn ids_of([a, b, ids @ ..]: &ShortEntry, key: ShortKey) -> Option<(usize, [u32; MAX_SHORT_IDS])> {
    let [c, d] = key.numbers();
    ((a ^ c) | (b ^ d) << LENGTH_BITS == 0).then(|| ((b >> COUNT_SHIFT) as usize, bytemuck::cast(*ids)))
}

fn table_entry([low, high]: [u64; 2]) -> [u64; 2] {
    [low, high & BYTES | high >> LENGTH_SHIFT << COUNT_SHIFT]
}

impl Entry for ShortEntry {
    type Key = ShortKey;

    const MAX_STORED_IDS: usize = MAX_SHORT_IDS;

    fn new(key: ShortKey, ids: &[u32]) -> Self {
        let [low, mut high] = key.numbers();
        let mut few = [0; MAX_SHORT_IDS];
        if (1..=MAX_SHORT_IDS).contains(&ids.len()) {
            high |= (ids.len() as u64) << COUNT_SHIFT;
            few.iter_mut().zip(ids).for_each(|(to, from)| *to = *from);
        } else {
            [_, high] = table_entry([low, high]);
        }
        let [first, second]: [u64; 2] = bytemuck::cast(few);
        [low, high, first, second]
    }

    fn key(&self) -> Option<ShortKey> {
        let [low, high, ..] = *self;
        let is_elsewhere = (high >> LENGTH_SHIFT).trailing_zeros() >= LENGTH_BITS;
        let length = if is_elsewhere { high >> COUNT_SHIFT } else { high >> LENGTH_SHIFT & ((1 << LENGTH_BITS) - 1) };
        (length > 0).then(|| ShortKey::of([low, high & BYTES | length << LENGTH_SHIFT]))
    }

    /// Whether the slot is empty: the length of a word is never 0.
    #[inline]
    fn is_empty(&self) -> bool {
        self[1] == 0
    }

    #[inline]
    fn lookup(&self, key: ShortKey) -> WordEntry {
        let [low, high, ..] = *self;
        if let Some((count, few)) = ids_of(self, key) {
            let mut ids = [0; MAX_IDS];
            ids[..MAX_SHORT_IDS].copy_from_slice(&few);
            WordEntry::Ids(count, ids)
        } else if [low, high] == table_entry(key.numbers()) {
            WordEntry::InTable
        } else {
            WordEntry::Nothing
        }
    }
}

/// The entry of a longer word: four numbers of its key, then its ids. The number of ids is in the upper bits of the first id.
pub(super) type LongEntry = [u64; 8];

const ID_BITS: u32 = 28;
const ID: u32 = (1 << ID_BITS) - 1;

impl Entry for LongEntry {
    type Key = LongKey;

    const MAX_STORED_IDS: usize = MAX_IDS;

    fn new(key: LongKey, ids: &[u32]) -> Self {
        let mut kept = [0; MAX_IDS];
        if ids.len() <= MAX_IDS {
            kept.iter_mut().zip(ids).for_each(|(to, from)| *to = *from & ID);
            kept[0] |= (ids.len() as u32) << ID_BITS;
        }
        bytemuck::cast([key.numbers(), bytemuck::cast(kept)])
    }

    fn key(&self) -> Option<LongKey> {
        let [word, _]: [[u64; 4]; 2] = bytemuck::cast(*self);
        (word != [0; 4]).then(|| LongKey::of(word))
    }

    /// Whether the slot is empty: the length of a word is never 0.
    #[inline]
    fn is_empty(&self) -> bool {
        self[3] == 0
    }

    #[inline]
    fn lookup(&self, key: LongKey) -> WordEntry {
        let [word, ids]: [[u64; 4]; 2] = bytemuck::cast(*self);
        let mut ids: [u32; MAX_IDS] = bytemuck::cast(ids);
        let count = (ids[0] >> ID_BITS) as usize;
        ids[0] &= ID;
        if word != key.numbers() {
            WordEntry::Nothing
        } else if count == 0 {
            WordEntry::InTable
        } else {
            WordEntry::Ids(count, ids)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_ids_of_an_entry_are_read_back() {
        let text = b"a word of some letters and some more\xff";
        let all: Vec<u32> = (0..=MAX_IDS as u32).map(|at| (1 << 21) - 1 - at * 77_777).collect();
        for length in 1..=31 {
            let long = LongKey::new(text, 3, length);
            for count in 1..=MAX_IDS {
                let (ids, mut kept) = (&all[..count], [0; MAX_IDS]);
                kept[..count].copy_from_slice(ids);
                let entry = LongEntry::new(long, ids);
                assert_eq!((entry.lookup(long), entry.key()), (WordEntry::Ids(count, kept), Some(long)));
                assert!(!entry.is_empty());
                assert_eq!(entry.lookup(LongKey::new(text, 4, length)), WordEntry::Nothing);
                if length > 15 {
                    continue;
                }
                let [short, other] = [3, 4].map(|at| ShortKey::new(text, at, length));
                let entry = ShortEntry::new(short, ids);
                let known = if count <= MAX_SHORT_IDS { WordEntry::Ids(count, kept) } else { WordEntry::InTable };
                assert_eq!((entry.lookup(short), entry.key()), (known, Some(short)));
                assert!(!entry.is_empty());
                assert_eq!(ids_of(&entry, short).is_some(), count <= MAX_SHORT_IDS);
                assert!(ids_of(&entry, other).is_none() && ids_of(&entry, ShortKey::NONE).is_none());
                assert_eq!(entry.lookup(other), WordEntry::Nothing);
                // Words of other lengths.
                for length in (1..=15).filter(|other| *other != length) {
                    assert_eq!(entry.lookup(ShortKey::new(text, 3, length)), WordEntry::Nothing);
                }
            }
        }
        assert_eq!((ShortEntry::default().key(), LongEntry::default().key()), (None, None));
        assert!(ShortEntry::default().is_empty() && LongEntry::default().is_empty());
        assert!(ids_of(&ShortEntry::default(), ShortKey::NONE).is_none());
    }
}
