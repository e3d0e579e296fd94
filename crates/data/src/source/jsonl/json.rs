//! Checks whether a line is a JSON object that every reader interprets in the same way. One pass, no recursion, no allocation of values.
//!
//! Every error is also one for Python's `json.loads`, which the loader calls. Constructs that `json.loads` accepts and other readers refuse
//! or interpret differently are reported as well: repeated keys, `NaN`, lone surrogates, numbers that lose digits as floats.

use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum nesting of objects and arrays.
const MAX_DEPTH: usize = 1_000;
/// Maximum digits of an integer that is certainly below 2⁵³.
const SAFE_DIGITS: usize = 15;
/// Maximum digits before the point of a number that is certainly finite as a float.
const FINITE_DIGITS: usize = 300;
/// The largest integer up to which every integer is exact as a float.
const SAFE_INTEGER: u64 = 1 << 53;

/// An error or peculiarity at one position of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    /// The line is not JSON; holds the reason.
    Syntax(&'static str),
    /// A byte that is not UTF-8.
    NotUtf8,
    /// Objects and arrays are nested too deeply.
    TooDeep,
    /// A key that already occurs in its object.
    DuplicateKey,
    /// `NaN`, `Infinity`, or a number beyond the range of a float: not JSON, but accepted by Python.
    NotFinite,
    /// An unpaired surrogate, such as `\ud800`.
    LoneSurrogate,
    /// An integer beyond 2⁵³, which many readers round.
    LargeInteger,
}

impl Issue {
    /// Whether the loader refuses the line.
    pub fn is_fatal(self) -> bool {
        matches!(self, Self::Syntax(_) | Self::NotUtf8 | Self::TooDeep)
    }
    /// Whether readers refuse the line or lose a value of it.
    pub fn is_problem(self) -> bool {
        matches!(self, Self::Syntax(_) | Self::NotUtf8 | Self::TooDeep | Self::DuplicateKey)
    }
    /// Returns the description for the user.
    pub fn title(self) -> &'static str {
        match self {
            Self::Syntax(why) => why,
            Self::NotUtf8 => "a byte that is not UTF-8",
            Self::TooDeep => "more than 1,000 objects and arrays in each other",
            Self::DuplicateKey => "a key that the object has already: only the last value is read",
            Self::NotFinite => "a number that is not finite, which only some readers take",
            Self::LoneSurrogate => "half of a character (a lone surrogate), which cannot be written as UTF-8",
            Self::LargeInteger => "an integer beyond 2^53, which some readers round",
        }
    }
}

/// Checks lines, with memory that is reused from line to line.
#[derive(Debug, Default)]
pub struct Checker {
    /// One item for each open object or array: whether it is an object, and where its keys begin in `keys`.
    open: Vec<(bool, usize)>,
    /// Keys of the open objects: hash, then start and end in the line, quotes excluded.
    keys: Vec<(u64, usize, usize)>,
}

type JsonStop = (usize, Issue);

/// Expected next element.
enum Next {
    /// A value.
    Value,
    /// A value, or the end of an array.
    ValueOrEnd,
    /// A key.
    Key,
    /// A key, or the end of an object.
    KeyOrEnd,
    /// A comma, or the end of the innermost open bracket; at the outermost level, the end of the line.
    More,
}

impl Checker {
    /// Checks one line, without its `\n`, and calls `found` for each issue with its offset, in bytes from the beginning of the line. A
    /// fatal issue is the last one. Blank lines have none unless they contain white space that is invalid in JSON.
    pub fn check(&mut self, line: &[u8], mut found: impl FnMut(usize, Issue)) {
        self.open.clear();
        self.keys.clear();
        if let Err(error) = std::str::from_utf8(line) {
            found(error.valid_up_to(), Issue::NotUtf8);
            return;
        }
        let mut walk = Walk { line, at: 0, checker: self, found: &mut found };
        if let Err((at, issue)) = walk.all() {
            found(at, issue);
        }
    }
}

