//! Ranges of removable text.

use super::distribute::distribute_and_sort;

/// Number of intervals from which on they are distributed into buckets before sorting.
const MIN_BUCKETED_INTERVALS: usize = 1024;
/// Maximum number of buckets; their counters must fit into the processor cache.
const MAX_BUCKETS: usize = 1 << 17;

/// A removable range `[start, end)` of one document, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Position of the first byte.
    pub start: u64,
    /// Position after the last byte.
    pub end: u64,
    /// An earlier position of the window at `start`, usually the first one, whose copy is kept. With [`Keep::None`], and for the first
    /// occurrence of a window, it may be `start` itself. For display only: it may depend on the order of work.
    ///
    /// [`Keep::None`]: gristmill_core::dedup::Keep::None
    pub first: u64,
}

/// Sorts intervals and joins those that overlap or are adjacent. A joined range starts where its first part starts, and has the
/// [`first`](Interval::first) of this part.
pub fn merge(intervals: &mut Vec<Interval>) {
    // If several intervals start at the same position, the smallest `first` is used, so that the result does not depend on the order of
    // work.
    let key = |found: &Interval| (found.start, found.first, found.end);
    match (intervals.iter().map(|found| found.start).max(), intervals.len()) {
        (Some(last), MIN_BUCKETED_INTERVALS..) => {
            let buckets = (intervals.len() / 2).next_power_of_two().min(MAX_BUCKETS);
            let shift = (last.max(1).ilog2() + 1).saturating_sub(buckets.ilog2());
            let bucket = |found: &Interval| (found.start >> shift) as usize;
            distribute_and_sort(intervals, &mut Vec::new(), &mut Vec::new(), buckets, bucket, key);
        }
        _ => intervals.sort_unstable_by_key(key),
    }
    intervals.dedup_by(|later, joined| {
        let joins = later.start <= joined.end;
        if joins {
            joined.end = joined.end.max(later.end);
        }
        joins
    });
}
