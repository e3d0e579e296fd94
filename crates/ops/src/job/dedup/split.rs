//! The division of memory and work in a run.

use gristmill_dedup::Rule;
use serde::{Deserialize, Serialize};

/// Memory for writing a table, in bytes: a page and its compressed form, and the values that wait for a dictionary.
pub(super) const TABLE_MEMORY: u64 = 6 << 20;
/// Base memory of the program in bytes, mainly its code.
pub(super) const PROGRAM: u64 = 18 << 20;
/// Minimum memory of a thread in bytes, for reading, decompressing and comparing.
const MIN_THREAD_BYTES: u64 = 4 << 20;
/// Size of a decoder window, in bytes, up to which no minimum memory is required.
const LARGE_WINDOW: u64 = 9 << 20;
/// Memory above which a thread does not become faster, in bytes.
const MAX_THREAD_BYTES: u64 = 32 << 20;
/// Limit of the record bytes that a thread processes together, chosen to fit into the processor's cache.
const MAX_PART_RECORD_BYTES: u64 = 4 << 20;
/// Bytes of records that are collected before they are appended to a spill buffer: the minimum in total, and the minimum per part.
const MIN_RUN_BYTES: u64 = 256 << 10;
const RUN_OF_PART: u64 = 32 << 10;
/// Limit of parts of the keys.
const MAX_PARTS: u64 = 4_096;
/// Minimum and maximum bytes of input in a unit, unless a single file has more.
const UNIT_BYTES: (u64, u64) = (4 << 20, 256 << 20);
/// Units per thread, if there is enough input.
const UNITS_PER_THREAD: u64 = 8;
/// Bytes of input per recorded line boundary, each of which needs a few bytes of memory.
const BYTES_PER_MARK: u64 = 64 << 10;
/// Memory for the data of a file in bytes: its names, its results, its entry in the report.
const BYTES_PER_FILE: u64 = 2 << 10;
/// Size of the data of all files, in bytes, up to which no minimum memory is required.
const FEW_FILES: u64 = 2 << 20;
/// Approximate limit of units.
const MAX_UNITS: u64 = 2_048;
/// Divisor of the memory for the size of the cache of match results, which is used when text does not fit into memory. Each cached result
/// avoids reading several hundred bytes again.
pub(super) const MATCH_CACHE_DIVISOR: u64 = 16;

/// The memory of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// Number of threads for which the memory is sufficient.
    pub(super) threads: usize,
    /// Limit of each thread, in bytes.
    pub(super) per_thread: u64,
    /// Additional memory of each thread for reading: the window of a decoder.
    pub(super) reading: u64,
    /// Memory for the data of all files, in bytes.
    pub(super) of_files: u64,
    /// Limit of all spill buffers together, in bytes.
    pub(super) spill_bytes: u64,
}

impl Memory {
    /// Divides `bytes` among up to `threads` threads and the spill buffers. `working` is the memory that each thread uses for reading and
    /// writing, usually mostly the window of a decoder. This memory, and the data of `files` files, are subtracted from `bytes`; if `bytes`
    /// is too small for them, they exceed it.
    pub(super) fn of(bytes: u64, threads: usize, working: u64, files: usize) -> Self {
        let of_files = BYTES_PER_FILE.saturating_mul(files as u64);
        let rest = bytes - PROGRAM.min(bytes / 2);
        let rest = rest.saturating_sub(of_files).max(rest.min(MIN_THREAD_BYTES));
        let extra = working.saturating_sub(MIN_THREAD_BYTES);
        let most = usize::try_from(rest / (2 * MIN_THREAD_BYTES).saturating_add(extra)).unwrap_or(usize::MAX).max(1);
        let threads = threads.clamp(1, most);
        let rest = rest.saturating_sub(extra.saturating_mul(threads as u64)).max(rest / 8);
        let per_thread = (rest / 2 / threads as u64).min(MAX_THREAD_BYTES);
        Self { threads, per_thread, reading: extra, of_files, spill_bytes: rest - per_thread * threads as u64 }
    }

