//! JSON as written: numbers keep their digits, keys their order and their repetitions, and no depth can overflow a stack.
//!
//! The reader passes over the bytes once and creates tree lines on the way; nothing else is stored. It accepts what Python's parser
//! accepts, including `NaN` and `Infinity`, since the trainer uses that.

use super::tree::TextSpan;
use super::tree_build::{Builder, Tree, MAX_DEPTH, MAX_VALUE_CHARACTERS};
use gristmill_core::text::count;

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
    pub what: String,
    /// Line, counted from 1.
    pub line: u64,
    /// Column in bytes, counted from 1.
    pub column: u64,
}

/// Parses a document. `is_whole` is false when `bytes` are only its beginning: a missing end is then not an error.
pub fn parse(bytes: &[u8], is_whole: bool) -> Result<Document, JsonError> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut reader = Reader { bytes: text, at: 0, base: (bytes.len() - text.len()) as u64, cut: String::new() };
    match reader.document(is_whole) {
        Ok(document) => Ok(document),
        Err(what) => Err(reader.error(what)),
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Number of bytes before `bytes`.
    base: u64,
    /// Beginning of a text whose end is missing.
    cut: String,
}

/// Why the reader stopped; `End` is accepted for incomplete input.
enum ReadEnd {
    End,
    Wrong(String),
}

impl<'a> Reader<'a> {
    fn error(&self, what: ReadEnd) -> JsonError {
        let what = match what {
            ReadEnd::End => "it ends too early".to_owned(),
            ReadEnd::Wrong(what) => what,
        };
        let before = self.bytes.get(..self.at).unwrap_or(self.bytes);
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let line = memchr::memchr_iter(b'\n', before).count() as u64 + 1;
        JsonError { what, line, column: (before.len() - line_start) as u64 + 1 }
    }

    fn document(&mut self, is_whole: bool) -> Result<Document, ReadEnd> {
        let document = match self.peek()? {
            b'"' => {
                let text = self.string(usize::MAX)?;
                Document::Text(text)
            }
            b'{' | b'[' => Document::Tree(self.tree(is_whole)?),
            _ => Document::Scalar(self.word()?.to_owned()),
        };
        match self.peek() {
            Err(ReadEnd::End) => Ok(document),
            Ok(_) if !is_whole => Ok(document),
            Ok(_) => Err(ReadEnd::Wrong("more follows after its end".into())),
            Err(other) => Err(other),
        }
    }

    /// Returns the next byte that is not white space.
    fn peek(&mut self) -> Result<u8, ReadEnd> {
        loop {
            match self.bytes.get(self.at) {
                None => return Err(ReadEnd::End),
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                Some(byte) => return Ok(*byte),
            }
        }
    }

    /// Reads a tree, from its first bracket to its last.
    fn tree(&mut self, is_whole: bool) -> Result<Tree, ReadEnd> {
        let mut builder = Builder::new(self.bytes.get(self.at) == Some(&b'{'));
        self.at += 1;
        let result = self.fill(&mut builder);
        match result {
            Ok(()) => {}
            Err(ReadEnd::End) if !is_whole => builder.note("only its beginning was read"),
            Err(stop) => return Err(stop),
        }
        Ok(builder.finish())
    }

    fn fill(&mut self, builder: &mut Builder) -> Result<(), ReadEnd> {
        while let Some((is_object, is_first)) = builder.innermost() {
            let close = if is_object { b'}' } else { b']' };
            let mut next = self.peek()?;
            if next == close {
                self.at += 1;
                builder.close();
                continue;
            }
            if !is_first {
                if next != b',' {
                    return Err(ReadEnd::Wrong(format!("a comma or {} is missing", char::from(close))));
                }
                self.at += 1;
                next = self.peek()?;
                // Neither Python's parser nor this one accepts a trailing comma.
                if next == close {
                    return Err(ReadEnd::Wrong("a comma is before the end".into()));
                }
            }
            let label = if is_object { Some(self.key(builder)?) } else { None };
            if is_object {
                next = self.peek()?;
            }
            self.value(next, label, builder)?;
        }
        Ok(())
    }

    fn key(&mut self, builder: &mut Builder) -> Result<String, ReadEnd> {
        if self.peek()? != b'"' {
            return Err(ReadEnd::Wrong("a name in quotes is missing".into()));
        }
        let raw = self.string(builder.room())?;
        builder.note_key(&raw);
        if self.peek()? != b':' {
            return Err(ReadEnd::Wrong("a colon is missing".into()));
        }
        self.at += 1;
        Ok(raw)
    }

    fn value(&mut self, next: u8, label: Option<String>, builder: &mut Builder) -> Result<(), ReadEnd> {
        match next {
            b'{' | b'[' => {
                if builder.depth() >= MAX_DEPTH {
                    return Err(ReadEnd::Wrong("it is nested deeper than 1,000 levels".into()));
                }
                self.at += 1;
                builder.begin(label, next == b'{');
            }
            b'"' => {
                let from = self.base + self.at as u64 + 1;
                let span = |to| TextSpan { from, to, is_escaped: true };
                match self.string(builder.room()) {
                    Ok(text) => builder.text(label, &text, span(self.base + self.at as u64 - 1)),
                    Err(ReadEnd::End) => {
                        builder.text(label, &std::mem::take(&mut self.cut), span(u64::MAX));
                        return Err(ReadEnd::End);
                    }
                    Err(wrong) => return Err(wrong),
                }
            }
            _ => {
                let word = self.word()?.to_owned();
                builder.scalar(label, word);
            }
        }
        Ok(())
    }

