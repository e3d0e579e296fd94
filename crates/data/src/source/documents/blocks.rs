//! Blocks of whole lines, the unit of work of the workers.

use super::line_form::LineForm;
use super::packing::UnpackedReader;
use super::{Packing, TextFile};
use gristmill_core::text::{agree, bytes as size, count, grouped};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_storage::read::ReadFile;
use memchr::{memchr, memchr_iter, memrchr};
use std::sync::Arc;

/// Maximum size in bytes of a line in memory.
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// Size of one read in bytes.
const READ_BYTES: usize = 1 << 20;

/// A position between two lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Number of bytes of decompressed text before the position.
    pub offset: u64,
    /// Number of lines before the position.
    pub line: u64,
}

/// A line that is too long for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverlongLine {
    /// Offset in the decompressed text, in bytes.
    pub start: u64,
    /// Length without the `\n`, in bytes.
    pub bytes: u64,
}

/// Whole lines, split at `\n` only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// Number of the first line, counted from 0. It is 0 in a block read by position ([`read_unit`](super::read_unit)), where the number is
    /// unknown.
    pub first_line: u64,
    /// Offset of the first line in the decompressed text, in bytes.
    pub start: u64,
    /// The lines with their `\n`; the last line of a file may lack it.
    pub bytes: Vec<u8>,
    /// A line after the lines in `bytes` that is longer than [`MAX_LINE_BYTES`].
    pub overlong: Option<OverlongLine>,
    /// Offset of the next block in the decompressed text, in bytes.
    pub end: u64,
}

impl Block {
    /// Returns every line in order, an overlong one last.
    pub fn lines(&self) -> Lines<'_> {
        Lines { block: self, at: 0, number: self.first_line, overlong: self.overlong }
    }

    /// Returns the number of lines, including an overlong one.
    pub fn count_lines(&self) -> u64 {
        let ended = memchr_iter(b'\n', &self.bytes).count() as u64;
        let open = !self.bytes.is_empty() && self.bytes.last() != Some(&b'\n');
        ended + u64::from(open) + u64::from(self.overlong.is_some())
    }
}

/// One line of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Line number, counted from [`Block::first_line`].
    pub number: u64,
    /// Offset in the decompressed text, in bytes.
    pub start: u64,
    /// Bytes without the `\n`; empty for an overlong line.
    pub bytes: &'a [u8],
    /// Length without the `\n`, in bytes.
    pub len: u64,
    /// Whether a `\n` ends the line.
    pub is_ended: bool,
}

impl Line<'_> {
    /// Whether the line is too long for memory, so that only its length is known.
    pub fn is_overlong(&self) -> bool {
        self.len != self.bytes.len() as u64
    }
}

/// The lines of a block; see [`Block::lines`].
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    block: &'a Block,
    at: usize,
    number: u64,
    overlong: Option<OverlongLine>,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let number = self.number;
        self.number += 1;
        let rest = self.block.bytes.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            let overlong = self.overlong.take()?;
            let is_ended = overlong.start + overlong.bytes < self.block.end;
            return Some(Line { number, start: overlong.start, bytes: b"", len: overlong.bytes, is_ended });
        }
        let found = memchr(b'\n', rest);
        let bytes = rest.get(..found.unwrap_or(rest.len())).unwrap_or_default();
        let start = self.block.start + self.at as u64;
        self.at += bytes.len() + 1;
        let len = bytes.len() as u64;
        // A line that is too long is treated the same way if it happens to be in a block, so that the result does not depend on the size of
        // blocks.
        let bytes = if bytes.len() > MAX_LINE_BYTES { b"" } else { bytes };
        Some(Line { number, start, bytes, len, is_ended: found.is_some() })
    }
}

/// Splits a line where a reader with universal newlines also ends lines: at `\r\n` (whose `\n` is already removed) and at every other `\r`.
/// Yields each piece with its offset in the line, in bytes.
pub fn cr_lines(line: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    // A `\r` at the end belongs to the `\n` after it.
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let from = at?;
        let rest = line.get(from..).unwrap_or_default();
        let end = memchr(b'\r', rest);
        at = end.map(|end| from + end + 1);
        Some((from, rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()))
    })
}

/// The position where compressed text ends prematurely, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Position in the decompressed text; all whole lines before it were returned.
    pub at: Position,
    /// Number of decompressed bytes after the last whole line, which are not returned.
    pub lost: u64,
    /// Number of compressed bytes read.
    pub packed: u64,
    /// Compression of the file.
    pub packing: Packing,
    /// Reason given by the decoder.
    pub why: String,
}

