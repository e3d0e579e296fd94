//! Anchor records in a spill buffer, in runs that are each sorted by part of the keys, so that one part can be read without the others.

use super::spill_buffer::{FinishedSpill, OpenFiles, SpillBuffer};
use gristmill_core::Outcome;
use gristmill_dedup::{partition_of, Anchor, CompactAnchor, Interval, Passage, Passages, Record, Sink};
use serde::{Deserialize, Serialize};

/// Size of an interval in a spill buffer, in bytes.
pub(super) const INTERVAL: usize = 16;

/// A run of records: its offset in the spill buffer, and the start of each part in it, counted in records; the end comes last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) at: u64,
    pub(super) starts: Vec<u32>,
}

/// Collects the results of the scan of a unit.
pub(super) struct Collector<'a> {
    narrow: bool,
    parts: u32,
    run_bytes: usize,
    waiting: Vec<u8>,
    sorted: Vec<u8>,
    anchors: SpillBuffer<'a>,
    runs: Vec<Run>,
    found: SpillBuffer<'a>,
    passages: Passages,
}

/// All results of a scan.
pub(super) struct AnchorScan {
    pub(super) anchors: FinishedSpill,
    pub(super) runs: Vec<Run>,
    /// Intervals found by the scan itself, ordered by position.
    pub(super) found: FinishedSpill,
    /// Repeated passages found by the scan itself, ordered by position.
    pub(super) passages: Passages,
}

/// Returns the size of a record in bytes.
pub(super) fn record_bytes(narrow: bool) -> usize {
    if narrow {
        CompactAnchor::BYTES
    } else {
        Anchor::BYTES
    }
}

impl<'a> Collector<'a> {
    /// Creates a collector that writes records and intervals to these spill buffers.
    pub(super) fn new(
        narrow: bool,
        parts: u32,
        run_bytes: usize,
        anchors: SpillBuffer<'a>,
        found: SpillBuffer<'a>,
    ) -> Self {
        let waiting = Vec::new();
        let (sorted, runs, passages) = (Vec::new(), Vec::new(), Passages::default());
        Self { narrow, parts, run_bytes, waiting, sorted, anchors, runs, found, passages }
    }

    /// Appends the collected records to the spill buffer as one run, sorted by part.
    fn flush(&mut self) -> Outcome<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let size = record_bytes(self.narrow);
        let part_of = |record: &[u8]| partition_of(key_of(record), self.parts) as usize;
        let mut starts = vec![0_u32; self.parts as usize + 1];
        for record in self.waiting.chunks_exact(size) {
            if let Some(count) = starts.get_mut(part_of(record) + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        self.sorted.resize(self.waiting.len(), 0);
        for record in self.waiting.chunks_exact(size) {
            let Some(place) = next.get_mut(part_of(record)) else { continue };
            let at = *place as usize * size;
            *place += 1;
            if let Some(to) = self.sorted.get_mut(at..at + size) {
                to.copy_from_slice(record);
            }
        }
        self.runs.push(Run { at: self.anchors.len(), starts });
        self.waiting.clear();
        self.anchors.append(&self.sorted)
    }

    /// Whether any data was written to scratch.
    pub(super) fn is_spilled(&self) -> bool {
        self.anchors.is_spilled() || self.found.is_spilled()
    }

    /// Ends the collection. With `on_disk`, all data is written to scratch.
    pub(super) fn finish(mut self, on_disk: bool) -> Outcome<AnchorScan> {
        self.flush()?;
        if on_disk {
            self.anchors.spill()?;
            self.found.spill()?;
        }
        let (anchors, found) = (self.anchors.finish()?, self.found.finish()?);
        Ok(AnchorScan { anchors, runs: self.runs, found, passages: self.passages })
    }
}

impl Sink for Collector<'_> {
    fn anchor(&mut self, anchor: Anchor) -> Outcome<()> {
        if self.narrow {
            CompactAnchor::pack(&anchor).write(&mut self.waiting);
        } else {
            anchor.write(&mut self.waiting);
        }
        if self.waiting.len() >= self.run_bytes {
            self.flush()?;
        }
        Ok(())
    }

