//! Windows of one to three bytes, for rules that do not count: each window is a number with a unique key.
//!
//! There are many more windows than distinct windows, so recent ones are stored, and their repeats need no records.

use super::window_hash::mix;
use super::Rule;

/// Maximum length of a window that is represented by a number, in bytes.
const MAX_WINDOW_BYTES: u64 = 3;
/// Number of stored windows, as a binary logarithm. They take half a MiB.
const LOG2_REMEMBERED: u32 = 15;

impl Rule {
    /// Whether windows are so short that equal keys imply equal windows.
    pub(super) fn is_tiny(&self) -> bool {
        self.is_plain() && self.min_length <= MAX_WINDOW_BYTES
    }
}

/// Whether a window is known to be a repeat.
pub(super) enum WindowState {
    /// The window occurred earlier, at this position.
    Before(u64),
    /// The window may be new; its key.
    Perhaps(u64),
}

/// Reads the windows of documents for one rule.
pub(super) struct SmallWindows {
    length: u64,
    mask: u64,
    /// The last bytes, as a number.
    value: u64,
    /// Number of bytes of the document so far.
    read: u64,
    /// Recent windows and their positions, indexed by key.
    recent: Vec<(u64, u64)>,
}

/// The position in an unused slot.
const NO_POSITION: u64 = u64::MAX;

impl SmallWindows {
    pub(super) fn new(rule: &Rule) -> Self {
        let length = rule.min_length.clamp(1, MAX_WINDOW_BYTES);
        let lately = vec![(0, NO_POSITION); 1 << LOG2_REMEMBERED];
        Self { length, mask: u64::MAX >> (64 - 8 * length), value: 0, read: 0, recent: lately }
    }

    pub(super) fn start(&mut self) {
        (self.value, self.read) = (0, 0);
    }

    /// Returns the number of bytes of the document so far.
    pub(super) fn read(&self) -> u64 {
        self.read
    }

    /// Adds a byte of the document whose text starts at `base`. Returns the start of the window that ends with this byte, and its state.
    #[inline]
    pub(super) fn push(&mut self, byte: u8, base: u64) -> Option<(u64, WindowState)> {
        self.value = (self.value << 8 | u64::from(byte)) & self.mask;
        self.read += 1;
        let low = self.read.checked_sub(self.length)?;
        let key = mix(self.value);
        let slot = self.recent.get_mut((key >> (64 - LOG2_REMEMBERED)) as usize)?;
        Some((
            low,
            match *slot {
                (value, place) if value == self.value && place != NO_POSITION => WindowState::Before(place),
                _ => {
                    *slot = (self.value, base + low);
                    WindowState::Perhaps(key)
                }
            },
        ))
    }
}
