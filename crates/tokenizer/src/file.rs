//! Parses a byte-pair `tokenizer.json` without building JSON values for its long lists.

use super::borrowed_text::BorrowedText;
use super::join::{join_both, Join2};
use super::lists::{Merges, Vocab};
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::Value;

/// The file. Unknown fields are rejected, because they may be significant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File<'a> {
    pub(super) version: String,
    #[serde(default)]
    pub(super) truncation: Value,
    #[serde(default)]
    pub(super) padding: Value,
    #[serde(default)]
    pub(super) added_tokens: Vec<Value>,
    #[serde(default)]
    pub(super) normalizer: Value,
    #[serde(default)]
    pub(super) pre_tokenizer: Value,
    #[serde(default)]
    pub(super) post_processor: Value,
    #[serde(default)]
    pub(super) decoder: Value,
    #[serde(borrow)]
    pub(super) model: ModelFile<'a>,
}

/// The byte-pair model.
#[derive(Debug, Deserialize)]
pub(super) struct ModelFile<'a> {
    #[serde(default, rename = "type", borrow)]
    pub(super) kind: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) dropout: Option<f32>,
    #[serde(default, borrow)]
    pub(super) unk_token: Option<BorrowedText<'a>>,
    #[serde(default, borrow)]
    pub(super) continuing_subword_prefix: Option<BorrowedText<'a>>,
    #[serde(default, borrow)]
    pub(super) end_of_word_suffix: Option<BorrowedText<'a>>,
    #[serde(default)]
    pub(super) fuse_unk: Option<bool>,
    #[serde(default)]
    pub(super) byte_fallback: Option<bool>,
    #[serde(default)]
    pub(super) ignore_merges: Option<bool>,
    #[serde(borrow)]
    pub(super) vocab: Vocab<'a>,
    /// The JSON text of the merges.
    #[serde(borrow, rename = "merges")]
    written: &'a RawValue,
    /// The parsed merges.
    #[serde(skip)]
    pub(super) merges: Merges<'a>,
}

/// The key of the merges.
const KEY: &[u8] = b"\"merges\"";

impl<'a> File<'a> {
    /// Parses a file; `None` if it is not a byte-pair tokenizer in the usual form.
    ///
    /// Parsing the merges takes as long as parsing all other parts. They are parsed in parallel from the position where they seem to start,
    /// and the result is used if this is their actual position.
    pub(super) fn read(json: &'a [u8], together: Join2<'_>) -> Option<Self> {
        // UTF-8 is validated once for the whole file instead of for each string.
        let json = simdutf8::basic::from_utf8(json).ok()?;
        let seeming = seeming_merges(json);
        let (file, early) = join_both(together, || Self::without_merges(json), || seeming.and_then(Merges::first_of))?;
        let mut file = file?;
        let written = file.model.written.get();
        let is_it =
            |length: usize| seeming.and_then(|list| list.get(..length)).is_some_and(|list| std::ptr::eq(list, written));
        file.model.merges = match early {
            Some((merges, length)) if is_it(length) => merges,
            _ => Merges::of(written)?,
        };
        Some(file)
    }

    fn without_merges(json: &'a str) -> Option<Self> {
        let mut file: Self = serde_json::from_str(json).ok()?;
        file.model.vocab.end(json)?;
        file.model.kind.as_ref().is_none_or(|kind| kind.0 == "BPE").then_some(file)
    }
}

