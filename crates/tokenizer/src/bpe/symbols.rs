//! The initial symbols of a word, before merging.

use super::classes::decode;
use super::merge::Steps;
use super::pairs::{Pairs, NOT_JOINED};

/// Marks a missing symbol.
pub(super) const NONE: u32 = u32::MAX;

/// Smallest first byte of a multi-byte character.
const FIRST_OF_MANY: u8 = 0xc0;

/// How words are divided into initial symbols.
#[derive(Debug)]
pub(super) enum Symbols {
    /// Each byte is a symbol.
    Bytes(Box<Bytes>),
    /// Each character in the vocabulary is a symbol.
    Chars(Box<Chars>),
}

/// The result of starting a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    /// The lane contains all symbols of the word.
    Ready,
    /// The word has more symbols than the lane has positions.
    TooLong,
    /// The vocabulary lacks a symbol of the word.
    Missing,
}

/// Symbols of bytes, and of characters whose bytes are merged before they take part in any other merge
/// ([`FirstMergeRanks`](super::first_merge_ranks::FirstMergeRanks)).
#[derive(Debug)]
pub(super) struct Bytes {
    ids: [u32; 256],
    /// The rank of each pair of bytes.
    ranks: Vec<u32>,
    seeds: CharacterIds,
}

/// Symbols of characters.
#[derive(Debug)]
pub(super) struct Chars {
    ids: CharacterIds,
    /// The symbols of other characters.
    pub(super) others: UnknownCharacters,
}

/// Ids by character; [`NONE`] for characters without an id.
#[derive(Debug)]
pub(super) struct CharacterIds {
    numbers: Vec<u16>,
    pages: Vec<[u32; 256]>,
}

/// The symbols of a character that the vocabulary does not have.
#[derive(Debug)]
pub(super) enum UnknownCharacters {
    /// A symbol for each of its bytes.
    Bytes(Box<[u32; 256]>),
    /// The unknown token: one for each character, or one for each run of such characters.
    Unknown { id: u32, is_fused: bool },
    /// The character is dropped.
    Nothing,
}

impl Symbols {
    /// Starts a word in a lane if its symbols fit.
    #[inline]
    pub(super) fn start<L: Steps>(&self, word: &[u8], pairs: &Pairs, lane: &mut L) -> Start {
        // Characters have at most four bytes.
        let is_ascii = word.is_ascii();
        if word.len() > L::MAX_SYMBOLS * if is_ascii { 1 } else { 4 } {
            return Start::TooLong;
        }
        let (mut count, mut all) = (0, 0);
        let mut put = |id: u32, rank: u32| {
            lane.put(count, id, rank);
            all |= id;
            count += 1;
        };
        match self {
            Self::Bytes(bytes) if is_ascii || !bytes.has_seeds() => bytes.one_by_one(word, put),
            Self::Bytes(bytes) => bytes.of(word, pairs, put),
            Self::Chars(chars) => {
                let mut left = NONE;
                chars.of(word, |id| {
                    put(id, if left == NONE { NOT_JOINED } else { pairs.rank(left, id) });
                    left = id;
                });
            }
        }
        if count > L::MAX_SYMBOLS {
            return Start::TooLong;
        }
        lane.start(count);
        // Ids are smaller, so only `NONE` has the highest bit set.
        if all == NONE {
            Start::Missing
        } else {
            Start::Ready
        }
    }

    /// Appends the symbols of a word of any length, and the rank of each pair of adjacent symbols. Returns `false` if the vocabulary lacks
    /// a symbol.
    pub(super) fn spread(&self, word: &[u8], pairs: &Pairs, symbols: &mut Vec<u32>, ranks: &mut Vec<u32>) -> bool {
        match self {
            Self::Bytes(bytes) => {
                let mut all = 0;
                bytes.of(word, pairs, |id, rank| {
                    all |= id;
                    if !symbols.is_empty() {
                        ranks.push(rank);
                    }
                    symbols.push(id);
                });
                all != NONE
            }
            Self::Chars(chars) => {
                chars.of(word, |id| symbols.push(id));
                ranks.extend(symbols.windows(2).map(|two| pairs.rank(two[0], two[1])));
                true
            }
        }
    }
}

