//! Completes field-map expressions: part names first, then keys that were found in JSON parts.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 64;

/// Names and values from which completions are made.
#[derive(Clone, Copy, Debug)]
pub struct CompletionSource<'a> {
    /// Part names, most frequent first.
    pub parts: &'a [&'a str],
    /// JSON values found, by part.
    pub json: &'a BTreeMap<String, Vec<Value>>,
}

/// Returns all completions of `text`, each as the whole expression. Only the last alternative of the expression is completed.
pub fn candidates(text: &str, known: &CompletionSource<'_>) -> Vec<String> {
    let start = text.rfind(',').map_or(0, |comma| comma + 1);
    let (before, option) = text.split_at(start);
    let found = match option.find('[') {
        None => parts(option, known),
        Some(at) => steps(&option[..at], &option[at..], known),
    };
    found.into_iter().filter(|f| f != option).take(MAX_CANDIDATES).map(|f| format!("{before}{f}")).collect()
}

fn parts(typed: &str, known: &CompletionSource<'_>) -> Vec<String> {
    let mut found: Vec<String> = known.parts.iter().filter(|p| p.starts_with(typed)).map(|p| (*p).to_owned()).collect();
    // The complete name of a JSON part is completed with its keys.
    if known.json.contains_key(typed) {
        found.extend(steps(typed, "[", known));
    }
    found
}

fn steps(part: &str, path: &str, known: &CompletionSource<'_>) -> Vec<String> {
    let Some(values) = known.json.get(part) else { return Vec::new() };
    let (done, typed) = match path.rfind('[') {
        Some(open) if !path[open..].contains(']') => (&path[..open], &path[open + 1..]),
        _ => (path, ""),
    };
    let names: Vec<&str> = done.split(['[', ']']).filter(|s| !s.is_empty()).collect();
    let mut keys: BTreeSet<(usize, String)> = BTreeSet::new();
    for value in values {
        let Some(here) = names.iter().try_fold(value, |v, step| child(v, step)) else { continue };
        match here {
            Value::Object(map) => keys.extend(map.keys().filter(|k| is_step(k)).map(|k| (0, k.clone()))),
            Value::Array(list) => keys.extend((0..list.len().min(10)).map(|i| (i, i.to_string()))),
            _ => {}
        }
    }
    let matching = keys.into_iter().filter(|(_, k)| k.starts_with(typed));
    matching.map(|(_, key)| format!("{part}{done}[{key}]")).collect()
}

/// Whether a key can be written in an expression: it must not contain characters of the grammar.
fn is_step(key: &str) -> bool {
    !key.is_empty() && !key.contains(['[', ']', ','])
}

fn child<'v>(value: &'v Value, step: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => map.get(step),
        Value::Array(list) => list.get(step.parse::<usize>().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn complete(text: &str) -> Vec<String> {
        let values =
            vec![json!({"id": 1, "caption": {"long": "a", "short": "b"}}), json!({"id": 2, "tags": ["x", "y"]})];
        let json = BTreeMap::from([("json".to_owned(), values)]);
        candidates(text, &CompletionSource { parts: &["jpg", "json", "txt"], json: &json })
    }

    #[test]
    fn completion_of_empty_expression_lists_parts() {
        assert_eq!(complete(""), ["jpg", "json", "txt"]);
        assert_eq!(complete("j"), ["jpg", "json"]);
        assert_eq!(complete("zzz"), Vec::<String>::new());
    }

    #[test]
    fn completion_of_json_part_lists_keys_of_samples() {
        assert_eq!(complete("json"), ["json[caption]", "json[id]", "json[tags]"]);
        assert_eq!(complete("json[ca"), ["json[caption]"]);
        assert_eq!(complete("json[caption]["), ["json[caption][long]", "json[caption][short]"]);
        assert_eq!(complete("json[caption]"), ["json[caption][long]", "json[caption][short]"]);
        assert_eq!(complete("json[tags]["), ["json[tags][0]", "json[tags][1]"]);
        assert_eq!(complete("txt[a"), Vec::<String>::new());
    }

    #[test]
    fn completion_applies_to_last_alternative() {
        assert_eq!(complete("json[caption][long],t"), ["json[caption][long],txt"]);
    }
}
