//! Converts a line of input and its ranges to the line of output (docs/formats/bsade.md §6), in the format of Python's `json.dumps`, text
//! first.

use super::compose::{string, Composer, OutputLine, Parts, RangesPlacement};
use gristmill_core::dedup::{DedupPlan, Mode, Variant, FIELD_OF_VARIANT_B};
use gristmill_core::{Failure, Outcome};
use gristmill_data::formats::bsade::{Range, Shortener};
use gristmill_data::source::dedup::{Body, Kind, Record};
use gristmill_pycompat::json_fields::Fields;
use gristmill_pycompat::json_text::push_ascii;

/// Limit of the objects on the key path of variant A.
const MAX_PARTS: usize = 32;

/// Size of a buffer, in bytes, above which it is released after a line.
const MAX_KEPT_BYTES: usize = 2 << 20;

/// The format of the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The field that contains the text, which is written first.
    pub text_key: String,
    /// Where the ranges are written.
    pub ranges: RangesPlacement,
}

impl Layout {
    /// Returns the layout of a plan. A dotted key whose path contains the text field, or too many objects, is a usage error.
    pub fn of(plan: &DedupPlan) -> Outcome<Self> {
        let refused = |why: String| Err(Failure::usage("reading --annotate-key", why));
        let ranges = match (plan.mode, plan.variant) {
            (Mode::Remove, _) => RangesPlacement::Removed,
            (Mode::Annotate, Variant::B) if plan.text_key == FIELD_OF_VARIANT_B => {
                return refused(format!("the text itself is in {FIELD_OF_VARIANT_B}"));
            }
            (Mode::Annotate, Variant::B) => RangesPlacement::AfterText,
            (Mode::Annotate, Variant::A) => {
                let parts: Vec<String> = plan.annotate_key.split('.').map(str::to_owned).collect();
                if parts.len() > MAX_PARTS {
                    return refused(format!("it has more than {MAX_PARTS} parts"));
                }
                if parts.first() == Some(&plan.text_key) {
                    return refused(format!("it leads through {}, which holds the text", plan.text_key));
                }
                RangesPlacement::Under(parts)
            }
        };
        Ok(Self { text_key: plan.text_key.clone(), ranges })
    }
}

/// The result of writing a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineResult {
    /// Bytes of text in the ranges, shrunk to whole characters: removed, or annotated.
    pub removed: u64,
    /// Number of bytes written, including the `\n`; 0 for a blank line.
    pub bytes: u64,
}

/// Text in pieces of whole characters, which can be read repeatedly.
pub trait TextPieces {
    /// Passes the pieces to `take` in order and returns their total length in bytes. `spare` is a buffer that may be used.
    fn each_piece(&self, spare: &mut String, take: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<u64>;
}

impl TextPieces for Record<'_> {
    fn each_piece(&self, spare: &mut String, take: &mut dyn FnMut(&str) -> Outcome<()>) -> Outcome<u64> {
        Record::each_piece(self, spare, take)
    }
}

/// Writes lines one after the other, reusing its memory.
pub struct WriteBack {
    pub(super) composer: Composer,
    pub(super) ranges: RangesPlacement,
    /// The beginning of a line: the key of the text as written by Python, with quotes and colon.
    pub(super) opening: Vec<u8>,
    shortened: Vec<Range>,
    spare: String,
    list: Vec<u8>,
    /// The fields of a document from an index.
    others: Fields,
}

impl WriteBack {
    /// Creates a writer for this layout.
    pub fn new(layout: &Layout) -> Self {
        let mut opening = b"{\"".to_vec();
        push_ascii(&layout.text_key, &mut opening);
        opening.extend_from_slice(b"\": \"");
        Self {
            composer: Composer::default(),
            ranges: layout.ranges.clone(),
            opening,
            shortened: Vec::new(),
            spare: String::new(),
            list: Vec::new(),
            others: Fields::new(&layout.text_key),
        }
    }

