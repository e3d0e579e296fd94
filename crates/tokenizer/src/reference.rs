//! The reference tokenizer: the crate that the Python package is built on, which defines the correct ids.

use super::bpe::Lists;
use super::byte_level;
use super::facts::{Padding, PaddingLength, Side, Template, Truncation};
use super::file::{File, ModelFile};
use super::lazy_reference_model::LazyReferenceModel;
use super::reference_model::{Raw, ReferenceModel};
use super::sentencepiece::byte_of;
use super::stored::StoredFields;
use super::TokenSpan;
use gristmill_core::catch_panic::catch_panic;
use gristmill_core::{Failure, Outcome};
use serde::Deserialize as _;
use serde_json::json;
use tokenizers::models::bpe::{Vocab, BPE};
use tokenizers::models::ModelWrapper;
use tokenizers::{
    AddedToken, Encoding, NormalizedString, Normalizer as _, PaddingDirection, PaddingStrategy, PostProcessor as _,
    PostProcessorWrapper, Token, TruncationDirection,
};

/// The placeholder id for the text while the template is computed. No token has it.
const TEXT: u32 = u32::MAX;

/// Names of the models that a `tokenizer.json` can contain.
const KINDS: [&str; 4] = ["BPE", "WordPiece", "WordLevel", "Unigram"];

/// Maximum number of padding tokens. More are rejected as a mistake or an attack.
const MAX_PADDING_TOKENS: usize = 1 << 24;

/// A `tokenizer.json` as parsed by the reference crate. Truncation, padding and template are removed and stored separately.
#[derive(Debug)]
pub(super) struct Reference {
    raw: Raw,
    processor: Option<PostProcessorWrapper>,
    pub(super) stored: StoredFields,
    pub(super) truncation: Option<Truncation>,
    pub(super) padding: Option<Padding>,
}

impl Reference {
    /// Parses a file. The error is the message of the reference crate. `file` and `lists` are the already parsed file and its lists, if
    /// available; without them, parsing needs much more time and memory.
    pub(super) fn parse(
        json: &[u8],
        file: Option<&File<'_>>,
        lists: Option<&Result<Lists<'_>, String>>,
    ) -> Result<Self, String> {
        let lists = lists.and_then(|lists| lists.as_ref().ok()).filter(|lists| LazyReferenceModel::is_for(lists));
        let made = file.and_then(|file| Some((guarded(|| from_parts(file, lists)).ok()??, StoredFields::of(file)?)));
        if let Some((raw, stored)) = made {
            return Self::new(raw, stored);
        }
        let stored = StoredFields::read(json);
        if let Some(kind) = stored.model.kind.as_deref().filter(|kind| !KINDS.contains(kind)) {
            return Err(format!("its model `{kind}` is unknown; known models are {}", KINDS.join(", ")));
        }
        let raw = guarded(|| Raw::from_bytes(json).map_err(|error| error.to_string()))??;
        Self::new(raw, stored)
    }

