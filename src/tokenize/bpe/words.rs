//! The words of a text -> ids.
//!
//! Memory that is far away decides how long this takes. So words are found and looked up in batches: what one of them has to wait
//! for comes while others are found, and words that nothing is known of wait for each other, to be joined side by side.

use super::cache::{Cache, Tier};
use super::join::{Cold, Joiner};
use super::keys::{Key, LongKey, ShortKey, LONGEST, SHORT, TINY};
use super::model::Model;
use super::packed::Packed;

/// So many words are found before the first is looked up.
const AT_ONCE: usize = 128;

/// So many words of which nothing is known wait for each other.
const WAITING: usize = 256;

/// Memory of one thread, for one model.
#[derive(Debug)]
pub(super) struct Words {
    cache: Cache,
    joiner: Joiner,
    found: Box<[Found; AT_ONCE]>,
    tiny: List,
    short: List,
    long: List,
    cold: Vec<Cold>,
}

/// A word in a text, and its ids where they are known at once.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    at: usize,
    end: usize,
    key: ShortKey,
    known: Packed,
}

/// Some of the words found: which they are, and their hashes.
#[derive(Debug)]
struct List {
    words: Box<[(usize, u64); AT_ONCE]>,
    count: usize,
}

impl Default for List {
    fn default() -> Self {
        Self { words: Box::new([(0, 0); AT_ONCE]), count: 0 }
    }
}

impl List {
    /// Puts a word behind the others, where it is one of these: written always, and kept where it is wanted.
    #[inline]
    fn add(&mut self, word: usize, hash: u64, is_one: bool) {
        self.words[self.count % AT_ONCE] = (word, hash);
        self.count += usize::from(is_one);
    }

    #[inline]
    fn all(&self) -> &[(usize, u64)] {
        self.words.get(..self.count).unwrap_or_default()
    }

    /// Looks for these words among those of their kind that were met again; what is not there stays in the list.
    ///
    /// By itself: nothing in this loop has to be predicted, so that memory is waited for by many words at once.
    #[inline]
    fn near<const WORD: usize, const REST: usize, const ENTRY: usize, K: Key<WORD>>(
        &mut self,
        tier: &Tier<WORD, REST, ENTRY>,
        found: &mut [Found; AT_ONCE],
        key: impl Fn(&Found) -> K,
    ) {
        let all = std::mem::take(&mut self.count);
        for at in 0..all {
            let (word, _) = self.words[at % AT_ONCE];
            let place = &mut found[word % AT_ONCE];
            let key = key(place);
            let hash = key.hash();
            place.known = Packed::of(tier.near(key, hash));
            self.add(word, hash, place.known.is_none());
        }
    }

    /// Looks for the others among all of their kind.
    #[inline]
    fn far<const WORD: usize, const REST: usize, const ENTRY: usize, K: Key<WORD>>(
        &self,
        tier: &mut Tier<WORD, REST, ENTRY>,
        found: &mut [Found; AT_ONCE],
        key: impl Fn(&Found) -> K,
    ) {
        for (word, hash) in self.all() {
            let place = &mut found[word % AT_ONCE];
            place.known = Packed::of(tier.far(key(place), *hash));
        }
    }
}

impl Default for Words {
    fn default() -> Self {
        Self {
            cache: Cache::default(),
            joiner: Joiner::default(),
            found: Box::new([Found::default(); AT_ONCE]),
            tiny: List::default(),
            short: List::default(),
            long: List::default(),
            cold: Vec::with_capacity(WAITING + AT_ONCE),
        }
    }
}

impl Words {
    /// Whose memory grows by so many bytes at most.
    pub(super) fn within(bytes: usize) -> Self {
        Self { cache: Cache::within(bytes), ..Self::default() }
    }

    /// Takes the memory, unless it is there.
    pub(super) fn open(&mut self) {
        self.cache.open();
    }

