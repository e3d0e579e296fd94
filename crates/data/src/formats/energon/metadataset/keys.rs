//! Access to the entries of one map: each key is removed when it is read, and the remaining keys are unknown to the loader.

use super::{Mark, Mistake};
use gristmill_core::did_you_mean::nearest;
use gristmill_pycompat::yaml_read::{Marked, MarkedValue};
use gristmill_pycompat::Node as Value;

/// Maximum number of collected mistakes; a file with more is probably no metadataset.
const MAX_MISTAKES: usize = 1_000;

/// Mistakes in the file, in the order of detection.
#[derive(Default)]
pub(super) struct Mistakes {
    pub(super) mistakes: Vec<Mistake>,
    pub(super) remarks: Vec<Mistake>,
}

impl Mistakes {
    /// Adds a mistake that the loader stops at.
    pub(super) fn mistake(&mut self, at: Mark, message: impl Into<String>, hint: Option<String>) {
        push(&mut self.mistakes, at, message.into(), hint);
    }

    /// Adds a remark on something that the loader accepts.
    pub(super) fn remark(&mut self, at: Mark, message: impl Into<String>, hint: Option<String>) {
        push(&mut self.remarks, at, message.into(), hint);
    }
}

fn push(list: &mut Vec<Mistake>, at: Mark, message: String, hint: Option<String>) {
    if list.len() < MAX_MISTAKES {
        list.push(Mistake { message, line: at.line, column: at.column, hint });
    }
}

/// Describes a value for the user.
pub(super) fn describe(value: &Marked) -> String {
    match &value.value {
        MarkedValue::Scalar(node) => node.describe(),
        MarkedValue::Nothing => "nothing".into(),
        MarkedValue::List(_) => "a list".into(),
        MarkedValue::Map(_) => "a map".into(),
    }
}

/// The map of one element.
pub(super) struct Keys<'a> {
    /// Location of the map.
    pub(super) at: Mark,
    /// Kind of element for messages, such as `a member of a blend`.
    what: &'a str,
    /// Key, location of the key, and value.
    entries: Vec<(String, Mark, Marked)>,
}

impl<'a> Keys<'a> {
    /// Returns the entries of a map; anything else is a mistake.
    pub(super) fn of(value: Marked, what: &'a str, found: &mut Mistakes) -> Option<Self> {
        let at = value.at;
        match value.value {
            MarkedValue::Map(entries) => Some(Self { at, what, entries }),
            _ => {
                found.mistake(at, format!("{what} must be a map, here is {}", describe(&value)), None);
                None
            }
        }
    }

    /// Replaces the kind of element by a more exact one.
    pub(super) fn rename(&mut self, what: &'a str) {
        self.what = what;
    }

    /// Whether a key is present.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(known, _, _)| known == key)
    }

    /// Returns the keys not yet taken.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _, _)| key.as_str())
    }

    /// Returns the location of a key, or of the map if the key is missing.
    pub(super) fn at_key(&self, key: &str) -> Mark {
        self.entries.iter().find(|(known, _, _)| known == key).map_or(self.at, |(_, at, _)| *at)
    }

    /// Removes a key and returns its value. A key without any value is a mistake: the loader stops at it.
    pub(super) fn take(&mut self, key: &str, found: &mut Mistakes) -> Option<Marked> {
        let place = self.entries.iter().position(|(known, _, _)| known == key)?;
        let (_, at, value) = self.entries.remove(place);
        if value.value == MarkedValue::Nothing {
            let hint = "write a value, null for none, or leave the line out".to_owned();
            found.mistake(at, format!("'{key}:' has no value, and the loader stops at that"), Some(hint));
            return None;
        }
        Some(value)
    }

    /// Takes a required value.
    pub(super) fn need(&mut self, key: &str, found: &mut Mistakes) -> Option<Marked> {
        if !self.has(key) {
            let message = format!("{} needs '{key}', which is missing", self.what);
            let meant = nearest(key, self.names()).map(|near| format!("is '{near}' meant to be '{key}'?"));
            found.mistake(self.at, message, meant);
        }
        self.take(key, found)
    }

    /// Takes a text; returns `None` if the key is missing or null.
    pub(super) fn text(&mut self, key: &str, found: &mut Mistakes) -> Option<(Mark, String)> {
        let value = self.take(key, found)?;
        as_text(&value, key, true, found).map(|text| (value.at, text))
    }

    /// Reports the remaining keys as unknown to the loader. `known` are the valid keys; `elsewhere` returns the place where a key would be
    /// valid.
    pub(super) fn finish<'h>(self, known: &[&str], elsewhere: impl Fn(&str) -> Option<&'h str>, found: &mut Mistakes) {
        for (key, at, _) in &self.entries {
            let message = format!("{} has no key '{key}', and the loader stops at it", self.what);
            let hint = match (elsewhere(key), nearest(key, known.iter().copied())) {
                (Some(hint), _) => hint.to_owned(),
                (None, Some(near)) => format!("did you mean '{near}'?"),
                (None, None) => format!("known keys: {}", known.join(", ")),
            };
            found.mistake(*at, message, Some(hint));
        }
    }
}

/// Returns the text of a value. Null is not a text; other values are a mistake.
pub(super) fn as_text(value: &Marked, what: &str, null_allowed: bool, found: &mut Mistakes) -> Option<String> {
    match &value.value {
        MarkedValue::Scalar(Value::Str(text)) if !text.is_empty() => Some(text.clone()),
        MarkedValue::Scalar(Value::Null) if null_allowed => None,
        MarkedValue::Scalar(Value::Str(_)) => {
            found.mistake(value.at, format!("'{what}' is an empty text"), None);
            None
        }
        MarkedValue::Scalar(Value::Int(_) | Value::Float(_) | Value::Bool(_)) => {
            let hint = "put it in quotes if it is a name".to_owned();
            found.mistake(value.at, format!("'{what}' must be text, here is {}", describe(value)), Some(hint));
            None
        }
        _ => {
            found.mistake(value.at, format!("'{what}' must be text, here is {}", describe(value)), None);
            None
        }
    }
}
