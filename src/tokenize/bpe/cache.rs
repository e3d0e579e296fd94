//! Words whose ids are known, for one thread.
//!
//! A word lies in its entry whole, with its length, so that a hit is one comparison and no hash is trusted. Words of up to 7 and those
//! of up to 15 bytes have two tables each: a small one, which stays near the processor, for those that were met again, and a large one
//! for all. The large ones grow with the words that a text has, up to a limit: a page of prose needs little, texts in many languages
//! have a million words.

use super::keys::{Key, LongKey, ShortKey, LONGEST, SHORT, TINY};
use super::packed::{Packed, FEW};
use super::table::Table;

/// Most ids of a word.
const MOST: usize = 8;

/// Sets of two entries each. Of those met again 256 KiB of tiny words, and of short ones.
const NEAR_TINY: usize = 1 << 13;
const NEAR_SHORT: usize = 1 << 12;
/// Of all words of a kind 1 MiB at first.
const TINY_SETS: Sets = Sets { first: 1 << 15, most: 1 << 18 };
const SHORT_SETS: Sets = Sets { first: 1 << 14, most: 1 << 18 };
const LONG_SETS: Sets = Sets { first: 1 << 13, most: 1 << 17 };

/// What the tables may grow by together, in bytes, unless it is said otherwise.
const ROOM: usize = 40 << 20;

/// How many sets a table has.
struct Sets {
    first: usize,
    most: usize,
}

/// The number of ids stands above the first id of a longer word.
const COUNT_SHIFT: u32 = 28;
const ID: u64 = (1 << COUNT_SHIFT) - 1;

/// Words of one kind: those met again, and all.
#[derive(Debug, Default)]
pub(super) struct Tier<const WORD: usize, const REST: usize, const ENTRY: usize> {
    near: Table<WORD, REST, ENTRY>,
    all: Table<WORD, REST, ENTRY>,
}

impl<const WORD: usize, const REST: usize, const ENTRY: usize> Tier<WORD, REST, ENTRY> {
    fn fill(&mut self, near: usize, all: &Sets) {
        self.near.fill(near);
        self.all.fill(all.first);
    }

    /// What is kept of a word, if it is among those met again; else zeros. `hash` is the key's.
    #[inline]
    pub(super) fn near(&self, key: impl Key<WORD>, hash: u64) -> [u64; REST] {
        self.near.get(key, hash)
    }

    /// Something of the place of a word among all: who asks for it early has it at hand when it is needed.
    #[inline]
    pub(super) fn touch(&self, hash: u64) -> u64 {
        self.all.touch(hash)
    }

    /// What is kept of a word that is among all; it is one of those met again from now on.
    #[inline]
    pub(super) fn far(&mut self, key: impl Key<WORD>, hash: u64) -> [u64; REST] {
        let rest = self.all.get(key, hash);
        if rest[0] != 0 {
            self.near.put(key, hash, rest);
        }
        rest
    }

    fn keep<K: Key<WORD>>(&mut self, key: K, rest: [u64; REST], sets: &Sets, room: &mut usize) {
        keep(&mut self.all, key, rest, sets, room);
    }
}

/// Puts a word into a table that grows as long as there is room.
#[inline]
fn keep<const WORD: usize, const REST: usize, const ENTRY: usize, K: Key<WORD>>(
    table: &mut Table<WORD, REST, ENTRY>,
    key: K,
    rest: [u64; REST],
    sets: &Sets,
    room: &mut usize,
) {
    table.put(key, key.hash(), rest);
    if table.is_crowded(sets.most) && table.bytes() <= *room {
        *room -= table.bytes();
        table.grow::<K>();
    }
}

/// The words and their ids.
#[derive(Debug)]
pub(super) struct Cache {
    pub(super) tiny: Tier<1, 1, 2>,
    pub(super) short: Tier<2, 2, 4>,
    long: Table<4, 4, 8>,
    /// What the tables may grow by yet, in bytes.
    room: usize,
}

impl Default for Cache {
    fn default() -> Self {
        Self { tiny: Tier::default(), short: Tier::default(), long: Table::default(), room: ROOM }
    }
}

impl Cache {
    /// Of tables that grow by so many bytes at most, together.
    pub(super) fn within(bytes: usize) -> Self {
        Self { room: bytes.min(ROOM), ..Self::default() }
    }

    /// Takes the memory, unless it is there.
    pub(super) fn open(&mut self) {
        if !self.long.is_filled() {
            self.tiny.fill(NEAR_TINY, &TINY_SETS);
            self.short.fill(NEAR_SHORT, &SHORT_SETS);
            self.long.fill(LONG_SETS.first);
        }
    }

    /// [`Tier::touch`] for longer words.
    #[inline]
    pub(super) fn touch_long(&self, hash: u64) -> u64 {
        self.long.touch(hash)
    }

