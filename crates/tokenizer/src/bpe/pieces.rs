//! Splits long words of scripts without spaces into recurring pieces, and performs the first merges in each piece.
//!
//! A pair of one of the first merges is always merged before all other pairs. These merges can therefore be done first, and separately for
//! each piece if a word is cut at positions that none of their tokens spans. Such pieces are short and few, so most of them are cached. The
//! remaining merges then combine the pieces.

use super::boundary_filter::{BoundaryFilter, LONG};
use super::cache::{Cache, Sizes};
use super::entry::{ids_of, MAX_IDS, MAX_SHORT_IDS};
use super::hash::folded_product;
use super::keys::{Key, ShortKey, MAX_KEY_BYTES, SHORT};
use super::model::Model;
use super::pairs::{PairLookup, PairSlot, Pairs, NOT_JOINED};
use super::prefix_merges::PrefixMerges;
use super::symbols::NONE;
use std::ops::RangeInclusive;

/// Number of cached results for positions at which words may be cut; a power of two.
const CUT_CACHE_SLOTS: usize = 1 << 13;

/// Lengths of words that are split, in bytes. Shorter words are merged as fast without splitting; longer words would need much memory.
const WORDS: RangeInclusive<usize> = 16..=1 << 10;

/// Number of pairs that are looked up together.
const AT_ONCE: usize = 16;

/// Number of cached short and long pieces: 256 and 128 KiB.
const SIZES: Sizes = Sizes { short: 1 << 13, long: 1 << 11 };

/// A piece of a word.
#[derive(Clone, Copy, Debug, Default)]
struct PieceLookup {
    at: usize,
    end: usize,
    /// [`ShortKey::NONE`] if the piece is too long for a short key.
    key: ShortKey,
    hash: u64,
}

/// Buffers of one thread for splitting words into pieces.
#[derive(Debug)]
pub(super) struct WordBuffers {
    known: Cache,
    /// A cache of the bytes around examined positions, and whether a token spans the position; not allocated before the first.
    crossed: Vec<u64>,
    /// The initial symbols of all words, concatenated, followed by unused elements.
    symbols: Vec<u32>,
    /// Number of symbols in use.
    count: usize,
    /// The rank of the pair of each symbol and the previous one.
    ranks: Vec<u32>,
    /// The symbols of the piece that is being merged.
    piece: Vec<u32>,
    /// The rank of the pair of each symbol of `piece` and the next one.
    with: Vec<u32>,
}

impl Default for WordBuffers {
    fn default() -> Self {
        Self {
            known: Cache::of(SIZES),
            crossed: Vec::new(),
            symbols: Vec::new(),
            count: 0,
            ranks: Vec::new(),
            piece: Vec::new(),
            with: Vec::new(),
        }
    }
}

impl WordBuffers {
    /// Removes the symbols of all words. Cached pieces remain.
    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether a word is split into pieces.
    pub(super) fn are_for(word: &[u8]) -> bool {
        WORDS.contains(&word.len()) && word.iter().any(|byte| *byte >= LONG)
    }

    /// Appends the initial symbols of a word and returns their range. Returns `None` if the vocabulary lacks a symbol.
    pub(super) fn put(&mut self, model: &Model, early: &PrefixMerges, word: &[u8]) -> Option<(usize, usize)> {
        self.known.open();
        let (from, mut at) = (self.count, 0);
        // No word has more symbols than bytes.
        let room = from + word.len() + MAX_IDS;
        if self.symbols.len() < room {
            self.symbols.resize(room.next_power_of_two(), 0);
        }
        while at < word.len() {
            // Several pieces are found before they are looked up, so that their entries can be prefetched.
            let mut found = [PieceLookup::default(); AT_ONCE];
            let mut pieces = 0;
            while let Some(place) = found.get_mut(pieces).filter(|_| at < word.len()) {
                let end = self.end(early, word, at);
                let key = if end - at <= SHORT { ShortKey::new(word, at, end - at) } else { ShortKey::NONE };
                let hash = key.hash();
                self.known.short.view().fetch(hash);
                *place = PieceLookup { at, end, key, hash };
                pieces += 1;
                at = end;
            }
            for piece in found.iter().take(pieces) {
                if !self.put_known(piece) {
                    self.piece(model, early, word.get(piece.at..piece.end).unwrap_or_default())?;
                }
            }
        }
        Some((from, self.count))
    }

