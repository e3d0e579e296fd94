//! Recognizes tokenizer files that are not supported.

use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Returns the problem of a text file with an encoding that JSON does not allow.
pub(super) fn other_encoding(bytes: &[u8]) -> Option<String> {
    match bytes {
        [0xef, 0xbb, 0xbf, ..] => Some("it begins with a byte order mark".into()),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'{', 0, ..] | [0, b'{', ..] | [0, 0, 0, b'{', ..] => {
            Some("it is text in UTF-16 or UTF-32".into())
        }
        _ => None,
    }
}

/// Maximum length of a token and its rank, in bytes.
const MAX_LINE_BYTES: usize = 1 << 12;

/// Whether the first line is a base64 token and its rank.
fn is_tiktoken(bytes: &[u8]) -> bool {
    let start = bytes.get(..MAX_LINE_BYTES).unwrap_or(bytes);
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let is_base64 = |word: &[u8]| word.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte));
    let is_number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let token = words.next().unwrap_or_default();
    token.len() >= 4 && is_base64(token) && words.next().is_some_and(is_number) && words.next().is_none()
}

/// The hint for a tokenizer file that is not supported.
pub(super) const HINT: &str = "give the tokenizer.json of the same model; a SentencePiece .model is read, too";

/// Returns a description of a file that belongs to a tokenizer but is not supported; `None` for other content.
pub(super) fn foreign_kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace())? {
        b'{' => json_kind(bytes),
        _ if is_tiktoken(bytes) => Some("a tiktoken file, which does not say how texts are split"),
        _ => text_kind(bytes),
    }
}

/// Recognizes a JSON object by its keys. A damaged `tokenizer.json` is not recognized.
fn json_kind(bytes: &[u8]) -> Option<&'static str> {
    let parts: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_slice(bytes).ok()?;
    let has = |key: &str| parts.contains_key(key);
    let is_number = |value: &&RawValue| value.get().parse::<u32>().is_ok();
    let has_token_bytes = || {
        let vocabulary: Option<Vec<BTreeMap<Cow<'_, str>, &RawValue>>> =
            parts.get("vocab").and_then(|list| serde_json::from_str(list.get()).ok());
        vocabulary.is_some_and(|list| list.first().is_some_and(|token| token.contains_key("token_bytes")))
    };
    if has("model") || parts.is_empty() {
        return None;
    }
    if has("config") && has_token_bytes() {
        return Some("a tekken.json, the tokenizer of Mistral models");
    }
    if parts.values().all(is_number) {
        return Some("a vocab.json, which has the tokens of a tokenizer and not its rules");
    }
    if has("tokenizer_class") || has("added_tokens_decoder") {
        return Some("a tokenizer_config.json, which has settings of a tokenizer and not its tokens");
    }
    if has("architectures") || has("model_type") {
        return Some("a config.json, which describes a model and not its tokenizer");
    }
    let is_token = |key: &Cow<'_, str>| key.ends_with("_token") || *key == "additional_special_tokens";
    parts.keys().all(is_token).then_some("a special_tokens_map.json, which has only the special tokens of a tokenizer")
}

/// Number of lines that are examined.
const MAX_LINES: usize = 20;

fn text_kind(bytes: &[u8]) -> Option<&'static str> {
    let start = String::from_utf8_lossy(bytes.get(..MAX_LINE_BYTES).unwrap_or(bytes));
    // The last line may be truncated.
    let complete = start.rfind('\n').and_then(|end| start.get(..end)).unwrap_or(&start);
    let lines: Vec<&str> = complete.lines().take(MAX_LINES).collect();
    let is_merge = |line: &&str| line.split(' ').filter(|word| !word.is_empty()).count() == 2;
    let (first, rest) = lines.split_first()?;
    if first.starts_with("#version:") && rest.iter().all(is_merge) {
        return Some("a merges.txt, which has the merges of a tokenizer and not its vocabulary");
    }
    let is_special = |line: &&str| matches!(*line, "[PAD]" | "[UNK]" | "<unk>" | "<pad>" | "<s>");
    let is_token = |line: &&str| !line.is_empty() && !line.contains(char::is_whitespace);
    (lines.iter().any(is_special) && lines.iter().all(is_token))
        .then_some("a vocab.txt, which has the tokens of a tokenizer and not its rules")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokenizer_related_files_are_recognized_by_content() {
        for (file, kind) in [
            (r#"{"config":{},"vocab":[{"rank":0,"token_bytes":"AA=="}]}"#, Some("a tekken.json")),
            (r#"{"a":0,"b":1}"#, Some("a vocab.json")),
            (r#"{"tokenizer_class":"X","eos_token":"</s>"}"#, Some("a tokenizer_config.json")),
            (r#"{"architectures":["X"]}"#, Some("a config.json")),
            (r#"{"eos_token":"</s>"}"#, Some("a special_tokens_map.json")),
            ("#version: 0.2\na b\nab c\n", Some("a merges.txt")),
            ("[PAD]\n[UNK]\nword\n", Some("a vocab.txt")),
            ("AAAA 0\nAAAB 1\n", Some("a tiktoken file")),
            (r#"{"version":"1.0","model":{"vocab":{}}}"#, None),
            (r#"{"config":{},"vocab":[]}"#, None),
            ("{}", None),
            ("", None),
            ("some text\nof lines\n", None),
        ] {
            let found = foreign_kind(file.as_bytes());
            assert_eq!(found.map(|found| found.split(',').next().unwrap()), kind, "{file}");
        }
    }
}
