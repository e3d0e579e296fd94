//! Evaluation of a field-map expression on one sample.

use super::{json, Value};
use gristmill_core::field_map::{FieldExpression, FieldOption};
use serde::Serialize;
use std::fmt;

/// A decoded part of a sample: its value, or the reason why it has none.
pub type DecodedPart = Result<Value, String>;

/// Reason why an expression has no value in a sample.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldError {
    /// The sample has no such part.
    NoPart {
        /// Name of the part.
        part: String,
    },
    /// The part exists but cannot be decoded, which fails the sample even if another option would succeed.
    Undecodable {
        /// Name of the part.
        part: String,
        /// Reason.
        reason: String,
    },
    /// A step into the value fails.
    NoStep {
        /// Path up to the step, such as `json[caption]`.
        at: String,
        /// The step that fails.
        step: String,
        /// Reason.
        reason: String,
    },
}

impl FieldError {
    /// Returns the part in which the error occurred.
    pub fn part(&self) -> &str {
        match self {
            Self::NoPart { part } | Self::Undecodable { part, .. } => part,
            Self::NoStep { at, .. } => at.split('[').next().unwrap_or(at),
        }
    }
}

impl fmt::Display for FieldError {
    /// Writes one line. Names from the data are raw, so the line must be passed through `display_safe`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPart { part } => write!(f, "no part '{part}' in this sample"),
            Self::Undecodable { part, reason } => write!(f, "'{part}' cannot be decoded: {reason}"),
            Self::NoStep { at, step, reason } => write!(f, "{at} has no [{step}]: {reason}"),
        }
    }
}

impl std::error::Error for FieldError {}

/// Evaluates `expression` on a sample; `part` looks up its parts.
///
/// The trainer decodes every mapped part before it tries any option, so a part that cannot be decoded fails the sample. Otherwise the
/// options are tried from left to right; if all fail, the error is that of the last one.
pub fn eval<'a>(
    expression: &FieldExpression,
    part: &dyn Fn(&str) -> Option<&'a DecodedPart>,
) -> Result<Value, FieldError> {
    for option in &expression.options {
        if let Some(Err(reason)) = part(&option.part) {
            return Err(FieldError::Undecodable { part: option.part.clone(), reason: reason.clone() });
        }
    }
    let mut last = FieldError::NoPart { part: String::new() };
    for option in &expression.options {
        match eval_option(option, part) {
            Ok(value) => return Ok(value),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn eval_option<'a>(option: &FieldOption, part: &dyn Fn(&str) -> Option<&'a DecodedPart>) -> Result<Value, FieldError> {
    let Some(Ok(value)) = part(&option.part) else {
        return Err(FieldError::NoPart { part: option.part.clone() });
    };
    let mut way = option.part.clone();
    let mut steps = option.steps.iter();
    let Some(first) = steps.next() else { return Ok(value.clone()) };
    let Value::Json(root) = value else {
        let reason = format!("it is {}, not a list or map", value.describe());
        return Err(FieldError::NoStep { at: way, step: first.clone(), reason });
    };
    let mut here = root;
    for step in std::iter::once(first).chain(steps) {
        here = take_step(here, step).map_err(|reason| FieldError::NoStep {
            at: way.clone(),
            step: step.clone(),
            reason,
        })?;
        way.push_str(&format!("[{step}]"));
    }
    Ok(json::to_value(here.clone()))
}

fn take_step<'j>(json: &'j serde_json::Value, step: &str) -> Result<&'j serde_json::Value, String> {
    match json {
        serde_json::Value::Object(map) => map.get(step).ok_or_else(|| known_keys(map)),
        serde_json::Value::Array(items) => {
            let index = python_int(step).ok_or("a list takes a whole number")?;
            let position = if index < 0 { index + items.len() as i64 } else { index };
            let item = usize::try_from(position).ok().and_then(|p| items.get(p));
            item.ok_or_else(|| format!("the list has {}", gristmill_core::text::count(items.len() as u64, "item")))
        }
        other => Err(format!("it is {}, not a list or map", json::describe(other))),
    }
}

/// Parses an index like Python's `int`, which accepts surrounding spaces, a sign, and single underscores between digits.
fn python_int(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
        return None;
    }
    text.replace('_', "").parse().ok()
}

fn known_keys(map: &serde_json::Map<String, serde_json::Value>) -> String {
    if map.is_empty() {
        return "the map is empty".into();
    }
    let shown: Vec<String> = map.keys().take(8).map(|k| format!("'{k}'")).collect();
    let more = if map.len() > shown.len() { " …" } else { "" };
    format!("its keys are {}{more}", shown.join(", "))
}
