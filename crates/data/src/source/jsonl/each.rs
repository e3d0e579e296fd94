//! Iteration over the whole lines of one range, for callers that examine their content.

use super::scan::changed;
use super::Unit;
use gristmill_core::{Cancel, Failure, Mutex, Outcome};
use gristmill_storage::read::ReadFile;
use memchr::memchr;
use std::sync::MutexGuard;

/// Maximum size in bytes of a line in memory.
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// Size of one read in bytes.
const READ_BYTES: usize = 256 << 10;
/// Size in bytes above which only one thread at a time may have a line in memory.
const LONG_LINE_BYTES: usize = 4 << 20;

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Line number, counted from 0 at the first line that begins in the range.
    pub number: u64,
    /// Offset in the file, in bytes.
    pub start: u64,
    /// Bytes without the `\n`; only the beginning of a line that is longer than allowed.
    pub bytes: &'a [u8],
    /// Whole length without the `\n`, in bytes.
    pub len: u64,
}

impl Line<'_> {
    /// Whether `bytes` holds the whole line.
    pub fn is_whole(&self) -> bool {
        self.bytes.len() as u64 == self.len
    }
}

/// Passes every line that begins in `unit`, including blank ones, to `take` until it returns `false`. Of lines longer than `longest` bytes
/// only the beginning is passed. Of the threads that share `turn`, only one at a time has a very long line in memory.
pub fn each_line(
    file: &ReadFile,
    unit: Unit,
    longest: usize,
    turn: &Mutex<()>,
    cancel: &Cancel,
    mut take: impl FnMut(Line<'_>) -> Outcome<bool>,
) -> Outcome<()> {
    let mut window = Window::new(file, unit.start.saturating_sub(1), cancel);
    if unit.start > 0 {
        window.skip_line()?;
    }
    let mut number = 0;
    while window.position() < unit.end && window.position() < file.len() {
        let start = window.position();
        let mut held: Option<MutexGuard<'_, ()>> = None;
        let end = loop {
            if let Some(end) = window.find_end() {
                break end;
            }
            let waiting = window.waiting().len();
            if waiting > longest || !window.read_more()? {
                break waiting;
            }
            if waiting > LONG_LINE_BYTES && held.is_none() {
                held = Some(turn.lock());
            }
        };
        let shown = end.min(longest);
        let rest = if end > longest { window.measure_rest(end)? } else { end as u64 };
        let bytes = window.waiting().get(..shown).unwrap_or_default();
        if !take(Line { number, start, bytes, len: rest })? {
            return Ok(());
        }
        window.drop_line(end, rest);
        number += 1;
    }
    Ok(())
}

/// A window of the file that moves forward.
struct Window<'a> {
    file: &'a ReadFile,
    cancel: &'a Cancel,
    bytes: Vec<u8>,
    /// Offset of the first byte of `bytes` in the file.
    base: u64,
    /// Index of the first byte that was not passed to the caller yet.
    from: usize,
    /// Number of bytes after `from` that contain no line end.
    searched: usize,
}

impl<'a> Window<'a> {
    fn new(file: &'a ReadFile, base: u64, cancel: &'a Cancel) -> Self {
        Self { file, cancel, bytes: Vec::new(), base, from: 0, searched: 0 }
    }

    fn position(&self) -> u64 {
        self.base + self.from as u64
    }

    fn waiting(&self) -> &[u8] {
        self.bytes.get(self.from..).unwrap_or_default()
    }

    /// Returns the length of the next line, if its end is in the window.
    fn find_end(&mut self) -> Option<usize> {
        let unsearched = self.waiting().get(self.searched..).unwrap_or_default();
        let found = memchr(b'\n', unsearched).map(|at| at + self.searched);
        if found.is_none() {
            self.searched = self.waiting().len();
        }
        found
    }

    /// Reads further bytes; returns `false` at the end of the file.
    fn read_more(&mut self) -> Outcome<bool> {
        self.cancel.check()?;
        if self.from > 0 {
            self.bytes.drain(..self.from);
            self.base += self.from as u64;
            self.from = 0;
        }
        let old = self.bytes.len();
        let at = self.base + old as u64;
        let left = usize::try_from(self.file.len().saturating_sub(at)).unwrap_or(usize::MAX);
        if left == 0 {
            return Ok(false);
        }
        self.bytes.resize(old + READ_BYTES.max(old / 2).min(left), 0);
        let space = self.bytes.get_mut(old..).unwrap_or_default();
        let count = self.file.read_at(space, at).map_err(|error| self.failed(&error))?;
        self.bytes.truncate(old + count);
        if count == 0 {
            return Err(changed(self.file));
        }
        Ok(true)
    }

    fn failed(&self, error: &std::io::Error) -> Failure {
        Failure::io("reading the lines", self.file.path(), error)
    }

    /// Skips everything up to and including the next line end.
    fn skip_line(&mut self) -> Outcome<()> {
        loop {
            if let Some(end) = self.find_end() {
                self.drop_line(end, end as u64);
                return Ok(());
            }
            self.from = self.bytes.len();
            self.searched = 0;
            if !self.read_more()? {
                return Ok(());
            }
        }
    }

    /// Returns the length of a line of which the window contains `known` bytes; the rest is read outside the window.
    fn measure_rest(&self, known: usize) -> Outcome<u64> {
        let mut past = Window::new(self.file, self.position() + known as u64, self.cancel);
        loop {
            if let Some(end) = past.find_end() {
                return Ok(past.position() + end as u64 - self.position());
            }
            past.from = past.bytes.len();
            past.searched = 0;
            if !past.read_more()? {
                return Ok(past.position() - self.position());
            }
        }
    }

    /// Moves to the end of a line of `len` bytes, of which the window contains `end`.
    fn drop_line(&mut self, end: usize, len: u64) {
        self.searched = 0;
        if end as u64 == len && end < self.waiting().len() {
            self.from += end + 1;
            return;
        }
        self.base = self.position() + len + 1;
        // Releases the memory of a very long line.
        self.bytes = Vec::new();
        self.from = 0;
    }
}
