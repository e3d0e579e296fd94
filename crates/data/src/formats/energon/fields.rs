//! Strict parsing of the small files: only known keys are accepted, every value has its type, every error gives its location.

use gristmill_core::problem::Subject;
use gristmill_core::{Failure, Outcome};
use gristmill_pycompat::{json_read, yaml_read, Node};
use gristmill_storage::cache::read_whole_cached;
use gristmill_storage::read::read_whole;
use std::path::Path;

/// Reason why the content of a file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentError {
    /// Reason.
    pub message: String,
    /// Line of the mistake, counted from 1, if the text itself cannot be parsed.
    pub line: Option<u64>,
    /// Remedy, if there is one.
    pub hint: Option<String>,
}

impl ContentError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), line: None, hint: None }
    }
    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
    /// Converts to the failure of reading `path`, with exit code 1.
    pub fn into_failure(self, what: &str, path: &Path) -> Failure {
        let mut subject = Subject::path(path);
        subject.line = self.line;
        let mut failure = Failure::data(what, self.message).on(subject);
        failure.hint = self.hint;
        failure
    }
}

impl std::fmt::Display for ContentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.line.map_or(Ok(()), |line| write!(f, " (line {line})"))
    }
}

impl std::error::Error for ContentError {}

/// A function that reads the text of a file: `what` describes the file in failures, and the size is limited. Returns `None` when the file
/// is missing.
pub(super) type ReadText = fn(&str, &Path, u64) -> Outcome<Option<String>>;

/// Returns the text of a small file, `None` when the file is missing.
pub(super) fn read_text(what: &str, path: &Path, limit: u64) -> Outcome<Option<String>> {
    parse_text(what, path, read_whole(path, limit)?)
}

/// Like [`read_text`], but uses the cached data of stores.
pub(super) fn read_cached_text(what: &str, path: &Path, limit: u64) -> Outcome<Option<String>> {
    parse_text(what, path, read_whole_cached(path, limit)?)
}

fn parse_text(what: &str, path: &Path, bytes: Option<Vec<u8>>) -> Outcome<Option<String>> {
    let Some(bytes) = bytes else { return Ok(None) };
    match String::from_utf8(bytes) {
        // A byte order mark is not part of the content.
        Ok(text) => Ok(Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))),
        Err(error) => {
            let at = error.utf8_error().valid_up_to() as u64;
            Err(Failure::data(what, "it is not UTF-8 text").on(Subject::path(path).at(at)))
        }
    }
}

/// Message and hint for a file that begins with `---`, which the loader cannot read.
pub(super) const MARKER: (&str, &str) = (
    "the file begins with `---`: the loader reads a list of documents, and fails",
    "remove that line; a single document needs no marker",
);

pub(super) fn parse_yaml(text: &str) -> Result<Node, ContentError> {
    check_marker(text)?;
    yaml_read::read(text).map_err(yaml_error)
}

/// Parses a text in which one key may be repeated, see [`yaml_read::read_repeated`].
pub(super) fn parse_repeated(text: &str, key: &str) -> Result<(Node, Vec<u64>), ContentError> {
    check_marker(text)?;
    yaml_read::read_repeated(text, key).map_err(yaml_error)
}

fn check_marker(text: &str) -> Result<(), ContentError> {
    if let Some(line) = yaml_read::line_of_marker(text) {
        let (message, hint) = MARKER;
        return Err(ContentError { message: message.into(), line: Some(line), hint: Some(hint.into()) });
    }
    Ok(())
}

fn yaml_error(error: yaml_read::YamlError) -> ContentError {
    ContentError { message: format!("{} (column {})", error.message, error.column), line: Some(error.line), hint: None }
}

pub(super) fn parse_json(text: &str) -> Result<Node, ContentError> {
    json_read::read(text).map_err(|error| ContentError {
        message: format!("{} (column {})", error.message, error.column),
        line: Some(error.line),
        hint: None,
    })
}

/// Returns the entries of a map; anything else is refused.
pub(super) fn map(node: Node, what: &str) -> Result<Vec<(String, Node)>, ContentError> {
    match node {
        Node::Map(entries) => Ok(entries),
        other => Err(ContentError::new(format!("{what} must be a map, here is {}", other.describe()))),
    }
}

/// Returns a list of texts; anything else is refused. For numbers, the hint is to quote them.
pub(super) fn texts(node: Node, what: &str) -> Result<Vec<String>, ContentError> {
    let Node::List(items) = node else {
        let error = ContentError::new(format!("{what} must be a list, here is {}", node.describe()));
        return Err(match node {
            Node::Null => error.with_hint("write [] for an empty list"),
            _ => error,
        });
    };
    items.into_iter().enumerate().map(|(i, item)| text(item, &format!("item {} of {what}", i + 1))).collect()
}

pub(super) fn text(node: Node, what: &str) -> Result<String, ContentError> {
    match node {
        Node::Str(text) => Ok(text),
        other => {
            let error = ContentError::new(format!("{what} must be text, here is {}", other.describe()));
            Err(match other {
                Node::Int(_) | Node::Float(_) | Node::Bool(_) | Node::Null => {
                    error.with_hint("put it in quotes if it is a name; unquoted, the loader reads it as this")
                }
                _ => error,
            })
        }
    }
}

pub(super) fn unknown_key(key: &str, what: &str, known: &[&str]) -> ContentError {
    let known = known.iter().map(|k| format!("'{k}'")).collect::<Vec<_>>().join(", ");
    ContentError::new(format!("{what} has the unknown key '{key}', which makes the loader fail"))
        .with_hint(format!("known keys: {known}"))
}
