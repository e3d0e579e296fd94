//! Checks whether Python's `json.loads` accepts a line when it is passed as bytes (docs/formats/modalities.md §2).

use gristmill_pycompat::json_walk::{walk, JsonError, NullVisitor};
use memchr::memchr;

/// Position and reason of a JSON error, as Python's parser reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotJson {
    /// Offset from the beginning of the line, in bytes.
    pub at: usize,
    /// Reason, for the user.
    pub why: &'static str,
}

/// Checks every line of a block, in which all lines but the last end with `\n`. Calls `take` with the offset of each line, its length
/// without the `\n`, and the error if it is not JSON.
pub fn python_lines(block: &[u8], mut take: impl FnMut(usize, usize, Option<NotJson>)) {
    // Lines are usually valid UTF-8, which is checked for the whole block; otherwise each line is checked.
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

/// Checks one line, which is passed without its `\n`.
pub fn python_line(line: &[u8]) -> Result<(), NotJson> {
    if let Some(encoding) = WideEncoding::of(line) {
        let Some(text) = encoding.decoded(line) else {
            return Err(NotJson { at: 0, why: "it is no valid UTF-16 or UTF-32" });
        };
        return check(&text, 0);
    }
    if simdutf8::basic::from_utf8(line).is_err() {
        if let Some(at) = first_not_utf8(line) {
            return Err(NotJson { at, why: "a byte that is not UTF-8" });
        }
    }
    let mark = if line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    check(line, mark)
}

fn check(text: &[u8], from: usize) -> Result<(), NotJson> {
    if text.get(from..).unwrap_or_default().iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
        return Err(NotJson { at: 0, why: if text.is_empty() { "it is empty" } else { "it is blank" } });
    }
    match walk(text, from, &mut NullVisitor) {
        Ok(_) => Ok(()),
        Err(JsonError { at, why, .. }) => Err(NotJson { at, why }),
    }
}

/// Returns the offset of the first byte that is neither UTF-8 nor part of a surrogate in the same encoding, which Python accepts.
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

/// An encoding that Python detects by a byte-order mark or by zero bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WideEncoding {
    /// Bytes of a code unit: 2 or 4.
    unit: usize,
    is_big_endian: bool,
    /// Bytes of the byte-order mark; 0 if there is none.
    mark: usize,
}

impl WideEncoding {
    /// Detects the encoding as `json.detect_encoding` does; `None` means UTF-8.
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

    /// Returns the text in UTF-8, with surrogates in the same encoding; `None` if it is not valid.
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
