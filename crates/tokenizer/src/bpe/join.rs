//! Merges the bytes of words that are not in the cache into ids, several words at a time.

use super::merge::{JoinNeighbours, Merger, ShortWord, Steps};
use super::model::Model;
use super::pairs::{PairLookup, PairSlot};
use super::pieces::WordBuffers;
use super::symbols::Start;
use super::wide::WideMerger;

/// Number of words that are merged at a time: words with few symbols, with some, and with many.
const WORDS_OF_FEW_SYMBOLS: usize = 8;
const WORDS_OF_SOME_SYMBOLS: usize = 8;
const WORDS_OF_MANY_SYMBOLS: usize = 4;

/// Marks a value that is not known yet.
const LATER: usize = usize::MAX;

/// A word that is not in the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct CacheMiss {
    /// Its range in the bytes of all cache misses.
    pub(super) at: usize,
    pub(super) end: usize,
    /// Number of cached ids before the word.
    pub(super) before: usize,
    /// The range of its ids; [`LATER`] until they are known.
    from: usize,
    to: usize,
    /// The range of its initial symbols if it is split into pieces; otherwise [`LATER`].
    start: (usize, usize),
}

impl CacheMiss {
    /// Returns a word of `length` bytes whose ids are not known yet.
    pub(super) fn new(at: usize, length: usize, before: usize) -> Self {
        Self { at, end: at + length, before, from: LATER, to: LATER, start: (LATER, LATER) }
    }

    /// Resets the ids to unknown.
    pub(super) fn clear_ids(&mut self) {
        (self.from, self.to, self.start) = (LATER, LATER, (LATER, LATER));
    }

    /// Returns its ids, given the ids of all merged words.
    pub(super) fn ids<'a>(&self, all: &'a [u32]) -> &'a [u32] {
        all.get(self.from..self.to).unwrap_or_default()
    }
}

/// Buffers for merging words.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    few: Box<[ShortWord<16>; WORDS_OF_FEW_SYMBOLS]>,
    short_words: Box<[ShortWord<64>; WORDS_OF_SOME_SYMBOLS]>,
    many: Box<[WideMerger; WORDS_OF_MANY_SYMBOLS]>,
    merger: Merger,
    pieces: WordBuffers,
    ids: Vec<u32>,
}

impl Joiner {
    /// Merges the words, whose bytes are in `text`, and returns their ids. Returns `None` if the vocabulary lacks a symbol.
    pub(super) fn join(&mut self, model: &Model, text: &[u8], cold: &mut [CacheMiss]) -> Option<&[u32]> {
        let Self { few, short_words: some, many, merger, pieces, ids } = self;
        ids.clear();
        pieces.clear();
        if let Some(early) = &model.early {
            for word in &mut *cold {
                let bytes = text.get(word.at..word.end).unwrap_or_default();
                if WordBuffers::are_for(bytes) {
                    word.start = pieces.put(model, early, bytes)?;
                }
            }
            pieces.rank(&model.pairs);
        }
        let is_done = side_by_side(model, text, few, cold, pieces, ids)?
            || side_by_side(model, text, some, cold, pieces, ids)?
            || side_by_side(model, text, many, cold, pieces, ids)?;
        if !is_done {
            for word in cold.iter_mut().filter(|word| word.from == LATER) {
                word.from = ids.len();
                join_word(model, text.get(word.at..word.end).unwrap_or_default(), merger, ids)?;
                word.to = ids.len();
            }
        }
        Some(ids)
    }
}

/// A merge of one lane.
#[derive(Clone, Copy, Debug, Default)]
struct MergeStep {
    at: usize,
    rank: u32,
    joined: JoinNeighbours,
    lookups: [PairLookup; 2],
    slots: [PairSlot; 2],
}

/// The words whose ids are not known yet, in order.
struct PairQueue<'a> {
    model: &'a Model,
    text: &'a [u8],
    cold: &'a mut [CacheMiss],
    pieces: &'a WordBuffers,
    next: usize,
    /// Whether some words have too many symbols for the lanes.
    has_more: bool,
}

