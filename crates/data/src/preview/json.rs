//! Parses JSON for display as it is written: numbers retain their digits, and objects the order and repetition of their keys. Nesting of
//! any depth cannot overflow the stack.
//!
//! Tree lines are created while the bytes are parsed; nothing else is stored. The parser accepts everything that Python's parser, which
//! trainers use, accepts: `NaN`, `Infinity`, and control characters in texts.

use super::tree::TextSpan;
use super::tree_build::{Builder, Tree, MAX_DEPTH, MAX_VALUE_CHARACTERS};
use gristmill_core::text::count;
use gristmill_pycompat::json_text::{escape_at, escapes};
use gristmill_pycompat::json_walk::{walk, Kind, Span, Visit};

/// A parsed document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// A single text; raw.
    Text(String),
    /// A number, a truth value, or null, as written.
    Scalar(String),
    /// An object or array.
    Tree(Tree),
}

/// Location of the first JSON error in a document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not valid JSON: {what} at line {line}, column {column}")]
pub struct JsonError {
    /// Description for the user; safe to show.
    pub what: &'static str,
    /// Line, counted from 1.
    pub line: usize,
    /// Column in bytes, counted from 1.
    pub column: usize,
}

/// Parses a document. `is_whole` is false when `bytes` are only its beginning: a missing end is then not an error.
pub fn parse(bytes: &[u8], is_whole: bool) -> Result<Document, JsonError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let base = (bytes.len() - text.len()) as u64;
    let mut reader = TreeReader { text, base, single: None, tree: None, label: None, end: 0 };
    let walked = walk(text, 0, &mut reader);
    let is_open = reader.tree.as_ref().is_some_and(|tree| tree.depth() > 0);
    if let Err(error) = walked {
        if !is_whole && is_open && error.is_cut {
            reader.add_truncated(error.at);
        } else if is_whole || is_open || !reader.has_value() {
            let (line, column) = error.place(text);
            return Err(JsonError { what: error.in_document(), line, column });
        }
    }
    match (reader.single, reader.tree) {
        (Some(single), _) => Ok(single),
        (None, tree) => Ok(Document::Tree(tree.unwrap_or_else(|| Builder::new(false)).finish())),
    }
}

struct TreeReader<'a> {
    text: &'a [u8],
    /// Number of bytes before `text`.
    base: u64,
    /// The document, if it is a text, a number, or a literal such as `null`.
    single: Option<Document>,
    /// The document, if it is an object or array.
    tree: Option<Builder>,
    /// Key of the next value.
    label: Option<String>,
    /// End of the last key or value.
    end: usize,
}

impl TreeReader<'_> {
    fn has_value(&self) -> bool {
        self.single.is_some() || self.tree.is_some()
    }

    fn raw(&self, span: Span) -> &[u8] {
        self.text.get(span.from..span.to).unwrap_or_default()
    }

    fn span(&self, from: usize, to: u64) -> TextSpan {
        TextSpan { from: self.base + from as u64, to, is_escaped: true }
    }

    /// Returns a number or literal as written.
    fn word(&self, span: Span) -> String {
        let raw = self.raw(span);
        String::from_utf8_lossy(raw.get(..MAX_VALUE_CHARACTERS).unwrap_or(raw)).into_owned()
    }

    /// Reads the outermost value.
    fn outermost(&mut self, kind: Kind, span: Span) {
        match kind {
            Kind::Object | Kind::Array => self.tree = Some(Builder::new(kind == Kind::Object)),
            Kind::EmptyObject | Kind::EmptyArray => {
                let mut tree = Builder::new(kind == Kind::EmptyObject);
                tree.close();
                self.tree = Some(tree);
            }
            Kind::String => self.single = Some(Document::Text(text_of(self.raw(span), usize::MAX))),
            _ => self.single = Some(Document::Scalar(self.word(span))),
        }
    }

    /// Adds a text that is cut off by the end of the input to the tree. `at` is the offset of the error.
    fn add_truncated(&mut self, at: usize) {
        let Some(mut tree) = self.tree.take() else { return };
        tree.note("only its beginning was read");
        let is_between = |byte: &u8| matches!(byte, b',' | b':') || byte.is_ascii_whitespace();
        let begin = self.end + self.text.iter().skip(self.end).take_while(|byte| is_between(byte)).count();
        let is_value = self.label.is_some() || tree.innermost().is_some_and(|(is_object, _)| !is_object);
        if is_value && self.text.get(begin) == Some(&b'"') {
            // An incomplete escape at the end is left out.
            let end = if self.text.get(at) == Some(&b'\\') { at } else { self.text.len() };
            let mut text = String::new();
            decode(self.text.get(begin + 1..end).unwrap_or_default(), tree.remaining_chars(), &mut text);
            tree.text(self.label.take(), &text, self.span(begin + 1, u64::MAX));
        }
        self.tree = Some(tree);
    }
}

