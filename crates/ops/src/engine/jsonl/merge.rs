//! Joins the ranges of a file, in order.

use gristmill_core::handles::MAX_LISTED_PROBLEMS;
use gristmill_core::Outcome;
use gristmill_data::source::jsonl::{BadLine, LineEnds, UnitLines};

/// Bytes passed to the sink at a time.
const WRITE_BYTES: usize = 64 << 10;

/// The line counts of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Lines that are samples.
    pub samples: u64,
    /// Lines that contain only white space.
    pub blank: u64,
    /// All lines, including a last line without line end.
    pub lines: u64,
    /// Number of line ends.
    pub line_ends: u64,
    /// The first lines that are neither samples nor blank; `line` is counted from 0.
    pub bad: Vec<BadLine>,
    /// Number of all lines that are neither samples nor blank.
    pub bad_count: u64,
    /// Whether a range may have bytes that are not UTF-8.
    pub is_not_utf8: bool,
}

/// Joins ranges in order and passes the bytes of the index to `sink`, in pieces.
pub struct LineMerge<S> {
    sink: S,
    waiting: Vec<u8>,
    counts: LineCounts,
    /// Offset of the current line, whose end is not found yet, in bytes.
    start: u64,
    /// First and last bytes of the current line so far.
    ends: Option<LineEnds>,
}

impl<S: FnMut(&[u8]) -> Outcome<()>> LineMerge<S> {
    /// Creates a merge without any range.
    pub fn new(sink: S) -> Self {
        Self { sink, waiting: Vec::with_capacity(WRITE_BYTES + 8), counts: LineCounts::default(), start: 0, ends: None }
    }

    /// Appends the next range.
    pub fn append_unit(&mut self, unit: &UnitLines) -> Outcome<()> {
        self.counts.is_not_utf8 |= unit.is_not_utf8;
        self.ends = LineEnds::join(self.ends, unit.head);
        if unit.line_ends == 0 {
            return Ok(());
        }
        self.end_line()?;
        self.counts.samples += unit.starts.len() as u64;
        let mut starts = unit.starts.as_slice();
        if self.counts.samples == unit.starts.len() as u64 {
            if let Some((_, others)) = starts.split_first() {
                // The first sample of the file includes the bytes before it, so it begins at 0.
                self.word(0)?;
                starts = others;
            }
        }
        for piece in starts.chunks(WRITE_BYTES / 8) {
            self.waiting.extend(piece.iter().flat_map(|start| (unit.base + u64::from(*start)).to_le_bytes()));
            self.hand_on(WRITE_BYTES)?;
        }
        let lines = self.counts.line_ends;
        self.counts.blank += unit.blank;
        self.counts.bad_count += unit.bad_count;
        let room = MAX_LISTED_PROBLEMS.saturating_sub(self.counts.bad.len());
        self.counts.bad.extend(unit.bad.iter().take(room).map(|bad| BadLine { line: lines + bad.line, ..*bad }));
        self.counts.line_ends += unit.line_ends;
        self.start = unit.tail_start;
        self.ends = unit.tail;
        Ok(())
    }

    /// Returns the number of line ends so far.
    pub fn line_ends(&self) -> u64 {
        self.counts.line_ends
    }

    /// Ends a file of `len` bytes.
    pub fn finish(mut self, len: u64) -> Outcome<LineCounts> {
        self.counts.lines = self.counts.line_ends;
        if self.start < len {
            self.counts.lines += 1;
            self.end_line()?;
        }
        self.word(len)?;
        self.hand_on(1)?;
        Ok(self.counts)
    }

    /// Ends the current line.
    fn end_line(&mut self) -> Outcome<()> {
        match self.ends {
            None => self.counts.blank += 1,
            Some(ends) if ends.is_object() => {
                self.counts.samples += 1;
                self.word(if self.counts.samples == 1 { 0 } else { self.start })?;
            }
            Some(ends) => {
                self.counts.bad_count += 1;
                if self.counts.bad.len() < MAX_LISTED_PROBLEMS {
                    self.counts.bad.push(BadLine { line: self.counts.line_ends, start: self.start, ends });
                }
            }
        }
        Ok(())
    }

    fn word(&mut self, word: u64) -> Outcome<()> {
        self.waiting.extend_from_slice(&word.to_le_bytes());
        self.hand_on(WRITE_BYTES)
    }

    /// Passes the buffered bytes to the sink if there are at least `enough`.
    fn hand_on(&mut self, enough: usize) -> Outcome<()> {
        if self.waiting.len() >= enough {
            (self.sink)(&self.waiting)?;
            self.waiting.clear();
        }
        Ok(())
    }
}
