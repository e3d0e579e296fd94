//! A tokenizer that threads can share.

use super::facts::{AddedTokenFacts, Padding, Template, TokenizerFacts, TokenizerKind, Truncation};
use super::fast::FastTokenizer;
use super::foreign::{foreign_kind, other_encoding, HINT};
use super::join::{in_turn, Join2};
use super::json::{self, LoadedTokenizer};
use super::load::FileState;
use super::numbers::Numbers;
use super::reference::Reference;
use super::sentencepiece::Model;
use super::special::{make_special, SpecialTokenFinder};
use super::warnings::warnings;
use super::{adversarial, load, Encoder, Mismatch, ParityCheck};
use gristmill_core::problem::Subject;
use gristmill_core::{did_you_mean::nearest, Failure, Mutex, Outcome};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use tokenizers::AddedToken;

/// The most recently loaded tokenizer while it is in use, with the state of its file unless that was just modified. Loading takes longer
/// than packing a small file, and a front end that has examined a tokenizer passes on a plan, not the tokenizer.
static LAST: Mutex<(Weak<Inner>, Option<FileState>)> = Mutex::new((Weak::new(), None));

/// The activity in errors.
const ACTIVITY: &str = "reading the tokenizer";

/// Maximum number of vocabulary tokens that are compared with a misspelt one.
const MAX_COMPARED: u32 = 300_000;

/// A tokenizer that threads can share. Cloning is cheap.
#[derive(Clone)]
pub struct Tokenizer(Arc<Inner>);

struct Inner {
    engine: Engine,
    facts: TokenizerFacts,
    uses_reference: AtomicBool,
    /// The result of [`Tokenizer::verify_against_reference`], once it has been called.
    parity: OnceLock<Option<Mismatch>>,
    /// Ids of tokens that are special because of the plan, not because of the file.
    made_special: Vec<u32>,
}

/// The implementation for the kind of file.
pub(super) enum Engine {
    /// A `tokenizer.json`, and the fast tokenizer if there is one.
    Json(Box<Reference>, Option<Box<FastTokenizer>>),
    /// A SentencePiece model.
    SentencePiece(Box<Model>),
    /// Texts of numbers.
    Numbers(Numbers),
}

impl Inner {
    fn uses_reference(&self) -> bool {
        self.uses_reference.load(Ordering::Acquire)
    }
}

impl Tokenizer {
    /// Loads a `tokenizer.json`, a folder that contains one, a SentencePiece `.model`, or a model in the local hub cache by name
    /// (`owner/name`, or `owner/name@revision`). Never uses the network.
    ///
    /// Fails with an environment failure if the file does not exist, and with a data failure if it is unusable.
    pub fn load(named: &str) -> Outcome<Self> {
        let loaded = Self::load_unproven(named)?;
        loaded.verify_against_reference();
        Ok(loaded)
    }

    /// Like [`load`](Self::load), without the verification, which takes up to half of the time. For callers that only read facts, or call
    /// [`verify_against_reference`](Self::verify_against_reference) before they use encoded ids.
    pub fn load_unproven(named: &str) -> Outcome<Self> {
        Self::load_with(named, &in_turn)
    }

    /// Like [`load_unproven`](Self::load_unproven), but runs pairs of independent tasks with `together`.
    pub fn load_with(named: &str, together: Join2<'_>) -> Outcome<Self> {
        let seen = FileState::now(named);
        let mut last = LAST.lock();
        // A tokenizer that switched to the reference is not reused, because each run decides separately.
        let known = last.0.upgrade().filter(|known| !known.uses_reference());
        if let Some(known) = known.clone().filter(|_| seen.is_some() && seen == last.1) {
            return Ok(Self(known));
        }
        let (path, bytes) = load::read(named)?;
        let hash = blake3::hash(&bytes).to_hex();
        if let Some(known) = known.filter(|known| known.facts.hash == hash.as_str()) {
            last.1 = seen;
            return Ok(Self(known));
        }
        let loaded = Self::build(&path.to_string_lossy(), &bytes, hash.as_str(), together)?;
        *last = (Arc::downgrade(&loaded.0), seen);
        Ok(loaded)
    }

