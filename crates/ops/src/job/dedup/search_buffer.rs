//! Text that is small enough to be searched as in a run, for an estimate.

use super::source::Line;
use super::split::{anchors, PROGRAM};
use crate::engine::dedup::write_back::TextPieces as _;
use crate::job::pool::run_units;
use gristmill_core::{Cancel, Outcome};
use gristmill_dedup::{find_in_passes, Estimate, Interval, Passage, Rule};

/// Limit of the size of text that is searched as a whole, in bytes.
const MAX_TEXT: u64 = 512 << 20;
/// Limit of scans over the text if memory does not hold all of its records.
const MAX_PASSES: u64 = 8;

/// Memory limits for searching text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SearchBudget {
    /// Limit of text, in bytes.
    pub(super) text_bytes: u64,
    /// Bytes for the records of all rules that are searched at the same time.
    records: u64,
}

impl SearchBudget {
    /// Returns the budget for about `text_bytes` bytes of text and these rules; `None` if the search needs more than `memory` bytes.
    pub(super) fn of(text_bytes: u64, rules: &[Rule], memory: u64) -> Option<Self> {
        // Adds a margin: the size of the text in compressed files is only estimated, and some of the text is in memory twice while buffers
        // are joined.
        let most = text_bytes.saturating_add(text_bytes / 8).saturating_add(2 << 20);
        Self::with_limit(text_bytes, most, rules, memory)
    }

    /// Returns the budget for text that is already in memory.
    pub(super) fn from_buffer(held: &SearchBuffer, rules: &[Rule], memory: u64) -> Option<Self> {
        Self::with_limit(held.bytes(), held.bytes(), rules, memory)
    }

    fn with_limit(text_bytes: u64, most: u64, rules: &[Rule], memory: u64) -> Option<Self> {
        let records = memory.saturating_sub(PROGRAM.min(memory / 2)).checked_sub(most)?;
        let of_all = rules.iter().map(|rule| record_bytes(rule, most)).max().unwrap_or_default();
        let fits = text_bytes <= MAX_TEXT && of_all <= records.saturating_mul(MAX_PASSES);
        fits.then_some(Self { text_bytes: most, records })
    }
}

/// Returns the bytes used by the records of a rule while they are collected.
fn record_bytes(rule: &Rule, text_bytes: u64) -> u64 {
    let each = if rule.fits_narrow(text_bytes) { 16 } else { 32 };
    // On average, a growing list allocates half of its content in addition; the results also need space.
    anchors(rule, text_bytes).saturating_mul(each).saturating_mul(7) / 4
}

/// Text to search, with a separator before each document, and the offset of each document in the buffer and its position in the whole text.
#[derive(Default)]
pub(super) struct SearchBuffer {
    text: Vec<u8>,
    documents: Vec<(u64, u64)>,
}

impl SearchBuffer {
    /// Returns the size of the text in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.text.len() as u64
    }

    pub(super) fn documents(&self) -> u64 {
        self.documents.len() as u64
    }

    /// Reserves space for this many further bytes.
    pub(super) fn reserve(&mut self, bytes: u64) {
        self.text.reserve_exact(usize::try_from(bytes).unwrap_or_default());
    }

    /// Appends the content of another buffer.
    pub(super) fn join(&mut self, other: Self) {
        let base = self.text.len() as u64;
        self.documents.extend(other.documents.iter().map(|(start, place)| (base + start, *place)));
        self.text.extend_from_slice(&other.text);
    }

    /// Estimates the text that each rule removes from the documents at position `own` and later. Searches as many rules at a time as memory
    /// allows.
    pub(super) fn estimates(
        &self,
        rules: &[Rule],
        own: u64,
        (most, threads): (usize, usize),
        budget: SearchBudget,
        cancel: &Cancel,
    ) -> Outcome<Vec<Estimate>> {
        let largest = rules.iter().map(|rule| record_bytes(rule, self.bytes())).max().unwrap_or_default().max(1);
        let at_a_time = usize::try_from(budget.records / largest).unwrap_or(usize::MAX).clamp(1, threads.max(1));
        let each = (budget.records / at_a_time as u64).max(1);
        run_units(rules, at_a_time, cancel, |rule| {
            let passes = u32::try_from(record_bytes(rule, self.bytes()).div_ceil(each)).unwrap_or(u32::MAX);
            self.estimate(rule, own, most, passes, cancel)
        })
    }

    fn estimate(&self, rule: &Rule, own: u64, most: usize, passes: u32, cancel: &Cancel) -> Outcome<Estimate> {
        let found = find_in_passes(&self.text, rule, passes, cancel)?;
        let first = self.documents.partition_point(|document| document.1 < own);
        let start = self.documents.get(first).map_or(u64::MAX, |document| document.0);
        let counted = found.intervals.iter().filter(|interval| interval.start >= start);
        let place = |passage: Passage| {
            let number = self.documents.partition_point(|document| document.0 <= passage.at).saturating_sub(1);
            let (start, place) = self.documents.get(number).copied().unwrap_or_default();
            Passage { at: place + passage.at.saturating_sub(start + 1), ..passage }
        };
        let removable = counted.map(|interval| self.whole_character_bytes(interval)).sum();
        Ok(Estimate {
            bytes: self.text.len() as u64 - self.documents.len() as u64,
            removable,
            margin: 0,
            key_margin: 0,
            least: removable,
            most: Some(removable),
            sampled: self.text.len() as u64,
            passages: found.passages.shown(most, rule.min_length).into_iter().map(place).collect(),
        })
    }
}

impl SearchBuffer {
    /// Returns the length of an interval in bytes without the characters at its ends that it cuts, which are not removed.
    fn whole_character_bytes(&self, interval: &Interval) -> u64 {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let is_inside = |at: usize| self.text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
        let (mut start, mut end) = (place(interval.start), place(interval.end));
        while start < end && is_inside(start) {
            start += 1;
        }
        while start < end && is_inside(end) {
            end -= 1;
        }
        (end - start) as u64
    }
}

/// Stores the text of a document and returns its length in bytes.
pub(super) fn append_text(line: &Line<'_>, place: u64, held: &mut SearchBuffer, spare: &mut String) -> Outcome<u64> {
    held.documents.push((held.text.len() as u64, place));
    held.text.push(0xff);
    line.each_piece(spare, &mut |piece| {
        held.text.extend_from_slice(piece.as_bytes());
        Ok(())
    })
}
