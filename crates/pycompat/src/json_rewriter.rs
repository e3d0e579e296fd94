//! Rewrites a JSON value as `json.loads` followed by `json.dumps` would: ASCII, a space after commas and colons, and floats in the form of
//! `repr`. A repeated key has the position of its first and the value of its last occurrence.
//!
//! Builds no tree: the value is copied in pieces, and only repeated keys change the order of the pieces.

use super::json_repeats::{repeats, KeyFingerprint};
use super::json_text::as_python;
use super::json_text::push_reencoded;
use super::json_walk::{next_special, walk, Kind, Span, Visit};
use super::number::float_repr;
use std::collections::HashMap;

/// Rewrites values. Its memory is reused.
#[derive(Debug, Default)]
pub struct JsonRewriter {
    open: Vec<OpenContainer>,
    keys: Vec<Key>,
    /// Maps the start of a replaced value to the start and end of its replacement.
    moved: HashMap<usize, (usize, usize)>,
    /// Maps the start of a dropped repeated key to the end of its value.
    removed_keys: HashMap<usize, usize>,
}

#[derive(Debug)]
struct OpenContainer {
    is_object: bool,
    /// Index of its first key in `keys`.
    first: usize,
}

/// A key of an open object.
#[derive(Debug)]
struct Key {
    fingerprint: KeyFingerprint,
    /// Range of the key between its quotes.
    from: usize,
    to: usize,
    value_from: usize,
    value_to: usize,
}

impl JsonRewriter {
    /// Appends a value, as written in a line that Python accepts as JSON.
    pub fn push(&mut self, value: &[u8], out: &mut Vec<u8>) {
        match value.first() {
            Some(b'"') => {
                out.push(b'"');
                push_reencoded(value.get(1..value.len().saturating_sub(1)).unwrap_or_default(), out);
                out.push(b'"');
            }
            Some(b'{' | b'[') => {
                self.find_repeats(value);
                self.copy(value, out);
            }
            _ => push_scalar(value, out),
        }
    }

    fn find_repeats(&mut self, value: &[u8]) {
        self.open.clear();
        self.keys.clear();
        self.moved.clear();
        self.removed_keys.clear();
        // The value has already been validated. If validation failed, there are no repeated keys to find.
        let _ = walk(value, 0, &mut Repeats { of: self, text: value });
    }

    fn copy(&self, text: &[u8], out: &mut Vec<u8>) {
        let has_repeats = !self.removed_keys.is_empty();
        let mut at = 0;
        let mut end = text.len();
        // A stack of replacements being copied: the offset to continue at afterwards, and the end of the enclosing range.
        let mut back: Vec<(usize, usize)> = Vec::new();
        let mut comma = false;
        loop {
            if at >= end {
                match back.pop() {
                    Some((to, limit)) => (at, end) = (to, limit),
                    None => return,
                }
                continue;
            }
            let Some(byte) = text.get(at).copied() else { return };
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {
                    at += 1;
                    continue;
                }
                b',' => {
                    comma = true;
                    at += 1;
                    continue;
                }
                b'}' | b']' => {
                    out.push(byte);
                    (comma, at) = (false, at + 1);
                    continue;
                }
                b':' => {
                    out.extend_from_slice(b": ");
                    at += 1;
                    continue;
                }
                _ => {}
            }
            if has_repeats {
                if let Some(to) = self.removed_keys.get(&at) {
                    // Its comma is dropped, too: a repeated key is never the first key of its object.
                    (comma, at) = (false, *to);
                    continue;
                }
            }
            if std::mem::take(&mut comma) {
                out.extend_from_slice(b", ");
            }
            if has_repeats {
                if let Some((from, to)) = self.moved.get(&at).copied() {
                    back.push((value_end(text, at), end));
                    (at, end) = (from, to);
                    // The replacement is not a key and is not replaced itself.
                }
            }
            at = piece(text, at, end, out);
        }
    }
}

/// Copies a string, a scalar or an opening bracket, and returns its end.
fn piece(text: &[u8], at: usize, end: usize, out: &mut Vec<u8>) -> usize {
    match text.get(at) {
        Some(open @ (b'{' | b'[')) => {
            out.push(*open);
            at + 1
        }
        Some(b'"') => {
            let to = string_end(text, at);
            out.push(b'"');
            push_reencoded(text.get(at + 1..to).unwrap_or_default(), out);
            out.push(b'"');
            to + 1
        }
        _ => {
            let to = scalar_end(text, at).min(end);
            push_scalar(text.get(at..to).unwrap_or_default(), out);
            to.max(at + 1)
        }
    }
}

