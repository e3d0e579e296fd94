//! Untrusted JSON: depth is checked before anything recurses.

use super::Value;

/// Maximum nesting; deeper documents are refused.
pub const MAX_JSON_DEPTH: usize = 1_000;

/// Parses one document; nesting beyond [`MAX_JSON_DEPTH`] is an error, never a stack overflow.
pub(super) fn parse(text: &str) -> Result<serde_json::Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if depth(text.as_bytes()) > MAX_JSON_DEPTH {
        return Err(format!("it is nested deeper than {MAX_JSON_DEPTH} levels"));
    }
    strictly(text).or_else(|error| match as_python_allows(text) {
        Some(text) => strictly(&text),
        None => Err(error),
    })
}

fn strictly(text: &str) -> Result<serde_json::Value, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    let parsed = <serde_json::Value as serde::Deserialize>::deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|e| {
        let message = e.to_string();
        let what = message.find(" at line").map_or(message.as_str(), |end| &message[..end]);
        format!("it is not valid JSON: {what} at line {}, column {}", e.line(), e.column())
    })
}

/// Python's parser, which the trainer uses, also accepts `NaN`, `Infinity` and unpaired surrogates. Replaces them with `null` and the
/// replacement character, at the same offsets; returns `None` when there are none.
fn as_python_allows(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let (mut in_string, mut rest, mut changed) = (false, text, false);
    while let Some(c) = rest.chars().next() {
        let (taken, instead) = match c {
            '"' => {
                in_string = !in_string;
                (1, None)
            }
            '\\' if in_string => escape(rest),
            'N' | 'I' | '-' if !in_string => number_word(rest),
            c => (c.len_utf8(), None),
        };
        let (here, after) = rest.split_at(taken);
        changed |= instead.is_some();
        out.push_str(instead.unwrap_or(here));
        rest = after;
    }
    changed.then_some(out)
}

/// Returns the length of the escape that begins here, and its replacement.
fn escape(text: &str) -> (usize, Option<&'static str>) {
    let unit = |at: usize| {
        text.get(at..at + 6).and_then(|e| e.strip_prefix("\\u")).and_then(|h| u16::from_str_radix(h, 16).ok())
    };
    match unit(0) {
        Some(0xd800..=0xdbff) if matches!(unit(6), Some(0xdc00..=0xdfff)) => (12, None),
        Some(0xd800..=0xdfff) => (6, Some("\\ufffd")),
        Some(_) => (6, None),
        None => (text.char_indices().nth(2).map_or(text.len(), |(at, _)| at), None),
    }
}

fn number_word(text: &str) -> (usize, Option<&'static str>) {
    for word in ["NaN", "Infinity", "-Infinity"] {
        if text.starts_with(word) {
            return (word.len(), Some("null"));
        }
    }
    (1, None)
}

/// Returns the deepest nesting of brackets outside strings; never less than the true depth of a valid document.
fn depth(bytes: &[u8]) -> usize {
    let (mut now, mut deepest, mut in_string, mut escaped) = (0usize, 0usize, false, false);
    for &byte in bytes {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Converts text and whole numbers to their own variants, everything else to JSON.
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
