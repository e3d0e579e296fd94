//! Filters whose results differ between the template engine and Jinja.

use super::{plain, refused};
use gristmill_pycompat::number::{parse_float, parse_int};
use gristmill_pycompat::white_space::strip;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

/// Maximum width of zero padding.
pub(super) const MAX_WIDTH: usize = 1 << 20;
/// Numbers from here on are not converted to whole numbers.
const MAX_INTEGER: f64 = 1e38;
/// Maximum number of places to which a number is rounded.
const MAX_PRECISION: u32 = 300;

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

/// The filter `int`: a number without its fraction, or `default` (0 if not given) for any other value. Texts are in base `base`.
pub(super) fn int(value: &Value, default: Option<Value>, base: Option<u32>, arguments: Kwargs) -> Result<Value, Error> {
    let default = arguments.get::<Option<Value>>("default")?.or(default);
    let base = arguments.get::<Option<u32>>("base")?.or(base).unwrap_or(10);
    arguments.assert_all_used()?;
    refuse_undefined(value)?;
    let number = match value.as_str() {
        Some(text) if base == 10 => parse_int(text),
        Some(text) => parse_in_base(text, base)?,
        None if value.is_integer() => return Ok(value.clone()),
        None => bool::try_from(value.clone()).ok().map(i128::from),
    };
    let float = match value.as_str() {
        Some(text) => parse_float(text),
        None if value.is_number() => f64::try_from(value.clone()).ok(),
        None => None,
    };
    match (number, float.filter(|number| number.is_finite())) {
        (Some(number), _) => Ok(integer(number)),
        (None, Some(number)) if number.abs() < MAX_INTEGER => Ok(integer(number as i128)),
        (None, Some(_)) => Err(refused("the number is too large")),
        (None, None) => Ok(default.unwrap_or_else(|| Value::from(0))),
    }
}

/// The filter `float`: a number with a fraction, or `default` (0.0 if not given) for any other value.
pub(super) fn float(value: &Value, default: Option<Value>, arguments: Kwargs) -> Result<Value, Error> {
    let default = arguments.get::<Option<Value>>("default")?.or(default);
    arguments.assert_all_used()?;
    refuse_undefined(value)?;
    let number = match value.as_str() {
        Some(text) => parse_float(text),
        None if value.is_number() => f64::try_from(value.clone()).ok(),
        None => bool::try_from(value.clone()).ok().map(|is_true| f64::from(u8::from(is_true))),
    };
    Ok(number.map_or_else(|| default.unwrap_or_else(|| Value::from(0.0)), Value::from))
}

/// The filter `round`: halves are rounded to the even neighbour, and a number with a fraction keeps one.
pub(super) fn round(
    value: &Value,
    precision: Option<i32>,
    method: Option<String>,
    arguments: Kwargs,
) -> Result<Value, Error> {
    let precision = arguments.get::<Option<i32>>("precision")?.or(precision).unwrap_or(0);
    let method = arguments.get::<Option<String>>("method")?.or(method);
    arguments.assert_all_used()?;
    if !value.is_number() || precision.unsigned_abs() > MAX_PRECISION {
        return Err(refused("only a number can be rounded, to at most 300 places"));
    }
    if value.is_integer() && precision >= 0 && method.as_deref().is_none_or(|method| method == "common") {
        return Ok(value.clone());
    }
    let number = f64::try_from(value.clone())?;
    let (scale, coarse) = (10_f64.powi(precision), 10_f64.powi(-precision));
    let rounded = match method.as_deref().unwrap_or("common") {
        // Written with all its digits, so that the exact binary value decides.
        "common" if precision >= 0 => {
            let places = precision.unsigned_abs() as usize;
            format!("{number:.places$}").parse().unwrap_or(number)
        }
        "common" => (number / coarse).round_ties_even() * coarse,
        "ceil" => (number * scale).ceil() / scale,
        "floor" => (number * scale).floor() / scale,
        _ => return Err(refused("the method is common, ceil or floor")),
    };
    match value.is_integer() && method.as_deref().is_none_or(|method| method == "common") {
        true => Ok(integer(rounded as i128)),
        false => Ok(Value::from(rounded)),
    }
}

