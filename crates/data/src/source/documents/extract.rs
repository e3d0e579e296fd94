//! Extraction of the text of a line in one pass over the line.

use super::jq::Program;
use super::quirks::{Quirks, SURROGATE_MESSAGE};
use super::text::{Text, TextLocation, NO_TEXT, NULL_TEXT};
use gristmill_core::pack::TextField;
use gristmill_core::Outcome;
use gristmill_pycompat::json_text::{halves, unescape};
use gristmill_pycompat::json_walk::{walk, JsonError, Kind, Span, Visit, DEEPEST_PYTHON, MAX_NESTING};
use gristmill_pycompat::white_space::{is_white_space, strip};
use serde_json::Value;

/// Text and syntax extensions of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// Text of the document.
    pub text: Text<'a>,
    /// JSON extensions in the line that strict parsers refuse.
    pub quirks: Quirks,
}

/// Extracts the text from lines. Each thread has its own; its memory is reused.
pub struct Extractor {
    selector: TextSelector,
    /// Whether white space at both ends of texts is removed.
    strips: bool,
    /// Texts that differ from their spelling in the line because of escapes, concatenated.
    texts: String,
}

/// A parsed line, valid until [`clear`](Extractor::clear) is called on the extractor. [`document`](Self::document) returns its content.
#[derive(Clone, Copy, Debug)]
pub struct ParsedLine<'a> {
    text: TextLocation<'a>,
    quirks: Quirks,
}

/// Memory for texts is released if it is larger than this, in bytes.
const MAX_KEPT_BYTES: usize = 1 << 20;

enum TextSelector {
    /// A key of the line's object, then a key of its value, and so on.
    Path(Vec<String>),
    Program(Box<Program>),
}

impl Extractor {
    /// Creates an extractor of the text at `field`. A jq program that does not compile is a usage error that states the location.
    pub fn new(field: &TextField) -> Outcome<Self> {
        let way = match field {
            TextField::Key(key) => TextSelector::Path(vec![key.clone()]),
            TextField::Jq(program) => match super::jq::as_path(program) {
                Some(path) => TextSelector::Path(path),
                None => TextSelector::Program(Box::new(Program::new(program)?)),
            },
        };
        Ok(Self { selector: way, strips: false, texts: String::new() })
    }

    /// Sets whether white space at both ends of texts is removed, as by Python's `str.strip`.
    #[must_use]
    pub fn stripping(self, strips: bool) -> Self {
        Self { strips, ..self }
    }

    /// Extracts the text of a line, which is passed without its `\n`. Clears the texts of earlier lines.
    pub fn document<'a>(&'a mut self, line: &'a [u8]) -> Document<'a> {
        self.clear();
        let held = self.document_in_batch(line);
        held.document(self)
    }

    /// Clears all texts.
    pub fn clear(&mut self) {
        self.texts.clear();
        if self.texts.capacity() > MAX_KEPT_BYTES {
            self.texts = String::new();
        }
    }

