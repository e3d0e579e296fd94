//! The ways in which texts are split into words before pairs are joined, for the patterns that most tokenizers use.
//!
//! Each scanner finds what its pattern finds; a pattern is identified by its exact text.

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

/// Longest run of spaces, in bytes, that is split: with longer ones the engine of the reference's patterns may exceed its backtracking
/// limit, or come near it.
const MAX_SPACE_BYTES: usize = 1 << 18;

/// Finds words.
pub(super) trait Scan {
    /// Returns the end of the word that begins at this place, before the end of the text; the place itself where the end is not known.
    fn end(&self, text: &[u8], at: usize) -> usize;

    /// Returns where words begin in the [`Block`](blocks::Block) that begins with the word at this place: some of the first after it, a bit
    /// for each byte; 0 where they have to be found one by one.
    #[inline]
    fn starts(&self, _text: &[u8], _at: usize) -> u64 {
        0
    }
}

/// A way of splitting that finds the end of each word separately.
pub(super) struct WordEndFinder<F>(pub(super) F);

impl<F: Fn(&[u8], usize) -> usize> Scan for WordEndFinder<F> {
    #[inline]
    fn end(&self, text: &[u8], at: usize) -> usize {
        self.0(text, at)
    }
}

/// A way of splitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// The pattern of GPT-2.
    Gpt2,
    /// Numbers of at most this many digits, line ends apart: that of GPT-4 and Llama 3 with three, of Qwen 2 with one.
    Numbers(usize),
    /// Words begin with capitals: that of GPT-4o.
    Gpt4o,
}

impl Style {
    /// Returns the style of this pattern, if it is known.
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

/// Returns where a run of spaces from `at` ends, and where its last character begins.
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

/// Applies `\s+(?!\S)|\s+` to the run of spaces that [`spaces`] found: all of it at the end of the text, otherwise without its last
/// character, which belongs to the next word, unless it is the only one.
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