    /// Appends a piece if its entry is in its first slot. Returns whether it is.
    #[inline]
    fn put_known(&mut self, piece: &PieceLookup) -> bool {
        let Self { known, symbols, count, .. } = self;
        let found = known.short.view().first(piece.hash).and_then(|entry| ids_of(entry, piece.key));
        let place = symbols.get_mut(*count..*count + MAX_SHORT_IDS);
        let Some(((more, ids), place)) = found.zip(place) else { return false };
        place.copy_from_slice(&ids);
        *count += more;
        true
    }

    /// Looks up the ranks of all symbols.
    pub(super) fn rank(&mut self, pairs: &Pairs) {
        let Self { symbols, ranks, count, .. } = self;
        ranks.clear();
        ranks.push(NOT_JOINED);
        let (mut asked, mut placed) = ([PairLookup::default(); AT_ONCE], [PairSlot::default(); AT_ONCE]);
        let mut rest = symbols.get(..*count).unwrap_or_default();
        while rest.len() > 1 {
            let count = AT_ONCE.min(rest.len() - 1);
            for (asked, two) in asked.iter_mut().zip(rest.windows(2)) {
                *asked = pairs.start_lookup(two[0], two[1]);
            }
            for (placed, asked) in placed.iter_mut().zip(asked).take(count) {
                *placed = pairs.place(asked);
            }
            ranks.extend(placed.iter().take(count).map(|placed| pairs.answer(*placed)));
            rest = rest.get(count..).unwrap_or_default();
        }
    }

    /// Returns the symbols of a word, and the rank of the pair of each symbol and the previous one. The first rank is meaningless.
    pub(super) fn of(&self, (from, to): (usize, usize)) -> (&[u32], &[u32]) {
        (self.symbols.get(from..to).unwrap_or_default(), self.ranks.get(from..to).unwrap_or_default())
    }

    /// Returns the end of the piece that starts at `at`.
    #[inline]
    fn end(&mut self, early: &PrefixMerges, word: &[u8], at: usize) -> usize {
        let mut end = at;
        loop {
            end += match word.get(end) {
                None => return word.len(),
                Some(0xf0..) => 4,
                Some(LONG..) => 3,
                Some(_) => 1,
            };
            if word.get(end).is_some_and(|byte| *byte >= LONG) && !self.is_crossed(early, word, end) {
                return end;
            }
        }
    }

    #[inline]
    fn is_crossed(&mut self, early: &PrefixMerges, word: &[u8], at: usize) -> bool {
        if self.crossed.is_empty() {
            self.crossed.resize(CUT_CACHE_SLOTS, u64::MAX);
        }
        let key = BoundaryFilter::surrounding_bytes(word, at);
        let place = (folded_product(key, 0x9E37_79B9_7F4A_7C15) >> 20) as usize % CUT_CACHE_SLOTS;
        let Some(known) = self.crossed.get_mut(place) else { return true };
        if *known >> 1 != key {
            *known = key << 1 | u64::from(early.cuts.is_crossed(word, at));
        }
        *known & 1 == 1
    }

    /// Appends a piece, from the cache or by merging, and caches it.
    fn piece(&mut self, model: &Model, early: &PrefixMerges, bytes: &[u8]) -> Option<()> {
        let Self { known, symbols, count, piece, with, .. } = self;
        if bytes.len() <= MAX_KEY_BYTES && known.put(bytes, 0..bytes.len(), count, symbols) {
            return Some(());
        }
        piece.clear();
        with.clear();
        if !model.symbols.spread(bytes, &model.pairs, piece, with) || piece.contains(&NONE) {
            return None;
        }
        if bytes.len() <= MAX_KEY_BYTES {
            join(&model.pairs, early.below, piece, with);
            known.keep(bytes, 0..bytes.len(), piece);
        }
        symbols.get_mut(*count..*count + piece.len())?.copy_from_slice(piece);
        *count += piece.len();
        Some(())
    }
}

/// Performs the first merges. `ranks` has the rank of the pair of each symbol and the next one.
#[inline(never)]
fn join(pairs: &Pairs, below: u32, symbols: &mut Vec<u32>, ranks: &mut Vec<u32>) {
    loop {
        let first = ranks.iter().copied().enumerate().min_by_key(|(at, rank)| (*rank, *at));
        let Some((at, rank)) = first.filter(|(_, rank)| *rank < below) else { break };
        symbols[at] = pairs.product(rank);
        symbols.remove(at + 1);
        ranks.remove(at);
        if let Some(following) = symbols.get(at + 1) {
            ranks[at] = pairs.rank(symbols[at], *following);
        }
        if at > 0 {
            ranks[at - 1] = pairs.rank(symbols[at - 1], symbols[at]);
        }
    }
}
