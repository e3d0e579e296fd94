//! The reference's byte-pair model, built for each text from what its words need.
//!
//! Building the maps of a large vocabulary takes the reference longer than anything else in a file, and a comparison of some texts needs
//! little of them. To join a word it looks up characters of the word and pairs of neighbours in it, so a token whose spelling is no part of
//! the word has no effect. What is left are the tokens that are spelled in some word, with their ids, and the merges that produce them, in
//! their order: from these a model of the reference is built, which joins the words. The result for a word depends on nothing else, so it
//! is cached. If many words are looked up, the whole model is built.

use super::bpe::{of_bytes, Index, Lists, Merge};
use super::file::ModelFile;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use tokenizers::models::bpe::BPE;
use tokenizers::{Model, OffsetReferential, OffsetType, PreTokenizedString, Result, Token, TruncationDirection};

/// With fewer tokens and merges in total the whole model is built at once: it takes no longer than the words of some texts.
const SMALL_VOCABULARY: usize = 50_000;

/// Building the whole model takes, for each group of this many tokens and merges, about as long as one word does separately. After one word
/// for each group it is built.
const OF_A_WORD: usize = 12;

/// Words longer than this, in bytes, use the whole model.
const MAX_WORD_BYTES: usize = 1 << 14;

/// With a token longer than this, in bytes, finding all tokens of a word would take long.
const MAX_TOKEN_BYTES: usize = 512;

/// Length in characters from which on it is checked whether any token begins with a text: at this length, twice, four times and so on.
const BEGINNING: usize = 4;

/// Number of words that are cached, the default of the reference, and maximum number of bytes of a cached word.
const MAX_REMEMBERED_WORDS: usize = 10_000;
const MAX_REMEMBERED_BYTES: usize = 256;

/// Parts of words that are looked up together.
const AT_ONCE: usize = 128;

/// There is no such id.
const NONE: u32 = u32::MAX;

/// A vocabulary and its merges.
#[derive(Debug)]
pub(super) struct LazyReferenceModel {
    /// All spellings, concatenated.
    spelled: String,
    tokens: Vec<TokenSpelling>,
    index: Index,
    /// Tokens by their ids; [`NONE`] where there is none.
    by_id: Vec<u32>,
    /// The tokens that each merge joins, in the order of the merges.
    merges: Vec<[u32; 2]>,
    /// The merges that produce each token, concatenated in the order of the tokens.
    makers: Vec<u32>,
    /// Filters of the spellings of tokens, and of the beginnings of longer ones, at the lengths at which these are checked.
    spellings: Filter,
    beginnings: Filter,
    longest: usize,
    rules: Rules,
    /// Number of words for which models may still be built.
    words: AtomicUsize,
    /// The tokens of words, until the whole model is built.
    known: Mutex<HashMap<String, Vec<Token>>>,
    whole: OnceLock<std::result::Result<BPE, String>>,
}

/// A token: where its spelling ends, its id, and where the merges that produce it end.
#[derive(Clone, Copy, Debug)]
struct TokenSpelling {
    end: u32,
    id: u32,
    makers: u32,
}

/// The settings of the file, apart from its lists.
#[derive(Debug)]
struct Rules {
    unknown: Option<String>,
    fuses: bool,
    falls_back: bool,
    takes_whole: bool,
}

/// A filter that contains all texts added to it, and a few others: small enough to stay in the cache, unlike the tokens.
#[derive(Debug)]
struct Filter(Vec<u64>);

/// The hash of a text, extended character by character.
#[derive(Clone, Copy, Debug, Default)]
struct TextHash {
    hash: u64,
    /// Length in characters.
    length: usize,
}

impl LazyReferenceModel {
    /// Whether these lists are long enough for this to be faster.
    pub(super) fn is_for(lists: &Lists<'_>) -> bool {
        lists.vocabulary.count() + lists.merges.len() >= SMALL_VOCABULARY
    }

    /// Builds it from a file whose lists were read; `None` where the file has settings that cannot be applied word by word.
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
        // The number of merges of each token becomes their start, and, as the merges are added, their end.
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
        let words = AtomicUsize::new((all.len() + lists.merges.len()) / OF_A_WORD);
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

    /// Returns the token for what is not in the vocabulary.
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

    /// Returns the tokens that are spelled in one of these words. `None` where a word has a character that is no token: its replacement, or
    /// the neighbours of a character that is dropped, may be joined as well.
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

    /// Collects the parts of a word that may be spellings of tokens. `None` where a character is no token.
    fn parts_of<'a>(&self, word: &'a str, parts: &mut Vec<&'a str>) -> Option<()> {
        let mut seen = HashSet::new();
        for (at, _) in word.char_indices() {
            let rest = word.get(at..).unwrap_or_default();
            let window = rest.as_bytes().get(..self.longest).unwrap_or(rest.as_bytes());
            // Long words often repeat one part: each window is searched once.
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

    /// Finds the tokens with these spellings and clears `parts`. `None` where one is a character and no token.
    ///
    /// Each look-up waits for memory three times; for many parts these waits overlap.
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

    /// Builds the reference's model of these tokens, in order of their numbers, and of the merges that produce them. Its cache of words
    /// stays in memory even after the model is dropped.
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

    /// Returns the tokens that the model of some words needs; `None` where the whole model is needed.
    fn needed_tokens(&self, words: &HashSet<&str>) -> Option<Vec<u32>> {
        if words.iter().any(|word| word.len() > MAX_WORD_BYTES) {
            return None;
        }
        let left = |left: usize| left.checked_sub(words.len());
        self.words.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).ok()?;
        self.tokens_in(words.iter().copied())
    }

    /// Returns the whole model, which is built at first use.
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
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
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
        text.tokenize(|word| known.get(word.get()).cloned().ok_or_else(|| "a word is gone".into()))?;
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

    /// Always fails: models are never saved.
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

    /// Whether it is checked at this length if any token begins with the text.
    fn needs_reference(self) -> bool {
        self.length >= BEGINNING && self.length.is_power_of_two()
    }
}

impl Filter {
    /// Returns a filter for this many texts.
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