    /// Like [`document`](Self::document), for lines that are used together: earlier texts stay valid.
    pub fn document_in_batch<'a>(&mut self, line: &'a [u8]) -> ParsedLine<'a> {
        let held = self.parse(line);
        if !self.strips {
            return held;
        }
        let text = match held.text {
            TextLocation::Line(Text::Is(text)) => TextLocation::Line(Text::Is(strip(text))),
            TextLocation::Own(from, to) => {
                let text = self.texts.get(from..to).unwrap_or_default();
                let start = from + text.len() - text.trim_start_matches(is_white_space).len();
                TextLocation::Own(start, start + strip(text).len())
            }
            other => other,
        };
        ParsedLine { text, ..held }
    }

    /// Like [`document_in_batch`](Self::document_in_batch), for a text that does not come from a line.
    pub fn text_in_batch<'a>(&self, text: Text<'a>) -> ParsedLine<'a> {
        let text = match text {
            Text::Is(text) if self.strips => Text::Is(strip(text)),
            other => other,
        };
        ParsedLine { text: TextLocation::Line(text), quirks: Quirks::NONE }
    }

    fn parse<'a>(&mut self, line: &'a [u8]) -> ParsedLine<'a> {
        let without = |text| ParsedLine { text: TextLocation::Line(text), quirks: Quirks::NONE };
        let invalid = |at, why| without(Text::Invalid { at, why });
        let Ok(all) = simdutf8::basic::from_utf8(line) else {
            let at = std::str::from_utf8(line).map_or_else(|error| error.valid_up_to(), str::len);
            let is_half = matches!(line.get(at..), Some([0xed, 0xa0..=0xbf, 0x80..=0xbf, ..]));
            return invalid(
                at,
                if is_half { "a lone surrogate is not valid UTF-8" } else { "a byte that is not UTF-8" },
            );
        };
        let mark = if all.starts_with('\u{feff}') { 3 } else { 0 };
        let path: &[String] = match &self.selector {
            TextSelector::Path(path) => path,
            TextSelector::Program(_) => &[],
        };
        let mut finder = Finder::new(path);
        if let Err(JsonError { at, why, .. }) = walk(line, mark, &mut finder) {
            let is_blank = all.bytes().skip(mark).all(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
            return if is_blank && mark == 0 { without(Text::Blank) } else { invalid(at, why) };
        }
        let half = match finder.halves > 0 && halves(line).any(|half| half.code < 0xdc00) {
            true => Quirks::SURROGATE_IN_TEXT,
            false => Quirks::SECOND_HALF_IN_TEXT,
        };
        let mut quirks = finder.quirks(mark > 0, half);
        let found = finder.result;
        let Self { selector: way, texts, .. } = self;
        let program = match way {
            TextSelector::Path(_) => return ParsedLine { text: resolve(found, all, texts), quirks },
            TextSelector::Program(program) => program,
        };
        let all = all.get(mark..).unwrap_or_default();
        if !quirks.has(Quirks::SURROGATE_IN_OTHER_FIELD) {
            return ParsedLine { text: program.run(all, texts), quirks };
        }
        // jq replaces an unpaired surrogate by the replacement character.
        let text = program.run(&repaired(all), texts);
        if matches!(text, TextLocation::Own(from, to) if texts.get(from..to).is_some_and(|text| text.contains(char::REPLACEMENT_CHARACTER)))
        {
            quirks = quirks.with(half);
        }
        ParsedLine { text, quirks }
    }
}

impl<'a> ParsedLine<'a> {
    /// Returns the content of the line; `extractor` must be the one that parsed it.
    pub fn document<'t>(&self, extractor: &'t Extractor) -> Document<'t>
    where
        'a: 't,
    {
        let text = match self.text {
            TextLocation::Line(text) => text,
            TextLocation::Own(from, to) => Text::Is(extractor.texts.get(from..to).unwrap_or_default()),
        };
        Document { text, quirks: self.quirks }
    }
}

/// Converts the value at the end of a path.
fn resolve<'a>(found: PathResult, line: &'a str, texts: &mut String) -> TextLocation<'a> {
    let (kind, span) = match found {
        PathResult::Nothing => return TextLocation::Line(Text::Missing),
        PathResult::Outermost(kind) => return TextLocation::Line(Text::NotObject(outermost_words(kind))),
        PathResult::Blocked(Kind::Null) => return TextLocation::Line(Text::Null),
        PathResult::Blocked(kind) => return TextLocation::Line(Text::NotObject(blocked_words(kind))),
        PathResult::Value(kind, span) => (kind, span),
    };
    let raw = line.get(span.from..span.to).unwrap_or_default();
    TextLocation::Line(match kind {
        Kind::String if span.has_escapes => {
            let from = texts.len();
            unescape(raw, texts);
            return TextLocation::Own(from, texts.len());
        }
        Kind::String => Text::Is(raw),
        Kind::Null => Text::Null,
        Kind::False => Text::Falsy("its text is false"),
        Kind::EmptyArray => Text::Falsy("its text is an empty array"),
        Kind::EmptyObject => Text::Falsy("its text is an empty object"),
        Kind::Number if raw.parse::<f64>().is_ok_and(|number| number == 0.0) => Text::Falsy("its text is 0"),
        Kind::Number | Kind::NonFinite => Text::NotText("its text is a number"),
        Kind::True => Text::NotText("its text is true"),
        Kind::Array => Text::NotText("its text is an array"),
        Kind::Object => Text::NotText("its text is an object"),
    })
}

