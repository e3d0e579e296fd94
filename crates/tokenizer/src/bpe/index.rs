//! An index of numbers by hash.

/// Longest distance of a number from its place, so that a file made to collide costs no time.
const MAX_PROBES: usize = 512;

const EMPTY: u32 = u32::MAX;

/// A table with open addressing; the caller knows what a number refers to.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    slots: Vec<u32>,
    shift: u32,
}

impl Index {
    /// Returns an index with room for `count` numbers.
    pub(super) fn new(count: usize) -> Self {
        let size = (count * 2).next_power_of_two().max(16);
        Self { slots: vec![EMPTY; size], shift: 64 - size.ilog2() }
    }

    /// Adds a number; returns `false` where there is no room for it near its place.
    pub(super) fn put(&mut self, hash: u64, number: u32) -> bool {
        let last = self.slots.len() - 1;
        let start = (hash >> self.shift) as usize;
        for step in 0..MAX_PROBES {
            if let Some(slot) = self.slots.get_mut((start + step) & last).filter(|slot| **slot == EMPTY) {
                *slot = number;
                return true;
            }
        }
        false
    }

    /// Returns the first number at a hash: usually the wanted one; it may be another, or refer to nothing.
    #[inline]
    pub(crate) fn first(&self, hash: u64) -> u32 {
        self.slots.get((hash >> self.shift) as usize).copied().unwrap_or(EMPTY)
    }

    /// Returns the wanted number, among those of the same or a near hash.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_meant: impl FnMut(u32) -> bool) -> Option<u32> {
        let last = self.slots.len() - 1;
        let mut at = (hash >> self.shift) as usize;
        loop {
            let slot = self.slots.get(at).copied().filter(|slot| *slot != EMPTY)?;
            if is_meant(slot) {
                return Some(slot);
            }
            at = (at + 1) & last;
        }
    }
}
