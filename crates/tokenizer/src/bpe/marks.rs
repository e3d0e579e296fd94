//! Encodes texts in which spaces are replaced by marks (`▁`).

use super::model::Model;
use super::split::WordEndFinder;
use super::words::WordEncoder;

/// The mark that replaces a space.
pub(super) const MARK: char = '▁';

/// The mark in UTF-8.
const BYTES: [u8; 3] = [0xe2, 0x96, 0x81];

/// Appends a text with its spaces replaced by marks.
pub(super) fn put(text: &str, out: &mut String) {
    let mut parts = text.split(' ');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.push(MARK);
        out.push_str(part);
    }
}

/// Encodes a text with marks. If `is_split`, every mark starts a word. Otherwise the reference treats the whole text as one word, which can
/// be cut before a mark that follows another character, unless a merge spans such a position.
pub(super) fn words(model: &Model, text: &str, is_split: bool, words: &mut WordEncoder) -> bool {
    if !is_split && !model.marks_begin {
        return words.encode(model, text.as_bytes(), &WordEndFinder(|text: &[u8], _| text.len()));
    }
    let end = |text: &[u8], at: usize| -> usize {
        let is_mark = |at: usize| text.get(at..at + 3) == Some(&BYTES);
        let mut end = at;
        if is_mark(end) {
            end += 3;
            while !is_split && is_mark(end) {
                end += 3;
            }
        }
        while text.get(end).is_some_and(|byte| *byte != BYTES[0] || !is_mark(end)) {
            end += 1;
        }
        end
    };
    words.encode(model, text.as_bytes(), &WordEndFinder(end))
}
