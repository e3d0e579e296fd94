//! Second stage: finds the removable intervals of each part of the keys from its records.

use super::anchors::{interval_bytes, interval_of, AnchorScan, Collector, INTERVAL};
use super::job::Job;
use super::read::ReadUnit;
use super::recorded_passages::{passages_of, recorded_passages, RecordedPassage};
use super::spill_buffer::{FinishedSpill, Mark, OpenFiles, SpillBuffer};
use super::texts::Texts;
use crate::job::pool::run_missing_units;
use gristmill_core::Outcome;
use gristmill_dedup::{
    merge, partition_of, Anchor, CompactAnchor, Interval, OversizedGroup, Passages, Record, Resolver, Sink as _,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Cells for counting keys that may have too many records.
const HOT_KEY_COUNTER_CELLS: usize = 1 << 12;
/// Limit of passes over the remainders of hot keys. After it, contexts that each differ slightly from the previous one are held in memory
/// and halved.
const MAX_HALVINGS: u32 = 6;
/// Limit of parts of the remainder of hot keys.
const MAX_PARTS: u32 = 1 << 10;
/// Records between two checks for cancellation.
const CANCEL_CHECK_EVERY: u64 = 1 << 12;

/// The intervals of one part, in positions of the whole text: several runs, each sorted and merged.
pub(super) struct FoundPart {
    pub(super) intervals: FinishedSpill,
    /// For each run, the start of the intervals of each unit, counted in intervals of the part; the end comes last.
    pub(super) runs: Vec<Vec<u64>>,
    passages: Passages,
    pub(super) is_resumed: bool,
}

#[derive(Serialize, Deserialize)]
struct FoundPartRecord {
    mark: Mark,
    runs: Vec<Vec<u64>>,
    passages: Vec<RecordedPassage>,
}

/// The results of all parts.
pub(super) struct FoundRepeats {
    pub(super) parts: Vec<FoundPart>,
    pub(super) passages: Passages,
}

/// Searches all parts for repeats.
pub(super) fn find_all(job: &Job<'_>, units: &[ReadUnit], open: &OpenFiles) -> Outcome<FoundRepeats> {
    let texts = Texts::new(units.iter().map(|unit| &unit.text), open).with_match_cache(job.match_cache_bytes);
    let finding = Finding { job, units, bases: texts.bases(), texts, open, remainders: AtomicU64::new(0) };
    let numbers: Vec<u32> = (0..job.division.parts).collect();
    let resume = |part: &u32| finding.resume_part(*part);
    let parts = run_missing_units(&numbers, job.memory.threads, &job.context.cancel, resume, |part| {
        let found = finding.part(*part)?;
        job.context.progress.add(1, 0);
        Ok(found)
    })?;
    let mut passages = Passages::default();
    parts.iter().for_each(|part| passages.join(&part.passages));
    let of_units = units.iter().zip(&finding.bases);
    of_units.for_each(|(unit, base)| passages.join(&unit.collected.passages.moved(*base)));
    Ok(FoundRepeats { parts, passages })
}

fn name_of(part: u32) -> String {
    format!("find/{part}")
}

struct Finding<'a> {
    job: &'a Job<'a>,
    units: &'a [ReadUnit],
    bases: Vec<u64>,
    texts: Texts<'a>,
    open: &'a OpenFiles,
    /// Number of remainders created so far; each has its own files.
    remainders: AtomicU64,
}

