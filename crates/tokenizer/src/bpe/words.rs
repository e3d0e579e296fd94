//! Encodes the words of texts.
//!
//! Most words of a text are already in the cache, so this loop determines the speed. Some hundred words are found together with their keys,
//! while their cache entries are prefetched; then their ids are written. Words that are not in the cache are collected across texts and
//! merged several at a time.

use super::cache::Cache;
use super::entry::{ids_of, ShortEntry, MAX_IDS, MAX_SHORT_IDS};
use super::join::{CacheMiss, Joiner};
use super::keys::{Key, LongKey, ShortKey, MAX_KEY_BYTES, SHORT};
use super::model::Model;
use super::split::Scan;
use super::table::View;
use std::ops::Range;

/// Number of words that are found before the first one is looked up.
const AT_ONCE: usize = 256;

/// Maximum number of words in a block, and number of bytes that must follow its start: a block has this many bytes, and keys are made from
/// sixteen bytes.
const MAX_BLOCK_WORDS: usize = 64;
const WINDOW_BYTES: usize = MAX_BLOCK_WORDS + 16;

/// Number of collected cache misses after which they are merged.
const MAX_PENDING_WORDS: usize = 256;

/// Number of ids above which the buffers of a long text are freed.
const MAX_KEPT_IDS: usize = 1 << 20;

/// Words shorter than this, in bytes, are copied with a fixed length. Most words are shorter.
const SHORT_WORD_BYTES: usize = MAX_KEY_BYTES + 1;

/// Buffers of one thread, for one model.
#[derive(Debug)]
pub(super) struct WordEncoder {
    cache: Cache,
    joiner: Joiner,
    found: Box<[WordLookup; AT_ONCE]>,
    /// The ids of all texts except those of cache misses, followed by unused elements.
    ids: Vec<u32>,
    count: usize,
    /// Cache misses, and their bytes.
    cold: Vec<CacheMiss>,
    spelled: Vec<u8>,
    /// The end of the ids of each text.
    ends: Vec<usize>,
    /// For each text since the last merging, the number of cache misses at its end.
    open: Vec<usize>,
}

/// A word in a text. It ends where the next one starts.
#[derive(Clone, Copy, Debug, Default)]
struct WordLookup {
    /// [`ShortKey::NONE`] if the word is too long for a short key.
    key: ShortKey,
    hash: u64,
    at: usize,
}

impl Default for WordEncoder {
    fn default() -> Self {
        Self {
            cache: Cache::default(),
            joiner: Joiner::default(),
            found: Box::new([WordLookup::default(); AT_ONCE]),
            ids: Vec::new(),
            count: 0,
            cold: Vec::with_capacity(MAX_PENDING_WORDS + AT_ONCE),
            spelled: Vec::new(),
            ends: Vec::new(),
            open: Vec::new(),
        }
    }
}

/// The start of the next word; and the end of a word that is being cut.
#[derive(Clone, Copy)]
struct Cursor {
    at: usize,
    until: usize,
}

impl WordEncoder {
    /// Returns an encoder whose cache grows by at most `bytes` bytes.
    pub(super) fn with_cache_bytes(bytes: usize) -> Self {
        Self { cache: Cache::with_bytes(bytes), ..Self::default() }
    }

    /// Starts a new batch of texts.
    pub(super) fn begin(&mut self) {
        self.cache.open();
        if self.ids.len() > MAX_KEPT_IDS {
            (self.ids, self.spelled) = (Vec::new(), Vec::new());
        }
        self.count = 0;
        self.cold.clear();
        self.spelled.clear();
        self.ends.clear();
        self.open.clear();
    }

    /// Appends an id.
    pub(super) fn push(&mut self, id: u32) {
        if self.ids.len() <= self.count {
            self.ids.resize(self.count + MAX_IDS, 0);
        }
        if let Some(place) = self.ids.get_mut(self.count) {
            *place = id;
            self.count += 1;
        }
    }