fn outermost_words(kind: Kind) -> &'static str {
    match kind {
        Kind::String => "the line is a string, not an object",
        Kind::Number | Kind::NonFinite => "the line is a number, not an object",
        Kind::True | Kind::False => "the line is true or false, not an object",
        Kind::Null => "the line is null, not an object",
        _ => "the line is an array, not an object",
    }
}

fn blocked_words(kind: Kind) -> &'static str {
    match kind {
        Kind::String => "a string is where an object must be",
        Kind::Number | Kind::NonFinite => "a number is where an object must be",
        Kind::True | Kind::False => "true or false is where an object must be",
        _ => "an array is where an object must be",
    }
}

/// Returns a line in which every unpaired surrogate is replaced.
fn repaired(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut copied = 0;
    for half in halves(line.as_bytes()) {
        out.push_str(line.get(copied..half.at).unwrap_or_default());
        out.push_str("\\ufffd");
        copied = half.at + half.len;
    }
    out.push_str(line.get(copied..).unwrap_or_default());
    out
}

/// Result of following a path.
#[derive(Clone, Copy, Debug)]
enum PathResult {
    Nothing,
    /// The line itself is not an object.
    Outermost(Kind),
    /// A value on the path is not an object.
    Blocked(Kind),
    Value(Kind, Span),
}

/// Follows a path of keys through the line. Of repeated keys the last one counts, as in every reader.
struct Finder<'a> {
    path: &'a [String],
    /// Number of keys of the path that have been matched and whose objects are open.
    matched: usize,
    /// Index in the path of the key whose value is next.
    awaited: Option<usize>,
    result: PathResult,
    halves: u32,
    quirks: Quirks,
}

impl<'a> Finder<'a> {
    fn new(path: &'a [String]) -> Self {
        Self { path, matched: 0, awaited: None, result: PathResult::Nothing, halves: 0, quirks: Quirks::NONE }
    }

    /// Returns the JSON extensions of the line; `half` is added for an unpaired surrogate in the text itself.
    fn quirks(&self, has_mark: bool, half: Quirks) -> Quirks {
        let mut quirks = if has_mark { self.quirks.with(Quirks::BOM) } else { self.quirks };
        let in_text = matches!(self.result, PathResult::Value(Kind::String, span) if span.has_half);
        if in_text {
            quirks = quirks.with(half);
        }
        if self.halves > u32::from(in_text) {
            quirks = quirks.with(Quirks::SURROGATE_IN_OTHER_FIELD);
        }
        quirks
    }
}

impl Visit for Finder<'_> {
    const REPORTS_ODDITIES: bool = true;
    const MAX_NESTING: usize = MAX_NESTING;

    #[inline(always)]
    fn key(&mut self, text: &[u8], depth: usize, span: Span) {
        self.halves += u32::from(span.has_half);
        if depth != self.matched + 1 {
            return;
        }
        let Some(wanted) = self.path.get(self.matched) else { return };
        let raw = text.get(span.from..span.to).unwrap_or_default();
        let is_it = match span.has_escapes {
            false => raw == wanted.as_bytes(),
            true => !span.has_half && unescaped(raw) == *wanted,
        };
        if is_it {
            self.awaited = Some(self.matched);
        }
    }

    #[inline(always)]
    fn value(&mut self, depth: usize, kind: Kind, span: Span) {
        self.halves += u32::from(span.has_half);
        if kind == Kind::NonFinite {
            self.quirks = self.quirks.with(Quirks::NON_FINITE);
        }
        if depth >= DEEPEST_PYTHON && matches!(kind, Kind::Object | Kind::Array | Kind::EmptyObject | Kind::EmptyArray)
        {
            self.quirks = self.quirks.with(Quirks::DEEP);
        }
        let is_outermost = depth == 0 && !self.path.is_empty();
        if is_outermost && !matches!(kind, Kind::Object | Kind::EmptyObject) {
            self.result = PathResult::Outermost(kind);
        }
        if let Some(place) = self.awaited.take() {
            let is_end = place + 1 == self.path.len();
            self.result = match kind {
                _ if is_end => PathResult::Value(kind, span),
                Kind::Object => {
                    self.matched = place + 1;
                    PathResult::Nothing
                }
                Kind::EmptyObject => PathResult::Nothing,
                other => PathResult::Blocked(other),
            };
        }
    }

    #[inline(always)]
    fn close(&mut self, depth: usize, _: usize) {
        if depth == self.matched + 1 {
            self.matched = self.matched.saturating_sub(1);
        }
    }

    fn overflow(&mut self) {
        self.quirks = self.quirks.with(Quirks::OVERFLOW);
    }
}

