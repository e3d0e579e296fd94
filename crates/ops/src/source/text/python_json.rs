//! Is a line JSON for Python's `json.loads` when it is given the bytes (docs/formats/modalities.md §2)?

use gristmill_pycompat::json_walk::{walk, JsonError, NullVisitor};
use memchr::memchr;

/// Where and why a line is no JSON for Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// In bytes from the beginning of the line.
    pub at: usize,
    /// In a user's words.
    pub why: &'static str,
}

/// Goes through every line of a block, of which all but the last end with `\n`: `take` is told where each begins, how long it is without
/// its `\n`, and why it is no JSON, if so.
pub fn python_lines(block: &[u8], mut take: impl FnMut(usize, usize, Option<NotJson>)) {
    // Lines of plain UTF-8 are what there is; the others are judged one by one.
    let is_utf8 = simdutf8::basic::from_utf8(block).is_ok();
    let mut from = 0;
    while from < block.len() {
        let walked = match is_utf8 {
            true => walk(block, from, &mut NullVisitor).ok(),
            false => None,
        };
        let (to, fault) = match walked {
            Some(to) => (to, None),
            None => {
                let rest = block.get(from..).unwrap_or_default();
                let to = memchr(b'\n', rest).map_or(block.len(), |at| from + at);
                (to, python_line(block.get(from..to).unwrap_or_default()).err())
            }
        };
        take(from, to - from, fault);
        from = to + 1;
    }
}

/// Judges one line, which comes without its `\n`.
pub fn python_line(line: &[u8]) -> Result<(), NotJson> {
    if let Some(encoding) = Wide::of(line) {
        let Some(text) = encoding.decoded(line) else {
            return Err(NotJson { at: 0, why: "it is no valid UTF-16 or UTF-32" });
        };
        return judge(&text, 0);
    }
    if simdutf8::basic::from_utf8(line).is_err() {
        if let Some(at) = first_not_utf8(line) {
            return Err(NotJson { at, why: "a byte that is not UTF-8" });
        }
    }
    let mark = if line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    judge(line, mark)
}

fn judge(text: &[u8], from: usize) -> Result<(), NotJson> {
    if text.get(from..).unwrap_or_default().iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
        return Err(NotJson { at: 0, why: if text.is_empty() { "it is empty" } else { "it is blank" } });
    }
    match walk(text, from, &mut NullVisitor) {
        Ok(_) => Ok(()),
        Err(JsonError { at, why }) => Err(NotJson { at, why }),
    }
}

/// Where the first byte is that neither is UTF-8 nor belongs to half a character written like it, which Python lets pass.
fn first_not_utf8(line: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let rest = line.get(from..)?;
        let valid = std::str::from_utf8(rest).err()?.valid_up_to();
        match rest.get(valid..) {
            Some([0xed, 0xa0..=0xbf, 0x80..=0xbf, ..]) => from += valid + 3,
            _ => return Some(from + valid),
        }
    }
}

/// An encoding that Python recognises by a mark or by zero bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wide {
    unit: usize,
    is_big_endian: bool,
    mark: usize,
}

impl Wide {
    /// As `json.detect_encoding` does; `None` is UTF-8.
    fn of(line: &[u8]) -> Option<Self> {
        let wide = |unit, is_big_endian, mark| Some(Self { unit, is_big_endian, mark });
        match line {
            [0, 0, 0xfe, 0xff, ..] => wide(4, true, 4),
            [0xff, 0xfe, 0, 0, ..] => wide(4, false, 4),
            [0xfe, 0xff, ..] => wide(2, true, 2),
            [0xff, 0xfe, ..] => wide(2, false, 2),
            [0, 0, _, _, ..] => wide(4, true, 0),
            [0, _, _, _, ..] | [0, _] => wide(2, true, 0),
            [_, 0, 0, 0, ..] => wide(4, false, 0),
            [_, 0, _, _, ..] | [_, 0] => wide(2, false, 0),
            _ => None,
        }
    }

    /// The text in UTF-8, halves of characters written like it; `None` when it is not valid.
    fn decoded(self, line: &[u8]) -> Option<Vec<u8>> {
        let bytes = line.get(self.mark..)?;
        if bytes.len() % self.unit != 0 {
            return None;
        }
        let mut units = bytes.chunks_exact(self.unit).map(|unit| {
            let add = |number: u32, byte: &u8| number << 8 | u32::from(*byte);
            if self.is_big_endian {
                unit.iter().fold(0, add)
            } else {
                unit.iter().rev().fold(0, add)
            }
        });
        let mut out = Vec::with_capacity(bytes.len() / self.unit);
        let mut next = units.next();
        while let Some(unit) = next {
            next = units.next();
            let code = match (self.unit, unit, next) {
                (2, 0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                    next = units.next();
                    0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
                }
                _ => unit,
            };
            match char::from_u32(code) {
                Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None if code <= 0xffff => {
                    out.extend_from_slice(&[
                        0xe0 | (code >> 12) as u8,
                        0x80 | (code >> 6 & 63) as u8,
                        0x80 | (code & 63) as u8,
                    ]);
                }
                None => return None,
            }
        }
        Some(out)
    }
}
