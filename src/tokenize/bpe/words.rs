//! The words of a text -> ids.
//!
//! Most words of a text were met before, so this is the loop that counts: words are found some hundred at once, each with its key, and
//! what is known of them is fetched from memory meanwhile; then the ids of all are put out. Words that nothing is known of wait for
//! each other, to be joined side by side.

use super::cache::Cache;
use super::entry::{ids_of, ShortEntry, FEW, MOST};
use super::join::{Cold, Joiner};
use super::keys::{Key, LongKey, ShortKey, LONGEST, SHORT};
use super::model::Model;
use super::split::Scan;
use super::table::View;
use std::ops::Range;

/// So many words are found before the first is looked up.
const AT_ONCE: usize = 256;

/// Most words of a block, and bytes that are there from its beginning on: so many words end in it, and keys are made of sixteen bytes.
const OF_BLOCK: usize = 64;
const WINDOW: usize = OF_BLOCK + 16;

/// So many words of which nothing is known wait for each other.
const WAITING: usize = 256;

/// Memory of one thread, for one model.
#[derive(Debug)]
pub(super) struct Words {
    cache: Cache,
    joiner: Joiner,
    found: Box<[Found; AT_ONCE]>,
    cold: Vec<Cold>,
}

/// A word in a text, which goes up to the next one.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// Of no word where it is too long for one of these.
    key: ShortKey,
    hash: u64,
    at: usize,
}

impl Default for Words {
    fn default() -> Self {
        Self {
            cache: Cache::default(),
            joiner: Joiner::default(),
            found: Box::new([Found::default(); AT_ONCE]),
            cold: Vec::with_capacity(WAITING + AT_ONCE),
        }
    }
}

/// Where the next word begins, and where the one ends that is being cut.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    until: usize,
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

    /// Appends the ids of all words of a text. `false` where it is not known where a word ends, or where it cannot be said what the
    /// ids are.
    #[inline]
    pub(super) fn encode(&mut self, model: &Model, text: &[u8], scan: &impl Scan, out: &mut Vec<u32>) -> bool {
        let mut place = Place { at: 0, until: 0 };
        // So many ids are there; behind them is room for more.
        let mut length = out.len();
        self.cold.clear();
        while place.at < text.len() {
            let Some(words) = self.find(model, text, scan, &mut place) else { return false };
            self.put(text, words, place.at, &mut length, out);
            if self.cold.len() >= WAITING && !self.settle(model, text, &mut length, out) {
                return false;
            }
        }
        let is_done = self.cold.is_empty() || self.settle(model, text, &mut length, out);
        out.truncate(length);
        is_done
    }

    /// Finds the next words; how many, `None` where it is not known where one ends.
    #[inline]
    fn find(&mut self, model: &Model, text: &[u8], scan: &impl Scan, place: &mut Place) -> Option<usize> {
        let Self { cache, found, .. } = self;
        let (short, mut words) = (cache.short.view(), 0);
        let Place { mut at, mut until } = *place;
        while words <= AT_ONCE - OF_BLOCK && at < text.len() {
            let window: Option<&[u8; WINDOW]> = text.get(at..).and_then(|rest| rest.first_chunk());
            if let Some(window) = window.filter(|_| at >= until) {
                let (mut starts, mut from) = (scan.starts(text, at), 0);
                while starts != 0 {
                    let to = starts.trailing_zeros() as usize;
                    let length = to - from;
                    let (mut key, mut hash) = (ShortKey::NONE, 0);
                    if length <= SHORT {
                        let Some(bytes) = window.get(from..).and_then(|rest| rest.first_chunk()) else { break };
                        key = ShortKey::first_of(bytes, length);
                        hash = key.hash();
                        short.fetch(hash);
                    } else if length <= LONGEST {
                        cache.fetch_long(LongKey::new(text, at + from, length));
                    } else if model.cuts.is_some() {
                        until = at + to;
                        break;
                    }
                    found[words % AT_ONCE] = Found { key, hash, at: at + from };
                    words += 1;
                    from = to;
                    starts &= starts - 1;
                }
                at += from;
                if starts == 0 && from > 0 {
                    continue;
                }
            }
            let mut end = if at < until { until } else { scan.end(text, at) };
            if end <= at {
                return None;
            }
            if let Some(cuts) = model.cuts.as_ref().filter(|_| end - at > LONGEST) {
                until = end;
                end = cuts.first(text, at, end);
            }
            let length = end - at;
            let (mut key, mut hash) = (ShortKey::NONE, 0);
            if length <= SHORT {
                key = ShortKey::new(text, at, length);
                hash = key.hash();
                short.fetch(hash);
            } else if length <= LONGEST {
                cache.fetch_long(LongKey::new(text, at, length));
            }
            found[words % AT_ONCE] = Found { key, hash, at };
            words += 1;
            at = end;
        }
        *place = Place { at, until };
        Some(words)
    }

    /// Appends the ids of the first so many of the words found, the last of which ends at `end`, where they are known.
    #[inline]
    fn put(&mut self, text: &[u8], words: usize, end: usize, length: &mut usize, out: &mut Vec<u32>) {
        let Self { cache, found, cold, .. } = self;
        let mut count = *length;
        if out.len() < count + MOST * (words + 1) {
            out.resize(count + MOST * (words + 1), 0);
        }
        let mut number = 0;
        while number < words {
            let known = put_known(cache.short.view(), found, number..words, &mut count, out);
            number += known + 1;
            if number <= words {
                let at = found[(number - 1) % AT_ONCE].at;
                let end = if number < words { found[number % AT_ONCE].at } else { end };
                if !cache.put(text.get(at..end).unwrap_or_default(), &mut count, out) {
                    cold.push(Cold::new(at, end, count));
                }
            }
        }
        *length = count;
    }

    /// Joins the words that waited and puts their ids where they belong; `false` where that cannot be done.
    #[inline(never)]
    fn settle(&mut self, model: &Model, text: &[u8], length: &mut usize, out: &mut Vec<u32>) -> bool {
        let Self { cache, joiner, cold, .. } = self;
        let Some(ids) = joiner.join(model, text, cold) else { return false };
        for word in cold.iter() {
            cache.keep(text.get(word.at..word.end).unwrap_or_default(), word.ids(ids));
        }
        // From the end on, so that everything is moved once.
        let mut behind = *length;
        *length += ids.len();
        let mut free = *length;
        if out.len() < free {
            out.resize(free, 0);
        }
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

/// Writes the ids of some of the words found behind those that are there, as long as they are known at first sight; of how many.
#[inline]
fn put_known(
    short: View<'_, ShortEntry>,
    found: &[Found; AT_ONCE],
    range: Range<usize>,
    count: &mut usize,
    out: &mut [u32],
) -> usize {
    let words = found.get(range).unwrap_or_default();
    let (mut place, mut known) = (*count, 0);
    for Found { key, hash, .. } in words {
        let Some((more, ids)) = short.first(*hash).and_then(|entry| ids_of(entry, *key)) else { break };
        if let Some(place) = out.get_mut(place..place + FEW) {
            place.copy_from_slice(&ids);
        }
        place += more;
        known += 1;
    }
    *count = place;
    known
}
