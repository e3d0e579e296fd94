//! The content of JSON strings between their quotes: extraction, and rewriting as `json.dumps` writes it, in ASCII.
//!
//! Functions with names ending in `part` process strings that arrive in pieces. They stop before any escape or character that continues in
//! the next piece.

use super::json_walk::{eight, hex4, low_surrogate, next_match, zero_bytes};
use memchr::memchr;
use std::borrow::Cow;

/// Length of the longest escape in bytes, which is a surrogate pair.
const MAX_ESCAPE_BYTES: usize = 12;
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// One escape of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escape {
    /// Offset of its backslash.
    pub at: usize,
    /// Length in bytes; for a surrogate pair, that of both escapes.
    pub len: usize,
    /// The code point, which may be an unpaired surrogate.
    pub code: u32,
}

impl Escape {
    /// Returns the escape for an invalid one: stands for a backslash, and covers the next byte.
    fn invalid(at: usize) -> Self {
        Self { at, len: 2, code: u32::from(b'\\') }
    }

    /// Whether it is an unpaired surrogate.
    pub fn is_half(&self) -> bool {
        matches!(self.code, 0xd800..=0xdfff)
    }

    /// Returns the character; the replacement character for an unpaired surrogate.
    pub fn character(&self) -> char {
        char::from_u32(self.code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

/// Returns the escape whose backslash is at `at`; `None` if it is invalid or incomplete.
#[inline(always)]
pub fn escape_at(raw: &[u8], at: usize) -> Option<Escape> {
    let (len, code) = match *raw.get(at + 1)? {
        b'n' => (2, 10),
        b't' => (2, 9),
        b'r' => (2, 13),
        b'b' => (2, 8),
        b'f' => (2, 12),
        byte @ (b'"' | b'\\' | b'/') => (2, u32::from(byte)),
        b'u' => match hex4(raw, at + 2)? {
            unit @ 0xd800..=0xdbff => match low_surrogate(raw, at + 6) {
                Some(low) => (12, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)),
                None => (6, unit),
            },
            unit => (6, unit),
        },
        _ => return None,
    };
    Some(Escape { at, len, code })
}

/// Returns the escapes of a valid string, or of any valid JSON, in order.
#[inline(always)]
pub fn escapes(raw: &[u8]) -> impl Iterator<Item = Escape> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        // Escapes are often adjacent.
        if raw.get(from) != Some(&b'\\') {
            from += memchr(b'\\', raw.get(from..)?)?;
        }
        let escape = escape_at(raw, from).unwrap_or(Escape::invalid(from));
        from += escape.len;
        Some(escape)
    })
}

/// Returns the unpaired surrogates among the escapes of a valid string, or of any valid JSON.
pub fn halves(raw: &[u8]) -> impl Iterator<Item = Escape> + '_ {
    escapes(raw).filter(Escape::is_half)
}

/// Appends the text of a string with its escapes resolved. An unpaired surrogate becomes the replacement character.
pub fn unescape(raw: &str, out: &mut String) {
    unescape_part(raw, true, out);
}

/// Like [`unescape`], for a piece of a string. Unless the piece is the last one, an escape near its end is not consumed; the next piece
/// must start with it. Returns the number of consumed bytes.
pub fn unescape_part(raw: &str, is_last: bool, out: &mut String) -> usize {
    let bytes = raw.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr(b'\\', bytes.get(at..).unwrap_or_default()) {
        out.push_str(raw.get(at..at + found).unwrap_or_default());
        at += found;
        // Escapes are often adjacent.
        while bytes.get(at) == Some(&b'\\') {
            if !is_last && at + MAX_ESCAPE_BYTES > bytes.len() {
                return at;
            }
            let escape = escape_at(bytes, at).unwrap_or(Escape::invalid(at));
            out.push(escape.character());
            at += escape.len;
        }
    }
    out.push_str(raw.get(at..).unwrap_or_default());
    raw.len()
}

/// Appends text as the content of a string written by `json.dumps`, without the quotes.
pub fn push_ascii(text: &str, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let odd = next_escaped(bytes, at);
        out.extend_from_slice(bytes.get(at..odd).unwrap_or_default());
        at = odd;
        let Some(byte) = bytes.get(at).copied() else { return };
        if byte < 0x80 {
            push_unit(u32::from(byte), out);
            at += 1;
            continue;
        }
        // Non-ASCII characters are mostly adjacent.
        for c in text.get(at..).unwrap_or_default().chars().take_while(|c| !c.is_ascii()) {
            push_char(c, out);
            at += c.len_utf8();
        }
    }
}

