//! Provides the blocks of a pass in order, to any thread that requests the next one.

use super::inputs::{check_unchanged, Pass};
use super::journal::ResumePosition;
use crate::tokens::encode::{FileBlock, RowFilter};
use gristmill_core::{Cancel, Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::raw_index;
use gristmill_data::source::documents::{
    BlockReader, DocumentBlock, DocumentFields, Position, TextFile, MAX_LINE_BYTES,
};
use gristmill_pycompat::pickle::IndexReader;
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use gristmill_storage::read::ReadFile;
use std::path::Path;

/// A block and its position in the file.
pub(super) struct BlockAndPosition {
    pub(super) piece: FileBlock,
    /// Number of bytes of the file on disk since the previous block.
    pub(super) consumed: u64,
    /// The position at which a run resumes after this block.
    pub(super) next: ResumePosition,
    /// Whether it is the last block of its file.
    pub(super) is_last: bool,
    /// The problem, if the file ends early.
    pub(super) damage: Option<Problem>,
}

/// Reads the files of a pass.
pub(super) struct PassReader<'a> {
    pass: &'a Pass,
    /// Number of the pass.
    number: usize,
    index: Option<&'a ReadFile>,
    fields: &'a DocumentFields,
    block_bytes: usize,
    cancel: &'a Cancel,
    /// Index of the file that is being read, or is read next.
    file: usize,
    from: Position,
    /// Number of bytes of that file that were read before `from`.
    consumed: u64,
    /// Reader of the open file, and the number of its bytes before the next block.
    open: Option<(Box<dyn BlockReader + 'a>, u64)>,
    /// Whether to read no more text. Each remaining file then yields one empty block.
    skips_text: bool,
}

/// Maximum number of bytes that are examined after the last entry of an index.
const TAIL_BYTES: usize = 1 << 16;

impl<'a> PassReader<'a> {
    /// Returns a reader that starts at a position of this pass. `index` is the opened raw index of the pass.
    pub(super) fn new(
        pass: &'a Pass,
        index: Option<&'a ReadFile>,
        fields: &'a DocumentFields,
        place: ResumePosition,
        block_bytes: usize,
        cancel: &'a Cancel,
    ) -> Self {
        let from = Position { offset: place.offset, line: place.line };
        Self {
            pass,
            number: place.pass,
            index,
            fields,
            block_bytes,
            cancel,
            file: place.file,
            from,
            consumed: place.consumed,
            open: None,
            skips_text: false,
        }
    }

    /// Returns the next block, reusing the memory of `spare`; `None` after all files. The last block of every file is empty.
    pub(super) fn next(&mut self, spare: Vec<u8>) -> Outcome<Option<BlockAndPosition>> {
        let Some(file) = self.pass.files.get(self.file) else { return Ok(None) };
        if self.skips_text {
            return Ok(Some(self.skip_file()));
        }
        let (mut reader, before) = match self.open.take() {
            Some(open) => open,
            None => {
                let opened = self.open(file);
                if !is_one_version(file) || opened.is_err() {
                    check_unchanged(file)?;
                }
                opened?
            }
        };
        let end = file.rows.as_ref().map_or(u64::MAX, |rows| rows.range.end);
        let is_past_end = reader.position().line >= end;
        let block = if is_past_end { None } else { reader.next(spare)? };
        let is_last = block.is_none();
        let at = reader.position();
        // A compressed file is read from its start, so the bytes before a resumed position are read again.
        let now = if is_last { file.bytes } else { reader.consumed().min(file.bytes).max(before) };
        let mut fed = BlockAndPosition {
            piece: FileBlock {
                file: self.file,
                documents: block.unwrap_or_default(),
                rows: self.pass.row_filter(self.file),
            },
            consumed: now.saturating_sub(before),
            next: ResumePosition {
                pass: self.number,
                file: self.file,
                offset: at.offset,
                line: at.line,
                consumed: now,
            },
            is_last,
            damage: if is_last && !is_past_end { reader.damage()? } else { None },
        };
        if is_last {
            if !is_one_version(file) {
                check_unchanged(file)?;
            }
            self.file += 1;
            (self.from, self.consumed) = (Position::default(), 0);
            fed.next = ResumePosition { pass: self.number, file: self.file, ..ResumePosition::default() };
        } else {
            self.open = Some((reader, now));
        }
        Ok(Some(fed))
    }

    /// Stops reading text, because no format packs more of it.
    pub(super) fn skip_text(&mut self) {
        self.skips_text = true;
    }

    /// Ends the current file with an empty block.
    fn skip_file(&mut self) -> BlockAndPosition {
        let piece = FileBlock { file: self.file, documents: DocumentBlock::default(), rows: RowFilter::default() };
        (self.open, self.from, self.consumed, self.file) = (None, Position::default(), 0, self.file + 1);
        let next = ResumePosition { pass: self.number, file: self.file, ..ResumePosition::default() };
        BlockAndPosition { piece, consumed: 0, next, is_last: true, damage: None }
    }

    fn open(&self, file: &TextFile) -> Outcome<(Box<dyn BlockReader + 'a>, u64)> {
        let Some(index) = self.index else {
            // The offset of a line, or of a row that is a line, is known only after the preceding ones are read.
            let is_numbered = file.source.is_table() && file.source.is_divisible(file);
            let skipped = file.rows.as_ref().filter(|_| is_numbered && self.from == Position::default());
            let from = skipped.map_or(self.from, |rows| Position { line: rows.range.start, offset: 0 });
            let reader = file.source.open(file, self.fields, from, self.block_bytes, self.cancel)?;
            let consumed = match self.consumed {
                0 if file.source.is_divisible(file) => reader.consumed(),
                consumed => consumed,
            };
            return Ok((reader, consumed));
        };
        let mut items = raw_index::lines(index);
        for _ in 0..self.from.line {
            items.next_item()?;
        }
        let text = file.open()?;
        let (at, consumed, block_bytes) = (self.from, self.consumed, self.block_bytes);
        Ok((Box::new(SpanReader { text, index, items, at, consumed, block_bytes }), consumed))
    }
}

/// Whether every read returns data of the version that was found or fails, which is true of objects in stores. Other files are checked for
/// changes when they are opened and at their end.
fn is_one_version(file: &TextFile) -> bool {
    is_remote(&file.path)
}

/// Reads a file by the entries of a raw index.
struct SpanReader<'a> {
    text: ReadFile,
    index: &'a ReadFile,
    items: IndexReader<'a>,
    /// Number of the next entry, and the largest end of the previous entries.
    at: Position,
    consumed: u64,
    block_bytes: usize,
}

