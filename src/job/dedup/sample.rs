//! Documents out of all files, as many as can be looked at in seconds and in the memory that there is.

use super::inputs::Inputs;
use super::run::text_of;
use super::source::each_line;
use super::split::anchors;
use crate::engine::dedup::find::{merge, Anchor, Interval, Narrow, Passage, Record, Resolver, Rule, Scanner, Sink};
use crate::engine::dedup::write_back::Pieces as _;
use crate::job::pool::run_units;
use crate::model::{Cancel, DedupPlan, Outcome, Problem, RunOptions};
use crate::source::dedup::{Kind, TextFile};
use std::time::{Duration, Instant};

/// Time spent on reading, at most.
const LONGEST: Duration = Duration::from_millis(1_500);
/// Text at most, in bytes.
const MOST: u64 = 256 << 20;
/// Of one file at least so much is looked at where it is looked at, in bytes.
const STRETCH: u64 = 1 << 20;
/// Bytes of a passage that are shown.
const SHOWN: usize = 200;
/// Problems that are kept.
const PROBLEMS: usize = 100;

/// A document of the sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Of its separator, in the sample's text.
    pub(super) start: u64,
    /// Among all files.
    pub(super) file: usize,
    /// Counted from 0.
    pub(super) line: u64,
}

/// What was looked at.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) text: Vec<u8>,
    documents: Vec<Place>,
    /// Where the text of the files begins whose output is written.
    own: u64,
    /// Bytes on disk that it stands for.
    pub(super) input_bytes: u64,
    pub(super) own_input_bytes: u64,
    pub(super) problems: Vec<Problem>,
    /// Wall time of reading it.
    pub(super) time: Duration,
}

/// What was found in it.
pub(super) struct Sampled {
    /// Bytes.
    pub(super) removed: u64,
    pub(super) heaviest: Vec<Passage>,
    pub(super) time: Duration,
}

/// The piece of one file.
struct Piece {
    text: Vec<u8>,
    documents: Vec<Place>,
    read: u64,
    problems: Vec<Problem>,
}

impl Sample {
    /// Reads it. `rule` is the one that takes most memory.
    pub(super) fn take(
        plan: &DedupPlan,
        inputs: &Inputs,
        rule: Rule,
        options: &RunOptions,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let begun = Instant::now();
        // A byte of text, its records, and as much again while they are sorted.
        let records = anchors(&rule, 1 << 20) * record_bytes(&rule) as u64 * 2;
        let most = ((u128::from(options.memory_bytes) << 19) / u128::from((1 << 20) + records)).min(u128::from(MOST));
        let most = u64::try_from(most).unwrap_or(MOST).max(STRETCH);
        let count = inputs.files.len().max(1) as u64;
        // Where not even a stretch of each file can be looked at, some files are passed over.
        let step = usize::try_from((count * STRETCH).div_ceil(most).min(count)).unwrap_or(1).max(1);
        let each = (most / count.div_ceil(step as u64)).max(STRETCH);
        let chosen: Vec<usize> = (0..inputs.files.len()).step_by(step).collect();
        let until = begun + LONGEST;
        let pieces = run_units(&chosen, options.threads.max(1), cancel, |number| match inputs.files.get(*number) {
            Some(file) if Instant::now() < until => {
                piece((plan, inputs), (*number, file), (each, until), cancel).map(Some)
            }
            _ => Ok(None),
        })?;
        let mut sample = Self::default();
        for (number, piece) in chosen.iter().zip(pieces) {
            let Some(piece) = piece else { continue };
            let base = sample.text.len() as u64;
            if *number < inputs.earlier {
                sample.own = base + piece.text.len() as u64;
            } else {
                sample.own_input_bytes += piece.read;
            }
            sample.input_bytes += piece.read;
            sample.text.extend_from_slice(&piece.text);
            sample.documents.extend(piece.documents.iter().map(|place| Place { start: place.start + base, ..*place }));
            sample.problems.extend(piece.problems);
        }
        sample.problems.truncate(PROBLEMS);
        sample.time = begun.elapsed();
        Ok(sample)
    }

    /// Bytes of text of files whose output is written, separators not counted.
    pub(super) fn own_text_bytes(&self) -> u64 {
        self.text.len() as u64 - self.own - self.own_documents()
    }

    /// Documents of files whose output is written.
    pub(super) fn own_documents(&self) -> u64 {
        self.documents.iter().filter(|place| place.start >= self.own).count() as u64
    }

