//! Merges the symbols of one word: always the pair with the lowest rank, and the leftmost of pairs with equal ranks, until no pair can be
//! merged.

use super::order::{JoinOrder, BLOCK};
use super::pairs::{Pairs, NOT_JOINED};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The merging of one word in steps, so that the steps of several words can be interleaved and their memory accesses overlap. No branch
/// depends on the values read, so no branch is mispredicted.
pub(super) trait Steps {
    /// Maximum number of symbols of a word.
    const MAX_SYMBOLS: usize;

    /// Sets the symbol at a position. Positions must be set in order, starting with 0. `rank` is the rank of the pair of this symbol and
    /// the previous one. Symbols beyond the capacity go to an unused position.
    fn put(&mut self, place: usize, symbol: u32, rank: u32);

    /// Starts the merging after `count` symbols have been set, at most [`MAX_SYMBOLS`](Self::MAX_SYMBOLS).
    fn start(&mut self, count: usize);

    /// Returns the rank and the position of the next pair to merge.
    fn lowest(&self) -> Option<(u32, usize)>;

    /// Replaces the pair at this position by `product`. Returns its neighbours, for looking up the new pairs.
    fn join(&mut self, at: usize, product: u32) -> JoinNeighbours;

    /// Stores the ranks that were looked up after [`join`](Self::join): of the pairs of the new symbol with its left and its right
    /// neighbour.
    fn set_ranks(&mut self, at: usize, joined: &JoinNeighbours, with_left: u32, with_right: u32);

    /// Appends the remaining symbols.
    fn finish(&self, out: &mut Vec<u32>);
}

/// The neighbours of a merged symbol. If a neighbour does not exist, its value is arbitrary.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JoinNeighbours {
    pub(super) left: u32,
    pub(super) right: u32,
    /// The position of the left neighbour.
    pub(super) previous: usize,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

/// Number of symbols above which the buffers of a long word are freed.
const MAX_KEPT_BYTES: usize = 1 << 16;

/// Marks the missing symbol before the first and after the last one.
const NONE: u32 = u32::MAX;

/// A word of few symbols, with at most 64 positions. The last position is unused.
#[derive(Debug)]
pub(super) struct ShortWord<const PLACES: usize> {
    symbols: [u32; PLACES],
    /// Merge order by position of the left symbol of a pair.
    order: [JoinOrder; PLACES],
    /// One bit per position: whether it has a symbol.
    live: u64,
    /// Number of blocks of positions that are examined.
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

/// Buffers for merging one word at a time.
#[derive(Debug, Default)]
pub(super) struct Merger {
    /// The symbols of a word.
    pub(super) many: Vec<u32>,
    /// The rank of the pair of each symbol and the next one.
    pub(super) ranks: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    heap: BinaryHeap<Reverse<u64>>,
}

impl Merger {
    /// Merges all of `many`, whose `ranks` must be set, and appends the remaining symbols to `out`.
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
            // The pair has changed, or one of its symbols was merged.
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
