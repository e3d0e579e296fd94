//! Selects the lines of a file that `lint` does not report as problems.

use super::lint::problem;
use super::messages::bad_line;
use gristmill_core::{Failure, Handles, Mutex, Outcome, Problem, Severity, Subject};
use gristmill_data::source::jsonl::Unit;
use gristmill_data::source::jsonl::{each_line, BadLine, Checker, Line, LineEnds, MAX_LINE_BYTES};
use gristmill_storage::read::ReadFile;

/// Bytes of a very long line copied at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// Counts of the lines of a file, and of the omitted bad lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CleanLines {
    /// Lines that are samples.
    pub samples: u64,
    /// Bytes of all lines that are kept, including blank ones.
    pub bytes: u64,
    /// Number of omitted lines.
    pub left_out: u64,
}

/// Whether any line of the file would be omitted.
pub fn has_bad_line(file: &ReadFile, handles: &Handles<'_>) -> Outcome<bool> {
    let mut is_bad = false;
    each_checked(file, handles, |line, bad| {
        is_bad = bad.is_some();
        handles.progress.add(0, line.len + 1);
        Ok(!is_bad)
    })?;
    Ok(is_bad)
}

/// Passes the bytes of the good lines to `sink`, and reports each omitted line.
pub fn clean_lines(
    file: &ReadFile,
    handles: &Handles<'_>,
    sink: &mut dyn FnMut(&[u8]) -> Outcome<()>,
) -> Outcome<CleanLines> {
    let mut clean = CleanLines::default();
    each_checked(file, handles, |line, bad| {
        let end = (line.start + line.len + 1).min(file.len());
        handles.progress.add(0, end - line.start);
        if let Some(mut bad) = bad {
            clean.left_out += 1;
            bad.message.push_str("; the line is left out");
            bad.hint = None;
            handles.problems.report(bad)?;
            return Ok(true);
        }
        clean.samples += u64::from(LineEnds::of(line.start, line.bytes).is_some() || !line.is_whole());
        clean.bytes += end - line.start;
        if line.is_whole() {
            sink(line.bytes)?;
            if end > line.start + line.len {
                sink(b"\n")?;
            }
        } else {
            pieces(file, line.start, end, handles, |_, piece| sink(piece))?;
        }
        Ok(true)
    })?;
    Ok(clean)
}

/// Yields every line with the first problem that `lint` would report for it.
fn each_checked(
    file: &ReadFile,
    handles: &Handles<'_>,
    mut take: impl FnMut(Line<'_>, Option<Problem>) -> Outcome<bool>,
) -> Outcome<()> {
    let mut checker = Checker::default();
    let all = Unit { start: 0, end: file.len() };
    each_line(file, all, MAX_LINE_BYTES, &Mutex::new(()), handles.cancel, |line| {
        let mut ends = LineEnds::of(line.start, line.bytes);
        if !line.is_whole() {
            ends = None;
            pieces(file, line.start, line.start + line.len, handles, |at, piece| {
                ends = LineEnds::join(ends, LineEnds::of(at, piece));
                Ok(())
            })?;
        }
        let mut bad = None;
        match ends {
            None => {}
            Some(ends) if !ends.is_object() => {
                bad = Some(bad_line(file, &BadLine { line: line.number, start: line.start, ends }));
            }
            Some(_) if line.is_whole() => checker.check(line.bytes, |at, issue| {
                let place = Subject::path(file.path()).line(line.number + 1).at(line.start + at as u64);
                let found = problem(place, line, at, issue);
                if bad.is_none() && found.severity >= Severity::Problem {
                    bad = Some(found);
                }
            }),
            Some(_) => {}
        }
        take(line, bad)
    })
}

/// Reads a range of the file piece by piece.
fn pieces(
    file: &ReadFile,
    from: u64,
    to: u64,
    handles: &Handles<'_>,
    mut take: impl FnMut(u64, &[u8]) -> Outcome<()>,
) -> Outcome<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut at = from;
    while at < to {
        handles.cancel.check()?;
        let wanted = usize::try_from(to - at).map_or(CHUNK_BYTES, |left| left.min(CHUNK_BYTES));
        let piece = buffer.get_mut(..wanted).unwrap_or_default();
        file.read_exact_at(piece, at).map_err(|error| Failure::io("reading the lines", file.path(), &error))?;
        take(at, piece)?;
        at += wanted as u64;
    }
    Ok(())
}
