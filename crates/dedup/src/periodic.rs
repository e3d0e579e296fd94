//! Runs and periodic text: what repeats with a shift needs no anchors.

use super::bytes::common_prefix;
use super::walk::Tail;

/// Knows a stretch of text that equals itself some bytes earlier. Each byte is looked at once, as long as the shift stays the same.
#[derive(Default)]
pub(super) struct Shift {
    period: u64,
    /// Known to repeat.
    from: u64,
    to: u64,
    /// The byte at `to` does not.
    stops: bool,
}

impl Shift {
    /// Whether bytes `[low, end)` equal those `period` bytes earlier, in the same document. They have been read.
    pub(super) fn holds(&mut self, tail: &Tail, period: u64, low: u64, end: u64) -> bool {
        if !tail.holds(low, period) {
            return false;
        }
        if self.period != period || low < self.from || low > self.to {
            *self = Self { period, from: low, to: low, stops: false };
        }
        if self.to < end && !self.stops {
            let more = common_prefix(tail.get(self.to, end), tail.get(self.to - period, end - period));
            self.to += more as u64;
            self.stops = self.to < end;
        }
        self.to >= end
    }
}