/// The filter `max`.
pub(super) fn max(values: &Value, arguments: Kwargs) -> Result<Value, Error> {
    first_by(values, &arguments, |value, best| value > best)
}

/// The filter `min`.
pub(super) fn min(values: &Value, arguments: Kwargs) -> Result<Value, Error> {
    first_by(values, &arguments, |value, best| value < best)
}

/// Returns the first value that no later one exceeds. Case is ignored unless `case_sensitive` is given.
fn first_by(values: &Value, arguments: &Kwargs, exceeds: fn(&Value, &Value) -> bool) -> Result<Value, Error> {
    let is_exact = arguments.get::<Option<bool>>("case_sensitive")?.unwrap_or(false);
    arguments.assert_all_used()?;
    let mut best: Option<(Value, Value)> = None;
    for value in values.try_iter()? {
        let key = match value.as_str() {
            Some(text) if !is_exact => Value::from(text.to_lowercase()),
            _ => value.clone(),
        };
        if best.as_ref().is_none_or(|(best, _)| exceeds(&key, best)) {
            best = Some((key, value));
        }
    }
    Ok(best.map_or(Value::UNDEFINED, |(_, value)| value))
}

/// The filter `trim`.
pub(super) fn trim(value: &Value, chars: Option<String>) -> Result<Value, Error> {
    let text = plain(value)?;
    Ok(Value::from(match chars {
        Some(chars) => text.trim_matches(|c: char| chars.contains(c)),
        None => strip(&text),
    }))
}

/// The filters `length` and `count`; what is undefined has the length 0.
pub(super) fn length(value: &Value) -> Result<usize, Error> {
    match value.len() {
        Some(length) => Ok(length),
        None if value.is_undefined() => Ok(0),
        None => Err(refused("it has no length")),
    }
}

/// The test `sequence`: lists, texts and maps.
pub(super) fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::Map | ValueKind::String)
}

/// The test `number`: booleans are numbers in Python.
pub(super) fn is_number(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::Number | ValueKind::Bool)
}

/// The test `lower`.
pub(super) fn is_lower(value: &Value) -> Result<bool, Error> {
    plain(value).map(|text| is_in_case(&text, false))
}

/// The test `upper`.
pub(super) fn is_upper(value: &Value) -> Result<bool, Error> {
    plain(value).map(|text| is_in_case(&text, true))
}

/// Whether a text has letters, all of them in upper case or all of them in lower case.
pub(super) fn is_in_case(text: &str, is_upper: bool) -> bool {
    let has = |is: fn(char) -> bool| text.chars().any(is);
    match is_upper {
        true => has(char::is_uppercase) && !has(char::is_lowercase),
        false => has(char::is_lowercase) && !has(char::is_uppercase),
    }
}

/// The function `raise_exception`, with which templates refuse a conversation.
pub(super) fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, message))
}

fn refuse_undefined(value: &Value) -> Result<(), Error> {
    match value.is_undefined() {
        true => Err(Error::from(ErrorKind::UndefinedError)),
        false => Ok(()),
    }
}

fn integer(number: i128) -> Value {
    i64::try_from(number).map_or_else(|_| Value::from(number), Value::from)
}

/// Parses a text like Python's `int` with a base.
fn parse_in_base(text: &str, base: u32) -> Result<Option<i128>, Error> {
    let text = strip(text).to_ascii_lowercase();
    let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
    let prefix = match base {
        2 => "0b",
        8 => "0o",
        16 => "0x",
        3..=36 => "",
        _ => return Err(refused("a base is between 2 and 36")),
    };
    let digits = digits.strip_prefix(prefix).unwrap_or(digits);
    Ok(if digits.starts_with(['+', '-']) { None } else { i128::from_str_radix(&format!("{sign}{digits}"), base).ok() })
}
