//! Text -> ids, for one thread.

use super::bpe;
use super::sentencepiece::Scratch;
use super::tokenizer::{Engine, Tokenizer};
use gristmill_core::{ExitClass, Outcome};
use std::ops::Range;

/// A token and the part of the text that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSpan {
    /// Its id.
    pub id: u32,
    /// The part in characters, as the reference counts it: a character of several tokens belongs to each of them.
    pub chars: Range<usize>,
    /// The part in bytes.
    pub bytes: Range<usize>,
    /// The template put it there; it stands for no part of the text.
    pub is_template: bool,
}

/// The first token that stands for the character `at`, as Python's `char_to_token` finds it.
pub fn token_at_char(spans: &[TokenSpan], at: usize) -> Option<usize> {
    spans.iter().position(|span| !span.is_template && span.chars.contains(&at))
}

/// The raw ids of some texts, by their numbers. Its memory is used again.
#[derive(Debug, Default)]
pub struct Batch {
    /// One behind the other.
    ids: Vec<u32>,
    /// Where those of each end.
    ends: Vec<usize>,
    /// Texts that cannot be encoded.
    refused: Vec<usize>,
}

/// Over so many ids, memory for them is given back.
const MAX_KEPT_IDS: usize = 1 << 20;

impl Batch {
    /// The ids of a text, counted from 0; `None` where the tokenizer cannot encode it.
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

/// Encodes texts; one for each thread, with caches of its own.
pub struct Encoder {
    tokenizer: Tokenizer,
    scratch: Scratch,
    words: bpe::Scratch,
}

impl Encoder {
    pub(super) fn new(tokenizer: Tokenizer) -> Self {
        Self { tokenizer, scratch: Scratch::default(), words: bpe::Scratch::default() }
    }

    /// The same with caches that grow by at most so many bytes, which changes how fast it is and nothing else.
    #[must_use]
    pub fn within(self, bytes: usize) -> Self {
        Self { words: bpe::Scratch::within(bytes), ..self }
    }

    /// Appends the raw ids of a text to `out`: normalizer, added tokens and splitting apply; no template, truncation or padding.
    ///
    /// Fails with a data failure where the tokenizer cannot encode the text; `out` is then as it was.
    pub fn encode(&mut self, text: &str, out: &mut Vec<u32>) -> Outcome<()> {
        match self.tokenizer.engine() {
            Engine::Json(_, Some(fast)) if self.tokenizer.is_fast() && fast.encode(text, &mut self.words, out) => {
                Ok(())
            }
            Engine::Json(reference, _) => reference.encode(text, out),
            Engine::SentencePiece(model) => model.encode(text, &mut self.scratch, out),
        }
    }

    /// [`encode`](Self::encode) of several texts, which is faster than each by itself where they are short. Only what has to do with none
    /// of them is a failure.
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

    /// Whether the fast reader does the work at the moment.
    pub(super) fn is_fast(&self) -> bool {
        self.tokenizer.is_fast()
    }

    /// The raw ids by the reference, whatever the tokenizer works with at the moment.
    pub fn encode_by_reference(&mut self, text: &str, out: &mut Vec<u32>) -> Outcome<()> {
        match self.tokenizer.engine() {
            Engine::Json(reference, _) => reference.encode(text, out),
            Engine::SentencePiece(model) => model.encode(text, &mut self.scratch, out),
        }
    }

    /// The raw tokens with their places in the text, always by the reference.
    pub fn encode_spans(&mut self, text: &str) -> Outcome<Vec<TokenSpan>> {
        match self.tokenizer.engine() {
            Engine::Json(reference, _) => reference.spans(text, false),
            Engine::SentencePiece(model) => model.spans(text, &mut self.scratch),
        }
    }

    /// [`encode_spans`](Self::encode_spans) with the file's own post-processor: the template's tokens are there, and places are
    /// trimmed where it asks for that.
    pub fn encode_spans_with_template(&mut self, text: &str) -> Outcome<Vec<TokenSpan>> {
        match self.tokenizer.engine() {
            Engine::Json(reference, _) => reference.spans(text, true),
            Engine::SentencePiece(model) => model.spans(text, &mut self.scratch),
        }
    }
}

/// Keeps the number of a text that cannot be encoded; another failure stays one.
fn refused_or(encoded: Outcome<()>, number: usize, refused: &mut Vec<usize>) -> Outcome<()> {
    match encoded {
        Err(failure) if failure.class == ExitClass::Data => {
            refused.push(number);
            Ok(())
        }
        other => other,
    }
}
