//! Tables of numbers in the header of a track.

use super::boxes::WordReader;
use crate::{ProbeError, Reader};

/// The location of a table of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Offset of the first entry.
    pub at: u64,
    /// Number of entries.
    pub count: u64,
}

impl Table {
    /// Creates a reader of the entries, of `words` numbers each.
    pub fn words(&self, words: u64) -> WordReader {
        WordReader::new(self.at, self.count.saturating_mul(words))
    }
}

/// Reads `stts`, with its corrections: pairs of a number of samples and their duration.
#[derive(Clone, Debug)]
pub struct DurationTable {
    words: WordReader,
    now: i64,
    corrected: i64,
}

/// Durations above this are interpreted as negative numbers.
const MAX_DURATION: u32 = u32::MAX - 480_000;

impl DurationTable {
    /// Creates a reader from the beginning of the table.
    pub fn new(table: &Table) -> Self {
        Self { words: table.words(2), now: 0, corrected: 0 }
    }

    /// Reads the next pair.
    pub fn next(&mut self, reader: &mut Reader) -> Result<Option<(u32, i64)>, ProbeError> {
        let Some((count, declared)) = self.words.pair(reader)? else { return Ok(None) };
        let samples = i64::from(count);
        let mut duration = i64::from(declared);
        if declared > MAX_DURATION {
            duration = 1;
            let step = if (declared as i32) < 0 { i64::from(declared as i32) } else { 1 };
            self.corrected = self.corrected.saturating_add(step.saturating_mul(samples));
        } else {
            self.corrected = self.corrected.saturating_add(duration.saturating_mul(samples));
        }
        self.now = self.now.saturating_add(duration.saturating_mul(samples));
        if self.now > self.corrected {
            let drift = self.now.saturating_sub(self.corrected) / samples.max(1);
            let correction = if duration > drift { drift } else { duration - 1 };
            self.now = self.now.saturating_sub(correction.saturating_mul(samples));
            duration -= correction;
        }
        Ok(Some((count, duration)))
    }
}