    /// Appends the ids of all words of a text, which `end` finds: where the word ends that begins at a place. `false` where that is
    /// not known, or where it cannot be said what the ids are.
    #[inline]
    pub(super) fn encode(
        &mut self,
        model: &Model,
        text: &[u8],
        mut end: impl FnMut(&[u8], usize) -> usize,
        out: &mut Vec<u32>,
    ) -> bool {
        // `until`: where the word ends that is being cut.
        let (mut at, mut until) = (0, 0);
        self.cold.clear();
        while at < text.len() {
            let Self { cache, found, tiny, short, long, .. } = self;
            (tiny.count, short.count, long.count) = (0, 0, 0);
            let mut words = 0;
            for (word, place) in found.iter_mut().enumerate() {
                if at >= text.len() {
                    break;
                }
                let mut behind = if at < until { until } else { end(text, at) };
                if behind <= at {
                    return false;
                }
                if let Some(cuts) = model.cuts.as_ref().filter(|_| behind - at > LONGEST) {
                    until = behind;
                    behind = cuts.first(text, at, behind);
                }
                let length = behind - at;
                let key = if length <= SHORT { ShortKey::new(text, at, length) } else { ShortKey::default() };
                *place = Found { at, end: behind, key, known: Packed::default() };
                tiny.add(word, 0, length <= TINY);
                short.add(word, 0, (TINY + 1..=SHORT).contains(&length));
                if length > SHORT {
                    long.add(word, 0, length <= LONGEST);
                }
                words += 1;
                at = behind;
            }
            tiny.near(&cache.tiny, found, |place| place.key.tiny());
            short.near(&cache.short, found, |place| place.key);
            self.look_up(text, words, out);
            if self.cold.len() >= WAITING && !self.settle(model, text, out) {
                return false;
            }
        }
        self.cold.is_empty() || self.settle(model, text, out)
    }

    /// Appends the ids of the first so many of the words found, where they are known.
    fn look_up(&mut self, text: &[u8], words: usize, out: &mut Vec<u32>) {
        let Self { cache, found, tiny, short, long, cold, .. } = self;
        let mut near = 0;
        for (_, hash) in tiny.all() {
            near ^= cache.tiny.touch(*hash);
        }
        for (_, hash) in short.all() {
            near ^= cache.short.touch(*hash);
        }
        for (word, hash) in long.words.iter_mut().take(long.count) {
            let Found { at, end, .. } = found[*word % AT_ONCE];
            *hash = LongKey::new(text.get(at..end).unwrap_or_default()).hash();
            near ^= cache.touch_long(*hash);
        }
        std::hint::black_box(near);
        tiny.far(&mut cache.tiny, found, |place| place.key.tiny());
        short.far(&mut cache.short, found, |place| place.key);
        for Found { at, end, known, .. } in found.iter().take(words) {
            if known.has_ids() {
                known.put(out);
                continue;
            }
            let (at, end) = (*at, *end);
            // Of a short word that is known the ids may be more than fit beside it.
            let is_elsewhere = end - at > SHORT || !known.is_none();
            let is_known = is_elsewhere && end - at <= LONGEST && {
                let key = LongKey::new(text.get(at..end).unwrap_or_default());
                cache.long(key, key.hash(), out)
            };
            if !is_known {
                cold.push(Cold::new(at, end, out.len()));
            }
        }
    }

    /// Joins the words that waited and puts their ids where they belong; `false` where that cannot be done.
    #[inline(never)]
    fn settle(&mut self, model: &Model, text: &[u8], out: &mut Vec<u32>) -> bool {
        let Self { cache, joiner, cold, .. } = self;
        let Some(ids) = joiner.join(model, text, cold) else { return false };
        for word in cold.iter() {
            cache.keep(text.get(word.at..word.end).unwrap_or_default(), word.ids(ids));
        }
        // From the end on, so that everything is moved once.
        let mut behind = out.len();
        out.resize(behind + ids.len(), 0);
        let mut free = out.len();
        for word in cold.drain(..).rev() {
            let (ids, length) = (word.ids(ids), behind - word.before);
            out.copy_within(word.before..behind, free - length);
            free -= length;
            behind = word.before;
            out[free - ids.len()..free].copy_from_slice(ids);
            free -= ids.len();
        }
        true
    }
}