impl Damage {
    /// Returns the damage as a problem of its file.
    pub fn problem(&self, file: &TextFile) -> Problem {
        let item = file.source.item();
        let lost = match self.lost {
            0 => String::new(),
            lost => format!(", with {} of an unfinished {item}", size(lost)),
        };
        let message = format!(
            "the {} stream cannot be read past byte {} of {}: {}; {} before it {} read, what follows is left out{lost}",
            self.packing.title(),
            grouped(self.packed),
            grouped(file.bytes),
            self.why,
            count(self.at.line, item),
            agree(self.at.line, "was", "were"),
        );
        let subject = Subject::path(&file.path);
        // A row may span several lines, so its number is not that of a line.
        let subject = if item == "line" { subject.line(self.at.line + 1) } else { subject };
        Problem::problem(ProblemKind::CutShort, subject, message)
            .with_hint("download or compress the file again; a newer copy is read from the beginning")
    }
}

/// Reads the blocks of one file in order.
pub struct Blocks {
    input: UnpackedReader,
    packing: Packing,
    block_bytes: usize,
    at: Position,
    /// Bytes that were read but not returned, which are the beginning of a line.
    waiting: Vec<u8>,
    is_over: bool,
    damage: Option<Damage>,
    /// Converts documents that are not lines to lines.
    form: Option<Box<dyn LineForm>>,
    cancel: Cancel,
}

impl Blocks {
    /// Opens a file to read blocks of about `block_bytes` from a position, which is the [`Block::end`] of an earlier read. A compressed
    /// file is decompressed from its beginning in any case.
    pub fn open(file: &TextFile, block_bytes: usize, from: Position, cancel: &Cancel) -> Outcome<Self> {
        Self::open_with(None, file, block_bytes, from, cancel)
    }

    /// Opens a file whose documents `form` converts to lines. It is read from its beginning if the form or a compression requires it.
    pub(super) fn open_form(
        form: Box<dyn LineForm>,
        file: &TextFile,
        block_bytes: usize,
        from: Position,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        Self::open_with(Some(form), file, block_bytes, from, cancel)
    }

    fn open_with(
        mut form: Option<Box<dyn LineForm>>,
        file: &TextFile,
        block_bytes: usize,
        from: Position,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let source = Arc::new(file.open()?);
        let mut input = UnpackedReader::new(Arc::clone(&source), file.packing)?;
        if file.packing.is_plain() && can_begin_at(from.offset, form.as_deref_mut(), &source)? {
            input.seek(from.offset);
        } else {
            skip(&mut input, from.offset, form.as_deref_mut(), file, cancel)?;
        }
        Ok(Self {
            input,
            packing: file.packing,
            block_bytes: block_bytes.clamp(1, MAX_LINE_BYTES),
            at: from,
            waiting: Vec::new(),
            is_over: false,
            damage: None,
            form,
            cancel: cancel.clone(),
        })
    }

    /// Reads the next block into the memory of `spare`; returns `None` at the end of the text, or of its readable part.
    pub fn next(&mut self, mut spare: Vec<u8>) -> Outcome<Option<Block>> {
        spare.clear();
        spare.append(&mut self.waiting);
        let mut searched = 0;
        while !self.is_over {
            let end = match spare.len() < self.block_bytes {
                true => None,
                false => memrchr(b'\n', spare.get(searched..).unwrap_or_default()).map(|at| searched + at + 1),
            };
            if let Some(end) = end {
                self.waiting.extend_from_slice(spare.get(end..).unwrap_or_default());
                spare.truncate(end);
                return Ok(Some(self.block(spare, None)));
            }
            if spare.len() > MAX_LINE_BYTES && memchr(b'\n', &spare).is_none() {
                return self.overlong(spare);
            }
            if spare.len() >= self.block_bytes {
                searched = spare.len();
            }
            self.fill(&mut spare)?;
        }
        if let Some(why) = self.input.broken() {
            let whole = memrchr(b'\n', &spare).map_or(0, |at| at + 1);
            let lost = (spare.len() - whole) as u64;
            spare.truncate(whole);
            let lines = memchr_iter(b'\n', &spare).count() as u64;
            let at = Position { offset: self.at.offset + whole as u64, line: self.at.line + lines };
            let (packing, packed, why) = (self.packing, self.input.consumed(), why.to_owned());
            self.damage.get_or_insert(Damage { at, lost, packed, packing, why });
        }
        if self.form.as_ref().is_some_and(|form| !form.has_open_line()) {
            spare.truncate(memrchr(b'\n', &spare).map_or(0, |at| at + 1));
        }
        match spare.is_empty() {
            true => Ok(None),
            false => Ok(Some(self.block(spare, None))),
        }
    }