    /// Like [`load_with`](Self::load_with), but makes additional vocabulary entries special tokens, which are split off from texts.
    pub fn load_with_special(named: &str, tokens: &[String], together: Join2<'_>) -> Outcome<Self> {
        let plain = Self::load_with(named, together)?;
        let Engine::Json(reference, _) = plain.engine() else {
            return match tokens.is_empty() {
                true => Ok(plain),
                false => Err(Failure::usage(ACTIVITY, "only a tokenizer.json takes more special tokens")
                    .on(Subject::path(named))
                    .with_hint("add them to a SentencePiece model as user-defined symbols, or use its tokenizer.json")),
            };
        };
        let known = reference.tokenizer().get_added_tokens_decoder();
        let mut new = Vec::new();
        for token in tokens {
            let id = plain.expect_id(token)?;
            if !known.get(&id).is_some_and(is_plainly_special) {
                new.push((id, token.as_str()));
            }
        }
        if new.is_empty() {
            return Ok(plain);
        }
        let (path, bytes) = load::read(named)?;
        let bytes = make_special(&bytes, &new).map_err(|why| Failure::data(ACTIVITY, why).on(Subject::path(named)))?;
        let hash = blake3::hash(&bytes).to_hex();
        let is_new = |id: &u32| !known.get(id).is_some_and(|token| token.special);
        let made_special = new.iter().map(|(id, _)| *id).filter(is_new).collect();
        let inner = Self::inner(&path.to_string_lossy(), &bytes, hash.as_str(), together)?;
        Ok(Self(Arc::new(Inner { made_special, ..inner })))
    }

