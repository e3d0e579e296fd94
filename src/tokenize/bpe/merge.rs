//! The joining of one word: always the pair of the lowest rank, the leftmost of equals, until no two can be joined.

use super::pairs::{Pairs, APART};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::select_unpredictable;

/// Places of the symbols of a short word.
pub(super) const FEW: usize = 1 << PLACE_BITS;

/// Bits of the place of one of few symbols: they lie below those of a rank.
const PLACE_BITS: u32 = 6;

/// Of a pair that is never joined: over every rank with a place. Signed, for which processors have quick comparisons.
const LAST: i32 = i32::MAX;

/// Over this, memory that a long word needed is given back.
const KEPT: usize = 1 << 16;

/// There is no symbol before the first and none after the last.
const NONE: u32 = u32::MAX;

/// Symbols of a word that is joined beside others; so many are looked at each time, or half as many.
const WIDTH: usize = 32;

/// A short word while it is joined. The steps of several are done in turn: each waits for memory, and they wait together.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) symbols: [u32; FEW],
    /// Rank and place of each pair, in one number; by place of the left one. The last place is where what is none is put.
    pub(super) order: [i32; FEW],
    live: u64,
    is_wide: bool,
}

impl Default for Lane {
    fn default() -> Self {
        Self { symbols: [0; FEW], order: [LAST; FEW], live: 0, is_wide: false }
    }
}

impl Lane {
    /// Begins with so many symbols, at most [`WIDTH`], and the ranks of each two of them.
    #[inline]
    pub(super) fn start(&mut self, count: usize) {
        let count = count.min(WIDTH);
        self.is_wide = count > WIDTH / 2;
        self.live = !(u64::MAX << count);
        self.order[count.saturating_sub(1)..WIDTH].fill(LAST);
    }

    /// Joins the two that are to be joined next; `false` where none are. Nothing in it depends on what is found, so that the
    /// processor need not guess.
    #[inline(always)]
    pub(super) fn step(&mut self, pairs: &Pairs) -> bool {
        let Self { symbols, order, live, is_wide } = self;
        let least = |part: &[i32]| part.iter().fold(LAST, |least, pair| least.min(*pair));
        let mut lowest = least(&order[..WIDTH / 2]);
        if *is_wide {
            lowest = lowest.min(least(&order[WIDTH / 2..WIDTH]));
        }
        if lowest == LAST {
            return false;
        }
        let (rank, at) = (lowest as u32 >> PLACE_BITS, lowest as usize % FEW);
        let joined = pairs.product(rank);
        let after = *live & (u64::MAX - 1) << at;
        let behind = after & after.wrapping_sub(1);
        *live ^= after & after.wrapping_neg();
        let before = *live & !(u64::MAX << at);
        let right = behind.trailing_zeros() as usize % FEW;
        let left = 63u32.wrapping_sub(before.leading_zeros()) as usize % FEW;
        let with_right = ordered(pairs.rank(joined, symbols[right]), at);
        let with_left = ordered(pairs.rank(symbols[left], joined), left);
        symbols[at] = joined;
        order[after.trailing_zeros() as usize % FEW] = LAST;
        order[at] = select_unpredictable(behind == 0, LAST, with_right);
        order[left] = select_unpredictable(before == 0, LAST, with_left);
        true
    }

    /// Appends what is left.
    #[inline]
    pub(super) fn finish(&self, out: &mut Vec<u32>) {
        let mut live = self.live;
        while live != 0 {
            out.push(self.symbols[live.trailing_zeros() as usize % FEW]);
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

/// A rank and a place as one number.
#[inline]
pub(super) fn ordered(rank: u32, place: usize) -> i32 {
    select_unpredictable(rank == APART, LAST, (rank << PLACE_BITS) as i32 | place as i32)
}

impl Merger {
    /// Joins all of `many`, whose `ranks` are there, and appends what is left to `out`.
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
            let joined = pairs.product(rank);
            let right = next[at] as usize;
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
        if many.capacity() > KEPT {
            (*many, *ranks, *next, *before) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
            *heap = BinaryHeap::new();
        }
    }
}