    /// Returns the problem of damaged documents; `None` while there are more blocks, because it is known only at the end.
    pub(super) fn form_damage(&self, file: &TextFile) -> Option<Problem> {
        if !self.is_over || !self.waiting.is_empty() {
            return None;
        }
        let (message, hint) = self.form.as_ref()?.damage(self.at.line)?;
        Some(Problem::problem(ProblemKind::CutShort, Subject::path(&file.path), message).with_hint(hint))
    }

    /// Returns the position of the next block.
    pub fn position(&self) -> Position {
        self.at
    }

    /// Returns the number of bytes of the file read so far, for progress.
    pub fn consumed(&self) -> u64 {
        self.input.consumed()
    }

    /// Returns where and why the text ended prematurely; valid after the last block.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    fn fill(&mut self, into: &mut Vec<u8>) -> Outcome<()> {
        self.cancel.check()?;
        let old = into.len();
        let wanted = READ_BYTES.min(self.block_bytes.saturating_sub(old).max(READ_BYTES / 16));
        into.resize(old + wanted, 0);
        let count = self.input.read(into.get_mut(old..).unwrap_or_default())?;
        into.truncate(old + count);
        if let Some(form) = &mut self.form {
            form.apply(into.get_mut(old..).unwrap_or_default());
        }
        self.is_over = count == 0;
        Ok(())
    }

    fn block(&mut self, bytes: Vec<u8>, overlong: Option<OverlongLine>) -> Block {
        let mut block = Block { first_line: self.at.line, start: self.at.offset, bytes, overlong, ..Block::default() };
        let skipped = overlong.map_or(0, |line| line.bytes + 1);
        block.end = self.at.offset + block.bytes.len() as u64 + skipped;
        self.at = Position { offset: block.end, line: self.at.line + block.count_lines() };
        block
    }

    /// Reads to the end of a line whose beginning is already too long for memory.
    fn overlong(&mut self, beginning: Vec<u8>) -> Outcome<Option<Block>> {
        let start = self.at.offset;
        let mut bytes = beginning.len() as u64;
        drop(beginning);
        let mut piece = Vec::new();
        while !self.is_over {
            piece.clear();
            self.fill(&mut piece)?;
            if let Some(end) = memchr(b'\n', &piece) {
                bytes += end as u64;
                self.waiting.extend_from_slice(piece.get(end + 1..).unwrap_or_default());
                return Ok(Some(self.block(Vec::new(), Some(OverlongLine { start, bytes }))));
            }
            bytes += piece.len() as u64;
        }
        if self.form.as_ref().is_some_and(|form| !form.has_open_line()) {
            return Ok(None);
        }
        let mut block = self.block(Vec::new(), Some(OverlongLine { start, bytes }));
        // The end of the text ends the line, not a `\n`.
        block.end -= 1;
        self.at.offset = block.end;
        Ok(Some(block))
    }
}

/// Whether reading can begin at an offset of a file that is not compressed; a line must begin there.
fn can_begin_at(offset: u64, form: Option<&mut (dyn LineForm + 'static)>, source: &ReadFile) -> Outcome<bool> {
    let (Some(form), Some(before)) = (form, offset.checked_sub(1)) else { return Ok(true) };
    let mut byte = [0];
    let read =
        source.read_at(&mut byte, before).map_err(|error| Failure::io("reading the text", source.path(), &error))?;
    Ok(read > 0 && form.resume(byte[0]))
}

fn skip(
    input: &mut UnpackedReader,
    mut left: u64,
    mut form: Option<&mut (dyn LineForm + 'static)>,
    file: &TextFile,
    cancel: &Cancel,
) -> Outcome<()> {
    let mut piece = vec![0; READ_BYTES];
    while left > 0 {
        cancel.check()?;
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        let count = input.read(piece.get_mut(..wanted).unwrap_or_default())?;
        if count == 0 {
            return Err(Failure::data("reading the text", "it ends before the place where an earlier run stopped")
                .on(Subject::path(&file.path))
                .with_hint("the file changed; --restart begins again"));
        }
        if let Some(form) = &mut form {
            form.apply(piece.get_mut(..count).unwrap_or_default());
        }
        left -= count as u64;
    }
    Ok(())
}
