//! Raw indexes for Modalities: offset and length of each line that Python's `json` accepts (docs/formats/modalities.md §2). Ranges can be
//! checked in any order and are joined in file order.

use gristmill_core::handles::MAX_LISTED_PROBLEMS;
use gristmill_core::text::{count, grouped, hint_for};
use gristmill_core::{Cancel, Failure, Handles, Outcome, Problem, ProblemKind, ProblemSink, Severity, Subject};
use gristmill_data::source::documents::{
    plain_units, python_lines, table_kind, unit_text, NotJson, OverlongLine, Packing,
};
use gristmill_data::source::jsonl::Unit;
use gristmill_pycompat::json_walk::NullVisitor;
use gristmill_pycompat::line_checker::LineChecker;
use gristmill_pycompat::pickle::IndexWriter;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

/// Name of the operation in error messages.
pub const ACTIVITY: &str = "making the raw index";
/// Size of a range in bytes; fits into the cache of one core.
const RANGE_BYTES: u64 = 512 << 10;
/// Length in bytes above which a line is checked while it is read, instead of being held in memory.
const LONG_LINE_BYTES: usize = 4 << 20;
/// Bytes of a long line that are read at a time.
const READ_BYTES: usize = 256 << 10;

/// Opens a source file. Refuses an empty file, which cannot be read through an index, and a compressed file, in which offsets are
/// meaningless.
pub fn open(path: &Path) -> Outcome<ReadFile> {
    let file = open_read(path)?;
    let refuse = |why: String, hint: &str| Err(Failure::data(ACTIVITY, why).on(Subject::path(path)).with_hint(hint));
    if file.is_empty() {
        return refuse("the file is empty, and an empty index cannot be read".into(), "leave the file out");
    }
    if let Some(kind) = table_kind(&path.to_string_lossy()) {
        let why = format!("it holds rows of {}, and a raw index is of lines of JSON", kind.title);
        let hint = "gristmill pack PATH --format modalities reads it without an index";
        return refuse(why, &hint_for(path, hint));
    }
    match Packing::of(&file)? {
        Packing::Plain => Ok(file),
        packing => refuse(
            format!("it is compressed with {}, and a reader cannot seek to a line of it", packing.title()),
            "decompress it first",
        ),
    }
}

/// Returns the ranges of a file.
pub fn units(len: u64) -> Vec<Unit> {
    plain_units(len, RANGE_BYTES)
}

/// A line that is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Number of the line, counted from 0 in the range or file.
    pub line: u64,
    /// Offset of the line, in bytes.
    pub start: u64,
    /// Offset of the error within the line, in bytes.
    pub at: u64,
    /// Description of the error.
    pub why: &'static str,
}

/// The index of one range.
#[derive(Clone, Debug, Default)]
pub struct UnitIndex {
    /// Offset of the range, in bytes.
    base: u64,
    /// Valid lines: offset from `base`, and length, in bytes.
    items: Vec<(u32, u32)>,
    /// A valid last line that is too long for `items`: offset and length.
    long: Option<(u64, u64)>,
    /// Number of lines, valid or not.
    lines: u64,
    bad: Vec<BadLine>,
    bad_count: u64,
}

impl UnitIndex {
    fn line(&mut self, start: u64, bytes: u64, fault: Option<NotJson>) {
        let line = self.lines;
        self.lines += 1;
        let Some(NotJson { at, why }) = fault else {
            match (u32::try_from(start - self.base), u32::try_from(bytes)) {
                (Ok(place), Ok(bytes)) => self.items.push((place, bytes)),
                // Only the last line of a range can exceed these limits.
                _ => self.long = Some((start, bytes)),
            }
            return;
        };
        self.bad_count += 1;
        if self.bad.len() < MAX_LISTED_PROBLEMS {
            self.bad.push(BadLine { line, start, at: at as u64, why });
        }
    }
}

/// Reads and checks one range. `memory` is reused.
pub fn index_unit(file: &ReadFile, unit: Unit, memory: &mut Vec<u8>, handles: &Handles<'_>) -> Outcome<UnitIndex> {
    let text = unit_text(file, unit, LONG_LINE_BYTES, memory, handles.cancel)?;
    let mut index = UnitIndex { base: unit.start, ..UnitIndex::default() };
    let start = text.start;
    python_lines(text.bytes, |from, bytes, fault| index.line(start + from as u64, bytes as u64, fault));
    if let Some(line) = text.overlong {
        let fault = check_long(file, line, handles.cancel)?;
        index.line(line.start, line.bytes, fault);
    }
    if memory.len() > LONG_LINE_BYTES {
        *memory = Vec::new();
    }
    handles.progress.add(0, unit.end - unit.start);
    Ok(index)
}

