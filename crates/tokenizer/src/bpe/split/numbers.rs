//! The pattern of GPT-4 and Llama 3; that of Qwen 2 has single digits:
//!
//! `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

use super::super::classes::{Classes, LETTER, NUMBER, SPACE};
use super::blocks::{Block, DECIDED_PLACES};
use super::{contractions, spaces, without_last, Scan};

/// Splits text into words with the pattern of GPT-4 and Llama 3 (three digits) or of Qwen 2 (one digit).
pub(in super::super) struct Numbers {
    pub(in super::super) classes: &'static Classes,
    /// Maximum number of digits of a word.
    pub(in super::super) digits: usize,
}

impl Scan for Numbers {
    #[inline]
    fn end(&self, text: &[u8], at: usize) -> usize {
        let classes = self.classes;
        let (class, length) = classes.class_at(text, at);
        if class & LETTER != 0 {
            return classes.letters(text, at + length);
        }
        if class & NUMBER != 0 {
            return digits(classes, text, at + length, self.digits);
        }
        let first = text.get(at).copied();
        if first == Some(b'\'') {
            let length = contractions::any_case(text, at);
            if length > 0 {
                return at + length;
            }
        }
        let (next, next_length) = classes.class_at(text, at + length);
        if next & LETTER != 0 && first != Some(b'\n') && first != Some(b'\r') {
            return classes.letters(text, at + length + next_length);
        }
        if class & SPACE == 0 {
            return line_ends(text, classes.others(text, at + length), b"\r\n");
        }
        if first == Some(b' ') {
            let end = classes.others(text, at + 1);
            if end > at + 1 {
                return line_ends(text, end, b"\r\n");
            }
        }
        lines_or_spaces(classes, text, at)
    }

    #[inline]
    fn starts(&self, text: &[u8], at: usize) -> u64 {
        let Some(block) = Block::new(self.classes, text, at) else { return 0 };
        let Block { letters, numbers, blanks, lines, .. } = block;
        let others = block.others();
        // Line ends directly after other characters belong to the same word as these.
        let taken = Block::filled(others << 1 & lines, lines);
        let spaces = block.spaces & !taken;
        let (lines, flat) = (lines & !taken, spaces & !lines);
        // A single character between a word and letters belongs to the letters: the first character of each run of other characters, with
        // all of its bytes; and the last space of a run unless it is a line end.
        let first = others & !(others << 1 | blanks << 1);
        let mut front = first;
        for _ in 1..4 {
            front |= front << 1 & others & block.further;
        }
        // A run of spaces up to its last line end is one word. The spaces after it, except for the last one, are another word.
        let mut inner = 0;
        let mut more = flat & lines >> 1;
        while more != 0 {
            inner |= more;
            more = more >> 1 & flat;
        }
        let tails = flat & !inner;
        let mut starts =
            first | letters & !(letters << 1 | flat << 1 | front << 1) | spaces & !(spaces << 1) | Block::ends(tails);
        let mut digits = numbers & !(numbers << 1);
        while digits != 0 {
            starts |= digits;
            for _ in 0..self.digits {
                digits = digits << 1 & numbers;
            }
        }
        let starts = block.contract(starts, at, |place| contractions::any_case(text, place));
        starts & DECIDED_PLACES & Block::decided_bits(spaces, block.wide_spaces | block.wide_numbers)
    }
}

/// Returns the end of the number that continues at this offset after its first digit.
#[inline]
pub(super) fn digits(classes: &Classes, text: &[u8], mut at: usize, most: usize) -> usize {
    for _ in 1..most {
        let (class, length) = classes.class_at(text, at);
        if class & NUMBER == 0 {
            break;
        }
        at += length;
    }
    at
}

/// Returns the end of the run of these bytes.
#[inline]
pub(super) fn line_ends(text: &[u8], mut at: usize, of: &[u8]) -> usize {
    while text.get(at).is_some_and(|byte| of.contains(byte)) {
        at += 1;
    }
    at
}

/// Returns the end of a match of `\s*[\r\n]+|\s+(?!\S)|\s+`. A run of spaces with line ends matches up to the last line end.
#[inline]
pub(super) fn lines_or_spaces(classes: &Classes, text: &[u8], at: usize) -> usize {
    let found = spaces(classes, text, at);
    let run = text.get(at..found.0).unwrap_or_default();
    match run.iter().rposition(|byte| matches!(byte, b'\r' | b'\n')) {
        Some(last) if run.len() <= super::MAX_SPACE_BYTES => at + last + 1,
        _ => without_last(text, at, found),
    }
}
