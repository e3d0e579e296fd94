//! Joins one word: always the pair of the lowest rank, the leftmost of equals, until no two can be joined.

use super::order::{JoinOrder, BLOCK};
use super::pairs::{Pairs, NOT_JOINED};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A word while it is joined, step by step, so that the steps of several words can be interleaved: their memory accesses then overlap. No
/// branch depends on the values found, so that none is mispredicted.
pub(super) trait Steps {
    /// Maximum number of symbols of a word.
    const MAX_SYMBOLS: usize;

    /// Sets the symbol at a place, which is the one after the last: 0 at first. `rank` is that of the pair it forms with the symbol before
    /// it. Symbols that have no room are put into an unused place.
    fn put(&mut self, place: usize, symbol: u32, rank: u32);

    /// Starts the word, once `count` symbols were put, at most [`MAX_SYMBOLS`](Self::MAX_SYMBOLS).
    fn start(&mut self, count: usize);

    /// Returns the rank and the place of the pair that is to be joined next.
    fn lowest(&self) -> Option<(u32, usize)>;

    /// Joins the pair at this place into `product`; returns the neighbours, whose pairs with it have to be looked up.
    fn join(&mut self, at: usize, product: u32) -> JoinNeighbours;

    /// Stores the ranks that were looked up after [`join`](Self::join): of the joined symbol with the one before it, and with the one after
    /// it.
    fn set_ranks(&mut self, at: usize, joined: &JoinNeighbours, with_left: u32, with_right: u32);

    /// Appends the remaining symbols.
    fn finish(&self, out: &mut Vec<u32>);
}

/// The neighbours of a joined symbol; any value where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JoinNeighbours {
    pub(super) left: u32,
    pub(super) right: u32,
    /// The place of the left neighbour.
    pub(super) previous: usize,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

/// Capacity, in symbols, above which the buffers of a long word are freed.
const MAX_KEPT_BYTES: usize = 1 << 16;

/// There is no symbol before the first and none after the last.
const NONE: u32 = u32::MAX;

/// A word of few symbols, with at most 64 places; the last place is the unused one.
#[derive(Debug)]
pub(super) struct ShortWord<const PLACES: usize> {
    symbols: [u32; PLACES],
    /// By place of the left symbol of a pair.
    order: [JoinOrder; PLACES],
    /// A bit for each place that has a symbol.
    live: u64,
    /// Number of blocks of places that are examined.
    blocks: usize,
}

impl<const PLACES: usize> Default for ShortWord<PLACES> {
    fn default() -> Self {
        Self { symbols: [0; PLACES], order: [JoinOrder::LAST; PLACES], live: 0, blocks: 0 }
    }
}

impl<const PLACES: usize> Steps for ShortWord<PLACES> {
    const MAX_SYMBOLS: usize = PLACES - 1;

    #[inline]
    fn put(&mut self, place: usize, symbol: u32, rank: u32) {
        let (place, before) = (place.min(Self::MAX_SYMBOLS), place.wrapping_sub(1) % PLACES);
        self.symbols[place] = symbol;
        self.order[before] = JoinOrder::new(rank, before, false);
    }

    #[inline]
    fn start(&mut self, count: usize) {
        let count = count.min(Self::MAX_SYMBOLS);
        self.blocks = count.div_ceil(BLOCK);
        self.live = !(u64::MAX << count);
        self.order[count.saturating_sub(1)..].fill(JoinOrder::LAST);
    }

    #[inline]
    fn lowest(&self) -> Option<(u32, usize)> {
        let parts = self.order.as_chunks::<BLOCK>().0;
        if let [part] = parts {
            return JoinOrder::first_of(part).get();
        }
        parts.iter().take(self.blocks).fold(JoinOrder::LAST, |first, part| first.first(JoinOrder::first_of(part))).get()
    }

    #[inline]
    fn join(&mut self, at: usize, product: u32) -> JoinNeighbours {
        let Self { symbols, order, live, .. } = self;
        let at = at % PLACES;
        let after = *live & (u64::MAX - 1) << at;
        let gone = after.trailing_zeros() as usize % PLACES;
        let following = after & after.wrapping_sub(1);
        *live ^= after & after.wrapping_neg();
        let ahead = *live & !(u64::MAX << at);
        let before = 63u32.wrapping_sub(ahead.leading_zeros()) as usize % PLACES;
        symbols[at] = product;
        order[gone] = JoinOrder::LAST;
        JoinNeighbours {
            left: symbols[before],
            right: symbols[following.trailing_zeros() as usize % PLACES],
            previous: before,
            is_first: ahead == 0,
            is_last: following == 0,
        }
    }

    #[inline]
    fn set_ranks(&mut self, at: usize, joined: &JoinNeighbours, with_left: u32, with_right: u32) {
        let (at, before) = (at % PLACES, joined.previous % PLACES);
        self.order[at] = JoinOrder::new(with_right, at, joined.is_last);
        self.order[before] = JoinOrder::new(with_left, before, joined.is_first);
    }

    #[inline]
    fn finish(&self, out: &mut Vec<u32>) {
        let mut live = self.live;
        while live != 0 {
            out.push(self.symbols[live.trailing_zeros() as usize % PLACES]);
            live &= live - 1;
        }
    }
}

/// Buffers for joining words, one at a time.
#[derive(Debug, Default)]
pub(super) struct Merger {
    /// The symbols of a word.
    pub(super) many: Vec<u32>,
    /// The rank of the pair of each symbol and the one after it.
    pub(super) ranks: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    heap: BinaryHeap<Reverse<u64>>,
}

impl Merger {
    /// Joins all of `many`, whose `ranks` are set, and appends the remaining symbols to `out`.
    #[inline(never)]
    pub(super) fn join_many(&mut self, pairs: &Pairs, out: &mut Vec<u32>) {
        let Self { many, ranks, next, previous: before, heap, .. } = self;
        let count = many.len();
        heap.clear();
        ranks.resize(count, NOT_JOINED);
        heap.extend(
            ranks
                .iter()
                .enumerate()
                .filter(|(_, rank)| **rank != NOT_JOINED)
                .map(|(at, rank)| Reverse(u64::from(*rank) << 32 | at as u64)),
        );
        next.clear();
        next.extend(1..=count as u32);
        before.clear();
        before.push(NONE);
        before.extend(0..count.saturating_sub(1) as u32);
        while let Some(Reverse(lowest)) = heap.pop() {
            let (rank, at) = ((lowest >> 32) as u32, lowest as u32 as usize);
            // The pair has changed, or is part of a longer symbol.
            if ranks[at] != rank {
                continue;
            }
            let right = next[at] as usize;
            let joined = pairs.product(rank);
            let following = next[right] as usize;
            many[at] = joined;
            ranks[right] = NOT_JOINED;
            next[right] = NONE;
            next[at] = following as u32;
            ranks[at] = NOT_JOINED;
            if following < count {
                before[following] = at as u32;
                ranks[at] = pairs.rank(joined, many[following]);
                if ranks[at] != NOT_JOINED {
                    heap.push(Reverse(u64::from(ranks[at]) << 32 | at as u64));
                }
            }
            let left = before[at] as usize;
            if left < count {
                ranks[left] = pairs.rank(many[left], joined);
                if ranks[left] != NOT_JOINED {
                    heap.push(Reverse(u64::from(ranks[left]) << 32 | left as u64));
                }
            }
        }
        let mut at = 0;
        while at < count {
            out.push(many[at]);
            at = next[at] as usize;
        }
        if many.capacity() > MAX_KEPT_BYTES {
            (*many, *ranks, *next, *before) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            *heap = BinaryHeap::new();
        }
    }
}