/// Checks a line that is too long to be held in memory. Unlike in the reference program, a UTF-16 line of this size is not valid.
fn check_long(file: &ReadFile, line: OverlongLine, cancel: &Cancel) -> Outcome<Option<NotJson>> {
    let mut checker = LineChecker::default();
    let mut piece = vec![0; READ_BYTES];
    let mut at = 0;
    while at < line.bytes {
        cancel.check()?;
        let wanted = usize::try_from(line.bytes - at).unwrap_or(usize::MAX).min(READ_BYTES);
        let space = piece.get_mut(..wanted).unwrap_or_default();
        file.read_exact_at(space, line.start + at).map_err(|error| Failure::io(ACTIVITY, file.path(), &error))?;
        checker.push(space, &mut NullVisitor);
        at += wanted as u64;
    }
    let place = usize::try_from(checker.valid_bytes()).unwrap_or(usize::MAX);
    Ok((!checker.is_json()).then_some(NotJson { at: place, why: "invalid JSON from here on" }))
}

/// The totals of all ranges.
#[derive(Clone, Debug, Default)]
pub struct RawIndexCounts {
    /// Lines in the index.
    pub items: u64,
    /// Number of lines, valid or not.
    pub lines: u64,
    /// The first lines that are not JSON.
    pub bad: Vec<BadLine>,
    /// Number of lines that are not JSON.
    pub bad_count: u64,
}

/// Joins ranges in order, and passes the bytes of the index to a sink.
pub struct RawIndexMerge<S> {
    sink: S,
    writer: Option<IndexWriter>,
    /// The first item, until it is known whether there are more, because a list with one item is written differently.
    first: Option<(u64, u64)>,
    counts: RawIndexCounts,
}

impl<S: FnMut(&[u8]) -> Outcome<()>> RawIndexMerge<S> {
    /// Creates a merge without any range.
    pub fn new(sink: S) -> Self {
        Self { sink, writer: None, first: None, counts: RawIndexCounts::default() }
    }

    /// Appends the next range.
    pub fn append_unit(&mut self, unit: &UnitIndex) -> Outcome<()> {
        let known = self.counts.lines;
        self.counts.lines += unit.lines;
        self.counts.bad_count += unit.bad_count;
        let room = MAX_LISTED_PROBLEMS.saturating_sub(self.counts.bad.len());
        let bad = unit.bad.iter().take(room).map(|bad| BadLine { line: known + bad.line, ..*bad });
        self.counts.bad.extend(bad);
        for (place, bytes) in &unit.items {
            self.item(unit.base + u64::from(*place), u64::from(*bytes))?;
        }
        unit.long.map_or(Ok(()), |(start, bytes)| self.item(start, bytes))
    }

    fn item(&mut self, start: u64, bytes: u64) -> Outcome<()> {
        self.counts.items += 1;
        if let Some(writer) = &mut self.writer {
            return writer.push(start, bytes, &mut self.sink);
        }
        let Some((first, length)) = self.first.replace((start, bytes)) else { return Ok(()) };
        let mut writer = IndexWriter::of_several();
        writer.push(first, length, &mut self.sink)?;
        writer.push(start, bytes, &mut self.sink)?;
        self.writer = Some(writer);
        Ok(())
    }

    /// Writes the end of the index.
    pub fn finish(mut self) -> Outcome<RawIndexCounts> {
        let writer = match (self.writer, self.first) {
            (Some(writer), _) => writer,
            (None, Some((start, bytes))) => {
                let mut writer = IndexWriter::new(1);
                writer.push(start, bytes, &mut self.sink)?;
                writer
            }
            (None, None) => IndexWriter::new(0),
        };
        writer.finish(&mut self.sink)?;
        Ok(self.counts)
    }
}

/// Reports the lines that are not JSON.
pub fn report_bad(path: &Path, counts: &RawIndexCounts, problems: &dyn ProblemSink) -> Outcome<()> {
    for bad in &counts.bad {
        let subject = Subject::path(path).line(bad.line + 1).at(bad.start + bad.at);
        problems.report(Problem::problem(ProblemKind::BadJson, subject, format!("no JSON: {}", bad.why)))?;
    }
    problems.count_more(Severity::Problem, ProblemKind::BadJson, counts.bad_count - counts.bad.len() as u64);
    Ok(())
}

/// Returns the failure for a file with lines that are not JSON.
pub fn refusal(path: &Path, counts: &RawIndexCounts) -> Option<Failure> {
    let first = counts.bad.first()?;
    let why = match counts.bad_count {
        1 => format!("line {} is not JSON: {}", grouped(first.line + 1), first.why),
        many => {
            let lines = count(counts.lines, "line");
            format!(
                "{} of {lines} are not JSON, the first in line {}: {}",
                grouped(many),
                grouped(first.line + 1),
                first.why
            )
        }
    };
    Some(
        Failure::data(ACTIVITY, format!("{why}; nothing was written"))
            .on(Subject::path(path).line(first.line + 1))
            .with_hint("correct the lines, or leave them out with --skip-bad-lines"),
    )
}
