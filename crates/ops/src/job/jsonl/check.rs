//! `lint` and `verify` of a JSONL file.

use super::pooled;
use crate::engine::check::CheckCounts;
use crate::engine::jsonl::{lint_unit, open, report_bad, report_not_utf8, units, IndexCompare, LineCounts};
use crate::job::pool::run_units;
use gristmill_core::{Failure, Handles, Mutex, Outcome, Problem, ProblemKind, RunOptions, Subject};
use gristmill_data::formats::energon::jsonl_idx::{index_path, open_file};
use gristmill_storage::read::ReadFile;
use std::path::Path;

/// Rebuilds the index piece by piece within the memory limit, and compares it with the one on disk. Fails if the file has no index.
pub fn run_verify(path: &Path, options: &RunOptions, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let file = open(path)?;
    let Some(compare) = index_of(path)? else {
        return Err(Failure::data("opening the index", "the file is not indexed")
            .on(Subject::path(index_path(path)))
            .with_hint("gristmill prepare FILE.jsonl indexes it"));
    };
    handles.progress.restart(1, file.len());
    let (counts, _) = compared(&file, Some(compare), options, handles)?;
    report_not_utf8(&file, &counts, handles)?;
    Ok(checked(&file, &counts))
}

/// Compares the index, then parses every line. A missing index is a problem, but the lines are still parsed.
pub fn run_lint(path: &Path, options: &RunOptions, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let file = open(path)?;
    let compare = index_of(path)?;
    if compare.is_none() {
        let subject = Subject::path(index_path(path));
        let problem = Problem::problem(ProblemKind::MissingFile, subject, "the file is not indexed");
        handles.problems.report(problem.with_hint("gristmill prepare FILE.jsonl indexes it"))?;
    }
    handles.progress.restart(1, 2 * file.len());
    let (counts, line_ends) = compared(&file, compare, options, handles)?;
    let ranges = units(file.len(), options.threads, options.memory_bytes);
    let numbered: Vec<_> = ranges.into_iter().zip(line_ends).collect();
    let turn = Mutex::new(());
    run_units(&numbered, options.threads, handles.cancel, |(unit, line_ends)| {
        lint_unit(&file, *unit, *line_ends, &turn, handles)
    })?;
    Ok(checked(&file, &counts))
}

fn index_of(path: &Path) -> Outcome<Option<IndexCompare>> {
    Ok(open_file(path)?.map(IndexCompare::new))
}

fn checked(file: &ReadFile, counts: &LineCounts) -> CheckCounts {
    CheckCounts { shards: 1, samples: counts.samples, parts: 0, bytes: file.len() }
}

/// Scans the file, compares its index, and reports differences and lines that are not objects.
fn compared(
    file: &ReadFile,
    compare: Option<IndexCompare>,
    options: &RunOptions,
    handles: &Handles<'_>,
) -> Outcome<(LineCounts, Vec<u64>)> {
    let mut compare = compare;
    let sink = |piece: &[u8]| compare.as_mut().map_or(Ok(()), |compare| compare.compare_next(piece));
    let (counts, line_ends) = pooled::scan_counted(file, options, handles, sink)?;
    report_bad(file, &counts, handles.problems)?;
    if counts.samples == 0 {
        let message = "no line of it is a sample";
        handles.problems.report(Problem::problem(ProblemKind::BadLine, Subject::path(file.path()), message))?;
    }
    if let Some(compare) = &compare {
        compare.report_differences(handles.problems)?;
    }
    Ok((counts, line_ends))
}