impl Finding<'_> {
    fn path_of(&self, part: u32) -> PathBuf {
        self.job.layout.scratch.join(format!("{part}.intervals"))
    }

    /// Returns a part that a stopped run searched, if its file is unchanged.
    fn resume_part(&self, part: u32) -> Outcome<Option<FoundPart>> {
        let (job, path) = (self.job, self.path_of(part));
        let Some(noted) = job.recorded_unit::<FoundPartRecord>(&name_of(part)) else { return Ok(None) };
        if !noted.mark.is_unchanged(&path)? {
            return Ok(None);
        }
        job.context.progress.resume_from(1, 0);
        let passages = passages_of(&noted.passages);
        let intervals = FinishedSpill::of_file(path, noted.mark);
        Ok(Some(FoundPart { intervals, runs: noted.runs, passages, is_resumed: true }))
    }

    fn part(&self, part: u32) -> Outcome<FoundPart> {
        let (job, path, end) = (self.job, self.path_of(part), self.end());
        let mut pile = SpillBuffer::new(&*job.context.fs, path, &job.budget);
        if self.is_on_disk() {
            // Written to disk, like the text, so that a stopped run can be resumed.
            pile.spill()?;
        }
        let mut found = Intervals { finding: self, waiting: Vec::new(), spilled: pile, runs: Vec::new() };
        let source = Source {
            list: self.units.iter().map(|unit| &unit.collected).zip(self.bases.iter().copied()).collect(),
            parts: job.division.parts,
            narrow: job.division.narrow,
        };
        let mut resolver = Resolver::new(&job.rule);
        // With the whole text known, the positions may exceed the range of short records.
        match job.division.narrow && job.rule.fits_narrow(end) {
            true => self.resolve::<CompactAnchor>(&source, (part, 0), &mut resolver, &mut found)?,
            false => self.resolve::<Anchor>(&source, (part, 0), &mut resolver, &mut found)?,
        }
        let passages = resolver.passages().clone();
        found.flush()?;
        let runs = found.runs;
        let intervals = found.spilled.finish()?;
        if let (Some(mark), true) = (intervals.mark(), self.is_on_disk()) {
            job.note(
                &name_of(part),
                &FoundPartRecord { mark, runs: runs.clone(), passages: recorded_passages(&passages) },
            )?;
        }
        Ok(FoundPart { intervals, runs, passages, is_resumed: false })
    }

    /// Returns the length of the whole text in bytes.
    fn end(&self) -> u64 {
        self.units.last().zip(self.bases.last()).map_or(0, |(unit, base)| base + unit.text.len())
    }

    /// Whether the data of every unit is on disk, so that a later run can use it without reading the input again.
    fn is_on_disk(&self) -> bool {
        self.units.iter().all(|unit| unit.text.mark().is_some())
    }

    /// Compares the records of a part, in as many rounds as its size requires. Keys with too many records are processed one record at a
    /// time; their remainder becomes another source at `depth` + 1.
    fn resolve<R: Record>(
        &self,
        source: &Source<'_>,
        (part, depth): (u32, u32),
        resolver: &mut Resolver,
        found: &mut Intervals<'_>,
    ) -> Outcome<()> {
        let job = self.job;
        let count: u64 = source.list.iter().map(|(collected, _)| collected.count(part)).sum();
        let rounds = count.saturating_mul(R::BYTES as u64).div_ceil(2 * job.memory.part_bytes()).max(1);
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX).min(u32::MAX / source.parts.max(1));
        // Reserves space for the expected number of records, because a growing vector fragments the memory.
        let mut records = Vec::<R>::with_capacity(usize::try_from(count / u64::from(rounds)).unwrap_or_default());
        let splits_hot_keys = depth < MAX_HALVINGS;
        let many = usize::try_from(job.memory.part_bytes()).unwrap_or(usize::MAX) / 2 / R::BYTES;
        for round in 0..rounds {
            let slice = Slice { part, round, rounds };
            let mut hot = Vec::new();
            records.clear();
            if splits_hot_keys && count > many as u64 {
                hot = self.hot_keys::<R>(source, slice, many as u64)?;
            }
            match hot.is_empty() {
                true => self.for_each_record::<R>(source, slice, &mut |record| {
                    records.push(record);
                    Ok(())
                })?,
                false => self.resolve_oversized(source, (slice, depth), hot, &mut records, resolver, found)?,
            }
            let mut take = |interval: Interval| found.push(interval);
            resolver.resolve(&mut records, &self.texts, &mut take, &job.context.cancel)?;
            found.merge_pending()?;
        }
        Ok(())
    }

    /// Returns the keys with more than `many` records, in order.
    fn hot_keys<R: Record>(&self, source: &Source<'_>, slice: Slice, many: u64) -> Outcome<Vec<u64>> {
        let cell = |key: u64| (key % HOT_KEY_COUNTER_CELLS as u64) as usize;
        let mut cells = vec![0_u64; HOT_KEY_COUNTER_CELLS];
        self.for_each_record::<R>(source, slice, &mut |record| {
            if let Some(count) = cells.get_mut(cell(record.key())) {
                *count += 1;
            }
            Ok(())
        })?;
        if cells.iter().all(|count| *count <= many) {
            return Ok(Vec::new());
        }
        let mut counts: HashMap<u64, u64> = HashMap::new();
        self.for_each_record::<R>(source, slice, &mut |record| {
            if cells.get(cell(record.key())).is_some_and(|count| *count > many) {
                *counts.entry(record.key()).or_default() += 1;
            }
            Ok(())
        })?;
        let mut keys: Vec<u64> = counts.into_iter().filter(|(_, count)| *count > many).map(|(key, _)| key).collect();
        keys.sort_unstable();
        Ok(keys)
    }

    /// Processes the records of hot keys one by one, and collects the records of all other keys in `records`.
    fn resolve_oversized<R: Record>(
        &self,
        source: &Source<'_>,
        (slice, depth): (Slice, u32),
        keys: Vec<u64>,
        records: &mut Vec<R>,
        resolver: &mut Resolver,
        found: &mut Intervals<'_>,
    ) -> Outcome<()> {
        let job = self.job;
        let number = self.remainders.fetch_add(1, Ordering::Relaxed);
        let path = |what: &str| job.layout.scratch.join(format!("{number}.{what}"));
        let pile = |what: &str| SpillBuffer::new(&*job.context.fs, path(what), &job.budget);
        let count: u64 = source.list.iter().map(|(collected, _)| collected.count(slice.part)).sum();
        let parts = count.saturating_mul(R::BYTES as u64) / job.memory.part_bytes() + 1;
        let parts = u32::try_from(parts).unwrap_or(u32::MAX).min(MAX_PARTS);
        let narrow = R::BYTES == CompactAnchor::BYTES;
        let piles = (pile("remainder"), pile("none"));
        let mut remainder = Collector::new(narrow, parts, job.memory.run_bytes(parts), piles.0, piles.1);
        let mut hot: Vec<OversizedGroup> = keys.iter().map(|_| OversizedGroup::new(&job.rule)).collect();
        let mut seen = 0_u64;
        let mut check_cancel_periodically = || {
            seen += 1;
            if seen.is_multiple_of(CANCEL_CHECK_EVERY) {
                job.context.cancel.check()
            } else {
                Ok(())
            }
        };
        let of = |key: u64| keys.binary_search(&key).ok();
        if !job.rule.is_plain() {
            self.for_each_record::<R>(source, slice, &mut |record| match of(record.key())
                .and_then(|place| hot.get_mut(place))
            {
                Some(hot) => check_cancel_periodically().and_then(|()| hot.count(&record, &self.texts)),
                None => Ok(()),
            })?;
        }
        self.for_each_record::<R>(source, slice, &mut |record| match of(record.key())
            .and_then(|place| hot.get_mut(place))
        {
            Some(hot) => {
                check_cancel_periodically()?;
                let mut take = |interval: Interval| found.push(interval);
                hot.push_context(&record, &self.texts, &mut take, &mut |anchor| remainder.anchor(anchor))
            }
            None => {
                records.push(record);
                Ok(())
            }
        })?;
        hot.into_iter().for_each(|hot| hot.end(resolver));
        found.merge_pending()?;
        // The other keys are resolved first, so that their memory is free before the remainder is processed.
        let mut take = |interval: Interval| found.push(interval);
        resolver.resolve(records, &self.texts, &mut take, &job.context.cancel)?;
        found.merge_pending()?;
        let collected = remainder.finish(false)?;
        let source = Source { list: vec![(&collected, 0)], parts, narrow };
        for part in 0..parts {
            self.resolve::<R>(&source, (part, depth + 1), resolver, found)?;
        }
        drop(collected);
        job.context.fs.remove_file(&path("remainder"))
    }

    /// Passes each record of a slice to a callback, with its position in the whole text.
    fn for_each_record<R: Record>(
        &self,
        source: &Source<'_>,
        slice: Slice,
        take: &mut dyn FnMut(R) -> Outcome<()>,
    ) -> Outcome<()> {
        let Slice { part, round, rounds } = slice;
        let wanted = part * rounds + round;
        let mut spare = Vec::new();
        for (collected, base) in &source.list {
            self.job.context.cancel.check()?;
            let mut each = |bytes: &[u8]| {
                let record = if source.narrow == (R::BYTES == CompactAnchor::BYTES) {
                    R::read(bytes)
                } else {
                    R::pack(&CompactAnchor::read(bytes).unpack())
                };
                match rounds == 1 || partition_of(record.key(), source.parts * rounds) == wanted {
                    true => take(record.moved(*base)),
                    false => Ok(()),
                }
            };
            collected.each_record(part, source.narrow, &mut spare, self.open, &mut each)?;
        }
        Ok(())
    }
}

