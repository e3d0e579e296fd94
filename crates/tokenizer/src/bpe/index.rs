//! An index of numbers by hash.

/// Maximum distance of a number from its slot, which limits the time for files with many collisions.
const MAX_PROBES: usize = 512;

const EMPTY: u32 = u32::MAX;

/// A hash table with open addressing. The caller defines what the numbers refer to.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    slots: Vec<u32>,
    shift: u32,
}

impl Index {
    /// Returns an index for `count` numbers.
    pub(super) fn new(count: usize) -> Self {
        let size = (count * 2).next_power_of_two().max(16);
        Self { slots: vec![EMPTY; size], shift: 64 - size.ilog2() }
    }

    /// Adds a number. Returns `false` if there is no free slot near the slot of its hash.
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

    /// Returns the number in the slot of a hash. The caller must check it: the slot may be empty or have another number.
    #[inline]
    pub(crate) fn first(&self, hash: u64) -> u32 {
        self.slots.get((hash >> self.shift) as usize).copied().unwrap_or(EMPTY)
    }

    /// Returns the first number for which `is_meant` returns `true`, searching from the slot of a hash.
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
