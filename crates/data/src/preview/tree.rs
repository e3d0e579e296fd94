//! Nested values (JSON, MessagePack) as indented, foldable lines, limited in depth, number and length.

use super::text::cut_end;
use gristmill_core::text::{count, display_safe};
use serde_json::Value;

/// Maximum number of lines from [`lines`].
pub const MAX_LINES: usize = 400;
/// Maximum depth, below the top, that [`lines`] expands.
const MAX_DEPTH: u16 = 12;
/// Maximum number of columns of a single value from [`lines`].
const MAX_VALUE_COLUMNS: usize = 400;

/// Kind of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineKind {
    /// One value without children.
    #[default]
    Scalar,
    /// Named values.
    Object,
    /// Values in order.
    Array,
    /// A remark of this program that is not in the data.
    Note,
}

/// One line: a name, a value, or both. Safe to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeLine {
    /// Levels below the top.
    pub depth: u16,
    /// Kind of the line.
    pub kind: LineKind,
    /// Whether the label is an index in an array, not a name.
    pub is_index: bool,
    /// Key or index; empty for the value itself.
    pub label: String,
    /// A scalar, or a short note on the content. Empty if lines with the content follow.
    pub value: String,
    /// Number of keys or items of an object or array.
    pub children: u64,
    /// Number of lines directly after this one that are inside it.
    pub inside: u32,
    /// Text that replaces the label: the role of a message, or the type of an item. Often empty.
    pub title: String,
    /// Whether the line is not shown, because the title of another line already shows its value.
    pub is_hidden: bool,
    /// Whether the line is shown without its label, as the content of a line with a title.
    pub is_bare: bool,
    /// Location in the part of a text value that was read from one.
    pub text: Option<TextSpan>,
}

/// Range of the content of one text in a part, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSpan {
    /// Start of the content, inclusive.
    pub from: u64,
    /// End of the content, exclusive; `u64::MAX` if the end was not read.
    pub to: u64,
    /// Whether the content is escaped as in JSON.
    pub is_escaped: bool,
}

impl TreeLine {
    /// Summarises an object or array: `{4 keys}`, `[3 items]`; returns the value of anything else.
    pub fn summary(&self) -> String {
        match self.kind {
            LineKind::Object => format!("{{{}}}", count(self.children, "key")),
            LineKind::Array => format!("[{}]", count(self.children, "item")),
            LineKind::Scalar | LineKind::Note => self.value.clone(),
        }
    }
}

/// Returns the path of a line from the top, in the grammar of the field map: `json[caption][0]`. `part` is the part's name. Safe to show.
pub fn path(part: &str, lines: &[TreeLine], at: usize) -> String {
    let mut steps: Vec<&str> = Vec::new();
    let Some(line) = lines.get(at) else { return display_safe(part).into_owned() };
    if !line.label.is_empty() {
        steps.push(&line.label);
    }
    let mut depth = line.depth;
    for above in lines.get(..at).unwrap_or_default().iter().rev() {
        if depth == 0 {
            break;
        }
        if above.depth < depth {
            depth = above.depth;
            steps.push(&above.label);
        }
    }
    let mut out = display_safe(part).into_owned();
    for step in steps.iter().rev() {
        out.push('[');
        out.push_str(step);
        out.push(']');
    }
    out
}

/// Returns the lines of a value, in its own order, at most [`MAX_LINES`].
pub fn lines(value: &Value) -> Vec<TreeLine> {
    let mut out = Vec::new();
    match value {
        Value::Object(_) | Value::Array(_) if !is_empty(value) => children(value, 0, &mut out),
        other => out.push(TreeLine { value: scalar(other), ..TreeLine::default() }),
    }
    if out.len() >= MAX_LINES {
        out.push(TreeLine { kind: LineKind::Note, value: "… more".into(), ..TreeLine::default() });
    }
    out
}

