//! A byte-pair model for the reference tokenizer that is built for the words of each text.
//!
//! Building the maps of a large vocabulary takes the reference longer than all other steps, but comparing some texts needs few of their
//! entries. To merge a word, it looks up characters and adjacent pairs of the word, so tokens whose spelling is not part of the word have
//! no effect. A model of the reference is therefore built from the tokens that occur in the words, with their ids, and the merges that
//! produce them, in order. The result for a word depends only on these, so it is cached. If many words are looked up, the whole model is
//! built.

use super::bpe::{of_bytes, Index, Lists, Merge};
use super::file::ModelFile;
use gristmill_core::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;
use tokenizers::models::bpe::BPE;
use tokenizers::{Model, OffsetReferential, OffsetType, PreTokenizedString, Result, Token, TruncationDirection};

/// Number of tokens and merges below which the whole model is built at once, because that takes no longer than the words of some texts.
const SMALL_VOCABULARY: usize = 50_000;

/// Building the whole model takes about as long as building one model of a word for each group of this many tokens and merges. The whole
/// model is built after one word per group.
const ENTRIES_PER_WORD_MODEL: usize = 12;

/// Maximum length of a word in bytes; longer words use the whole model.
const MAX_WORD_BYTES: usize = 1 << 14;

/// Maximum length of a token in bytes; with longer tokens, finding all tokens of a word would be slow.
const MAX_TOKEN_BYTES: usize = 512;

/// Length in characters at which prefixes are checked for the first time: whether any token starts with a text is checked at this length,
/// twice, four times this length and so on.
const MIN_PREFIX_CHARS: usize = 4;

/// Maximum number of cached words, the default of the reference; and maximum length of a cached word, in bytes.
const MAX_REMEMBERED_WORDS: usize = 10_000;
const MAX_REMEMBERED_BYTES: usize = 256;

/// Number of parts of words that are looked up together.
const AT_ONCE: usize = 128;

/// Marks a missing id.
const NONE: u32 = u32::MAX;

/// A vocabulary and its merges.
#[derive(Debug)]
pub(super) struct LazyReferenceModel {
    /// All spellings, concatenated.
    spelled: String,
    tokens: Vec<TokenSpelling>,
    index: Index,
    /// Token numbers by id; [`NONE`] for unused ids.
    by_id: Vec<u32>,
    /// The two tokens of each merge, in the order of the merges.
    merges: Vec<[u32; 2]>,
    /// The merges that produce each token, concatenated in the order of the tokens.
    makers: Vec<u32>,
    /// Filters for the spellings of tokens, and for the prefixes of longer tokens at the checked lengths.
    spellings: Filter,
    beginnings: Filter,
    longest: usize,
    rules: Rules,
    /// Number of words for which separate models may still be built.
    words: AtomicUsize,
    /// The tokens of words, until the whole model is built.
    known: Mutex<HashMap<String, Vec<Token>>>,
    whole: OnceLock<std::result::Result<BPE, String>>,
}

/// The end of a token's spelling, its id, and the end of the merges that produce it.
#[derive(Clone, Copy, Debug)]
struct TokenSpelling {
    end: u32,
    id: u32,
    makers: u32,
}

/// The settings of the model, without its lists.
#[derive(Debug)]
struct Rules {
    unknown: Option<String>,
    fuses: bool,
    falls_back: bool,
    takes_whole: bool,
}

/// A set filter with false positives but no false negatives. Unlike the tokens, it fits into the processor cache.
#[derive(Debug)]
struct Filter(Vec<u64>);

/// The hash of a text, updated for each character.
#[derive(Clone, Copy, Debug, Default)]
struct TextHash {
    hash: u64,
    /// Length in characters.
    length: usize,
}

impl LazyReferenceModel {
    /// Whether the lists are long enough for separate models to be faster.
    pub(super) fn is_for(lists: &Lists<'_>) -> bool {
        lists.vocabulary.count() + lists.merges.len() >= SMALL_VOCABULARY
    }

