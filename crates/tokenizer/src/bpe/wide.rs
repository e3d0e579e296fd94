//! Merges words of many symbols, several words in parallel.

use super::merge::{JoinNeighbours, Steps};
use super::order::{JoinOrder, BLOCK, PLACE_BITS};

/// Number of symbol positions; the last one is unused.
const SYMBOL_SLOTS: usize = 1 << PLACE_BITS;
/// The unused position.
const NO_SLOT: u8 = (SYMBOL_SLOTS - 1) as u8;

/// A word that is being merged. The first pair of each block of positions is cached, so that the time of a step does not depend on the
/// number of symbols.
#[derive(Debug)]
pub(super) struct WideMerger {
    symbols: [u32; SYMBOL_SLOTS],
    /// Merge order by position of the left symbol of a pair.
    order: [JoinOrder; SYMBOL_SLOTS],
    /// The minimum of each block of `order`.
    first: [JoinOrder; SYMBOL_SLOTS / BLOCK],
    next: [u8; SYMBOL_SLOTS],
    previous: [u8; SYMBOL_SLOTS],
    /// The position of the first symbol; [`NO_SLOT`] if the word is empty.
    begin: u8,
}

impl Default for WideMerger {
    fn default() -> Self {
        Self {
            symbols: [0; SYMBOL_SLOTS],
            order: [JoinOrder::LAST; SYMBOL_SLOTS],
            first: [JoinOrder::LAST; SYMBOL_SLOTS / BLOCK],
            next: [NO_SLOT; SYMBOL_SLOTS],
            previous: [NO_SLOT; SYMBOL_SLOTS],
            begin: NO_SLOT,
        }
    }
}

impl WideMerger {
    /// Updates the minimum of the block of a position.
    #[inline]
    fn update_block(&mut self, place: u8) {
        let block = usize::from(place) / BLOCK;
        if let (Some(first), Some(part)) = (self.first.get_mut(block), self.order.as_chunks().0.get(block)) {
            *first = JoinOrder::first_of(part);
        }
    }
}

impl Steps for WideMerger {
    const MAX_SYMBOLS: usize = SYMBOL_SLOTS - 1;

    #[inline]
    fn put(&mut self, place: usize, symbol: u32, rank: u32) {
        let place = place.min(Self::MAX_SYMBOLS) as u8;
        let before = place.wrapping_sub(1);
        self.symbols[usize::from(place)] = symbol;
        self.order[usize::from(before)] = JoinOrder::new(rank, usize::from(before), false);
        self.previous[usize::from(place)] = before;
        self.next[usize::from(before)] = place;
    }

    fn start(&mut self, count: usize) {
        let count = count.min(Self::MAX_SYMBOLS);
        let last = count.saturating_sub(1);
        self.begin = if count == 0 { NO_SLOT } else { 0 };
        self.order[last..].fill(JoinOrder::LAST);
        self.next[last] = NO_SLOT;
        for (first, part) in self.first.iter_mut().zip(self.order.as_chunks().0) {
            *first = JoinOrder::first_of(part);
        }
    }

    #[inline]
    fn lowest(&self) -> Option<(u32, usize)> {
        JoinOrder::first_of(&self.first).get()
    }

    #[inline]
    fn join(&mut self, at: usize, product: u32) -> JoinNeighbours {
        let at = at as u8;
        let gone = self.next[usize::from(at)];
        let (right, left) = (self.next[usize::from(gone)], self.previous[usize::from(at)]);
        self.symbols[usize::from(at)] = product;
        self.next[usize::from(at)] = right;
        self.previous[usize::from(right)] = at;
        self.order[usize::from(gone)] = JoinOrder::LAST;
        self.update_block(gone);
        JoinNeighbours {
            left: self.symbols[usize::from(left)],
            right: self.symbols[usize::from(right)],
            previous: usize::from(left),
            is_first: left == NO_SLOT,
            is_last: right == NO_SLOT,
        }
    }

    #[inline]
    fn set_ranks(&mut self, at: usize, joined: &JoinNeighbours, with_left: u32, with_right: u32) {
        let (at, before) = (at % SYMBOL_SLOTS, joined.previous % SYMBOL_SLOTS);
        self.order[at] = JoinOrder::new(with_right, at, joined.is_last);
        self.order[before] = JoinOrder::new(with_left, before, joined.is_first);
        self.update_block(at as u8);
        self.update_block(before as u8);
    }

    fn finish(&self, out: &mut Vec<u32>) {
        let mut at = self.begin;
        while at != NO_SLOT {
            out.push(self.symbols[usize::from(at)]);
            at = self.next[usize::from(at)];
        }
    }
}
