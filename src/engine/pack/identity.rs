//! When two plans make the same bytes, and what they answer differently.

use crate::model::PackPlan;
use serde_json::{Map, Value};
use xxhash_rust::xxh3::xxh3_128;

/// Counts up when the same plan makes other bytes, or when what a stopped run leaves changes its meaning.
const GENERATION: u32 = 1;

/// A short fingerprint of every answer that decides the bytes of the result; where it goes is left out, what the tokenizer file holds
/// (`tokenizer_hash`) counts in.
pub fn plan_hash(plan: &PackPlan, tokenizer_hash: &str) -> String {
    let same = PackPlan { output: String::new(), overwrite: false, ..plan.clone() };
    let plan = serde_json::to_string(&same).unwrap_or_else(|_| format!("{same:?}"));
    format!("{:032x}", xxh3_128(format!("{GENERATION}\n{tokenizer_hash}\n{plan}").as_bytes()))
}

/// The answers that differ, one line each: `tokenizer: "a" → "b"`. Empty when both make the same files.
pub fn differences(old: &PackPlan, new: &PackPlan) -> Vec<String> {
    let table = |plan: &PackPlan| match serde_json::to_value(plan) {
        Ok(Value::Object(table)) => table,
        _ => Map::new(),
    };
    let mut lines = Vec::new();
    compare("", &table(old), &table(new), &mut lines);
    lines
}

fn compare(path: &str, old: &Map<String, Value>, new: &Map<String, Value>, lines: &mut Vec<String>) {
    for key in new.keys().chain(old.keys().filter(|key| !new.contains_key(*key))) {
        if path.is_empty() && matches!(key.as_str(), "output" | "overwrite" | "version") {
            continue;
        }
        let name = if path.is_empty() { key.clone() } else { format!("{path} {key}") };
        match (old.get(key), new.get(key)) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => compare(&name, old, new, lines),
            (old, new) if old != new => lines.push(format!("{name}: {} → {}", shown(old), shown(new))),
            _ => {}
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "not given".into(),
        Some(Value::Object(_)) => "asked for".into(),
        Some(value) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::pack::{EndToken, NanosetsTarget};

    #[test]
    fn only_answers_that_change_the_bytes_count() {
        let old = PackPlan::new(vec!["a".into()], "t.json", "out");
        let same = PackPlan { output: "elsewhere".into(), overwrite: true, ..old.clone() };
        assert_eq!(plan_hash(&old, "h"), plan_hash(&same, "h"));
        assert!(differences(&old, &same).is_empty());
        assert_ne!(plan_hash(&old, "h"), plan_hash(&old, "i"));
        let other = PackPlan {
            end: Some(EndToken::Id(0)),
            nanosets: Some(NanosetsTarget { tasks: Some(2), ..NanosetsTarget::default() }),
            seed: 7,
            ..old.clone()
        };
        assert_ne!(plan_hash(&old, "h"), plan_hash(&other, "h"));
        let lines = differences(&old, &other);
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(
            lines.contains(&"seed: 42 → 7".to_owned()) && lines.contains(&"nanosets: not given → asked for".to_owned())
        );
        let third = PackPlan { nanosets: Some(NanosetsTarget::default()), ..other.clone() };
        assert_eq!(differences(&other, &third), ["nanosets tasks: 2 → not given"]);
    }
}
