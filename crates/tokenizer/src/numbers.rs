//! The tokenizer for texts that consist of token ids in decimal digits. It has a name but no file.

use super::facts::{TokenizerFacts, TokenizerKind};
use super::TokenSpan;
use gristmill_core::{Failure, Outcome};

/// Prefix of the name of such a tokenizer.
const PREFIX: &str = "numbers:";

/// Accepts the ids below a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// The size; at least 1.
    size: u32,
}

/// Returns the name, as used in plans, of the tokenizer for ids below `size`.
pub fn numbers_name(size: u32) -> String {
    format!("{PREFIX}{size}")
}

/// Whether a name has the form of such a tokenizer's name.
pub(super) fn is_numbers_name(named: &str) -> bool {
    named.starts_with(PREFIX)
}

impl Numbers {
    /// Parses the name of such a tokenizer, which is its only content; `None` for files of other kinds.
    pub(super) fn parse(bytes: &[u8]) -> Option<Result<Self, String>> {
        let size = bytes.strip_prefix(PREFIX.as_bytes())?;
        let size = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok()).filter(|size| *size > 0);
        Some(size.map(|size| Self { size }).ok_or_else(|| format!("a vocabulary of numbers has 1 to {} ids", u32::MAX)))
    }

    pub(super) fn facts(self, hash: String) -> TokenizerFacts {
        TokenizerFacts::of_model(TokenizerKind::Numbers, "Numbers", self.size.into(), hash)
    }

    /// Returns the id in a word of decimal digits, ignoring ASCII white space around it.
    pub(super) fn id_of(self, word: &str) -> Option<u32> {
        let digits = word.trim_matches(|character: char| character.is_ascii_whitespace());
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|id| is_plain && *id < self.size)
    }

    pub(super) fn token_of(self, id: u32) -> Option<String> {
        (id < self.size).then(|| id.to_string())
    }

    /// Returns the digits of an id, followed by the space that separates numbers.
    pub(super) fn piece(self, id: u32) -> Vec<u8> {
        self.token_of(id).map(|number| format!("{number} ").into_bytes()).unwrap_or_default()
    }

    /// Appends the ids of a text, in which single spaces separate the numbers.
    ///
    /// # Errors
    /// A word is not an id; `out` is then unchanged.
    pub(super) fn encode(self, text: &str, out: &mut Vec<u32>) -> Outcome<()> {
        let before = out.len();
        for word in text.split(' ') {
            match self.id_of(word) {
                Some(id) => out.push(id),
                None => {
                    out.truncate(before);
                    return Err(self.refusal(word));
                }
            }
        }
        Ok(())
    }

    /// Returns the numbers with their ranges in the text.
    pub(super) fn spans(self, text: &str) -> Outcome<Vec<TokenSpan>> {
        let mut at = 0;
        let span = |word: &str| {
            let id = self.id_of(word).ok_or_else(|| self.refusal(word))?;
            // A word that is an id is ASCII, so character and byte ranges are equal.
            let range = at..at + word.len();
            at = range.end + 1;
            Ok(TokenSpan { id, chars: range.clone(), bytes: range, is_template: false })
        };
        text.split(' ').map(span).collect()
    }

    fn refusal(self, word: &str) -> Failure {
        let word: String = word.chars().take(20).collect();
        let why = format!("`{}` is no id from 0 to {}", gristmill_core::text::display_safe(&word), self.size - 1);
        Failure::data("reading ids from a text", why).with_hint("separate numbers by single spaces")
    }

    pub(super) fn decode(self, ids: &[u32]) -> String {
        let words: Vec<String> = ids.iter().filter_map(|id| self.token_of(*id)).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokenizer;

    #[test]
    fn only_numbers_below_the_size_are_token_ids() {
        let tokenizer = Tokenizer::load(&numbers_name(300)).unwrap();
        let (mut encoder, mut ids) = (tokenizer.encoder(), vec![7]);
        encoder.encode("0 299 007 12\n", &mut ids).unwrap();
        assert_eq!(ids, [7, 0, 299, 7, 12]);
        for wrong in ["", "1  2", "300", "-1", "+1", "1_0", "x", "99999999999", "1 ٣", "1\u{a0}"] {
            assert!(encoder.encode(wrong, &mut ids).is_err(), "{wrong:?}");
        }
        assert_eq!(ids, [7, 0, 299, 7, 12]);
        let spans = encoder.encode_spans_with_template("10 2").unwrap();
        assert_eq!((spans[1].id, spans[1].bytes.clone(), spans.len()), (2, 3..4, 2));
        assert_eq!((tokenizer.decode(&[5, 300, 6]), tokenizer.token_of(299)), ("5 6".into(), Some("299".into())));
        assert_eq!([tokenizer.piece(5), tokenizer.piece(300)], [b"5 ".to_vec(), Vec::new()]);
        assert_eq!((tokenizer.full_size(), tokenizer.id_of("300"), tokenizer.unknown()), (300, None, None));
    }

    #[test]
    fn invalid_numbers_tokenizer_size_is_refused() {
        for name in ["numbers:", "numbers:0", "numbers:4294967296", "numbers:x"] {
            assert!(Tokenizer::load(name).err().unwrap().why.contains("1 to 4294967295 ids"), "{name}");
        }
    }
}
