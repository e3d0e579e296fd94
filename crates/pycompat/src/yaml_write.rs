//! YAML as PyYAML's `dump(value, sort_keys=False)` writes it (docs/formats/energon.md §8): block style, 80 columns, ASCII only.

pub use super::node::Node;
use super::number::float_repr;
use super::yaml_scalar::{analyze, escaped, is_break, style, Style};

/// Column after which texts are folded at the next space.
const WIDTH: usize = 80;
/// Length from which on a key is written as `? key`; five characters less than 128, because PyYAML counts its tag.
const LONG_KEY: usize = 128 - "!!str".len();

/// Writes the whole document, with its final line end, exactly as PyYAML does.
///
/// PyYAML does not quote some texts that the loaders of the formats parse as numbers (`08`, `1e3`, `tRue`). Use [`dump_for_loader`] for
/// files that these loaders read.
pub fn dump(node: &Node) -> String {
    write(node, false, false)
}

/// Like [`dump`], but quotes every text that [`read`](super::yaml_read::read) would not parse as text.
pub fn dump_for_loader(node: &Node) -> String {
    write(node, true, false)
}

/// Writes a text like an item of [`dump_for_loader`], but on one line regardless of its length.
pub fn on_one_line(text: &str) -> String {
    let analysis = analyze(text, false);
    match style(text, &analysis, false, true) {
        Style::Plain => text.to_owned(),
        Style::Single if !analysis.multiline => format!("'{}'", text.replace('\'', "''")),
        _ => {
            let mut out = String::from("\"");
            for c in text.chars() {
                match escaped(c, false) {
                    Some(escape) => out.push_str(&escape),
                    None => out.push(c),
                }
            }
            out.push('"');
            out
        }
    }
}

fn write(node: &Node, for_loader: bool, allow_unicode: bool) -> String {
    let out = String::new();
    let mut emitter =
        Emitter { out, column: 0, after_space: true, at_indent: true, indent: None, for_loader, allow_unicode };
    emitter.node(node, NodeContext::Root);
    emitter.line_break();
    if ends_open(node, for_loader, allow_unicode) {
        emitter.out.push_str("...\n");
    }
    emitter.out
}

/// Whether PyYAML writes an end-of-document marker, as it does after a document that is a single unquoted value.
fn ends_open(node: &Node, for_loader: bool, allow_unicode: bool) -> bool {
    match node {
        Node::List(_) | Node::Map(_) => false,
        Node::Str(text) => style(text, &analyze(text, allow_unicode), false, for_loader) == Style::Plain,
        _ => true,
    }
}

/// Like [`dump_for_loader`], with the keys of every map in code-point order.
pub fn dump_sorted(node: &Node) -> String {
    dump_for_loader(&sorted(node))
}

/// Writes like PyYAML's `dump(value, allow_unicode=True)`: like [`dump`], with the keys of every map in code-point order and with non-ASCII
/// characters unescaped.
pub fn dump_as_python_sorted(node: &Node) -> String {
    write(&sorted(node), false, true)
}

