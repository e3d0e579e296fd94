//! The plain index of Forager: every line of every file is a sample, regardless of its content (docs/formats/forager.md §2).

use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::forager::sample_locations::{Row, ROW_BYTES};
use gristmill_data::source::documents::TextFile;
use gristmill_data::source::jsonl::{self, Unit};
use gristmill_storage::read::ReadFile;
use memchr::memchr_iter;

/// Name of the operation in error messages.
pub const ACTIVITY: &str = "making the index";
const RANGE_BYTES: u64 = 1 << 20;
/// Bytes read at a time; fits into the cache of one core.
const READ_BYTES: usize = 256 << 10;
/// Rows passed to the sink at a time.
const ROWS_PER_CALL: usize = 4 << 10;

/// A range of one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileUnit {
    /// Position of the file among the listed files.
    pub file: usize,
    /// The range of the file.
    pub range: Unit,
    /// Whether the range is the last one of its file.
    pub is_last: bool,
}

/// Returns the files that the index lists: those with at least one byte, and so at least one sample. As in Forager, compressed files are
/// listed, too. Each of them is reported as a problem, because its newline bytes do not delimit lines of text.
pub fn listed(files: Vec<TextFile>, handles: &Handles<'_>) -> Outcome<Vec<TextFile>> {
    let mut listed = Vec::with_capacity(files.len());
    for file in files {
        if !file.packing.is_plain() {
            let message =
                format!("it is compressed with {}, so its samples are not lines of text", file.packing.title());
            let problem = Problem::problem(ProblemKind::BadFile, Subject::path(&file.path), message);
            handles.problems.report(problem.with_hint("decompress it, and run again"))?;
        }
        if file.bytes > 0 {
            listed.push(file);
        }
    }
    Ok(listed)
}

/// Returns the ranges of all files.
pub fn units(files: &[TextFile]) -> Vec<FileUnit> {
    let of = |(file, text): (usize, &TextFile)| {
        let bytes = text.bytes;
        jsonl::units(bytes, RANGE_BYTES).into_iter().map(move |range| FileUnit {
            file,
            range,
            is_last: range.end >= bytes,
        })
    };
    files.iter().enumerate().flat_map(of).collect()
}

/// Returns the ends of lines in a range: positions after each `\n`, counted from the beginning of the range.
pub fn line_ends(file: &ReadFile, unit: FileUnit, memory: &mut Vec<u8>, handles: &Handles<'_>) -> Outcome<Vec<u32>> {
    memory.resize(READ_BYTES, 0);
    let mut ends = Vec::new();
    let mut at = unit.range.start;
    while at < unit.range.end {
        handles.cancel.check()?;
        let wanted = usize::try_from(unit.range.end - at).unwrap_or(usize::MAX).min(READ_BYTES);
        let space = memory.get_mut(..wanted).unwrap_or_default();
        let count = file.read_at(space, at).map_err(|error| Failure::io(ACTIVITY, file.path(), &error))?;
        if count == 0 {
            return Err(Failure::data(ACTIVITY, "the file changed while it was read")
                .on(Subject::path(file.path()))
                .with_hint("run it again when no program writes to the file"));
        }
        let before = (at - unit.range.start) as u32 + 1;
        ends.extend(memchr_iter(b'\n', space.get(..count).unwrap_or_default()).map(|end| before + end as u32));
        at += count as u64;
    }
    handles.progress.add(u64::from(unit.is_last), unit.range.end - unit.range.start);
    Ok(ends)
}

/// Joins the scanned ranges of a file in order, including lines that continue in the next range, and passes the rows of the index to a
/// sink.
pub struct IndexMerge<S> {
    sink: S,
    rows: Vec<u8>,
    samples: u64,
    /// Offset of the current line, whose end is not found yet, in bytes.
    start: u64,
}

impl<S: FnMut(&[u8]) -> Outcome<()>> IndexMerge<S> {
    /// Creates a merge without any range.
    pub fn new(sink: S) -> Self {
        Self { sink, rows: Vec::with_capacity(ROWS_PER_CALL * ROW_BYTES), samples: 0, start: 0 }
    }

    /// Appends the next range.
    pub fn append_unit(&mut self, unit: FileUnit, ends: &[u32]) -> Outcome<()> {
        if unit.range.start == 0 {
            self.start = 0;
        }
        for end in ends {
            self.sample(unit.file, unit.range.start + u64::from(*end))?;
        }
        if unit.is_last && self.start < unit.range.end {
            self.sample(unit.file, unit.range.end)?;
        }
        Ok(())
    }

    fn sample(&mut self, file: usize, end: u64) -> Outcome<()> {
        let row = Row { file: file as u64, offset: self.start, bytes: end - self.start };
        self.rows.extend_from_slice(&row.to_bytes());
        self.samples += 1;
        self.start = end;
        if self.rows.len() >= ROWS_PER_CALL * ROW_BYTES {
            (self.sink)(&self.rows)?;
            self.rows.clear();
        }
        Ok(())
    }

    /// Passes the last rows to the sink, and returns the number of samples.
    pub fn finish(mut self) -> Outcome<u64> {
        (self.sink)(&self.rows)?;
        Ok(self.samples)
    }
}
