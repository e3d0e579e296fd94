//! What a `tokenizer.json` of byte pairs says, read without making values of its long lists first.

use super::together::{both, Together};
use memchr::memmem;
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// The file. Nothing in it may be unknown, so that a reader of its parts does not pass over what matters.
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

/// The model of byte pairs.
#[derive(Debug, Deserialize)]
pub(super) struct ModelFile<'a> {
    #[serde(default, rename = "type", borrow)]
    pub(super) kind: Option<Spelling<'a>>,
    #[serde(default)]
    pub(super) dropout: Option<f32>,
    #[serde(default, borrow)]
    pub(super) unk_token: Option<Spelling<'a>>,
    #[serde(default, borrow)]
    pub(super) continuing_subword_prefix: Option<Spelling<'a>>,
    #[serde(default, borrow)]
    pub(super) end_of_word_suffix: Option<Spelling<'a>>,
    #[serde(default)]
    pub(super) fuse_unk: Option<bool>,
    #[serde(default)]
    pub(super) byte_fallback: Option<bool>,
    #[serde(default)]
    pub(super) ignore_merges: Option<bool>,
    #[serde(borrow)]
    pub(super) vocab: Vocab<'a>,
    #[serde(borrow)]
    pub(super) merges: Merges<'a>,
}

/// A text that lies in the file's bytes where nothing in it is escaped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spelling<'a>(pub(super) Cow<'a, str>);

/// Spellings and ids, in the file's order.
#[derive(Debug, Default)]
pub(super) struct Vocab<'a>(pub(super) Vec<(Spelling<'a>, u32)>);

/// Pairs of spellings, the first to be joined first.
#[derive(Debug, Default)]
pub(super) struct Merges<'a>(pub(super) Vec<(Spelling<'a>, Spelling<'a>)>);

/// A pair as a list of two, or as one text with a blank between the two.
enum Merge<'a> {
    Pair(Spelling<'a>, Spelling<'a>),
    Line(Spelling<'a>),
}

impl<'de: 'a, 'a> Deserialize<'de> for Spelling<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Spelling<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Spelling(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Spelling(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Reader)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Vocab<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Vocab<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("spellings and ids")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(Vocab(all))
            }
        }
        from.deserialize_map(Reader)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Merges<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Merges<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("pairs")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                let (mut has_pairs, mut has_lines) = (false, false);
                while let Some(merge) = list.next_element()? {
                    match merge {
                        Merge::Pair(left, right) => {
                            has_pairs = true;
                            all.push((left, right));
                        }
                        Merge::Line(line) => {
                            has_lines = true;
                            // The head of a list of merges in a file of its own, which the reference passes over.
                            if !line.0.starts_with("#version") {
                                all.push(line.halves().ok_or_else(|| A::Error::custom("a merge is not two words"))?);
                            }
                        }
                    }
                }
                if has_pairs && has_lines {
                    return Err(A::Error::custom("merges are written in two ways"));
                }
                Ok(Merges(all))
            }
        }
        from.deserialize_seq(Reader)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Merge<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Merge<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("two spellings")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Merge::Line(Spelling(Cow::Borrowed(text))))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Merge::Line(Spelling(Cow::Owned(text.to_owned()))))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let missing = || A::Error::custom("a merge is not two spellings");
                let left = list.next_element()?.ok_or_else(missing)?;
                let right = list.next_element()?.ok_or_else(missing)?;
                match list.next_element::<serde::de::IgnoredAny>()? {
                    None => Ok(Merge::Pair(left, right)),
                    Some(_) => Err(missing()),
                }
            }
        }
        from.deserialize_any(Reader)
    }
}

impl<'a> File<'a> {
    /// Reads a file, if it is one of byte pairs in the usual form.
    pub(super) fn read(json: &'a [u8]) -> Option<Self> {
        // Once for all, and not for each spelling.
        Self::of(simdutf8::basic::from_utf8(json).ok()?)
    }

    fn of(json: &'a str) -> Option<Self> {
        let file: Self = serde_json::from_str(json).ok()?;
        file.model.kind.as_ref().is_none_or(|kind| kind.0 == "BPE").then_some(file)
    }
}

/// A file of which the merges are read by themselves: they take as long as all that is before them.
///
/// In their place stands a mark of ours. If the rest is read and has the mark where merges are looked for, that is where they were.
pub(super) struct Cut<'a> {
    rest: String,
    merges: &'a str,
}

/// The mark: a merge that no vocabulary has.
const MARK: &str = "\u{f8ff}cut\u{f8ff}";
const KEY: &[u8] = b"\"merges\"";

impl<'a> Cut<'a> {
    /// Cuts the merges out where they are the last of the model and the model the last of the file, as in all that the reference writes.
    pub(super) fn of(json: &'a [u8]) -> Option<Self> {
        let json = simdutf8::basic::from_utf8(json).ok()?;
        let is_list = |at: usize| {
            let mut behind = json.as_bytes().get(at + KEY.len()..)?.iter().filter(|byte| !byte.is_ascii_whitespace());
            (behind.next() == Some(&b':') && behind.next() == Some(&b'[')).then_some(())
        };
        // A token of this spelling has an id behind it.
        let key = memmem::find_iter(json.as_bytes(), KEY).find(|at| is_list(*at).is_some())?;
        let from = key + memchr::memchr(b'[', json.as_bytes().get(key..)?)?;
        let to = json.trim_end_matches(|end: char| end.is_ascii_whitespace() || end == '}').len();
        let merges = json.get(from..to).filter(|merges| merges.ends_with(']'))?;
        let rest = [json.get(..from)?, "[\"", MARK, " ", MARK, "\"]", json.get(to..)?].concat();
        Some(Self { rest, merges })
    }

