//! Finds characters of several bytes that can be one symbol from the start of a word.
//!
//! In a vocabulary that spells bytes, the bytes of a character are usually joined before the character takes part in any other merge. Where
//! that is so the character can replace its bytes from the start, and a word of a script far from ASCII has a third as many symbols.
//!
//! It is so where every merge that joins the character, or a part of it, to something else comes later than the last of those that make the
//! character. Up to that merge its bytes are only joined to each other, and no other merge depends on whether that has happened yet.

use super::pairs::{Pairs, NOT_JOINED};
use super::symbols::{CharacterIds, NONE};
use std::collections::HashMap;

/// The lowest rank at which something is joined to a character or to a part of one.
#[derive(Debug, Default)]
pub(super) struct FirstMergeRanks {
    /// By whole character, and by the first and the last bytes of characters.
    whole: Ranks,
    starts: Ranks,
    ends: Ranks,
    /// Tokens that are one character, and the ranks of the merges that produce them.
    chars: Vec<(char, u32)>,
}

/// Ranks by up to four bytes.
#[derive(Debug, Default)]
struct Ranks(HashMap<[u8; 5], u32>);

impl Ranks {
    /// Adds the rank of a part, unless a lower one is stored. No character has a part of more than four bytes.
    fn add(&mut self, part: &[u8], rank: u32) {
        if let Some(key) = Self::key(part) {
            self.0.entry(key).or_insert(rank);
        }
    }

    fn is_later(&self, part: &[u8], last: u32) -> bool {
        Self::key(part).and_then(|key| self.0.get(&key)).is_none_or(|rank| *rank > last)
    }

    /// Returns the bytes, followed by their number.
    fn key(part: &[u8]) -> Option<[u8; 5]> {
        let mut key = [0, 0, 0, 0, part.len() as u8];
        key.get_mut(..part.len()).filter(|_| part.len() <= 4)?.copy_from_slice(part);
        Some(key)
    }
}

impl FirstMergeRanks {
    /// Adds the product of the merge of this rank, as bytes. Merges come in the order of their ranks.
    pub(super) fn add(&mut self, rank: u32, token: &[u8]) {
        if token.is_ascii() {
            return;
        }
        // Bytes that continue a character which began before the token.
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
                // The character ends after the token; if it is the whole token, nothing is joined to it.
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

    /// Returns the characters that can replace their bytes; `bytes` are the ids of the bytes.
    pub(super) fn finish(self, bytes: &[u32; 256], pairs: &Pairs) -> CharacterIds {
        let mut found = CharacterIds::default();
        for (character, rank) in &self.chars {
            let (id, mut spelled) = (pairs.product(*rank), [0; 4]);
            let spelled = character.encode_utf8(&mut spelled).as_bytes();
            let Some(last) = last_of(spelled, id, bytes, pairs) else { continue };
            let is_apart = (1..spelled.len())
                .all(|at| self.starts.is_later(&spelled[..at], last) && self.ends.is_later(&spelled[at..], last));
            if is_apart && self.whole.is_later(spelled, last) {
                found.put(*character, id);
            }
        }
        found
    }
}

/// Returns the highest rank of the merges that make a character of its bytes alone, if they do.
fn last_of(spelled: &[u8], id: u32, bytes: &[u32; 256], pairs: &Pairs) -> Option<u32> {
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

/// Whether the byte continues a character.
fn is_further(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Returns the number of bytes of the character that begins with this byte.
fn length(first: u8) -> usize {
    match first {
        0..=0xdf => 1 + usize::from(first >= 0x80),
        0xe0..=0xef => 3,
        _ => 4,
    }
}
