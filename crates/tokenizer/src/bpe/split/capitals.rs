//! The pattern of GPT-4o, in which words start with capital or small letters and continue with small letters.

use super::super::classes::{Classes, END, LETTER, LOWER, NUMBER, SPACE, UPPER};
use super::numbers::{digits, line_ends, lines_or_spaces};
use super::{contractions, Scan};

/// Splits text into words with the pattern of GPT-4o.
pub(in super::super) struct Gpt4oSplitter(pub(in super::super) &'static Classes);

impl Scan for Gpt4oSplitter {
    #[inline]
    fn end(&self, text: &[u8], at: usize) -> usize {
        let classes = self.0;
        let (class, length) = classes.class_at(text, at);
        if class & NUMBER != 0 {
            return digits(classes, text, at + length, 3);
        }
        let first = text.get(at).copied();
        let is_line_end = matches!(first, Some(b'\n' | b'\r'));
        // For each of its two kinds of words, the pattern first tries one character before the word, then none.
        let has_front = class & LETTER == 0 && !is_line_end;
        let fronts = [has_front.then_some(at + length), Some(at)];
        for front in fronts.into_iter().flatten() {
            if let Some(end) = small(classes, text, front) {
                return contracted(text, end);
            }
        }
        for front in fronts.into_iter().flatten() {
            let end = classes.run(text, front, UPPER);
            if end > front {
                return contracted(text, classes.run(text, end, LOWER));
            }
        }
        if class & (SPACE | LETTER | END) == 0 {
            return line_ends(text, classes.others(text, at + length), b"\r\n/");
        }
        if first == Some(b' ') {
            let end = classes.others(text, at + 1);
            if end > at + 1 {
                return line_ends(text, end, b"\r\n/");
            }
        }
        lines_or_spaces(classes, text, at)
    }
}

/// Returns the end of a match of `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+` at this offset; `None` if there is no match.
/// The first part backtracks over characters that are in both classes; the last of them matches the second part.
#[inline]
fn small(classes: &Classes, text: &[u8], at: usize) -> Option<usize> {
    let (mut end, mut both) = (at, None);
    loop {
        let (class, length) = classes.class_at(text, end);
        if class & UPPER == 0 {
            break;
        }
        end += length;
        if class & LOWER != 0 {
            both = Some(end);
        }
    }
    let lower_end = classes.run(text, end, LOWER);
    // If small letters follow the longest match of the first part, they are the second part; otherwise it is the last character to which
    // the first part can backtrack.
    if lower_end > end {
        Some(lower_end)
    } else {
        both
    }
}

/// Returns the end of a contraction at this offset, or the offset if there is none.
#[inline]
fn contracted(text: &[u8], at: usize) -> usize {
    if text.get(at) == Some(&b'\'') {
        at + contractions::any_case(text, at)
    } else {
        at
    }
}