impl Bytes {
    /// Returns the symbols for these ids of bytes and characters.
    pub(super) fn new(ids: [u32; 256], seeds: CharacterIds, pairs: &Pairs) -> Self {
        let rank = |two: usize| match (ids[two >> 8], ids[two & 255]) {
            (NONE, _) | (_, NONE) => NOT_JOINED,
            (left, right) => pairs.rank(left, right),
        };
        Self { ids, ranks: (0..1 << 16).map(rank).collect(), seeds }
    }

    /// Passes the symbols of a word to `put` in order, each with the rank of the pair of the previous symbol and this one. Missing symbols
    /// are [`NONE`].
    #[inline]
    fn of(&self, word: &[u8], pairs: &Pairs, mut put: impl FnMut(u32, u32)) {
        // The previous symbol; and its byte if it is a single byte.
        let (mut left, mut single) = (NONE, None);
        let mut at = 0;
        while let Some(byte) = word.get(at) {
            // A character without a symbol of its own is processed byte by byte.
            let is_first = *byte >= FIRST_OF_MANY;
            let (code, length) = if is_first { decode(word, at) } else { (0, 1) };
            let seed = if is_first { self.seeds.get(code) } else { NONE };
            let (id, this, length) = match seed {
                NONE => (self.ids[usize::from(*byte)], Some(*byte), 1),
                seed => (seed, None, length),
            };
            let rank = match (single, this) {
                (Some(left), Some(this)) => {
                    self.ranks.get(usize::from(left) << 8 | usize::from(this)).copied().unwrap_or(NOT_JOINED)
                }
                _ if left == NONE || id == NONE => NOT_JOINED,
                _ => pairs.rank(left, id),
            };
            put(id, rank);
            (left, single) = (id, this);
            at += length;
        }
    }

    /// Whether some characters have symbols that replace their bytes.
    #[inline]
    pub(super) fn has_seeds(&self) -> bool {
        !self.seeds.pages.is_empty()
    }

    /// Like [`of`](Self::of), for a word in which no character has a symbol of its own.
    #[inline]
    fn one_by_one(&self, word: &[u8], mut put: impl FnMut(u32, u32)) {
        let mut left = 0;
        for byte in word {
            let byte = usize::from(*byte);
            put(self.ids[byte], self.ranks.get(left << 8 | byte).copied().unwrap_or(NOT_JOINED));
            left = byte;
        }
    }
}

impl Default for CharacterIds {
    fn default() -> Self {
        Self { numbers: vec![u16::MAX; 0x1100], pages: Vec::new() }
    }
}

impl CharacterIds {
    /// Sets the id of a character.
    pub(super) fn put(&mut self, character: char, id: u32) {
        let code = u32::from(character) as usize;
        let Some(number) = self.numbers.get_mut(code >> 8) else { return };
        if *number == u16::MAX {
            *number = self.pages.len() as u16;
            self.pages.push([NONE; 256]);
        }
        if let Some(page) = self.pages.get_mut(usize::from(*number)) {
            page[code & 255] = id;
        }
    }

    #[inline]
    fn get(&self, code: u32) -> u32 {
        let number = self.numbers.get(code as usize >> 8).map_or(usize::MAX, |number| usize::from(*number));
        self.pages.get(number).map_or(NONE, |page| page[code as usize & 255])
    }
}

impl Chars {
    pub(super) fn new(ids: CharacterIds, others: UnknownCharacters) -> Self {
        Self { ids, others }
    }

    fn of(&self, word: &[u8], mut put: impl FnMut(u32)) {
        let (mut at, mut is_open) = (0, false);
        while at < word.len() {
            let (code, length) = decode(word, at);
            let id = self.ids.get(code);
            if id != NONE {
                put(id);
                is_open = false;
            } else {
                match &self.others {
                    UnknownCharacters::Bytes(ids) => {
                        word.iter().skip(at).take(length).for_each(|byte| put(ids[usize::from(*byte)]));
                    }
                    UnknownCharacters::Unknown { is_fused: true, .. } if is_open => {}
                    UnknownCharacters::Unknown { id, .. } => {
                        put(*id);
                        is_open = true;
                    }
                    UnknownCharacters::Nothing => {}
                }
            }
            at += length;
        }
    }
}
