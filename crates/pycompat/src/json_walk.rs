//! Validates JSON, a line or a whole document, in one pass: checks that it is one value that Python's `json` and orjson accept, and finds
//! its keys and values.
//!
//! Builds nothing and does not recurse. Callers that need more than the result implement [`Visit`], whose constants define what is
//! accepted. Non-ASCII bytes in strings are not examined; callers must check that they are UTF-8.

/// Maximum nesting depth of objects and arrays in the parser of Python 3.11, when called from a plain script.
pub const DEEPEST_PYTHON: usize = 994;
/// Maximum nesting depth in orjson.
pub const MAX_NESTING: usize = 1024;
/// Maximum number of digits of an integer in Python.
pub const MAX_DIGITS: usize = 4300;
/// Maximum number of digits before the point for which a number without exponent is certainly in the range of floats.
const FINITE_DIGITS: usize = 300;

/// The place and the reason of an error in a JSON text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Offset in bytes from the start of the text.
    pub at: usize,
    /// The reason, in user-facing words that refer to a line.
    pub why: &'static str,
    /// Whether the text is a prefix of a longer text that may be JSON.
    pub is_cut: bool,
}

impl JsonError {
    /// Returns the reason, in words that refer to a document of several lines.
    pub fn in_document(&self) -> &'static str {
        if self.is_cut {
            "it ends too early"
        } else {
            self.why
        }
    }

    /// Returns the line and the column of the error in `text`, counted from 1. Columns are in bytes.
    pub fn place(&self, text: &[u8]) -> (usize, usize) {
        let before = text.get(..self.at).unwrap_or(text);
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
        (memchr::memchr_iter(b'\n', before).count() + 1, before.len() - line_start + 1)
    }
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    String,
    /// A finite number, as written.
    Number,
    /// `NaN`, `Infinity` or `-Infinity`.
    NonFinite,
    /// `true`.
    True,
    /// `false`.
    False,
    /// `null`.
    Null,
    /// A non-empty object.
    Object,
    /// A non-empty array.
    Array,
    /// `{}`.
    EmptyObject,
    /// `[]`.
    EmptyArray,
}

/// The position of a string or another value in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte; for a string, after its opening quote.
    pub from: usize,
    /// Offset after the last byte; for a string, of its closing quote.
    pub to: usize,
    /// Whether it is a string with escapes.
    pub has_escapes: bool,
    /// Whether it is a string with an unpaired surrogate as an escape.
    pub has_half: bool,
}

/// Receives the content of a text during validation. All methods are optional.
pub trait Visit {
    /// Whether numbers beyond the range of floats and unpaired surrogates are reported.
    const REPORTS_ODDITIES: bool = false;
    /// Maximum nesting depth of objects and arrays, up to [`MAX_NESTING`].
    const MAX_NESTING: usize = DEEPEST_PYTHON;
    /// The reason for deeper nesting.
    const TOO_DEEP: &'static str = "objects and arrays are nested more than 1,000 deep";
    /// Whether the text is a line, which ends at `\n`. In a document, `\n` is white space.
    const IS_LINE: bool = true;
    /// Maximum number of digits of an integer.
    const MAX_DIGITS: usize = MAX_DIGITS;
    /// Whether strings may contain control characters.
    const ACCEPTS_CONTROLS: bool = false;
    /// Receives a key of an object at this depth; the outermost object is at depth 1.
    #[inline(always)]
    fn key(&mut self, _text: &[u8], _depth: usize, _span: Span) {}
    /// Receives a value whose parent is at this depth; 0 for the outermost value. An object or array is received at its start.
    #[inline(always)]
    fn value(&mut self, _depth: usize, _kind: Kind, _span: Span) {}
    /// Receives the end of the object or array at this depth. `to` is the offset after its last byte.
    #[inline(always)]
    fn close(&mut self, _depth: usize, _to: usize) {}
    /// Receives a number beyond the range of floats, before it is received as a value.
    #[inline(always)]
    fn overflow(&mut self) {}
    /// Receives the offset of the escape of an unpaired surrogate, before the key or value that contains it is received.
    #[inline(always)]
    fn unpaired_surrogate(&mut self, _at: usize) {}
}

/// A visitor for callers that only need to know whether Python accepts the text.
pub struct NullVisitor;

impl Visit for NullVisitor {}

/// The open values: one bit for each, whether it is an object.
struct ContainerStack {
    bits: [u64; MAX_NESTING / 64 + 1],
    depth: usize,
}