    /// Appends the ids of a whole text that another tokenizer encoded.
    pub(super) fn put_text(&mut self, ids: &[u32]) {
        self.ids.truncate(self.count);
        self.ids.extend_from_slice(ids);
        self.count = self.ids.len();
        self.end_text();
    }

    pub(super) fn end_text(&mut self) {
        self.ends.push(self.count);
        self.open.push(self.cold.len());
    }

    /// Removes the ids and cache misses of an unfinished text.
    pub(super) fn discard_text(&mut self) {
        // If cache misses have been merged since the last text ended, all collected ones belong to this text.
        self.cold.truncate(self.open.last().copied().unwrap_or(0));
        self.count = self.ends.last().copied().unwrap_or(0);
    }

    /// Merges the remaining cache misses. Returns `false` if the vocabulary lacks a symbol; the results of all texts are then invalid.
    pub(super) fn finish(&mut self, model: &Model) -> bool {
        self.join_waiting(model)
    }

    /// Returns the ids of all texts, once they are finished.
    pub(super) fn ids(&self) -> &[u32] {
        self.ids.get(..self.count).unwrap_or_default()
    }

    /// Swaps the ids of all texts and the end of each text with the given vectors. Other values may follow the last id.
    pub(super) fn swap(&mut self, ids: &mut Vec<u32>, ends: &mut Vec<usize>) {
        std::mem::swap(&mut self.ids, ids);
        std::mem::swap(&mut self.ends, ends);
    }

    /// Appends the ids of all words of a part of a text. Returns `false` if the end of a word or its ids cannot be determined.
    #[inline]
    pub(super) fn encode(&mut self, model: &Model, text: &[u8], scan: &impl Scan) -> bool {
        let mut place = Cursor { at: 0, until: 0 };
        while place.at < text.len() {
            let Some(words) = self.find(model, text, scan, &mut place) else { return false };
            self.put(text, words, place.at);
            if self.cold.len() >= MAX_PENDING_WORDS && !self.join_waiting(model) {
                return false;
            }
        }
        true
    }