    fn new(mut raw: Raw, stored: StoredFields) -> Result<Self, String> {
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
            if fixed.max(asked.multiple_of.unwrap_or(0)) > MAX_PADDING_TOKENS {
                return Err(format!("it asks for padding to more than {MAX_PADDING_TOKENS} tokens"));
            }
        }
        if let Some(token) = guarded(|| vanishing(&raw))? {
            return Err(format!(
                "its normalizer removes the added token {token:?} completely, so encoding would not end"
            ));
        }
        raw.with_truncation(None).map_err(|error| error.to_string())?;
        raw.with_padding(None);
        let processor = raw.get_post_processor().cloned();
        raw.with_post_processor(None::<PostProcessorWrapper>);
        Ok(Self { raw, processor, stored, truncation, padding })
    }

    pub(super) fn model_word(&self) -> &'static str {
        match self.raw.get_model().complete_model() {
            None | Some(ModelWrapper::BPE(_)) => "BPE",
            Some(ModelWrapper::WordPiece(_)) => "WordPiece",
            Some(ModelWrapper::WordLevel(_)) => "WordLevel",
            Some(ModelWrapper::Unigram(_)) => "Unigram",
        }
    }

    /// Returns the tokenizer of the reference crate, with vocabulary and added tokens.
    pub(super) fn tokenizer(&self) -> &Raw {
        &self.raw
    }

    /// Returns added tokens whose id differs from the one in the file: `(spelling, id in the file, id)`.
    pub(super) fn renumbered(&self) -> impl Iterator<Item = (&str, u32, Option<u32>)> {
        self.stored.added_tokens.iter().filter_map(|token| {
            let id = self.raw.token_to_id(&token.content);
            (id != Some(token.id)).then_some((token.content.as_str(), token.id, id))
        })
    }

    /// Returns the probability with which merges are skipped, from 0 to 1; `None` if none are.
    pub(super) fn dropout(&self) -> Option<f32> {
        match self.raw.get_model().complete_model() {
            Some(ModelWrapper::BPE(model)) => model.dropout.filter(|dropout| *dropout != 0.0),
            _ => None,
        }
    }

    /// Returns the unknown token of the model; `None` if it has none.
    pub(super) fn unknown(&self) -> Option<u32> {
        use tokenizers::Model as _;
        let model = match self.raw.get_model() {
            ReferenceModel::Wordwise(model) => return model.unknown().and_then(|token| self.raw.token_to_id(token)),
            ReferenceModel::Whole(model) => model,
        };
        match &**model {
            ModelWrapper::BPE(model) => model.get_unk_token().as_deref().and_then(|token| self.raw.token_to_id(token)),
            ModelWrapper::WordPiece(model) => model.token_to_id(&model.unk_token),
            ModelWrapper::WordLevel(model) => model.token_to_id(&model.unk_token),
            ModelWrapper::Unigram(_) => self.stored.model.unk_id,
        }
    }

    /// Returns the bytes that an id represents, according to the decoder of the file; empty if the id does not exist.
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

    /// Returns the ids that the post-processor adds to a single text.
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

    /// Appends the raw ids of a text.
    pub(super) fn encode(&self, text: &str, out: &mut Vec<u32>) -> Outcome<()> {
        let encoding = self.encoded(|raw| raw.encode_fast(text, false))?;
        out.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// Returns tokens with their ranges. `with_template` adds the tokens of the template and lets the post-processor trim ranges.
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
        run: impl FnOnce(&Raw) -> Result<Encoding, Box<dyn std::error::Error + Send + Sync>>,
    ) -> Outcome<Encoding> {
        guarded(|| run(&self.raw).map_err(|error| error.to_string()))
            .and_then(|done| done)
            .map_err(|why| Failure::data("encoding the text", why))
    }
}

/// Returns an added token that the normalizer reduces to an empty string. The reference would find it everywhere, until memory is
/// exhausted.
fn vanishing(raw: &Raw) -> Option<String> {
    let normalizer = raw.get_normalizer()?;
    let is_gone = |text: &str| {
        let mut text = NormalizedString::from(text);
        normalizer.normalize(&mut text).is_ok() && text.get().is_empty()
    };
    let added = raw.get_added_tokens_decoder().into_values();
    added.filter(|token| token.normalized).map(|token| token.content).find(|text| is_gone(text))
}

/// Builds the reference tokenizer of a byte-pair file from its parts, without the copies of the long lists that its own parser makes. Uses
/// a lazy model if `lists` is given and the file permits it. Returns `None` if the parts are invalid; parsing the whole file then reports
/// the reason.
pub(super) fn from_parts(file: &File<'_>, lists: Option<&Lists<'_>>) -> Option<Raw> {
    let rest = json!({
        "version": file.version,
        "truncation": file.truncation,
        "padding": file.padding,
        "added_tokens": [],
        "normalizer": file.normalizer,
        "pre_tokenizer": file.pre_tokenizer,
        "post_processor": file.post_processor,
        "decoder": file.decoder,
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    });
    let mut tokens = Vec::with_capacity(file.added_tokens.len());
    for token in &file.added_tokens {
        u32::try_from(token.get("id")?.as_u64()?).ok()?;
        tokens.push(AddedToken::deserialize(token).ok()?);
    }
    let mut tokenizer: Raw = serde_json::from_value(rest).ok()?;
    let model = match lists.and_then(|lists| LazyReferenceModel::new(&file.model, lists)) {
        Some(model) => ReferenceModel::Wordwise(Box::new(model)),
        None => ReferenceModel::Whole(Box::new(build_model(&file.model)?.into())),
    };
    tokenizer.with_model(model);
    // Tokens are added in the same order as in the reference: after the model and the normalizer are set.
    tokenizer.add_tokens(tokens).ok()?;
    Some(tokenizer)
}