    /// Passes the output line of a record to `take` with its `\n`, in pieces. `ranges` are the ranges of this document, relative to its
    /// text, in order and not overlapping; empty for a record that is not a document. A blank line is dropped, and a line without usable
    /// text is unchanged.
    pub fn write(
        &mut self,
        record: &Record<'_>,
        ranges: &[Range],
        take: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<LineResult> {
        self.shortened.clear();
        let mut out = OutputLine::new(self.composer.take_buffer(), take);
        match record.kind {
            Kind::Blank | Kind::Null => {}
            Kind::Passed(_) => {
                copy(record, &mut out)?;
                out.push(b"\n")?;
            }
            Kind::Document => {
                self.text(record, ranges, &mut out, |out| match record.text_field() {
                    Some(field) => string(record.body, field, out),
                    None => Ok(()),
                })?;
                self.composer.fields(Parts::of(record), &self.ranges, &self.list, false, &mut out)?;
                out.push(b"}\n")?;
            }
        }
        self.written(out)
    }

    /// Like [`write`](Self::write), for a document of an index: its text, and its other fields as the object stored in the index. A value
    /// that is not an object is treated as an object without fields.
    pub fn write_indexed(
        &mut self,
        text: &dyn TextPieces,
        others: &[u8],
        ranges: &[Range],
        take: &mut dyn FnMut(&[u8]) -> Outcome<()>,
    ) -> Outcome<LineResult> {
        if self.others.read(others).is_err() {
            self.others.clear();
        }
        let mut out = OutputLine::new(self.composer.take_buffer(), take);
        self.text(text, ranges, &mut out, |out| {
            text.each_piece(&mut String::new(), &mut |piece| {
                push_ascii(piece, out.buffer());
                out.flush()
            })?;
            Ok(())
        })?;
        let parts = Parts { body: Body::Buffered(others), fields: &self.others };
        self.composer.fields(parts, &self.ranges, &self.list, false, &mut out)?;
        out.push(b"}\n")?;
        self.written(out)
    }

    /// Returns the ranges of the last written record, shrunk to whole characters.
    pub fn shortened(&self) -> &[Range] {
        &self.shortened
    }

    /// Writes the beginning of a line up to the end of the text, and builds the list of ranges. `whole` appends the text if no range is
    /// removed.
    pub(super) fn text(
        &mut self,
        text: &dyn TextPieces,
        ranges: &[Range],
        out: &mut OutputLine<'_>,
        whole: impl FnOnce(&mut OutputLine<'_>) -> Outcome<()>,
    ) -> Outcome<()> {
        self.shortened.clear();
        out.push(&self.opening)?;
        if !ranges.is_empty() {
            let mut shortener = Shortener::new(ranges);
            let shortened = &mut self.shortened;
            text.each_piece(&mut self.spare, &mut |piece| {
                shortener.push(piece, shortened);
                Ok(())
            })?;
        }
        if self.ranges == RangesPlacement::Removed && !self.shortened.is_empty() {
            let mut ranges = self.shortened.iter().copied().peekable();
            let mut at = 0;
            text.each_piece(&mut self.spare, &mut |piece| {
                append_outside_ranges(piece, at, &mut ranges, out.buffer());
                at += piece.len() as u64;
                out.flush()
            })?;
        } else {
            whole(out)?;
        }
        out.push(b"\"")?;
        list(&self.shortened, &mut self.list);
        Ok(())
    }

    pub(super) fn written(&mut self, out: OutputLine<'_>) -> Outcome<LineResult> {
        let (bytes, buffer) = out.finish()?;
        self.composer.return_buffer(buffer);
        if self.spare.capacity() > MAX_KEPT_BYTES {
            self.spare = String::new();
        }
        Ok(LineResult { removed: self.shortened.iter().map(|range| range.len()).sum(), bytes })
    }
}

/// Appends the text outside the ranges of a piece that begins at `at`.
fn append_outside_ranges(
    piece: &str,
    at: u64,
    ranges: &mut std::iter::Peekable<impl Iterator<Item = Range>>,
    out: &mut Vec<u8>,
) {
    let end = at + piece.len() as u64;
    let mut from = at;
    loop {
        let next = ranges.peek().copied().filter(|range| range.start < end);
        let to = next.map_or(end, |range| range.start.clamp(from, end));
        push_ascii(piece.get((from - at) as usize..(to - at) as usize).unwrap_or_default(), out);
        let Some(range) = next else { return };
        from = range.end.clamp(from, end);
        if range.end > end {
            return;
        }
        ranges.next();
    }
}

/// Writes the list of ranges: `[[1, 2], [3, 4]]`.
fn list(ranges: &[Range], out: &mut Vec<u8>) {
    use std::io::Write as _;
    out.clear();
    out.push(b'[');
    for (number, range) in ranges.iter().enumerate() {
        let between = if number > 0 { ", " } else { "" };
        // Writing to memory cannot fail.
        let _ = write!(out, "{between}[{}, {}]", range.start, range.end);
    }
    out.push(b']');
}

/// Copies a line unchanged.
fn copy(record: &Record<'_>, out: &mut OutputLine<'_>) -> Outcome<()> {
    match record.body {
        Body::Buffered(line) => out.push(line),
        Body::Long(line) => line.each_chunk(0, record.bytes, |chunk, _| {
            out.push(chunk)?;
            Ok(chunk.len())
        }),
    }
}