/// Records by part; each list comes with the offset of its positions.
struct Source<'a> {
    list: Vec<(&'a AnchorScan, u64)>,
    parts: u32,
    narrow: bool,
}

/// The records of a part that are processed in one round.
#[derive(Clone, Copy)]
struct Slice {
    part: u32,
    round: u32,
    rounds: u32,
}

/// The intervals of a part during the search: the pending ones in memory, the merged ones in the spill buffer.
struct Intervals<'a> {
    finding: &'a Finding<'a>,
    waiting: Vec<Interval>,
    spilled: SpillBuffer<'a>,
    runs: Vec<Vec<u64>>,
}

impl Intervals<'_> {
    fn push(&mut self, interval: Interval) -> Outcome<()> {
        self.waiting.push(interval);
        match self.waiting.len() >= self.most() {
            true => self.merge_pending(),
            false => Ok(()),
        }
    }

    /// Returns the limit of pending intervals.
    fn most(&self) -> usize {
        usize::try_from(self.finding.job.memory.part_bytes()).unwrap_or(usize::MAX) / size_of::<Interval>()
    }

    /// Merges the pending intervals; if many remain, writes them as a run.
    fn merge_pending(&mut self) -> Outcome<()> {
        merge(&mut self.waiting);
        match self.waiting.len() >= self.most() / 2 {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes the pending intervals as a run.
    fn flush(&mut self) -> Outcome<()> {
        let before = self.spilled.len() / INTERVAL as u64;
        merge(&mut self.waiting);
        for interval in &self.waiting {
            self.spilled.append(&interval_bytes(interval.start, interval.end))?;
        }
        let bounds = self.finding.bases.iter().copied().chain([self.finding.end()]);
        let start = |bound: u64| before + self.waiting.partition_point(|one| one.start < bound) as u64;
        self.runs.push(bounds.map(start).collect());
        self.waiting.clear();
        Ok(())
    }
}

/// Iterates over the intervals of one part that are in one unit.
pub(super) struct Cursor<'a> {
    stored: &'a FinishedSpill,
    open: &'a OpenFiles,
    /// Start of the unit in the whole text, subtracted from every position.
    base: u64,
    /// Index of the next interval to read.
    at: u64,
    /// Index after the last interval.
    end: u64,
    buffer: Vec<u8>,
    /// Number of bytes of `buffer` that were returned.
    used: usize,
    /// Maximum number of intervals per read.
    step: usize,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor over the intervals `from..to`, which reads `step` of them at a time.
    pub(super) fn new(
        stored: &'a FinishedSpill,
        (from, to): (u64, u64),
        base: u64,
        step: usize,
        open: &'a OpenFiles,
    ) -> Self {
        Self { stored, open, base, at: from, end: to, buffer: Vec::new(), used: 0, step: step.max(1) }
    }

    /// Returns the next interval.
    pub(super) fn next(&mut self) -> Outcome<Option<(u64, u64)>> {
        if self.used == self.buffer.len() {
            let count = (self.end - self.at).min(self.step as u64);
            if count == 0 {
                return Ok(None);
            }
            let mut spare = Vec::new();
            let bytes = count as usize * INTERVAL;
            let read = self.stored.read(self.at * INTERVAL as u64, bytes, &mut spare, self.open)?;
            self.buffer.clear();
            self.buffer.extend_from_slice(read);
            (self.at, self.used) = (self.at + count, 0);
        }
        let next = self.buffer.get(self.used..).map(interval_of);
        self.used += INTERVAL;
        Ok(next.map(|(start, end)| (start - self.base, end - self.base)))
    }
}