    /// Builds a tokenizer from the bytes of a file; `name` is used in messages.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Outcome<Self> {
        let made = Self::build(name, bytes, &blake3::hash(bytes).to_hex(), &in_turn)?;
        made.verify_against_reference();
        Ok(made)
    }

    fn build(name: &str, bytes: &[u8], hash: &str, together: Join2<'_>) -> Outcome<Self> {
        Self::inner(name, bytes, hash, together).map(|inner| Self(Arc::new(inner)))
    }

    fn inner(name: &str, bytes: &[u8], hash: &str, together: Join2<'_>) -> Outcome<Inner> {
        let broken = |why: String| {
            let (why, hint) = match foreign_kind(bytes) {
                Some(kind) => (format!("it is {kind}; such files are not read"), HINT),
                None => (why, "what is read are tokenizer.json files and SentencePiece .model files"),
            };
            Failure::data(ACTIVITY, why).on(Subject::path(name)).with_hint(hint)
        };
        if bytes.is_empty() {
            return Err(broken("the file is empty".into()));
        }
        if let Some(why) = other_encoding(bytes) {
            let failure = Failure::data(ACTIVITY, why).on(Subject::path(name));
            return Err(failure.with_hint("save it as UTF-8 without a byte order mark"));
        }
        let is_json = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
        let (engine, facts) = if let Some(numbers) = Numbers::parse(bytes) {
            let numbers = numbers.map_err(|why| Failure::usage(ACTIVITY, why).on(Subject::path(name)))?;
            (Engine::Numbers(numbers), numbers.facts(hash.to_owned()))
        } else if is_json {
            let LoadedTokenizer { reference, fast, greatest_id } = json::build(bytes, together).map_err(broken)?;
            let mut facts = facts_of(&reference, greatest_id, hash.to_owned());
            facts.is_fast = fast.is_ok();
            facts.slow_because = fast.as_ref().err().cloned();
            (Engine::Json(Box::new(reference), fast.ok().map(Box::new)), facts)
        } else {
            let model = Model::parse(bytes).map_err(broken)?;
            let facts = facts_of_model(&model, hash.to_owned());
            (Engine::SentencePiece(Box::new(model)), facts)
        };
        let (uses_reference, proof, made_special) = (AtomicBool::new(false), OnceLock::new(), Vec::new());
        Ok(Inner { engine, facts, uses_reference, parity: proof, made_special })
    }

    /// Returns the kind of the file.
    pub fn kind(&self) -> TokenizerKind {
        self.0.facts.kind
    }

    /// Returns the facts of the file. [`TokenizerFacts::is_fast`] is the current state.
    pub fn facts(&self) -> TokenizerFacts {
        let facts = self.0.facts.clone();
        let found = self.0.parity.get().and_then(Option::as_ref);
        let slow_because = facts.slow_because.or_else(|| found.map(Mismatch::to_string));
        TokenizerFacts { is_fast: self.is_fast(), slow_because, ..facts }
    }

    /// Returns the first difference between the fast tokenizer and the reference on adversarial texts. If there is one, the reference is
    /// used from then on. The comparison is made only once, in the first call.
    pub fn verify_against_reference(&self) -> Option<&Mismatch> {
        let compare = || {
            let found = self.first_mismatch()?;
            self.use_reference();
            Some(found)
        };
        self.0.parity.get_or_init(compare).as_ref()
    }

    fn first_mismatch(&self) -> Option<Mismatch> {
        if !self.is_fast() {
            return None;
        }
        let spellings: Vec<&str> = self.0.facts.added.iter().map(|token| token.text.as_str()).collect();
        let (mut encoder, mut guard, mut ids) = (self.encoder(), self.guard(), Vec::new());
        adversarial::texts(&spellings).iter().find_map(|text| {
            ids.clear();
            // A text that cannot be encoded is not compared.
            encoder.encode(text, &mut ids).and_then(|()| guard.check(text, &ids)).ok()?
        })
    }

    /// Whether the fast tokenizer is currently used.
    pub fn is_fast(&self) -> bool {
        self.0.facts.is_fast && !self.0.uses_reference()
    }

    /// Switches every encoder of this tokenizer to the reference.
    pub fn use_reference(&self) {
        self.0.uses_reference.store(true, Ordering::Release);
    }

    /// Returns the number of tokens of the model itself.
    pub fn base_size(&self) -> u64 {
        self.0.facts.base_size
    }

    /// Returns the number of distinct tokens, including added tokens.
    pub fn full_size(&self) -> u64 {
        self.0.facts.full_size
    }

    /// Returns the id of a token by its spelling. Added tokens take precedence.
    pub fn id_of(&self, token: &str) -> Option<u32> {
        match self.engine() {
            Engine::Json(reference, _) => reference.tokenizer().token_to_id(token),
            Engine::SentencePiece(model) => model.id_of(token),
            Engine::Numbers(numbers) => numbers.id_of(token),
        }
    }

    /// Like [`id_of`](Self::id_of), but a missing token is a usage failure whose hint names the most similar token.
    pub fn expect_id(&self, token: &str) -> Outcome<u32> {
        self.id_of(token).ok_or_else(|| {
            let failure =
                Failure::usage("looking up a token", format!("`{token}` is not in the tokenizer's vocabulary"));
            match self.like(token) {
                Some(near) => failure.with_hint(format!("did you mean `{near}`?")),
                None => failure,
            }
        })
    }

    /// Returns the added token most similar to this spelling, or else the most similar one in the vocabulary. Searches only the first
    /// [`MAX_COMPARED`] ids.
    fn like(&self, token: &str) -> Option<String> {
        let near = nearest(token, self.0.facts.added.iter().map(|added| added.text.as_str()));
        near.map(str::to_owned).or_else(|| {
            let all: Vec<String> =
                (0..=self.0.facts.greatest_id.min(MAX_COMPARED)).filter_map(|id| self.token_of(id)).collect();
            nearest(token, all.iter().map(String::as_str)).map(str::to_owned)
        })
    }

    /// Returns the spelling of a token in the vocabulary, with bytes and spaces still in their encoded form.
    pub fn token_of(&self, id: u32) -> Option<String> {
        match self.engine() {
            Engine::Json(reference, _) => reference.tokenizer().id_to_token(id),
            Engine::SentencePiece(model) => model.piece(id).map(str::to_owned),
            Engine::Numbers(numbers) => numbers.token_of(id),
        }
    }

    /// Returns the unknown token of the model.
    pub fn unknown(&self) -> Option<u32> {
        match self.engine() {
            Engine::Json(reference, _) => reference.unknown(),
            Engine::SentencePiece(model) => Some(model.unknown()),
            Engine::Numbers(_) => None,
        }
    }

    /// Returns the ids that the post-processor of the file adds to a single text.
    pub fn template(&self) -> Outcome<Template> {
        match self.engine() {
            Engine::Json(reference, _) => reference.template(),
            Engine::SentencePiece(_) | Engine::Numbers(_) => Ok(Template::default()),
        }
    }

    /// Returns the truncation stored in the file.
    pub fn truncation(&self) -> Option<Truncation> {
        match self.engine() {
            Engine::Json(reference, _) => reference.truncation,
            Engine::SentencePiece(_) | Engine::Numbers(_) => None,
        }
    }

    /// Returns the padding stored in the file.
    pub fn padding(&self) -> Option<Padding> {
        match self.engine() {
            Engine::Json(reference, _) => reference.padding,
            Engine::SentencePiece(_) | Engine::Numbers(_) => None,
        }
    }

    /// Returns an encoder for one thread.
    pub fn encoder(&self) -> Encoder {
        Encoder::new(self.clone())
    }

    /// Returns a finder for special tokens of the file that are written in a text. Tokens that only a plan makes special are ignored,
    /// because they are used intentionally.
    pub fn special_token_finder(&self) -> SpecialTokenFinder {
        let Inner { facts, made_special, .. } = &*self.0;
        // Control pieces of SentencePiece are never matched in a text.
        let is_found =
            |token: &&AddedTokenFacts| facts.kind == TokenizerKind::Json && !made_special.contains(&token.id);
        SpecialTokenFinder::new(facts.added.iter().filter(is_found), facts.has_normalizer)
    }

    /// Returns a parity check for one thread.
    pub fn guard(&self) -> ParityCheck {
        ParityCheck::new(self)
    }

    /// Returns the text of these ids for display: control tokens are shown by name, unknown ids are omitted, and invalid characters are
    /// replaced.
    pub fn decode(&self, ids: &[u32]) -> String {
        match self.engine() {
            Engine::Json(reference, _) => reference.tokenizer().decode(ids, false).unwrap_or_default(),
            Engine::SentencePiece(model) => model.decode(ids),
            Engine::Numbers(numbers) => numbers.decode(ids),
        }
    }

    /// Returns the bytes that one id represents; empty if the id does not exist. A number includes the space after it.
    pub fn piece(&self, id: u32) -> Vec<u8> {
        match self.engine() {
            Engine::Json(reference, _) => reference.bytes_of(id),
            Engine::SentencePiece(model) => model.bytes_of(id),
            Engine::Numbers(numbers) => numbers.piece(id),
        }
    }

    pub(super) fn engine(&self) -> &Engine {
        &self.0.engine
    }
}