impl BlockReader for SpanReader<'_> {
    fn next(&mut self, mut bytes: Vec<u8>) -> Outcome<Option<DocumentBlock>> {
        bytes.clear();
        let first = self.at.line;
        let mut spans = Vec::new();
        // Each span also needs memory in the list.
        while bytes.len() + spans.len() * 16 < self.block_bytes {
            let Some((start, length)) = self.items.next_item()? else { break };
            let size = usize::try_from(length).ok().filter(|size| *size <= MAX_LINE_BYTES);
            let Some(size) = size else { return Err(self.refuse("is longer than 64 MiB")) };
            let end = start.checked_add(length).filter(|end| *end <= self.text.len());
            let Some(end) = end else { return Err(self.refuse("is beyond the end of the file")) };
            let old = bytes.len();
            bytes.resize(old + size, 0);
            let space = bytes.get_mut(old..).unwrap_or_default();
            self.text
                .read_exact_at(space, start)
                .map_err(|error| Failure::io("reading the text", self.text.path(), &error))?;
            spans.push((start, size));
            self.at = Position { line: self.at.line + 1, offset: self.at.offset.max(end) };
        }
        self.consumed += bytes.len() as u64;
        Ok((!spans.is_empty()).then_some(DocumentBlock::Spans { first, spans, bytes }))
    }

    fn position(&self) -> Position {
        self.at
    }

    fn consumed(&self) -> u64 {
        self.consumed
    }

    fn damage(&self) -> Outcome<Option<Problem>> {
        match is_older(self.index.path(), self.text.path()) {
            true => left_over(&self.text, self.at.offset),
            false => Ok(None),
        }
    }
}

impl SpanReader<'_> {
    fn refuse(&self, why: &str) -> Failure {
        Failure::data("reading by the index", format!("item {} of the index {why}", self.at.line))
            .on(Subject::path(self.text.path()))
            .with_hint("make a new index, or leave --index away: the lines themselves are read then")
    }
}

/// Whether an index was written before its text was last changed. A newer index omits text deliberately.
fn is_older(index: &Path, text: &Path) -> bool {
    let time = |path: &Path| files::metadata(path).ok().map(|facts| facts.stamp.modified_ns);
    time(index).zip(time(text)).is_some_and(|(index, text)| index < text)
}

/// Reports text after the last entry of an index, which was appended after the index was written and is not packed.
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

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_core::pack::TextField;
    use gristmill_data::source::documents::{list_jsonl, OtherFields, Selection};
    use std::collections::BTreeMap;

    #[test]
    fn resume_position_counts_the_bytes_of_the_file_that_were_read() {
        let fields = DocumentFields { text: TextField::Key("text".into()), others: OtherFields::None };
        let cancel = Cancel::default();
        for name in [
            "parquet/p02_codecs_and_encodings/input/6-zstd.parquet",
            "csv/csv_gzip_rows/input/data/train-00001-of-00002.csv.gz",
            "csv/csv_rows/input/train-0.csv",
        ] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(name);
            let selection = Selection { reads_tables: true, ..Selection::default() };
            let files = list_jsonl(&[path], selection, &cancel).unwrap().files;
            let bytes = files[0].bytes;
            let pass = Pass { files, slots: BTreeMap::new(), assignments: BTreeMap::new(), index: None };
            let reader = |at| PassReader::new(&pass, None, &fields, at, 1, &cancel);
            let mut whole = reader(ResumePosition::default());
            let mut last = 0;
            while let Some(block) = whole.next(Vec::new()).unwrap().filter(|block| !block.is_last) {
                let read = block.next.consumed;
                assert!(read >= last, "{name}");
                last = read;
                let mut rest = reader(block.next);
                let left = std::iter::from_fn(|| rest.next(Vec::new()).unwrap()).map(|block| block.consumed);
                assert!(read == 0 || left.sum::<u64>() == bytes - read, "{name}, after {read} bytes");
            }
            assert!(last > 0, "{name}");
        }
    }
}
