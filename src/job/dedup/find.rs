//! Second stage: all records of one part of the keys become intervals that are removable.

use super::anchors::{interval_bytes, interval_of, INTERVAL};
use super::pile::{Mark, OpenFiles, Pile, Stored};
use super::read::ReadUnit;
use super::run::Job;
use super::texts::Texts;
use crate::engine::dedup::find::{merge, partition_of, Anchor, Interval, Narrow, Passage, Passages, Record, Resolver};
use crate::job::pool::run_units;
use crate::model::Outcome;
use serde::{Deserialize, Serialize};

/// Passages of a part that a later run is told about.
const NOTED_PASSAGES: usize = 64;

/// The intervals of one part, sorted and joined, in positions of all of the text.
pub(super) struct FoundPart {
    pub(super) intervals: Stored,
    /// Where those of each unit begin, counted in intervals; the end comes last.
    pub(super) starts: Vec<u64>,
    passages: Passages,
    pub(super) is_resumed: bool,
}

#[derive(Serialize, Deserialize)]
struct Noted {
    mark: Mark,
    starts: Vec<u64>,
    /// Place, length, count.
    passages: Vec<(u64, u64, u64)>,
}

/// What the parts found together.
pub(super) struct Found {
    pub(super) parts: Vec<FoundPart>,
    pub(super) passages: Passages,
}

/// Looks at all parts.
pub(super) fn find_all(job: &Job<'_>, units: &[ReadUnit], open: &OpenFiles) -> Outcome<Found> {
    let texts = Texts::new(units.iter().map(|unit| &unit.text), open);
    let finding = Finding { job, units, bases: texts.bases(), texts, open };
    let numbers: Vec<u32> = (0..job.division.parts).collect();
    let parts = run_units(&numbers, job.memory.threads, &job.context.cancel, |part| {
        let found = finding.part(*part)?;
        job.context.progress.add(1, 0);
        Ok(found)
    })?;
    let mut passages = Passages::default();
    parts.iter().for_each(|part| passages.join(&part.passages));
    Ok(Found { parts, passages })
}

struct Finding<'a> {
    job: &'a Job<'a>,
    units: &'a [ReadUnit],
    bases: Vec<u64>,
    texts: Texts<'a>,
    open: &'a OpenFiles,
}

impl Finding<'_> {
    fn part(&self, part: u32) -> Outcome<FoundPart> {
        let job = self.job;
        let name = format!("find/{part}");
        let path = job.layout.scratch.join(format!("{part}.intervals"));
        if let Some(noted) = job.noted::<Noted>(&name) {
            if noted.mark.holds(&path)? {
                let mut passages = Passages::default();
                noted.passages.iter().for_each(|&(at, len, count)| passages.add(Passage { at, len, count }));
                let intervals = Stored::of_file(path, noted.mark);
                return Ok(FoundPart { intervals, starts: noted.starts, passages, is_resumed: true });
            }
        }
        let end = self.units.last().zip(self.bases.last()).map_or(0, |(unit, base)| base + unit.text.len());
        // Records that were kept short may be too short for where they are in all of the text.
        let (found, passages) = match job.division.narrow && job.rule.fits_narrow(end) {
            true => self.resolve::<Narrow>(part)?,
            false => self.resolve::<Anchor>(part)?,
        };
        let mut pile = Pile::new(&*job.context.fs, path, &job.budget);
        if self.is_on_disk() {
            // As resumable as the text is.
            pile.spill()?;
        }
        for interval in &found {
            pile.append(&interval_bytes(interval.start, interval.end))?;
        }
        let bounds = self.bases.iter().copied().chain([end]);
        let starts: Vec<u64> = bounds.map(|bound| found.partition_point(|one| one.start < bound) as u64).collect();
        let intervals = pile.finish()?;
        if let (Some(mark), true) = (intervals.mark(), self.is_on_disk()) {
            let list = passages.heaviest(NOTED_PASSAGES);
            let passages = list.iter().map(|passage| (passage.at, passage.len, passage.count)).collect();
            job.note(&name, &Noted { mark, starts: starts.clone(), passages })?;
        }
        Ok(FoundPart { intervals, starts, passages, is_resumed: false })
    }

    /// Whether every unit can be had by a later run without reading it again.
    fn is_on_disk(&self) -> bool {
        self.units.iter().all(|unit| unit.text.mark().is_some())
    }

    /// Compares the records of a part, in as many rounds as its size asks for.
    fn resolve<R: Record>(&self, part: u32) -> Outcome<(Vec<Interval>, Passages)> {
        let job = self.job;
        let count: u64 = self.units.iter().map(|unit| unit.collected.count(part)).sum();
        let rounds = count.saturating_mul(R::BYTES as u64).div_ceil(2 * job.memory.part_bytes()).max(1);
        let rounds = u32::try_from(rounds).unwrap_or(u32::MAX).min(u32::MAX / job.division.parts.max(1));
        let mut resolver = Resolver::new(&job.rule);
        let (mut records, mut found) = (Vec::<R>::new(), Vec::new());
        for round in 0..rounds {
            self.load(part, (round, rounds), &mut records)?;
            let mut take = |interval: Interval| {
                found.push(interval);
                Ok(())
            };
            resolver.resolve(&mut records, &self.texts, &mut take, &job.context.cancel)?;
            merge(&mut found);
        }
        Ok((found, resolver.passages().clone()))
    }

    /// Takes up the records of one round of a part, at their places in all of the text.
    fn load<R: Record>(&self, part: u32, (round, rounds): (u32, u32), records: &mut Vec<R>) -> Outcome<()> {
        records.clear();
        let parts = self.job.division.parts;
        let wanted = part * rounds + round;
        let mut spare = Vec::new();
        for (unit, base) in self.units.iter().zip(&self.bases) {
            self.job.context.cancel.check()?;
            let narrow = self.job.division.narrow;
            let mut take = |bytes: &[u8]| {
                let record = if narrow == (R::BYTES == Narrow::BYTES) {
                    R::read(bytes)
                } else {
                    R::pack(&Narrow::read(bytes).unpack())
                };
                if rounds == 1 || partition_of(record.key(), parts * rounds) == wanted {
                    records.push(record.moved(*base));
                }
            };
            unit.collected.each_record(part, narrow, &mut spare, self.open, &mut take)?;
        }
        Ok(())
    }
}

/// The intervals of one part that lie in one unit, one after the other.
pub(super) struct Cursor<'a> {
    stored: &'a Stored,
    open: &'a OpenFiles,
    /// Subtracted from every position.
    base: u64,
    at: u64,
    end: u64,
    buffer: Vec<u8>,
    used: usize,
    step: usize,
}

impl<'a> Cursor<'a> {
    /// Those from number `from` to number `to`, `step` at a time.
    pub(super) fn new(stored: &'a Stored, (from, to): (u64, u64), base: u64, step: usize, open: &'a OpenFiles) -> Self {
        Self { stored, open, base, at: from, end: to, buffer: Vec::new(), used: 0, step: step.max(1) }
    }

    /// The next one.
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
