//! Parses JSON into a [`Node`]: preserves the order of keys, refuses repeated keys, and limits nesting.

use super::node::Node;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// The reason why a JSON text cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The reason, without the position.
    pub message: String,
    /// Line, counted from 1.
    pub line: u64,
    /// Column, counted from 1.
    pub column: u64,
}

/// Parses one JSON value, which only white space may follow. Refuses nesting deeper than 128.
pub fn read(text: &str) -> Result<Node, JsonError> {
    serde_json::from_str::<Node>(text).map_err(|error| {
        let full = error.to_string();
        let message = full.rsplit_once(" at line ").map_or(full.as_str(), |(message, _)| message).to_owned();
        JsonError { message, line: error.line().max(1) as u64, column: error.column().max(1) as u64 }
    })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Int(value.into()))
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Int(value.into()))
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::str(text))
    }
    fn visit_string<E: Error>(self, text: String) -> Result<Node, E> {
        Ok(Node::Str(text))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries: Vec<(String, Node)> = Vec::new();
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if !seen.insert(key.clone()) {
                return Err(A::Error::custom(format!("duplicate key '{key}'")));
            }
            entries.push((key, map.next_value()?));
        }
        Ok(Node::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_map_keeps_its_order_and_duplicate_keys_are_refused() {
        let node = read(r#"{"z": 1, "a": [true, null, -2, 0.5, "é\ud83d\ude00"]}"#).unwrap();
        let keys: Vec<_> = node.as_map().unwrap().iter().map(|(k, _)| k.as_str()).collect();
        assert_eq!(keys, ["z", "a"]);
        assert_eq!(node.get("a").unwrap().as_list().unwrap()[4], Node::str("é😀"));
        let error = read("{\"a\": 1,\n \"a\": 2}").unwrap_err();
        assert_eq!((error.line, error.message.as_str()), (2, "duplicate key 'a'"));
        assert!(read(&"[".repeat(100_000)).is_err());
    }
}
