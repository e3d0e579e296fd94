//! Numbers found by the hash of what they stand for.

/// Nothing is further from its place than this, so that a file made to collide costs no time.
const FURTHEST: usize = 512;

const EMPTY: u32 = u32::MAX;

/// A table with open addressing; what lies at a number is the caller's.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    slots: Vec<u32>,
    shift: u32,
}

impl Index {
    /// For so many numbers.
    pub(super) fn new(count: usize) -> Self {
        let size = (count * 2).next_power_of_two().max(16);
        Self { slots: vec![EMPTY; size], shift: 64 - size.ilog2() }
    }

    /// Puts a number in; `false` where there is no room for it near its place.
    pub(super) fn put(&mut self, hash: u64, number: u32) -> bool {
        let last = self.slots.len() - 1;
        let start = (hash >> self.shift) as usize;
        for step in 0..FURTHEST {
            if let Some(slot) = self.slots.get_mut((start + step) & last).filter(|slot| **slot == EMPTY) {
                *slot = number;
                return true;
            }
        }
        false
    }

    /// What is first found for a hash: mostly what is meant, or what lies at no number.
    #[inline]
    pub(crate) fn first(&self, hash: u64) -> u32 {
        self.slots.get((hash >> self.shift) as usize).copied().unwrap_or(EMPTY)
    }

    /// The number that is meant, among those of the same or a near hash.
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