    /// Returns the minimum memory for reading `files` files, one of which uses `working` bytes; 0 if any memory is enough. With less, a
    /// large decoder window or the data of very many files would exceed the memory.
    pub(super) fn least(working: u64, files: usize) -> u64 {
        let extra = working.saturating_sub(MIN_THREAD_BYTES);
        let of_files = BYTES_PER_FILE.saturating_mul(files as u64);
        let of_threads = match extra > LARGE_WINDOW {
            // An eighth of the memory is always reserved for other uses.
            true => (extra + 2 * MIN_THREAD_BYTES).max(extra.div_ceil(7) * 8),
            false if of_files > FEW_FILES => 2 * MIN_THREAD_BYTES + extra,
            false => return 0,
        };
        // With less, the program alone would exceed the memory.
        (PROGRAM + of_files + of_threads).max(2 * PROGRAM)
    }

    /// Returns the maximum memory used when the spill buffers hold `piled` bytes.
    pub(super) fn most(&self, piled: u64) -> u64 {
        let of_threads = (self.per_thread + self.reading) * self.threads as u64;
        PROGRAM + self.of_files + of_threads + piled.min(self.spill_bytes)
    }

    /// Returns the bytes of records that a thread collects before it appends them to a spill buffer, sorted into `parts` parts: few enough
    /// to stay in its cache, unless a part would then have too few.
    pub(super) fn run_bytes(&self, parts: u32) -> usize {
        let wanted = u64::from(parts).saturating_mul(RUN_OF_PART).max(MIN_RUN_BYTES);
        usize::try_from((self.per_thread / 8).clamp(64 << 10, MAX_PART_RECORD_BYTES).min(wanted)).unwrap_or(64 << 10)
    }

    /// Returns the bytes of records of one part that a thread processes together.
    pub(super) fn part_bytes(&self) -> u64 {
        (self.per_thread / 8).clamp(64 << 10, MAX_PART_RECORD_BYTES)
    }
}

/// The division of the work into units of reading and parts of the keys. Does not affect the result; a resumed run uses the division of the
/// stopped run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Division {
    /// Approximate bytes of input in a unit.
    pub(super) unit_bytes: u64,
    /// Number of parts of the keys.
    pub(super) parts: u32,
    /// Whether records have the short form, which has fewer bits for positions.
    pub(super) narrow: bool,
}

impl Division {
    /// Divides the work for this much input and approximately this much text.
    pub(super) fn of(rule: &Rule, input_bytes: u64, text_bytes: u64, memory: &Memory) -> Self {
        let units = (memory.threads as u64 * UNITS_PER_THREAD).max(1);
        let unit_bytes = (input_bytes / units).clamp(UNIT_BYTES.0, UNIT_BYTES.1).max(input_bytes / MAX_UNITS);
        // Positions within a unit do not exceed the size of the largest file; whether positions in the whole text fit is only known after
        // reading.
        let narrow = rule.fits_narrow(text_bytes);
        let records = anchors(rule, text_bytes).saturating_mul(if narrow { 16 } else { 32 });
        let parts = u32::try_from((records / memory.part_bytes()).clamp(1, MAX_PARTS)).unwrap_or(1);
        Self { unit_bytes, parts, narrow }
    }

    /// Returns the approximate size, in bytes, of the lists for this much input and text: the starts of parts in each run of records, the
    /// starts of units in the results of each part, and the data of each range of lines.
    pub(super) fn lists(&self, rule: &Rule, input_bytes: u64, text_bytes: u64, memory: &Memory) -> u64 {
        let records = anchors(rule, text_bytes).saturating_mul(if self.narrow { 16 } else { 32 });
        let (units, parts) = (input_bytes / self.unit_bytes.max(1) + 1, u64::from(self.parts) + 1);
        let runs = records / memory.run_bytes(self.parts) as u64 + units;
        let of_runs = runs.saturating_mul(parts).saturating_mul(size_of::<u32>() as u64);
        let of_units = units.saturating_mul(parts).saturating_mul(size_of::<u64>() as u64);
        of_runs.saturating_add(of_units).saturating_add(input_bytes / BYTES_PER_MARK)
    }
}

