//! Readers of byte-pair tokenizers that are faster than the reference.

use super::bpe::{Bpe, Scratch, Tables};
use super::reference::{guarded, Reference};
use gristmill_core::Outcome;
use memchr::memmem::Finder;
use serde_json::{json, Value};

/// Above this id the other reader's tables, which have a place for every id, would be far larger than the vocabulary.
const GREATEST_ID: u32 = 1 << 22;

/// An apostrophe and a long s: a contraction to patterns that ignore case, which the other reader's scanners leave out.
const CONTRACTED_LONG_S: &str = "'ſ";

/// Of a text with this in it the fast reader gives wrong ids, so that tests can see what comes of it.
#[cfg(any(test, feature = "testing"))]
pub const DIFFERS: &str = "\u{e000}the fast reader differs here\u{e000}";

/// A tokenizer as a fast reader has it: raw ids only.
pub(super) enum Fast {
    /// Read by code of our own.
    Own(Box<Bpe>),
    /// Read by a crate that knows more ways of splitting, takes longer to load, and more memory for each thread.
    Other(Box<Other>),
}

/// A tokenizer as the crate has it.
pub(super) struct Other {
    tokenizer: fastokens::Tokenizer,
    long_s: Finder<'static>,
}

impl Fast {
    /// Reads the same file, of which our own tables may have been made; why no fast reader can do it, otherwise.
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
            Err(why) => match Other::parse(json, reference, greatest_id) {
                Ok(other) => Ok(Self::Other(Box::new(other))),
                Err(other) => Err(format!("{why}; {other}")),
            },
        }
    }

    /// Appends the raw ids of a text; `false` where the fast reader gave up on it, `out` being as it was.
    pub(super) fn encode(&self, text: &str, scratch: &mut Scratch, out: &mut Vec<u32>) -> bool {
        #[cfg(any(test, feature = "testing"))]
        let before = out.len();
        let is_done = match self {
            Self::Own(own) => own.encode(text, scratch, out),
            Self::Other(other) => other.encode(text, out),
        };
        #[cfg(any(test, feature = "testing"))]
        if text.contains(DIFFERS) {
            out[before..].reverse();
        }
        is_done
    }

    /// The raw ids of some texts at once, and where those of each end; `others` reads those of which the fast reader gives up. `false`
    /// where it takes texts only one by one; what is in `ids` and `ends` then means nothing.
    pub(super) fn encode_all(
        &self,
        texts: &[&str],
        scratch: &mut Scratch,
        mut others: impl FnMut(usize, &mut Vec<u32>) -> Outcome<()>,
        (ids, ends): (&mut Vec<u32>, &mut Vec<usize>),
    ) -> Outcome<bool> {
        let Self::Own(own) = self else { return Ok(false) };
        #[cfg(any(test, feature = "testing"))]
        if texts.iter().any(|text| text.contains(DIFFERS)) {
            return Ok(false);
        }
        scratch.begin();
        for (number, text) in texts.iter().enumerate() {
            if !own.put(text, scratch) {
                let mut alone = Vec::new();
                others(number, &mut alone)?;
                scratch.put_ids(&alone);
            }
        }
        Ok(own.finish(scratch, ids, ends))
    }
}

impl Other {
    fn parse(json: &[u8], reference: &Reference, greatest_id: u32) -> Result<Self, String> {
        if greatest_id > GREATEST_ID {
            return Err(format!("its ids go up to {greatest_id}"));
        }
        // The reference gives added tokens ids in its own order; this reader takes those that the file says.
        if reference.renumbered().next().is_some() {
            return Err("its added tokens have other ids than the file says".into());
        }
        let mut file: Value = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        // Only raw ids are wanted, so that what this reader does not know of these parts is no hindrance.
        if let Some(parts) = file.as_object_mut() {
            for name in ["post_processor", "decoder", "truncation", "padding"] {
                parts.remove(name);
            }
        }
        if looks_twice(&file) {
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

/// Whether some added tokens are looked for in the text as it is, others in what a normalizer makes of it, and there is none. The
/// reference then still looks for the first before the others; the other reader does so only where there is a normalizer, if one that
/// changes nothing.
fn looks_twice(file: &Value) -> bool {
    let has_normalizer = file.get("normalizer").is_some_and(|normalizer| !normalizer.is_null());
    let added = || file.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
    let is_normalized = |token: &Value| token.get("normalized").and_then(Value::as_bool).unwrap_or(false);
    !has_normalizer && added().any(is_normalized) && !added().all(is_normalized)
}

/// A merge written as a list of two becomes one text, the older way of writing it: a quarter less memory while a large file is read.
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