    /// Builds the lazy model from a file and its lists. Returns `None` if the file has settings that cannot be applied word by word.
    pub(super) fn new(file: &ModelFile<'_>, lists: &Lists<'_>) -> Option<Self> {
        if file.dropout.is_some() || file.continuing_subword_prefix.is_some() || file.end_of_word_suffix.is_some() {
            return None;
        }
        let all = &file.vocab;
        let longest = all.lengths().max()?;
        if longest > MAX_TOKEN_BYTES {
            return None;
        }
        let greatest = all.ids().max()? as usize;
        let mut spelled = String::with_capacity(all.lengths().sum());
        let (mut by_id, mut tokens) = (vec![NONE; greatest + 1], Vec::with_capacity(all.len()));
        let (mut spellings, mut beginnings) = (Filter::new(all.len()), Filter::new(all.len()));
        for ((text, id), number) in all.iter().zip(0..) {
            spelled.push_str(text);
            tokens.push(TokenSpelling { end: spelled.len() as u32, id, makers: 0 });
            *by_id.get_mut(id as usize)? = number;
            let mut mark = TextHash::default();
            for character in text.chars() {
                if mark.needs_reference() {
                    beginnings.add(mark);
                }
                mark.add(character);
            }
            spellings.add(mark);
        }
        let number = |id: u32| by_id.get(id as usize).copied().filter(|number| *number != NONE);
        let mut merges = Vec::with_capacity(lists.merges.len());
        for Merge { left, right, product } in &lists.merges {
            merges.push([number(*left)?, number(*right)?]);
            tokens.get_mut(number(*product)? as usize)?.makers += 1;
        }
        // The number of merges of each token is replaced by their start, which advances to their end as merges are added.
        let mut before = 0;
        for token in &mut tokens {
            before += std::mem::replace(&mut token.makers, before);
        }
        let mut makers = vec![0; merges.len()];
        for (merge, rank) in lists.merges.iter().zip(0..) {
            let token = tokens.get_mut(number(merge.product)? as usize)?;
            *makers.get_mut(token.makers as usize)? = rank;
            token.makers += 1;
        }
        let rules = Rules {
            unknown: file.unk_token.as_ref().map(|text| text.0.to_string()),
            fuses: file.fuse_unk.unwrap_or(false),
            falls_back: file.byte_fallback.unwrap_or(false),
            takes_whole: file.ignore_merges.unwrap_or(false),
        };
        let index = lists.vocabulary.index().clone();
        let words = AtomicUsize::new((all.len() + lists.merges.len()) / ENTRIES_PER_WORD_MODEL);
        Some(Self {
            spelled,
            tokens,
            index,
            by_id,
            merges,
            makers,
            spellings,
            beginnings,
            longest,
            rules,
            words,
            known: Mutex::default(),
            whole: OnceLock::new(),
        })
    }

    /// Returns the token for unknown characters.
    pub(super) fn unknown(&self) -> Option<&str> {
        self.rules.unknown.as_deref()
    }

    fn spelling(&self, token: u32) -> &str {
        let end = |token: usize| self.tokens.get(token).map_or(0, |token| token.end as usize);
        let token = token as usize;
        self.spelled.get(token.checked_sub(1).map_or(0, end)..end(token)).unwrap_or_default()
    }

    /// Returns the merges that produce a token.
    fn makers(&self, token: u32) -> &[u32] {
        let end = |token: usize| self.tokens.get(token).map_or(0, |token| token.makers as usize);
        let token = token as usize;
        self.makers.get(token.checked_sub(1).map_or(0, end)..end(token)).unwrap_or_default()
    }

    fn number(&self, text: &str) -> Option<u32> {
        self.index.find(of_bytes(text.as_bytes()), |token| self.spelling(token) == text)
    }

    fn id(&self, token: u32) -> u32 {
        self.tokens.get(token as usize).map_or(NONE, |token| token.id)
    }