/// Returns the approximate number of anchors in this much text (`docs/dedup.md`): two per window, where the window is counted without the
/// hashed bytes.
pub(super) fn anchors(rule: &Rule, text_bytes: u64) -> u64 {
    let length = rule.min_length;
    if length < 16 {
        return text_bytes;
    }
    let piece = (length / 2).min(64);
    (text_bytes / (length - piece + 2)).saturating_mul(2).saturating_add(1)
}

/// Returns the approximate scratch space of a run, in bytes: text and records that do not fit into memory.
pub(super) fn scratch_needed(
    rule: &Rule,
    input_bytes: u64,
    text_bytes: u64,
    memory: &Memory,
    division: &Division,
) -> u64 {
    let records = anchors(rule, text_bytes).saturating_mul(super::anchors::record_bytes(division.narrow) as u64);
    let all = text_bytes.saturating_add(records);
    // The repeated intervals also need space.
    let all = all.saturating_add(records / 2);
    if all <= memory.spill_bytes {
        return 0;
    }
    // Other data in memory reduces the memory for spill buffers.
    let lists = division.lists(rule, input_bytes, text_bytes, memory).min(memory.spill_bytes / 2);
    all.saturating_sub(memory.spill_bytes - memory.spill_bytes / MATCH_CACHE_DIVISOR - lists)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::dedup::Keep;

    #[test]
    fn memory_division_never_exceeds_the_available_memory() {
        for bytes in [1 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30, 1 << 40] {
            for threads in [1, 2, 7, 16, 1_000] {
                for working in [0, 1 << 20, 12 << 20, 129 << 20] {
                    for files in [0, 1_000, 1_000_000] {
                        let memory = Memory::of(bytes, threads, working, files);
                        assert!(memory.threads >= 1 && memory.threads <= threads);
                        let extra = working.saturating_sub(MIN_THREAD_BYTES).min(bytes / 2);
                        let all = (memory.per_thread + extra) * memory.threads as u64 + memory.spill_bytes;
                        assert!(all <= bytes || memory.threads == 1, "{bytes} {threads} {working} {files}");
                    }
                }
            }
        }
        assert_eq!((Memory::least(0, 1_000), Memory::least(9 << 20, 0)), (0, 0));
        for (working, files) in
            [(20_u64 << 20, 0), (130 << 20, 16), (1 << 20, 1_025), (12 << 20, 20_000), (130 << 20, 1_000_000)]
        {
            let least = Memory::least(working, files);
            assert!(least > working + 2_048 * files as u64, "{working} {files}");
            assert!(Memory::of(least, 2, working, files).most(u64::MAX) <= least, "{working} {files}");
        }
        assert_eq!(Memory::of(16 << 20, 7, 0, 1_000).threads, 1);
        assert_eq!(Memory::of(256 << 20, 2, 1 << 20, 16).threads, 2);
    }

    #[test]
    fn parts_and_units_grow_with_the_text_up_to_a_limit() {
        let rule = |min_length| Rule { min_length, keep: Keep::First, min_count: 2 };
        let memory = Memory::of(256 << 20, 2, 1 << 20, 1);
        let of = |length, bytes: u64| Division::of(&rule(length), bytes, bytes, &memory);
        assert_eq!(of(500, 1_000).parts, 1);
        assert!(of(500, 10 << 30).parts > of(500, 1 << 30).parts);
        assert!(of(50, 1 << 30).parts > of(500, 1 << 30).parts);
        assert!(u64::from(of(1, 1 << 45).parts) <= MAX_PARTS);
        assert!((1_u64 << 45) / of(500, 1 << 45).unit_bytes <= MAX_UNITS);
        let lists = |bytes: u64| of(500, bytes).lists(&rule(500), bytes, bytes, &memory);
        assert!(lists(10 << 30) < memory.spill_bytes / 100 && lists(1 << 40) > memory.spill_bytes / 2);
        assert!(of(500, 1 << 30).narrow && !of(5_000, 1 << 30).narrow && !of(500, 1 << 41).narrow);
    }
}