/// Returns the offset of the quote that ends the string starting at `at`.
fn string_end(text: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    loop {
        at = next_special(text, at);
        match text.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') | None => return at.min(text.len()),
            Some(_) => at += 1,
        }
    }
}

fn scalar_end(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest
        .iter()
        .position(|byte| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n'))
        .unwrap_or(rest.len())
}

/// Returns the end of the value at `at`.
fn value_end(text: &[u8], at: usize) -> usize {
    let mut depth = 0u32;
    let mut at = at;
    loop {
        at = match text.get(at) {
            Some(b'"') => string_end(text, at) + 1,
            Some(b'{' | b'[') => {
                depth += 1;
                at + 1
            }
            Some(b'}' | b']') => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            Some(b',' | b':' | b' ' | b'\t' | b'\r' | b'\n') => {
                at += 1;
                continue;
            }
            Some(_) => scalar_end(text, at),
            None => return at,
        };
        if depth == 0 {
            return at;
        }
    }
}

/// Appends a number or a word. Integers of any size are unchanged.
fn push_scalar(value: &[u8], out: &mut Vec<u8>) {
    let is_number = matches!(value, [b'0'..=b'9', ..] | [b'-', b'0'..=b'9', ..]);
    if !is_number || value.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'-')) {
        out.extend_from_slice(if value == b"-0" { b"0" } else { value });
        return;
    }
    if is_short_float(value) {
        out.extend_from_slice(value);
        return;
    }
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<f64>().ok());
    match number {
        Some(number) if number.is_infinite() => {
            out.extend_from_slice(if number > 0.0 { b"Infinity" } else { b"-Infinity" });
        }
        Some(number) => out.extend_from_slice(float_repr(number).as_bytes()),
        None => out.extend_from_slice(value),
    }
}

/// Whether a number is a float in the form of `repr`. Returns `false` for more than 15 digits. Two numbers with at most 15 digits are never
/// the same float, so the shortest text that reads back equal is the number itself.
fn is_short_float(number: &[u8]) -> bool {
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let point = digits.iter().position(|byte| *byte == b'.').unwrap_or(digits.len());
    let Some((whole, [b'.', fraction @ ..])) = digits.split_at_checked(point) else { return false };
    let is_small = whole == b"0" && fraction.iter().take(4).all(|byte| *byte == b'0');
    let is_whole = fraction == b"0";
    digits.len() <= 16
        && fraction.iter().all(u8::is_ascii_digit)
        && (is_whole || !(fraction.is_empty() || fraction.ends_with(b"0") || is_small))
}

/// Collects repeated keys.
struct Repeats<'a> {
    of: &'a mut JsonRewriter,
    text: &'a [u8],
}

impl Repeats<'_> {
    /// Returns the key of the value that has just started or ended, if the innermost open value is an object.
    fn key_of_value(&mut self) -> Option<&mut Key> {
        if self.of.open.last()?.is_object {
            self.of.keys.last_mut()
        } else {
            None
        }
    }

    #[cold]
    fn note(&mut self, first: usize) {
        let keys = self.of.keys.get(first..).unwrap_or_default();
        let seen: Vec<KeyFingerprint> = keys.iter().map(|key| key.fingerprint).collect();
        let text = self.text;
        let key_at = |at: usize| keys.get(at).and_then(|key| text.get(key.from..key.to)).unwrap_or_default();
        let mut found = Vec::new();
        repeats(&seen, key_at, &mut found);
        for (first, last, others) in found {
            if let (Some(first), Some(last)) = (keys.get(first), keys.get(last)) {
                self.of.moved.insert(first.value_from, (last.value_from, last.value_to));
            }
            for other in others.iter().filter_map(|at| keys.get(*at)) {
                self.of.removed_keys.insert(other.from - 1, other.value_to);
            }
        }
    }
}

