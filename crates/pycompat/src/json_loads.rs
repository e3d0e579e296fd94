//! Parses JSON into a [`Node`] as Python's `json.loads` does: the last value of a repeated key counts, `NaN` and the infinities are
//! numbers, and fractions are rounded to the nearest float.
//!
//! Refuses values that a [`Node`] cannot represent exactly: integers beyond 128 bits and lone surrogates.

use super::json_text::unescape;
use super::json_walk::{walk, Kind, Span, Visit};
use super::node::Node;
use std::collections::HashMap;

/// The reason why a text cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The reason.
    pub message: &'static str,
    /// Offset of the error, in bytes.
    pub at: usize,
}

/// Parses one value, which only white space may follow. Refuses nesting deeper than 128.
pub fn loads(text: &str) -> Result<Node, LoadError> {
    let mut builder = NodeBuilder { text, open: Vec::new(), node: Node::Null, refused: None };
    match (walk(text.as_bytes(), 0, &mut builder), builder.refused) {
        (_, Some(refused)) => Err(refused),
        (Err(error), _) => Err(LoadError { message: error.in_document(), at: error.at }),
        (Ok(_), None) => Ok(builder.node),
    }
}

struct NodeBuilder<'a> {
    text: &'a str,
    open: Vec<OpenNode>,
    /// The outermost value, after it is complete.
    node: Node,
    /// The first value that cannot be represented.
    refused: Option<LoadError>,
}

/// A list or map that has not ended yet.
enum OpenNode {
    List(Vec<Node>),
    Map {
        entries: Vec<(String, Node)>,
        /// Index of each key among the entries.
        places: HashMap<String, usize>,
        /// Key of the next value.
        key: String,
    },
}

impl NodeBuilder<'_> {
    fn refuse(&mut self, at: usize, message: &'static str) -> Node {
        self.refused.get_or_insert(LoadError { message, at });
        Node::Null
    }

    fn raw(&self, span: Span) -> &str {
        self.text.get(span.from..span.to).unwrap_or_default()
    }

    fn string(&self, span: Span) -> String {
        let mut out = String::new();
        unescape(self.raw(span), &mut out);
        out
    }

    fn number(&mut self, span: Span) -> Node {
        let text = self.raw(span);
        match text.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9')) {
            true => match text.parse() {
                Ok(number) => Node::Int(number),
                Err(_) => self.refuse(span.from, "a whole number is too large to be kept"),
            },
            false => match text.parse() {
                Ok(number) => Node::Float(number),
                Err(_) => self.refuse(span.from, "a number cannot be read"),
            },
        }
    }

    fn add(&mut self, node: Node) {
        match self.open.last_mut() {
            None => self.node = node,
            Some(OpenNode::List(items)) => items.push(node),
            Some(OpenNode::Map { entries, places, key }) => match places.get(key).and_then(|at| entries.get_mut(*at)) {
                Some(entry) => entry.1 = node,
                None => {
                    places.insert(key.clone(), entries.len());
                    entries.push((std::mem::take(key), node));
                }
            },
        }
    }
}

impl Visit for NodeBuilder<'_> {
    const REPORTS_ODDITIES: bool = true;
    const MAX_NESTING: usize = 128;
    const TOO_DEEP: &'static str = "it is nested too deep";
    const IS_LINE: bool = false;

    fn key(&mut self, _: &[u8], _: usize, span: Span) {
        let name = self.string(span);
        if let Some(OpenNode::Map { key, .. }) = self.open.last_mut() {
            *key = name;
        }
    }

    fn value(&mut self, _: usize, kind: Kind, span: Span) {
        let node = match kind {
            Kind::Object => {
                self.open.push(OpenNode::Map { entries: Vec::new(), places: HashMap::new(), key: String::new() });
                return;
            }
            Kind::Array => {
                self.open.push(OpenNode::List(Vec::new()));
                return;
            }
            Kind::EmptyObject => Node::Map(Vec::new()),
            Kind::EmptyArray => Node::List(Vec::new()),
            Kind::String => Node::Str(self.string(span)),
            Kind::Number => self.number(span),
            // Rust parses the same words as Python.
            Kind::NonFinite => Node::Float(self.raw(span).parse().unwrap_or(f64::NAN)),
            Kind::True => Node::Bool(true),
            Kind::False => Node::Bool(false),
            Kind::Null => Node::Null,
        };
        self.add(node);
    }

    fn close(&mut self, _: usize, _: usize) {
        match self.open.pop() {
            Some(OpenNode::List(items)) => self.add(Node::List(items)),
            Some(OpenNode::Map { entries, .. }) => self.add(Node::Map(entries)),
            None => {}
        }
    }

    fn unpaired_surrogate(&mut self, at: usize) {
        self.refuse(at, "a text contains a lone surrogate");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_write::spaced;
    use proptest::prelude::*;

    #[test]
    fn parsed_python_json_is_written_as_by_python() {
        for (text, again) in [
            (
                r#" {"a":1,"b":[true,null,-0,1.5e3,NaN,-Infinity],"a":"é\u00e9\ud83d\ude00\/\n"} "#,
                r#"{"a": "éé😀/\n", "b": [true, null, 0, 1500.0, NaN, -Infinity]}"#,
            ),
            ("170141183460469231731687303715884105727", "170141183460469231731687303715884105727"),
            ("0.1234567890123456789", "0.12345678901234568"),
            ("\"\u{7f}\\u0001\"", "\"\u{7f}\\u0001\""),
            ("[]", "[]"),
            ("{}", "{}"),
        ] {
            assert_eq!(spaced(&loads(text).unwrap()), again, "{text}");
        }
    }

    #[test]
    fn json_that_python_refuses_or_nodes_cannot_represent_is_refused() {
        for text in [
            "",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "01",
            "1.",
            ".5",
            "+1",
            "'a'",
            "\"a\tb\"",
            "[1 2]",
            "nul",
            "\"\\x\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"",
            "1e400x",
            "340282366920938463463374607431768211456",
            "1 2",
            "-",
        ] {
            assert!(loads(text).is_err(), "{text}");
        }
        assert!(loads(&"[".repeat(100_000)).is_err());
    }

    proptest! {
        #[test]
        fn python_json_reader_agrees_with_serde_json(text in "[\\[\\]{},:\"\\\\ua0-9eE.+ \\-tn]{0,30}") {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            let ours = loads(&text);
            // Numbers beyond the range of floats are infinite in Python, but serde_json refuses them.
            if !text.contains(['e', 'E']) {
                prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} {:?}", ours, theirs);
            }
        }
    }
}