struct Walk<'a, F> {
    line: &'a [u8],
    at: usize,
    checker: &'a mut Checker,
    found: &'a mut F,
}

impl<F: FnMut(usize, Issue)> Walk<'_, F> {
    fn all(&mut self) -> Result<(), JsonStop> {
        self.skip_white();
        let mut next = match self.peek() {
            None => return Ok(()),
            Some(b'{') => Next::Value,
            Some(_) => return self.wrong("the line does not begin with {"),
        };
        loop {
            self.skip_white();
            next = match next {
                Next::Value => self.value()?,
                Next::ValueOrEnd if self.peek() == Some(b']') => self.close(false)?,
                Next::ValueOrEnd => self.value()?,
                Next::KeyOrEnd if self.peek() == Some(b'}') => self.close(true)?,
                Next::Key | Next::KeyOrEnd => self.key()?,
                Next::More => match self.checker.open.last() {
                    None if self.at == self.line.len() => return Ok(()),
                    None => return self.wrong("there is something after the object"),
                    Some((is_object, _)) => self.more(*is_object)?,
                },
            };
        }
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn skip_white(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn wrong<T>(&self, why: &'static str) -> Result<T, JsonStop> {
        Err((self.at, Issue::Syntax(why)))
    }

    fn report(&mut self, at: usize, issue: Issue) {
        (self.found)(at, issue);
    }

    fn value(&mut self) -> Result<Next, JsonStop> {
        match self.peek() {
            Some(b'"') => {
                self.string()?;
            }
            Some(b'{') => return self.open(true),
            Some(b'[') => return self.open(false),
            Some(b'0'..=b'9') => self.number()?,
            Some(b'-') if self.line.get(self.at + 1) == Some(&b'I') => self.expect_odd_literal(b"-Infinity")?,
            Some(b'-') => self.number()?,
            Some(b't') => self.expect_literal(b"true")?,
            Some(b'f') => self.expect_literal(b"false")?,
            Some(b'n') => self.expect_literal(b"null")?,
            Some(b'N') => self.expect_odd_literal(b"NaN")?,
            Some(b'I') => self.expect_odd_literal(b"Infinity")?,
            None => return self.wrong("the line ends where a value must come"),
            Some(b'\'') => return self.wrong("strings need double quotes"),
            Some(_) => return self.wrong("a value must come here"),
        }
        Ok(Next::More)
    }

    fn open(&mut self, is_object: bool) -> Result<Next, JsonStop> {
        if self.checker.open.len() >= MAX_DEPTH {
            return Err((self.at, Issue::TooDeep));
        }
        self.at += 1;
        self.checker.open.push((is_object, self.checker.keys.len()));
        Ok(if is_object { Next::KeyOrEnd } else { Next::ValueOrEnd })
    }

    fn close(&mut self, is_object: bool) -> Result<Next, JsonStop> {
        self.at += 1;
        if let Some((_, keys_from)) = self.checker.open.pop() {
            if is_object {
                self.find_duplicates(keys_from);
            }
        }
        Ok(Next::More)
    }

    fn more(&mut self, is_object: bool) -> Result<Next, JsonStop> {
        match (self.peek(), is_object) {
            (Some(b','), true) => {
                self.at += 1;
                Ok(Next::Key)
            }
            (Some(b','), false) => {
                self.at += 1;
                Ok(Next::Value)
            }
            (Some(b'}'), true) | (Some(b']'), false) => self.close(is_object),
            (None, true) => self.wrong("the line ends inside an object"),
            (None, false) => self.wrong("the line ends inside an array"),
            (Some(_), true) => self.wrong("a comma or } must come here"),
            (Some(_), false) => self.wrong("a comma or ] must come here"),
        }
    }

    fn key(&mut self) -> Result<Next, JsonStop> {
        match self.peek() {
            Some(b'"') => {}
            None => return self.wrong("the line ends where a key must come"),
            Some(b'}') => return self.wrong("a comma is before the }"),
            Some(_) => return self.wrong("a key in double quotes must come here"),
        }
        let (from, to, is_plain) = self.string()?;
        let text = self.line.get(from..to).unwrap_or_default();
        let hash = if is_plain { xxh3_64(text) } else { xxh3_64(&decoded(text)) };
        self.checker.keys.push((hash, from, to));
        self.skip_white();
        if self.peek() != Some(b':') {
            return self.wrong("a colon must come here");
        }
        self.at += 1;
        Ok(Next::Value)
    }

    /// Reads a string; returns its start and end without quotes, and whether it has no escapes.
    fn string(&mut self) -> Result<(usize, usize, bool), JsonStop> {
        let opened = self.at;
        let from = opened + 1;
        let (mut at, mut is_plain) = (from, true);
        loop {
            let rest = self.line.get(at..).unwrap_or_default();
            let Some(length) = memchr::memchr2(b'"', b'\\', rest) else {
                return Err((opened, Issue::Syntax("the line ends inside a string")));
            };
            let text = rest.get(..length).unwrap_or_default();
            // A fold instead of a search, because it is vectorised.
            if text.iter().fold(false, |found, byte| found | (*byte < b' ')) {
                let control = text.iter().position(|byte| *byte < b' ').unwrap_or(0);
                return Err((at + control, Issue::Syntax("a control character in a string must be escaped")));
            }
            at += length;
            if self.line.get(at) == Some(&b'"') {
                self.at = at + 1;
                return Ok((from, at, is_plain));
            }
            is_plain = false;
            at = self.escape(at)?;
        }
    }

    /// Returns the offset after the escape at `at`.
    fn escape(&mut self, at: usize) -> Result<usize, JsonStop> {
        match self.line.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => {
                let Some(unit) = hex4(self.line, at + 2) else {
                    return Err((at, Issue::Syntax("\\u needs four hexadecimal digits")));
                };
                match unit {
                    0xd800..=0xdbff if is_low_surrogate(self.line, at + 6) => Ok(at + 12),
                    0xd800..=0xdfff => {
                        self.report(at, Issue::LoneSurrogate);
                        Ok(at + 6)
                    }
                    _ => Ok(at + 6),
                }
            }
            _ => Err((at, Issue::Syntax("this escape is not known in JSON"))),
        }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<(), JsonStop> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let first = self.at;
        let whole = self.digits();
        if whole == 0 {
            return self.wrong("a digit must come here");
        }
        if whole > 1 && self.line.get(first) == Some(&b'0') {
            return Err((first, Issue::Syntax("a number must not begin with 0")));
        }
        let mut is_integer = true;
        if self.peek() == Some(b'.') {
            is_integer = false;
            self.at += 1;
            if self.digits() == 0 {
                return self.wrong("a digit must follow the point");
            }
        }
        let mut may_be_infinite = whole > FINITE_DIGITS;
        if matches!(self.peek(), Some(b'e' | b'E')) {
            is_integer = false;
            may_be_infinite = true;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return self.wrong("a digit must come in the exponent");
            }
        }
        if is_integer && whole > SAFE_DIGITS {
            let text = std::str::from_utf8(self.line.get(first..self.at).unwrap_or_default()).unwrap_or_default();
            if text.parse::<u64>().map_or(true, |number| number > SAFE_INTEGER) {
                self.report(start, Issue::LargeInteger);
            }
        } else if !is_integer && may_be_infinite {
            let text = std::str::from_utf8(self.line.get(start..self.at).unwrap_or_default()).unwrap_or_default();
            if text.parse::<f64>().is_ok_and(f64::is_infinite) {
                self.report(start, Issue::NotFinite);
            }
        }
        Ok(())
    }

    fn expect_literal(&mut self, word: &[u8]) -> Result<(), JsonStop> {
        if self.line.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            self.at += word.len();
            return Ok(());
        }
        self.wrong("a value must come here")
    }

    fn expect_odd_literal(&mut self, word: &[u8]) -> Result<(), JsonStop> {
        let at = self.at;
        self.expect_literal(word)?;
        self.report(at, Issue::NotFinite);
        Ok(())
    }

    /// Ends an object: repeated keys are reported, in the order of the line.
    fn find_duplicates(&mut self, from: usize) {
        let line = self.line;
        let keys = self.checker.keys.get_mut(from..).unwrap_or_default();
        keys.sort_unstable();
        let text = |key: &(u64, usize, usize)| decoded(line.get(key.1..key.2).unwrap_or_default());
        let mut again: Vec<usize> = Vec::new();
        let mut first = 0;
        for at in 1..keys.len() {
            let (Some(known), Some(key)) = (keys.get(first), keys.get(at)) else { break };
            if known.0 != key.0 {
                first = at;
            } else if text(known) == text(key) {
                again.push(key.1 - 1);
            }
        }
        self.checker.keys.truncate(from);
        again.sort_unstable();
        again.into_iter().for_each(|at| self.report(at, Issue::DuplicateKey));
    }
}

