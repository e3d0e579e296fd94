//! Provides the blocks of the text of a pass in order, to whichever thread requests the next.

use super::inputs::{check_unchanged, Pass};
use super::journal::ResumePosition;
use crate::formats::modalities::raw_index;
use crate::source::documents::{Block, Blocks, Position, TextFile, MAX_LINE_BYTES};
use crate::tokens::encode::FileBlock;
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_pycompat::pickle::IndexReader;
use gristmill_storage::read::{open_read, ReadFile};
use std::path::Path;

/// A block with data about its place in the file.
pub(super) struct Fed {
    pub(super) piece: FileBlock,
    /// Bytes of the file on disk since the previous block.
    pub(super) consumed: u64,
    /// Where a run resumes after this block.
    pub(super) next: ResumePosition,
    /// Whether it is the last block of its file.
    pub(super) is_last: bool,
    /// Set if the file ends early.
    pub(super) damage: Option<Problem>,
}

/// Reads the files of a pass.
pub(super) struct Feed<'a> {
    pass: &'a Pass,
    number: usize,
    index: Option<&'a ReadFile>,
    block_bytes: usize,
    cancel: &'a Cancel,
    /// The file that is being read, or is read next.
    file: usize,
    from: Position,
    open: Option<OpenFile<'a>>,
    /// Whether no more text is read: what is left of each file is one empty block.
    skips_text: bool,
}

enum OpenFile<'a> {
    Lines {
        blocks: Box<Blocks>,
        consumed: u64,
    },
    /// Reads by the items of an index: `next` is the next item, and the items before it end at `end`.
    Spans {
        text: ReadFile,
        items: IndexReader<'a>,
        next: u64,
        end: u64,
    },
}

/// Bytes that are examined after the last item of an index.
const TAIL_BYTES: usize = 1 << 16;

impl<'a> Feed<'a> {
    /// Starts at a position of this pass. `index` is the opened index of the pass.
    pub(super) fn new(
        pass: &'a Pass,
        index: Option<&'a ReadFile>,
        place: ResumePosition,
        block_bytes: usize,
        cancel: &'a Cancel,
    ) -> Self {
        let from = Position { offset: place.offset, line: place.line };
        Self {
            pass,
            number: place.pass,
            index,
            block_bytes,
            cancel,
            file: place.file,
            from,
            open: None,
            skips_text: false,
        }
    }

    /// Returns the next block in the memory of `spare`; `None` after all files. Every file has a last block, which may be empty.
    pub(super) fn next(&mut self, spare: Vec<u8>) -> Outcome<Option<Fed>> {
        let Some(file) = self.pass.files.get(self.file) else { return Ok(None) };
        if self.skips_text {
            return Ok(Some(self.skip_file()));
        }
        if self.open.is_none() {
            check_unchanged(file)?;
            self.open = Some(self.open(file)?);
        }
        let mut fed = match &mut self.open {
            Some(OpenFile::Lines { blocks, consumed }) => {
                let block = blocks.next(spare)?;
                let is_last = block.is_none();
                let at = blocks.position();
                let now = if is_last { file.bytes } else { blocks.consumed().min(file.bytes) };
                let fed = Fed {
                    piece: FileBlock { file: self.file, block: block.unwrap_or_default(), spans: None },
                    consumed: now.saturating_sub(*consumed),
                    next: ResumePosition { pass: self.number, file: self.file, offset: at.offset, line: at.line },
                    is_last,
                    damage: if is_last { blocks.damage().map(|damage| damage.problem(file)) } else { None },
                };
                *consumed = now;
                fed
            }
            Some(OpenFile::Spans { text, items, next, end }) => {
                let mut fed = spans(self.number, self.file, text, items, next, spare, self.block_bytes)?;
                *end = fed.next.offset.max(*end);
                if fed.is_last && self.index.is_some_and(|index| is_older(index.path(), text.path())) {
                    fed.damage = left_over(text, *end)?;
                }
                fed
            }
            None => return Ok(None),
        };
        if fed.is_last {
            check_unchanged(file)?;
            self.open = None;
            self.file += 1;
            self.from = Position::default();
            fed.next = ResumePosition { pass: self.number, file: self.file, ..ResumePosition::default() };
        }
        Ok(Some(fed))
    }

