//! Finds multi-byte characters that can be one symbol before merging starts.
//!
//! In a vocabulary of bytes, the bytes of a character are usually merged before the character takes part in any other merge. In this case,
//! the character can replace its bytes at the start, which reduces the symbols of a word in a non-Latin script to a third.
//!
//! This is valid if every merge of the character, or of a part of it, with another symbol has a higher rank than all merges that produce
//! the character. Before these, its bytes are only merged with each other, and no other merge depends on whether this has already happened.

use super::pairs::{Pairs, NOT_JOINED};
use super::symbols::{CharacterIds, NONE};
use std::collections::HashMap;

/// The lowest rank of a merge of a character, or of a part of one, with another symbol.
#[derive(Debug, Default)]
pub(super) struct FirstMergeRanks {
    /// Ranks for whole characters, and for the first and the last bytes of characters.
    whole: Ranks,
    starts: Ranks,
    ends: Ranks,
    /// Tokens that are one character, and the ranks of the merges that produce them.
    chars: Vec<(char, u32)>,
}

/// Ranks for strings of up to four bytes.
#[derive(Debug, Default)]
struct Ranks(HashMap<[u8; 5], u32>);

impl Ranks {
    /// Adds the rank of a part unless a lower rank is stored. Ignores parts of more than four bytes, which no character has.
    fn add(&mut self, part: &[u8], rank: u32) {
        if let Some(key) = Self::key(part) {
            self.0.entry(key).or_insert(rank);
        }
    }

    fn is_later(&self, part: &[u8], last: u32) -> bool {
        Self::key(part).and_then(|key| self.0.get(&key)).is_none_or(|rank| *rank > last)
    }

    /// Returns the bytes, padded and followed by their number.
    fn key(part: &[u8]) -> Option<[u8; 5]> {
        let mut key = [0, 0, 0, 0, part.len() as u8];
        key.get_mut(..part.len()).filter(|_| part.len() <= 4)?.copy_from_slice(part);
        Some(key)
    }
}

impl FirstMergeRanks {
    /// Adds the product of the merge with this rank, as bytes. Must be called in the order of ranks.
    pub(super) fn add(&mut self, rank: u32, token: &[u8]) {
        if token.is_ascii() {
            return;
        }
        // Continuation bytes of a character that started before the token.
        let before = token.iter().take_while(|byte| is_further(**byte)).count();
        if before == token.len() {
            return;
        }
        if before > 0 {
            self.ends.add(&token[..before], rank);
        }
        let mut at = before;
        while at < token.len() {
            let length = length(token[at]);
            let Some(character) = token.get(at..at + length) else {
                // The character ends after the token. If it is the whole token, it is not merged with another symbol.
                if at > 0 {
                    self.starts.add(&token[at..], rank);
                }
                return;
            };
            if length == token.len() {
                if let Some(character) = std::str::from_utf8(token).ok().and_then(|text| text.chars().next()) {
                    self.chars.push((character, rank));
                }
            } else if length > 1 {
                self.whole.add(character, rank);
            }
            at += length;
        }
    }

    /// Returns the characters that can replace their bytes. `bytes` has the ids of the bytes.
    pub(super) fn finish(self, bytes: &[u32; 256], pairs: &Pairs) -> CharacterIds {
        let mut found = CharacterIds::default();
        for (character, rank) in &self.chars {
            let (id, mut spelled) = (pairs.product(*rank), [0; 4]);
            let spelled = character.encode_utf8(&mut spelled).as_bytes();
            let Some(last) = highest_merge_rank(spelled, id, bytes, pairs) else { continue };
            let is_apart = (1..spelled.len())
                .all(|at| self.starts.is_later(&spelled[..at], last) && self.ends.is_later(&spelled[at..], last));
            if is_apart && self.whole.is_later(spelled, last) {
                found.put(*character, id);
            }
        }
        found
    }
}

/// Returns the highest rank of the merges that produce a character from its bytes; `None` if they do not produce it.
fn highest_merge_rank(spelled: &[u8], id: u32, bytes: &[u32; 256], pairs: &Pairs) -> Option<u32> {
    let mut symbols: Vec<u32> = spelled.iter().map(|byte| bytes[usize::from(*byte)]).collect();
    let mut last = 0;
    while symbols.len() > 1 {
        if symbols.contains(&NONE) {
            return None;
        }
        let ranks = symbols.windows(2).map(|two| pairs.rank(two[0], two[1]));
        let (at, rank) =
            ranks.enumerate().min_by_key(|(at, rank)| (*rank, *at)).filter(|(_, rank)| *rank != NOT_JOINED)?;
        last = last.max(rank);
        symbols[at] = pairs.product(rank);
        symbols.remove(at + 1);
    }
    (symbols == [id]).then_some(last)
}

/// Whether a byte is a continuation byte.
fn is_further(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Returns the length of a character in bytes from its first byte.
fn length(first: u8) -> usize {
    match first {
        0..=0xdf => 1 + usize::from(first >= 0x80),
        0xe0..=0xef => 3,
        _ => 4,
    }
}
