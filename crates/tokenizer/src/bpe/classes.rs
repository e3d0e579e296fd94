//! Character classes, identical to those of the reference tokenizer: its regex engine uses the same Unicode version as `regex-syntax`,
//! which it also uses to find whole words.

use regex_syntax::hir::{Class, HirKind};
use std::sync::LazyLock;
use wide::u8x16;

/// Letters: `\p{L}`.
pub(super) const LETTER: u8 = 1;
/// Numbers: `\p{N}`.
pub(super) const NUMBER: u8 = 2;
/// White space: `\s`.
pub(super) const SPACE: u8 = 4;
/// `\p{Lu}`, `\p{Lt}`, `\p{Lm}`, `\p{Lo}`, `\p{M}`: characters that can start a word with an initial capital.
pub(super) const UPPER: u8 = 8;
/// `\p{Ll}`, `\p{Lm}`, `\p{Lo}`, `\p{M}`: characters that can continue such a word.
pub(super) const LOWER: u8 = 16;
/// `\w` of the `regex` crate, by which the reference tokenizer decides whether an added token is a whole word. Its patterns use another
/// definition.
pub(super) const WORD: u8 = 32;
/// The end of the text.
pub(super) const END: u8 = 64;

const CLASSES: [(&str, u8); 6] = [
    (r"\p{L}", LETTER),
    (r"\p{N}", NUMBER),
    (r"\s", SPACE),
    (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", UPPER),
    (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", LOWER),
    (r"\w", WORD),
];

/// Classes in pages of 256 code points. Identical pages are stored once.
pub(super) struct Classes {
    ascii: [u8; 128],
    numbers: Vec<u16>,
    pages: Vec<[u8; 256]>,
}

static TABLE: LazyLock<Classes> = LazyLock::new(Classes::new);

impl Classes {
    /// Returns the shared table.
    pub(super) fn get() -> &'static Self {
        &TABLE
    }

    fn new() -> Self {
        let mut all = vec![0u8; 0x11_0000];
        for (pattern, bit) in CLASSES {
            let Ok(parsed) = regex_syntax::parse(pattern) else { continue };
            let HirKind::Class(Class::Unicode(class)) = parsed.kind() else { continue };
            for range in class.ranges() {
                let part = all.get_mut(range.start() as usize..=range.end() as usize);
                part.into_iter().flatten().for_each(|classes| *classes |= bit);
            }
        }
        let (mut pages, mut numbers): (Vec<[u8; 256]>, _) = (Vec::new(), Vec::new());
        for page in all.chunks_exact(256) {
            let number = pages.iter().position(|known| known == page).unwrap_or_else(|| {
                pages.push(page.try_into().unwrap_or([0; 256]));
                pages.len() - 1
            });
            numbers.push(u16::try_from(number).unwrap_or(0));
        }
        let mut ascii = [0; 128];
        ascii.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        Self { ascii, numbers, pages }
    }

    /// Returns the classes of a character.
    pub(super) fn of(&self, character: u32) -> u8 {
        let page = self.numbers.get(character as usize >> 8).and_then(|number| self.pages.get(usize::from(*number)));
        page.map_or(0, |page| page[character as usize & 255])
    }

    /// Returns the classes of the character at this offset, and its length in bytes; [`END`] and 0 at the end of the text.
    #[inline]
    pub(super) fn class_at(&self, text: &[u8], at: usize) -> (u8, usize) {
        match text.get(at) {
            None => (END, 0),
            Some(byte) if *byte < 0x80 => (self.ascii[usize::from(*byte)], 1),
            Some(_) => {
                let (character, length) = decode(text, at);
                (self.of(character), length)
            }
        }
    }

    /// Returns the end of the run of characters in these classes that starts at `at`.
    #[inline]
    pub(super) fn run(&self, text: &[u8], mut at: usize, classes: u8) -> usize {
        loop {
            let (class, length) = self.class_at(text, at);
            if class & classes == 0 {
                return at;
            }
            at += length;
        }
    }

    /// Like [`run`](Self::run) for letters. Compares sixteen bytes at a time while they are ASCII.
    #[inline]
    pub(super) fn letters(&self, text: &[u8], mut at: usize) -> usize {
        loop {
            if let Some(part) = text.get(at..at + 16).and_then(|part| part.try_into().ok()) {
                let count = ascii_letters(part);
                at += count;
                if count == 16 {
                    continue;
                }
            }
            // Consecutive multi-byte characters are examined one by one.
            loop {
                let (class, length) = self.class_at(text, at);
                if class & LETTER == 0 {
                    return at;
                }
                at += length;
                if text.get(at).is_none_or(u8::is_ascii) {
                    break;
                }
            }
        }
    }

    /// Like [`run`](Self::run) for characters that are neither spaces nor letters nor numbers.
    #[inline]
    pub(super) fn others(&self, text: &[u8], mut at: usize) -> usize {
        loop {
            let (class, length) = self.class_at(text, at);
            if class & (SPACE | LETTER | NUMBER | END) != 0 {
                return at;
            }
            at += length;
        }
    }
}

/// Returns the non-ASCII character at this offset of a UTF-8 text, and its length in bytes.
#[inline]
pub(super) fn decode(text: &[u8], at: usize) -> (u32, usize) {
    let byte = |offset: usize| text.get(at + offset).map_or(0, |byte| u32::from(*byte));
    let (first, second, third) = (byte(0), byte(1) & 0x3f, byte(2) & 0x3f);
    match first {
        0..=0x7f => (first, 1),
        0x80..=0xdf => ((first & 0x1f) << 6 | second, 2),
        0xe0..=0xef => ((first & 0x0f) << 12 | second << 6 | third, 3),
        _ => ((first & 0x07) << 18 | second << 12 | third << 6 | byte(3) & 0x3f, 4),
    }
}

/// Returns the number of ASCII letters at the start of sixteen bytes.
#[inline]
fn ascii_letters(part: [u8; 16]) -> usize {
    let from_a = (u8x16::from(part) | u8x16::splat(0x20)) - u8x16::splat(b'a');
    let is_letter = from_a.simd_eq(from_a.min(u8x16::splat(b'z' - b'a')));
    (!is_letter.to_bitmask() | 1 << 16).trailing_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_classes_match_the_reference() {
        let classes = Classes::get();
        let all: String = (0..0x11_0000).filter_map(char::from_u32).collect();
        for (pattern, bit) in CLASSES {
            let mut is_in = vec![false; all.len()];
            if bit == WORD {
                let engine = regex::Regex::new(pattern).unwrap();
                engine.find_iter(&all).for_each(|found| is_in[found.range()].fill(true));
            } else {
                let engine = tokenizers::utils::SysRegex::new(pattern).unwrap();
                engine.find_iter(&all).for_each(|(from, to)| is_in[from..to].fill(true));
            }
            for (at, character) in all.char_indices() {
                let (found, length) = classes.class_at(all.as_bytes(), at);
                assert_eq!((found & bit != 0, length), (is_in[at], character.len_utf8()), "{pattern} {character:?}");
            }
        }
    }

    #[test]
    fn ascii_letters_are_counted_up_to_the_first_other_byte() {
        for other in (0..=255u8).filter(|byte| !byte.is_ascii_alphabetic()) {
            for place in 0..16 {
                let mut part = *b"azAZmMqXbyBYnNpP";
                part[place] = other;
                assert_eq!(ascii_letters(part), place, "{other}");
            }
        }
        for letter in (0..=255u8).filter(u8::is_ascii_alphabetic) {
            assert_eq!(ascii_letters([letter; 16]), 16);
        }
    }
}
