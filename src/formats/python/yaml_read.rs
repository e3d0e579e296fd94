//! YAML as the loaders of the formats read it: rapidyaml's structure, and their own rules for unquoted scalars (Energon format page §8).
//!
//! Quoted text is text. Unquoted: `null`, `~` and nothing at all; `true`/`yes` and `false`/`no` in any case; with a `.` or an `e` a
//! float if it is one; else a whole number if it is one, so that `00000` is 0 and `1_000` is 1000; else text. Map keys are always text.
//! What those loaders do not understand is refused rather than read differently: aliases, tags, several documents.

use super::node::Node;
use super::number::{is_int, parse_float, parse_int};
use serde_yaml::granit_parser::{options, Event, Parser, ScalarStyle, Span};
use std::collections::HashSet;

/// The longest document that is read, in bytes.
pub const MAX_BYTES: usize = 64 << 20;
/// Lists and maps nested deeper are refused.
const MAX_DEPTH: usize = 64;

/// Why a YAML text cannot be read, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// The reason, without the place.
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

/// Reads one document. An empty text is [`Node::Null`].
pub fn read(text: &str) -> Result<Node, YamlError> {
    if text.len() > MAX_BYTES {
        let message = format!("longer than {} MiB", MAX_BYTES >> 20);
        return Err(YamlError { message, line: 1, column: 1 });
    }
    let options = options! { emit_comments: false, emit_unresolved_aliases: true, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH, simple_key_max_lookahead: 1 << 20 };
    let mut builder = Builder::default();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|error| {
            let mark = error.marker();
            error_at(capitals_off(&error.info()), mark.line(), mark.col() + 1)
        })?;
        builder.take(event, &span)?;
    }
    Ok(builder.root.unwrap_or(Node::Null))
}

fn capitals_off(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn error_at(message: impl Into<String>, line: usize, column: usize) -> YamlError {
    YamlError { message: message.into(), line: line.max(1) as u64, column: column.max(1) as u64 }
}

enum Open {
    List(Vec<Node>),
    Map { entries: Vec<(String, Node)>, seen: HashSet<String>, key: Option<String> },
}

/// Events in, a tree out, without recursion.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
}

impl Builder {
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
            Event::SequenceStart(..) => self.enter(Open::List(Vec::new()), span)?,
            Event::MappingStart(..) => {
                self.enter(Open::Map { entries: Vec::new(), seen: HashSet::new(), key: None }, span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.leave(span)?,
            _ => {}
        }
        Ok(())
    }

    fn enter(&mut self, open: Open, span: &Span) -> Result<(), YamlError> {
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

    fn leave(&mut self, span: &Span) -> Result<(), YamlError> {
        match self.open.pop() {
            Some(Open::List(items)) => self.value(Node::List(items), span),
            Some(Open::Map { entries, .. }) => self.value(Node::Map(entries), span),
            None => Ok(()),
        }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: &Span) -> Result<(), YamlError> {
        if let Some(Open::Map { seen, key: key @ None, .. }) = self.open.last_mut() {
            if !seen.insert(text.to_owned()) {
                let message = format!("the key '{text}' is there twice");
                return Err(error_at(message, span.start.line(), span.start.col() + 1));
            }
            *key = Some(text.to_owned());
            return Ok(());
        }
        let node = if style == ScalarStyle::Plain { unquoted(text) } else { Node::str(text) };
        self.value(node, span)
    }

    fn value(&mut self, node: Node, _span: &Span) -> Result<(), YamlError> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List(items)) => items.push(node),
            Some(Open::Map { entries, key, .. }) => entries.push((key.take().unwrap_or_default(), node)),
        }
        Ok(())
    }
}

/// What an unquoted scalar means to the loaders.
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
        // Beyond 128 bits a number is still a number, never a name.
        None if is_int(text) => Node::Float(parse_float(text).unwrap_or(f64::INFINITY)),
        None => Node::str(text),
    }
}

#[cfg(test)]
#[path = "yaml_read_tests.rs"]
mod tests;
