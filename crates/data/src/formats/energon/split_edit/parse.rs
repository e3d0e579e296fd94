//! Parses a text into its lists, such that every byte belongs to one piece.

use super::items::SharedList;
use super::list::{skip, Form, Item, ListText};
use super::scalar::Quote;
use super::{RepeatedExcludes, SplitDoc, SplitEntry, Splits};
use crate::formats::energon::fields::{self, ContentError};
use crate::formats::energon::split_yaml::SplitFile;
use gristmill_pycompat::{yaml_read, Node};
use serde_yaml::granit_parser::{options, Event, Parser, ScalarStyle};
use std::ops::Range;

/// Maximum nesting of lists and maps; the reader has refused deeper nesting already.
const MAX_DEPTH: usize = 64;

type Parsed<T> = Result<T, ContentError>;

/// A value and its range in the text. A list in block style has no explicit range.
enum Value {
    Scalar { text: String, range: Range<usize>, quote: Quote, is_null: bool },
    List { items: Vec<Value>, range: Range<usize>, in_flow: bool },
    Map { entries: Vec<(Range<usize>, String, Value)>, range: Range<usize>, in_flow: bool },
}

pub(super) fn parse(text: &str) -> Parsed<SplitDoc> {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let body = text.get(start..).unwrap_or_default();
    let (file, has_missing_list) = read(body)?;
    let root = values(text)?;
    let Value::Map { entries, range: root_range, in_flow } = root else { return Err(not_editable(text, 0)) };
    let reader = Reader { text, in_flow };
    let mut at = 0;
    let mut doc = SplitDoc::empty(text);
    doc.has_missing_list = has_missing_list;
    doc.in_flow = in_flow;
    doc.exclude_lines.clone_from(&file.exclude_lines);
    let last_exclude = entries.iter().rposition(|(_, name, _)| name == "exclude");
    for (number, (key, name, value)) in entries.into_iter().enumerate() {
        if name == "exclude" && Some(number) != last_exclude {
            if in_flow {
                return Err(not_editable(text, key.start));
            }
            let (list, end) = reader.list(&key, value, in_flow)?;
            let items = list.items.iter().cloned().collect();
            doc.repeated.push(RepeatedExcludes { text: reader.slice(key.start..end)?.into(), items });
            continue;
        }
        let before = reader.slice(at..key.start)?;
        if name == "split_parts" {
            doc.exclude_first = doc.exclude.is_some();
            let (splits, end) = reader.splits(&key, value)?;
            doc.splits = splits;
            doc.before_splits = format!("{before}{}", reader.slice(key)?).into();
            at = end;
        } else {
            let (list, end) = reader.list(&key, value, in_flow)?;
            doc.exclude = Some(list);
            doc.before_exclude = format!("{before}{}", reader.slice(key)?).into();
            at = end;
        }
    }
    doc.tail = reader.slice(at..text.len())?.into();
    doc.next_id = doc.splits.entries.len() as u32;
    doc.learn_style();
    // A text is not edited if its pieces do not reproduce its values exactly.
    let same_items = |list: &SharedList<Item>, items: &[String]| {
        list.len() == items.len() && list.iter().zip(items).all(|(item, value)| *item.value == **value)
    };
    let is_same = doc.text() == text
        && doc.splits.entries.len() == file.split_parts.len()
        && doc
            .splits
            .entries
            .iter()
            .zip(&file.split_parts)
            .all(|(entry, (name, items))| *entry.name == **name && same_items(&entry.list.items, items))
        && same_items(doc.excludes(), &file.exclude);
    if is_same {
        Ok(doc)
    } else {
        Err(not_editable(text, root_range.start))
    }
}

/// Returns the values of a text as the loader reads them, except that missing and null lists are read as empty.
fn read(body: &str) -> Parsed<(SplitFile, bool)> {
    match SplitFile::parse(body) {
        Ok(file) => Ok((file, false)),
        Err(error) => {
            let (mut node, lines) = fields::parse_repeated(body, "exclude").map_err(|_| error.clone())?;
            let Node::Map(entries) = &mut node else { return Err(error) };
            let empty = |node: &mut Node| {
                if *node == Node::Null {
                    *node = Node::List(Vec::new());
                }
            };
            for (key, value) in entries {
                match value {
                    Node::Map(splits) if key == "split_parts" => splits.iter_mut().for_each(|(_, list)| empty(list)),
                    Node::Null if key == "split_parts" => *value = Node::Map(Vec::new()),
                    value => empty(value),
                }
            }
            let mut file = SplitFile::from_node(node)?;
            file.exclude_lines = if lines.len() > 1 { lines } else { Vec::new() };
            Ok((file, true))
        }
    }
}

fn not_editable(text: &str, at: usize) -> ContentError {
    let line = text.get(..at).map_or(1, |before| before.matches('\n').count() as u64 + 1);
    ContentError {
        message: "its YAML style cannot be edited item by item".to_owned(),
        line: Some(line),
        hint: Some("rewrite it in a text editor, with one item per line".to_owned()),
    }
}

