//! Filters whose results differ between the template engine and Jinja.

use super::plain;
use minijinja::{Error, Value};

/// Maximum width of zero padding.
pub(super) const MAX_WIDTH: usize = 1 << 20;

/// The filter `string`: a value as formatted by Python's `str`.
pub(super) fn string(value: &Value) -> Result<Value, Error> {
    plain(value).map(Value::from)
}

/// The filters `escape` and `e`: replaces HTML special characters with the entities that markupsafe uses.
pub(super) fn escape(value: &Value) -> Result<Value, Error> {
    let text = plain(value)?;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    Ok(Value::from(out))
}

/// The filter `int`: a number without its fraction, or `default` (0 if not given) for any other value.
pub(super) fn int(value: &Value, default: Option<Value>) -> Value {
    let of_float = |number: f64| (number.is_finite() && number.abs() < 1e18).then_some(number.trunc() as i64);
    let number = match value.as_str() {
        Some(text) => {
            let text = text.trim();
            text.parse::<i64>().ok().or_else(|| text.parse::<f64>().ok().and_then(of_float))
        }
        None if value.is_integer() => return value.clone(),
        None if value.is_number() => f64::try_from(value.clone()).ok().and_then(of_float),
        None => bool::try_from(value.clone()).ok().map(i64::from),
    };
    number.map_or_else(|| default.unwrap_or_else(|| Value::from(0)), Value::from)
}
