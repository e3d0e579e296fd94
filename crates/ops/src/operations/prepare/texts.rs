//! The values of options of `prepare`: split patterns, field maps, the name of the dataset YAML, and lists of excludes.

use crate::engine::plan::classes::is_identifier;
use gristmill_core::plan::{FieldExpr, SplitPattern};
use gristmill_core::sample_type;
use serde::de::{MapAccess, Visitor};

/// Parses one item per line. Ignores blank lines and lines that start with `#`.
pub fn exclude_lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim_end_matches('\r'));
    lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// Parses `NAME:REGEX` texts, split at the first colon. Refuses repeated names unless `last_wins` is set.
///
/// # Errors
/// The reason why a text is invalid.
pub fn split_patterns(texts: &[String], last_wins: bool) -> Result<Vec<SplitPattern>, String> {
    let mut patterns: Vec<SplitPattern> = Vec::new();
    for text in texts {
        let Some((name, pattern)) = text.split_once(':').filter(|(name, _)| !name.is_empty()) else {
            return Err("NAME:REGEX is needed".to_owned());
        };
        match patterns.iter_mut().find(|known| known.name == name) {
            Some(known) if last_wins => pattern.clone_into(&mut known.pattern),
            Some(known) => {
                let both = format!("{name}:(?:{}|{pattern})", known.pattern);
                return Err(format!("the split '{name}' is given twice; join the patterns: '{both}'"));
            }
            None => patterns.push(SplitPattern { name: name.to_owned(), pattern: pattern.to_owned() }),
        }
    }
    Ok(patterns)
}

/// Sorts fields by the order of their class, so that equivalent flags produce the same file. Unknown fields are last.
pub(super) fn sort_in_class_order(sample_type: &str, fields: &mut [FieldExpr]) {
    let class = sample_type.rsplit(':').next().unwrap_or(sample_type);
    if let Some(known) = sample_type::find(class) {
        fields.sort_by_key(|f| known.fields.iter().position(|k| k.name == f.field).unwrap_or(usize::MAX));
    }
}

/// Parses texts, each a JSON object or one `FIELD=EXPR`. Preserves the order and refuses repeated fields.
///
/// # Errors
/// The reason why a text is invalid.
pub fn field_map(texts: &[String]) -> Result<Vec<FieldExpr>, String> {
    let mut fields: Vec<FieldExpr> = Vec::new();
    for text in texts {
        let more = if text.trim_start().starts_with('{') { from_json(text)? } else { vec![from_pair(text)?] };
        for field in more {
            if fields.iter().any(|known| known.field == field.field) {
                let way = "alternatives of one field are separated by commas: caption=json[text],txt";
                return Err(format!("the field '{}' is given twice; {way}", field.field));
            }
            fields.push(field);
        }
    }
    Ok(fields)
}

/// Returns the texts for these fields: one for each, or one JSON object if a field cannot be written as `FIELD=EXPR`.
pub(super) fn field_texts(fields: &[FieldExpr]) -> Vec<String> {
    if fields.iter().all(|x| is_identifier(&x.field) && !x.expr.is_empty()) {
        return fields.iter().map(|x| format!("{}={}", x.field, x.expr)).collect();
    }
    let map: serde_json::Map<String, serde_json::Value> =
        fields.iter().map(|x| (x.field.clone(), x.expr.clone().into())).collect();
    vec![serde_json::Value::Object(map).to_string()]
}

fn from_pair(text: &str) -> Result<FieldExpr, String> {
    match text.split_once('=') {
        Some((field, expr)) if !field.trim().is_empty() && !expr.is_empty() => {
            if let Some(second) = second_field(expr) {
                return Err(format!("'{second}' after the comma is a field of its own: separate fields by a space"));
            }
            Ok(FieldExpr { field: field.trim().to_owned(), expr: expr.to_owned() })
        }
        _ => Err("a JSON object or FIELD=EXPR is needed".to_owned()),
    }
}

