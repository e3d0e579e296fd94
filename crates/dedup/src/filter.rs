//! Groups records by key.

use super::anchor::Record;
use super::distribute::distribute_and_sort;

/// Number of filter cells per record. A cell has two bits.
const CELLS: usize = 4;
/// Number of cells in a word of 64 bits.
const IN_WORD: usize = 32;
/// Maximum number of buckets of the sort; their counters must fit into the processor cache.
const MAX_BUCKETS: usize = 1 << 17;

/// Removes most records with a unique key. `cells` is a reusable buffer of one to two bytes per record.
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
            // The lower bit means that the key occurred, the upper bit that it occurred again.
            *word |= (*word & 1 << bit) << 1 | 1 << bit;
        }
    }
    records.retain(|record| {
        let (word, bit) = place(record.key());
        // Several copies in one record are repeats of each other.
        cells.get(word).is_some_and(|word| word >> bit & 2 != 0) || record.unpack().copies > 1
    });
}

/// Multiplies by a constant, so that the upper bits depend on the whole key.
#[inline]
pub(super) fn spread(key: u64) -> u64 {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Groups equal keys, in the order of their positions. Temporarily needs as much memory again as the records.
pub(super) fn group<R: Record>(records: &mut [R]) {
    let buckets = (records.len() / 2).next_power_of_two().clamp(2, MAX_BUCKETS);
    let shift = 64 - buckets.ilog2();
    let bucket = |record: &R| (spread(record.key()) >> shift) as usize;
    let key = |record: &R| (record.key(), record.at());
    distribute_and_sort(records, &mut Vec::new(), &mut Vec::new(), buckets, bucket, key);
}