    /// Reads no more text, because nothing more of it is packed.
    pub(super) fn skip_text(&mut self) {
        self.skips_text = true;
    }

    /// Ends the current file with an empty block.
    fn skip_file(&mut self) -> Fed {
        let piece = FileBlock { file: self.file, block: Block::default(), spans: None };
        (self.open, self.from, self.file) = (None, Position::default(), self.file + 1);
        let next = ResumePosition { pass: self.number, file: self.file, ..ResumePosition::default() };
        Fed { piece, consumed: 0, next, is_last: true, damage: None }
    }

    fn open(&self, file: &TextFile) -> Outcome<OpenFile<'a>> {
        let Some(index) = self.index else {
            let blocks = Box::new(Blocks::open(file, self.block_bytes, self.from, self.cancel)?);
            let consumed = if file.packing.is_plain() { self.from.offset } else { 0 };
            return Ok(OpenFile::Lines { blocks, consumed });
        };
        let mut items = raw_index::lines(index);
        for _ in 0..self.from.line {
            items.next_item()?;
        }
        Ok(OpenFile::Spans { text: open_read(&file.path)?, items, next: self.from.line, end: self.from.offset })
    }
}

/// Whether an index was written before its text. An index made later leaves out text on purpose.
fn is_older(index: &Path, text: &Path) -> bool {
    let time = |path: &Path| std::fs::metadata(path).and_then(|facts| facts.modified()).ok();
    time(index).zip(time(text)).is_some_and(|(index, text)| index < text)
}

/// Reports text after the last item of an index: it was written after the index and is not packed.
fn left_over(text: &ReadFile, end: u64) -> Outcome<Option<Problem>> {
    let left = text.len().saturating_sub(end);
    let mut behind = vec![0; usize::try_from(left).unwrap_or(TAIL_BYTES).min(TAIL_BYTES)];
    text.read_exact_at(&mut behind, end).map_err(|error| Failure::io("reading the text", text.path(), &error))?;
    if behind.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    let why = format!("its raw index ends at byte {end} of {}: what follows is not packed", text.len());
    let subject = Subject { byte_offset: Some(end), ..Subject::path(text.path()) };
    Ok(Some(Problem::problem(ProblemKind::IndexMismatch, subject, why).with_hint("make the index again")))
}

/// Returns the spans of the next items of an index.
fn spans(
    pass: usize,
    file: usize,
    text: &ReadFile,
    items: &mut IndexReader<'_>,
    next: &mut u64,
    mut spare: Vec<u8>,
    most: usize,
) -> Outcome<Fed> {
    spare.clear();
    let first = *next;
    let mut found = Vec::new();
    let mut is_last = false;
    // A span also uses memory in the list.
    while spare.len() + found.len() * 16 < most {
        let Some((start, length)) = items.next_item()? else {
            is_last = true;
            break;
        };
        let refuse = |why: String| {
            Failure::data("reading by the index", why)
                .on(Subject::path(text.path()))
                .with_hint("make a new index, or leave --index away: the lines themselves are read then")
        };
        let size = usize::try_from(length).ok().filter(|size| *size <= MAX_LINE_BYTES);
        let Some(size) = size else { return Err(refuse(format!("item {next} of the index is longer than 64 MiB"))) };
        if start.checked_add(length).is_none_or(|end| end > text.len()) {
            return Err(refuse(format!("item {next} of the index is beyond the end of the file")));
        }
        let old = spare.len();
        spare.resize(old + size, 0);
        let space = spare.get_mut(old..).unwrap_or_default();
        text.read_exact_at(space, start).map_err(|error| Failure::io("reading the text", text.path(), &error))?;
        found.push((start, size));
        *next += 1;
    }
    let consumed = spare.len() as u64;
    let end = found.last().map_or(0, |(start, length)| start + *length as u64);
    let block = Block { first_line: first, bytes: spare, end, ..Block::default() };
    Ok(Fed {
        piece: FileBlock { file, block, spans: Some(found) },
        consumed,
        next: ResumePosition { pass, file, offset: end, line: *next },
        is_last,
        damage: None,
    })
}
