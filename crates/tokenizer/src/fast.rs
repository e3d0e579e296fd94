//! Readers of byte-pair tokenizers that are faster than the reference.

use super::bpe::{Bpe, Scratch, Tables};
use super::reference::{guarded, Reference};
use gristmill_core::Outcome;
use memchr::memmem::Finder;
use serde_json::{json, Value};

/// Above this id the other reader's tables, which have a slot for every id, would be far larger than the vocabulary.
const GREATEST_ID: u32 = 1 << 22;

/// An apostrophe and a long s: patterns that ignore case treat it as a contraction, but the other reader's scanners do not.
const CONTRACTED_LONG_S: &str = "'ſ";

/// For a text that contains this the fast reader returns wrong ids, so that tests can observe the consequences.
#[cfg(any(test, feature = "testing"))]
pub const DIFFERENCE_MARK: &str = "\u{e000}the fast reader differs here\u{e000}";

/// A tokenizer in a fast reader: raw ids only.
pub(super) enum FastTokenizer {
    /// Read by the code in [`bpe`](super::bpe).
    Own(Box<Bpe>),
    /// Read by another crate, which accepts more ways of splitting, takes longer to load, and more memory for each thread.
    Other(Box<FastokensTokenizer>),
}

/// A tokenizer in the other crate.
pub(super) struct FastokensTokenizer {
    tokenizer: fastokens::Tokenizer,
    long_s: Finder<'static>,
}

impl FastTokenizer {
    /// Reads the same file, for which the tables of [`bpe`](super::bpe) may have been built; otherwise returns why no fast reader accepts
    /// it.
    pub(super) fn parse(
        json: &[u8],
        tables: Result<Tables, String>,
        reference: &Reference,
        greatest_id: u32,
    ) -> Result<Self, String> {
        if reference.dropout().is_some() {
            return Err("it drops merges at random".into());
        }
        match tables.and_then(|tables| Bpe::new(tables, reference.tokenizer())) {
            Ok(own) => Ok(Self::Own(Box::new(own))),
            Err(why) => match FastokensTokenizer::parse(json, reference, greatest_id) {
                Ok(other) => Ok(Self::Other(Box::new(other))),
                Err(other) => Err(format!("{why}; {other}")),
            },
        }
    }

    /// Appends the raw ids of a text; returns `false` and leaves `out` unchanged where the fast reader cannot encode it.
    pub(super) fn encode(&self, text: &str, scratch: &mut Scratch, out: &mut Vec<u32>) -> bool {
        #[cfg(any(test, feature = "testing"))]
        let before = out.len();
        let is_done = match self {
            Self::Own(own) => own.encode(text, scratch, out),
            Self::Other(other) => other.encode(text, out),
        };
        #[cfg(any(test, feature = "testing"))]
        if text.contains(DIFFERENCE_MARK) {
            out[before..].reverse();
        }
        is_done
    }

    /// Encodes several texts at once into raw ids, and where those of each end; `others` encodes the texts that the fast reader cannot.
    /// Returns `false` where it takes texts only one by one; the contents of `ids` and `ends` are then undefined.
    pub(super) fn encode_all(
        &self,
        texts: &[&str],
        scratch: &mut Scratch,
        mut others: impl FnMut(usize, &mut Vec<u32>) -> Outcome<()>,
        (ids, ends): (&mut Vec<u32>, &mut Vec<usize>),
    ) -> Outcome<bool> {
        let Self::Own(own) = self else { return Ok(false) };
        #[cfg(any(test, feature = "testing"))]
        if texts.iter().any(|text| text.contains(DIFFERENCE_MARK)) {
            return Ok(false);
        }
        scratch.begin();
        for (number, text) in texts.iter().enumerate() {
            if !own.append_text(text, scratch) {
                let mut alone = Vec::new();
                others(number, &mut alone)?;
                scratch.put_ids(&alone);
            }
        }
        Ok(own.finish(scratch, ids, ends))
    }
}

impl FastokensTokenizer {
    fn parse(json: &[u8], reference: &Reference, greatest_id: u32) -> Result<Self, String> {
        if greatest_id > GREATEST_ID {
            return Err(format!("its ids go up to {greatest_id}"));
        }
        // The reference assigns ids to added tokens in its own order; this reader uses those in the file.
        if reference.renumbered().next().is_some() {
            return Err("its added tokens have other ids than the file says".into());
        }
        let mut file: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        // Only raw ids are needed, so parts that this reader does not support must not prevent its use.
        if let Some(parts) = file.as_object_mut() {
            for name in ["post_processor", "decoder", "truncation", "padding"] {
                parts.remove(name);
            }
        }
        if searches_twice(&file) {
            file["normalizer"] = json!({"type": "Sequence", "normalizers": []});
        }
        if let Some(merges) = file.pointer_mut("/model/merges").and_then(Value::as_array_mut) {
            merges.iter_mut().for_each(shorten);
        }
        let tokenizer = guarded(|| fastokens::Tokenizer::from_json(file).map_err(|error| error.to_string()))??;
        Ok(Self { tokenizer, long_s: Finder::new(CONTRACTED_LONG_S) })
    }

    fn encode(&self, text: &str, out: &mut Vec<u32>) -> bool {
        if self.long_s.find(text.as_bytes()).is_some() {
            return false;
        }
        match guarded(|| self.tokenizer.encode(text)) {
            Ok(Ok(ids)) => {
                if out.is_empty() {
                    *out = ids;
                } else {
                    out.extend_from_slice(&ids);
                }
                true
            }
            Ok(Err(_)) | Err(_) => false,
        }
    }
}

/// Whether some added tokens are searched for in the raw text, others in the normalized text, and there is no normalizer. The reference
/// then still searches for the first before the others; the other reader does so only where there is a normalizer, even one that changes
/// nothing.
fn searches_twice(file: &Value) -> bool {
    let has_normalizer = file.get("normalizer").is_some_and(|normalizer| !normalizer.is_null());
    let added = || file.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
    let is_normalized = |token: &Value| token.get("normalized").and_then(Value::as_bool).unwrap_or(false);
    !has_normalizer && added().any(is_normalized) && !added().all(is_normalized)
}

/// Turns a merge written as a list of two into one text, the older form: a quarter less memory while a large file is read.
fn shorten(merge: &mut Value) {
    let Some([Value::String(left), Value::String(right)]) = merge.as_array().map(Vec::as_slice) else { return };
    if !left.contains(' ') && !right.contains(' ') {
        *merge = Value::String(format!("{left} {right}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_are_shortened_where_no_blank_is_in_the_way() {
        let mut merges = json!([["a", "b"], ["a ", "b"], ["a", " b"], "a b", ["a"], ["a", 1]]);
        merges.as_array_mut().unwrap().iter_mut().for_each(shorten);
        assert_eq!(merges, json!(["a b", ["a ", "b"], ["a", " b"], "a b", ["a"], ["a", 1]]));
    }
}
