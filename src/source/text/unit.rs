//! A plain file in ranges, so that several threads read it at once.

use super::blocks::{Block, Overlong, LONGEST_LINE};
use crate::model::{Cancel, Failure, Outcome, Subject};
use crate::source::jsonl::{self, Unit};
use crate::storage::read::ReadFile;
use memchr::{memchr, memrchr};

/// Bytes read at a time behind the end of a range.
const STEP: usize = 256 << 10;

/// Divides a plain file of `len` bytes into ranges of `size` bytes. The lines that begin in a range belong to it.
pub fn plain_units(len: u64, size: u64) -> Vec<Unit> {
    jsonl::units(len, size)
}

/// Reads the lines that begin in a range, in the memory of `spare`: an empty block where none does. Line numbers count from 0 in each
/// block; the block before knows by [`Block::count_lines`] how many come before. A last line longer than [`LONGEST_LINE`] is only measured.
pub fn read_unit(file: &ReadFile, unit: Unit, mut spare: Vec<u8>, cancel: &Cancel) -> Outcome<Block> {
    spare.clear();
    // The byte before tells whether a line begins with the range.
    let lead = usize::from(unit.start > 0);
    let from = unit.start - lead as u64;
    read(file, from, unit.end, &mut spare, cancel)?;
    let begins = match lead {
        0 => Some(0),
        _ => memchr(b'\n', &spare).map(|at| at + 1),
    };
    let mut block = Block { start: unit.end, end: unit.end, ..Block::default() };
    let Some(begins) = begins.filter(|begins| *begins < spare.len()) else {
        return Ok(block);
    };
    block.start = from + begins as u64;
    if spare.last() != Some(&b'\n') && unit.end < file.len() {
        let last = memrchr(b'\n', &spare).map_or(0, |at| at + 1).max(begins);
        block.overlong = finish_line(file, from, last, &mut spare, cancel)?;
    }
    spare.drain(..begins);
    let is_ended = block.overlong.is_some_and(|line| line.start + line.bytes < file.len());
    block.end = match block.overlong {
        Some(line) => line.start + line.bytes + u64::from(is_ended),
        None => block.start + spare.len() as u64,
    };
    block.bytes = spare;
    Ok(block)
}

/// Reads on to the end of the line that begins at `last` of `held`; one that is too long is taken out again and measured.
fn finish_line(
    file: &ReadFile,
    from: u64,
    last: usize,
    held: &mut Vec<u8>,
    cancel: &Cancel,
) -> Outcome<Option<Overlong>> {
    let start = from + last as u64;
    let mut at = from + held.len() as u64;
    while at < file.len() && held.len() - last <= LONGEST_LINE {
        let old = held.len();
        let step = STEP.max((old - last) / 2) as u64;
        read(file, at, file.len().min(at + step), held, cancel)?;
        at = from + held.len() as u64;
        if let Some(end) = memchr(b'\n', held.get(old..).unwrap_or_default()) {
            held.truncate(old + end + 1);
            at = file.len();
        }
    }
    let is_ended = held.last() == Some(&b'\n');
    if held.len() - last - usize::from(is_ended) <= LONGEST_LINE {
        return Ok(None);
    }
    let mut bytes = (held.len() - last - usize::from(is_ended)) as u64;
    held.truncate(last);
    let mut piece = Vec::new();
    while !is_ended && start + bytes < file.len() {
        piece.clear();
        let at = start + bytes;
        read(file, at, file.len().min(at + STEP as u64), &mut piece, cancel)?;
        match memchr(b'\n', &piece) {
            Some(end) => return Ok(Some(Overlong { start, bytes: bytes + end as u64 })),
            None => bytes += piece.len() as u64,
        }
    }
    Ok(Some(Overlong { start, bytes }))
}

/// Appends the bytes of a range of the file.
fn read(file: &ReadFile, from: u64, to: u64, into: &mut Vec<u8>, cancel: &Cancel) -> Outcome<()> {
    let mut filled = into.len();
    into.resize(filled + usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX), 0);
    let mut at = from;
    while let Some(space) = into.get_mut(filled..).filter(|space| !space.is_empty()) {
        cancel.check()?;
        let wanted = space.len().min(STEP * 4);
        let space = space.get_mut(..wanted).unwrap_or_default();
        let count = file.read_at(space, at).map_err(|error| Failure::io("reading the text", file.path(), &error))?;
        if count == 0 {
            return Err(Failure::data("reading the text", "the file changed while it was read")
                .on(Subject::path(file.path()))
                .with_hint("run it again once nobody writes to the file any more"));
        }
        filled += count;
        at += count as u64;
    }
    Ok(())
}
