//! Checks a line of any length as Python's `json.loads` does, byte by byte: for lines that are too long to be held in memory, and as a
//! reference in the tests of the fast check, with which it shares no code.

use super::json_walk::{DEEPEST_PYTHON, MAX_DIGITS};

/// The UTF-8 byte-order mark.
const MARK: [u8; 3] = *b"\xef\xbb\xbf";

/// State after the bytes of a line seen so far.
#[derive(Clone, Debug)]
pub struct LineJudge {
    state: State,
    /// Open brackets, outermost first: whether each is an object.
    open: Vec<bool>,
    /// Bytes seen so far.
    seen: u64,
    utf8: Utf8,
    in_mark: bool,
    bad: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A value, or the end of an array that has just begun.
    Value {
        may_close: bool,
    },
    /// A key, or the end of an object that has just begun.
    Key {
        may_close: bool,
    },
    Colon,
    /// After a value.
    More,
    Text {
        is_key: bool,
    },
    /// After a backslash.
    Escape {
        is_key: bool,
    },
    /// Number of hexadecimal digits still expected.
    Hex {
        is_key: bool,
        left: u8,
    },
    /// Number of bytes of the word seen so far.
    Word {
        word: &'static [u8],
        seen: usize,
    },
    Number {
        part: Part,
        digits: usize,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Minus,
    /// A leading 0: no other digit may follow.
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

/// Bytes of one character that are still expected, and the range of the next.
#[derive(Clone, Copy, Debug, Default)]
struct Utf8 {
    left: u8,
    low: u8,
    high: u8,
}

impl Utf8 {
    /// Takes a byte; returns `false` when it is not UTF-8. Surrogates are accepted.
    fn take(&mut self, byte: u8) -> bool {
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

impl Default for LineJudge {
    fn default() -> Self {
        Self {
            state: State::Value { may_close: false },
            open: Vec::new(),
            seen: 0,
            utf8: Utf8::default(),
            in_mark: false,
            bad: false,
        }
    }
}

/// Bytes of a string that are checked in one step.
const STRING_STEP_BYTES: usize = 64;

/// Returns the number of bytes at the beginning that do not change the state inside a string, in whole strides: no quote, no backslash, no
/// control character and no non-ASCII byte.
fn plain_run(bytes: &[u8]) -> usize {
    let is_odd = |byte: u8| (byte == b'"') | (byte == b'\\') | !(b' '..0x80).contains(&byte);
    // A fold instead of a search, because it is vectorised.
    let is_plain = |stride: &&[u8; STRING_STEP_BYTES]| !stride.iter().fold(false, |found, byte| found | is_odd(*byte));
    STRING_STEP_BYTES * bytes.as_chunks::<STRING_STEP_BYTES>().0.iter().take_while(is_plain).count()
}

impl LineJudge {
    /// Takes the next bytes of the line, which contain no `\n`.
    pub fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, behind)) = rest.split_first() {
            if self.bad {
                return;
            }
            if let (State::Text { .. }, 0, 3..) = (self.state, self.utf8.left, self.seen) {
                let plain = plain_run(rest);
                if plain > 0 {
                    self.seen += plain as u64;
                    rest = rest.get(plain..).unwrap_or_default();
                    continue;
                }
            }
            rest = behind;
            let is_utf8 = self.utf8.take(*byte);
            let mark = MARK.get(usize::try_from(self.seen).unwrap_or(usize::MAX));
            // An incomplete mark is not the beginning of any other valid text.
            let is_fine = match (self.in_mark, mark) {
                (true, Some(wanted)) if self.seen > 0 => wanted == byte,
                _ if self.seen == 0 && *byte == MARK[0] => {
                    self.in_mark = true;
                    true
                }
                _ => self.step(*byte),
            };
            self.bad = !is_utf8 || !is_fine;
            self.seen += u64::from(!self.bad);
        }
    }

    /// Returns the number of bytes taken: all of them, or up to the first invalid one.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Whether the line taken so far is JSON for Python.
    pub fn is_json(&self) -> bool {
        let is_whole = match self.state {
            State::More => true,
            State::Number { part, digits } => number_ends(part, digits),
            State::Word { word, seen } => seen == word.len(),
            _ => false,
        };
        is_whole && self.open.is_empty() && !self.bad && self.utf8.left == 0
    }

    /// Takes a byte; returns `false` when it is invalid at this position.
    fn step(&mut self, byte: u8) -> bool {
        match self.state {
            State::Text { is_key } => self.in_text(byte, is_key),
            State::Escape { is_key } => {
                self.state = match byte {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => State::Text { is_key },
                    b'u' => State::Hex { is_key, left: 4 },
                    _ => return false,
                };
                true
            }
            State::Hex { is_key, left } => {
                self.state = if left > 1 { State::Hex { is_key, left: left - 1 } } else { State::Text { is_key } };
                byte.is_ascii_hexdigit()
            }
            State::Word { word, seen } if seen < word.len() => {
                self.state = State::Word { word, seen: seen + 1 };
                word.get(seen) == Some(&byte)
            }
            State::Number { part: Part::Minus, .. } if byte == b'I' => {
                self.state = State::Word { word: b"Infinity", seen: 1 };
                true
            }
            State::Number { part, digits } => match next_part(part, byte) {
                Some(next) => {
                    let digits = digits + usize::from(next == Part::Whole || next == Part::Zero);
                    self.state = State::Number { part: next, digits };
                    true
                }
                None => number_ends(part, digits) && self.behind(byte),
            },
            State::Word { .. } | State::More => self.behind(byte),
            _ if matches!(byte, b' ' | b'\t' | b'\r') => true,
            State::Colon => {
                self.state = State::Value { may_close: false };
                byte == b':'
            }
            State::Key { may_close } => match byte {
                b'"' => {
                    self.state = State::Text { is_key: true };
                    true
                }
                _ => byte == b'}' && may_close && self.close(true),
            },
            State::Value { may_close } => self.begin(byte, may_close),
        }
    }

    fn in_text(&mut self, byte: u8, is_key: bool) -> bool {
        match byte {
            b'"' => self.state = if is_key { State::Colon } else { State::More },
            b'\\' => self.state = State::Escape { is_key },
            _ => {}
        }
        byte >= b' '
    }

    fn begin(&mut self, byte: u8, may_close: bool) -> bool {
        let word = |word| State::Word { word, seen: 1 };
        self.state = match byte {
            b'"' => State::Text { is_key: false },
            b'{' => {
                self.open.push(true);
                State::Key { may_close: true }
            }
            b'[' => {
                self.open.push(false);
                State::Value { may_close: true }
            }
            b'-' => State::Number { part: Part::Minus, digits: 0 },
            b'0' => State::Number { part: Part::Zero, digits: 1 },
            b'1'..=b'9' => State::Number { part: Part::Whole, digits: 1 },
            b't' => word(b"true"),
            b'f' => word(b"false"),
            b'n' => word(b"null"),
            b'N' => word(b"NaN"),
            b'I' => word(b"Infinity"),
            b']' => return may_close && self.close(false),
            _ => return false,
        };
        self.open.len() <= DEEPEST_PYTHON
    }

    fn behind(&mut self, byte: u8) -> bool {
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
            (b'}', _) => self.close(true),
            (b']', _) => self.close(false),
            _ => false,
        }
    }

    fn close(&mut self, is_object: bool) -> bool {
        self.state = State::More;
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

/// Returns the state after a byte inside a number; `None` when the byte does not belong to it.
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