    /// Reads both parts, if they are what they seem to be.
    pub(super) fn read(&'a self, together: Together<'_>) -> Option<File<'a>> {
        let merges = || serde_json::from_str::<Merges<'a>>(self.merges).ok();
        let (file, merges) = both(together, || File::of(&self.rest), merges)?;
        let (mut file, merges) = (file?, merges?);
        match file.model.merges.0.as_slice() {
            [(left, right)] if left.0 == MARK && right.0 == MARK => file.model.merges = merges,
            _ => return None,
        }
        Some(file)
    }
}

impl<'a> Spelling<'a> {
    /// The two words of a line with one blank.
    fn halves(&self) -> Option<(Self, Self)> {
        let (left, right) = self.0.split_once(' ').filter(|(_, right)| !right.contains(' '))?;
        let part = |from: usize, to: usize| match &self.0 {
            Cow::Borrowed(text) => Spelling(Cow::Borrowed(&text[from..to])),
            Cow::Owned(text) => Spelling(Cow::Owned(text[from..to].to_owned())),
        };
        Some((part(0, left.len()), part(self.0.len() - right.len(), self.0.len())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenize::tests::golden;
    use crate::tokenize::together::in_turn;

    /// All that a file says, if it is read in two parts.
    fn in_parts(json: &str) -> Option<String> {
        let cut = Cut::of(json.as_bytes())?;
        cut.read(&in_turn).map(|file| format!("{file:?}"))
    }

    #[test]
    fn a_file_in_two_parts_says_what_it_says_in_one() {
        for name in ["gpt2", "llama3", "qwen", "llama2", "metaspace"] {
            let json = std::fs::read_to_string(golden(&format!("{name}.json"))).unwrap();
            let pretty =
                serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&json).unwrap()).unwrap();
            for json in [json, pretty] {
                assert_eq!(in_parts(&json), Some(format!("{:?}", File::read(json.as_bytes()).unwrap())), "{name}");
            }
        }
        let with = |vocab: &str, model: &str| format!(r#"{{"version":"1.0","model":{{"vocab":{{{vocab}}},{model}}}}}"#);
        let whole = |json: &str| File::read(json.as_bytes()).map(|file| format!("{file:?}"));
        // Tokens and merges that look like the key, and white space where it may be.
        for (vocab, model) in [
            (r#""merges":0,"\"merges\"":1,"m":2"#, r#""merges" : [ ["\"","merges"], ["merges","\""] ]"#),
            (r#""a":0"#, "\"merges\":\n[]\n"),
            (r#""a]}":0"#, r#""merges":["a] }","} ]"]"#),
        ] {
            let json = with(vocab, model);
            assert!(whole(&json).is_some(), "{json}");
            assert_eq!(in_parts(&json), whole(&json), "{json}");
        }
        // What is no merges, or is not the last; what is there twice, or elsewhere, or in other words.
        for (vocab, model) in [
            (r#""a":0"#, r#""merges":[["a","b"]],"dropout":null"#),
            (r#""a":0"#, r#""merges":["a b"],"merges":["a b"]"#),
            (r#""a":0"#, r#""x":{"merges":["a b"]},"merges":["b a"]"#),
            (r#""a":0"#, r#""\u006derges":["a b"],"x":{"merges":["b a"]}"#),
            (r#""a":0"#, r#""merges":["a b",]"#),
            (r#""a":0"#, r#""merges":["a"]"#),
            (r#""a":0"#, r#""merges":{}"#),
            (r#""a":0,"#, r#""merges":["a b"]"#),
        ] {
            assert_eq!(in_parts(&with(vocab, model)), None, "{model}");
        }
        for json in ["", "{", "\"merges\":[", "\"merges\":", "\"merges\":[]", "{\"merges\":[]}"] {
            assert_eq!(in_parts(json), None, "{json}");
        }
    }

    #[test]
    fn merges_come_as_pairs_or_as_lines_and_not_as_both() {
        let read = |text: &str| -> Result<Vec<(String, String)>, String> {
            let merges: Merges<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
            Ok(merges.0.into_iter().map(|(left, right)| (left.0.into_owned(), right.0.into_owned())).collect())
        };
        let two = vec![("a".to_owned(), "b".to_owned()), ("é".to_owned(), "\"".to_owned())];
        assert_eq!(read(r#"[["a","b"],["é","\""]]"#).unwrap(), two);
        assert_eq!(read("[\"#version: 0.2\",\"a b\",\"é \\\"\"]").unwrap(), two);
        for wrong in [r#"["ab"]"#, r#"["a b c"]"#, r#"[["a"]]"#, r#"[["a","b","c"]]"#, r#"[["a","b"],"a b"]"#, "[1]"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