/// Summarises a value in one line: `{4 keys}`, `[3 items]`, or the scalar.
pub fn summary(value: &Value) -> String {
    match value {
        Value::Object(map) => format!("{{{}}}", count(map.len() as u64, "key")),
        Value::Array(list) => format!("[{}]", count(list.len() as u64, "item")),
        other => scalar(other),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn children(value: &Value, depth: u16, out: &mut Vec<TreeLine>) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                push(display_safe(key).into_owned(), false, child, depth, out);
            }
        }
        Value::Array(list) => {
            for (index, child) in list.iter().enumerate() {
                if out.len() >= MAX_LINES {
                    return;
                }
                push(index.to_string(), true, child, depth, out);
            }
        }
        _ => {}
    }
}

fn push(label: String, is_index: bool, child: &Value, depth: u16, out: &mut Vec<TreeLine>) {
    if out.len() >= MAX_LINES {
        return;
    }
    let (kind, number) = match child {
        Value::Object(map) => (LineKind::Object, map.len() as u64),
        Value::Array(list) => (LineKind::Array, list.len() as u64),
        _ => (LineKind::Scalar, 0),
    };
    let nested = number > 0;
    let line = TreeLine { depth, kind, is_index, label, children: number, ..TreeLine::default() };
    if nested && depth < MAX_DEPTH {
        let at = out.len();
        out.push(line);
        children(child, depth + 1, out);
        let inside = out.len() - at - 1;
        if let Some(line) = out.get_mut(at) {
            line.inside = u32::try_from(inside).unwrap_or(u32::MAX);
        }
    } else {
        let value = if nested { summary(child) } else { scalar(child) };
        out.push(TreeLine { value, ..line });
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => cut_end(&display_safe(text), MAX_VALUE_COLUMNS),
        Value::Object(_) => "{}".into(),
        Value::Array(_) => "[]".into(),
        other => other.to_string(),
    }
}

/// Formats one line of a JSON tree, indented by two columns per level.
pub fn tree_line(line: &TreeLine) -> String {
    let indent = "  ".repeat(usize::from(line.depth));
    match (line.label.is_empty(), line.value.is_empty()) {
        (true, _) => format!("{indent}{}", line.value),
        (false, true) => format!("{indent}{}:", line.label),
        (false, false) => format!("{indent}{}: {}", line.label, line.value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_value_becomes_indented_lines_in_key_order() {
        let shown: Vec<_> = lines(&json!({"id": 7, "caption": {"long": "A man", "tags": ["a", "b"]}, "none": {}}))
            .iter()
            .map(tree_line)
            .collect();
        assert_eq!(shown, ["id: 7", "caption:", "  long: A man", "  tags:", "    0: a", "    1: b", "none: {}"]);
    }

    #[test]
    fn long_values_are_cut_with_a_note() {
        let list: Vec<u32> = (0..100_000).collect();
        let shown = lines(&json!(list));
        assert_eq!(shown.len(), MAX_LINES + 1);
        assert_eq!(shown[MAX_LINES].value, "… more");
    }

    #[test]
    fn tree_names_and_values_are_escaped() {
        let shown = lines(&json!({"a\u{1b}": "\u{202e}x"}));
        assert_eq!(tree_line(&shown[0]), "a␛: <U+202E>x");
        assert_eq!(summary(&json!([1, 2, 3])), "[3 items]");
    }

    #[test]
    fn path_of_a_tree_line_is_a_field_map_expression() {
        let shown = lines(&json!({"id": 7, "caption": {"long": "A man", "tags": ["a", "b"]}, "none": {}}));
        assert_eq!(path("json", &shown, 5), "json[caption][tags][1]");
        assert_eq!(path("json", &shown, 6), "json[none]");
        assert_eq!(path("json", &shown, 99), "json");
        assert_eq!(shown[1].inside, 4);
        assert_eq!(shown[1].summary(), "{2 keys}");
    }
}
