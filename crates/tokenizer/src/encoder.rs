//! Encodes text into ids, for one thread.

use super::bpe;
use super::sentencepiece::Scratch;
use super::tokenizer::{Engine, Tokenizer};
use gristmill_core::{ExitClass, Outcome};
use std::ops::Range;

/// A token and the part of the text that it represents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSpan {
    /// Id of the token.
    pub id: u32,
    /// Range in characters, as counted by the reference tokenizer: if a character consists of several tokens, all of them contain it.
    pub chars: Range<usize>,
    /// Range in bytes.
    pub bytes: Range<usize>,
    /// Whether the template added the token; it then represents no part of the text.
    pub is_template: bool,
}

/// Returns the index of the first token that represents the character `at`, as Python's `char_to_token` finds it.
pub fn token_at_char(spans: &[TokenSpan], at: usize) -> Option<usize> {
    spans.iter().position(|span| !span.is_template && span.chars.contains(&at))
}

/// The raw ids of several texts. Its memory is reused.
#[derive(Debug, Default)]
pub struct Batch {
    /// The ids of all texts, concatenated.
    ids: Vec<u32>,
    /// The end of the ids of each text.
    ends: Vec<usize>,
    /// Indexes of the texts that cannot be encoded.
    refused: Vec<usize>,
}

/// Number of ids above which the memory is freed.
const MAX_KEPT_IDS: usize = 1 << 20;

impl Batch {
    /// Returns the ids of the text with this index; `None` if the tokenizer cannot encode it.
    pub fn ids(&self, number: usize) -> Option<&[u32]> {
        let from = number.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before))?;
        let ids = self.ids.get(*from..*self.ends.get(number)?)?;
        (!self.refused.contains(&number)).then_some(ids)
    }

    fn clear(&mut self) {
        self.ids.clear();
        self.ends.clear();
        self.refused.clear();
    }
}

/// Encodes texts; each thread has an encoder with its own caches.
pub struct Encoder {
    tokenizer: Tokenizer,
    scratch: Scratch,
    words: bpe::Scratch,
}

impl Encoder {
    pub(super) fn new(tokenizer: Tokenizer) -> Self {
        Self { tokenizer, scratch: Scratch::default(), words: bpe::Scratch::default() }
    }

    /// Limits the growth of the caches to `bytes` bytes, which affects only the speed.
    #[must_use]
    pub fn with_cache_bytes(self, bytes: usize) -> Self {
        Self { words: bpe::Scratch::with_cache_bytes(bytes), ..self }
    }

    /// Appends the raw ids of a text to `out`. Applies the normalizer, the added tokens and the pre-tokenizer, but no template, truncation
    /// or padding.
    ///
    /// Fails with a data failure if the tokenizer cannot encode the text; `out` is then unchanged.
    pub fn encode(&mut self, text: &str, out: &mut Vec<u32>) -> Outcome<()> {
        match self.tokenizer.engine() {
            Engine::Json(_, Some(fast)) if self.tokenizer.is_fast() && fast.encode(text, &mut self.words, out) => {
                Ok(())
            }
            Engine::Json(reference, _) => reference.encode(text, out),
            Engine::SentencePiece(model) => model.encode(text, &mut self.scratch, out),
            Engine::Numbers(numbers) => numbers.encode(text, out),
        }
    }

    /// Encodes several texts like [`encode`](Self::encode), which is faster for short texts than separate calls. A text that cannot be
    /// encoded is recorded in `out`; only an error that concerns none of the texts is returned.
    pub fn encode_all(&mut self, texts: &[&str], out: &mut Batch) -> Outcome<()> {
        if out.ids.len() > MAX_KEPT_IDS {
            out.ids = Vec::new();
        }
        out.refused.clear();
        if let Engine::Json(reference, Some(fast)) = self.tokenizer.engine() {
            let Batch { ids, ends, refused } = &mut *out;
            let others = |number: usize, ids: &mut Vec<u32>| {
                let text = texts.get(number).copied().unwrap_or_default();
                refused_or(reference.encode(text, ids), number, refused)
            };
            if self.tokenizer.is_fast() && fast.encode_all(texts, &mut self.words, others, (ids, ends))? {
                return Ok(());
            }
        }
        out.clear();
        for (number, text) in texts.iter().enumerate() {
            refused_or(self.encode(text, &mut out.ids), number, &mut out.refused)?;
            out.ends.push(out.ids.len());
        }
        Ok(())
    }

    /// Whether the fast tokenizer is currently used.
    pub(super) fn is_fast(&self) -> bool {
        self.tokenizer.is_fast()
    }

    /// Appends the raw ids computed by the reference tokenizer, even while the fast tokenizer is used.
    pub fn encode_by_reference(&mut self, text: &str, out: &mut Vec<u32>) -> Outcome<()> {
        match self.tokenizer.engine() {
            Engine::Json(reference, _) => reference.encode(text, out),
            Engine::SentencePiece(model) => model.encode(text, &mut self.scratch, out),
            Engine::Numbers(numbers) => numbers.encode(text, out),
        }
    }

    /// Returns the raw tokens with their ranges in the text. Always uses the reference tokenizer.
    pub fn encode_spans(&mut self, text: &str) -> Outcome<Vec<TokenSpan>> {
        match self.tokenizer.engine() {
            Engine::Json(reference, _) => reference.spans(text, false),
            Engine::SentencePiece(model) => model.spans(text, &mut self.scratch),
            Engine::Numbers(numbers) => numbers.spans(text),
        }
    }

    /// Like [`encode_spans`](Self::encode_spans), with the post-processor of the file: includes the tokens of the template, and trims
    /// ranges if the file requests it.
    pub fn encode_spans_with_template(&mut self, text: &str) -> Outcome<Vec<TokenSpan>> {
        match self.tokenizer.engine() {
            Engine::Json(reference, _) => reference.spans(text, true),
            Engine::SentencePiece(model) => model.spans(text, &mut self.scratch),
            Engine::Numbers(numbers) => numbers.spans(text),
        }
    }
}

/// Records the index of a text that cannot be encoded. Returns other failures.
fn refused_or(encoded: Outcome<()>, number: usize, refused: &mut Vec<usize>) -> Outcome<()> {
    match encoded {
        Err(failure) if failure.class == ExitClass::Data => {
            refused.push(number);
            Ok(())
        }
        other => other,
    }
}
