//! Parses every line of a file, range by range.

use super::messages::leave_out_hint;
use super::LineCounts;
use gristmill_core::text::display_safe_bytes;
use gristmill_core::{Failure, Handles, Mutex, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_data::source::jsonl::{each_line, Checker, Issue, Line, LineEnds, Unit, MAX_LINE_BYTES};
use gristmill_storage::read::ReadFile;
use std::collections::BTreeMap;

/// Limit of findings of one kind that are reported individually per range; the others are counted.
const MAX_REPORTED: u64 = 50;
/// Number of bytes shown before and after the position of a finding.
const SHOWN_AROUND: (usize, usize) = (20, 28);

/// Parses the lines that begin in a range, and reports errors and unusual values. `line_ends` is the number of line ends before the range.
/// Lines whose first or last byte shows that they are not objects are not parsed, because the check of the index reports them. Returns the
/// number of parsed lines.
pub fn lint_unit(file: &ReadFile, unit: Unit, line_ends: u64, turn: &Mutex<()>, handles: &Handles<'_>) -> Outcome<u64> {
    // The line that contains the start of the range, if any, is not counted in `line_ends`.
    let first_line = 1 + line_ends + u64::from(!begins_a_line(file, unit)?);
    let mut checker = Checker::default();
    let mut counts: BTreeMap<(Severity, ProblemKind), u64> = BTreeMap::new();
    let (mut parsed, mut beat) = (0, unit.start);
    each_line(file, unit, MAX_LINE_BYTES, turn, handles.cancel, |line| {
        let place = |at: usize| Subject::path(file.path()).line(first_line + line.number).at(line.start + at as u64);
        let mut found = Vec::new();
        if !line.is_whole() {
            let message = "the line is longer than 64 MiB and was not parsed";
            found.push(Problem::note(ProblemKind::OddJson, place(0), message));
        } else if LineEnds::of(line.start, line.bytes).is_none_or(|ends| ends.is_object()) {
            parsed += 1;
            checker.check(line.bytes, |at, issue| found.push(problem(place(at), line, at, issue)));
        }
        for problem in found {
            let number = counts.entry((problem.severity, problem.kind)).or_default();
            *number += 1;
            if *number <= MAX_REPORTED {
                handles.problems.report(problem)?;
            }
        }
        let end = (line.start + line.len + 1).min(unit.end);
        if end - beat.min(end) > 1 << 20 {
            handles.progress.add(0, end - beat);
            beat = end;
        }
        Ok(true)
    })?;
    for ((severity, kind), number) in counts {
        handles.problems.count_more(severity, kind, number.saturating_sub(MAX_REPORTED));
    }
    handles.progress.add(0, unit.end - beat);
    Ok(parsed)
}

/// Reports the lines of a file that was scanned that are not UTF-8: they are in the index, and the loader fails on them.
pub fn report_not_utf8(file: &ReadFile, counts: &LineCounts, handles: &Handles<'_>) -> Outcome<()> {
    if !counts.is_not_utf8 {
        return Ok(());
    }
    let all = Unit { start: 0, end: file.len() };
    each_line(file, all, MAX_LINE_BYTES, &Mutex::new(()), handles.cancel, |line| {
        let is_object = LineEnds::of(line.start, line.bytes).is_some_and(|ends| ends.is_object());
        if let Some(error) = std::str::from_utf8(line.bytes).err().filter(|_| is_object) {
            let at = error.valid_up_to();
            let place = Subject::path(file.path()).line(line.number + 1).at(line.start + at as u64);
            let found = problem(place, line, at, Issue::NotUtf8);
            handles.problems.report(found.with_hint(leave_out_hint(file.path())))?;
        }
        Ok(true)
    })
}

/// Whether a line begins exactly at the start of the range.
fn begins_a_line(file: &ReadFile, unit: Unit) -> Outcome<bool> {
    let Some(before) = unit.start.checked_sub(1) else { return Ok(true) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, before).map_err(|error| Failure::io("reading the lines", file.path(), &error))?;
    Ok(byte == *b"\n")
}

pub(super) fn problem(place: Subject, line: Line<'_>, at: usize, issue: Issue) -> Problem {
    let from = at.saturating_sub(SHOWN_AROUND.0);
    let near = line.bytes.get(from..(at + SHOWN_AROUND.1).min(line.bytes.len())).unwrap_or_default();
    let (before, after) =
        (if from > 0 { "…" } else { "" }, if from + near.len() < line.bytes.len() { "…" } else { "" });
    let near = display_safe_bytes(whole_characters(near)).trim().to_owned();
    let message = format!("column {}: {}, near {before}{near}{after}", at + 1, issue.title());
    match issue {
        Issue::Syntax(_) | Issue::NotUtf8 => Problem::problem(ProblemKind::BadJson, place, message),
        Issue::DuplicateKey => Problem::problem(ProblemKind::RepeatedField, place, message),
        Issue::NotFinite | Issue::UnpairedSurrogate | Issue::LargeInteger => {
            Problem::note(ProblemKind::OddJson, place, message)
        }
    }
}

/// Returns the bytes without incomplete characters at the start and the end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let front = bytes.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
    let bytes = bytes.get(front..).unwrap_or_default();
    let cut = bytes.utf8_chunks().last().map_or(0, |chunk| chunk.invalid().len());
    let is_cut_off = cut > 0 && bytes.len() >= cut && bytes.get(bytes.len() - cut).is_some_and(|byte| *byte >= 0xc2);
    bytes.get(..bytes.len() - if is_cut_off { cut } else { 0 }).unwrap_or_default()
}
