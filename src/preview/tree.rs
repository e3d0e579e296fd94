//! A JSON value as indented lines, bounded in depth and number.

use super::text::cut_end;
use crate::model::text::display_safe;
use serde_json::Value;

/// Lines of one value that are made at most.
pub const MAX_LINES: usize = 400;
/// Levels below the top that are opened.
const MAX_DEPTH: u8 = 12;
/// Columns of a single value that are kept.
const MAX_VALUE: usize = 400;

/// One line: a name, a value, or both. Safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLine {
    /// Levels below the top.
    pub depth: u8,
    /// Key or index; empty for the value itself.
    pub label: String,
    /// A scalar, or a short note on what is inside.
    pub value: String,
}

/// The lines of a value, in its own order.
pub fn lines(value: &Value) -> Vec<TreeLine> {
    let mut out = Vec::new();
    match value {
        Value::Object(_) | Value::Array(_) if !is_empty(value) => children(value, 0, &mut out),
        other => out.push(TreeLine { depth: 0, label: String::new(), value: scalar(other) }),
    }
    if out.len() >= MAX_LINES {
        out.push(TreeLine { depth: 0, label: String::new(), value: "… more".into() });
    }
    out
}

/// One line that tells what a value is: `{4 keys}`, `[3 items]`, or the scalar.
pub fn summary(value: &Value) -> String {
    match value {
        Value::Object(map) => format!("{{{}}}", crate::model::text::count(map.len() as u64, "key")),
        Value::Array(list) => format!("[{}]", crate::model::text::count(list.len() as u64, "item")),
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

fn children(value: &Value, depth: u8, out: &mut Vec<TreeLine>) {
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                push(display_safe(key).into_owned(), child, depth, out);
            }
        }
        Value::Array(list) => {
            for (index, child) in list.iter().enumerate() {
                if out.len() >= MAX_LINES {
                    return;
                }
                push(index.to_string(), child, depth, out);
            }
        }
        _ => {}
    }
}

fn push(label: String, child: &Value, depth: u8, out: &mut Vec<TreeLine>) {
    if out.len() >= MAX_LINES {
        return;
    }
    let nested = matches!(child, Value::Object(_) | Value::Array(_)) && !is_empty(child);
    if nested && depth < MAX_DEPTH {
        out.push(TreeLine { depth, label, value: String::new() });
        children(child, depth + 1, out);
    } else {
        let value = if nested { summary(child) } else { scalar(child) };
        out.push(TreeLine { depth, label, value });
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => cut_end(&display_safe(text), MAX_VALUE),
        Value::Object(_) => "{}".into(),
        Value::Array(_) => "[]".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::tree_line;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_becomes_indented_lines_in_its_own_order() {
        let shown: Vec<_> = lines(&json!({"id": 7, "caption": {"long": "A man", "tags": ["a", "b"]}, "none": {}}))
            .iter()
            .map(tree_line)
            .collect();
        assert_eq!(shown, ["id: 7", "caption:", "  long: A man", "  tags:", "    0: a", "    1: b", "none: {}"]);
    }

    #[test]
    fn endless_values_are_cut_and_say_so() {
        let list: Vec<u32> = (0..100_000).collect();
        let shown = lines(&json!(list));
        assert_eq!(shown.len(), MAX_LINES + 1);
        assert_eq!(shown[MAX_LINES].value, "… more");
    }

    #[test]
    fn names_and_values_are_safe_to_show() {
        let shown = lines(&json!({"a\u{1b}": "\u{202e}x"}));
        assert_eq!(tree_line(&shown[0]), "a␛: <U+202E>x");
        assert_eq!(summary(&json!([1, 2, 3])), "[3 items]");
    }
}
