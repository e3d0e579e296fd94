//! Records in any order -> groups of equal keys.

use super::anchor::Record;
use super::distribute::distribute_and_sort;

/// Cells of the filter for each record; a cell has two bits.
const CELLS: usize = 4;
/// Cells in a word.
const IN_WORD: usize = 32;
/// Buckets of the sort, at most: their counters stay in the cache.
const MAX_BUCKETS: usize = 1 << 17;

/// Throws out most records whose key none of the others has. `cells` is memory that is used again: a byte for each record, at most two.
pub(super) fn keep_repeated<R: Record>(records: &mut Vec<R>, cells: &mut Vec<u64>) {
    let count = (records.len() * CELLS).next_power_of_two().max(IN_WORD);
    cells.clear();
    cells.resize(count / IN_WORD, 0);
    let shift = 64 - count.ilog2();
    let place = |key: u64| {
        let cell = (spread(key) >> shift) as usize;
        (cell / IN_WORD, cell % IN_WORD * 2)
    };
    for record in records.iter() {
        let (word, bit) = place(record.key());
        if let Some(word) = cells.get_mut(word) {
            // The lower bit says "seen", the upper one "seen again".
            *word |= (*word & 1 << bit) << 1 | 1 << bit;
        }
    }
    records.retain(|record| {
        let (word, bit) = place(record.key());
        // Several copies in one record repeat each other.
        cells.get(word).is_some_and(|word| word >> bit & 2 != 0) || record.unpack().copies > 1
    });
}

/// Multiplies, so that the upper bits depend on all of the key.
#[inline]
pub(super) fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Brings equal keys together, in the order of their positions. Takes as much memory again as the records, for a while.
pub(super) fn group<R: Record>(records: &mut [R]) {
    let buckets = (records.len() / 2).next_power_of_two().clamp(2, MAX_BUCKETS);
    let shift = 64 - buckets.ilog2();
    let bucket = |record: &R| (spread(record.key()) >> shift) as usize;
    let key = |record: &R| (record.key(), record.at());
    distribute_and_sort(records, &mut Vec::new(), &mut Vec::new(), buckets, bucket, key);
}