    /// Reads a number or a word, as written.
    fn word(&mut self) -> Result<&'a str, ReadEnd> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.')).count();
        let word = rest.get(..length).and_then(|w| std::str::from_utf8(w).ok()).unwrap_or_default();
        let known = matches!(word, "true" | "false" | "null" | "NaN" | "Infinity" | "-Infinity");
        if known || is_number(word) {
            // A number at the end of incomplete input may continue.
            self.at += length;
            return Ok(if word.len() > MAX_VALUE_CHARACTERS { &word[..MAX_VALUE_CHARACTERS] } else { word });
        }
        if rest.len() == length && (is_number_begun(word) || "true false null NaN Infinity -Infinity".contains(word)) {
            self.at += length;
            return Err(ReadEnd::End);
        }
        Err(ReadEnd::Wrong("a value is missing".into()))
    }

    /// Reads a text in quotes and resolves its escapes; returns at most `limit` characters, and how many more there are.
    fn string(&mut self, limit: usize) -> Result<String, ReadEnd> {
        self.at += 1;
        let mut out = String::new();
        let (mut characters, mut left_out) = (0_usize, 0_usize);
        loop {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let Some(stop) = memchr::memchr2(b'"', b'\\', rest) else {
                self.at = self.bytes.len();
                take_characters(rest, limit.saturating_sub(characters), &mut out);
                self.cut = out;
                return Err(ReadEnd::End);
            };
            let plain = &rest[..stop];
            let room = limit.saturating_sub(characters);
            let (taken, more) = take_characters(plain, room, &mut out);
            characters += taken;
            left_out += more;
            self.at += stop + 1;
            if rest[stop] == b'"' {
                break;
            }
            let c = match self.read_escape() {
                Ok(c) => c,
                Err(stop) => {
                    self.cut = out;
                    return Err(stop);
                }
            };
            if characters < limit {
                out.push(c);
                characters += 1;
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            out.push_str(&format!("… {} more", count(left_out as u64, "character")));
        }
        Ok(out)
    }

    /// Reads the character of an escape after its backslash. An unpaired surrogate becomes the replacement character.
    fn read_escape(&mut self) -> Result<char, ReadEnd> {
        let byte = *self.bytes.get(self.at).ok_or(ReadEnd::End)?;
        self.at += 1;
        Ok(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit(self.at)?;
                self.at += 4;
                if !(0xd800..0xdc00).contains(&first) {
                    return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                if self.bytes.get(self.at..self.at + 2) != Some(b"\\u") {
                    return Ok(char::REPLACEMENT_CHARACTER);
                }
                let second = self.unit(self.at + 2)?;
                if !(0xdc00..0xe000).contains(&second) {
                    return Ok(char::REPLACEMENT_CHARACTER);
                }
                self.at += 6;
                let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(ReadEnd::Wrong("an escape is not known".into())),
        })
    }

    fn unit(&self, at: usize) -> Result<u32, ReadEnd> {
        let digits = self.bytes.get(at..at + 4).ok_or(ReadEnd::End)?;
        let text = std::str::from_utf8(digits).ok().filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = text.and_then(|t| u32::from_str_radix(t, 16).ok());
        unit.ok_or_else(|| ReadEnd::Wrong("four hexadecimal digits are missing".into()))
    }
}

/// Resolves the escape at the beginning of `raw`. Returns the bytes it takes; `None` if its end may be missing, which is impossible with
/// `is_end`. An invalid escape is kept unchanged.
pub(super) fn take_escape(raw: &[u8], is_end: bool, out: &mut Vec<u8>) -> Option<usize> {
    let may_be_half = matches!(raw.get(1..3), Some([b'u', b'd' | b'D'])) && raw.len() < 12;
    if may_be_half && !is_end {
        return None;
    }
    let mut reader = Reader { bytes: raw, at: 1, base: 0, cut: String::new() };
    match reader.read_escape() {
        Ok(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        Err(ReadEnd::End) if !is_end => return None,
        Err(_) => {
            out.push(b'\\');
            return Some(1);
        }
    }
    Some(reader.at)
}

/// Appends at most `room` characters, undecodable bytes as `\xNN`. Returns how many were appended and how many were not.
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

fn is_number(word: &str) -> bool {
    let rest = word.strip_prefix('-').unwrap_or(word);
    let digits = |t: &str| t.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest.starts_with('0')) {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let length = digits(exponent);
        return length > 0 && exponent.len() == length;
    }
    rest.is_empty()
}

/// Whether a number could begin with `word`.
fn is_number_begun(word: &str) -> bool {
    is_number(&format!("{word}0")) || is_number(&format!("{word}.0"))
}

#[cfg(test)]
mod tests;