impl Visit for Repeats<'_> {
    fn key(&mut self, text: &[u8], _: usize, span: Span) {
        let seen = KeyFingerprint::new(text.get(span.from..span.to).unwrap_or_default());
        self.of.keys.push(Key { fingerprint: seen, from: span.from, to: span.to, value_from: 0, value_to: 0 });
    }

    fn value(&mut self, _: usize, kind: Kind, span: Span) {
        let quote = usize::from(kind == Kind::String);
        if let Some(key) = self.key_of_value() {
            (key.value_from, key.value_to) = (span.from - quote, span.to + quote);
        }
        if matches!(kind, Kind::Object | Kind::Array) {
            let first = self.of.keys.len();
            self.of.open.push(OpenContainer { is_object: kind == Kind::Object, first });
        }
    }

    fn close(&mut self, _: usize, to: usize) {
        if let Some(open) = self.of.open.pop() {
            if self.of.keys.len() > open.first + 1 {
                self.note(open.first);
            }
            self.of.keys.truncate(open.first);
        }
        if let Some(key) = self.key_of_value() {
            key.value_to = to;
        }
    }
}

/// Whether two keys are the same text, regardless of escapes.
pub fn is_same_key(a: &[u8], b: &[u8]) -> bool {
    a == b || as_python(a) == as_python(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(value: &str) -> String {
        let mut out = Vec::new();
        JsonRewriter::default().push(value.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn json_values_are_rewritten_as_by_python() {
        for (value, wanted) in [
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("1E5", "100000.0"),
            ("1e22", "1e+22"),
            ("1e-7", "1e-07"),
            ("1e400", "Infinity"),
            ("-1e400", "-Infinity"),
            ("-Infinity", "-Infinity"),
            ("NaN", "NaN"),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
            (r#""é\/""#, r#""\u00e9/""#),
            ("[ ]", "[]"),
            ("{ }", "{}"),
            ("[1,2 , [3,{}],\"a,b\"]", "[1, 2, [3, {}], \"a,b\"]"),
            ("{\"a\":{\"b\":[true,null]},\"c\":false}", "{\"a\": {\"b\": [true, null]}, \"c\": false}"),
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a": 3, "b": 2}"#),
            (r#"{"a":1,"a":2,"a":3}"#, r#"{"a": 3}"#),
            (r#"{"a":[1,{"x":1,"x":[9]}],"b":2,"\u0061":{"y":1,"y":2}}"#, r#"{"a": {"y": 2}, "b": 2}"#),
            (r#"[{"a":{"b":1},"c":2,"a":"s"},{"a":1}]"#, r#"[{"a": "s", "c": 2}, {"a": 1}]"#),
            (
                r#"{"a":{"a":{"a":1,"a":2},"a":{"a":3,"a":4,"b":5}},"a":{"k":{"z":1,"z":2},"k":{"z":3,"z":4}}}"#,
                r#"{"a": {"k": {"z": 4}}}"#,
            ),
            (r#"{"a":1,"b":0,"a":2.50}"#, r#"{"a": 2.5, "b": 0}"#),
        ] {
            assert_eq!(rewritten(value), wanted, "{value}");
        }
    }

    #[test]
    fn rewriting_many_duplicate_keys_and_deep_nesting_ends() {
        let many: Vec<String> = (0..100_000).map(|number| format!("\"k{}\":{number}", number % 1000)).collect();
        let out = rewritten(&format!("{{{}}}", many.join(",")));
        assert!(out.starts_with("{\"k0\": 99000, \"k1\": 99001") && out.len() < 20_000);
        let mut deep = String::from("1");
        for _ in 0..900 {
            deep = format!("{{\"a\":0,\"a\":{deep}}}");
        }
        assert_eq!(rewritten(&deep).len(), 900 * 7 + 1);
    }

    #[test]
    fn short_float_is_printed_unchanged_by_repr() {
        for (number, is_one) in [
            ("0.5", true),
            ("-0.0", true),
            ("12.25", true),
            ("0.0001", true),
            ("0.00001", false),
            ("0.00012", true),
            ("1.50", false),
            ("1.00", false),
            ("5e1", false),
            ("1.5e3", false),
            ("12345678901234.5", true),
            ("123456789012345.6", false),
            ("0.1234567890123456", false),
        ] {
            assert_eq!(is_short_float(number.as_bytes()), is_one, "{number}");
        }
        assert!(rewritten("[0.10000000000000001, 1.50]") == "[0.1, 1.5]");
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(4_000))]
        #[test]
        fn short_floats_match_repr(number in "-?(0|[1-9][0-9]{0,15})[.]0{0,6}[0-9]{1,15}") {
            if is_short_float(number.as_bytes()) {
                proptest::prop_assert_eq!(float_repr(number.parse().unwrap()), number);
            }
        }
    }
}