    /// Finds the next words and returns their number; `None` if the end of a word cannot be determined.
    #[inline]
    fn find(&mut self, model: &Model, text: &[u8], scan: &impl Scan, place: &mut Cursor) -> Option<usize> {
        let Self { cache, found, .. } = self;
        let (short, mut words) = (cache.short.view(), 0);
        let Cursor { mut at, mut until } = *place;
        while words <= AT_ONCE - MAX_BLOCK_WORDS && at < text.len() {
            let window: Option<&[u8; WINDOW_BYTES]> = text.get(at..).and_then(|rest| rest.first_chunk());
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
                    } else if length <= MAX_KEY_BYTES {
                        cache.fetch_long(LongKey::new(text, at + from, length));
                    } else if model.cuts.is_some() {
                        until = at + to;
                        break;
                    }
                    found[words % AT_ONCE] = WordLookup { key, hash, at: at + from };
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
            if let Some(cuts) = model.cuts.as_ref().filter(|_| end - at > MAX_KEY_BYTES) {
                until = end;
                end = cuts.first(text, at, end);
            }
            let length = end - at;
            let (mut key, mut hash) = (ShortKey::NONE, 0);
            if length <= SHORT {
                key = ShortKey::new(text, at, length);
                hash = key.hash();
                short.fetch(hash);
            } else if length <= MAX_KEY_BYTES {
                cache.fetch_long(LongKey::new(text, at, length));
            }
            found[words % AT_ONCE] = WordLookup { key, hash, at };
            words += 1;
            at = end;
        }
        *place = Cursor { at, until };
        Some(words)
    }

    /// Appends the ids of the first `words` words found, the last of which ends at `end`. Collects words that are not in the cache.
    #[inline]
    fn put(&mut self, text: &[u8], words: usize, end: usize) {
        let Self { cache, found, cold, spelled, ids, count, .. } = self;
        let mut ready = *count;
        if ids.len() < ready + MAX_IDS * (words + 1) {
            ids.resize(ready + MAX_IDS * (words + 1), 0);
        }
        let mut number = 0;
        while number < words {
            let known = put_known(cache.short.view(), found, number..words, &mut ready, ids);
            number += known + 1;
            if number <= words {
                let at = found[(number - 1) % AT_ONCE].at;
                let end = if number < words { found[number % AT_ONCE].at } else { end };
                if !cache.put(text, at..end, &mut ready, ids) {
                    cold.push(CacheMiss::new(spelled.len(), end - at, ready));
                    keep(text, at, end, spelled);
                }
            }
        }
        *count = ready;
    }

    /// Merges the collected cache misses and inserts their ids. Returns `false` if the vocabulary lacks a symbol.
    #[inline(never)]
    fn join_waiting(&mut self, model: &Model) -> bool {
        let Self { cache, joiner, cold, spelled, ids, count, ends, open, .. } = self;
        if cold.is_empty() {
            open.clear();
            return true;
        }
        let Some(joined) = joiner.join(model, spelled, cold) else {
            // The caller may remove the text with the missing symbol, so the other words remain collected.
            cold.iter_mut().for_each(CacheMiss::clear_ids);
            return false;
        };
        // The key of the last word is computed faster if bytes follow it.
        spelled.resize(spelled.len() + SHORT_WORD_BYTES, 0);
        for word in cold.iter() {
            cache.keep(spelled, word.at..word.end, word.ids(joined));
        }
        // The end of a text moves by the number of ids of all earlier cache misses.
        let (mut more, mut words) = (0, cold.iter());
        let (mut passed, first) = (0, ends.len().saturating_sub(open.len()));
        for (end, waited) in ends.iter_mut().skip(first).zip(open.drain(..)) {
            more += words.by_ref().take(waited - passed).map(|word| word.ids(joined).len()).sum::<usize>();
            passed = waited;
            *end += more;
        }
        // Works backwards from the end, so that all ids are moved once.
        let mut unmoved = *count;
        *count += joined.len();
        let mut free = *count;
        if ids.len() < free {
            ids.resize(free, 0);
        }
        for word in cold.drain(..).rev() {
            let (more, length) = (word.ids(joined), unmoved - word.before);
            ids.copy_within(word.before..unmoved, free - length);
            free -= length;
            unmoved = word.before;
            ids[free - more.len()..free].copy_from_slice(more);
            free -= more.len();
        }
        spelled.clear();
        true
    }
}

/// Appends the bytes of a word.
#[inline]
fn keep(text: &[u8], at: usize, end: usize, spelled: &mut Vec<u8>) {
    let before = spelled.len();
    match text.get(at..at + SHORT_WORD_BYTES) {
        // Copying a fixed number of bytes and truncating is faster.
        Some(usual) if end - at <= SHORT_WORD_BYTES => {
            spelled.extend_from_slice(usual);
            spelled.truncate(before + end - at);
        }
        _ => spelled.extend_from_slice(text.get(at..end).unwrap_or_default()),
    }
}

/// Writes the ids of words after the first `count` ids, up to the first word that is not in its first cache slot. Returns the number of
/// words written.
#[inline]
fn put_known(
    short: View<'_, ShortEntry>,
    found: &[WordLookup; AT_ONCE],
    range: Range<usize>,
    count: &mut usize,
    out: &mut [u32],
) -> usize {
    let words = found.get(range).unwrap_or_default();
    let (mut place, mut known) = (*count, 0);
    for WordLookup { key, hash, .. } in words {
        let Some((more, ids)) = short.first(*hash).and_then(|entry| ids_of(entry, *key)) else { break };
        if let Some(place) = out.get_mut(place..place + MAX_SHORT_IDS) {
            place.copy_from_slice(&ids);
        }
        place += more;
        known += 1;
    }
    *count = place;
    known
}
