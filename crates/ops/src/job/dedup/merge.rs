//! Third stage: merges the intervals of a unit, found by the search of the parts and by the scan, into sorted ranges that do not touch.

use super::anchors::{interval_bytes, INTERVAL};
use super::budget::Budget;
use super::find::{Cursor, FoundPart};
use super::job::Job;
use super::read::ReadUnit;
use super::spill_buffer::{FinishedSpill, Mark, OpenFiles, SpillBuffer};
use gristmill_core::Outcome;
use gristmill_data::formats::bsade::Range;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Intervals between two checks for cancellation.
const CANCEL_CHECK_EVERY: u64 = 1 << 16;

/// The ranges of a unit, by position in it: a file of pairs of start and end, little-endian.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct UnitRanges {
    pub(super) mark: Mark,
}

/// Merges the intervals of unit `number`, which begins at `base`.
pub(super) fn merge_unit(
    job: &Job<'_>,
    (number, base): (usize, u64),
    unit: &ReadUnit,
    parts: &[FoundPart],
    open: &OpenFiles,
) -> Outcome<UnitRanges> {
    let runs: usize = parts.iter().map(|part| part.runs.len()).sum();
    let share = usize::try_from(job.memory.per_thread).unwrap_or(usize::MAX) / 2 / INTERVAL / (runs + 1);
    let step = share.clamp(16, 4_096);
    let mut cursors = Vec::new();
    for (part, starts) in parts.iter().flat_map(|part| part.runs.iter().map(move |starts| (part, starts))) {
        let at = |number: usize| starts.get(number).copied().unwrap_or_default();
        if at(number) < at(number + 1) {
            cursors.push(Cursor::new(&part.intervals, (at(number), at(number + 1)), base, step, open));
        }
    }
    let own = &unit.collected.found;
    cursors.push(Cursor::new(own, (0, own.len() / INTERVAL as u64), 0, step, open));
    let mut heap = BinaryHeap::new();
    for (which, cursor) in cursors.iter_mut().enumerate() {
        heap.extend(cursor.next()?.map(|next| Reverse((next, which))));
    }
    // The ranges are needed until the end of the run, so they are always written to disk.
    let mut ranges = SpillBuffer::new(&*job.context.fs, job.layout.ranges_of(number), &Budget::new(0));
    ranges.spill()?;
    let (mut open_range, mut seen): (Option<(u64, u64)>, u64) = (None, 0);
    while let Some(Reverse(((start, end), which))) = heap.pop() {
        seen += 1;
        if seen % CANCEL_CHECK_EVERY == 0 {
            job.context.cancel.check()?;
        }
        if let Some(cursor) = cursors.get_mut(which) {
            heap.extend(cursor.next()?.map(|next| Reverse((next, which))));
        }
        match &mut open_range {
            Some(range) if start <= range.1 => range.1 = range.1.max(end),
            range => {
                if let Some((start, end)) = range.replace((start, end)) {
                    ranges.append(&interval_bytes(start, end))?;
                }
            }
        }
    }
    if let Some((start, end)) = open_range {
        ranges.append(&interval_bytes(start, end))?;
    }
    let mark = ranges.finish()?.mark().unwrap_or_default();
    Ok(UnitRanges { mark })
}

/// The ranges of a unit, which can be iterated from any position.
pub(super) struct Ranges {
    stored: FinishedSpill,
    open: OpenFiles,
}

impl Ranges {
    /// Opens the ranges of unit `number`.
    pub(super) fn of(job: &Job<'_>, number: usize, ranges: &UnitRanges) -> Self {
        Self { stored: FinishedSpill::of_file(job.layout.ranges_of(number), ranges.mark), open: OpenFiles::default() }
    }

    /// Returns the ranges that begin at or after `from`, with positions relative to it.
    pub(super) fn from(&self, from: u64) -> Outcome<Walk<'_>> {
        let (mut low, mut high) = (0, self.stored.len() / INTERVAL as u64);
        let end = high;
        let mut spare = Vec::new();
        while low < high {
            let middle = low + (high - low) / 2;
            let bytes = self.stored.read(middle * INTERVAL as u64, INTERVAL, &mut spare, &self.open)?;
            let (start, _) = super::anchors::interval_of(bytes);
            if start < from {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mut cursor = Cursor::new(&self.stored, (low, end), from, 1_024, &self.open);
        let next = cursor.next()?;
        Ok(Walk { cursor, next })
    }
}

/// Ranges in order, returned document by document.
pub(super) struct Walk<'a> {
    cursor: Cursor<'a>,
    /// Start and end of the range that was read ahead.
    next: Option<(u64, u64)>,
}

impl Walk<'_> {
    /// Returns the ranges of the document whose text is `[start, start + len)`, relative to it. Must be called in the order of the
    /// documents.
    pub(super) fn of_document(&mut self, start: u64, len: u64, ranges: &mut Vec<Range>) -> Outcome<()> {
        ranges.clear();
        while let Some((from, to)) = self.next.filter(|(from, _)| *from < start + len) {
            ranges.push(Range::new(from.saturating_sub(start), (to - start).min(len)));
            self.next = self.cursor.next()?;
        }
        Ok(())
    }
}
