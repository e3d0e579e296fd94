//! Joins words of many symbols, several in turn.

use super::merge::{JoinNeighbours, Steps};
use super::order::{JoinOrder, BLOCK, PLACE_BITS};

/// Places of symbols; the last is the unused one.
const PLACES: usize = 1 << PLACE_BITS;
/// The place that no symbol has.
const NOWHERE: u8 = (PLACES - 1) as u8;

/// A word while it is joined. The first pair of each block of places is stored, so that a step takes as long for many symbols as for few.
#[derive(Debug)]
pub(super) struct WideMerger {
    symbols: [u32; PLACES],
    /// By place of the left symbol of a pair.
    order: [JoinOrder; PLACES],
    /// The first of each block of `order`.
    first: [JoinOrder; PLACES / BLOCK],
    next: [u8; PLACES],
    before: [u8; PLACES],
    /// The place of the first symbol; [`NOWHERE`] for a word without any.
    begin: u8,
}

impl Default for WideMerger {
    fn default() -> Self {
        Self {
            symbols: [0; PLACES],
            order: [JoinOrder::LAST; PLACES],
            first: [JoinOrder::LAST; PLACES / BLOCK],
            next: [NOWHERE; PLACES],
            before: [NOWHERE; PLACES],
            begin: NOWHERE,
        }
    }
}

impl WideMerger {
    /// Updates the first pair of a place's block.
    #[inline]
    fn update_block(&mut self, place: u8) {
        let block = usize::from(place) / BLOCK;
        if let (Some(first), Some(part)) = (self.first.get_mut(block), self.order.as_chunks().0.get(block)) {
            *first = JoinOrder::first_of(part);
        }
    }
}

impl Steps for WideMerger {
    const WIDEST: usize = PLACES - 1;

    #[inline]
    fn put(&mut self, place: usize, symbol: u32, rank: u32) {
        let place = place.min(Self::WIDEST) as u8;
        let before = place.wrapping_sub(1);
        self.symbols[usize::from(place)] = symbol;
        self.order[usize::from(before)] = JoinOrder::new(rank, usize::from(before), false);
        self.before[usize::from(place)] = before;
        self.next[usize::from(before)] = place;
    }

    fn start(&mut self, count: usize) {
        let count = count.min(Self::WIDEST);
        let last = count.saturating_sub(1);
        self.begin = if count == 0 { NOWHERE } else { 0 };
        self.order[last..].fill(JoinOrder::LAST);
        self.next[last] = NOWHERE;
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
        let (right, left) = (self.next[usize::from(gone)], self.before[usize::from(at)]);
        self.symbols[usize::from(at)] = product;
        self.next[usize::from(at)] = right;
        self.before[usize::from(right)] = at;
        self.order[usize::from(gone)] = JoinOrder::LAST;
        self.update_block(gone);
        JoinNeighbours {
            left: self.symbols[usize::from(left)],
            right: self.symbols[usize::from(right)],
            before: usize::from(left),
            is_first: left == NOWHERE,
            is_last: right == NOWHERE,
        }
    }

    #[inline]
    fn set_ranks(&mut self, at: usize, joined: &JoinNeighbours, with_left: u32, with_right: u32) {
        let (at, before) = (at % PLACES, joined.before % PLACES);
        self.order[at] = JoinOrder::new(with_right, at, joined.is_last);
        self.order[before] = JoinOrder::new(with_left, before, joined.is_first);
        self.update_block(at as u8);
        self.update_block(before as u8);
    }

    fn finish(&self, out: &mut Vec<u32>) {
        let mut at = self.begin;
        while at != NOWHERE {
            out.push(self.symbols[usize::from(at)]);
            at = self.next[usize::from(at)];
        }
    }
}
