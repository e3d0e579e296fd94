//! Values that several elements share: weights, subsets, aux sources, subflavors.

use super::keys::{as_text, describe, Keys, Mistakes};
use super::{Aux, AuxTarget, Mark, Range, Subset};
use gristmill_pycompat::number::parse_float;
use gristmill_pycompat::yaml_read::{Marked, MarkedValue};
use gristmill_pycompat::Node as Value;

/// Takes a weight or a number of repetitions: above 0.
pub(super) fn amount(keys: &mut Keys<'_>, key: &str, found: &mut Mistakes) -> f64 {
    let Some(value) = keys.take(key, found) else { return 1.0 };
    let number = match &value.value {
        MarkedValue::Scalar(Value::Int(number)) => *number as f64,
        MarkedValue::Scalar(Value::Float(number)) => *number,
        MarkedValue::Scalar(Value::Bool(is_one)) => {
            let number = f64::from(u8::from(*is_one));
            found.remark(value.at, format!("'{key}' is {is_one}, which counts as {number}"), None);
            number
        }
        _ => {
            let hint = match value.value {
                MarkedValue::Scalar(Value::Str(_)) => Some("write numbers without quotes".to_owned()),
                _ => None,
            };
            found.mistake(value.at, format!("'{key}' must be a number, here is {}", describe(&value)), hint);
            return 1.0;
        }
    };
    if number > 0.0 && number.is_finite() {
        return number;
    }
    let why = match number {
        0.0 => "is 0",
        n if n < 0.0 => "is negative",
        _ => "is not finite",
    };
    let hint = if number == 0.0 { "leave the member out instead" } else { "write a number above 0" };
    found.mistake(value.at, format!("'{key}' {why}; the loader stops at it when it begins to draw"), Some(hint.into()));
    1.0
}

/// Takes `shuffle_over_epochs_multiplier`: 1 if it is missing, `None` for null.
pub(super) fn shuffling(keys: &mut Keys<'_>, found: &mut Mistakes) -> Option<i64> {
    const KEY: &str = "shuffle_over_epochs_multiplier";
    let Some(value) = keys.take(KEY, found) else { return Some(1) };
    match value.value {
        MarkedValue::Scalar(Value::Null) => None,
        MarkedValue::Scalar(Value::Int(n)) if n == -1 || (1..=1 << 40).contains(&n) => Some(n as i64),
        _ => {
            let message = format!("'{KEY}' must be 1 or more, -1 or null, here is {}", describe(&value));
            found.mistake(value.at, message, None);
            Some(1)
        }
    }
}

/// Takes `subflavors`: names with any values.
pub(super) fn subflavors(keys: &mut Keys<'_>, found: &mut Mistakes) -> Option<Vec<(String, Value)>> {
    let value = keys.take("subflavors", found)?;
    match value.value {
        MarkedValue::Scalar(Value::Null) => None,
        MarkedValue::Map(entries) => {
            for (_, _, value) in &entries {
                report_missing_values(value, found);
            }
            Some(entries.into_iter().map(|(key, _, value)| (key, value.into_node())).collect())
        }
        _ => {
            let message = format!("'subflavors' must be a map of names and values, here is {}", describe(&value));
            found.mistake(value.at, message, None);
            None
        }
    }
}

/// Reports constructs in free-form values at which the loader fails.
fn report_missing_values(value: &Marked, found: &mut Mistakes) {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match &value.value {
            MarkedValue::Nothing => {
                found.mistake(
                    value.at,
                    "there is no value here, and the loader stops at that",
                    Some("write null".into()),
                );
            }
            MarkedValue::Scalar(_) => {}
            MarkedValue::List(items) => open.extend(items),
            MarkedValue::Map(entries) => open.extend(entries.iter().map(|(_, _, value)| value)),
        }
    }
}

