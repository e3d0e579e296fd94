//! The text of a line.

use super::verdict::Quirks;
use crate::model::pack::TextField;
use crate::model::Outcome;
use serde_json::Value;

/// What stands where the text of a document should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// A string, possibly empty.
    Is(&'a str),
    /// Nothing: the key is not there, or the program has no output.
    Missing,
    /// `null`.
    Null,
    /// `0`, `false`, `[]` or `{}`, which Python takes for nothing; what it is.
    Falsy(&'static str),
    /// Another value; what it is.
    NotText(&'static str),
    /// The line, or what a path leads through, is no object; what it is.
    NotObject(&'static str),
    /// The line is no JSON: where, in bytes from its beginning, and why.
    Invalid {
        /// Where.
        at: usize,
        /// Why.
        why: &'static str,
    },
    /// Only white space.
    Blank,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// Its text.
    pub text: Text<'a>,
    /// What is odd about it.
    pub quirks: Quirks,
}

/// Takes the text out of lines. One for each thread; its memory is used again from line to line.
pub struct Extractor {
    key: String,
    text: String,
}

impl Extractor {
    /// For the text at `field`. A jq program that does not compile is a usage error with its place.
    pub fn new(field: &TextField) -> Outcome<Self> {
        let key = match field {
            TextField::Key(key) | TextField::Jq(key) => key.clone(),
        };
        Ok(Self { key, text: String::new() })
    }

    /// The text of a line, which comes without its `\n`.
    pub fn document<'a>(&'a mut self, line: &'a [u8]) -> Document<'a> {
        let quirks = Quirks::NONE;
        let text = match serde_json::from_slice::<Value>(line) {
            _ if line.iter().all(u8::is_ascii_whitespace) => Text::Blank,
            Err(_) => Text::Invalid { at: 0, why: "it is not JSON" },
            Ok(Value::Object(mut map)) => match map.remove(&self.key) {
                None => Text::Missing,
                Some(Value::Null) => Text::Null,
                Some(Value::String(text)) => {
                    self.text = text;
                    Text::Is(&self.text)
                }
                Some(_) => Text::NotText("its text is not a string"),
            },
            Ok(_) => Text::NotObject("it is no object"),
        };
        Document { text, quirks }
    }
}

/// The keys of a line's object, in order, at most 100; none of a line that is no object. For "these keys exist: …".
pub fn keys_of(line: &[u8]) -> Vec<String> {
    match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(map)) => map.keys().take(MOST_KEYS).cloned().collect(),
        _ => Vec::new(),
    }
}

/// Keys that are told.
const MOST_KEYS: usize = 100;

/// The value that a path of keys leads to, for what is looked at beside the text (`id`, `no_loss_ranges`, `parts`); `None` where a key is
/// missing, something on the way is no object, or the line is no JSON.
pub fn value_of(line: &[u8], path: &[&str]) -> Option<Value> {
    let mut value: Value = serde_json::from_slice(line).ok()?;
    for key in path {
        value = value.as_object_mut()?.swap_remove(*key)?;
    }
    Some(value)
}
