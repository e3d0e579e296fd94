//! The words of a text -> ids.
//!
//! Memory that is far away decides how long this takes. So words are found and looked up in batches: what one of them has to wait
//! for comes while others are found, and words that nothing is known of wait for each other, to be joined side by side.

use super::cache::{Cache, LongKey, Packed, ShortKey, LONGEST, SHORT};
use super::join::{Cold, Joiner};
use super::model::Model;

/// So many words are found before the first is looked up.
const AT_ONCE: usize = 128;

/// So many words of which nothing is known wait for each other.
const WAITING: usize = 256;

/// Memory of one thread, for one model.
#[derive(Debug)]
pub(super) struct Words {
    cache: Cache,
    joiner: Joiner,
    found: Vec<Found>,
    missing: Vec<Missing>,
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

/// A word that was not met again lately.
#[derive(Clone, Copy, Debug, Default)]
struct Missing {
    /// Which of those found.
    word: usize,
    set: usize,
}

impl Default for Words {
    fn default() -> Self {
        Self {
            cache: Cache::default(),
            joiner: Joiner::default(),
            found: vec![Found::default(); AT_ONCE],
            missing: vec![Missing::default(); AT_ONCE],
            cold: Vec::with_capacity(WAITING + AT_ONCE),
        }
    }
}

impl Words {
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
        end: impl Fn(&[u8], usize) -> usize,
        out: &mut Vec<u32>,
    ) -> bool {
        // `until`: where the word ends that is being cut.
        let (mut at, mut until) = (0, 0);
        self.cold.clear();
        while at < text.len() {
            let Self { cache, found, missing, .. } = self;
            let mut words = 0;
            for place in found.iter_mut() {
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
                words += 1;
                at = behind;
            }
            // By itself: nothing in this loop has to be predicted, so that memory is waited for by many words at once.
            let mut count = 0;
            for (word, place) in found.iter_mut().enumerate().take(words) {
                let set = place.key.set();
                place.known = cache.near(place.key, set);
                // Written always, and kept where it is wanted.
                if let Some(missing) = missing.get_mut(count) {
                    *missing = Missing { word, set };
                }
                count += usize::from(place.known.is_none());
            }
            self.look_up(text, words, count, out);
            if self.cold.len() >= WAITING && !self.settle(model, text, out) {
                return false;
            }
        }
        self.cold.is_empty() || self.settle(model, text, out)
    }

    /// Appends the ids of the first so many of the words found, where they are known; so many of them are missing.
    fn look_up(&mut self, text: &[u8], words: usize, count: usize, out: &mut Vec<u32>) {
        let Self { cache, found, missing, cold, .. } = self;
        let Some((found, missing)) = found.get_mut(..words).zip(missing.get_mut(..count)) else { return };
        let mut near = 0;
        for place in missing.iter_mut() {
            let Found { at, end, .. } = found[place.word];
            if end - at <= SHORT {
                near ^= cache.touch(place.set);
            } else if end - at <= LONGEST {
                place.set = LongKey::new(text.get(at..end).unwrap_or_default()).set();
                near ^= cache.touch_long(place.set);
            }
        }
        std::hint::black_box(near);
        for place in missing.iter() {
            let word = &mut found[place.word];
            if word.end - word.at <= SHORT {
                word.known = cache.far(word.key, place.set);
            }
        }
        let mut missing = missing.iter().peekable();
        for (number, Found { at, end, known, .. }) in found.iter().enumerate() {
            let place = missing.next_if(|place| place.word == number);
            if known.has_ids() {
                known.put(out);
                continue;
            }
            let (at, end) = (*at, *end);
            // Of a short word that is known the ids may be more than fit beside it.
            let is_elsewhere = end - at > SHORT || !known.is_none();
            let is_known = is_elsewhere && end - at <= LONGEST && {
                let key = LongKey::new(text.get(at..end).unwrap_or_default());
                let set = place.filter(|_| end - at > SHORT).map_or_else(|| key.set(), |place| place.set);
                cache.long(key, set, out)
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
