//! Fast tokenizers for byte-pair files.

use super::bpe::{Bpe, Scratch, Tables};
use super::reference::{guarded, Reference};
use gristmill_core::Outcome;
use memchr::memmem::Finder;
use serde_json::{json, Value};

/// Maximum id for the `fastokens` crate. Its tables have a slot for every id and would be far larger than the vocabulary.
const GREATEST_ID: u32 = 1 << 22;

/// An apostrophe and a long s. Patterns that ignore case treat it as a contraction, but the scanners of the `fastokens` crate do not.
const CONTRACTED_LONG_S: &str = "'ſ";

/// For a text that contains this mark, the fast tokenizer returns wrong ids, for tests of the consequences.
#[cfg(any(test, feature = "testing"))]
pub const DIFFERENCE_MARK: &str = "\u{e000}the fast reader differs here\u{e000}";

/// A fast tokenizer, which computes raw ids only.
pub(super) enum FastTokenizer {
    /// The implementation in [`bpe`](super::bpe).
    Own(Box<Bpe>),
    /// The `fastokens` crate, which accepts more pre-tokenizers, but takes longer to load and needs more memory per thread.
    Other(Box<FastokensTokenizer>),
}

/// A tokenizer of the `fastokens` crate.
pub(super) struct FastokensTokenizer {
    tokenizer: fastokens::Tokenizer,
    long_s: Finder<'static>,
}

impl FastTokenizer {
    /// Returns the fast tokenizer for a file, using the tables of [`bpe`](super::bpe) if they were built. The error is the reason why no
    /// fast tokenizer accepts the file.
    pub(super) fn parse(
        json: &[u8],
        tables: Result<Tables, String>,
        reference: &Reference,
        greatest_id: u32,
    ) -> Result<Self, String> {
        if reference.dropout().is_some() {
            return Err("it drops merges at random".into());
        }
        let raw = reference.tokenizer();
        match tables.and_then(|tables| Bpe::new(tables, raw.get_added_vocabulary(), raw.get_normalizer())) {
            Ok(own) => Ok(Self::Own(Box::new(own))),
            Err(why) => match FastokensTokenizer::parse(json, reference, greatest_id) {
                Ok(other) => Ok(Self::Other(Box::new(other))),
                Err(other) => Err(format!("{why}; {other}")),
            },
        }
    }

    /// Appends the raw ids of a text. Returns `false` without changing `out` if the fast tokenizer cannot encode the text.
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

    /// Encodes several texts into raw ids, and stores the end of each text's ids. `others` encodes the texts that the fast tokenizer
    /// cannot. Returns `false` if this tokenizer encodes texts only one by one; the contents of `ids` and `ends` are then undefined.
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
        // The reference assigns ids to added tokens in its own order, but `fastokens` uses the ids in the file.
        if reference.renumbered().next().is_some() {
            return Err("its added tokens have other ids than the file says".into());
        }
        let mut file: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        // Only raw ids are needed, so unsupported other parts are removed.
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

/// Whether there is no normalizer, and some added tokens are searched for in the raw text and others in the normalized text. The reference
/// always searches for the former first; `fastokens` does so only if there is a normalizer, even one without effect.
fn searches_twice(file: &Value) -> bool {
    let has_normalizer = file.get("normalizer").is_some_and(|normalizer| !normalizer.is_null());
    let added = || file.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
    let is_normalized = |token: &Value| token.get("normalized").and_then(Value::as_bool).unwrap_or(false);
    !has_normalizer && added().any(is_normalized) && !added().all(is_normalized)
}

/// Converts a merge from a list of two strings to the older form of one string, which needs a quarter less memory while a large file is
/// parsed.
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
    fn merge_pairs_without_blanks_are_shortened_to_lines() {
        let mut merges = json!([["a", "b"], ["a ", "b"], ["a", " b"], "a b", ["a"], ["a", 1]]);
        merges.as_array_mut().unwrap().iter_mut().for_each(shorten);
        assert_eq!(merges, json!(["a b", ["a ", "b"], ["a", " b"], "a b", ["a"], ["a", 1]]));
    }
}