impl Visit for TreeReader<'_> {
    const MAX_NESTING: usize = MAX_DEPTH;
    const TOO_DEEP: &'static str = "it is nested deeper than 1,000 levels";
    const IS_LINE: bool = false;
    const MAX_DIGITS: usize = usize::MAX;
    const ACCEPTS_CONTROLS: bool = true;

    fn key(&mut self, _: &[u8], _: usize, span: Span) {
        self.end = span.to + 1;
        let room = self.tree.as_ref().map_or(0, Builder::remaining_chars);
        let key = text_of(self.raw(span), room);
        if let Some(tree) = &mut self.tree {
            tree.note_key(&key);
        }
        self.label = Some(key);
    }

    fn value(&mut self, depth: usize, kind: Kind, span: Span) {
        self.end = span.to + usize::from(kind == Kind::String);
        let Some(mut tree) = self.tree.take().filter(|_| depth > 0) else { return self.outermost(kind, span) };
        let label = self.label.take();
        match kind {
            Kind::Object | Kind::Array => tree.begin(label, kind == Kind::Object),
            Kind::EmptyObject | Kind::EmptyArray => {
                tree.begin(label, kind == Kind::EmptyObject);
                tree.close();
            }
            Kind::String => {
                let text = text_of(self.raw(span), tree.remaining_chars());
                tree.text(label, &text, self.span(span.from, self.base + span.to as u64));
            }
            _ => tree.scalar(label, self.word(span)),
        }
        self.tree = Some(tree);
    }

    fn close(&mut self, _: usize, to: usize) {
        self.end = to;
        if let Some(tree) = &mut self.tree {
            tree.close();
        }
    }
}

/// Returns the content of a text: at most `limit` characters, and the number of further characters.
fn text_of(raw: &[u8], limit: usize) -> String {
    let mut out = String::new();
    let left_out = decode(raw, limit, &mut out);
    if left_out > 0 {
        out.push_str(&format!("… {} more", count(left_out as u64, "character")));
    }
    out
}

/// Appends at most `limit` characters of the content of a text, with its escapes resolved. Returns the number of omitted characters.
fn decode(raw: &[u8], limit: usize, out: &mut String) -> usize {
    let (mut room, mut left_out, mut at) = (limit, 0, 0);
    let plain = |bytes: &[u8], room: &mut usize, out: &mut String| {
        let (taken, more) = take_characters(bytes, *room, out);
        *room -= taken;
        more
    };
    for escape in escapes(raw) {
        left_out += plain(raw.get(at..escape.at).unwrap_or_default(), &mut room, out);
        match room.checked_sub(1) {
            Some(less) => {
                out.push(escape.character());
                room = less;
            }
            None => left_out += 1,
        }
        at = escape.at + escape.len;
    }
    left_out + plain(raw.get(at..).unwrap_or_default(), &mut room, out)
}

/// Resolves the escape at the beginning of `raw` and returns its length in bytes; `None` if more bytes are needed, which never occurs with
/// `is_end`. An invalid escape is copied unchanged.
pub(super) fn take_escape(raw: &[u8], is_end: bool, out: &mut Vec<u8>) -> Option<usize> {
    let needed = match raw.get(1..3) {
        Some([b'u', b'd' | b'D']) => 12,
        _ if raw.get(1) == Some(&b'u') => 6,
        _ => 2,
    };
    if !is_end && raw.len() < needed {
        return None;
    }
    match escape_at(raw, 0) {
        Some(escape) => {
            out.extend_from_slice(escape.character().encode_utf8(&mut [0; 4]).as_bytes());
            Some(escape.len)
        }
        None => {
            out.push(b'\\');
            Some(1)
        }
    }
}

/// Appends at most `room` characters, with invalid bytes as `\xNN`. Returns the number of appended and of omitted characters.
fn take_characters(bytes: &[u8], room: usize, out: &mut String) -> (usize, usize) {
    use std::fmt::Write as _;
    let (mut taken, mut more) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let left = room - taken;
        match valid.char_indices().nth(left) {
            Some((end, _)) => {
                out.push_str(&valid[..end]);
                more += valid[end..].chars().count();
                taken = room;
            }
            None => {
                out.push_str(valid);
                taken += valid.chars().count();
            }
        }
        for byte in chunk.invalid() {
            if taken < room {
                let _ = write!(out, "\\x{byte:02x}");
                taken += 1;
            } else {
                more += 1;
            }
        }
    }
    (taken, more)
}

#[cfg(test)]
mod tests;
