//! The index of a JSONL file. Ranges can be scanned in any order and are joined in file order (docs/formats/energon.md §11).

mod clean;
mod compare;
mod facts;
mod lengths;
mod lint;
mod merge;
mod messages;
#[cfg(test)]
mod tests;

pub use clean::{clean_lines, has_bad_line, CleanLines};
pub use compare::IndexCompare;
pub use facts::{facts_of, JsonlFacts, KeyFacts, RecordFacts};
pub use lengths::Lengths;
pub use lint::{lint_unit, report_not_utf8};
pub use merge::{LineCounts, LineMerge};
pub use messages::{bad_line, blank_lines, check_start, cr_only, open, refusal, refused_start, report_bad};

use gristmill_core::{Cancel, Outcome, Progress};
use gristmill_data::source::jsonl::{self, Unit, UnitLines};
use gristmill_storage::read::ReadFile;

/// Maximum size of a range read by one thread, in bytes.
const MAX_RANGE_BYTES: u64 = 8 << 20;
/// Minimum size of a range, in bytes.
const MIN_RANGE_BYTES: u64 = 1 << 20;
/// Bytes of a range for which memory of one line position, four bytes, is reserved: a line has at least three bytes.
const RANGE_BYTES_PER_POSITION: u64 = 2;

/// Divides a file of `len` bytes into ranges for `threads` threads that together use at most `memory_bytes`.
pub fn units(len: u64, threads: usize, memory_bytes: u64) -> Vec<Unit> {
    let threads = threads.max(1) as u64;
    // Results of later ranges are held until the earlier ones are joined, at most one per thread.
    let fits = memory_bytes * RANGE_BYTES_PER_POSITION / (4 * threads);
    jsonl::units(len, len.div_ceil(threads).min(fits).clamp(MIN_RANGE_BYTES, MAX_RANGE_BYTES))
}

/// Scans one range. `buffer` is reused.
pub fn index_unit(
    file: &ReadFile,
    unit: Unit,
    buffer: &mut Vec<u8>,
    progress: &Progress,
    cancel: &Cancel,
) -> Outcome<UnitLines> {
    jsonl::scan_unit(file, unit, buffer, cancel, |bytes| progress.add(0, bytes))
}
