//! The crate behind the Python package, as the judge of what is right.

use super::byte_level;
use super::facts::{Padding, PaddingLength, Side, Template, Truncation};
use super::sentencepiece::byte_of;
use super::stored::Stored;
use super::TokenSpan;
use crate::model::{Failure, Outcome};
use std::panic::{catch_unwind, AssertUnwindSafe};
use tokenizers::models::ModelWrapper;
use tokenizers::{
    Encoding, PaddingDirection, PaddingStrategy, PostProcessor as _, PostProcessorWrapper, Token, TruncationDirection,
};

/// No token has this id: it stands for the text while the template is asked what it puts around it.
const TEXT: u32 = u32::MAX;

/// Kinds of models that a `tokenizer.json` can hold.
const KINDS: [&str; 4] = ["BPE", "WordPiece", "WordLevel", "Unigram"];

/// Padding up to more than this is a slip, or meant to harm.
const LONGEST_PADDING: usize = 1 << 24;

/// A `tokenizer.json` as the reference reads it. Truncation, padding and template are taken off and kept beside it.
#[derive(Debug)]
pub(super) struct Reference {
    raw: tokenizers::Tokenizer,
    processor: Option<PostProcessorWrapper>,
    pub(super) stored: Stored,
    pub(super) truncation: Option<Truncation>,
    pub(super) padding: Option<Padding>,
}

impl Reference {
    /// Reads the file; the reason why it cannot be used otherwise, in the reference's words.
    pub(super) fn parse(json: &[u8]) -> Result<Self, String> {
        let stored = Stored::read(json);
        if let Some(kind) = stored.model.kind.as_deref().filter(|kind| !KINDS.contains(kind)) {
            return Err(format!("its model `{kind}` is of no known kind; known are {}", KINDS.join(", ")));
        }
        let raw = guarded(|| tokenizers::Tokenizer::from_bytes(json).map_err(|error| error.to_string()))??;
        Self::new(raw, stored)
    }

    fn new(mut raw: tokenizers::Tokenizer, stored: Stored) -> Result<Self, String> {
        let truncation = raw.get_truncation().map(|stored| Truncation {
            max_length: stored.max_length,
            side: match stored.direction {
                TruncationDirection::Left => Side::Left,
                TruncationDirection::Right => Side::Right,
            },
        });
        let padding = raw.get_padding().map(|stored| Padding {
            length: match stored.strategy {
                PaddingStrategy::BatchLongest => PaddingLength::Longest,
                PaddingStrategy::Fixed(length) => PaddingLength::Fixed(length),
            },
            multiple_of: stored.pad_to_multiple_of,
            side: match stored.direction {
                PaddingDirection::Left => Side::Left,
                PaddingDirection::Right => Side::Right,
            },
            id: stored.pad_id,
        });
        if let Some(asked) = &padding {
            let fixed = if let PaddingLength::Fixed(length) = asked.length { length } else { 0 };
            if fixed.max(asked.multiple_of.unwrap_or(0)) > LONGEST_PADDING {
                return Err(format!("it asks for padding to more than {LONGEST_PADDING} tokens"));
            }
        }
        raw.with_truncation(None).map_err(|error| error.to_string())?;
        raw.with_padding(None);
        let processor = raw.get_post_processor().cloned();
        raw.with_post_processor(None::<PostProcessorWrapper>);
        Ok(Self { raw, processor, stored, truncation, padding })
    }

