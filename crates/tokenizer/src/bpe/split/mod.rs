//! Splits texts into words before merging, for the patterns that most tokenizers use.
//!
//! Each scanner finds the same words as its pattern. A pattern is recognized by its exact text.

mod blocks;
mod capitals;
mod contractions;
mod gpt2;
mod numbers;

#[cfg(test)]
mod tests;

use super::classes::{Classes, SPACE};
pub(super) use capitals::Gpt4oSplitter;
pub(super) use gpt2::Gpt2;
pub(super) use numbers::Numbers;

/// Longest run of spaces that is split, in bytes. For longer runs, the regex engine of the reference may exceed its backtracking limit.
const MAX_SPACE_BYTES: usize = 1 << 18;

/// Finds the words of a text.
pub(super) trait Scan {
    /// Returns the end of the word at this offset, which is before the end of the text. Returns the offset itself if the end cannot be
    /// determined.
    fn end(&self, text: &[u8], at: usize) -> usize;

    /// Returns the starts of words in the [`Block`](blocks::Block) at the offset of a word: one bit per byte, for some of the words after
    /// the first. Returns 0 if words must be found one by one.
    #[inline]
    fn starts(&self, _text: &[u8], _at: usize) -> u64 {
        0
    }
}

/// A scanner that finds the end of each word separately.
pub(super) struct WordEndFinder<F>(pub(super) F);

impl<F: Fn(&[u8], usize) -> usize> Scan for WordEndFinder<F> {
    #[inline]
    fn end(&self, text: &[u8], at: usize) -> usize {
        self.0(text, at)
    }
}

/// The known patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// The pattern of GPT-2.
    Gpt2,
    /// Words have at most this many digits, and line ends are separate words: GPT-4 and Llama 3 with three digits, Qwen 2 with one.
    Numbers(usize),
    /// The pattern of GPT-4o, in which words may start with capital letters.
    Gpt4o,
}

impl Style {
    /// Returns the style for a pattern; `None` if the pattern is unknown.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        PATTERNS.iter().find(|(known, _)| *known == pattern).map(|(_, style)| *style)
    }
}

/// The known patterns and their styles.
pub(super) const PATTERNS: &[(&str, Style)] = &[
    (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", Style::Gpt2),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Style::Numbers(3),
    ),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Style::Numbers(1),
    ),
    (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
        Style::Numbers(3),
    ),
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Style::Gpt4o,
    ),
];

/// Returns the end of the run of spaces at `at`, and the start of its last character.
#[inline]
fn spaces(classes: &Classes, text: &[u8], at: usize) -> (usize, usize) {
    let (mut end, mut last) = (at, at);
    loop {
        let (class, length) = classes.class_at(text, end);
        if class & SPACE == 0 {
            return (end, last);
        }
        last = end;
        end += length;
    }
}

/// Returns the end of a match of `\s+(?!\S)|\s+` in a run of spaces found by [`spaces`]. At the end of the text this is the whole run;
/// otherwise the run without its last character, which belongs to the next word, unless it is the only character.
#[inline]
fn without_last(text: &[u8], at: usize, (end, last): (usize, usize)) -> usize {
    if end - at > MAX_SPACE_BYTES {
        at
    } else if end == text.len() || last == at {
        end
    } else {
        last
    }
}
