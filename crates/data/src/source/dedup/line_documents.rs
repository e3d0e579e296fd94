//! Sequential reading of the lines of one file of lines.

use super::document_range::DocumentRange;
use super::long::{LongLine, LongLineBytes, Spool};
use super::record::{field_kind, Body, Kind, Record, SkippedLine, HALF};
use super::MAX_NESTED_BYTES;
use crate::source::documents::{Damage, Position, TextFile, UnpackedReader, BYTE_ORDER_MARK};
use crate::source::jsonl::Utf8Checker;
use gristmill_core::{Cancel, Failure, Outcome, Subject};
use gristmill_pycompat::json_fields::Fields;
use gristmill_pycompat::json_walk::Kind as JsonKind;
use gristmill_pycompat::line_checker::LineChecker;
use gristmill_storage::read::{open_part, ReadFile};
use memchr::memchr;
use std::sync::Arc;

/// Size of one read in bytes: small enough that the bytes are processed while they are in the CPU cache.
const READ_BYTES: usize = 128 << 10;
/// Message for bytes that are not UTF-8.
const NOT_UTF8: &str = "a byte that is not UTF-8";

/// Reads the lines of one file in order.
pub struct LineDocuments {
    input: UnpackedReader,
    source: Arc<ReadFile>,
    file: TextFile,
    /// Maximum length in bytes of a line that is read into memory as a whole.
    buffered_line: usize,
    cancel: Cancel,
    /// Read buffer; the first `filled` bytes hold data.
    buffer: Vec<u8>,
    filled: usize,
    /// Index in `buffer` of the first byte that was not returned yet.
    from: usize,
    /// Number of bytes after `from` that contain no line end.
    searched: usize,
    is_over: bool,
    at: Position,
    damage: Option<Damage>,
    fields: Fields,
    long: LongLine,
}

/// A line whose end was found.
enum LineKind {
    /// The line is in the buffer and has this length in bytes.
    Buffered(usize),
    Long(Kind),
}

impl LineDocuments {
    /// Opens a file as [`Documents::open_holding`](super::Documents::open_holding) does.
    pub fn open_holding(
        file: &TextFile,
        text_key: &str,
        DocumentRange { from, to }: DocumentRange,
        spool: Box<dyn Spool>,
        held_line: usize,
        cancel: &Cancel,
    ) -> Outcome<Self> {
        let is_plain = file.packing.is_plain();
        let part = if is_plain { from.offset..to } else { 0..u64::MAX };
        let source = Arc::new(open_part(&file.path, part)?);
        let mut input = UnpackedReader::new(Arc::clone(&source), file.packing)?.uncapped();
        if is_plain {
            input.seek(from.offset);
        }
        let place = if is_plain { LongLineBytes::File(Arc::clone(&source), 0) } else { LongLineBytes::Spool };
        let long = LongLine { place, spool, bytes: 0, keys: Vec::new(), cancel: cancel.clone() };
        let mut documents = Self {
            input,
            source,
            file: file.clone(),
            buffered_line: held_line,
            cancel: cancel.clone(),
            buffer: Vec::new(),
            filled: 0,
            from: 0,
            searched: 0,
            is_over: false,
            at: from,
            damage: None,
            fields: Fields::new(text_key),
            long,
        };
        documents.check_unchanged()?;
        if !is_plain {
            documents.skip(from.offset)?;
        }
        Ok(documents)
    }

