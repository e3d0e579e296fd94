//! Windows of one to three bytes, for a rule under which nothing is counted: each is a number, and its key tells it from all others.
//!
//! There are many more of them than different ones, so those that came lately are remembered, and what comes again leaves no record.

use super::gear::mix;
use super::Rule;

/// The longest window that is a number, in bytes.
const MAX_WINDOW_BYTES: u64 = 3;
/// Windows that are remembered, as a binary logarithm: half a MiB.
const REMEMBERED: u32 = 15;

impl Rule {
    /// Whether windows are so short that equal keys mean equal windows.
    pub(super) fn is_tiny(&self) -> bool {
        self.is_plain() && self.min_length <= MAX_WINDOW_BYTES
    }
}

/// What is known of a window.
pub(super) enum WindowState {
    /// It came before, at this place.
    Before(u64),
    /// It may be new; its key.
    Perhaps(u64),
}

/// Reads windows of one rule, one document after the other.
pub(super) struct Tiny {
    length: u64,
    mask: u64,
    /// The last bytes.
    value: u64,
    /// Bytes of the document so far.
    read: u64,
    /// Windows and the places where they were, by their keys.
    lately: Vec<(u64, u64)>,
}

/// The place of nothing.
const NOWHERE: u64 = u64::MAX;

impl Tiny {
    pub(super) fn new(rule: &Rule) -> Self {
        let length = rule.min_length.clamp(1, MAX_WINDOW_BYTES);
        let lately = vec![(0, NOWHERE); 1 << REMEMBERED];
        Self { length, mask: u64::MAX >> (64 - 8 * length), value: 0, read: 0, lately }
    }

    pub(super) fn start(&mut self) {
        (self.value, self.read) = (0, 0);
    }

    /// Bytes of the document so far.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Takes a byte of the document whose text begins at `base`: where the window begins that it ends, and what is known of that.
    #[inline]
    pub(super) fn take(&mut self, byte: u8, base: u64) -> Option<(u64, WindowState)> {
        self.value = (self.value << 8 | u64::from(byte)) & self.mask;
        self.read += 1;
        let low = self.read.checked_sub(self.length)?;
        let key = mix(self.value);
        let slot = self.lately.get_mut((key >> (64 - REMEMBERED)) as usize)?;
        Some((
            low,
            match *slot {
                (value, place) if value == self.value && place != NOWHERE => WindowState::Before(place),
                _ => {
                    *slot = (self.value, base + low);
                    WindowState::Perhaps(key)
                }
            },
        ))
    }
}