/// Builds a model of the reference crate with all lists of a file.
fn build_model(file: &ModelFile<'_>) -> Option<BPE> {
    let ModelFile { vocab, merges, .. } = file;
    let vocab: Vocab = vocab.iter().map(|(text, id)| (text.to_owned(), id)).collect();
    let merges = merges.iter().map(|(left, right)| (left.to_owned(), right.to_owned())).collect();
    let mut model = BPE::builder()
        .vocab_and_merges(vocab, merges)
        .fuse_unk(file.fuse_unk.unwrap_or(false))
        .byte_fallback(file.byte_fallback.unwrap_or(false))
        .ignore_merges(file.ignore_merges.unwrap_or(false));
    if let Some(dropout) = file.dropout {
        model = model.dropout(dropout);
    }
    if let Some(text) = &file.unk_token {
        model = model.unk_token(text.0.to_string());
    }
    if let Some(text) = &file.continuing_subword_prefix {
        model = model.continuing_subword_prefix(text.0.to_string());
    }
    if let Some(text) = &file.end_of_word_suffix {
        model = model.end_of_word_suffix(text.0.to_string());
    }
    model.build().ok()
}

/// Calls code of other crates that may panic on unexpected input. A panic is returned as an error, and ends neither the run nor the user
/// interface.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    catch_panic(work).ok_or_else(|| "the tokenizer failed on it; its file may be damaged".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::in_turn;
    use crate::tests::lists_of;

    #[test]
    fn tokenizer_assembled_from_parts_equals_the_reference() {
        for name in ["gpt2", "llama3", "qwen", "llama2", "metaspace"] {
            let path = format!("{}/../../tests/golden/tokenizers/{name}.json", env!("CARGO_MANIFEST_DIR"));
            let json = std::fs::read(path).unwrap();
            let read = tokenizers::Tokenizer::from_bytes(&json).unwrap();
            let file = File::read(&json, &in_turn).unwrap();
            let lists = lists_of(&file.model).unwrap();
            for lists in [None, Some(&lists)] {
                let made = from_parts(&file, lists).unwrap();
                match made.get_model() {
                    ReferenceModel::Whole(model) => assert!(lists.is_none() && **model == *read.get_model(), "{name}"),
                    ReferenceModel::Wordwise(_) => assert!(lists.is_some()),
                }
                assert_eq!(read.get_vocab(true), made.get_vocab(true));
                assert_eq!(read.get_added_tokens_decoder(), made.get_added_tokens_decoder());
                let parts = |normalizer, splitter, processor, decoder| json!({"normalizer": normalizer, "splitter": splitter, "processor": processor, "decoder": decoder});
                let parts_of = |raw: &tokenizers::Tokenizer| {
                    let (normalizer, splitter) = (raw.get_normalizer().cloned(), raw.get_pre_tokenizer().cloned());
                    parts(json!(normalizer), json!(splitter), json!(raw.get_post_processor()), json!(raw.get_decoder()))
                };
                let made = parts(
                    json!(made.get_normalizer()),
                    json!(made.get_pre_tokenizer()),
                    json!(made.get_post_processor()),
                    json!(made.get_decoder()),
                );
                assert_eq!(parts_of(&read), made, "{name}");
            }
            let (stored, read) = (StoredFields::of(&file).unwrap(), StoredFields::read(&json));
            assert_eq!(format!("{stored:?}"), format!("{read:?}"));
        }
    }

    #[test]
    fn unsupported_files_are_not_assembled_from_parts() {
        let file = |text: &str| {
            File::read(text.as_bytes(), &in_turn).is_some_and(|file| {
                let lists = lists_of(&file.model).ok();
                from_parts(&file, None).is_some() || from_parts(&file, lists.as_ref()).is_some()
            })
        };
        let model = r#""model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}"#;
        assert!(file(&format!(r#"{{"version":"1.0",{model}}}"#)));
        for wrong in [
            format!("{{{model}}}"),
            format!(r#"{{"version":"2.0",{model}}}"#),
            format!(r#"{{"version":"1.0","more":1,{model}}}"#),
            format!(r#"{{"version":"1.0",{model},{model}}}"#),
            format!(r#"{{"version":"1.0","added_tokens":[{{"id":7,"content":"x"}}],{model}}}"#),
            format!(r#"{{"version":"1.0","normalizer":{{"type":"Magic"}},{model}}}"#),
            format!(r#"{{"version":"1.0",{}}}"#, model.replace("a b", "b a")),
            format!(r#"{{"version":"1.0",{}}}"#, model.replace(":2", ":4294967296")),
            format!(r#"{{"version":"1.0",{}}}"#, model.replace("BPE", "WordLevel")),
        ] {
            assert!(!file(&wrong), "{wrong}");
        }
    }
}
