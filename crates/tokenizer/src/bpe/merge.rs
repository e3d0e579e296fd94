//! The joining of one word: always the pair of the lowest rank, the leftmost of equals, until no two can be joined.

use super::order::{Order, BLOCK};
use super::pairs::{Pairs, APART};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A word while it is joined, step by step, so that the steps of several can be done in turn: each waits for memory, and so they wait
/// together. Nothing depends on what is found, so that the processor need not guess.
pub(super) trait Steps {
    /// Most symbols of a word.
    const WIDEST: usize;

    /// Puts a symbol at its place, which is that behind the last: 0 at first. `rank` is that of the one before it and itself.
    /// Those that have no room are put where nothing is.
    fn put(&mut self, place: usize, symbol: u32, rank: u32);

    /// Begins, once so many symbols were put, at most [`WIDEST`](Self::WIDEST).
    fn start(&mut self, count: usize);

    /// The rank of the pair that is to be joined next, and its place.
    fn lowest(&self) -> Option<(u32, usize)>;

    /// Joins the pair at this place to what it becomes; what that has beside it is to be looked up.
    fn join(&mut self, at: usize, product: u32) -> Joined;

    /// What was found for [`join`](Self::join): the rank of what is joined with the symbol before it, and with the one behind it.
    fn found(&mut self, at: usize, joined: &Joined, with_left: u32, with_right: u32);

    /// Appends what is left.
    fn finish(&self, out: &mut Vec<u32>);
}

/// The symbols beside one that came of joining; any where there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Joined {
    pub(super) left: u32,
    pub(super) right: u32,
    /// The place of the left one.
    pub(super) before: usize,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
}

/// Over this, memory that a long word needed is given back.
const MAX_KEPT_BYTES: usize = 1 << 16;

/// There is no symbol before the first and none after the last.
const NONE: u32 = u32::MAX;

/// A word of few symbols, of whose places the last is where what is none is put; at most 64.
#[derive(Debug)]
pub(super) struct Lane<const PLACES: usize> {
    symbols: [u32; PLACES],
    /// By place of the left one.
    order: [Order; PLACES],
    /// At which places symbols are.
    live: u64,
    /// Places that are looked at, in blocks.
    blocks: usize,
}

impl<const PLACES: usize> Default for Lane<PLACES> {
    fn default() -> Self {
        Self { symbols: [0; PLACES], order: [Order::LAST; PLACES], live: 0, blocks: 0 }
    }
}

impl<const PLACES: usize> Steps for Lane<PLACES> {
    const WIDEST: usize = PLACES - 1;

    #[inline]
    fn put(&mut self, place: usize, symbol: u32, rank: u32) {
        let (place, before) = (place.min(Self::WIDEST), place.wrapping_sub(1) % PLACES);
        self.symbols[place] = symbol;
        self.order[before] = Order::new(rank, before, false);
    }

    #[inline]
    fn start(&mut self, count: usize) {
        let count = count.min(Self::WIDEST);
        self.blocks = count.div_ceil(BLOCK);
        self.live = !(u64::MAX << count);
        self.order[count.saturating_sub(1)..].fill(Order::LAST);
    }

    #[inline]
    fn lowest(&self) -> Option<(u32, usize)> {
        let parts = self.order.as_chunks::<BLOCK>().0;
        if let [part] = parts {
            return Order::first_of(part).get();
        }
        parts.iter().take(self.blocks).fold(Order::LAST, |first, part| first.first(Order::first_of(part))).get()
    }

    #[inline]
    fn join(&mut self, at: usize, product: u32) -> Joined {
        let Self { symbols, order, live, .. } = self;
        let at = at % PLACES;
        let after = *live & (u64::MAX - 1) << at;
        let gone = after.trailing_zeros() as usize % PLACES;
        let behind = after & after.wrapping_sub(1);
        *live ^= after & after.wrapping_neg();
        let ahead = *live & !(u64::MAX << at);
        let before = 63u32.wrapping_sub(ahead.leading_zeros()) as usize % PLACES;
        symbols[at] = product;
        order[gone] = Order::LAST;
        Joined {
            left: symbols[before],
            right: symbols[behind.trailing_zeros() as usize % PLACES],
            before,
            is_first: ahead == 0,
            is_last: behind == 0,
        }
    }

    #[inline]
    fn found(&mut self, at: usize, joined: &Joined, with_left: u32, with_right: u32) {
        let (at, before) = (at % PLACES, joined.before % PLACES);
        self.order[at] = Order::new(with_right, at, joined.is_last);
        self.order[before] = Order::new(with_left, before, joined.is_first);
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

/// Memory to join words in, one at a time.
#[derive(Debug, Default)]
pub(super) struct Merger {
    /// The symbols of a word.
    pub(super) many: Vec<u32>,
    /// The rank of each with the one behind it.
    pub(super) ranks: Vec<u32>,
    next: Vec<u32>,
    before: Vec<u32>,
    heap: BinaryHeap<Reverse<u64>>,
}

impl Merger {
    /// Joins all of `many`, whose `ranks` are there, and appends what is left to `out`.
    #[inline(never)]
    pub(super) fn join_many(&mut self, pairs: &Pairs, out: &mut Vec<u32>) {
        let Self { many, ranks, next, before, heap, .. } = self;
        let count = many.len();
        heap.clear();
        ranks.resize(count, APART);
        heap.extend(
            ranks
                .iter()
                .enumerate()
                .filter(|(_, rank)| **rank != APART)
                .map(|(at, rank)| Reverse(u64::from(*rank) << 32 | at as u64)),
        );
        next.clear();
        next.extend(1..=count as u32);
        before.clear();
        before.push(NONE);
        before.extend(0..count.saturating_sub(1) as u32);
        while let Some(Reverse(lowest)) = heap.pop() {
            let (rank, at) = ((lowest >> 32) as u32, lowest as u32 as usize);
            // The pair is another by now, or part of a longer symbol.
            if ranks[at] != rank {
                continue;
            }
            let right = next[at] as usize;
            let joined = pairs.product(rank);
            let behind = next[right] as usize;
            many[at] = joined;
            ranks[right] = APART;
            next[right] = NONE;
            next[at] = behind as u32;
            ranks[at] = APART;
            if behind < count {
                before[behind] = at as u32;
                ranks[at] = pairs.rank(joined, many[behind]);
                if ranks[at] != APART {
                    heap.push(Reverse(u64::from(ranks[at]) << 32 | at as u64));
                }
            }
            let left = before[at] as usize;
            if left < count {
                ranks[left] = pairs.rank(many[left], joined);
                if ranks[left] != APART {
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