/// Returns the first alternative of an expression that has the form of a field, as in `jpg,caption=txt`.
fn second_field(expr: &str) -> Option<&str> {
    let mut depth = 0usize;
    let pieces = expr.split(|c: char| {
        depth = match c {
            '[' => depth + 1,
            ']' => depth.saturating_sub(1),
            _ => depth,
        };
        c == ',' && depth == 0
    });
    let is_field = |piece: &&str| piece.split_once('=').is_some_and(|(field, _)| is_identifier(field.trim()));
    pieces.skip(1).find(is_field)
}

fn from_json(text: &str) -> Result<Vec<FieldExpr>, String> {
    let example = r#"{"image": "jpg", "caption": "json[text],txt"}"#;
    let pairs = serde_json::from_str::<Pairs>(text).map(|pairs| pairs.0);
    pairs.map_err(|error| format!("it is not a JSON object of texts, such as {example}: {error}"))
}

/// A JSON object as pairs, with its order and repeated keys.
struct Pairs(Vec<FieldExpr>);

impl<'de> serde::Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairVisitor;
        impl<'de> Visitor<'de> for PairVisitor {
            type Value = Pairs;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of texts")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some((field, expr)) = map.next_entry()? {
                    pairs.push(FieldExpr { field, expr });
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(PairVisitor)
    }
}

/// Checks the name of the dataset YAML, which must be a plain file name in `.nv-meta`.
///
/// # Errors
/// The reason why the name is invalid.
pub fn yaml_name(name: &str) -> Result<String, String> {
    let reserved = ["", ".", "..", "split.yaml", ".info.json", ".info.yaml", "index.sqlite", "index.uuid", "gristmill"];
    if reserved.contains(&name) || name.contains(['/', '\0', '\n']) {
        return Err("a plain file name of its own is needed, such as captions.yaml; it is written into .nv-meta".into());
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_map_is_given_as_json_or_pairs_without_duplicates() {
        let one = |texts: &[&str]| field_map(&texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>());
        let fields = one(&["image=jpg", r#"{"caption": "json[a=b],txt"}"#]).unwrap();
        assert_eq!(fields[1], FieldExpr { field: "caption".into(), expr: "json[a=b],txt".into() });
        assert_eq!(one(&["caption=json[a=b]"]).unwrap()[0].expr, "json[a=b]", "the first = separates");
        assert_eq!(one(&["caption=json[a,b=c]"]).unwrap()[0].expr, "json[a,b=c]", "a key may have the form of a field");
        assert!(one(&["image=jpg,caption=txt"]).unwrap_err().contains("separate fields by a space"));
        for bad in ["image", "=jpg", "image=", r#"{"image": 1}"#, r#"{"image": "jpg""#, r#"{"a": "x", "a": "y"}"#] {
            assert!(one(&[bad]).is_err(), "{bad}");
        }
        assert!(one(&["image=jpg", "image=png"]).is_err());
    }

    #[test]
    fn split_patterns_end_their_name_at_the_first_colon() {
        let texts = |texts: &[&str]| texts.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
        let patterns = split_patterns(&texts(&["train:a:b", "val:.*"]), false).unwrap();
        assert_eq!((patterns[0].name.as_str(), patterns[0].pattern.as_str()), ("train", "a:b"));
        assert!(split_patterns(&texts(&["train"]), false).is_err());
        assert!(split_patterns(&texts(&[":x"]), false).is_err());
        let twice = texts(&["a:1", "b:2", "a:3"]);
        assert!(split_patterns(&twice, false).unwrap_err().contains("a:(?:1|3)"));
        assert_eq!(
            split_patterns(&twice, true).unwrap()[0].pattern,
            "3",
            "the last one wins, at the first one's place"
        );
    }

    #[test]
    fn exclude_file_has_one_item_per_line() {
        assert_eq!(exclude_lines("# why\na.tar/1\r\n\n b.tar/x y\n"), ["a.tar/1", " b.tar/x y"]);
    }

    #[test]
    fn dataset_yaml_name_with_a_path_is_refused() {
        assert_eq!(yaml_name("captions.yaml").unwrap(), "captions.yaml");
        for bad in ["", "..", "a/b", ".info.json", "split.yaml", "x\ny"] {
            assert!(yaml_name(bad).is_err(), "{bad}");
        }
    }
}