    /// Returns the tokens whose spellings occur in one of these words. Returns `None` if a word has a character that is not a token: its
    /// replacement, or the neighbours of a dropped character, may be merged, too.
    fn tokens_in<'a>(&self, words: impl Iterator<Item = &'a str>) -> Option<Vec<u32>> {
        let (mut parts, mut found) = (Vec::new(), Vec::new());
        for word in words {
            self.parts_of(word, &mut parts)?;
            if parts.len() >= AT_ONCE {
                self.find(&mut parts, &mut found)?;
            }
        }
        self.find(&mut parts, &mut found)?;
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// Collects the parts of a word that may be spellings of tokens. Returns `None` if a character is not a token.
    fn parts_of<'a>(&self, word: &'a str, parts: &mut Vec<&'a str>) -> Option<()> {
        let mut seen = HashSet::new();
        for (at, _) in word.char_indices() {
            let rest = word.get(at..).unwrap_or_default();
            let window = rest.as_bytes().get(..self.longest).unwrap_or(rest.as_bytes());
            // Long words often repeat the same part, so each distinct window is searched once.
            if word.len() > 4 * self.longest && !seen.insert(window) {
                continue;
            }
            let mut mark = TextHash::default();
            for (at, character) in rest.char_indices().take_while(|(at, _)| *at < self.longest) {
                mark.add(character);
                if self.spellings.may_have(mark) {
                    parts.extend(rest.get(..at + character.len_utf8()));
                } else if at == 0 {
                    return None;
                }
                if mark.needs_reference() && !self.beginnings.may_have(mark) {
                    break;
                }
            }
        }
        Some(())
    }

    /// Finds the tokens with these spellings and clears `parts`. Returns `None` if a character is not a token.
    ///
    /// Each lookup waits for memory three times; the waits of many lookups overlap.
    fn find(&self, parts: &mut Vec<&str>, found: &mut Vec<u32>) -> Option<()> {
        let mut numbers = [NONE; AT_ONCE];
        for some in parts.chunks(AT_ONCE) {
            for (number, part) in numbers.iter_mut().zip(some) {
                *number = self.index.first(of_bytes(part.as_bytes()));
            }
            for (number, part) in numbers.iter().zip(some) {
                let number = if self.spelling(*number) == *part { Some(*number) } else { self.number(part) };
                if number.is_none() && part.chars().nth(1).is_none() {
                    return None;
                }
                found.extend(number);
            }
        }
        parts.clear();
        Some(())
    }

    /// Builds the reference's model of these tokens, in the order of their numbers, and of the merges that produce them. The memory of its
    /// word cache is not freed when the model is dropped.
    fn model(&self, tokens: &[u32], remembered: usize) -> Result<BPE> {
        let mut ranks: Vec<u32> = tokens.iter().flat_map(|token| self.makers(*token)).copied().collect();
        ranks.sort_unstable();
        let merges = ranks.iter().filter_map(|rank| self.merges.get(*rank as usize));
        let merges = merges.map(|[left, right]| (self.spelling(*left).to_owned(), self.spelling(*right).to_owned()));
        let vocabulary = tokens.iter().map(|token| (self.spelling(*token).to_owned(), self.id(*token)));
        let model = BPE::builder()
            .vocab_and_merges(vocabulary.collect::<tokenizers::models::bpe::Vocab>(), merges.collect())
            .fuse_unk(self.rules.fuses)
            .byte_fallback(self.rules.falls_back)
            .ignore_merges(self.rules.takes_whole);
        match &self.rules.unknown {
            Some(text) => model.unk_token(text.clone()),
            None => model,
        }
        .cache_capacity(remembered)
        .build()
    }

    /// Returns the tokens that the model of some words needs; `None` if the whole model is needed.
    fn needed_tokens(&self, words: &HashSet<&str>) -> Option<Vec<u32>> {
        if words.iter().any(|word| word.len() > MAX_WORD_BYTES) {
            return None;
        }
        let left = |left: usize| left.checked_sub(words.len());
        self.words.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).ok()?;
        self.tokens_in(words.iter().copied())
    }

    /// Returns the whole model, which is built on first use.
    fn complete_model(&self) -> Result<&BPE> {
        let make = || {
            let all: Vec<u32> = (0..self.tokens.len() as u32).collect();
            self.model(&all, MAX_REMEMBERED_WORDS).map_err(|error| error.to_string())
        };
        self.whole.get_or_init(make).as_ref().map_err(|why| why.as_str().into())
    }
}

impl Model for LazyReferenceModel {
    type Trainer = tokenizers::models::bpe::BpeTrainer;

