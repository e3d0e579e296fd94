//! Reads JSON into a [`Node`] as Python's `json.loads` does: the last of several values of one key is used, `NaN` and the infinities are
//! numbers, and fractions are rounded to the nearest float.
//!
//! Values that a [`Node`] cannot hold exactly are refused: whole numbers beyond 128 bits and lone surrogates.

use super::node::Node;
use std::collections::HashMap;

/// Maximum nesting depth of lists and maps; deeper values are refused.
const MAX_DEPTH: usize = 128;

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The reason.
    pub message: &'static str,
    /// Position of the error, in bytes.
    pub at: usize,
}

/// Reads one value; only white space may follow.
pub fn loads(text: &str) -> Result<Node, LoadError> {
    let mut reader = Reader { text, at: 0 };
    reader.space();
    let node = reader.value(0)?;
    reader.space();
    match reader.at == text.len() {
        true => Ok(node),
        false => Err(reader.error("something follows the value")),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, message: &'static str) -> LoadError {
        LoadError { message, at: self.at }
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Consumes a word if it is next.
    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.rest().starts_with(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Node, LoadError> {
        if depth > MAX_DEPTH {
            return Err(self.error("it is nested too deep"));
        }
        match self.peek() {
            Some(b'"') => Ok(Node::Str(self.string()?)),
            Some(b'[') => self.list(depth),
            Some(b'{') => self.map(depth),
            Some(b'-' | b'0'..=b'9') if !self.rest().starts_with("-Infinity") => self.number(),
            _ => {
                let words = [
                    ("null", Node::Null),
                    ("true", Node::Bool(true)),
                    ("false", Node::Bool(false)),
                    ("NaN", Node::Float(f64::NAN)),
                    ("Infinity", Node::Float(f64::INFINITY)),
                    ("-Infinity", Node::Float(f64::NEG_INFINITY)),
                ];
                let found = words.into_iter().find(|(word, _)| self.takes(word));
                found.map(|(_, node)| node).ok_or_else(|| self.error("a value is needed"))
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Node, LoadError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.takes("]") {
            return Ok(Node::List(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            if self.takes("]") {
                return Ok(Node::List(items));
            }
            if !self.takes(",") {
                return Err(self.error("a comma or the end of the list is needed"));
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Node, LoadError> {
        self.at += 1;
        let mut entries: Vec<(String, Node)> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        self.space();
        if self.takes("}") {
            return Ok(Node::Map(entries));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.error("a key in double quotes is needed"));
            }
            let key = self.string()?;
            self.space();
            if !self.takes(":") {
                return Err(self.error("a colon is needed"));
            }
            self.space();
            let value = self.value(depth + 1)?;
            match places.get(&key).and_then(|at| entries.get_mut(*at)) {
                Some(entry) => entry.1 = value,
                None => {
                    places.insert(key.clone(), entries.len());
                    entries.push((key, value));
                }
            }
            self.space();
            if self.takes("}") {
                return Ok(Node::Map(entries));
            }
            if !self.takes(",") {
                return Err(self.error("a comma or the end of the map is needed"));
            }
        }
    }

    fn number(&mut self) -> Result<Node, LoadError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let digits = |mut at: usize| {
            while bytes.get(at).is_some_and(u8::is_ascii_digit) {
                at += 1;
            }
            at
        };
        let first = start + usize::from(self.peek() == Some(b'-'));
        let mut end = digits(first);
        if end == first {
            return Err(self.error("a value is needed"));
        }
        // No digit may follow a leading zero.
        if bytes.get(first) == Some(&b'0') {
            end = first + 1;
        }
        let mut is_whole = true;
        if bytes.get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
            end = digits(end + 1);
            is_whole = false;
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let from = end + 1 + sign;
            if digits(from) > from {
                end = digits(from);
                is_whole = false;
            }
        }
        let text = self.text.get(start..end).unwrap_or_default();
        let node = match is_whole {
            true => text.parse().map(Node::Int).map_err(|_| self.error("a whole number is too large to be kept"))?,
            false => text.parse().map(Node::Float).map_err(|_| self.error("a number cannot be read"))?,
        };
        self.at = end;
        Ok(node)
    }

    fn string(&mut self) -> Result<String, LoadError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let plain = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)).unwrap_or(rest.len());
            out.push_str(rest.get(..plain).unwrap_or_default());
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.error("a control character is in a string")),
                None => return Err(self.error("a text does not end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, LoadError> {
        let letter = self.text.as_bytes().get(self.at + 1).copied();
        let plain = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.unit(self.at + 2)?;
                self.at += 6;
                if !(0xd800..0xe000).contains(&first) {
                    return char::from_u32(first).ok_or_else(|| self.error("an escape is no character"));
                }
                let second = match self.rest().starts_with("\\u") {
                    true => self.unit(self.at + 2)?,
                    false => 0,
                };
                let joined = char::decode_utf16([first as u16, second as u16]).next().and_then(Result::ok);
                let joined = joined.filter(|_| (0xdc00..0xe000).contains(&second));
                self.at += 6;
                return joined.ok_or(LoadError { message: "a text holds half a character", at: self.at - 12 });
            }
            _ => return Err(self.error("an escape is not known")),
        };
        self.at += 2;
        Ok(plain)
    }

    /// Reads four hexadecimal digits.
    fn unit(&self, at: usize) -> Result<u32, LoadError> {
        let digits = self.text.get(at..at + 4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        digits
            .and_then(|digits| u32::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.error("four hexadecimal digits are needed"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_write::spaced;
    use proptest::prelude::*;

    #[test]
    fn what_python_reads_it_writes_again() {
        for (text, again) in [
            (
                r#" {"a":1,"b":[true,null,-0,1.5e3,NaN,-Infinity],"a":"é\u00e9\ud83d\ude00\/\n"} "#,
                r#"{"a": "éé😀/\n", "b": [true, null, 0, 1500.0, NaN, -Infinity]}"#,
            ),
            ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
            ("0.1234567890123456789", "0.12345678901234568"),
            ("\"\u{7f}\\u0001\"", "\"\u{7f}\\u0001\""),
            ("[]", "[]"),
            ("{}", "{}"),
        ] {
            assert_eq!(spaced(&loads(text).unwrap()), again, "{text}");
        }
    }

    #[test]
    fn what_python_refuses_or_nodes_cannot_hold_is_refused() {
        for text in [
            "",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "+1",
            "'a'",
            "\"a\tb\"",
            "[1 2]",
            "nul",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"",
            "1e400x",
            "340282366920938463463374607431768211456",
            "1 2",
            "-",
        ] {
            assert!(loads(text).is_err(), "{text}");
        }
        assert!(loads(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn it_agrees_with_another_reader(text in "[\\[\\]{},:\"\\\\ua0-9eE.+ \\-tn]{0,30}") {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            let ours = loads(&text);
            // Numbers beyond the range of floats are infinite in Python, whereas serde_json refuses them.
            if !text.contains(['e', 'E']) {
                prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
            }
        }
    }
}