/// Returns the end of a file, starting with the list that seems to be the list of merges.
fn seeming_merges(json: &str) -> Option<&str> {
    let bytes = json.as_bytes();
    memmem::find_iter(bytes, KEY).find_map(|at| {
        // If the key is a token of the vocabulary, an id follows instead of a list.
        let after_colon = json.get(at + KEY.len()..)?.trim_start().strip_prefix(':')?.trim_start();
        after_colon.starts_with('[').then_some(after_colon)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::in_turn;
    use crate::tests::golden;
    use serde_json::json;

    /// Tokens with ids, and merges.
    type VocabularyLists = (Vec<(String, u32)>, Vec<[String; 2]>);

    /// Returns the lists of a file, and whether its merges were at the expected position.
    fn lists(json: &str) -> Option<(VocabularyLists, bool)> {
        let file = File::read(json.as_bytes(), &in_turn)?;
        let tokens = file.model.vocab.iter().map(|(text, id)| (text.to_owned(), id)).collect();
        let merges = file.model.merges.iter().map(|(left, right)| [left.to_owned(), right.to_owned()]).collect();
        let is_there = seeming_merges(json).is_some_and(|list| list.as_ptr() == file.model.written.get().as_ptr());
        Some(((tokens, merges), is_there))
    }

    /// Returns the lists, parsed as JSON values.
    fn of_values(json: &str) -> VocabularyLists {
        let file: Value = serde_json::from_str(json).unwrap();
        let tokens = file["model"]["vocab"].as_object().unwrap().iter();
        let merge = |merge: &Value| match merge.as_str().and_then(|line| line.split_once(' ')) {
            Some((left, right)) => [left.to_owned(), right.to_owned()],
            None => [0, 1].map(|side| merge[side].as_str().unwrap().to_owned()),
        };
        (
            tokens.map(|(text, id)| (text.clone(), id.as_u64().unwrap() as u32)).collect(),
            file["model"]["merges"].as_array().unwrap().iter().map(merge).collect(),
        )
    }

    fn with(vocab: &str, model: &str) -> String {
        format!(r#"{{"version":"1.0","model":{{"vocab":{{{vocab}}},{model}}}}}"#)
    }

    #[test]
    fn vocabulary_and_merges_are_read_from_any_place_of_the_file() {
        let mut all = Vec::new();
        for name in ["gpt2", "llama3", "qwen", "llama2", "metaspace"] {
            let json = std::fs::read_to_string(golden(&format!("{name}.json"))).unwrap();
            let file: Value = serde_json::from_str(&json).unwrap();
            let mut sorted = file.clone();
            // Merges before other keys of the model, and in the other form.
            let model = sorted["model"].as_object_mut().unwrap();
            let merges = model.remove("merges").unwrap();
            model.shift_insert(0, "merges".to_owned(), merges);
            all.extend([json, file.to_string(), serde_json::to_string_pretty(&file).unwrap(), sorted.to_string()]);
        }
        let mut seemed = 0;
        for json in &all {
            let (listed, is_there) = lists(json).unwrap();
            assert_eq!(listed, of_values(json));
            seemed += usize::from(is_there);
        }
        assert_eq!(seemed, all.len());
        // Tokens and merges that look like the key; white space wherever it is valid; merges at another position, or with an escaped key.
        for (vocab, model, expected) in [
            (r#""merges":0,"\"merges\"":1,"m":2"#, r#""merges" : [ ["\"","merges"], ["merges","\""] ]"#, true),
            (r#""a":0"#, "\"merges\":\n[]\n", true),
            (r#""a]}":0"#, r#""merges":["a] }","} ]"]"#, true),
            (r#""a":0"#, r#""merges":[["a","b"]],"dropout":null"#, true),
            (r#""a":0"#, r#""x":{"merges":["a b"]},"merges":["b a"]"#, false),
            (r#""a":0"#, r#""x":{"merges":[1]},"merges":["b a"]"#, false),
            (r#""a":0"#, r#""\u006derges":["a b"],"x":{"merges":["b a"]}"#, false),
        ] {
            let json = with(vocab, model);
            assert_eq!(lists(&json), Some((of_values(&json), expected)), "{json}");
        }
    }

    #[test]
    fn files_without_valid_byte_pair_lists_are_not_read() {
        for (vocab, model) in [
            (r#""a":0"#, r#""merges":["a b"],"merges":["a b"]"#),
            (r#""a":0"#, r#""merges":["a b",]"#),
            (r#""a":0"#, r#""merges":["a"]"#),
            (r#""a":0"#, r#""merges":{}"#),
            (r#""a":0"#, r#""dropout":null"#),
            (r#""a":0,"#, r#""merges":["a b"]"#),
            (r#""a":-1"#, r#""merges":["a b"]"#),
            (r#""a":0"#, r#""type":"Unigram","merges":["a b"]"#),
        ] {
            assert!(lists(&with(vocab, model)).is_none(), "{model}");
        }
        for json in ["", "{", "\"merges\":[", "\"merges\":", "\"merges\":[]", "{\"merges\":[]}"] {
            assert!(lists(json).is_none(), "{json}");
        }
        let more = json!({"version": "1.0", "model": {"vocab": {"a": 0}, "merges": []}, "more": 1});
        assert!(lists(&more.to_string()).is_none());
    }
}