/// Appends the content of a valid string as `json.loads` followed by `json.dumps` would write it.
pub fn push_reencoded(raw: &[u8], out: &mut Vec<u8>) {
    push_reencoded_part(raw, true, out);
}

/// Returns a key as Python writes it, so that equal texts have equal bytes.
pub(super) fn as_python(key: &[u8]) -> Cow<'_, [u8]> {
    match key.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\') {
        true => Cow::Borrowed(key),
        false => {
            let mut out = Vec::with_capacity(key.len() + 16);
            push_reencoded(key, &mut out);
            Cow::Owned(out)
        }
    }
}

/// Like [`push_reencoded`], for a piece of a string. Unless the piece is the last one, an escape or a character that its end truncates is
/// not consumed. Returns the number of consumed bytes.
pub fn push_reencoded_part(raw: &[u8], is_last: bool, out: &mut Vec<u8>) -> usize {
    let (mut copied, mut at) = (0, 0);
    // Unchanged bytes are copied together.
    let flush = |copied: usize, at: usize, out: &mut Vec<u8>| {
        out.extend_from_slice(raw.get(copied..at).unwrap_or_default());
    };
    loop {
        // Escapes are often adjacent.
        if raw.get(at) != Some(&b'\\') {
            at = next_escaped(raw, at);
        }
        let Some(byte) = raw.get(at).copied() else { break };
        if byte == b'\\' {
            if !is_last && at + 6 > raw.len() {
                break;
            }
            match raw.get(at + 1) {
                Some(b'u') => {
                    let unit = hex4(raw, at + 2).unwrap_or(0xfffd);
                    if is_kept_escape(unit, raw.get(at + 2..at + 6).unwrap_or_default()) {
                        at += 6;
                        continue;
                    }
                    flush(copied, at, out);
                    push_unit(unit, out);
                    at += 6;
                    copied = at;
                }
                Some(b'/') => {
                    flush(copied, at, out);
                    at += 1;
                    copied = at;
                    at += 1;
                }
                _ => at += 2,
            }
            continue;
        }
        flush(copied, at, out);
        if byte < 0x80 {
            push_unit(u32::from(byte), out);
            at += 1;
        } else {
            let before = at;
            at += push_characters(raw.get(at..).unwrap_or_default(), out);
            if at == before {
                // The piece ends inside a character.
                return at;
            }
        }
        copied = at;
    }
    let end = at.min(raw.len());
    flush(copied, end, out);
    end
}

/// Returns the number of consumed bytes of a piece of a valid string, and whether they contain the escape of an unpaired surrogate. Unless
/// the piece is the last one, an escape near its end is not consumed.
pub fn has_unpaired_surrogate_part(raw: &[u8], is_last: bool) -> (usize, bool) {
    let found = escapes(raw)
        .map(|escape| (escape.at, !is_last && escape.at + MAX_ESCAPE_BYTES > raw.len(), escape.is_half()))
        .find(|(_, is_left, is_half)| *is_left || *is_half);
    found.map_or((raw.len(), false), |(at, is_left, _)| (at, !is_left))
}

/// Returns the offset of the next byte at or after `at` that `json.dumps` does not write unchanged in a string; the end of the text if
/// there is none.
#[inline]
fn next_escaped(text: &[u8], at: usize) -> usize {
    next_match(
        text,
        at,
        |byte| (byte == b'"') | (byte == b'\\') | (byte.wrapping_sub(b' ') > b'~' - b' '),
        |word| {
            zero_bytes(word ^ eight(b'"'))
                | zero_bytes(word ^ eight(b'\\'))
                | zero_bytes(word ^ eight(0x7f))
                | (word.wrapping_sub(eight(b' ')) & !word)
                | word
        },
    )
}

/// Whether Python writes this escape unchanged. `digits` are its four hexadecimal digits.
fn is_kept_escape(unit: u32, digits: &[u8]) -> bool {
    let is_escaped = !matches!(unit, 0x20..=0x7e | 8 | 9 | 10 | 12 | 13);
    is_escaped && !digits.iter().any(u8::is_ascii_uppercase)
}

/// Appends the complete non-ASCII characters at the start of `bytes`. Returns their length in bytes.
fn push_characters(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    let mut at = 0;
    while let Some(first) = bytes.get(at).copied().filter(|byte| *byte >= 0x80) {
        let len = match first {
            0xf0.. => 4,
            0xe0.. => 3,
            _ => 2,
        };
        let Some(character) = bytes.get(at..at + len) else { break };
        let lead = u32::from(first) & (0x7f >> len);
        let code = character.iter().skip(1).fold(lead, |code, byte| code << 6 | u32::from(byte & 0x3f));
        push_char(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), out);
        at += len;
    }
    at
}