    /// The document that a place in the text is in.
    pub(super) fn place_of(&self, at: u64) -> Place {
        let number = self.documents.partition_point(|place| place.start <= at).saturating_sub(1);
        self.documents.get(number).copied().unwrap_or_default()
    }

    /// How a passage begins.
    pub(super) fn shown(&self, passage: &Passage) -> String {
        let start = usize::try_from(passage.at).unwrap_or(usize::MAX).min(self.text.len());
        let len = usize::try_from(passage.len).unwrap_or(usize::MAX).min(SHOWN).min(self.text.len() - start);
        text_of(self.text.get(start..start + len).unwrap_or_default())
    }

    /// What repeats in it.
    pub(super) fn find(&self, rule: &Rule, most: usize, cancel: &Cancel) -> Outcome<Sampled> {
        match rule.fits_narrow(self.text.len() as u64) {
            true => self.find_with::<Narrow>(rule, most, cancel),
            false => self.find_with::<Anchor>(rule, most, cancel),
        }
    }

    fn find_with<R: Record>(&self, rule: &Rule, most: usize, cancel: &Cancel) -> Outcome<Sampled> {
        let begun = Instant::now();
        let mut sink = Kept::<R> { records: Vec::new(), found: Vec::new() };
        let mut scanner = Scanner::new(rule);
        let ends = self.documents.iter().skip(1).map(|place| place.start).chain([self.text.len() as u64]);
        for (place, end) in self.documents.iter().zip(ends) {
            if end - place.start <= rule.min_length {
                continue;
            }
            cancel.check()?;
            scanner.start_document(place.start + 1);
            let range =
                usize::try_from(place.start + 1).unwrap_or(usize::MAX)..usize::try_from(end).unwrap_or(usize::MAX);
            scanner.push(self.text.get(range).unwrap_or_default(), &mut sink)?;
            scanner.end_document(&mut sink)?;
        }
        let Kept { mut records, mut found } = sink;
        let mut resolver = Resolver::new(rule);
        let mut take = |interval: Interval| {
            found.push(interval);
            Ok(())
        };
        resolver.resolve(&mut records, self.text.as_slice(), &mut take, cancel)?;
        merge(&mut found);
        let own = found.iter().filter(|interval| interval.start >= self.own);
        let removed = own.map(|interval| interval.end - interval.start).sum();
        Ok(Sampled { removed, heaviest: resolver.passages().heaviest(most), time: begun.elapsed() })
    }
}

fn record_bytes(rule: &Rule) -> usize {
    super::anchors::record_bytes(rule.fits_narrow(MOST))
}

struct Kept<R> {
    records: Vec<R>,
    found: Vec<Interval>,
}

impl<R: Record> Sink for Kept<R> {
    fn anchor(&mut self, anchor: Anchor) -> Outcome<()> {
        self.records.push(R::pack(&anchor));
        Ok(())
    }
    fn interval(&mut self, found: Interval) -> Outcome<()> {
        self.found.push(found);
        Ok(())
    }
}

/// The beginning of one file.
fn piece(
    (plan, inputs): (&DedupPlan, &Inputs),
    (number, file): (usize, &TextFile),
    (most, until): (u64, Instant),
    cancel: &Cancel,
) -> Outcome<Piece> {
    let mut piece = Piece { text: Vec::new(), documents: Vec::new(), read: file.bytes, problems: Vec::new() };
    let mut spare = String::new();
    let is_index = inputs.shard_of(number).is_some();
    let mut looked_at = None;
    // A line that is too long to be held is as much as there is time for.
    let spool = Box::new(Vec::new());
    let damage = each_line(inputs, number, &plan.text_key, spool, cancel, &mut |line, read| {
        if piece.text.len() as u64 >= most || Instant::now() >= until {
            let read = if is_index { piece.text.len() as u64 } else { read };
            looked_at = Some(read.clamp(1, file.bytes.max(1)));
            return Ok(false);
        }
        match line.kind() {
            Kind::Document => {
                let start = piece.text.len() as u64;
                piece.text.push(0xff);
                let text = &mut piece.text;
                line.each_piece(&mut spare, &mut |part| {
                    text.extend_from_slice(part.as_bytes());
                    Ok(())
                })?;
                piece.documents.push(Place { start, file: number, line: line.number() });
            }
            Kind::Passed(_) if piece.problems.len() < PROBLEMS => piece.problems.extend(line.problem(file)),
            _ => {}
        }
        Ok(true)
    })?;
    match looked_at {
        Some(read) => piece.read = read,
        None => piece.problems.extend(damage),
    }
    Ok(piece)
}
