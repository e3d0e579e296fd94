//! Notes of lines, made when a line is read, so that the line can be written without being parsed again.

use super::compose::RangesPlacement;
use super::compose::{OutputLine, Parts};
use super::write_back::{LineResult, TextPieces, WriteBack};
use gristmill_core::Outcome;
use gristmill_data::formats::bsade::Range;
use gristmill_data::source::dedup::{Body, Kind, Record};
use gristmill_pycompat::json_text::{push_reencoded, unescape};

/// Position of the text in a line whose other fields are already in Python's format, or a marker for a line that must be parsed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineNote {
    /// Bytes of the line without its `\n`; 0 if the line must be parsed.
    bytes: u32,
    /// Offset of the first byte of the text, after its opening quote.
    from: u32,
    /// Offset of the closing quote of the text.
    to: u32,
    /// Bytes of the text after its escapes are resolved.
    text: u32,
}

impl LineNote {
    /// Size of a stored note in bytes.
    pub const BYTES: usize = 16;

    /// Encodes the note.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let parts = [self.bytes, self.from, self.to, self.text];
        parts.into_iter().rev().fold(0, |all, part| all << 32 | u128::from(part)).to_le_bytes()
    }

    /// Decodes a note.
    pub fn of_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let all = u128::from_le_bytes(*bytes);
        let [bytes, from, to, text] = [0, 32, 64, 96].map(|shift| (all >> shift) as u32);
        Self { bytes, from, to, text }
    }

    /// Returns the length of the line without its `\n`; `None` if the line must be parsed.
    pub fn bytes(&self) -> Option<usize> {
        (self.bytes > 0).then_some(self.bytes as usize)
    }

    /// Returns the length of the text in bytes.
    pub fn text_bytes(&self) -> u64 {
        u64::from(self.text)
    }

    /// Returns the text as written in the line, between its quotes.
    fn text<'l>(&self, line: &'l [u8]) -> &'l [u8] {
        line.get(self.from as usize..self.to as usize).unwrap_or_default()
    }
}

/// A line with a note; its text is one piece.
#[derive(Clone, Copy, Debug)]
pub struct NotedLine<'a> {
    /// The line without its `\n`.
    pub line: &'a [u8],
    /// The note of this line.
    pub note: LineNote,
}

impl TextPieces for NotedLine<'_> {
    fn each_piece(&self, spare: &mut String, take: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<u64> {
        // The text was valid UTF-8 when the note was made.
        let raw = simdutf8::basic::from_utf8(self.note.text(self.line)).unwrap_or_default();
        if raw.len() as u64 == self.note.text_bytes() {
            return take(raw).map(|()| raw.len() as u64);
        }
        spare.clear();
        unescape(raw, spare);
        take(spare).map(|()| spare.len() as u64)
    }
}

impl WriteBack {
    /// Makes the note of a line whose text is `text_bytes` bytes long.
    pub fn note(&mut self, record: &Record<'_>, text_bytes: u64) -> Outcome<LineNote> {
        Ok(self.note_of(record, text_bytes)?.unwrap_or_default())
    }

    fn note_of(&mut self, record: &Record<'_>, text_bytes: u64) -> Outcome<Option<LineNote>> {
        let (Kind::Document, Body::Buffered(line), Some(field)) = (record.kind, record.body, record.text_field())
        else {
            return Ok(None);
        };
        let number = |bytes: u64| u32::try_from(bytes).ok();
        let places =
            (number(record.bytes), number(field.from + 1), number(field.to.saturating_sub(1)), number(text_bytes));
        let (Some(bytes), Some(from), Some(to), Some(text)) = places else { return Ok(None) };
        let note = LineNote { bytes, from, to, text };
        let Some((before, after)) = self.others(line, &note).filter(|_| self.ranges == RangesPlacement::Removed) else {
            return Ok(None);
        };
        // A line whose output exceeds the buffer cannot be compared, so it has no note.
        let mut is_handed = false;
        let mut none = |_: &[u8]| {
            is_handed = true;
            Ok(())
        };
        let mut out = OutputLine::new(self.composer.take_buffer(), &mut none);
        self.composer.fields(Parts::of(record), &self.ranges, &[], false, &mut out)?;
        let buffer = out.into_buffer();
        let is_same = match before.strip_suffix(b", ") {
            Some(before) => {
                let parts = buffer.strip_prefix(b", ").and_then(|rest| rest.split_at_checked(before.len()));
                parts.is_some_and(|parts| parts == (before, after))
            }
            None => before.is_empty() && buffer == after,
        };
        self.composer.return_buffer(buffer);
        Ok((is_same && !is_handed).then_some(note))
    }

    /// Returns the bytes before the text's key and after the text, if they are where Python would write them.
    fn others<'l>(&self, line: &'l [u8], note: &LineNote) -> Option<(&'l [u8], &'l [u8])> {
        let (_, key) = self.opening.split_first()?;
        let before = line.get(..note.from as usize)?.strip_suffix(key)?.strip_prefix(b"{")?;
        let after = line.get(note.to as usize..)?.strip_prefix(b"\"")?.strip_suffix(b"}")?;
        Some((before, after))
    }

    /// Like [`write`](Self::write), for a line with a note. Returns `None` if the line does not match the note.
    pub fn write_noted(
        &mut self,
        noted: &NotedLine<'_>,
        ranges: &[Range],
        take: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<Option<LineResult>> {
        let NotedLine { line, note } = noted;
        let Some((before, after)) = self.others(line, note) else { return Ok(None) };
        let mut out = OutputLine::new(self.composer.take_buffer(), take);
        self.text(noted, ranges, &mut out, |out| {
            push_reencoded(note.text(line), out.buffer());
            Ok(())
        })?;
        let buffer = out.buffer();
        if let Some(before) = before.strip_suffix(b", ") {
            buffer.extend_from_slice(b", ");
            buffer.extend_from_slice(before);
        }
        buffer.extend_from_slice(after);
        buffer.extend_from_slice(b"}\n");
        self.written(out).map(Some)
    }
}
