//! Runs and periodic text: text that repeats with a shift needs no anchors.

use super::bytes::common_prefix;
use super::walk::Tail;

/// Tracks a range of text that equals the text `period` bytes earlier. Compares each byte only once while the period is unchanged.
#[derive(Default)]
pub(super) struct Shift {
    period: u64,
    /// The range that is known to repeat.
    from: u64,
    to: u64,
    /// Whether the byte at `to` is known not to repeat.
    stops: bool,
}

impl Shift {
    /// Whether bytes `[low, end)` equal those `period` bytes earlier in the same document. All of them must have been read.
    pub(super) fn is_periodic(&mut self, tail: &Tail, period: u64, low: u64, end: u64) -> bool {
        if !tail.has_kept(low, period) {
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