    fn tokenize(&self, word: &str) -> Result<Vec<Token>> {
        if let Some(Ok(whole)) = self.whole.get() {
            return whole.tokenize(word);
        }
        match self.needed_tokens(&HashSet::from([word])) {
            Some(tokens) => self.model(&tokens, 0)?.tokenize(word),
            None => self.complete_model()?.tokenize(word),
        }
    }

    fn tokenize_in_pretokenized(
        &self,
        text: &mut PreTokenizedString,
        limit: Option<(usize, TruncationDirection)>,
    ) -> Result<()> {
        if let Some(Ok(whole)) = self.whole.get() {
            return whole.tokenize_in_pretokenized(text, limit);
        }
        if let Some((most, direction)) = limit {
            return text.tokenize_with_limit(|word| self.tokenize(word.get()), most, direction);
        }
        let mut known = self.known.lock();
        let splits = text.get_splits(OffsetReferential::Normalized, OffsetType::None);
        let words = splits.into_iter().filter(|(_, _, tokens)| tokens.is_none()).map(|(word, ..)| word);
        let new: HashSet<&str> = words.filter(|word| !known.contains_key(*word)).collect();
        let has_long = new.iter().any(|word| word.len() > MAX_REMEMBERED_BYTES);
        if !new.is_empty() {
            let Some(tokens) = self.needed_tokens(&new) else {
                *known = HashMap::new();
                return self.complete_model()?.tokenize_in_pretokenized(text, limit);
            };
            let model = self.model(&tokens, 0)?;
            let made = new.into_iter().map(|word| Ok((word.to_owned(), model.tokenize(word)?)));
            known.extend(made.collect::<Result<Vec<_>>>()?);
        }
        text.tokenize(|word| known.get(word.get()).cloned().ok_or_else(|| "a word is missing".into()))?;
        if known.len() > MAX_REMEMBERED_WORDS {
            known.clear();
        } else if has_long {
            known.retain(|word, _| word.len() <= MAX_REMEMBERED_BYTES);
        }
        Ok(())
    }

    fn token_to_id(&self, token: &str) -> Option<u32> {
        self.number(token).map(|token| self.id(token))
    }

    fn id_to_token(&self, id: u32) -> Option<String> {
        let token = self.by_id.get(id as usize).copied().filter(|token| *token != NONE)?;
        Some(self.spelling(token).to_owned())
    }

    fn get_vocab(&self) -> HashMap<String, u32> {
        (0..self.tokens.len() as u32).map(|token| (self.spelling(token).to_owned(), self.id(token))).collect()
    }

    fn get_vocab_size(&self) -> usize {
        self.tokens.len()
    }

    /// Always fails, because models are never saved.
    fn save(&self, _folder: &std::path::Path, _prefix: Option<&str>) -> Result<Vec<std::path::PathBuf>> {
        Err("a model that is only read".into())
    }

    fn get_trainer(&self) -> Self::Trainer {
        Self::Trainer::default()
    }
}

impl TextHash {
    fn add(&mut self, character: char) {
        self.hash = (self.hash ^ u64::from(character)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        self.length += 1;
    }

    /// Whether prefixes are checked at this length.
    fn needs_reference(self) -> bool {
        self.length >= MIN_PREFIX_CHARS && self.length.is_power_of_two()
    }
}

impl Filter {
    /// Returns an empty filter for this many texts.
    fn new(texts: usize) -> Self {
        Self(vec![0; texts.next_power_of_two().max(64) / 4])
    }

    fn add(&mut self, text: TextHash) {
        let (place, bit) = self.place(text);
        if let Some(word) = self.0.get_mut(place) {
            *word |= bit;
        }
    }

    fn may_have(&self, text: TextHash) -> bool {
        let (place, bit) = self.place(text);
        self.0.get(place).is_some_and(|word| word & bit != 0)
    }

    fn place(&self, text: TextHash) -> (usize, u64) {
        ((text.hash >> 16) as usize & (self.0.len() - 1), 1 << (text.hash & 63))
    }
}

#[cfg(test)]
#[path = "lazy_reference_model_tests.rs"]
mod tests;