    /// Returns the next line; `None` at the end of the text, or of its readable part.
    ///
    /// At the end the file is compared with its state when it was listed; a file that has changed is an error.
    pub fn next(&mut self) -> Outcome<Option<Record<'_>>> {
        // The bytes of the previous line are no longer needed.
        let Some((found, is_ended)) = self.find()? else {
            self.check_unchanged()?;
            return Ok(None);
        };
        let Position { offset: start, line } = self.at;
        let (kind, text, body, bytes) = match found {
            LineKind::Buffered(len) => {
                let held = self.buffer.get(self.from..self.from + len).unwrap_or_default();
                let (kind, text) = line_kind(held, &mut self.fields);
                self.from += len + usize::from(is_ended);
                self.searched = 0;
                (kind, text, Body::Buffered(held), len as u64)
            }
            LineKind::Long(kind) => (kind, "", Body::Long(&self.long), self.long.bytes),
        };
        self.at = Position { offset: start + bytes + u64::from(is_ended), line: line + 1 };
        Ok(Some(Record { line, start, bytes, kind, body, text, group: None, fields: &self.fields }))
    }

    /// Returns the next line, which an earlier pass found to be in memory and to have this number of bytes; `None` if it does not.
    pub fn next_known(&mut self, bytes: usize) -> Outcome<Option<&[u8]>> {
        while self.filled - self.from <= bytes && !self.is_over {
            self.fill()?;
        }
        let waiting = self.buffer.get(self.from..self.filled).unwrap_or_default();
        let end = waiting.get(bytes);
        let is_ended = end == Some(&b'\n');
        if !is_ended && (end.is_some() || waiting.len() < bytes || self.input.broken().is_some()) {
            return Ok(None);
        }
        let line = self.buffer.get(self.from..self.from + bytes);
        self.from += bytes + usize::from(is_ended);
        self.searched = 0;
        self.at.offset += bytes as u64 + u64::from(is_ended);
        self.at.line += 1;
        Ok(line)
    }

    /// Returns the position of the next line.
    pub fn position(&self) -> Position {
        self.at
    }

    /// Returns the number of bytes of the file read so far, for progress.
    pub fn consumed(&self) -> u64 {
        self.input.consumed()
    }

    /// Returns where and why the text ended prematurely; valid after the last line. All lines before the damage were returned, except a
    /// truncated line at the end.
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// Returns an error when the file has changed since it was listed.
    pub fn check_unchanged(&self) -> Outcome<()> {
        let now = self.source.stamp().map_err(|error| Failure::io("reading the text", &self.file.path, &error))?;
        match now == self.file.stamp {
            true => Ok(()),
            false => Err(Failure::data("reading the text", "the file changed since it was listed")
                .on(Subject::path(&self.file.path))
                .with_hint("run again when no program writes to it")),
        }
    }

    /// Finds the end of the next line; returns its kind, and whether a `\n` ends it.
    fn find(&mut self) -> Outcome<Option<(LineKind, bool)>> {
        loop {
            let waiting = self.buffer.get(self.from..self.filled).unwrap_or_default();
            let unsearched = waiting.get(self.searched..).unwrap_or_default();
            let end = memchr(b'\n', unsearched).map(|at| at + self.searched);
            match end {
                Some(end) if end <= self.buffered_line => return Ok(Some((LineKind::Buffered(end), true))),
                // The line is long, and its end is already in the buffer.
                Some(_) => return self.long_line(),
                None if waiting.len() > self.buffered_line => return self.long_line(),
                None if self.is_over => return Ok(self.last()),
                None => self.searched = waiting.len(),
            }
            self.fill()?;
        }
    }

    /// Returns the last line, if no `\n` ends it.
    fn last(&mut self) -> Option<(LineKind, bool)> {
        let left = self.filled - self.from;
        if self.input.broken().is_some() {
            self.damaged(left as u64);
            return None;
        }
        (left > 0).then_some((LineKind::Buffered(left), false))
    }

    fn damaged(&mut self, lost: u64) {
        let why = self.input.broken().unwrap_or_default().to_owned();
        let (packing, packed) = (self.file.packing, self.input.consumed());
        self.damage.get_or_insert(Damage { at: self.at, lost, packed, packing, why });
    }

    fn fill(&mut self) -> Outcome<()> {
        self.cancel.check()?;
        if self.from > 0 {
            self.buffer.copy_within(self.from..self.filled, 0);
            self.filled -= self.from;
            self.from = 0;
            // Releases the memory of a longer line.
            if self.filled < READ_BYTES && self.buffer.len() > 8 * READ_BYTES {
                self.buffer.truncate(2 * READ_BYTES);
                self.buffer.shrink_to_fit();
            }
        }
        let end = self.filled + READ_BYTES;
        if self.buffer.len() < end {
            self.buffer.reserve_exact(end - self.buffer.len());
            self.buffer.resize(end, 0);
        }
        let count = self.input.read(self.buffer.get_mut(self.filled..end).unwrap_or_default())?;
        self.filled += count;
        self.is_over = count == 0;
        Ok(())
    }

    fn skip(&mut self, mut left: u64) -> Outcome<()> {
        while left > 0 {
            self.fill()?;
            if self.is_over {
                return Err(Failure::data("reading the text", "it ends before the place where an earlier run stopped")
                    .on(Subject::path(&self.file.path))
                    .with_hint("the file changed; --restart begins again"));
            }
            let here = usize::try_from(left).unwrap_or(usize::MAX).min(self.filled);
            self.from = here;
            left -= here as u64;
        }
        Ok(())
    }

    /// Reads a line that is too long for memory to its end, recording its fields.
    fn long_line(&mut self) -> Outcome<Option<(LineKind, bool)>> {
        let mut reading = LongReading::default();
        self.fields.clear();
        self.long.spool.clear()?;
        self.long.bytes = 0;
        if let LongLineBytes::File(_, start) = &mut self.long.place {
            *start = self.at.offset;
        }
        self.searched = 0;
        let is_ended = loop {
            let waiting = self.buffer.get(self.from..self.filled).unwrap_or_default();
            let end = memchr(b'\n', waiting);
            let piece = waiting.get(..end.unwrap_or(waiting.len())).unwrap_or_default();
            reading.push_piece(piece, &mut self.fields);
            if matches!(self.long.place, LongLineBytes::Spool) {
                self.long.spool.append(piece)?;
            }
            self.long.bytes += piece.len() as u64;
            self.from += piece.len() + usize::from(end.is_some());
            if end.is_some() || self.is_over {
                break end.is_some();
            }
            self.fill()?;
        };
        if !is_ended && self.input.broken().is_some() {
            self.damaged(self.long.bytes);
            return Ok(None);
        }
        let mut kind = reading.verdict(&mut self.fields);
        self.long.keys = reading.line_kind.keys().unwrap_or_default().to_vec();
        if let (Kind::Document, Some(field)) = (kind, self.fields.requested()) {
            if self.long.has_half(field)? {
                kind = HALF;
            }
        }
        Ok(Some((LineKind::Long(kind), is_ended)))
    }
}