/// Range of a key, and its text.
type Key = (Range<usize>, String);

/// Parses the values of a text that the reader has accepted.
fn values(text: &str) -> Parsed<Value> {
    let options = options! { emit_comments: false, emit_unresolved_aliases: true, flow_nesting_limit: MAX_DEPTH, block_nesting_limit: MAX_DEPTH, simple_key_max_lookahead: 1 << 20 };
    let mut open: Vec<(Value, Option<Key>)> = Vec::new();
    for next in Parser::new_from_str_with_options(text, options) {
        let (event, span) = next.map_err(|_| not_editable(text, 0))?;
        let range = span.byte_range().ok_or_else(|| not_editable(text, 0))?;
        let in_flow = !range.is_empty();
        let done = match event {
            Event::SequenceStart(..) => {
                open.push((Value::List { items: Vec::new(), range, in_flow }, None));
                continue;
            }
            Event::MappingStart(..) => {
                open.push((Value::Map { entries: Vec::new(), range, in_flow }, None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some((mut value, _)) = open.pop() else { return Err(not_editable(text, range.start)) };
                if let Value::List { range: whole, .. } | Value::Map { range: whole, .. } = &mut value {
                    whole.end = range.end;
                }
                value
            }
            Event::Scalar(value, style, ..) => {
                if let Some((Value::Map { .. }, key @ None)) = open.last_mut() {
                    *key = Some((range, value.into_owned()));
                    continue;
                }
                let quote = match style {
                    ScalarStyle::Plain => Quote::Plain,
                    ScalarStyle::SingleQuoted => Quote::Single,
                    ScalarStyle::DoubleQuoted => Quote::Double,
                    _ => Quote::Block,
                };
                let is_null = quote == Quote::Plain && (range.is_empty() || yaml_read::unquoted(&value) == Node::Null);
                Value::Scalar { text: value.into_owned(), range, quote, is_null }
            }
            _ => continue,
        };
        match open.last_mut() {
            None => return Ok(done),
            Some((Value::List { items, .. }, _)) => items.push(done),
            Some((Value::Map { entries, .. }, key)) => {
                let (range, name) = key.take().ok_or_else(|| not_editable(text, 0))?;
                entries.push((range, name, done));
            }
            Some(_) => return Err(not_editable(text, range_of(&done).start)),
        }
    }
    Err(not_editable(text, 0))
}

fn range_of(value: &Value) -> Range<usize> {
    match value {
        Value::Scalar { range, .. } | Value::List { range, .. } | Value::Map { range, .. } => range.clone(),
    }
}

struct Reader<'t> {
    text: &'t str,
    /// Whether the whole file is a map between braces.
    in_flow: bool,
}

impl<'t> Reader<'t> {
    fn slice(&self, range: Range<usize>) -> Parsed<&'t str> {
        self.text.get(range.clone()).ok_or_else(|| not_editable(self.text, range.start))
    }
    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }
    fn spaces(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        at
    }
    /// Returns the offset after the line end of the line that contains `at`.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.text.len(), |n| at + n + 1)
    }
    /// Returns the offset after the line end if nothing but a comment follows on the line; otherwise returns `at`.
    fn rest_of_line(&self, at: usize) -> usize {
        match self.byte(self.spaces(at)) {
            None | Some(b'#' | b'\n' | b'\r') => self.line_end(at),
            _ => at,
        }
    }
    /// Returns the offset after the colon of a key.
    fn colon(&self, key: &Range<usize>) -> Parsed<usize> {
        let at = skip(self.text, key.end);
        match self.byte(at) {
            Some(b':') => Ok(at + 1),
            _ => Err(not_editable(self.text, key.start)),
        }
    }

    fn splits(&self, key: &Range<usize>, value: Value) -> Parsed<(Splits, usize)> {
        let colon = self.colon(key)?;
        let mut splits = Splits { in_flow: self.in_flow, ..Splits::default() };
        match value {
            Value::Map { entries, range, in_flow } => {
                splits.in_flow = in_flow;
                let mut at = if in_flow { range.start + 1 } else { self.rest_of_line(colon) };
                splits.intro = self.slice(key.end..at)?.into();
                for (number, (name_range, name, value)) in entries.into_iter().enumerate() {
                    let lead = self.slice(at..name_range.start)?.into();
                    let (list, mut end) = self.list(&name_range, value, in_flow)?;
                    let mut tail = "";
                    if in_flow {
                        let comma = skip(self.text, end);
                        if self.byte(comma) == Some(b',') {
                            tail = self.slice(end..comma + 1)?;
                            end = comma + 1;
                        }
                    }
                    splits.entries.push(SplitEntry {
                        id: number as u32,
                        name: name.into(),
                        lead,
                        key: self.slice(name_range)?.into(),
                        list,
                        tail: tail.into(),
                    });
                    at = end;
                }
                if in_flow {
                    let end = self.end_of_value(range.end, self.in_flow);
                    splits.close = self.slice(at..end)?.into();
                    at = end;
                }
                Ok((splits, at))
            }
            Value::Scalar { range, is_null: true, .. } => {
                let at = range.start.max(colon);
                let end = self.end_of_value(range.end.max(colon), self.in_flow);
                splits.intro = self.slice(key.end..at)?.into();
                splits.close = self.slice(at..end)?.into();
                splits.is_nothing = true;
                Ok((splits, end))
            }
            _ => Err(not_editable(self.text, key.start)),
        }
    }

    /// Returns the end of a value; in block context it includes the rest of the line.
    fn end_of_value(&self, at: usize, in_flow: bool) -> usize {
        if in_flow {
            at
        } else {
            self.rest_of_line(at)
        }
    }

    fn list(&self, key: &Range<usize>, value: Value, in_flow: bool) -> Parsed<(ListText, usize)> {
        let colon = self.colon(key)?;
        let made = |form, intro: &str, open: &str, items: SharedList<Item>, close: &str| ListText {
            form,
            intro: intro.into(),
            open: open.into(),
            items,
            close: close.into(),
            in_flow,
            is_open: false,
        };
        match value {
            Value::List { items, range, in_flow: true } => {
                let end = self.end_of_value(range.end, in_flow);
                let intro = self.slice(key.end..range.start)?;
                let (items, at) = self.flow_items(items, range.start + 1, range.end - 1)?;
                Ok((made(Form::Flow, intro, "[", items, self.slice(at..end)?), end))
            }
            Value::List { items, .. } => {
                let start = match self.rest_of_line(colon) {
                    at if at == colon => self.spaces(colon),
                    at => at,
                };
                let (items, end) = self.block_items(items, start)?;
                Ok((made(Form::Block, self.slice(key.end..start)?, "", items, ""), end))
            }
            Value::Scalar { range, is_null: true, .. } => {
                let (at, to) = (range.start.max(colon), range.end.max(colon));
                let end = self.end_of_value(to, in_flow);
                Ok((
                    made(
                        Form::Nothing,
                        self.slice(key.end..at)?,
                        self.slice(at..to)?,
                        SharedList::default(),
                        self.slice(to..end)?,
                    ),
                    end,
                ))
            }
            _ => Err(not_editable(self.text, key.start)),
        }
    }

    fn block_items(&self, values: Vec<Value>, mut at: usize) -> Parsed<(SharedList<Item>, usize)> {
        let items = values.into_iter().map(|value| {
            let Value::Scalar { text, range, quote, .. } = value else { return Err(not_editable(self.text, at)) };
            let begin = at;
            let mut dash = self.spaces(at);
            while matches!(self.byte(dash), Some(b'#' | b'\n' | b'\r')) {
                at = self.line_end(dash);
                dash = self.spaces(at);
            }
            if self.byte(dash) != Some(b'-') || dash >= range.start {
                return Err(not_editable(self.text, dash));
            }
            let (from, to) = match quote {
                Quote::Block => self.block_scalar(dash + 1, &range)?,
                _ => (range.start, range.end),
            };
            let end = if quote == Quote::Block { to } else { self.line_end(to) };
            let whole = self.slice(begin..end)?;
            let lead = at - begin;
            at = end;
            Ok(Item::new(text.into(), whole, lead, (from - begin, to - begin), quote))
        });
        let items = items.collect::<Parsed<_>>()?;
        Ok((items, at))
    }

    /// Returns the range from the `|` or `>` to the last line end of the text. The parser's span begins after the first line, and may end
    /// in the next one.
    fn block_scalar(&self, from: usize, range: &Range<usize>) -> Parsed<(usize, usize)> {
        let start = skip(self.text, from);
        if !matches!(self.byte(start), Some(b'|' | b'>')) {
            return Err(not_editable(self.text, start));
        }
        let content = self.slice(range.clone())?;
        let kept = content.trim_end_matches([' ', '\t', '\r', '\n']).len();
        Ok((start, self.line_end(range.start + kept)))
    }

    fn flow_items(&self, values: Vec<Value>, mut at: usize, close: usize) -> Parsed<(SharedList<Item>, usize)> {
        let items = values.into_iter().map(|value| {
            let Value::Scalar { text, range, quote, .. } = value else { return Err(not_editable(self.text, at)) };
            let comma = skip(self.text, range.end);
            let mut end = range.end;
            if self.byte(comma) == Some(b',') && comma < close {
                end = comma + 1;
                let comment = self.spaces(end);
                if self.byte(comment) == Some(b'#') {
                    end = self.line_end(comment);
                }
            } else {
                let comment = self.spaces(end);
                if self.byte(comment) == Some(b'#') {
                    end = self.line_end(comment);
                }
            }
            let whole = self.slice(at..end)?;
            let lead = range.start - at;
            let item = Item::new(text.into(), whole, lead, (lead, range.end - at), quote);
            at = end;
            Ok(item)
        });
        let items = items.collect::<Parsed<_>>()?;
        Ok((items, at))
    }
}