    pub(super) fn model_word(&self) -> &'static str {
        match self.raw.get_model() {
            ModelWrapper::BPE(_) => "BPE",
            ModelWrapper::WordPiece(_) => "WordPiece",
            ModelWrapper::WordLevel(_) => "WordLevel",
            ModelWrapper::Unigram(_) => "Unigram",
        }
    }

    /// What the reference read, for whoever asks after vocabulary and added tokens.
    pub(super) fn tokenizer(&self) -> &tokenizers::Tokenizer {
        &self.raw
    }

    /// Added tokens whose id is another than the file says: `(spelling, id in the file, id)`.
    pub(super) fn renumbered(&self) -> impl Iterator<Item = (&str, u32, Option<u32>)> {
        self.stored.added_tokens.iter().filter_map(|token| {
            let id = self.raw.token_to_id(&token.content);
            (id != Some(token.id)).then_some((token.content.as_str(), token.id, id))
        })
    }

    /// The token that stands for what the model does not know, where it has one.
    pub(super) fn unknown(&self) -> Option<u32> {
        use tokenizers::Model as _;
        match self.raw.get_model() {
            ModelWrapper::BPE(model) => model.get_unk_token().as_deref().and_then(|token| self.raw.token_to_id(token)),
            ModelWrapper::WordPiece(model) => model.token_to_id(&model.unk_token),
            ModelWrapper::WordLevel(model) => model.token_to_id(&model.unk_token),
            ModelWrapper::Unigram(_) => self.stored.model.unk_id,
        }
    }

    /// The bytes that an id stands for, by the file's decoder; empty where there is no such id.
    pub(super) fn bytes_of(&self, id: u32) -> Vec<u8> {
        let Some(token) = self.raw.id_to_token(id) else { return Vec::new() };
        let is_added = self.raw.get_added_vocabulary().get_added_tokens_decoder().contains_key(&id);
        if is_added {
            return token.into_bytes();
        }
        if self.stored.decodes_by("ByteLevel") {
            if let Some(bytes) = token.chars().map(byte_level::byte_of).collect() {
                return bytes;
            }
        }
        match byte_of(&token).filter(|_| self.stored.decodes_by("ByteFallback")) {
            Some(byte) => vec![byte],
            None => token.replace('▁', " ").into_bytes(),
        }
    }

    /// The ids that the post-processor puts around one text.
    pub(super) fn template(&self) -> Outcome<Template> {
        let Some(processor) = &self.processor else { return Ok(Template::default()) };
        let text = Encoding::from_tokens(vec![Token::new(TEXT, String::new(), (0, 0))], 0);
        let around = guarded(|| processor.process(text, None, true).map_err(|error| error.to_string()))
            .and_then(|done| done)
            .map_err(|why| Failure::data("the tokenizer's template", why))?;
        let ids = around.get_ids();
        let mut places = (0..ids.len()).filter(|at| ids[*at] == TEXT);
        match (places.next(), places.next()) {
            (Some(at), None) => Ok(Template { prefix: ids[..at].to_vec(), suffix: ids[at + 1..].to_vec() }),
            (None, _) => Err(Failure::data("the tokenizer's template", "it leaves the text itself out")),
            _ => Err(Failure::data("the tokenizer's template", "it repeats the text")),
        }
    }

    /// Raw ids of a text.
    pub(super) fn encode(&self, text: &str, out: &mut Vec<u32>) -> Outcome<()> {
        let encoding = self.encoded(|raw| raw.encode_fast(text, false))?;
        out.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// Tokens with their places; `with_template` adds the template's, and lets the post-processor trim places.
    pub(super) fn spans(&self, text: &str, with_template: bool) -> Outcome<Vec<TokenSpan>> {
        let run = |in_chars: bool| {
            self.encoded(|raw| {
                let encoding = if in_chars { raw.encode_char_offsets(text, false) } else { raw.encode(text, false) }?;
                match self.processor.as_ref().filter(|_| with_template) {
                    Some(processor) => processor.process(encoding, None, true),
                    None => Ok(encoding),
                }
            })
        };
        let (chars, bytes) = (run(true)?, run(false)?);
        let is_text = chars
            .get_special_tokens_mask()
            .iter()
            .zip(chars.get_sequence_ids())
            .map(|(special, sequence)| *special == 0 || sequence.is_some());
        let places = chars.get_offsets().iter().zip(bytes.get_offsets());
        Ok(chars
            .get_ids()
            .iter()
            .zip(places)
            .zip(is_text)
            .map(|((id, (chars, bytes)), is_text)| TokenSpan {
                id: *id,
                chars: chars.0..chars.1,
                bytes: bytes.0..bytes.1,
                is_template: !is_text,
            })
            .collect())
    }

    fn encoded(
        &self,
        run: impl FnOnce(&tokenizers::Tokenizer) -> Result<Encoding, Box<dyn std::error::Error + Send + Sync>>,
    ) -> Outcome<Encoding> {
        guarded(|| run(&self.raw).map_err(|error| error.to_string()))
            .and_then(|done| done)
            .map_err(|why| Failure::data("encoding the text", why))
    }
}

/// Readers of others may panic on what nobody thought of; that must end neither a run nor a screen.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| "the tokenizer gave up on it; its file may be damaged".to_owned())
}