/// Returns the kind of a line in memory, and the line as text, which is empty if the line is invalid.
fn line_kind<'l>(line: &'l [u8], fields: &mut Fields) -> (Kind, &'l str) {
    let invalid = |at: usize, why| (Kind::Passed(SkippedLine::Invalid { at: at as u64, why }), "");
    let Ok(text) = simdutf8::basic::from_utf8(line) else {
        return invalid(std::str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len), NOT_UTF8);
    };
    if let Err(stop) = fields.read(line) {
        let is_blank = line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
        return match is_blank {
            true => (Kind::Blank, ""),
            false if text.starts_with('\u{feff}') => invalid(0, BYTE_ORDER_MARK),
            false => invalid(stop.at, stop.why),
        };
    }
    match (field_kind(fields), fields.requested()) {
        (Kind::Document, Some(field)) if field.has_half => (HALF, ""),
        (kind, _) => (kind, text),
    }
}

/// State of the checks while a line is read in pieces.
#[derive(Default)]
struct LongReading {
    line_kind: LineChecker,
    encoding: Utf8Checker,
    is_begun: bool,
    has_mark: bool,
    has_content: bool,
}

impl LongReading {
    fn push_piece(&mut self, piece: &[u8], fields: &mut Fields) {
        if !std::mem::replace(&mut self.is_begun, true) {
            self.has_mark = piece.starts_with(b"\xef\xbb\xbf");
        }
        self.has_content |= piece.iter().any(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
        self.encoding.push(piece);
        self.line_kind.push(piece, fields);
    }

    fn verdict(&mut self, fields: &mut Fields) -> Kind {
        let invalid = |at, why| Kind::Passed(SkippedLine::Invalid { at, why });
        if !self.has_content {
            return Kind::Blank;
        }
        if let Some(at) = self.encoding.invalid_at() {
            return invalid(at, NOT_UTF8);
        }
        if self.has_mark {
            return invalid(0, BYTE_ORDER_MARK);
        }
        if !self.line_kind.end(fields) {
            return invalid(self.line_kind.valid_bytes(), "it is not JSON");
        }
        if self.line_kind.keys().is_none() {
            // One of the keys beyond the limit may be the key of the text.
            return Kind::Passed(SkippedLine::TooMuch("its keys are more than 4 MiB"));
        }
        let is_nested = |kind| matches!(kind, JsonKind::Object | JsonKind::Array);
        match fields.list().iter().any(|field| is_nested(field.kind) && field.to - field.from > MAX_NESTED_BYTES) {
            true => Kind::Passed(SkippedLine::TooMuch("a list or object in it is larger than 64 MiB")),
            false => field_kind(fields),
        }
    }
}
