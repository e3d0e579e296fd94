//! Finds the added tokens of a text, as the reference tokenizer does.

use super::classes::{Classes, WORD};
use aho_corasick::{AhoCorasick, MatchKind};
use tokenizers::{AddedToken, AddedVocabulary, NormalizedString, Normalizer as _, NormalizerWrapper};

/// A part of a text.
pub(super) enum Part<'a> {
    /// The id of an added token.
    Token(u32),
    /// The text between tokens, and its offset in bytes.
    Text(&'a str, usize),
}

/// Tokens that are searched for together.
#[derive(Debug)]
pub(super) struct Set {
    automaton: AhoCorasick,
    tokens: Vec<Token>,
}

#[derive(Debug)]
struct Token {
    id: u32,
    is_word: bool,
    strips_left: bool,
    strips_right: bool,
}

/// Added tokens that are searched for in the raw text, and those that are searched for in the normalized text.
#[derive(Debug, Default)]
pub(super) struct AddedTokens {
    pub(super) raw: Option<Set>,
    pub(super) normalized: Option<Set>,
}

impl AddedTokens {
    /// Collects the added tokens of a tokenizer with this normalizer.
    pub(super) fn new(added: &AddedVocabulary, normalizer: Option<&NormalizerWrapper>) -> Result<Self, String> {
        let (mut raw, mut normalized) = (Vec::new(), Vec::new());
        for (id, token) in added.get_added_tokens_decoder().clone() {
            if !token.normalized {
                raw.push((token.content.clone(), id, token));
                continue;
            }
            let mut text = NormalizedString::from(token.content.as_str());
            if let Some(normalizer) = normalizer {
                normalizer.normalize(&mut text).map_err(|error| error.to_string())?;
            }
            normalized.push((text.get().to_owned(), id, token));
        }
        Ok(Self { raw: Set::new(&raw)?, normalized: Set::new(&normalized)? })
    }
}

impl Set {
    fn new(all: &[(String, u32, AddedToken)]) -> Result<Option<Self>, String> {
        if all.is_empty() {
            return Ok(None);
        }
        if all.iter().any(|(text, ..)| text.is_empty()) {
            return Err("an added token is empty".into());
        }
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(all.iter().map(|(text, ..)| text))
            .map_err(|error| error.to_string())?;
        let token = |(_, id, token): &(String, u32, AddedToken)| Token {
            id: *id,
            is_word: token.single_word,
            strips_left: token.lstrip,
            strips_right: token.rstrip,
        };
        Ok(Some(Self { automaton, tokens: all.iter().map(token).collect() }))
    }
}

/// Passes the parts of a text to `each` in order, until it returns `false`. Returns `false` in this case, and for texts that the reference
/// tokenizer cannot encode.
pub(super) fn split<'a>(set: Option<&Set>, text: &'a str, mut each: impl FnMut(Part<'a>) -> bool) -> bool {
    let mut done = 0;
    if let Some(set) = set {
        for found in set.automaton.find_iter(text) {
            let Some(token) = set.tokens.get(found.pattern().as_usize()) else { return false };
            let (mut start, mut stop) = (found.start(), found.end());
            if token.is_word && (ends_with_word(&text[..start]) || starts_with_word(&text[stop..])) {
                continue;
            }
            if token.strips_left {
                // Spaces that belong to the previous token are not available.
                start = text[..start].trim_end().len().max(done);
            }
            if token.strips_right {
                stop = text.len() - text[stop..].trim_start().len();
            }
            if start >= stop {
                return false;
            }
            if done < start && !each(Part::Text(&text[done..start], done)) {
                return false;
            }
            if !each(Part::Token(token.id)) {
                return false;
            }
            done = stop;
        }
    }
    done == text.len() || each(Part::Text(&text[done..], done))
}

fn ends_with_word(text: &str) -> bool {
    text.chars().next_back().is_some_and(is_word)
}

fn starts_with_word(text: &str) -> bool {
    text.chars().next().is_some_and(is_word)
}

fn is_word(character: char) -> bool {
    Classes::get().of(u32::from(character)) & WORD != 0
}
