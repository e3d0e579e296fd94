//! Parsing of untrusted JSON: syntax and depth are checked before any recursion.

use super::Value;
use gristmill_pycompat::json_walk::{walk, Kind, Span, Visit};
use std::borrow::Cow;

/// Maximum nesting; deeper documents are refused.
pub const MAX_JSON_DEPTH: usize = 1_000;

/// Parses one document. Nesting beyond [`MAX_JSON_DEPTH`] is an error, never a stack overflow. `NaN`, infinite numbers and unpaired
/// surrogates, which are not JSON but which Python's parser in the trainer accepts, become `null` and the replacement character.
pub(super) fn parse(text: &str) -> Result<serde_json::Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut oddities = JsonExtensions { text, overflows: false, list: Vec::new() };
    walk(text.as_bytes(), 0, &mut oddities).map_err(|error| {
        let (line, column) = error.place(text.as_bytes());
        let what = if error.why == JsonExtensions::TOO_DEEP { "" } else { "it is not valid JSON: " };
        format!("{what}{} at line {line}, column {column}", error.in_document())
    })?;
    let text = oddities.replaced();
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    deserializer.disable_recursion_limit();
    serde::Deserialize::deserialize(&mut deserializer).map_err(|error| format!("it cannot be read: {error}"))
}

/// Values that only Python's parser accepts, as start, end, and replacement.
struct JsonExtensions<'a> {
    text: &'a str,
    /// Whether the next number is beyond the range of floats.
    overflows: bool,
    list: Vec<(usize, usize, &'static str)>,
}

impl<'a> JsonExtensions<'a> {
    fn replaced(&self) -> Cow<'a, str> {
        if self.list.is_empty() {
            return Cow::Borrowed(self.text);
        }
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        for (from, to, instead) in &self.list {
            out.push_str(self.text.get(at..*from).unwrap_or_default());
            out.push_str(instead);
            at = *to;
        }
        out.push_str(self.text.get(at..).unwrap_or_default());
        Cow::Owned(out)
    }
}

impl Visit for JsonExtensions<'_> {
    const REPORTS_ODDITIES: bool = true;
    const MAX_NESTING: usize = MAX_JSON_DEPTH;
    const TOO_DEEP: &'static str = "it is nested deeper than 1,000 levels";
    const IS_LINE: bool = false;

    fn value(&mut self, _: usize, kind: Kind, span: Span) {
        let is_float = || self.text.get(span.from..span.to).is_some_and(|number| number.contains(['.', 'e', 'E']));
        if kind == Kind::NonFinite || std::mem::take(&mut self.overflows) && is_float() {
            self.list.push((span.from, span.to, "null"));
        }
    }

    fn overflow(&mut self) {
        self.overflows = true;
    }

    fn unpaired_surrogate(&mut self, at: usize) {
        self.list.push((at, at + 6, "\\ufffd"));
    }
}

/// Converts texts and whole numbers to their own variants, and all other values to JSON.
pub(super) fn to_value(json: serde_json::Value) -> Value {
    match json {
        serde_json::Value::String(text) => Value::Text(text),
        serde_json::Value::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Json(serde_json::Value::Number(number)),
        },
        other => Value::Json(other),
    }
}

/// Describes a JSON value in a word or two.
pub(super) fn describe(json: &serde_json::Value) -> String {
    use serde_json::Value as J;
    match json {
        J::Null => "null".into(),
        J::Bool(_) => "true or false".into(),
        J::Number(_) => "a number".into(),
        J::String(_) => "text".into(),
        J::Array(items) => format!("a list of {}", items.len()),
        J::Object(map) => format!("a map with {}", gristmill_core::text::count(map.len() as u64, "key")),
    }
}