/// Whether a token already has the properties that the reference gives special tokens.
fn is_plainly_special(token: &AddedToken) -> bool {
    token.special && !(token.single_word || token.lstrip || token.rstrip || token.normalized)
}

fn facts_of(reference: &Reference, greatest_id: u32, hash: String) -> TokenizerFacts {
    let tokenizer = reference.tokenizer();
    let mut added: Vec<AddedTokenFacts> = tokenizer
        .get_added_tokens_decoder()
        .into_iter()
        .map(|(id, token)| AddedTokenFacts { id, text: token.content, is_special: token.special })
        .collect();
    added.sort_by_key(|token| token.id);
    TokenizerFacts {
        kind: TokenizerKind::Json,
        model: reference.model_word(),
        base_size: tokenizer.get_vocab_size(false) as u64,
        full_size: tokenizer.get_vocab_size(true) as u64,
        greatest_id,
        warnings: warnings(reference, &added, greatest_id),
        added,
        has_normalizer: tokenizer.get_normalizer().is_some(),
        has_template: reference.template().is_ok_and(|template| !template.is_empty()),
        has_truncation: reference.truncation.is_some(),
        has_padding: reference.padding.is_some(),
        is_fast: false,
        slow_because: None,
        hash,
    }
}

fn facts_of_model(model: &Model, hash: String) -> TokenizerFacts {
    let facts = TokenizerFacts::of_model(TokenizerKind::SentencePiece, model.word(), model.size() as u64, hash);
    TokenizerFacts { added: model.added(), has_normalizer: model.has_rules(), ..facts }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tokenizer of four words, with an end token that the template appends.
    const WORDS: &str = r#"{"version":"1.0","truncation":null,"padding":null,
        "added_tokens":[{"id":3,"content":"<|end|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
        "normalizer":null,"pre_tokenizer":{"type":"WhitespaceSplit"},
        "post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"<|end|>","type_id":0}}],
        "pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":0}}],
        "special_tokens":{"<|end|>":{"id":"<|end|>","ids":[3],"tokens":["<|end|>"]}}},
        "decoder":null,"model":{"type":"WordLevel","vocab":{"a":0,"b":1,"?":2,"<|end|>":3},"unk_token":"?"}}"#;

    #[test]
    fn raw_ids_exclude_the_template() {
        let tokenizer = Tokenizer::from_bytes("words.json", WORDS.as_bytes()).unwrap();
        let mut ids = Vec::new();
        tokenizer.encoder().encode("b <|end|> zebra a", &mut ids).unwrap();
        assert_eq!(ids, [1, 3, 2, 0]);
        assert_eq!(tokenizer.template().unwrap(), Template { prefix: vec![], suffix: vec![3] });
        assert_eq!((tokenizer.base_size(), tokenizer.full_size(), tokenizer.unknown()), (4, 4, Some(2)));
        let spans = tokenizer.encoder().encode_spans_with_template("é b").unwrap();
        let found: Vec<_> = spans.iter().map(|s| (s.id, s.chars.clone(), s.bytes.clone(), s.is_template)).collect();
        assert_eq!(found, [(2, 0..1, 0..2, false), (1, 2..3, 3..4, false), (3, 0..0, 0..0, true)]);
    }

    #[test]
    fn tokenizer_in_use_is_shared_unless_its_file_changed_or_it_uses_the_reference() {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().join("words.json");
        let put = |text: &str| {
            #[allow(clippy::disallowed_methods)]
            std::fs::write(&path, text).unwrap();
        };
        let load = || Tokenizer::load(path.to_str().unwrap()).unwrap();
        // Other tests may load their tokenizers in between and replace the most recent one.
        let is_shared = || {
            let held = load();
            Arc::ptr_eq(&held.0, &load().0)
        };
        put(WORDS);
        let first = load();
        put(&WORDS.replace("\"b\":1", "\"c\":1"));
        let second = load();
        assert!(!Arc::ptr_eq(&first.0, &second.0));
        assert_eq!((first.id_of("b"), second.id_of("b")), (Some(1), None));
        assert!((0..1_000).any(|_| is_shared()));
        let held = load();
        held.use_reference();
        assert!((0..100).all(|_| !Arc::ptr_eq(&load().0, &held.0)));
    }

    #[test]
    fn tokenizer_with_dropout_is_reported_and_read_by_the_reference() {
        let path = format!("{}/../../tests/golden/tokenizers/gpt2.json", env!("CARGO_MANIFEST_DIR"));
        let mut file: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        for (dropout, is_reported) in [(0.5, true), (0.001, true), (0.0, false)] {
            file["model"]["dropout"] = dropout.into();
            let tokenizer = Tokenizer::from_bytes("d.json", &serde_json::to_vec(&file).unwrap()).unwrap();
            let facts = tokenizer.facts();
            let reported = facts.warnings.iter().any(|warning| warning.contains("drops merges at random"));
            assert_eq!((reported, facts.is_fast), (is_reported, !is_reported), "{dropout}: {:?}", facts.slow_because);
        }
    }

    #[test]
    fn a_file_in_another_encoding_is_reported_as_such() {
        let wide: Vec<u8> = WORDS.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [&[0xff, 0xfe], wide.as_slice()].concat();
        let bom = [b"\xef\xbb\xbf", WORDS.as_bytes()].concat();
        for (bytes, why) in [(wide, "UTF-16"), (marked, "UTF-16"), (bom, "byte order mark")] {
            let failure = Tokenizer::from_bytes("w.json", &bytes).err().unwrap();
            assert!(failure.why.contains(why) && failure.hint.unwrap().contains("save it as UTF-8"));
        }
    }

    #[test]
    fn unknown_token_is_refused_with_the_nearest_token() {
        let tokenizer = Tokenizer::from_bytes("words.json", WORDS.as_bytes()).unwrap();
        assert_eq!(tokenizer.expect_id("<|end|>").unwrap(), 3);
        let failure = tokenizer.expect_id("<|edn|>").unwrap_err();
        assert_eq!(failure.hint.as_deref(), Some("did you mean `<|end|>`?"));
    }
}