/// Takes `subset: {range: [from, to]}`.
pub(super) fn subset(keys: &mut Keys<'_>, found: &mut Mistakes) -> Option<Subset> {
    let value = keys.take("subset", found)?;
    if value.value == MarkedValue::Scalar(Value::Null) {
        return None;
    }
    let mut inner = Keys::of(value, "a subset", found)?;
    let range = inner.need("range", found);
    inner.finish(&["range"], |_| None, found);
    let range = range?;
    let at = range.at;
    let MarkedValue::List(ends) = &range.value else {
        found.mistake(at, format!("'range' must be a list of two, here is {}", describe(&range)), range_hint());
        return None;
    };
    let [from, to] = ends.as_slice() else {
        found.mistake(at, format!("'range' must be a list of two, this one has {}", ends.len()), range_hint());
        return None;
    };
    let (from, to) = (end(from, found)?, end(to, found)?);
    match check_range(from, to) {
        Ok(range) => Some(Subset { at, range }),
        Err(message) => {
            found.mistake(at, message, range_hint());
            None
        }
    }
}

fn range_hint() -> Option<String> {
    Some("for example [0%, 50%], or sample numbers: [0, 1000], [1000, end]".into())
}

/// Start or end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Percent(f64),
    Number(i128),
    Last,
}

fn end(value: &Marked, found: &mut Mistakes) -> Option<End> {
    let parsed = match &value.value {
        MarkedValue::Scalar(Value::Int(number)) => Some(End::Number(*number)),
        MarkedValue::Scalar(Value::Str(text)) => end_of_text(text),
        _ => None,
    };
    if parsed.is_none() {
        let message = format!("a range goes from and to percents or sample numbers, here is {}", describe(value));
        found.mistake(value.at, message, range_hint());
    }
    parsed
}

/// Parses a text such as `25%` or `end` as the loader does.
fn end_of_text(text: &str) -> Option<End> {
    if text.trim() == "end" {
        return Some(End::Last);
    }
    let percent = parse_float(text.strip_suffix('%')?)?;
    (0.0..=100.0).contains(&percent).then_some(End::Percent(percent))
}

/// Like [`end_of_text`], for user input: whole numbers are sample numbers.
fn end_as_typed(text: &str) -> Option<End> {
    match text.trim().parse::<u64>() {
        Ok(number) => Some(End::Number(number.into())),
        Err(_) => end_of_text(text),
    }
}

fn check_range(from: End, to: End) -> Result<Range, &'static str> {
    let number = |n: i128| u64::try_from(n).ok().filter(|&n| i64::try_from(n).is_ok());
    match (from, to) {
        (End::Percent(from), End::Percent(to)) if from <= to => Ok(Range::Percent(from, to)),
        (End::Number(from), End::Number(to)) => match (number(from), number(to)) {
            (Some(from), Some(to)) if from <= to => Ok(Range::Samples(from, Some(to))),
            (Some(_), Some(_)) => Err("the range ends before it begins"),
            _ => Err("a sample number is 0 or more"),
        },
        (End::Number(from), End::Last) => match number(from) {
            Some(from) => Ok(Range::Samples(from, None)),
            None => Err("a sample number is 0 or more"),
        },
        (End::Percent(_), End::Percent(_)) => Err("the range ends before it begins"),
        (End::Percent(_), End::Last) => Err("a range from a percent ends at a percent; the end is 100%"),
        (End::Last, _) => Err("a range does not begin at its end"),
        (End::Percent(_), End::Number(_)) | (End::Number(_), End::Percent(_)) => {
            Err("a range goes from percent to percent, or from sample number to sample number")
        }
    }
}

