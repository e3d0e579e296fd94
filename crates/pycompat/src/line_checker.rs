//! Validates lines of any length, byte by byte: lines that are too long for memory. Also the reference for tests of the fast validation,
//! with which it shares only the visitors. Accepts the same lines as Python's `json.loads`.

use super::json_walk::{Kind, Span, Visit, DEEPEST_PYTHON, MAX_DIGITS};

/// Maximum size of all keys of the outermost object that are stored, in bytes.
pub const MAX_KEY_BYTES: usize = 4 << 20;

/// The UTF-8 byte-order mark.
const MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// Validates a line that arrives in pieces.
///
/// Visitors receive only the keys of the outermost object, as spans of [`keys`](Self::keys). An empty object or array is received like a
/// non-empty one, with its end. Numbers beyond the range of floats and unpaired surrogates are not reported.
#[derive(Clone, Debug)]
pub struct LineChecker {
    state: State,
    /// Open brackets, outermost first: whether each is an object.
    open: Vec<bool>,
    /// Number of bytes so far.
    checked: u64,
    utf8: Utf8,
    in_mark: bool,
    bad: bool,
    /// Keys of the outermost object, as written in the line, concatenated.
    keys: Vec<u8>,
    has_all_keys: bool,
    /// Start of the open key in `keys`, or of the open string or other value in the line. For strings, the offset after the quote.
    from: usize,
    has_escapes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A value, or the end of an empty array, is expected.
    Value {
        may_close: bool,
    },
    /// A key, or the end of an empty object, is expected.
    Key {
        may_close: bool,
    },
    Colon,
    /// A value has ended.
    More,
    Text {
        is_key: bool,
    },
    /// The character after a backslash is expected.
    Escape {
        is_key: bool,
    },
    /// Number of expected hexadecimal digits.
    Hex {
        is_key: bool,
        left: u8,
    },
    /// Number of bytes of the word so far.
    Word {
        word: &'static [u8],
        checked: usize,
    },
    Number {
        part: Part,
        digits: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Minus,
    /// A leading 0, which no other digit may follow.
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// The number of expected bytes of a character, and the valid range of the next byte.
#[derive(Clone, Copy, Debug, Default)]
struct Utf8 {
    left: u8,
    low: u8,
    high: u8,
}

impl Utf8 {
    /// Adds a byte. Returns `false` if it is not valid UTF-8. Accepts surrogates.
    fn push(&mut self, byte: u8) -> bool {
        if self.left > 0 {
            let fits = (self.low..=self.high).contains(&byte);
            *self = Self { left: self.left - 1, low: 0x80, high: 0xbf };
            return fits;
        }
        let (left, low, high) = match byte {
            0..=0x7f => (0, 0x80, 0xbf),
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xe1..=0xef => (2, 0x80, 0xbf),
            0xf0 => (3, 0x90, 0xbf),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            _ => return false,
        };
        *self = Self { left, low, high };
        true
    }
}

impl Default for LineChecker {
    fn default() -> Self {
        Self {
            state: State::Value { may_close: false },
            open: Vec::new(),
            checked: 0,
            utf8: Utf8::default(),
            in_mark: false,
            bad: false,
            keys: Vec::new(),
            has_all_keys: true,
            from: 0,
            has_escapes: false,
        }
    }
}

/// Number of bytes of a string that are checked in one step.
const STRING_STEP_BYTES: usize = 64;

/// Returns the length of the prefix of whole steps without a quote, a backslash, a control character or a non-ASCII byte, none of which
/// changes the state inside a string.
fn plain_run(bytes: &[u8]) -> usize {
    let is_odd = |byte: u8| (byte == b'"') | (byte == b'\\') | !(b' '..0x80).contains(&byte);
    // A fold over all bytes can be vectorised, unlike a search that stops early.
    let is_plain = |stride: &&[u8; STRING_STEP_BYTES]| !stride.iter().fold(false, |found, byte| found | is_odd(*byte));
    STRING_STEP_BYTES * bytes.as_chunks::<STRING_STEP_BYTES>().0.iter().take_while(is_plain).count()
}

impl LineChecker {
    /// Adds the next bytes of the line, which must not contain `\n`.
    pub fn push<V: Visit>(&mut self, bytes: &[u8], visit: &mut V) {
        let mut rest = bytes;
        while let Some((byte, remainder)) = rest.split_first() {
            if self.bad {
                return;
            }
            if let (State::Text { is_key }, 0, 3..) = (self.state, self.utf8.left, self.checked) {
                let plain = plain_run(rest);
                if plain > 0 {
                    if is_key {
                        self.key_bytes(rest.get(..plain).unwrap_or_default());
                    }
                    self.checked += plain as u64;
                    rest = rest.get(plain..).unwrap_or_default();
                    continue;
                }
            }
            rest = remainder;
            let is_utf8 = self.utf8.push(*byte);
            let mark = MARK.get(usize::try_from(self.checked).unwrap_or(usize::MAX));
            // An incomplete byte-order mark is never the start of a valid line.
            let is_fine = match (self.in_mark, mark) {
                (true, Some(wanted)) if self.checked > 0 => wanted == byte,
                _ if self.checked == 0 && *byte == MARK[0] => {
                    self.in_mark = true;
                    true
                }
                _ => self.step(*byte, visit),
            };
            self.bad = !is_utf8 || !is_fine;
            self.checked += u64::from(!self.bad);
        }
    }

    /// Returns the number of accepted bytes: all of them, or those before the first invalid one.
    pub fn valid_bytes(&self) -> u64 {
        self.checked
    }

    /// Returns the keys of the outermost object, concatenated; `None` if they exceed [`MAX_KEY_BYTES`].
    pub fn keys(&self) -> Option<&[u8]> {
        self.has_all_keys.then_some(&self.keys)
    }

    /// Whether the bytes so far are a line that Python accepts as JSON.
    pub fn is_json(&self) -> bool {
        let is_whole = match self.state {
            State::More => true,
            State::Number { part, digits } => number_ends(part, digits),
            State::Word { word, checked: seen } => seen == word.len(),
            _ => false,
        };
        is_whole && self.open.is_empty() && !self.bad && self.utf8.left == 0
    }

    /// Ends the line. Returns whether Python accepts it as JSON.
    pub fn end(&mut self, visit: &mut impl Visit) -> bool {
        let is_json = self.is_json();
        if is_json {
            self.scalar(visit);
        }
        is_json
    }

    /// Adds a byte. Returns `false` if it is invalid at this position.
    fn step(&mut self, byte: u8, visit: &mut impl Visit) -> bool {
        match self.state {
            State::Text { is_key } => self.in_text(byte, is_key, visit),
            State::Escape { is_key } => {
                self.state = match byte {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => State::Text { is_key },
                    b'u' => State::Hex { is_key, left: 4 },
                    _ => return false,
                };
                if is_key {
                    self.key_bytes(&[byte]);
                }
                true
            }
            State::Hex { is_key, left } => {
                self.state = if left > 1 { State::Hex { is_key, left: left - 1 } } else { State::Text { is_key } };
                if is_key {
                    self.key_bytes(&[byte]);
                }
                byte.is_ascii_hexdigit()
            }
            State::Word { word, checked: seen } if seen < word.len() => {
                self.state = State::Word { word, checked: seen + 1 };
                word.get(seen) == Some(&byte)
            }
            State::Number { part: Part::Minus, .. } if byte == b'I' => {
                self.state = State::Word { word: b"Infinity", checked: 1 };
                true
            }
            State::Number { part, digits } => match next_part(part, byte) {
                Some(next) => {
                    let digits = digits + usize::from(next == Part::Whole || next == Part::Zero);
                    self.state = State::Number { part: next, digits };
                    true
                }
                None => number_ends(part, digits) && self.after_value(byte, visit),
            },
            State::Word { .. } | State::More => self.after_value(byte, visit),
            _ if matches!(byte, b' ' | b'\t' | b'\r') => true,
            State::Colon => {
                self.state = State::Value { may_close: false };
                byte == b':'
            }
            State::Key { may_close } => match byte {
                b'"' => {
                    (self.state, self.from, self.has_escapes) = (State::Text { is_key: true }, self.keys.len(), false);
                    true
                }
                _ => byte == b'}' && may_close && self.close(true, visit),
            },
            State::Value { may_close } => self.begin(byte, may_close, visit),
        }
    }

    /// Returns the offset of the current byte.
    fn at(&self) -> usize {
        usize::try_from(self.checked).unwrap_or(usize::MAX)
    }

    fn key_bytes(&mut self, bytes: &[u8]) {
        if self.open.len() == 1 {
            self.has_all_keys &= self.keys.len() + bytes.len() <= MAX_KEY_BYTES;
            if self.has_all_keys {
                self.keys.extend_from_slice(bytes);
            }
        }
    }

    fn in_text(&mut self, byte: u8, is_key: bool, visit: &mut impl Visit) -> bool {
        let span = |to| Span { from: self.from, to, has_escapes: self.has_escapes, has_half: false };
        match (byte, is_key) {
            (b'"', true) => {
                if self.open.len() == 1 && self.has_all_keys {
                    visit.key(&self.keys, 1, span(self.keys.len()));
                }
                self.state = State::Colon;
            }
            (b'"', false) => {
                visit.value(self.open.len(), Kind::String, span(self.at()));
                self.state = State::More;
            }
            _ => {
                if byte == b'\\' {
                    (self.state, self.has_escapes) = (State::Escape { is_key }, true);
                }
                if is_key {
                    self.key_bytes(&[byte]);
                }
            }
        }
        byte >= b' '
    }

    fn begin(&mut self, byte: u8, may_close: bool, visit: &mut impl Visit) -> bool {
        let word = |word| State::Word { word, checked: 1 };
        self.from = self.at();
        self.state = match byte {
            b'"' => {
                (self.from, self.has_escapes) = (self.at() + 1, false);
                State::Text { is_key: false }
            }
            b'{' | b'[' => {
                let is_object = byte == b'{';
                let kind = if is_object { Kind::Object } else { Kind::Array };
                visit.value(self.open.len(), kind, self.plain(self.at() + 1));
                self.open.push(is_object);
                match is_object {
                    true => State::Key { may_close: true },
                    false => State::Value { may_close: true },
                }
            }
            b'-' => State::Number { part: Part::Minus, digits: 0 },
            b'0' => State::Number { part: Part::Zero, digits: 1 },
            b'1'..=b'9' => State::Number { part: Part::Whole, digits: 1 },
            b't' => word(b"true"),
            b'f' => word(b"false"),
            b'n' => word(b"null"),
            b'N' => word(b"NaN"),
            b'I' => word(b"Infinity"),
            b']' => return may_close && self.close(false, visit),
            _ => return false,
        };
        self.open.len() <= DEEPEST_PYTHON
    }

    fn plain(&self, to: usize) -> Span {
        Span { from: self.from, to, has_escapes: false, has_half: false }
    }

    /// Passes the number or word that ends before the current byte to the visitor, if there is one.
    fn scalar(&self, visit: &mut impl Visit) {
        let kind = match self.state {
            State::Number { .. } => Kind::Number,
            State::Word { word: b"true", .. } => Kind::True,
            State::Word { word: b"false", .. } => Kind::False,
            State::Word { word: b"null", .. } => Kind::Null,
            State::Word { .. } => Kind::NonFinite,
            _ => return,
        };
        visit.value(self.open.len(), kind, self.plain(self.at()));
    }

    fn after_value(&mut self, byte: u8, visit: &mut impl Visit) -> bool {
        self.scalar(visit);
        self.state = State::More;
        match (byte, self.open.last()) {
            (b' ' | b'\t' | b'\r', _) => true,
            (b',', Some(true)) => {
                self.state = State::Key { may_close: false };
                true
            }
            (b',', Some(false)) => {
                self.state = State::Value { may_close: false };
                true
            }
            (b'}', _) => self.close(true, visit),
            (b']', _) => self.close(false, visit),
            _ => false,
        }
    }

    fn close(&mut self, is_object: bool, visit: &mut impl Visit) -> bool {
        self.state = State::More;
        visit.close(self.open.len(), self.at() + 1);
        self.open.pop() == Some(is_object)
    }
}

/// Whether a number may end here.
fn number_ends(part: Part, digits: usize) -> bool {
    match part {
        Part::Zero | Part::Whole => digits <= MAX_DIGITS,
        Part::Fraction | Part::ExponentDigits => true,
        Part::Minus | Part::Point | Part::Exponent | Part::ExponentSign => false,
    }
}

/// Returns the state after a byte inside a number; `None` if the byte does not belong to the number.
fn next_part(part: Part, byte: u8) -> Option<Part> {
    match (part, byte) {
        (Part::Minus, b'0') => Some(Part::Zero),
        (Part::Minus, b'1'..=b'9') | (Part::Whole, b'0'..=b'9') => Some(Part::Whole),
        (Part::Zero | Part::Whole, b'.') => Some(Part::Point),
        (Part::Point | Part::Fraction, b'0'..=b'9') => Some(Part::Fraction),
        (Part::Zero | Part::Whole | Part::Fraction, b'e' | b'E') => Some(Part::Exponent),
        (Part::Exponent, b'+' | b'-') => Some(Part::ExponentSign),
        (Part::Exponent | Part::ExponentSign | Part::ExponentDigits, b'0'..=b'9') => Some(Part::ExponentDigits),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_fields::{slice, Field, Fields};
    use proptest::prelude::*;

    /// Returns whether a line is valid, and its fields: key, position, kind and whether there are escapes.
    fn in_pieces(line: &[u8], size: usize) -> (bool, Fields, Vec<u8>) {
        let (mut checker, mut fields) = (LineChecker::default(), Fields::any());
        line.chunks(size).for_each(|piece| checker.push(piece, &mut fields));
        (checker.end(&mut fields), fields, checker.keys().unwrap().to_vec())
    }

    #[test]
    fn keys_beyond_the_limit_are_not_kept() {
        let mut checker = LineChecker::default();
        checker.push(format!("{{\"a\": 1, \"{}\": 2}}", "k".repeat(MAX_KEY_BYTES)).as_bytes(), &mut Fields::any());
        assert!(checker.is_json() && checker.keys().is_none() && checker.keys.len() <= MAX_KEY_BYTES);
    }

    /// Generates lines that are objects, and such lines with one changed byte.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let key = r#"(a|b|é|\\"|\\\\|\\u00e9|\\n){0,3}"#;
        let value = prop_oneof![
            "-?(0|[1-9][0-9]{0,3})([.][0-9]{1,2})?([eE][+-]?[0-9])?",
            "true|false|null|NaN|-?Infinity",
            r#""(x|é|\\"|\\\\|\\ud83d){0,4}""#,
            r#"\[( |1|\{"a": \[ \]\})?\]|\{ ?("a" ?:[12])? ?\}"#,
        ];
        let field =
            (key, "[ \t\r]?", value).prop_map(|(key, white, value)| format!("\"{key}\"{white}:{white}{value}{white}"));
        let object = (" ?", proptest::collection::vec(field, 0..5))
            .prop_map(|(white, fields)| format!("{white}{{{white}{}}}{white}", fields.join(",")));
        let line = prop_oneof![4 => object, 1 => "-?[1-9]{0,3}|true|null|\\[ ?1?\\]|\"x?\""];
        (
            line,
            prop::option::weighted(
                0.3,
                (any::<prop::sample::Index>(), prop::sample::select(&b"{}[],:\"\\ 0x\xff"[..])),
            ),
        )
            .prop_map(|(line, change)| {
                let mut line = line.into_bytes();
                let len = line.len();
                if let Some((at, byte)) = change.filter(|_| len > 0) {
                    line[at.index(len)] = byte;
                }
                line
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn fields_of_a_line_in_pieces_match_those_of_the_whole_line(line in line(), size in 1usize..9) {
            let shown = line.escape_ascii().to_string();
            let mut whole = Fields::any();
            let is_json = std::str::from_utf8(&line).is_ok() && whole.read(&line).is_ok();
            let (ours, fields, keys) = in_pieces(&line, size);
            prop_assert_eq!(ours, is_json, "{}", shown);
            if is_json {
                let kind = |kind| match kind {
                    Kind::EmptyObject => Kind::Object,
                    Kind::EmptyArray => Kind::Array,
                    other => other,
                };
                let all = |fields: &Fields, keys: &[u8]| -> Vec<_> {
                    let key = |field: &Field| slice(keys, field.key_from, field.key_to).to_vec();
                    let one = |field: &Field| (key(field), field.from, field.to, kind(field.kind), field.has_escapes);
                    fields.list().iter().map(one).collect()
                };
                prop_assert_eq!(all(&fields, &keys), all(&whole, &line), "{}", shown);
                prop_assert_eq!(format!("{:?}", fields.shape()), format!("{:?}", whole.shape()).replace("Empty", ""));
            }
        }
    }
}