fn unescaped(raw: &[u8]) -> String {
    let mut out = String::new();
    unescape(std::str::from_utf8(raw).unwrap_or_default(), &mut out);
    out
}

/// Returns the keys of a line's object in order, at most 100; empty for a line that is not an object. Used for a hint.
pub fn keys_of(line: &[u8]) -> Vec<String> {
    let mut keys = KeyCollector(Vec::new());
    let mark = if line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    match simdutf8::basic::from_utf8(line).is_ok() && walk(line, mark, &mut keys).is_ok() {
        true => keys.0,
        false => Vec::new(),
    }
}

/// Maximum number of keys returned.
const MAX_KEYS: usize = 100;

struct KeyCollector(Vec<String>);

impl Visit for KeyCollector {
    const MAX_NESTING: usize = MAX_NESTING;
    fn key(&mut self, text: &[u8], depth: usize, span: Span) {
        if depth == 1 && self.0.len() < MAX_KEYS {
            let key = unescaped(text.get(span.from..span.to).unwrap_or_default());
            if !self.0.contains(&key) {
                self.0.push(key);
            }
        }
    }
}

/// Returns the value at a path of keys, for fields other than the text (`no_loss_ranges`, `parts`). Returns `None` if a key is missing, a
/// value on the path is not an object, or the line is not JSON. Nesting of more than 128 levels inside the value counts as missing.
pub fn value_of(line: &[u8], path: &[&str]) -> Option<Value> {
    let path: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
    let (all, kind, span) = find(line, &path)?;
    let from = match kind {
        Kind::String => span.from.checked_sub(1)?,
        _ => span.from,
    };
    let mut values = serde_json::Deserializer::from_str(all.get(from..)?).into_iter::<Value>();
    values.next()?.ok()
}

/// Returns the text at a path of keys; `None` if it is missing, not a text, or contains an unpaired surrogate.
pub fn text_at(line: &[u8], path: &[String]) -> Option<String> {
    let (all, kind, span) = find(line, path)?;
    let raw = all.get(span.from..span.to).filter(|_| kind == Kind::String && !span.has_half)?;
    if !span.has_escapes {
        return Some(raw.to_owned());
    }
    let mut text = String::new();
    unescape(raw, &mut text);
    Some(text)
}

/// Returns the texts at a key of a line's object: a single text, or with `takes_lists` the texts of a list. The error is the reason why
/// there are none.
pub fn texts_at(line: &[u8], key: &str, takes_lists: bool) -> Result<Vec<String>, &'static str> {
    let (all, kind, span) = find(line, &[key.to_owned()]).ok_or(NO_TEXT)?;
    let mut own = String::new();
    match resolve(PathResult::Value(kind, span), all, &mut own) {
        TextLocation::Line(Text::Is(_)) | TextLocation::Own(..) if span.has_half => Err(SURROGATE_MESSAGE),
        TextLocation::Line(Text::Is(text)) => Ok(vec![text.to_owned()]),
        TextLocation::Own(..) => Ok(vec![own]),
        TextLocation::Line(_) if takes_lists && matches!(kind, Kind::Array | Kind::EmptyArray) => {
            let list = all.get(span.from..).unwrap_or_default();
            let mut lists = serde_json::Deserializer::from_str(list).into_iter::<Vec<String>>();
            lists.next().and_then(Result::ok).ok_or("its text is a list with something that is not a string")
        }
        TextLocation::Line(Text::Null) => Err(NULL_TEXT),
        TextLocation::Line(Text::Falsy(why) | Text::NotText(why)) => Err(why),
        TextLocation::Line(_) => Err(NO_TEXT),
    }
}

/// Returns a line as text, and the kind and position of the value at a path of keys.
fn find<'a>(line: &'a [u8], path: &[String]) -> Option<(&'a str, Kind, Span)> {
    let mark = if line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let all = simdutf8::basic::from_utf8(line).ok()?;
    let mut finder = Finder::new(path);
    walk(line, mark, &mut finder).ok()?;
    match finder.result {
        PathResult::Value(kind, span) => Some((all, kind, span)),
        _ => None,
    }
}