impl ContainerStack {
    #[inline(always)]
    fn push(&mut self, is_object: bool) {
        self.depth += 1;
        if let Some(word) = self.bits.get_mut(self.depth / 64) {
            let bit = 1 << (self.depth % 64);
            *word = if is_object { *word | bit } else { *word & !bit };
        }
    }
    #[inline(always)]
    fn is_object(&self) -> bool {
        self.bits.get(self.depth / 64).is_some_and(|word| word >> (self.depth % 64) & 1 == 1)
    }
}

/// Validates the value at `at`, up to the end of `text` or, in a line, the next `\n`. Returns that offset.
pub fn walk<V: Visit>(text: &[u8], at: usize, visit: &mut V) -> Result<usize, JsonError> {
    let mut at = skip_white::<V>(text, at);
    let mut open = ContainerStack { bits: [0; MAX_NESTING / 64 + 1], depth: 0 };
    loop {
        // A value is required here.
        let Some(first) = text.get(at).copied() else { return stop::<V, _>(text, at, NO_VALUE) };
        match first {
            b'"' => {
                let span = string(text, at, visit)?;
                visit.value(open.depth, Kind::String, span);
                at = span.to + 1;
            }
            b'{' => {
                deeper::<V>(&open, text, at)?;
                let next = skip_white::<V>(text, at + 1);
                if text.get(next) == Some(&b'}') {
                    visit.value(open.depth, Kind::EmptyObject, plain(at, next + 1));
                    at = next + 1;
                } else {
                    visit.value(open.depth, Kind::Object, plain(at, at + 1));
                    open.push(true);
                    at = key(text, next, open.depth, visit)?;
                    continue;
                }
            }
            b'[' => {
                deeper::<V>(&open, text, at)?;
                let next = skip_white::<V>(text, at + 1);
                if text.get(next) == Some(&b']') {
                    visit.value(open.depth, Kind::EmptyArray, plain(at, next + 1));
                    at = next + 1;
                } else {
                    visit.value(open.depth, Kind::Array, plain(at, at + 1));
                    open.push(false);
                    at = next;
                    continue;
                }
            }
            _ => {
                let (kind, to) = scalar(text, at, first, visit)?;
                visit.value(open.depth, kind, plain(at, to));
                at = to;
            }
        }
        // After a value.
        loop {
            at = skip_white::<V>(text, at);
            let next = text.get(at).copied();
            if open.depth == 0 {
                return match next {
                    None | Some(b'\n') => Ok(at),
                    Some(_) => stop::<V, _>(text, at, "unexpected data after the value"),
                };
            }
            let is_object = open.is_object();
            match (next, is_object) {
                (Some(b','), true) => {
                    at = key(text, skip_white::<V>(text, at + 1), open.depth, visit)?;
                    break;
                }
                (Some(b','), false) => {
                    at = skip_white::<V>(text, at + 1);
                    break;
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    at += 1;
                    visit.close(open.depth, at);
                    open.depth -= 1;
                }
                (None | Some(b'\n'), true) => return stop::<V, _>(text, at, "the line ends inside an object"),
                (None | Some(b'\n'), false) => return stop::<V, _>(text, at, "the line ends inside an array"),
                (Some(_), true) => return stop::<V, _>(text, at, "expected a comma or }"),
                (Some(_), false) => return stop::<V, _>(text, at, "expected a comma or ]"),
            }
        }
    }
}

/// The reason at the end of a text that has no value yet.
const NO_VALUE: &str = "the line ends where a value is expected";
/// The reason at the end of a text with an open string.
const OPEN_STRING: &str = "the line ends inside a string";

#[cold]
fn stop<V: Visit, T>(text: &[u8], at: usize, why: &'static str) -> Result<T, JsonError> {
    Err(JsonError { at: at.min(text.len()), why, is_cut: is_end::<V>(text, at) })
}

fn is_end<V: Visit>(text: &[u8], at: usize) -> bool {
    text.get(at).is_none_or(|byte| V::IS_LINE && *byte == b'\n')
}

fn plain(from: usize, to: usize) -> Span {
    Span { from, to, has_escapes: false, has_half: false }
}

#[inline(always)]
fn deeper<V: Visit>(open: &ContainerStack, text: &[u8], at: usize) -> Result<(), JsonError> {
    if open.depth >= V::MAX_NESTING.min(MAX_NESTING) {
        return stop::<V, _>(text, at, V::TOO_DEEP);
    }
    Ok(())
}

#[inline(always)]
fn skip_white<V: Visit>(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b' ' | b'\t' | b'\r')) || (!V::IS_LINE && text.get(at) == Some(&b'\n')) {
        at += 1;
    }
    at
}

