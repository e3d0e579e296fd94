//! The first merges, which are done in pieces of words before all others.

use super::boundary_filter::BoundaryFilter;

/// Number of tokens of the first merges that span the start of a long character. With more tokens, pieces are longer and recur less often;
/// with fewer, more merges remain.
pub(super) const MAX_BOUNDARY_TOKENS: usize = 250;

/// Size of the filter for these tokens, as the sum of their lengths in bytes.
const FILTER: usize = 1 << 15;

/// The first merges, which are done in pieces.
#[derive(Debug)]
pub(super) struct PrefixMerges {
    pub(super) cuts: BoundaryFilter,
    /// Exclusive limit of the ranks of these merges.
    pub(super) below: u32,
    /// Number of tokens that must still be added.
    left: usize,
}

impl PrefixMerges {
    /// Returns an empty set that accepts merges until `reaching` of their tokens span the start of a long character. Each merge must be
    /// passed to [`add`](Self::add) in the order of ranks.
    pub(super) fn reaching(reaching: usize) -> Self {
        Self { cuts: BoundaryFilter::new(FILTER), below: 0, left: reaching }
    }

    /// Adds the next merge, which produces this token.
    pub(super) fn add(&mut self, rank: u32, token: &[u8]) {
        if !self.is_full() {
            self.left -= usize::from(self.cuts.add(token));
            self.below = rank + 1;
        }
    }

    /// Whether the set is complete. Splitting with fewer tokens is not faster.
    pub(super) fn is_full(&self) -> bool {
        self.left == 0
    }
}
