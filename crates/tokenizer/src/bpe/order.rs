//! Finds the pair that is merged next.

use super::pairs::{NOT_JOINED, RANK_BITS};
use wide::f32x4;

/// Number of positions that are compared together.
pub(super) const BLOCK: usize = 16;

/// Number of bits for a position, which are below those of the rank.
pub(super) const PLACE_BITS: u32 = 8;

const _: () = assert!(RANK_BITS + PLACE_BITS < 31, "a rank and a place are less than the value for none");

/// The rank of a pair, then its position. The pair that is merged first is less.
///
/// Stored as the float with these bits. Non-negative floats are ordered like their bits, and every processor has an instruction for the
/// minimum of several floats, which many lack for integers of this size.
#[derive(Clone, Copy, Debug)]
pub(super) struct JoinOrder(f32);

impl JoinOrder {
    /// The order of a pair that is never merged; its position is arbitrary.
    pub(super) const LAST: Self = Self(f32::from_bits(NOT_JOINED << PLACE_BITS));

    /// Returns the order of the pair at this position with this rank, or that of a pair that is never merged. Branch-free.
    #[inline]
    pub(super) fn new(rank: u32, place: usize, is_never: bool) -> Self {
        let never = u32::from(is_never).wrapping_neg() & NOT_JOINED;
        Self(f32::from_bits((rank | never) << PLACE_BITS | place as u32 & ((1 << PLACE_BITS) - 1)))
    }

    /// Returns the rank and the position of the pair; `None` if it is never merged.
    #[inline]
    pub(super) fn get(self) -> Option<(u32, usize)> {
        let bits = self.0.to_bits();
        (bits < NOT_JOINED << PLACE_BITS).then_some((bits >> PLACE_BITS, (bits % (1 << PLACE_BITS)) as usize))
    }

    #[inline]
    pub(super) fn first(self, other: Self) -> Self {
        if self.0 < other.0 {
            self
        } else {
            other
        }
    }

    /// Returns the minimum of a block.
    #[inline]
    pub(super) fn first_of(block: &[Self; BLOCK]) -> Self {
        let [a, b, c, d] = Self::as_fours(block).map(f32x4::from);
        let [a, b, c, d] = a.fast_min(b).fast_min(c.fast_min(d)).to_array().map(Self);
        a.first(b).first(c.first(d))
    }

    #[inline]
    fn as_fours(block: &[Self; BLOCK]) -> [[f32; 4]; 4] {
        std::array::from_fn(|four| std::array::from_fn(|at| block[4 * four + at].0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_rank_and_then_first_place_is_joined_first() {
        let mut state = 7_u32;
        for round in 0..2_000 {
            let mut least = (NOT_JOINED, usize::MAX);
            let block = std::array::from_fn(|place| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let rank = match round % 4 {
                    0 => NOT_JOINED,
                    1 => state >> 30,
                    2 => NOT_JOINED - 1 - (state >> 31),
                    _ => state >> 12 & NOT_JOINED,
                };
                if rank != NOT_JOINED {
                    least = least.min((rank, place));
                }
                JoinOrder::new(rank, place, false)
            });
            assert_eq!(JoinOrder::first_of(&block).get(), (least.0 != NOT_JOINED).then_some(least));
        }
        assert_eq!(JoinOrder::new(5, 3, true).get(), None);
        assert_eq!(JoinOrder::new(NOT_JOINED, 4, false).get(), None);
        assert_eq!(JoinOrder::new(5, 255, false).get(), Some((5, 255)));
    }
}
