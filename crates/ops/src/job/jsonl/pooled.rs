//! Scans ranges of a file with several threads and joins the results in order, each as soon as all earlier results are available.

use crate::engine::jsonl::{index_unit, units, LineCounts, LineMerge};
use crate::job::exclusive_output::still_the_same;
use crate::job::ordered_results::OrderedResults;
use crate::job::pool::run_units;
use gristmill_core::{Failure, Handles, Outcome, RunOptions};
use gristmill_data::source::jsonl::{Unit, UnitLines};
use gristmill_storage::read::ReadFile;

/// Scans a file and passes the bytes of its index to `sink`, in order. Fails if the file changes during the scan.
pub(super) fn scan(
    file: &ReadFile,
    options: &RunOptions,
    handles: &Handles<'_>,
    sink: impl FnMut(&[u8]) -> Outcome<()> + Send,
) -> Outcome<LineCounts> {
    scan_counted(file, options, handles, sink).map(|(counts, _)| counts)
}

/// Like [`scan`], and also returns the number of line ends before each of the [`units`].
pub(super) fn scan_counted(
    file: &ReadFile,
    options: &RunOptions,
    handles: &Handles<'_>,
    sink: impl FnMut(&[u8]) -> Outcome<()> + Send,
) -> Outcome<(LineCounts, Vec<u64>)> {
    scan_ranges(file, units(file.len(), options.threads, options.memory_bytes), options.threads, handles, sink)
}

pub(super) fn scan_ranges(
    file: &ReadFile,
    ranges: Vec<Unit>,
    threads: usize,
    handles: &Handles<'_>,
    sink: impl FnMut(&[u8]) -> Outcome<()> + Send,
) -> Outcome<(LineCounts, Vec<u64>)> {
    let failed = |error: &std::io::Error| Failure::io("opening", file.path(), error);
    let before = file.stamp().map_err(|error| failed(&error))?;
    let (mut merge, mut line_ends) = (LineMerge::new(sink), Vec::new());
    let line = OrderedResults::new(threads, |lines: UnitLines| {
        line_ends.push(merge.line_ends());
        merge.append_unit(&lines)
    });
    let numbered: Vec<(usize, Unit)> = ranges.into_iter().enumerate().collect();
    run_units(&numbered, threads, handles.cancel, |(number, unit)| {
        line.wait_for_slot(*number, handles.cancel)?;
        let lines = index_unit(file, *unit, &mut Vec::new(), handles.progress, handles.cancel)?;
        line.hand_in(*number, lines)
    })?;
    drop(line);
    let counts = merge.finish(file.len())?;
    handles.progress.add(1, 0);
    still_the_same(file, before, handles.problems)?;
    Ok((counts, line_ends))
}