    /// Appends the ids of a word, if it is among the longer ones.
    #[inline]
    pub(super) fn long(&self, key: LongKey, hash: u64, out: &mut Vec<u32>) -> bool {
        let kept = self.long.get(key, hash);
        if kept[0] == 0 {
            return false;
        }
        let length = out.len() + (kept[0] as u32 >> COUNT_SHIFT) as usize;
        let ids: [u32; MOST] = std::array::from_fn(|at| match at {
            0 => (kept[0] & ID) as u32,
            at => (kept[at / 2] >> (32 * (at % 2))) as u32,
        });
        out.extend_from_slice(&ids);
        out.truncate(length);
        true
    }

    /// Keeps the ids of a word of at most [`LONGEST`] bytes, if they are few enough.
    pub(super) fn keep(&mut self, word: &[u8], ids: &[u32]) {
        if word.len() > LONGEST || ids.is_empty() || ids.len() > MOST {
            return;
        }
        let Self { tiny, short, long, room } = self;
        let packed = Packed::new(ids);
        let is_kept = if word.len() <= TINY {
            let fits = packed.filter(|_| ids.len() <= FEW);
            let kept = [fits.unwrap_or(Packed::ELSEWHERE).0[0]];
            tiny.keep(ShortKey::new(word, 0, word.len()).tiny(), kept, &TINY_SETS, room);
            fits.is_some()
        } else if word.len() <= SHORT {
            let kept = packed.unwrap_or(Packed::ELSEWHERE).0;
            short.keep(ShortKey::new(word, 0, word.len()), kept, &SHORT_SETS, room);
            packed.is_some()
        } else {
            false
        };
        if !is_kept {
            let id = |at: usize| ids.get(at).map_or(0, |id| u64::from(*id));
            let mut rest: [u64; MOST / 2] = std::array::from_fn(|at| id(2 * at) | id(2 * at + 1) << 32);
            rest[0] |= (ids.len() as u64) << COUNT_SHIFT;
            keep(long, LongKey::new(word), rest, &LONG_SETS, room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn few<const N: usize>(near: [u64; N], far: impl FnOnce() -> [u64; N]) -> Packed {
        Packed::of(if near[0] == 0 { far() } else { near })
    }

    fn find(cache: &mut Cache, word: &[u8]) -> Option<Vec<u32>> {
        let key = ShortKey::new(word, 0, word.len().min(SHORT));
        let known = if word.len() <= TINY {
            let (key, hash) = (key.tiny(), key.tiny().hash());
            few(cache.tiny.near(key, hash), || cache.tiny.far(key, hash))
        } else if word.len() <= SHORT {
            few(cache.short.near(key, key.hash()), || cache.short.far(key, key.hash()))
        } else {
            Packed::ELSEWHERE
        };
        let mut ids = vec![5];
        if known.has_ids() {
            known.put(&mut ids);
        } else if known.is_none() || !cache.long(LongKey::new(word), LongKey::new(word).hash(), &mut ids) {
            return None;
        }
        Some(ids.split_off(1))
    }

    #[test]
    fn words_are_found_as_they_were_kept_and_never_one_for_another() {
        // As much as they want, a table less than that, nothing.
        let known = [ROOM, 6 << 20, 0].map(|room| known(Cache::within(room)));
        assert!(known[0] > known[1] && known[1] > known[2] && known[2] > 0, "{known:?}");
    }

    /// How many of some words are known that were met once, and then again.
    fn known(mut cache: Cache) -> usize {
        cache.open();
        let room = cache.room;
        let bytes = |cache: &Cache| cache.tiny.all.bytes() + cache.short.all.bytes() + cache.long.bytes();
        let before = bytes(&cache);
        let words: Vec<String> = (0..200_000u32)
            .map(|n| format!("{}{n}", "word\0é".repeat(n as usize % 4)))
            .chain(["a", "a\0", "a\0\0", "\0", "\0\0"].map(str::to_owned))
            .collect();
        // Some ids are too large to be kept beside a short word.
        let ids_of = |word: &str| -> Vec<u32> {
            (0..1 + word.len() % MOST).map(|at| (at as u32 * 77_777 + word.len() as u32 * 99_999) & 0x1f_ffff).collect()
        };
        let mut known = 0;
        for round in 0..2 {
            for word in &words {
                match find(&mut cache, word.as_bytes()) {
                    Some(ids) => {
                        known += round;
                        assert_eq!(ids, ids_of(word), "{word:?} {round}");
                    }
                    None => cache.keep(word.as_bytes(), &ids_of(word)),
                }
                assert!(find(&mut cache, word.as_bytes()).is_none_or(|ids| ids == ids_of(word)));
            }
        }
        // What a table takes is gone from the room; few bytes of each are for its place in memory.
        assert!(bytes(&cache).abs_diff(before + room - cache.room) < 1 << 10);
        known
    }
}