/// Consumes a key and its colon, and returns the start of the value.
#[inline(always)]
fn key<V: Visit>(text: &[u8], at: usize, depth: usize, visit: &mut V) -> Result<usize, JsonError> {
    match text.get(at) {
        Some(b'"') => {}
        None | Some(b'\n') => return stop::<V, _>(text, at, "the line ends where a key is expected"),
        Some(b'}') => return stop::<V, _>(text, at, "a comma is before the }"),
        Some(_) => return stop::<V, _>(text, at, "expected a key in double quotes"),
    }
    let span = string(text, at, visit)?;
    visit.key(text, depth, span);
    let at = skip_white::<V>(text, span.to + 1);
    if text.get(at) != Some(&b':') {
        return stop::<V, _>(text, at, "expected a colon");
    }
    Ok(skip_white::<V>(text, at + 1))
}

/// Returns eight copies of a byte.
pub(super) const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Sets the highest bit of each zero byte of a word. Bits above the lowest set bit may be false positives.
#[inline(always)]
pub(super) fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(eight(1)) & !word
}

/// Number of bytes that are examined at once in long strings.
const STRIDE: usize = 64;

/// Returns the offset of the next quote, backslash or control character at or after `at`; the end of the text if there is none.
#[inline(always)]
pub(super) fn next_special(text: &[u8], at: usize) -> usize {
    next_match(
        text,
        at,
        |byte| (byte == b'"') | (byte == b'\\') | (byte < b' '),
        |word| {
            zero_bytes(word ^ eight(b'"')) | zero_bytes(word ^ eight(b'\\')) | (word.wrapping_sub(eight(b' ')) & !word)
        },
    )
}

/// Returns the offset of the next matching byte at or after `at`; the end of the text if there is none. `matches` sets the highest bit of
/// each matching byte of a word; bits above the lowest set bit may be false positives.
#[inline(always)]
pub(super) fn next_match(
    text: &[u8],
    mut at: usize,
    is_match: impl Fn(u8) -> bool,
    matches: impl Fn(u64) -> u64,
) -> usize {
    let mut words = 0;
    loop {
        // Short strings are processed one word at a time.
        if words >= 2 {
            while let Some(stride) = text.get(at..at + STRIDE) {
                // A fold over all bytes can be vectorised, unlike a search that stops early.
                if stride.iter().fold(false, |found, byte| found | is_match(*byte)) {
                    break;
                }
                at += STRIDE;
            }
            // The byte is in one of the next words, or the text ends with them.
            words = 0;
        }
        let Some(word) = text.get(at..at + 8).and_then(|word| word.try_into().ok()) else { break };
        let found = matches(u64::from_le_bytes(word)) & eight(0x80);
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
        words += 1;
    }
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| is_match(*byte)).unwrap_or(rest.len())
}

/// Validates the string whose opening quote is at `opened`.
#[inline(always)]
fn string<V: Visit>(text: &[u8], opened: usize, visit: &mut V) -> Result<Span, JsonError> {
    let mut span = plain(opened + 1, opened + 1);
    let mut at = opened + 1;
    loop {
        at = next_special(text, at);
        match text.get(at) {
            Some(b'"') => {
                span.to = at;
                return Ok(span);
            }
            Some(b'\\') => {
                span.has_escapes = true;
                at = escapes(text, at, &mut span, visit)?;
            }
            _ if is_end::<V>(text, at) => return Err(JsonError { at: opened, why: OPEN_STRING, is_cut: true }),
            _ if V::ACCEPTS_CONTROLS => at += 1,
            _ => return stop::<V, _>(text, at, "a control character in a string must be escaped"),
        }
    }
}

/// Consumes consecutive escapes at `at`.
#[inline(always)]
fn escapes<V: Visit>(text: &[u8], mut at: usize, span: &mut Span, visit: &mut V) -> Result<usize, JsonError> {
    while text.get(at) == Some(&b'\\') {
        match text.get(at + 1) {
            Some(b'n' | b'"' | b'\\' | b't' | b'/' | b'r' | b'b' | b'f') => at += 2,
            Some(b'u') => {
                let Some(unit) = hex4(text, at + 2) else { return few_digits::<V>(text, at) };
                if V::REPORTS_ODDITIES && unit & 0xf800 == 0xd800 {
                    match unit {
                        0xd800..=0xdbff if low_surrogate(text, at + 6).is_some() => at += 6,
                        _ => {
                            span.has_half = true;
                            visit.unpaired_surrogate(at);
                        }
                    }
                }
                at += 6;
            }
            _ if is_end::<V>(text, at + 1) => return Err(JsonError { at, why: OPEN_STRING, is_cut: true }),
            _ => return stop::<V, _>(text, at, "this escape is not known in JSON"),
        }
    }
    Ok(at)
}

