//! Special tokens: makes vocabulary entries special on request, and finds special tokens in texts.

use super::facts::AddedTokenFacts;
use memchr::memmem;
use serde_json::value::RawValue;
use serde_json::{json, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The key of the added tokens in a `tokenizer.json`.
const ADDED: &str = "added_tokens";

/// Returns a `tokenizer.json` in which these tokens are special, with the properties that the reference gives them: not normalized, matched
/// also inside words, without adjacent spaces. The other values of the file are copied unchanged.
pub(super) fn make_special(file: &[u8], tokens: &[(u32, &str)]) -> Result<Vec<u8>, String> {
    let mut parts: BTreeMap<Cow<'_, str>, &RawValue> =
        serde_json::from_slice(file).map_err(|error| error.to_string())?;
    let mut added: Vec<Value> = match parts.get(ADDED) {
        Some(list) => serde_json::from_str(list.get()).map_err(|error| error.to_string())?,
        None => Vec::new(),
    };
    for (id, content) in tokens {
        let token = json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true});
        match added.iter_mut().find(|known| known.get("content").and_then(Value::as_str) == Some(content)) {
            Some(known) => *known = token,
            None => added.push(token),
        }
    }
    let added = serde_json::value::to_raw_value(&added).map_err(|error| error.to_string())?;
    parts.insert(ADDED.into(), &added);
    serde_json::to_vec(&parts).map_err(|error| error.to_string())
}

/// Finds the special tokens that are written in a text.
#[derive(Clone, Debug, Default)]
pub struct SpecialTokenFinder {
    /// Ids and spellings, sorted by id.
    tokens: Vec<(u32, String)>,
    least: u32,
    /// Difference between the greatest and the least id.
    span: u32,
    ignores_case: bool,
}

impl SpecialTokenFinder {
    /// Returns a finder for the special tokens among `added`. If the file has a normalizer, case is ignored.
    pub(super) fn new<'a>(added: impl Iterator<Item = &'a AddedTokenFacts>, has_normalizer: bool) -> Self {
        let special = added.filter(|token| token.is_special && !token.text.is_empty());
        let mut tokens: Vec<(u32, String)> = special.map(|token| (token.id, token.text.clone())).collect();
        tokens.sort_unstable();
        let least = tokens.first().map_or(0, |token| token.0);
        let span = tokens.last().map_or(0, |token| token.0 - least);
        Self { tokens, least, span, ignores_case: has_normalizer }
    }

    /// Returns the ids of the special tokens written in `text`, each once. `ids` are the raw ids of the text.
    ///
    /// Most texts have no id in the range of the special tokens, which one pass over the ids determines. Other texts are searched, because
    /// an id in this range may also be the unknown token.
    pub fn find<'a>(&'a self, text: &'a str, ids: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
        let is_near = ids.iter().fold(false, |is_near, id| is_near | (id.wrapping_sub(self.least) <= self.span));
        let near = if is_near && !self.tokens.is_empty() { ids } else { &[] };
        let mut found: Vec<u32> = Vec::new();
        for id in near {
            if !found.contains(id) && self.spelling(*id).is_some() {
                found.push(*id);
            }
        }
        found.into_iter().filter(|id| self.spelling(*id).is_some_and(|spelling| self.has(text, spelling)))
    }

    /// Returns the spelling of a special token.
    pub fn spelling(&self, id: u32) -> Option<&str> {
        let at = self.tokens.binary_search_by_key(&id, |token| token.0).ok()?;
        self.tokens.get(at).map(|token| token.1.as_str())
    }

    fn has(&self, text: &str, spelling: &str) -> bool {
        memmem::find(text.as_bytes(), spelling.as_bytes()).is_some()
            || self.ignores_case && text.to_lowercase().contains(&spelling.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_special_tokens_keeps_other_bytes_of_the_file() {
        let file = br#"{"version":"1.0","added_tokens":[{"id":1,"content":"a","lstrip":true,"special":false}],"model":{"vocab":[["x",-1.00000000000000000001]]}}"#;
        let made = make_special(file, &[(1, "a"), (7, "<b>")]).unwrap();
        let text = std::str::from_utf8(&made).unwrap();
        assert!(text.contains("-1.00000000000000000001"), "{text}");
        let value: Value = serde_json::from_str(text).unwrap();
        let added = value[ADDED].as_array().unwrap();
        assert_eq!((added.len(), &added[0]["lstrip"], &added[0]["special"]), (2, &json!(false), &json!(true)));
        assert_eq!((&added[1]["id"], &added[1]["content"]), (&json!(7), &json!("<b>")));
        assert!(make_special(b"[]", &[]).is_err());
    }

    #[test]
    fn special_token_is_found_if_both_text_and_ids_contain_it() {
        let token = |id, text: &str, is_special| AddedTokenFacts { id, text: text.into(), is_special };
        let added = [token(5, "<unk>", true), token(9, "<end>", true), token(7, "word", false)];
        let finder = SpecialTokenFinder::new(added.iter(), false);
        let found = |text, ids: &[u32]| finder.find(text, ids).collect::<Vec<_>>();
        assert_eq!(found("a <end> b <end>", &[1, 9, 2, 9]), [9]);
        assert_eq!(found("an unknown word", &[5, 7]), [0_u32; 0]);
        assert_eq!(found("<end>", &[1, 2, 3]), [0_u32; 0]);
        assert_eq!(SpecialTokenFinder::new(added.iter(), true).find("<END>", &[9]).count(), 1);
        assert_eq!(SpecialTokenFinder::default().find("x", &[0]).count(), 0);
    }
}
