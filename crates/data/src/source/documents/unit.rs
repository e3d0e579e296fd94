//! Division of a plain file into ranges that several threads read concurrently.

use super::blocks::{Block, OverlongLine, MAX_LINE_BYTES};
use crate::source::jsonl::{self, Unit};
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_storage::read::ReadFile;
use memchr::{memchr, memrchr};

/// Size of one read in bytes.
const READ_BYTES: usize = 256 << 10;
/// Size in bytes of the first read after the end of a range.
const FIRST_READ_BYTES: usize = 16 << 10;

/// Divides a plain file of `len` bytes into ranges of `size` bytes. A line belongs to the range in which it begins.
pub fn plain_units(len: u64, size: u64) -> Vec<Unit> {
    jsonl::units(len, size)
}

/// Reads the lines that begin in a range into the memory of `spare`; the block is empty if there are none. Line numbers count from 0 in
/// each block; [`Block::count_lines`] of the blocks before gives the number of preceding lines. Of a last line that is longer than
/// [`MAX_LINE_BYTES`], only the length is determined.
pub fn read_unit(file: &ReadFile, unit: Unit, mut spare: Vec<u8>, cancel: &Cancel) -> Outcome<Block> {
    let text = unit_text(file, unit, MAX_LINE_BYTES, &mut spare, cancel)?;
    let (start, overlong, from, to) = (text.start, text.overlong, text.from, text.from + text.bytes.len());
    spare.truncate(to);
    spare.drain(..from);
    let end = match overlong {
        Some(line) => file.len().min(line.start + line.bytes + 1),
        None => start + spare.len() as u64,
    };
    Ok(Block { first_line: 0, start, bytes: spare, overlong, end })
}

/// The lines that begin in a range, in reused memory.
#[derive(Clone, Copy, Debug)]
pub struct UnitText<'a> {
    /// Offset of the lines in the file, in bytes; the end of the range if there are none.
    pub start: u64,
    /// The lines with their `\n`; the last line of the file may lack it.
    pub bytes: &'a [u8],
    /// A line after the lines in `bytes` that is too long.
    pub overlong: Option<OverlongLine>,
    /// Offset of `bytes` in `memory`.
    from: usize,
}

/// Reads the lines that begin in a range into `memory`, which grows as needed and never shrinks. Of a last line that is longer than
/// `longest`, only the length is determined.
pub fn unit_text<'a>(
    file: &ReadFile,
    unit: Unit,
    longest: usize,
    memory: &'a mut Vec<u8>,
    cancel: &Cancel,
) -> Outcome<UnitText<'a>> {
    // The byte before the range shows whether a line begins at its start.
    let lead = u64::from(unit.start > 0);
    let base = unit.start - lead;
    let mut held = ParsedLine { file, base, memory, filled: 0, cancel };
    held.read_to(unit.end)?;
    let begins = if lead == 0 { Some(0) } else { memchr(b'\n', held.bytes()).map(|at| at + 1) };
    let Some(from) = begins.filter(|begins| *begins < held.filled) else {
        return Ok(UnitText { start: unit.end, bytes: b"", overlong: None, from: 0 });
    };
    let mut overlong = None;
    if held.bytes().last() != Some(&b'\n') && unit.end < file.len() {
        let last = memrchr(b'\n', held.bytes()).map_or(0, |at| at + 1).max(from);
        overlong = held.finish_line(last, longest)?;
    }
    let filled = held.filled;
    Ok(UnitText { start: base + from as u64, bytes: memory.get(from..filled).unwrap_or_default(), overlong, from })
}

/// A part of the file in memory.
struct ParsedLine<'a> {
    file: &'a ReadFile,
    /// Offset in the file, in bytes.
    base: u64,
    memory: &'a mut Vec<u8>,
    /// Number of bytes of the memory that hold data of the file.
    filled: usize,
    cancel: &'a Cancel,
}

impl ParsedLine<'_> {
    fn bytes(&self) -> &[u8] {
        self.memory.get(..self.filled).unwrap_or_default()
    }

    /// Reads up to an offset in the file.
    fn read_to(&mut self, end: u64) -> Outcome<()> {
        let wanted = usize::try_from(end.saturating_sub(self.base)).unwrap_or(usize::MAX);
        if self.memory.len() < wanted {
            self.memory.resize(wanted, 0);
        }
        while self.filled < wanted {
            self.cancel.check()?;
            let space = self.memory.get_mut(self.filled..wanted.min(self.filled + READ_BYTES)).unwrap_or_default();
            self.filled += read_some(self.file, self.base + self.filled as u64, space)?;
        }
        Ok(())
    }

    /// Reads to the end of the line that begins at `last`. A line that is too long is removed from the memory, and only its length is
    /// determined.
    fn finish_line(&mut self, last: usize, longest: usize) -> Outcome<Option<OverlongLine>> {
        while self.filled - last <= longest && self.base + (self.filled as u64) < self.file.len() {
            let old = self.filled;
            let step = FIRST_READ_BYTES.max((old - last) / 2) as u64;
            self.read_to(self.file.len().min(self.base + old as u64 + step))?;
            if let Some(end) = memchr(b'\n', self.bytes().get(old..).unwrap_or_default()) {
                self.filled = old + end + 1;
                break;
            }
        }
        let is_ended = self.bytes().last() == Some(&b'\n');
        let mut bytes = (self.filled - last - usize::from(is_ended)) as u64;
        if bytes <= longest as u64 {
            return Ok(None);
        }
        self.filled = last;
        let start = self.base + last as u64;
        if !is_ended {
            let mut piece = vec![0; READ_BYTES];
            while start + bytes < self.file.len() {
                self.cancel.check()?;
                let left = usize::try_from(self.file.len() - start - bytes).unwrap_or(usize::MAX).min(READ_BYTES);
                let count = read_some(self.file, start + bytes, piece.get_mut(..left).unwrap_or_default())?;
                match memchr(b'\n', piece.get(..count).unwrap_or_default()) {
                    Some(end) => return Ok(Some(OverlongLine { start, bytes: bytes + end as u64 })),
                    None => bytes += count as u64,
                }
            }
        }
        Ok(Some(OverlongLine { start, bytes }))
    }
}

/// Reads at least one byte.
fn read_some(file: &ReadFile, at: u64, space: &mut [u8]) -> Outcome<usize> {
    let count = file.read_at(space, at).map_err(|error| Failure::io("reading the text", file.path(), &error))?;
    if count == 0 {
        return Err(Failure::data("reading the text", "the file changed while it was read")
            .on(Subject::path(file.path()))
            .with_hint("run it again when no program writes to the file"));
    }
    Ok(count)
}
