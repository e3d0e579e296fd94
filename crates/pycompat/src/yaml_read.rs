//! YAML as parsed by the loaders of the formats: the structure of rapidyaml, and their own rules for unquoted scalars
//! (docs/formats/energon.md §8).
//!
//! Quoted text is text. Unquoted: `null`, `~` and an empty scalar are null; `true`/`yes` and `false`/`no` in any case are Booleans; with a
//! `.` or an `e` a float if it is one; otherwise an integer if it is one, so that `00000` is 0 and `1_000` is 1000; otherwise text. Map
//! keys are always text. Constructs that those loaders do not support are refused: aliases, tags, several documents.

use super::node::Node;
use super::number::{is_int, parse_float, parse_int};
use serde_yaml::granit_parser::{options, Event, Parser, ScalarStyle, Span};
use std::collections::HashSet;

/// Maximum size of a document, in bytes.
pub const MAX_BYTES: usize = 64 << 20;
/// Maximum nesting depth of lists and maps; deeper documents are refused.
const MAX_DEPTH: usize = 64;

/// The reason why a YAML text cannot be parsed, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// The reason, without the position.
    pub message: String,
    /// Line, counted from 1.
    pub line: u64,
    /// Column, counted from 1.
    pub column: u64,
}

impl std::fmt::Display for YamlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (line {}, column {})", self.message, self.line, self.column)
    }
}

impl std::error::Error for YamlError {}

/// Parses one document. An empty text is [`Node::Null`].
pub fn read(text: &str) -> Result<Node, YamlError> {
    Ok(read_as(text)?.unwrap_or(Node::Null))
}

/// Parses one document in which one key of the outermost map may be repeated; its last value counts. Also returns the line numbers of that
/// key, counted from 1.
pub fn read_repeated(text: &str, key: &str) -> Result<(Node, Vec<u64>), YamlError> {
    let builder = build(text, Some(key))?;
    Ok((builder.root.unwrap_or(Node::Null), builder.lines))
}

/// Parses one document with the position of every value. Returns `None` for a text without a value.
pub fn read_marked(text: &str) -> Result<Option<Marked>, YamlError> {
    read_as(text)
}

/// Returns the line number, counted from 1, of a `---` that starts the first document of a text. Readers that parse a text as a stream
/// convert such a document to a list.
pub fn line_of_marker(text: &str) -> Option<u64> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_before =
        |line: &str| line.trim_start().is_empty() || line.trim_start().starts_with('#') || line.starts_with('%');
    let (at, line) = text.lines().enumerate().find(|(_, line)| !is_before(line))?;
    let rest = line.strip_prefix("---")?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(at as u64 + 1)
}

/// A position in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// Line, counted from 1; 0 if the value is not from a file.
    pub line: u32,
    /// Column in characters, counted from 1.
    pub column: u32,
}

impl Mark {
    fn of(span: &Span) -> Self {
        let within = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Self { line: within(span.start.line().max(1)), column: within(span.start.col() + 1) }
    }
}

/// A value and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked {
    /// Position of its first character; for a list or map in block style, of its first entry.
    pub at: Mark,
    /// The value.
    pub value: MarkedValue,
}

/// The content of a marked value.
#[derive(Clone, Debug, PartialEq)]
pub enum MarkedValue {
    /// A value other than a list or map.
    Scalar(Node),
    /// No value. Some loaders fail in this case.
    Nothing,
    /// A list.
    List(Vec<Marked>),
    /// A map; keys are unique and keep their order.
    Map(Vec<(String, Mark, Marked)>),
}

impl Marked {
    /// Returns the value without its positions.
    pub fn into_node(self) -> Node {
        match self.value {
            MarkedValue::Scalar(node) => node,
            MarkedValue::Nothing => Node::Null,
            MarkedValue::List(items) => Node::List(items.into_iter().map(Self::into_node).collect()),
            MarkedValue::Map(entries) => {
                Node::Map(entries.into_iter().map(|(key, _, value)| (key, value.into_node())).collect())
            }
        }
    }
}

/// The form of a scalar in the file.
#[derive(Clone, Copy, PartialEq)]
enum ScalarForm {
    Quoted,
    Plain,
    NotAtAll,
}

/// A value that can be built from events.
trait Tree: Sized {
    fn scalar(text: &str, written: ScalarForm, at: Mark) -> Self;
    fn list(items: Vec<Self>, at: Mark) -> Self;
    fn map(entries: Vec<(String, Mark, Self)>, at: Mark) -> Self;
}

impl Tree for Node {
    fn scalar(text: &str, written: ScalarForm, _: Mark) -> Self {
        match written {
            ScalarForm::Quoted => Self::str(text),
            ScalarForm::Plain => unquoted(text),
            ScalarForm::NotAtAll => Self::Null,
        }
    }
    fn list(items: Vec<Self>, _: Mark) -> Self {
        Self::List(items)
    }
    fn map(entries: Vec<(String, Mark, Self)>, _: Mark) -> Self {
        Self::Map(entries.into_iter().map(|(key, _, value)| (key, value)).collect())
    }
}

impl Tree for Marked {
    fn scalar(text: &str, written: ScalarForm, at: Mark) -> Self {
        let value = match written {
            ScalarForm::NotAtAll => MarkedValue::Nothing,
            _ => MarkedValue::Scalar(Node::scalar(text, written, at)),
        };
        Self { at, value }
    }
    fn list(items: Vec<Self>, at: Mark) -> Self {
        Self { at, value: MarkedValue::List(items) }
    }
    fn map(entries: Vec<(String, Mark, Self)>, at: Mark) -> Self {
        Self { at, value: MarkedValue::Map(entries) }
    }
}

