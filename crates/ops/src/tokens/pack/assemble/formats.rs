//! Processing of a block for each format.

use super::{name, Assembler};
use crate::engine::pack::{EncodedBlock, EncodingSpec, Kind};
use crate::source::text::TextFile;
use crate::tokens::pack::spool::{each_chunk, Snapshot, Spool};
use gristmill_core::pack::SampleSize;
use gristmill_core::{Failure, Outcome, PackFormat, ProblemKind, Severity, Subject};
use std::ops::Range;

/// Name of a spool of samples by the number of its file, and bytes per sample in it.
type SampleSpool = (fn(usize) -> String, u64);

/// The current work item of the reference program (docs/formats/modalities.md §4).
#[derive(Default)]
pub(super) struct Batch {
    number: Option<u64>,
    before: Option<(Snapshot, Snapshot)>,
    is_lost: bool,
}

impl Assembler<'_> {
    /// Returns the spools of fixed-length samples with the bytes per sample; empty if samples have no fixed length.
    pub(super) fn sample_spools(&self, spec: &EncodingSpec) -> Vec<SampleSpool> {
        let Some(SampleSize::Fixed(size)) = self.plan.forager.as_ref().map(|target| target.sample_size) else {
            return Vec::new();
        };
        let tokens: fn(usize) -> String = name::samples;
        let mask: fn(usize) -> String = name::samples_mask;
        let mut spools = vec![(tokens, size.saturating_mul(spec.token.bytes() as u64).max(1))];
        if matches!(spec.kind, Kind::Parts(_)) {
            spools.push((mask, size.max(1)));
        }
        spools
    }

    /// A sample begun in the previous file continues in this one (docs/formats/forager.md §3.1).
    pub(super) fn begin_samples(&mut self, spec: &EncodingSpec, number: usize) -> Outcome<()> {
        let fixed = self.sample_spools(spec);
        if fixed.is_empty() {
            self.fresh(&name::samples(number))?;
            return self.fresh(&name::samples_lengths(number));
        }
        for (name, sample_bytes) in fixed {
            let this = name(number);
            self.fresh(&this)?;
            let Some(before) = number.checked_sub(1).map(name) else { continue };
            let Some(spool) = self.spools.get_mut(&before) else { continue };
            spool.rest()?;
            let (path, end) = (self.dir.join(&before), spool.bytes());
            let begun = end % sample_bytes;
            each_chunk(&path, end - begun, end, &mut |bytes| self.append_samples(&this, bytes, sample_bytes))?;
            self.end_samples(&before, sample_bytes)?;
        }
        Ok(())
    }

    /// Appends tokens and remembers the end of the last whole sample.
    pub(super) fn append_samples(&mut self, name: &str, bytes: &[u8], sample_bytes: u64) -> Outcome<()> {
        let before = self.spools.get(name).map_or(0, Spool::bytes);
        let begun = (before + bytes.len() as u64) % sample_bytes;
        let whole = usize::try_from((bytes.len() as u64).saturating_sub(begun)).unwrap_or(0);
        let (ended, begun) = bytes.split_at(whole);
        if !ended.is_empty() {
            self.append(name, ended)?;
            if let Some(spool) = self.spools.get(name) {
                self.whole.insert(name.to_owned(), spool.snapshot());
            }
        }
        self.append(name, begun)
    }

    /// Cuts a spool to whole samples. Its bytes stay on disk until the journal records the cut.
    pub(super) fn end_samples(&mut self, name: &str, sample_bytes: u64) -> Outcome<()> {
        let Some(spool) = self.spools.get_mut(name) else { return Ok(()) };
        if spool.bytes() % sample_bytes != 0 {
            let whole = spool.bytes() - spool.bytes() % sample_bytes;
            let known = self.whole.remove(name).filter(|snapshot| snapshot.bytes() == whole);
            let snapshot = match known {
                Some(snapshot) => snapshot,
                None => {
                    spool.rest()?;
                    Snapshot::of(&self.dir.join(name), whole)?
                }
            };
            spool.go_back(snapshot)?;
        }
        self.settle(name);
        Ok(())
    }

    pub(super) fn add_pbin(&mut self, number: usize, encoded: &EncodedBlock) -> Outcome<()> {
        self.append(&name::pbin(number), &encoded.bytes)?;
        self.append(&name::pbin_lengths(number), &numbers(&encoded.lengths))
    }

    /// Drops documents as the reference program does: a bad document drops its batch, and no later batch is written
    /// (docs/formats/modalities.md §4.4).
    pub(super) fn add_by_batch(&mut self, number: usize, encoded: &EncodedBlock) -> Outcome<()> {
        let size = self.plan.modalities.as_ref().map_or(1, |target| target.batch_lines.max(1));
        let lost_from = encoded.first_refused.map(|(line, _)| line / size);
        let (tokens, lengths) = (name::pbin(number), name::pbin_lengths(number));
        let width = self.specs.iter().find(|spec| spec.wants_lines).map_or(1, |spec| spec.token.bytes());
        let mut at = 0;
        for (line, length) in encoded.lines.iter().zip(&encoded.lengths) {
            let bytes = usize::try_from(*length).unwrap_or(0).saturating_mul(width);
            let document = encoded.bytes.get(at..at + bytes).unwrap_or_default();
            at += bytes;
            let batch = line / size;
            if self.batch.is_lost || lost_from.is_some_and(|lost| batch >= lost) {
                self.lose(1)?;
                continue;
            }
            if self.batch.number != Some(batch) {
                self.batch.number = Some(batch);
                let both = self.spools.get(&tokens).zip(self.spools.get(&lengths));
                self.batch.before = both.map(|(tokens, lengths)| (tokens.snapshot(), lengths.snapshot()));
            }
            self.append(&tokens, document)?;
            self.append(&lengths, &length.to_le_bytes())?;
        }
        if let Some(lost) = lost_from.filter(|_| !self.batch.is_lost) {
            self.batch.is_lost = true;
            if let Some((before, before_lengths)) = self.batch.before.take().filter(|_| self.batch.number == Some(lost))
            {
                let documents = self.spools.get(&lengths).map_or(0, Spool::bytes);
                if let Some(spool) = self.spools.get_mut(&tokens) {
                    spool.go_back(before)?;
                }
                if let Some(spool) = self.spools.get_mut(&lengths) {
                    spool.go_back(before_lengths)?;
                }
                let left = self.spools.get(&lengths).map_or(0, Spool::bytes);
                self.lose((documents - left) / 8)?;
            }
        }
        Ok(())
    }

    pub(super) fn lose(&mut self, documents: u64) -> Outcome<()> {
        let number = self.specs.iter().position(|spec| spec.format == PackFormat::Modalities);
        if let Some(totals) = number.and_then(|number| self.totals.targets.get_mut(number)) {
            totals.skip("a bad document of its batch or before takes it along (--compat)", false, documents);
        }
        self.count_more(Severity::Problem, ProblemKind::CompatLoss, documents);
        Ok(())
    }

    /// Adds the documents of a task; returns the range of them that `skip` and `limit` keep.
    pub(super) fn add_task(&mut self, rank: u32, spec: &EncodingSpec, encoded: &EncodedBlock) -> Outcome<Range<usize>> {
        let target = self.plan.nanosets.as_ref();
        let (skip, limit) = target.map_or((0, None), |target| (target.skip, target.limit));
        let counts = self.tasks.entry(rank).or_default();
        let here = encoded.lengths.len() as u64;
        let end = limit.map_or(u64::MAX, |limit| skip.saturating_add(limit));
        // The documents from `first` up to `last` of this block are used.
        let first = skip.saturating_sub(counts.usable).min(here);
        let last = end.saturating_sub(counts.usable).min(here).max(first);
        counts.usable += here;
        let [first, last] = [first, last].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
        for chars in encoded.chars.get(first..last).unwrap_or_default() {
            counts.chars.add(*chars);
        }
        let lengths = encoded.lengths.get(first..last).unwrap_or_default();
        counts.in_file += lengths.len() as u64;
        let before: u64 = encoded.lengths.get(..first).unwrap_or_default().iter().sum();
        let tokens: u64 = lengths.iter().sum();
        let from = usize::try_from(before).unwrap_or(usize::MAX);
        let to = usize::try_from(before + tokens).unwrap_or(usize::MAX);
        let width = spec.token.bytes();
        let (ds, index) = (name::task(rank, "ds"), name::task(rank, "index"));
        let mut ended = self.spools.get(&ds).map_or(0, Spool::bytes) / width as u64;
        let mut ends = Vec::with_capacity(lengths.len() * 8);
        for length in lengths {
            ended += length;
            ends.extend_from_slice(&ended.to_le_bytes());
        }
        let all = first == 0 && last == encoded.lengths.len();
        let bytes = if all { Some(encoded.bytes.as_slice()) } else { encoded.bytes.get(from * width..to * width) };
        self.append(&ds, bytes.unwrap_or_default())?;
        self.append(&index, &ends)?;
        if spec.kind == Kind::LossMask {
            self.append(&name::task(rank, "loss"), encoded.mask.get(from..to).unwrap_or_default())?;
        }
        Ok(first..last)
    }

    pub(super) fn add_samples(
        &mut self,
        number: usize,
        spec: &EncodingSpec,
        encoded: &EncodedBlock,
        input: &TextFile,
    ) -> Outcome<()> {
        if let Some((line, reason)) = encoded.first_refused.filter(|_| self.plan.compat) {
            return Err(Failure::data("packing for forager", reason)
                .on(Subject::path(&input.path).line(line + 1))
                .with_hint("without --compat the line is left out and listed"));
        }
        let fixed = self.sample_spools(spec);
        if fixed.is_empty() {
            self.append(&name::samples(number), &encoded.bytes)?;
            return self.append(&name::samples_lengths(number), &numbers(&encoded.lengths));
        }
        for ((name, sample_bytes), bytes) in fixed.into_iter().zip([&encoded.bytes, &encoded.mask]) {
            self.append_samples(&name(number), bytes, sample_bytes)?;
        }
        Ok(())
    }
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}
