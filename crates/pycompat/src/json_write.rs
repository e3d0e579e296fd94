//! Writes JSON as `json.dumps` does: non-ASCII characters are escaped unless stated otherwise, keys have the given order, and there is no
//! final newline.

use super::node::Node;
use super::number::float_repr;
use std::fmt::Write as _;

/// Returns a quoted JSON string in ASCII; characters beyond the basic plane become surrogate pairs.
pub fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    push_string(&mut out, text, true);
    out
}

/// Writes a value like `json.dumps(value, indent=2)`.
pub fn indent2(value: &Node) -> String {
    let mut out = String::new();
    push_indented(&mut out, value, 0);
    out
}

/// Writes a value like `json.dumps(value, ensure_ascii=False)`: a space after each comma and colon, and only mandatory escapes.
pub fn spaced(value: &Node) -> String {
    let mut out = String::new();
    push_spaced(&mut out, value);
    out
}

fn push_spaced(out: &mut String, value: &Node) {
    match value {
        Node::List(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                push_spaced(out, item);
            }
            out.push(']');
        }
        Node::Map(entries) => {
            out.push('{');
            for (i, (key, item)) in entries.iter().enumerate() {
                out.push_str(if i > 0 { ", " } else { "" });
                push_string(out, key, false);
                out.push_str(": ");
                push_spaced(out, item);
            }
            out.push('}');
        }
        Node::Str(text) => push_string(out, text, false),
        scalar => push_scalar(out, scalar),
    }
}

/// Appends a quoted string. Escapes non-ASCII characters if `is_ascii`.
fn push_string(out: &mut String, text: &str, is_ascii: bool) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            '\u{7f}'.. if !is_ascii => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

fn push_scalar(out: &mut String, value: &Node) {
    match value {
        Node::Null => out.push_str("null"),
        Node::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Node::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Node::Float(value) if value.is_nan() => out.push_str("NaN"),
        Node::Float(value) if value.is_infinite() => out.push_str(if *value > 0.0 { "Infinity" } else { "-Infinity" }),
        Node::Float(value) => out.push_str(&float_repr(*value)),
        Node::Str(text) => push_string(out, text, true),
        Node::List(_) | Node::Map(_) => {}
    }
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', depth * 2));
}

fn push_indented(out: &mut String, value: &Node, depth: usize) {
    match value {
        Node::List(items) if items.is_empty() => out.push_str("[]"),
        Node::Map(entries) if entries.is_empty() => out.push_str("{}"),
        Node::List(items) => {
            for (i, item) in items.iter().enumerate() {
                out.push(if i == 0 { '[' } else { ',' });
                line(out, depth + 1);
                push_indented(out, item, depth + 1);
            }
            line(out, depth);
            out.push(']');
        }
        Node::Map(entries) => {
            for (i, (key, item)) in entries.iter().enumerate() {
                out.push(if i == 0 { '{' } else { ',' });
                line(out, depth + 1);
                push_string(out, key, true);
                out.push_str(": ");
                push_indented(out, item, depth + 1);
            }
            line(out, depth);
            out.push('}');
        }
        scalar => push_scalar(out, scalar),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_as_python_escapes_it() {
        assert_eq!(string("a\"\\\n\r\t\u{8}\u{c}\u{0}\u{7f}ü😀"), r#""a\"\\\n\r\t\b\f\u0000\u007f\u00fc\ud83d\ude00""#);
    }

    #[test]
    fn json_indentation_matches_python_indent_2() {
        let value = Node::Map(vec![
            ("v".into(), Node::str("7")),
            ("e".into(), Node::Map(vec![])),
            ("l".into(), Node::List(vec![Node::Int(1), Node::Null, Node::Float(1e16), Node::List(vec![])])),
        ]);
        assert_eq!(
            indent2(&value),
            "{\n  \"v\": \"7\",\n  \"e\": {},\n  \"l\": [\n    1,\n    null,\n    1e+16,\n    []\n  ]\n}"
        );
    }
}
