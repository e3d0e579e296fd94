//! JSON of any origin: depth is checked before anything recurses.

use super::Value;

/// Deeper documents are refused.
pub const MAX_JSON_DEPTH: usize = 1_000;

/// Parses one document; nesting beyond [`MAX_JSON_DEPTH`] is an error, never a stack overflow.
pub(super) fn parse(text: &str) -> Result<serde_json::Value, String> {
    let text = text.strip_prefix('\u{feff}').map_or(Ok(text), |_| Err("it starts with a byte order mark"))?;
    if depth(text.as_bytes()) > MAX_JSON_DEPTH {
        return Err(format!("it is nested deeper than {MAX_JSON_DEPTH} levels"));
    }
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

/// The deepest nesting of brackets outside strings; never less than the true depth of a valid document.
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

/// Text and whole numbers as such, everything else as JSON.
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

/// What a JSON value is, in a word or two.
pub(super) fn describe(json: &serde_json::Value) -> String {
    use serde_json::Value as J;
    match json {
        J::Null => "null".into(),
        J::Bool(_) => "true or false".into(),
        J::Number(_) => "a number".into(),
        J::String(_) => "text".into(),
        J::Array(items) => format!("a list of {}", items.len()),
        J::Object(map) => format!("a map with {}", crate::model::text::count(map.len() as u64, "key")),
    }
}