/// Returns the error for an escape at `at` with fewer than four hexadecimal digits.
#[cold]
fn few_digits<V: Visit>(text: &[u8], at: usize) -> Result<usize, JsonError> {
    let digits = text.iter().skip(at + 2).take(4).take_while(|byte| byte.is_ascii_hexdigit()).count();
    let is_cut = is_end::<V>(text, at + 2 + digits);
    Err(JsonError { at, why: "\\u needs four hexadecimal digits", is_cut })
}

/// Value of each hexadecimal digit; 255 for other bytes.
const HEX: [u8; 256] = {
    let mut table = [255; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit] as usize] = digit as u8;
        table[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    table
};

/// Returns the value of the four hexadecimal digits at `at`.
#[inline(always)]
pub fn hex4(text: &[u8], at: usize) -> Option<u32> {
    let digits: [u8; 4] = text.get(at..at + 4)?.try_into().ok()?;
    let [a, b, c, d] = digits.map(|digit| u32::from(HEX[usize::from(digit)]));
    (a | b | c | d < 16).then_some(a << 12 | b << 8 | c << 4 | d)
}

/// Returns the low surrogate whose escape is at `at`; `None` if there is none.
#[inline(always)]
pub fn low_surrogate(text: &[u8], at: usize) -> Option<u32> {
    if text.get(at..at + 2) != Some(b"\\u") {
        return None;
    }
    hex4(text, at + 2).filter(|unit| (0xdc00..=0xdfff).contains(unit))
}

/// Validates a value other than a string, object or array. Returns its kind and its end.
fn scalar<V: Visit>(text: &[u8], at: usize, first: u8, visit: &mut V) -> Result<(Kind, usize), JsonError> {
    let word = |word: &[u8], kind: Kind| {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with(word) {
            return Ok((kind, at + word.len()));
        }
        let same = rest.iter().zip(word).take_while(|(a, b)| a == b).count();
        let is_cut = is_end::<V>(text, at + same);
        Err(JsonError { at, why: "expected a value", is_cut })
    };
    match first {
        b'-' if text.get(at + 1) == Some(&b'I') => word(b"-Infinity", Kind::NonFinite),
        b'0'..=b'9' | b'-' => Ok((Kind::Number, number(text, at, visit)?)),
        b't' => word(b"true", Kind::True),
        b'f' => word(b"false", Kind::False),
        b'n' => word(b"null", Kind::Null),
        b'N' => word(b"NaN", Kind::NonFinite),
        b'I' => word(b"Infinity", Kind::NonFinite),
        b'\n' => stop::<V, _>(text, at, NO_VALUE),
        b'\'' => stop::<V, _>(text, at, "strings need double quotes"),
        _ => stop::<V, _>(text, at, "expected a value"),
    }
}

fn digits(text: &[u8], from: usize) -> usize {
    let mut at = from;
    while matches!(text.get(at), Some(b'0'..=b'9')) {
        at += 1;
    }
    at
}

/// Consumes a number and returns its end.
fn number<V: Visit>(text: &[u8], start: usize, visit: &mut V) -> Result<usize, JsonError> {
    let first = start + usize::from(text.get(start) == Some(&b'-'));
    let mut at = digits(text, first);
    let whole = at - first;
    if whole == 0 {
        return stop::<V, _>(text, at, "expected a digit");
    }
    if whole > 1 && text.get(first) == Some(&b'0') {
        return stop::<V, _>(text, first, "a number must not begin with 0");
    }
    let (mut is_integer, mut may_overflow) = (true, whole > FINITE_DIGITS);
    if text.get(at) == Some(&b'.') {
        is_integer = false;
        let end = digits(text, at + 1);
        if end == at + 1 {
            return stop::<V, _>(text, end, "a digit must follow the point");
        }
        at = end;
    }
    if matches!(text.get(at), Some(b'e' | b'E')) {
        (is_integer, may_overflow) = (false, true);
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        let end = digits(text, at + 1 + sign);
        if end == at + 1 + sign {
            return stop::<V, _>(text, end, "expected a digit in the exponent");
        }
        at = end;
    }
    if is_integer && whole > V::MAX_DIGITS {
        return stop::<V, _>(text, start, "an integer of more than 4,300 digits");
    }
    if V::REPORTS_ODDITIES && may_overflow {
        let text = text.get(start..at).and_then(|text| std::str::from_utf8(text).ok());
        if text.and_then(|text| text.parse::<f64>().ok()).is_some_and(f64::is_infinite) {
            visit.overflow();
        }
    }
    Ok(at)
}
