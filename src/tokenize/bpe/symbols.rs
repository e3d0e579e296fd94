//! The symbols that a word begins as, before anything is joined.

use super::classes::decode;
use super::merge::{ordered, Lane, FEW};
use super::pairs::{Pairs, APART};

/// There is no such symbol.
pub(super) const NONE: u32 = u32::MAX;

/// What the characters of words become.
#[derive(Debug)]
pub(super) enum Symbols {
    /// Each byte is a symbol.
    Bytes(Box<Bytes>),
    /// Each character is one, where the vocabulary has it.
    Chars(Box<Chars>),
}

/// Symbols of bytes.
#[derive(Debug)]
pub(super) struct Bytes {
    ids: [u32; 256],
    /// The rank of each two bytes.
    ranks: Vec<u32>,
}

/// Symbols of characters.
#[derive(Debug)]
pub(super) struct Chars {
    numbers: Vec<u16>,
    pages: Vec<[u32; 256]>,
    /// What stands for the others.
    pub(super) others: Others,
}

/// What stands for a character that the vocabulary does not have.
#[derive(Debug)]
pub(super) enum Others {
    /// A symbol for each of its bytes.
    Bytes(Box<[u32; 256]>),
    /// The symbol of the unknown: one for each character, or one for a run of them.
    Unknown { id: u32, is_fused: bool },
    /// Nothing.
    Nothing,
}

impl Symbols {
    /// Begins a lane with a word of at most 31 bytes; `false` where a symbol is missing.
    #[inline]
    pub(super) fn start(&self, word: &[u8], pairs: &Pairs, lane: &mut Lane) -> bool {
        match self {
            Self::Bytes(bytes) => {
                lane.start(word.len());
                bytes.put(word, lane)
            }
            Self::Chars(chars) => {
                let mut count = 0;
                // A character of several bytes is at most as many symbols.
                chars.of(word, |id| {
                    lane.symbols[count % FEW] = id;
                    count += 1;
                });
                lane.start(count);
                for place in 1..count.min(FEW) {
                    let rank = pairs.rank(lane.symbols[place - 1], lane.symbols[place]);
                    lane.order[place - 1] = ordered(rank, place - 1);
                }
                true
            }
        }
    }

    /// Appends the symbols of a word of any length, and the rank of each with the one behind it; `false` where one is missing.
    pub(super) fn spread(&self, word: &[u8], pairs: &Pairs, symbols: &mut Vec<u32>, ranks: &mut Vec<u32>) -> bool {
        match self {
            Self::Bytes(bytes) => {
                symbols.extend(word.iter().map(|byte| bytes.ids[usize::from(*byte)]));
                let rank = |two: &[u8]| bytes.ranks.get(usize::from(two[0]) << 8 | usize::from(two[1])).copied();
                ranks.extend(word.windows(2).map(|two| rank(two).unwrap_or(APART)));
                !symbols.contains(&NONE)
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
    pub(super) fn new(ids: [u32; 256], pairs: &Pairs) -> Self {
        let rank = |two: usize| match (ids[two >> 8], ids[two & 255]) {
            (NONE, _) | (_, NONE) => APART,
            (left, right) => pairs.rank(left, right),
        };
        Self { ids, ranks: (0..1 << 16).map(rank).collect() }
    }

    /// Puts the symbols of a word, and the ranks of each two, where they are to be joined; `false` where one is missing.
    #[inline]
    fn put(&self, word: &[u8], lane: &mut Lane) -> bool {
        let (mut left, mut all) = (0, 0);
        for (place, byte) in word.iter().enumerate().take(FEW) {
            let byte = usize::from(*byte);
            lane.symbols[place] = self.ids[byte];
            // An id that is missing is the only one with the highest bit.
            all |= self.ids[byte];
            // What comes before the first byte is put where nothing is.
            let before = place.wrapping_sub(1) % FEW;
            lane.order[before] = ordered(self.ranks.get(left << 8 | byte).copied().unwrap_or(APART), before);
            left = byte;
        }
        all != NONE
    }
}

impl Chars {
    pub(super) fn new(others: Others) -> Self {
        Self { numbers: vec![u16::MAX; 0x1100], pages: Vec::new(), others }
    }

    /// Makes this id the symbol of a character.
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

    fn of(&self, word: &[u8], mut put: impl FnMut(u32)) {
        let (mut at, mut is_open) = (0, false);
        while at < word.len() {
            let (code, length) = decode(word, at);
            let id = self.get(code);
            if id != NONE {
                put(id);
                is_open = false;
            } else {
                match &self.others {
                    Others::Bytes(ids) => {
                        word.iter().skip(at).take(length).for_each(|byte| put(ids[usize::from(*byte)]));
                    }
                    Others::Unknown { is_fused: true, .. } if is_open => {}
                    Others::Unknown { id, .. } => {
                        put(*id);
                        is_open = true;
                    }
                    Others::Nothing => {}
                }
            }
            at += length;
        }
    }
}