fn sorted(node: &Node) -> Node {
    match node {
        Node::List(items) => Node::List(items.iter().map(sorted).collect()),
        Node::Map(entries) => {
            let mut entries: Vec<_> = entries.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Node::Map(entries)
        }
        scalar => scalar.clone(),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeContext {
    Root,
    Item,
    Value,
    SimpleKey,
    LongKey,
}

/// The output and its position. `indent` is the indentation of the innermost block collection; `None` before the first.
struct Emitter {
    out: String,
    column: usize,
    after_space: bool,
    at_indent: bool,
    indent: Option<usize>,
    for_loader: bool,
    allow_unicode: bool,
}

impl Emitter {
    fn write(&mut self, text: &str) {
        self.column += text.chars().count();
        self.out.push_str(text);
    }

    fn indicator(&mut self, text: &str, needs_space: bool) {
        if needs_space && !self.after_space {
            self.write(" ");
        }
        self.after_space = false;
        self.at_indent = false;
        self.write(text);
    }

    /// Writes `- `, `? ` or the `: ` after a long key, after which more structure may follow on the same line.
    fn structure(&mut self, text: &str) {
        let at_indent = self.at_indent;
        self.indicator(text, true);
        self.at_indent = at_indent;
    }

    fn line_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
        self.after_space = true;
        self.at_indent = true;
    }

    fn set_indent(&mut self, indent: usize) {
        if !self.at_indent || self.column > indent || (self.column == indent && !self.after_space) {
            self.line_break();
        }
        if self.column < indent {
            self.after_space = true;
            self.out.extend(std::iter::repeat_n(' ', indent - self.column));
            self.column = indent;
        }
    }

    fn node(&mut self, node: &Node, place: NodeContext) {
        match node {
            Node::List(items) if items.is_empty() => self.indicator("[]", true),
            Node::Map(entries) if entries.is_empty() => self.indicator("{}", true),
            Node::List(items) => self.list(items, place),
            Node::Map(entries) => self.map(entries),
            Node::Str(text) => self.text(text, place),
            Node::Null => self.write_indicator("null"),
            Node::Bool(true) => self.write_indicator("true"),
            Node::Bool(false) => self.write_indicator("false"),
            Node::Int(value) => self.write_indicator(&value.to_string()),
            Node::Float(value) => self.write_indicator(&float(*value)),
        }
    }

    fn write_indicator(&mut self, text: &str) {
        self.indicator(text, true);
    }

    fn list(&mut self, items: &[Node], place: NodeContext) {
        let outer = self.indent;
        // A list directly below its key starts in the column of the key.
        let under_key = place == NodeContext::Value && !self.at_indent;
        let indent = match outer {
            None => 0,
            Some(indent) if under_key => indent,
            Some(indent) => indent + 2,
        };
        self.indent = Some(indent);
        for item in items {
            self.set_indent(indent);
            self.structure("-");
            self.node(item, NodeContext::Item);
        }
        self.indent = outer;
    }

    fn map(&mut self, entries: &[(String, Node)]) {
        let outer = self.indent;
        let indent = outer.map_or(0, |indent| indent + 2);
        self.indent = Some(indent);
        for (key, value) in entries {
            self.set_indent(indent);
            let analysis = analyze(key, self.allow_unicode);
            if !analysis.empty && !analysis.multiline && key.chars().count() < LONG_KEY {
                self.text(key, NodeContext::SimpleKey);
                self.indicator(":", false);
            } else {
                self.structure("?");
                self.text(key, NodeContext::LongKey);
                self.set_indent(indent);
                self.structure(":");
            }
            self.node(value, NodeContext::Value);
        }
        self.indent = outer;
    }

    fn text(&mut self, text: &str, place: NodeContext) {
        let simple_key = place == NodeContext::SimpleKey;
        let outer = self.indent;
        self.indent = Some(outer.map_or(2, |indent| indent + 2));
        let key = matches!(place, NodeContext::SimpleKey | NodeContext::LongKey);
        match style(text, &analyze(text, self.allow_unicode), simple_key, self.for_loader && !key) {
            Style::Plain => self.plain(text, !simple_key),
            Style::Single => self.single(text, !simple_key),
            Style::Double => self.double(text, !simple_key),
        }
        self.indent = outer;
    }

    fn fold(&mut self) {
        let indent = self.indent.unwrap_or(0);
        self.set_indent(indent);
    }

    fn plain(&mut self, text: &str, may_fold: bool) {
        if text.is_empty() {
            return;
        }
        if !self.after_space {
            self.write(" ");
        }
        self.after_space = false;
        self.at_indent = false;
        for piece in TextRuns(text) {
            match piece {
                TextRun::Spaces(" ") if may_fold && self.column > WIDTH => {
                    self.fold();
                    self.after_space = false;
                    self.at_indent = false;
                }
                TextRun::Spaces(text) | TextRun::Breaks(text) | TextRun::Word(text) => self.write(text),
            }
        }
    }

    fn single(&mut self, text: &str, may_fold: bool) {
        self.indicator("'", true);
        let mut at = 0;
        for piece in TextRuns(text) {
            match piece {
                TextRun::Spaces(spaces) => {
                    let inside = at != 0 && at + spaces.len() != text.len();
                    if spaces == " " && may_fold && inside && self.column > WIDTH {
                        self.fold();
                    } else {
                        self.write(spaces);
                    }
                    at += spaces.len();
                }
                TextRun::Breaks(breaks) => {
                    // A single line end would be folded into a space, so an additional one is written.
                    for _ in 0..=breaks.chars().count() {
                        self.line_break();
                    }
                    self.fold();
                    at += breaks.len();
                }
                TextRun::Word(word) => {
                    self.write(&word.replace('\'', "''"));
                    at += word.len();
                }
            }
        }
        self.indicator("'", false);
    }

    /// Writes text in double quotes, in runs. A run ends before an escaped character, and where a line is folded.
    fn double(&mut self, text: &str, may_fold: bool) {
        self.indicator("\"", true);
        let chars: Vec<(usize, char)> = text.char_indices().collect();
        let byte = |index: usize| chars.get(index).map_or(text.len(), |(at, _)| *at);
        let mut start = 0;
        for index in 0..=chars.len() {
            let c = chars.get(index).map(|(_, c)| *c);
            let escape = c.and_then(|c| escaped(c, self.allow_unicode));
            if c.is_none() || escape.is_some() {
                if start < index {
                    self.write(&text[byte(start)..byte(index)]);
                    start = index;
                }
                if let Some(escape) = escape {
                    self.write(&escape);
                    start = index + 1;
                }
            }
            let inside = index > 0 && index + 1 < chars.len();
            let foldable = c == Some(' ') || start >= index;
            if inside
                && foldable
                && may_fold
                && self.column + index.saturating_sub(start) > WIDTH + usize::from(start > index)
            {
                self.fold_double(text, &byte, &mut start, index);
            }
        }
        self.indicator("\"", false);
    }

    fn fold_double(&mut self, text: &str, byte: &dyn Fn(usize) -> usize, start: &mut usize, index: usize) {
        if *start < index {
            self.write(&text[byte(*start)..byte(index)]);
            *start = index;
        }
        self.write("\\");
        self.fold();
        self.after_space = false;
        self.at_indent = false;
        if text[byte(*start)..].starts_with(' ') {
            self.write("\\");
        }
    }
}

/// Formats a float like PyYAML: `repr`, with a `.0` before a bare exponent.
fn float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = float_repr(value);
    match text.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => text,
    }
}

enum TextRun<'a> {
    Spaces(&'a str),
    Breaks(&'a str),
    Word(&'a str),
}

/// Splits text into runs of spaces, of line ends, and of everything else.
struct TextRuns<'a>(&'a str);

impl<'a> Iterator for TextRuns<'a> {
    type Item = TextRun<'a>;
    fn next(&mut self) -> Option<TextRun<'a>> {
        let kind = |c: char| if c == ' ' { 0 } else { 1 + u8::from(is_break(c)) };
        let first = kind(self.0.chars().next()?);
        let end = self.0.find(|c| kind(c) != first).unwrap_or(self.0.len());
        let (piece, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(match first {
            0 => TextRun::Spaces(piece),
            1 => TextRun::Word(piece),
            _ => TextRun::Breaks(piece),
        })
    }
}

#[cfg(test)]
#[path = "yaml_write_tests.rs"]
mod tests;