impl PairQueue<'_> {
    /// Starts the next word that fits into a lane and returns its index; `None` if there are no more. Fails if the vocabulary lacks a
    /// symbol.
    #[inline]
    fn begin<L: Steps>(&mut self, lane: &mut L, ids: &mut Vec<u32>) -> Result<Option<usize>, ()> {
        while let Some(word) = self.cold.get_mut(self.next) {
            self.next += 1;
            if word.from != LATER {
                continue;
            }
            let bytes = self.text.get(word.at..word.end).unwrap_or_default();
            if let Some(id) = self.model.whole_word_id(bytes) {
                word.from = ids.len();
                ids.push(id);
                word.to = ids.len();
                continue;
            }
            let start = match word.start {
                (LATER, _) => self.model.symbols.start(bytes, &self.model.pairs, lane),
                start => begin_with(self.pieces.of(start), lane),
            };
            match start {
                Start::Ready => return Ok(Some(self.next - 1)),
                Start::TooLong => self.has_more = true,
                Start::Missing => return Err(()),
            }
        }
        Ok(None)
    }

    /// Stores the ids of a merged word.
    #[inline]
    fn end<L: Steps>(&mut self, word: usize, lane: &L, ids: &mut Vec<u32>) {
        if let Some(word) = self.cold.get_mut(word) {
            word.from = ids.len();
            lane.finish(ids);
            word.to = ids.len();
        }
    }
}

/// Starts a word with these symbols if it fits into the lane. `ranks` has the rank of the pair of each symbol and the previous one.
#[inline]
fn begin_with<L: Steps>((symbols, ranks): (&[u32], &[u32]), lane: &mut L) -> Start {
    if symbols.len() > L::MAX_SYMBOLS {
        return Start::TooLong;
    }
    for (place, (symbol, rank)) in symbols.iter().zip(ranks).enumerate() {
        lane.put(place, *symbol, *rank);
    }
    lane.start(symbols.len());
    Start::Ready
}

/// Merges the words whose ids are not known yet and that fit into a lane. Returns whether these were all words, or `None` if the vocabulary
/// lacks a symbol.
///
/// Each part of a step is done for all lanes before the next part, so that their memory accesses overlap. The active lanes are the first
/// ones.
#[inline(never)]
fn side_by_side<L: Steps, const N: usize>(
    model: &Model,
    text: &[u8],
    lanes: &mut [L; N],
    cold: &mut [CacheMiss],
    pieces: &WordBuffers,
    ids: &mut Vec<u32>,
) -> Option<bool> {
    let pairs = &model.pairs;
    let mut queue = PairQueue { model, text, cold, pieces, next: 0, has_more: false };
    let (mut words, mut turns) = ([0; N], [MergeStep::default(); N]);
    let mut count = 0;
    while let Some((lane, word)) = lanes.get_mut(count).zip(words.get_mut(count)) {
        let Some(first) = queue.begin(lane, ids).ok()? else { break };
        *word = first;
        count += 1;
    }
    while count > 0 {
        let mut number = 0;
        while number < count {
            let (lane, turn) = (&mut lanes[number % N], &mut turns[number % N]);
            if let Some((rank, at)) = lane.lowest() {
                pairs.fetch(rank);
                (turn.at, turn.rank) = (at, rank);
                number += 1;
                continue;
            }
            queue.end(words[number % N], lane, ids);
            if let Some(word) = queue.begin(lane, ids).ok()? {
                words[number % N] = word;
                continue;
            }
            count -= 1;
            lanes.swap(number % N, count % N);
            words.swap(number % N, count % N);
        }
        for (lane, turn) in lanes.iter_mut().zip(&mut turns).take(count) {
            let product = pairs.product(turn.rank);
            turn.joined = lane.join(turn.at, product);
            turn.lookups =
                [pairs.start_lookup(turn.joined.left, product), pairs.start_lookup(product, turn.joined.right)];
        }
        for turn in turns.iter_mut().take(count) {
            turn.slots = turn.lookups.map(|asked| pairs.place(asked));
        }
        for (lane, turn) in lanes.iter_mut().zip(&turns).take(count) {
            let [with_left, with_right] = turn.slots.map(|placed| pairs.answer(placed));
            lane.set_ranks(turn.at, &turn.joined, with_left, with_right);
        }
    }
    Some(!queue.has_more)
}

/// Merges a single word. Returns `None` if the vocabulary lacks a symbol.
#[inline(never)]
fn join_word(model: &Model, word: &[u8], merger: &mut Merger, out: &mut Vec<u32>) -> Option<()> {
    if let Some(id) = model.whole_word_id(word) {
        out.push(id);
        return Some(());
    }
    let Merger { many, ranks, .. } = merger;
    many.clear();
    ranks.clear();
    if !model.symbols.spread(word, &model.pairs, many, ranks) {
        return None;
    }
    merger.join_many(&model.pairs, out);
    Some(())
}