fn hex4(line: &[u8], at: usize) -> Option<u32> {
    let digits = line.get(at..at + 4)?;
    digits.iter().try_fold(0, |number, digit| Some(number * 16 + char::from(*digit).to_digit(16)?))
}

fn is_low_surrogate(line: &[u8], at: usize) -> bool {
    line.get(at..at + 2) == Some(b"\\u") && matches!(hex4(line, at + 2), Some(0xdc00..=0xdfff))
}

/// Returns a string's text with its escapes resolved, so that two spellings of a key compare equal. Surrogates keep their three bytes.
fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'\\') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        if *byte != b'\\' {
            out.push(*byte);
            at += 1;
            continue;
        }
        let escaped = text.get(at + 1).copied().unwrap_or_default();
        if escaped != b'u' {
            out.push(match escaped {
                b'b' => 0x08,
                b'f' => 0x0c,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                other => other,
            });
            at += 2;
            continue;
        }
        let unit = hex4(text, at + 2).unwrap_or(0);
        if (0xd800..0xdc00).contains(&unit) && is_low_surrogate(text, at + 6) {
            let low = hex4(text, at + 8).unwrap_or(0xdc00);
            push_scalar(&mut out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
            at += 12;
        } else {
            push_scalar(&mut out, unit);
            at += 6;
        }
    }
    Cow::Owned(out)
}

