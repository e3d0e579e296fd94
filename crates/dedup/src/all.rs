//! Finds repeats of text in memory with one thread. Used for small inputs, and to verify the results of other implementations.

use super::anchor::{partition_of, Anchor, CompactAnchor, Record};
use super::interval::{merge, Interval};
use super::passages::{Passage, Passages};
use super::{Resolver, Rule, Scanner, Sink};
use gristmill_core::{Cancel, Outcome};

/// The byte before each document.
pub(super) const SEPARATOR: u8 = 0xff;
/// Bytes of text per partition; the records of a partition then fit into the processor cache.
const PARTITION: usize = 8 << 20;

/// Number of bytes of a document that are scanned between two checks for cancellation.
const BYTES_PER_CANCEL_CHECK: usize = 1 << 20;

/// Collects the records of a range of partitions.
struct PartitionRecords<R> {
    /// The first partition of the range, and the number of all partitions.
    first: u32,
    all: u32,
    partitions: Vec<Vec<R>>,
    intervals: Vec<Interval>,
    passages: Passages,
}

impl<R: Record> Sink for PartitionRecords<R> {
    fn anchor(&mut self, anchor: Anchor) -> Outcome<()> {
        let partition = partition_of(anchor.key, self.all).wrapping_sub(self.first);
        if let Some(records) = self.partitions.get_mut(partition as usize) {
            records.push(R::pack(&anchor));
        }
        Ok(())
    }
    fn interval(&mut self, found: Interval) -> Outcome<()> {
        self.intervals.push(found);
        Ok(())
    }
    fn passage(&mut self, passage: Passage) {
        self.passages.add(passage);
    }
}

/// The repeats found in a text.
#[derive(Clone, Debug, Default)]
pub struct RepeatedText {
    /// The removable ranges, sorted, disjoint and not adjacent.
    pub intervals: Vec<Interval>,
    /// The most frequent passages.
    pub passages: Passages,
}

/// Returns the removable ranges of a text in `tokenized` form (each document after one byte 0xFF), sorted, disjoint and not adjacent.
pub fn find_all(text: &[u8], rule: &Rule) -> Outcome<Vec<Interval>> {
    find_with(text, rule, &Cancel::default()).map(|found| found.intervals)
}

/// Like [`find_all`], but also returns the most frequent passages and can be cancelled.
pub fn find_with(text: &[u8], rule: &Rule, cancel: &Cancel) -> Outcome<RepeatedText> {
    find_in_passes(text, rule, 1, cancel)
}

/// Like [`find_with`], but scans the text `passes` times, with the corresponding fraction of the records in memory at a time.
pub fn find_in_passes(text: &[u8], rule: &Rule, passes: u32, cancel: &Cancel) -> Outcome<RepeatedText> {
    match rule.fits_narrow(text.len() as u64) {
        true => find::<CompactAnchor>(text, rule, passes, cancel),
        false => find::<Anchor>(text, rule, passes, cancel),
    }
}

fn find<R: Record>(text: &[u8], rule: &Rule, passes: u32, cancel: &Cancel) -> Outcome<RepeatedText> {
    let all = u32::try_from(1 + text.len() / PARTITION).unwrap_or(u32::MAX).max(passes);
    let mut found = RepeatedText::default();
    let mut resolver = Resolver::new(rule);
    let step = all.div_ceil(passes.max(1));
    for first in (0..all).step_by(step as usize) {
        let partitions = vec![Vec::new(); step.min(all - first) as usize];
        let mut kept =
            PartitionRecords::<R> { first, all, partitions, intervals: Vec::new(), passages: Passages::default() };
        scan(text, rule, &mut kept, cancel)?;
        let PartitionRecords { partitions, intervals, passages, .. } = kept;
        // The intervals found by the scan itself are the same in every pass.
        if first == 0 {
            found.intervals = intervals;
            found.passages = passages;
        }
        let mut keep = |interval| {
            found.intervals.push(interval);
            Ok(())
        };
        for mut records in partitions {
            resolver.resolve(&mut records, text, &mut keep, cancel)?;
        }
        merge(&mut found.intervals);
    }
    found.passages.join(resolver.passages());
    Ok(found)
}

fn scan<R: Record>(text: &[u8], rule: &Rule, kept: &mut PartitionRecords<R>, cancel: &Cancel) -> Outcome<()> {
    let mut scanner = Scanner::new(rule);
    let mut at = 0;
    for end in memchr::memchr_iter(SEPARATOR, text).chain([text.len()]) {
        scanner.start_document(at as u64);
        cancel.check()?;
        for piece in text[at..end].chunks(BYTES_PER_CANCEL_CHECK) {
            cancel.check()?;
            scanner.push(piece, kept)?;
        }
        scanner.end_document(kept)?;
        at = end + 1;
    }
    Ok(())
}
