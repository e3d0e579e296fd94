//! The ways in which texts are split into words before pairs are joined, for the patterns that most tokenizers use.
//!
//! Each scanner finds what the pattern finds; a pattern is known by its very text.

mod blocks;
mod capitals;
mod contractions;
mod gpt2;
mod numbers;

#[cfg(test)]
mod tests;

use super::classes::{Classes, SPACE};
pub(super) use capitals::Capitals;
pub(super) use gpt2::Gpt2;
pub(super) use numbers::Numbers;

/// A run of spaces longer than this is more than the engine of the reference's patterns may go back over, or near to that.
const MAX_SPACE_BYTES: usize = 1 << 18;

/// Finds words.
pub(super) trait Scan {
    /// Where the word ends that begins at this place, before the end of the text; the place itself where that is not known.
    fn end(&self, text: &[u8], at: usize) -> usize;

    /// Where words begin in the [`Block`](blocks::Block) that begins with the word at this place: some of the first behind it, a bit for
    /// each byte; none where that is found one by one.
    #[inline]
    fn starts(&self, _text: &[u8], _at: usize) -> u64 {
        0
    }
}

/// A way of splitting that finds the end of each word by itself.
pub(super) struct ByEnd<F>(pub(super) F);

impl<F: Fn(&[u8], usize) -> usize> Scan for ByEnd<F> {
    #[inline]
    fn end(&self, text: &[u8], at: usize) -> usize {
        self.0(text, at)
    }
}

/// A way of splitting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// GPT-2's own.
    Gpt2,
    /// Numbers of so many digits at most, line ends apart: that of GPT-4 and Llama 3 with three, of Qwen 2 with one.
    Numbers(usize),
    /// Words begin with capitals: that of GPT-4o.
    Capitals,
}

impl Style {
    /// The style whose pattern this is.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        PATTERNS.iter().find(|(known, _)| *known == pattern).map(|(_, style)| *style)
    }
}

/// The patterns that are known, and what they mean.
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
        Style::Capitals,
    ),
];

/// Where a run of spaces from `at` ends, and where its last character begins.
#[inline]
fn spaces(classes: &Classes, text: &[u8], at: usize) -> (usize, usize) {
    let (mut end, mut last) = (at, at);
    loop {
        let (class, length) = classes.look(text, end);
        if class & SPACE == 0 {
            return (end, last);
        }
        last = end;
        end += length;
    }
}

/// `\s+(?!\S)|\s+` for the run of spaces that [`spaces`] found: all of it at the end of the text, else without its last
/// character, which goes to the word behind, unless that is all there is.
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
