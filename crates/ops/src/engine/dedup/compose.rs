//! Writers for lines of output and lines of metadata in Python's format.

use gristmill_core::dedup::FIELD_OF_VARIANT_B;
use gristmill_core::Outcome;
use gristmill_data::source::dedup::{Body, Record};
use gristmill_pycompat::json_fields::{slice, Field, Fields};
use gristmill_pycompat::json_rewriter::{is_same_key, JsonRewriter};
use gristmill_pycompat::json_text::{push_ascii, push_reencoded, push_reencoded_part};
use gristmill_pycompat::json_walk::Kind;

/// Bytes that are buffered before they are passed on.
const FLUSH_BYTES: usize = 256 << 10;

/// How the ranges of a document are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangesPlacement {
    /// The ranges are removed from the text.
    Removed,
    /// The ranges are listed in the object at this key path (variant A), which is never empty.
    Under(Vec<String>),
    /// The ranges are listed in a field directly after the text (variant B).
    AfterText,
}

/// A line of output, buffered and passed on in large pieces.
pub(super) struct OutputLine<'a> {
    buffer: Vec<u8>,
    take: &'a mut dyn FnMut(&[u8]) -> Outcome<()>,
    handed: u64,
}

impl<'a> OutputLine<'a> {
    /// Creates a line with `buffer` as its buffer, whose content is discarded.
    pub(super) fn new(mut buffer: Vec<u8>, take: &'a mut dyn FnMut(&[u8]) -> Outcome<()>) -> Self {
        buffer.clear();
        Self { buffer, take, handed: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Outcome<()> {
        self.buffer.extend_from_slice(bytes);
        self.flush()
    }

    /// Returns the buffer to append to; call [`flush`](Self::flush) after long additions.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Passes the buffered bytes on if there are enough of them.
    pub(super) fn flush(&mut self) -> Outcome<()> {
        if self.buffer.len() >= FLUSH_BYTES {
            self.handed += self.buffer.len() as u64;
            (self.take)(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Returns the buffer with the remaining bytes, which are not passed on.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Passes the remaining bytes on. Returns the total number of bytes, and the buffer.
    pub(super) fn finish(mut self) -> Outcome<(u64, Vec<u8>)> {
        if !self.buffer.is_empty() {
            self.handed += self.buffer.len() as u64;
            (self.take)(&self.buffer)?;
        }
        Ok((self.handed, self.buffer))
    }
}

/// A line and the positions of its fields.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) body: Body<'a>,
    pub(super) fields: &'a Fields,
}

impl<'a> Parts<'a> {
    pub(super) fn of(record: &Record<'a>) -> Self {
        Self { body: record.body, fields: record.fields() }
    }

    /// Returns the bytes of the line that contain the keys.
    fn keys(self) -> &'a [u8] {
        match self.body {
            Body::Buffered(line) => line,
            Body::Long(line) => line.keys(),
        }
    }

    fn key(self, field: &Field) -> &'a [u8] {
        slice(self.keys(), field.key_from, field.key_to)
    }
}

/// Writes fields in Python's format. Its memory is reused for the next record.
#[derive(Default)]
pub(super) struct Composer {
    rewriter: JsonRewriter,
    resolved_fields: Vec<Field>,
    buffer: Vec<u8>,
}

impl Composer {
    /// Takes the buffer of the previous line.
    pub(super) fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    pub(super) fn return_buffer(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= 8 * FLUSH_BYTES {
            self.buffer = buffer;
        }
    }

    /// Appends all fields except the text, each after a comma unless it is the first. The list of ranges is inserted at its position.
    pub(super) fn fields(
        &mut self,
        parts: Parts<'_>,
        ranges: &RangesPlacement,
        list: &[u8],
        is_first: bool,
        out: &mut OutputLine<'_>,
    ) -> Outcome<()> {
        let mut settled = std::mem::take(&mut self.resolved_fields);
        settled.clear();
        parts.fields.append_resolved(parts.keys(), &mut settled);
        let result = self.settled_fields(parts, &settled, ranges, list, is_first, out);
        self.resolved_fields = settled;
        result
    }

    fn settled_fields(
        &mut self,
        parts: Parts<'_>,
        settled: &[Field],
        ranges: &RangesPlacement,
        list: &[u8],
        mut is_first: bool,
        out: &mut OutputLine<'_>,
    ) -> Outcome<()> {
        let (mut skipped, mut annotated) = (None, None);
        match ranges {
            RangesPlacement::Removed => {}
            RangesPlacement::AfterText => {
                // If the input has a field with that name, its position is used.
                skipped = place_of(FIELD_OF_VARIANT_B, settled, |field| parts.key(field));
                push_key(FIELD_OF_VARIANT_B.as_bytes(), &mut is_first, out);
                match skipped.and_then(|place| settled.get(place)) {
                    Some(field) => self.value(parts.body, field, out)?,
                    None => out.push(list)?,
                }
            }
            RangesPlacement::Under(way) => {
                let (first, rest) = way.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
                annotated = Some((place_of(first, settled, |field| parts.key(field)), first, rest));
            }
        }
        for (place, field) in settled.iter().enumerate() {
            if skipped == Some(place) {
                continue;
            }
            push_key(parts.key(field), &mut is_first, out);
            match annotated {
                Some((Some(found), _, rest)) if found == place => {
                    self.annotated(parts.body, field, rest, list, out)?;
                }
                _ => self.value(parts.body, field, out)?,
            }
        }
        if let Some((None, first, rest)) = annotated {
            let mut key = Vec::new();
            push_ascii(first, &mut key);
            push_key(&key, &mut is_first, out);
            push_new_field(rest, list, out.buffer());
        }
        out.flush()
    }

    /// Writes the value of a field with the list of ranges inserted at the key path `rest`.
    fn annotated(
        &mut self,
        body: Body<'_>,
        field: &Field,
        rest: &[String],
        list: &[u8],
        out: &mut OutputLine<'_>,
    ) -> Outcome<()> {
        if rest.is_empty() || !matches!(field.kind, Kind::Object | Kind::EmptyObject) {
            push_new_field(rest, list, out.buffer());
            return Ok(());
        }
        with_value(body, field, |value| push_into(value, rest, list, &mut self.rewriter, out.buffer()))?;
        out.flush()
    }

    /// Writes the value of a field in Python's format.
    fn value(&mut self, body: Body<'_>, field: &Field, out: &mut OutputLine<'_>) -> Outcome<()> {
        if field.kind == Kind::String {
            out.push(b"\"")?;
            string(body, field, out)?;
            return out.push(b"\"");
        }
        with_value(body, field, |value| self.rewriter.push(value, out.buffer()))?;
        out.flush()
    }
}

/// Writes the content between the quotes of a string field in Python's format.
pub(super) fn string(body: Body<'_>, field: &Field, out: &mut OutputLine<'_>) -> Outcome<()> {
    let (from, to) = (field.from + 1, field.to.saturating_sub(1));
    match body {
        Body::Buffered(line) => {
            push_reencoded(slice(line, from, to), out.buffer());
            out.flush()
        }
        Body::Long(line) => line.each_chunk(from, to, |chunk, is_last| {
            let taken = push_reencoded_part(chunk, is_last, out.buffer());
            out.flush().map(|()| taken)
        }),
    }
}

/// Passes the bytes of a value to `take`. They are read into memory if the line is not in memory.
fn with_value(body: Body<'_>, field: &Field, take: impl FnOnce(&[u8])) -> Outcome<()> {
    match body {
        Body::Buffered(line) => take(slice(line, field.from, field.to)),
        Body::Long(line) => {
            let mut value = Vec::new();
            line.each_chunk(field.from, field.to, |chunk, _| {
                value.extend_from_slice(chunk);
                Ok(chunk.len())
            })?;
            take(&value);
        }
    }
    Ok(())
}

fn place_of<'a>(wanted: &str, settled: &[Field], key: impl Fn(&Field) -> &'a [u8]) -> Option<usize> {
    let mut ascii = Vec::new();
    push_ascii(wanted, &mut ascii);
    settled.iter().position(|field| is_same_key(key(field), &ascii))
}

fn push_key(raw: &[u8], is_first: &mut bool, out: &mut OutputLine<'_>) {
    push_object_key(raw, is_first, out.buffer());
}

/// Writes nested objects for these keys, with the list in the innermost object.
fn push_new_field(way: &[String], list: &[u8], out: &mut Vec<u8>) {
    for key in way {
        out.extend_from_slice(b"{\"");
        push_ascii(key, out);
        out.extend_from_slice(b"\": ");
    }
    out.extend_from_slice(list);
    out.extend(way.iter().map(|_| b'}'));
}

/// Writes an object in Python's format, with the list inserted at the key path `way`.
fn push_into(object: &[u8], way: &[String], list: &[u8], again: &mut JsonRewriter, out: &mut Vec<u8>) {
    let (mut object, mut way) = (object, way);
    // The text after each object on the path, outermost first.
    let mut remainders: Vec<Vec<u8>> = Vec::new();
    while let Some((key, rest)) = way.split_first() {
        // With no requested key, all fields are returned.
        let mut fields = Fields::any();
        let mut settled = Vec::new();
        if fields.read(object).is_err() {
            break;
        }
        fields.append_resolved(object, &mut settled);
        let key_at = |field: &Field| slice(object, field.key_from, field.key_to);
        let found = place_of(key, &settled, key_at);
        let mut push = |fields: &[Field], mut is_first: bool, out: &mut Vec<u8>| {
            for field in fields {
                push_object_key(key_at(field), &mut is_first, out);
                again.push(slice(object, field.from, field.to), out);
            }
            is_first
        };
        out.push(b'{');
        let (before, after) = settled.split_at(found.unwrap_or(settled.len()));
        let mut is_first = push(before, true, out);
        let mut rest_of_object = Vec::new();
        if let Some((_, after)) = after.split_first() {
            push(after, false, &mut rest_of_object);
        }
        rest_of_object.push(b'}');
        remainders.push(rest_of_object);
        let mut ascii = Vec::new();
        push_ascii(key, &mut ascii);
        push_object_key(&ascii, &mut is_first, out);
        way = rest;
        match after.first() {
            Some(field) if !rest.is_empty() && matches!(field.kind, Kind::Object | Kind::EmptyObject) => {
                object = slice(object, field.from, field.to);
            }
            _ => {
                push_new_field(rest, list, out);
                break;
            }
        }
    }
    for rest in remainders.iter().rev() {
        out.extend_from_slice(rest);
    }
}

fn push_object_key(raw: &[u8], is_first: &mut bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if std::mem::take(is_first) { b"\"" } else { b", \"" });
    push_reencoded(raw, out);
    out.extend_from_slice(b"\": ");
}