fn read_as<T: Tree>(text: &str) -> Result<Option<T>, YamlError> {
    Ok(build(text, None)?.root)
}

fn build<'k, T: Tree>(text: &str, repeatable: Option<&'k str>) -> Result<Builder<'k, T>, YamlError> {
    if text.len() > MAX_BYTES {
        let message = format!("longer than {} MiB", MAX_BYTES >> 20);
        return Err(YamlError { message, line: 1, column: 1 });
    }
    let options = options! { emit_comments: false, emit_unresolved_aliases: true, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH, simple_key_max_lookahead: 1 << 20 };
    let mut builder = Builder { open: Vec::new(), root: None, documents: 0, repeatable, lines: Vec::new() };
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| {
            let mark = error.marker();
            error_at(capitals_off(&error.info()), mark.line(), mark.col() + 1)
        })?;
        builder.take(event, &span)?;
    }
    Ok(builder)
}

fn capitals_off(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn error_at(message: impl Into<String>, line: usize, column: usize) -> YamlError {
    YamlError { message: message.into(), line: line.max(1) as u64, column: column.max(1) as u64 }
}

enum Open<T> {
    List(Vec<T>, Mark),
    Map { entries: Vec<(String, Mark, T)>, seen: HashSet<String>, key: Option<(String, Mark)>, at: Mark },
}

/// Builds a tree from events, without recursion.
struct Builder<'k, T> {
    open: Vec<Open<T>>,
    root: Option<T>,
    documents: usize,
    /// The key of the outermost map that may be repeated.
    repeatable: Option<&'k str>,
    /// The line numbers of that key.
    lines: Vec<u64>,
}

impl<T: Tree> Builder<'_, T> {
    fn take(&mut self, event: Event<'_>, span: &Span) -> Result<(), YamlError> {
        let here = |message: &str| error_at(message, span.start.line(), span.start.col() + 1);
        if event.tag().is_some() {
            return Err(here("a tag (`!…`) is not understood by the loader; write the value in quotes if it is text"));
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(here("a second document begins; only one is read"));
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                return Err(here("an alias (`*…`) is not understood by the loader; write the value out"));
            }
            Event::Scalar(text, style, _, _) => self.scalar(&text, style, span)?,
            Event::SequenceStart(..) => self.open_node(Open::List(Vec::new(), Mark::of(span)), span)?,
            Event::MappingStart(..) => {
                let at = Mark::of(span);
                self.open_node(Open::Map { entries: Vec::new(), seen: HashSet::new(), key: None, at }, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close_node(),
            _ => {}
        }
        Ok(())
    }

    fn open_node(&mut self, open: Open<T>, span: &Span) -> Result<(), YamlError> {
        let here = |message: &str| Err(error_at(message, span.start.line(), span.start.col() + 1));
        if let Some(Open::Map { key: None, .. }) = self.open.last() {
            return here("a list or map cannot be a key");
        }
        if self.open.len() >= MAX_DEPTH {
            return here("lists and maps are nested too deep");
        }
        self.open.push(open);
        Ok(())
    }

    fn close_node(&mut self) {
        match self.open.pop() {
            Some(Open::List(items, at)) => self.value(T::list(items, at)),
            Some(Open::Map { entries, at, .. }) => self.value(T::map(entries, at)),
            None => {}
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: &Span) -> Result<(), YamlError> {
        let is_repeatable = self.open.len() == 1 && self.repeatable == Some(text);
        if let Some(Open::Map { entries, seen, key: key @ None, .. }) = self.open.last_mut() {
            if is_repeatable {
                self.lines.push(span.start.line().max(1) as u64);
                entries.retain(|(earlier, ..)| earlier != text);
            } else if !seen.insert(text.to_owned()) {
                let message = format!("duplicate key '{text}'");
                return Err(error_at(message, span.start.line(), span.start.col() + 1));
            }
            *key = Some((text.to_owned(), Mark::of(span)));
            return Ok(());
        }
        let written = match style {
            ScalarStyle::Plain if span.start.index() == span.end.index() => ScalarForm::NotAtAll,
            ScalarStyle::Plain => ScalarForm::Plain,
            _ => ScalarForm::Quoted,
        };
        self.value(T::scalar(text, written, Mark::of(span)));
        Ok(())
    }

    fn value(&mut self, value: T) {
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List(items, _)) => items.push(value),
            Some(Open::Map { entries, key, .. }) => {
                let (key, at) = key.take().unwrap_or_default();
                entries.push((key, at, value));
            }
        }
    }
}

/// Returns the value that the loaders give to an unquoted scalar.
pub fn unquoted(text: &str) -> Node {
    let lower = text.to_lowercase();
    match lower.as_str() {
        "" | "null" | "~" => return Node::Null,
        "true" | "yes" => return Node::Bool(true),
        "false" | "no" => return Node::Bool(false),
        _ => {}
    }
    if lower.contains(['.', 'e']) {
        return parse_float(text).map_or_else(|| Node::str(text), Node::Float);
    }
    match parse_int(text) {
        Some(value) => Node::Int(value),
        // A number beyond 128 bits is a float, not text.
        None if is_int(text) => Node::Float(parse_float(text).unwrap_or(f64::INFINITY)),
        None => Node::str(text),
    }
}

#[cfg(test)]
#[path = "yaml_read_tests.rs"]
mod tests;