    fn interval(&mut self, found: Interval) -> Outcome<()> {
        self.found.append(&interval_bytes(found.start, found.end))
    }

    fn passage(&mut self, passage: Passage) {
        self.passages.add(passage);
    }
}

/// Returns the key of a record: the first eight bytes of both the short and the long form.
fn key_of(record: &[u8]) -> u64 {
    record.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Encodes an interval for a spill buffer.
pub(super) fn interval_bytes(start: u64, end: u64) -> [u8; INTERVAL] {
    (u128::from(start) | u128::from(end) << 64).to_le_bytes()
}

/// Decodes an interval from a spill buffer.
pub(super) fn interval_of(bytes: &[u8]) -> (u64, u64) {
    let both = bytes.first_chunk::<INTERVAL>().map_or(0, |bytes| u128::from_le_bytes(*bytes));
    (both as u64, (both >> 64) as u64)
}

impl AnchorScan {
    /// Returns the number of records of a part.
    pub(super) fn count(&self, part: u32) -> u64 {
        self.runs.iter().map(|run| run.slice(part)).map(|(from, to)| u64::from(to - from)).sum()
    }

    /// Passes the bytes of each record of a part to a callback.
    pub(super) fn each_record(
        &self,
        part: u32,
        narrow: bool,
        spare: &mut Vec<u8>,
        open: &OpenFiles,
        take: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<()> {
        let size = record_bytes(narrow);
        for run in &self.runs {
            let (from, to) = run.slice(part);
            if from < to {
                let bytes = self.anchors.read(
                    run.at + u64::from(from) * size as u64,
                    (to - from) as usize * size,
                    spare,
                    open,
                )?;
                bytes.chunks_exact(size).try_for_each(&mut *take)?;
            }
        }
        Ok(())
    }
}

impl Run {
    fn slice(&self, part: u32) -> (u32, u32) {
        let at = |place: usize| self.starts.get(place).copied().unwrap_or_default();
        (at(part as usize), at(part as usize + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::budget::Budget;
    use super::*;
    use gristmill_storage::fs::RealFs;

    #[test]
    fn each_part_receives_its_anchor_records_from_every_run() {
        let dir = tempfile::tempdir().unwrap();
        for (narrow, budget, parts) in [(true, 0, 7), (true, 1 << 30, 1), (false, 1 << 30, 7), (false, 0, 64)] {
            let budget = Budget::new(budget);
            let pile = |name: &str| SpillBuffer::new(&RealFs, dir.path().join(name), &budget);
            let mut collector = Collector::new(narrow, parts, 1_000, pile("a"), pile("f"));
            let anchor = |at: u64| Anchor {
                key: at.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                at,
                near: 1,
                far: 2,
                copies: 1,
                period: 0,
            };
            for at in 0..5_000 {
                collector.anchor(anchor(at)).unwrap();
            }
            collector.interval(Interval { start: 3, end: 9, first: 1 }).unwrap();
            let collected = collector.finish(false).unwrap();
            let (mut spare, open) = (Vec::new(), OpenFiles::default());
            let mut seen = Vec::new();
            for part in 0..parts {
                let mut count = 0;
                let mut take = |record: &[u8]| {
                    let found = if narrow { CompactAnchor::read(record).unpack() } else { Anchor::read(record) };
                    assert_eq!(found, anchor(found.at));
                    assert_eq!(partition_of(found.key, parts), part);
                    seen.push(found.at);
                    count += 1;
                    Ok(())
                };
                collected.each_record(part, narrow, &mut spare, &open, &mut take).unwrap();
                assert_eq!(collected.count(part), count);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..5_000).collect::<Vec<_>>());
            assert_eq!(interval_of(collected.found.read(0, INTERVAL, &mut spare, &open).unwrap()), (3, 9));
        }
    }
}
