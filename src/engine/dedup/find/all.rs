//! Everything in memory, in one thread: for small inputs, and for what is compared with the rest.

use super::anchor::{partition_of, Anchor, Narrow, Record};
use super::interval::{merge, Interval};
use super::passages::{Passage, Passages};
use super::{Resolver, Rule, Scanner, Sink};
use crate::model::{Cancel, Outcome};

/// The byte before each document.
pub(super) const SEPARATOR: u8 = 0xff;
/// Bytes of text for each partition: their records then stay in the cache.
const PARTITION: usize = 8 << 20;

/// Keeps records by partition.
struct Kept<R> {
    partitions: Vec<Vec<R>>,
    intervals: Vec<Interval>,
    passages: Passages,
}

impl<R: Record> Sink for Kept<R> {
    fn anchor(&mut self, anchor: Anchor) -> Outcome<()> {
        let partition = partition_of(anchor.key, self.partitions.len() as u32);
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

/// What repeats in a text.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The removable ranges, sorted, disjoint and not touching.
    pub intervals: Vec<Interval>,
    /// The most repeated passages.
    pub passages: Passages,
}

/// The removable ranges of a text in `tokenized` form (documents, each after one byte 0xFF), sorted, disjoint and not touching.
pub fn find_all(text: &[u8], rule: &Rule) -> Outcome<Vec<Interval>> {
    find_with(text, rule, &Cancel::default()).map(|found| found.intervals)
}

/// [`find_all`], with the passages that repeat most, and an ear for somebody who asks to stop.
pub fn find_with(text: &[u8], rule: &Rule, cancel: &Cancel) -> Outcome<Found> {
    match rule.fits_narrow(text.len() as u64) {
        true => find::<Narrow>(text, rule, cancel),
        false => find::<Anchor>(text, rule, cancel),
    }
}

fn find<R: Record>(text: &[u8], rule: &Rule, cancel: &Cancel) -> Outcome<Found> {
    let partitions = vec![Vec::new(); 1 + text.len() / PARTITION];
    let mut kept = Kept::<R> { partitions, intervals: Vec::new(), passages: Passages::default() };
    let mut scanner = Scanner::new(rule);
    let mut at = 0;
    for end in memchr::memchr_iter(SEPARATOR, text).chain([text.len()]) {
        cancel.check()?;
        scanner.start_document(at as u64);
        scanner.push(&text[at..end], &mut kept)?;
        scanner.end_document(&mut kept)?;
        at = end + 1;
    }
    let Kept { partitions, mut intervals, mut passages } = kept;
    let mut found = |interval| {
        intervals.push(interval);
        Ok(())
    };
    let mut resolver = Resolver::new(rule);
    for mut records in partitions {
        resolver.resolve(&mut records, text, &mut found, cancel)?;
    }
    passages.join(resolver.passages());
    merge(&mut intervals);
    Ok(Found { intervals, passages })
}
