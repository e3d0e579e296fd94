//! Scans one range of a file for the starts of its lines and for lines that the loader refuses.

use super::utf8::{continuation_bytes, Utf8Checker};
use super::{is_white, Unit};
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_storage::read::ReadFile;
use memchr::memchr_iter;

/// Maximum size of a range in bytes, because offsets in it are stored as 32-bit numbers.
pub const MAX_UNIT_BYTES: u64 = 1 << 30;
/// Size of one read in bytes, which fits into the cache of one core.
const READ_BYTES: usize = 256 << 10;
/// Maximum bytes of a character in UTF-8.
const CHARACTER_BYTES: usize = 4;
/// Maximum number of bad lines whose location is stored for a range; further ones are only counted.
const MAX_KEPT_PROBLEMS: usize = gristmill_core::handles::MAX_LISTED_PROBLEMS;

/// The first and the last non-white-space byte of a line, or of a piece of one, with their offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEnds {
    /// Offset of the first non-white-space byte.
    pub first_at: u64,
    /// First non-white-space byte.
    pub first: u8,
    /// Offset of the last non-white-space byte.
    pub last_at: u64,
    /// Last non-white-space byte.
    pub last: u8,
}

impl LineEnds {
    /// Returns the ends of the piece of a line that begins at `at`; `None` if it has only white space.
    pub fn of(at: u64, piece: &[u8]) -> Option<Self> {
        let first = piece.iter().position(|byte| !is_white(*byte))?;
        let last = piece.iter().rposition(|byte| !is_white(*byte))?;
        Some(Self {
            first_at: at + first as u64,
            first: *piece.get(first)?,
            last_at: at + last as u64,
            last: *piece.get(last)?,
        })
    }
    /// Joins the ends of two pieces of one line.
    pub fn join(before: Option<Self>, after: Option<Self>) -> Option<Self> {
        match (before, after) {
            (Some(before), Some(after)) => Some(Self { last_at: after.last_at, last: after.last, ..before }),
            (one, other) => one.or(other),
        }
    }
    /// Whether the loader accepts the line: its first byte is `{` and its last byte, which must be another one, is `}`.
    pub fn is_object(&self) -> bool {
        self.first == b'{' && self.last == b'}'
    }
}

/// A line that is neither blank nor an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Line number, counted from 0 at the start of the range or file in which it was found.
    pub line: u64,
    /// Offset of the line, in bytes.
    pub start: u64,
    /// Ends of the line.
    pub ends: LineEnds,
}

/// Result of scanning one range.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitLines {
    /// Offset of the range, in bytes.
    pub base: u64,
    /// Ends of the text before the first line end, which belongs to a line that begins before this range.
    pub head: Option<LineEnds>,
    /// Number of line ends in the range.
    pub line_ends: u64,
    /// Offsets, relative to `base`, of objects on lines that begin after a line end in this range and end in the range.
    pub starts: Vec<u32>,
    /// Number of blank lines among those lines.
    pub blank: u64,
    /// The first bad lines of the range. Line 0 is the line to which `head` belongs.
    pub bad: Vec<BadLine>,
    /// Number of bad lines of the range.
    pub bad_count: u64,
    /// Offset of the last line, which does not end in the range.
    pub tail_start: u64,
    /// Ends of the last line as far as it is in the range.
    pub tail: Option<LineEnds>,
    /// Whether the range may contain bytes that are not UTF-8; `false` is certain.
    pub is_not_utf8: bool,
}

impl UnitLines {
    /// Adds the line that begins at `start` and has these ends.
    fn line(&mut self, start: u64, ends: Option<LineEnds>) {
        match ends {
            None => self.blank += 1,
            Some(ends) if ends.is_object() => self.starts.push((start - self.base) as u32),
            Some(ends) => {
                self.bad_count += 1;
                if self.bad.len() < MAX_KEPT_PROBLEMS {
                    self.bad.push(BadLine { line: self.line_ends, start, ends });
                }
            }
        }
    }
    /// Processes the next bytes of the range, which begin at `at`.
    fn chunk(&mut self, at: u64, bytes: &[u8]) {
        let mut from = 0;
        for end in memchr_iter(b'\n', bytes) {
            let line = bytes.get(from..end).unwrap_or_default();
            let start = at + from as u64;
            if from > 0 {
                match line {
                    // A fast path for nearly all lines; lines with more white space use the general path.
                    [b'{', .., b'}'] | [b'{', .., b'}', b'\r'] => self.starts.push((start - self.base) as u32),
                    _ => self.line(start, LineEnds::of(start, line)),
                }
            } else {
                let ends = LineEnds::join(self.tail, LineEnds::of(start, line));
                if self.line_ends == 0 {
                    self.head = ends;
                } else {
                    self.line(self.tail_start, ends);
                }
            }
            self.line_ends += 1;
            from = end + 1;
        }
        let rest = LineEnds::of(at + from as u64, bytes.get(from..).unwrap_or_default());
        if from > 0 {
            self.tail_start = at + from as u64;
            self.tail = rest;
        } else {
            self.tail = LineEnds::join(self.tail, rest);
        }
    }
    /// Completes the result at the end of the range.
    fn finish(mut self) -> Self {
        if self.line_ends == 0 {
            // The whole range belongs to a line that begins before it.
            self.head = self.tail.take();
        }
        self
    }
}

/// Scans one range. `buffer` is reused memory; `done` receives the number of bytes processed since the last call.
pub fn scan_unit(
    file: &ReadFile,
    unit: Unit,
    buffer: &mut Vec<u8>,
    cancel: &Cancel,
    mut done: impl FnMut(u64),
) -> Outcome<UnitLines> {
    if buffer.len() < READ_BYTES {
        buffer.resize(READ_BYTES, 0);
    }
    let mut lines = UnitLines { base: unit.start, tail_start: unit.start, ..UnitLines::default() };
    let (mut at, mut encoding) = (unit.start, Utf8Checker::default());
    while at < unit.end {
        cancel.check()?;
        let wanted = usize::try_from(unit.end - at).unwrap_or(usize::MAX).min(buffer.len());
        let space = buffer.get_mut(..wanted).unwrap_or_default();
        let count = file.read_at(space, at).map_err(|error| Failure::io("reading the lines", file.path(), &error))?;
        if count == 0 {
            return Err(changed(file));
        }
        let piece = space.get(..count).unwrap_or_default();
        lines.chunk(at, piece);
        // A character belongs to the range in which it begins.
        let skipped = if at == unit.start && at > 0 { continuation_bytes(piece, CHARACTER_BYTES - 1) } else { 0 };
        encoding.push(piece.get(skipped..).unwrap_or_default());
        at += count as u64;
        done(count as u64);
    }
    let mut next = [0; CHARACTER_BYTES];
    if at < file.len() {
        file.read_at_directly(&mut next, at).map_err(|error| Failure::io("reading the lines", file.path(), &error))?;
    }
    encoding.push(next.get(..continuation_bytes(&next, CHARACTER_BYTES)).unwrap_or_default());
    lines.is_not_utf8 = encoding.invalid_at().is_some();
    Ok(lines.finish())
}

/// Returns the failure for a file that grew, shrank or was written to while it was read.
pub(super) fn changed(file: &ReadFile) -> Failure {
    Failure::data("reading the lines", "the file changed while it was read")
        .on(Subject::path(file.path()))
        .with_hint("run it again when no program writes to the file")
}