fn push_char(c: char, out: &mut Vec<u8>) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        push_unit(u32::from(*unit), out);
    }
}

/// Appends an ASCII character, or a UTF-16 code unit of another character.
fn push_unit(unit: u32, out: &mut Vec<u8>) {
    let short = match unit {
        0x22 => b'"',
        0x5c => b'\\',
        8 => b'b',
        9 => b't',
        10 => b'n',
        12 => b'f',
        13 => b'r',
        0x20..=0x7e => {
            out.push(unit as u8);
            return;
        }
        _ => {
            let digit = |shift: u32| DIGITS[(unit >> shift & 15) as usize];
            out.extend_from_slice(&[b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_write;
    use proptest::prelude::*;

    fn rewritten(raw: &str) -> String {
        let mut out = Vec::new();
        push_reencoded(raw.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_string_is_rewritten_as_by_python() {
        for (raw, wanted) in [
            ("", ""),
            ("plain ~", "plain ~"),
            (r#"\/\"\\\b\f\n\r\t"#, r#"/\"\\\b\f\n\r\t"#),
            (r"\u002F\u0022\u005c\u0008\u000A\u007e\u007F", r#"/\"\\\b\n~\u007f"#),
            (r"\uD83D\uDE00\ud83d\u00E9\u00e9", r"\ud83d\ude00\ud83d\u00e9\u00e9"),
            ("é漢😀\u{7f}\u{2028}x", r"\u00e9\u6f22\ud83d\ude00\u007f\u2028x"),
        ] {
            assert_eq!(rewritten(raw), wanted, "{raw}");
        }
    }

    #[test]
    fn unpaired_surrogates_are_detected() {
        for (raw, wanted) in
            [(r"\ud83d\ude00", false), (r"\ud83d", true), (r"\ude00\ud83d", true), (r"\\ud83d", false), ("é", false)]
        {
            assert_eq!(halves(raw.as_bytes()).next().is_some(), wanted, "{raw}");
        }
    }

    /// Generates raw contents of valid strings.
    fn raw() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            "[ -!#-\\[\\]-~]{1,40}",
            "[é漢😀\u{7f}\u{80}\u{7ff}\u{ffff}]{1,3}",
            r#"\\["\\/bfnrt]"#,
            r"\\u[0-9a-fA-F]{4}",
            r"\\ud83[0-9a-f]\\ude0[0-9A-F]",
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn rewriting_a_string_equals_decoding_and_encoding(raw in raw()) {
            if halves(raw.as_bytes()).next().is_none() {
                let text: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
                let mut ours = String::new();
                unescape(&raw, &mut ours);
                prop_assert_eq!(&ours, &text);
                let wanted = json_write::string(&text);
                prop_assert_eq!(format!("\"{}\"", rewritten(&raw)), wanted.clone());
                let mut out = b"\"".to_vec();
                push_ascii(&text, &mut out);
                out.push(b'"');
                prop_assert_eq!(String::from_utf8(out).unwrap(), wanted);
            }
            prop_assert_eq!(rewritten(&rewritten(&raw)), rewritten(&raw));
        }

        #[test]
        fn rewriting_in_pieces_equals_rewriting_the_whole(raw in raw(), size in 1usize..20) {
            let (mut text, mut ascii, mut half) = (String::new(), Vec::new(), false);
            let bytes = raw.as_bytes();
            for kind in 0..3 {
                let (mut at, mut end) = (0, 0);
                while at < bytes.len() {
                    end = (end + size).min(bytes.len());
                    let is_last = end == bytes.len();
                    let piece = &bytes[at..end];
                    at += match kind {
                        0 => {
                            let valid = std::str::from_utf8(piece).map_or_else(|e| e.valid_up_to(), str::len);
                            let piece = std::str::from_utf8(&piece[..valid]).unwrap();
                            unescape_part(piece, is_last, &mut text)
                        }
                        1 => push_reencoded_part(piece, is_last, &mut ascii),
                        _ => {
                            let (taken, found) = has_unpaired_surrogate_part(piece, is_last);
                            half |= found;
                            if found { bytes.len() } else { taken }
                        }
                    };
                }
            }
            let mut whole = String::new();
            unescape(&raw, &mut whole);
            prop_assert_eq!(text, whole);
            prop_assert_eq!(String::from_utf8(ascii).unwrap(), rewritten(&raw));
            prop_assert_eq!(half, halves(bytes).next().is_some());
        }
    }
}
