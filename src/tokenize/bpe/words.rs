//! The words of a text -> ids.
//!
//! Memory that is far away decides how long this takes. So words are found and looked up in batches: what one of them has to wait
//! for comes while others are found, and words that nothing is known of are joined side by side.

use super::cache::{Cache, LongKey, Packed, ShortKey, LONGEST, SHORT};
use super::merge::{Lane, Merger};
use super::model::Model;

/// So many words are found before the first is looked up.
const AT_ONCE: usize = 128;

/// So many words are joined side by side.
const LANES: usize = 4;

/// Memory of one thread, for one model.
#[derive(Debug)]
pub(super) struct Words {
    cache: Cache,
    merger: Merger,
    lanes: [Lane; LANES],
    found: Vec<Found>,
    cold: Vec<Cold>,
    /// The ids of the words of `cold`.
    ids: Vec<u32>,
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
struct Cold {
    /// Which of those found.
    word: usize,
    key: ShortKey,
    set: usize,
    /// Its ids, once they are known.
    from: usize,
    to: usize,
}

impl Default for Words {
    fn default() -> Self {
        Self {
            cache: Cache::default(),
            merger: Merger::default(),
            lanes: Default::default(),
            found: vec![Found::default(); AT_ONCE],
            cold: vec![Cold::default(); AT_ONCE],
            ids: Vec::new(),
        }
    }
}

impl Words {
    /// Takes the memory, unless it is there.
    pub(super) fn open(&mut self) {
        self.cache.open();
    }

    /// Whether the memory is taken.
    pub(super) fn is_open(&self) -> bool {
        self.cache.is_open()
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
        while at < text.len() {
            let Self { cache, found, cold, .. } = self;
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
            let mut colds = 0;
            for (word, place) in found.iter_mut().enumerate().take(words) {
                let set = place.key.set();
                place.known = cache.near(place.key, set);
                // Written always, and kept where it is wanted.
                if let Some(cold) = cold.get_mut(colds) {
                    *cold = Cold { word, key: place.key, set, from: 0, to: 0 };
                }
                colds += usize::from(place.known.is_none());
            }
            if !self.look_up(model, text, words, colds, out) {
                return false;
            }
        }
        true
    }

    /// The first so many of the words found and of the cold ones.
    fn look_up(&mut self, model: &Model, text: &[u8], words: usize, colds: usize, out: &mut Vec<u32>) -> bool {
        let Self { cache, merger, found, cold, ids, .. } = self;
        let Some((found, cold)) = found.get_mut(..words).zip(cold.get_mut(..colds)) else { return false };
        let near = cold.iter().fold(0, |near, word| near ^ cache.touch(word.set));
        std::hint::black_box(near);
        // Those of which nothing is known come to the front.
        let mut unknown = 0;
        for at in 0..cold.len() {
            let Cold { word, key, set, .. } = cold[at];
            let place = &mut found[word];
            let length = place.end - place.at;
            let is_known = if length <= SHORT {
                place.known = cache.far(key, set);
                !place.known.is_none()
            } else {
                length > LONGEST || cache.has_long(LongKey::new(text.get(place.at..place.end).unwrap_or_default()))
            };
            cold[unknown] = cold[at];
            unknown += usize::from(!is_known);
        }
        let cold = &mut cold[..unknown];
        ids.clear();
        if !join(model, text, found, &mut self.lanes, cold, ids) {
            return false;
        }
        let mut fresh = cold.iter().peekable();
        for (number, Found { at, end, known, .. }) in found.iter().enumerate() {
            if known.has_ids() {
                known.put(out);
                continue;
            }
            if let Some(word) = fresh.next_if(|word| word.word == number) {
                out.extend_from_slice(ids.get(word.from..word.to).unwrap_or_default());
                continue;
            }
            let word = text.get(*at..*end).unwrap_or_default();
            if word.len() <= LONGEST && cache.long(LongKey::new(word), out) {
                continue;
            }
            let before = out.len();
            if !alone(model, word, merger, out) {
                return false;
            }
            cache.keep(word, &out[before..]);
        }
        for word in cold.iter() {
            let Found { at, end, .. } = found[word.word];
            cache.keep(text.get(at..end).unwrap_or_default(), ids.get(word.from..word.to).unwrap_or_default());
        }
        true
    }
}

/// Joins words of at most [`LONGEST`] bytes side by side; `false` where a symbol of one is missing.
fn join(
    model: &Model,
    text: &[u8],
    found: &[Found],
    lanes: &mut [Lane; LANES],
    cold: &mut [Cold],
    ids: &mut Vec<u32>,
) -> bool {
    // Which word is in each lane.
    let mut busy = [usize::MAX; LANES];
    let (mut next, mut count) = (0, 0);
    loop {
        for (lane, busy) in lanes.iter_mut().zip(&mut busy) {
            if *busy != usize::MAX && lane.step(&model.pairs) {
                continue;
            }
            if let Some(word) = cold.get_mut(*busy) {
                word.from = ids.len();
                lane.finish(ids);
                word.to = ids.len();
                *busy = usize::MAX;
                count -= 1;
            }
            while let Some(word) = cold.get_mut(next) {
                let Found { at, end, .. } = found[word.word];
                let bytes = text.get(at..end).unwrap_or_default();
                if let Some(id) = model.whole(bytes) {
                    word.from = ids.len();
                    ids.push(id);
                    word.to = ids.len();
                    next += 1;
                    continue;
                }
                if !model.symbols.start(bytes, &model.pairs, lane) {
                    return false;
                }
                *busy = next;
                next += 1;
                count += 1;
                break;
            }
        }
        if count == 0 {
            return true;
        }
    }
}

/// Joins a word by itself.
fn alone(model: &Model, word: &[u8], merger: &mut Merger, out: &mut Vec<u32>) -> bool {
    if let Some(id) = model.whole(word) {
        out.push(id);
        return true;
    }
    let Merger { many, ranks, .. } = merger;
    many.clear();
    ranks.clear();
    let is_known = model.symbols.spread(word, &model.pairs, many, ranks);
    if is_known {
        merger.join_many(&model.pairs, out);
    }
    is_known
}