/// Takes `aux`: names with paths.
pub(super) fn aux(keys: &mut Keys<'_>, found: &mut Mistakes) -> Vec<Aux> {
    let Some(value) = keys.take("aux", found) else { return Vec::new() };
    if value.value == MarkedValue::Scalar(Value::Null) {
        return Vec::new();
    }
    let at = value.at;
    let MarkedValue::Map(entries) = value.value else {
        let message = format!("'aux' must be a map of names and paths, here is {}", describe(&value));
        found.mistake(at, message, Some("for example aux: {media: ../media}".into()));
        return Vec::new();
    };
    if entries.is_empty() {
        let message = "an empty 'aux' stops the loader at data sets whose samples have a type, and at metadatasets";
        found.remark(at, message, Some("leave it out".into()));
    }
    let mut sources = Vec::with_capacity(entries.len());
    for (name, at, value) in entries {
        if name == "primary" || name == "cache" {
            let message = format!("an aux source named '{name}' conflicts with the loader's own '{name}'");
            found.remark(at, message, Some("give it another name".into()));
        }
        sources.extend(aux_target(value, &name, found).map(|target| Aux { at, name, target }));
    }
    sources
}

fn aux_target(value: Marked, name: &str, found: &mut Mistakes) -> Option<AuxTarget> {
    let at = value.at;
    if !matches!(value.value, MarkedValue::Map(_)) {
        if value.value == MarkedValue::Nothing {
            found.mistake(at, format!("the aux source '{name}' has no path"), None);
            return None;
        }
        let text = as_text(&value, name, false, found)?;
        return aux_of_text(&text, at, found);
    }
    let mut keys = Keys::of(value, "an aux source", found)?;
    let target = match (keys.has("path"), keys.has("fs_path")) {
        (true, true) => {
            let hint = "'path' for a prepared data set, 'fs_path' for a folder of files".to_owned();
            found.mistake(at, "an aux source has either 'path' or 'fs_path'", Some(hint));
            let _ = (keys.take("path", found), keys.take("fs_path", found));
            None
        }
        (false, true) => keys.text("fs_path", found).map(|(_, text)| AuxTarget::Folder(text)),
        _ => keys.need("path", found).and_then(|value| {
            let text = as_text(&value, "path", false, found)?;
            if text.starts_with("filesystem") && text.contains("://") {
                let hint = "write fs_path: FOLDER, or the text without 'path:'".to_owned();
                found.mistake(value.at, "'path' takes no 'filesystem://'", Some(hint));
                return None;
            }
            Some(AuxTarget::Dataset(text))
        }),
    };
    keys.finish(&["path", "fs_path"], |_| None, found);
    target
}

/// Parses a target: `filesystem://FOLDER` is a folder of files, everything else a prepared data set.
fn aux_of_text(text: &str, at: Mark, found: &mut Mistakes) -> Option<AuxTarget> {
    let Some((protocol, rest)) = text.split_once("://").filter(|(protocol, _)| is_protocol(protocol)) else {
        return Some(AuxTarget::Dataset(text.to_owned()));
    };
    match protocol.split_once('+') {
        None if protocol == "filesystem" => {
            if rest.is_empty() {
                found.mistake(at, "'filesystem://' names no folder", None);
                return None;
            }
            Some(AuxTarget::Folder(rest.to_owned()))
        }
        None => Some(AuxTarget::Dataset(text.to_owned())),
        Some(("filesystem", inner)) if !inner.contains('+') => Some(AuxTarget::Folder(format!("{inner}://{rest}"))),
        Some(_) => {
            let hint =
                "filesystem://FOLDER, filesystem+msc://PROFILE/FOLDER, msc://PROFILE/DATA_SET, or a path".to_owned();
            found.mistake(at, format!("the loader does not know '{protocol}://'"), Some(hint));
            None
        }
    }
}

fn is_protocol(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'))
}

/// Parses a subset from two ends entered by the user: `0%` and `50%`, `0` and `1000`, `1000` and `end`.
pub fn subset_as_typed(from: &str, to: &str) -> Result<Subset, String> {
    let end =
        |text: &str| end_as_typed(text).ok_or_else(|| format!("'{text}' is neither a percent nor a sample number"));
    let range = check_range(end(from)?, end(to)?)?;
    Ok(Subset { at: Mark::default(), range })
}

pub(super) fn is_null(value: &Marked) -> bool {
    value.value == MarkedValue::Scalar(Value::Null)
}