fn push_scalar(out: &mut Vec<u8>, scalar: u32) {
    match char::from_u32(scalar) {
        Some(character) => {
            let mut bytes = [0; 4];
            out.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
        }
        None => {
            out.extend([0xe0 | (scalar >> 12) as u8, 0x80 | (scalar >> 6 & 0x3f) as u8, 0x80 | (scalar & 0x3f) as u8])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn issues(line: &[u8]) -> Vec<(usize, Issue)> {
        let mut found = Vec::new();
        Checker::default().check(line, |at, issue| found.push((at, issue)));
        found
    }

    fn fatal(line: &str) -> usize {
        let found = issues(line.as_bytes());
        match found.last() {
            Some((at, issue)) if issue.is_fatal() => *at,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn sound_objects_have_no_issue() {
        for line in [
            "{}",
            " { } ",
            "",
            " \t\r",
            r#"{"a":1}"#,
            "{\"a\": [1, -0, 0.5, 1e5, -1.25E-3, true, false, null, {}, []]}\r",
            r#"{"é": "ü\n\u00e9\ud83d\ude00", "b": {"a": 1}, "a": {"b": 2}}"#,
            r#"{"n": 9007199254740992}"#,
        ] {
            assert_eq!(issues(line.as_bytes()), [], "{line}");
        }
    }

    #[test]
    fn what_is_no_json_is_reported_with_its_place() {
        for (line, at) in [
            ("[1]", 0),
            ("x", 0),
            ("{", 1),
            (r#"{"a"}"#, 4),
            (r#"{"a":}"#, 5),
            (r#"{"a":1,}"#, 7),
            (r#"{"a":1}}"#, 7),
            (r#"{"a":1} {"b":2}"#, 8),
            (r#"{"a":01}"#, 5),
            (r#"{"a":1.}"#, 7),
            (r#"{"a":1e}"#, 7),
            (r#"{"a":-}"#, 6),
            (r#"{'a':1}"#, 1),
            (r#"{"a":'b'}"#, 5),
            (r#"{"a":tru}"#, 5),
            (r#"{"a":[1 2]}"#, 8),
            (r#"{"a":[1}"#, 7),
            (r#"{"a":"b}"#, 5),
            (r#"{"a":"\x"}"#, 6),
            (r#"{"a":"\u12g4"}"#, 6),
            ("{\"a\":\"b\tc\"}", 7),
            (r#"{"a" 1}"#, 5),
            (r#"{"a":[1,]}"#, 8),
            (r#"{a:1}"#, 1),
            ("{}\x0b", 2),
            (r#"{"a":+1}"#, 5),
            (r#"{"a":nan}"#, 5),
        ] {
            assert_eq!(fatal(line), at, "{line}");
        }
        assert_eq!(issues(b"{\"a\":\"\xff\"}"), [(6, Issue::NotUtf8)]);
    }

    #[test]
    fn what_readers_take_differently_is_reported_and_is_not_fatal() {
        use Issue::*;
        for (line, wanted) in [
            (r#"{"a":1,"b":2,"a":3}"#, vec![(13, DuplicateKey)]),
            (r#"{"a":1,"\u0061":3}"#, vec![(7, DuplicateKey)]),
            (r#"{"a":{"k":1,"k":2,"k":3},"b":[{"k":1}]}"#, vec![(12, DuplicateKey), (18, DuplicateKey)]),
            (r#"{"a":NaN,"b":-Infinity,"c":Infinity}"#, vec![(5, NotFinite), (13, NotFinite), (27, NotFinite)]),
            (r#"{"a":1e999}"#, vec![(5, NotFinite)]),
            (
                r#"{"a":"\ud800","b":"\udc00\ud800x"}"#,
                vec![(6, LoneSurrogate), (19, LoneSurrogate), (25, LoneSurrogate)],
            ),
            (
                r#"{"a":9007199254740993,"b":-123456789012345678901234567890}"#,
                vec![(5, LargeInteger), (26, LargeInteger)],
            ),
        ] {
            assert_eq!(issues(line.as_bytes()), wanted, "{line}");
            assert!(wanted.iter().all(|(_, issue)| !issue.is_fatal()));
        }
    }

    #[test]
    fn depth_ends_at_a_thousand_without_recursion() {
        let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(issues(nested(999).as_bytes()), []);
        assert_eq!(issues(nested(1000).as_bytes()), [(5 + 999, Issue::TooDeep)]);
        assert_eq!(issues(nested(5_000_000).as_bytes()), [(5 + 999, Issue::TooDeep)]);
    }

    #[test]
    fn an_object_of_very_many_equal_hashes_or_keys_ends() {
        let many: Vec<String> = (0..200_000).map(|number| format!("\"k{}\":0", number % 1000)).collect();
        let line = format!("{{{}}}", many.join(","));
        assert_eq!(issues(line.as_bytes()).len(), 199_000);
    }

    proptest! {
        #[test]
        fn agrees_with_a_parser_about_what_is_json(
            line in r#"\{("[a-c\\"/u0-9d]{0,4}" ?:? ?([0-9.eE+-]{1,5}|true|null|"x"|\[\]|\{\}|\[1,?\]),?){0,3}\}?"#
        ) {
            let ours = issues(line.as_bytes());
            let is_fatal = ours.iter().any(|(_, issue)| issue.is_fatal());
            let odd = ours.iter().any(|(_, issue)| matches!(issue, Issue::LoneSurrogate | Issue::NotFinite));
            let theirs = serde_json::from_str::<serde_json::Value>(&line);
            prop_assert!(odd || is_fatal == theirs.is_err(), "{} {:?} {:?}", line, ours, theirs);
        }

        #[test]
        fn any_bytes_end(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            for (at, _) in issues(&line) {
                prop_assert!(at <= line.len());
            }
        }
    }
}
