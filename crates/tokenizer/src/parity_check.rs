//! Compares the fast tokenizer with the reference during a run.

use super::{Encoder, Tokenizer};
use gristmill_core::{ExitClass, Outcome};
use std::fmt;

/// Number of documents that are compared at the start of a run.
const FIRST: u64 = 8;

/// After these, about one in this many documents is compared.
const ONE_IN: u64 = 2_000;

/// Only this many bytes of a longer text are compared, to limit the cost.
const MAX_BYTES: usize = 1 << 20;

/// Compares documents with the reference tokenizer; one for each thread.
pub struct ParityCheck {
    encoder: Encoder,
    ids: Vec<u32>,
}

/// A difference between the ids of the fast tokenizer and of the reference for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Index of the first id that differs.
    pub at: usize,
    /// The ids of the reference from there on, at most eight.
    pub reference: Vec<u32>,
    /// The ids of the fast tokenizer from there on, at most eight.
    pub fast: Vec<u32>,
    /// The text around the difference, at most 80 characters, not escaped for display.
    pub text: String,
}

impl ParityCheck {
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        Self { encoder: tokenizer.encoder(), ids: Vec::new() }
    }

    /// Whether the document with this index is compared. The result does not depend on the number of threads.
    pub fn wants(&self, document: u64) -> bool {
        // These bits of the product change with every index, so neither periodic nor adjacent documents are favoured.
        document < FIRST || (document.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33).is_multiple_of(ONE_IN)
    }

    /// Compares `ids`, the result of an [`Encoder`] for `text`, with the reference. Returns `None` without comparing if the reference is
    /// already in use.
    ///
    /// A text that the reference cannot encode counts as a difference. Fails if the reference fails with another error.
    pub fn check(&mut self, text: &str, ids: &[u32]) -> Outcome<Option<Mismatch>> {
        if !self.encoder.is_fast() {
            return Ok(None);
        }
        if text.len() > MAX_BYTES {
            let end = (0..=MAX_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let text = &text[..end];
            let mut ids = Vec::new();
            return match is_refused(self.encoder.encode(text, &mut ids))? {
                true => Ok(None),
                false => self.check(text, &ids),
            };
        }
        self.ids.clear();
        let is_refused = is_refused(self.encoder.encode_by_reference(text, &mut self.ids))?;
        Ok((is_refused || self.ids != ids).then(|| self.mismatch(text, ids)))
    }

    fn mismatch(&mut self, text: &str, ids: &[u32]) -> Mismatch {
        let same = self.ids.iter().zip(ids).take_while(|(a, b)| a == b).count();
        let part = |ids: &[u32]| ids.iter().skip(same).take(8).copied().collect();
        let from = match self.encoder.encode_spans(text) {
            Ok(spans) => spans.get(same).map_or(text.chars().count(), |span| span.chars.start),
            Err(_) => 0,
        };
        let around = text.chars().skip(from.saturating_sub(20)).take(80).collect();
        Mismatch { at: same, reference: part(&self.ids), fast: part(ids), text: around }
    }
}

/// Whether a text was refused. Returns other failures.
fn is_refused(encoded: Outcome<()>) -> Outcome<bool> {
    match encoded {
        Err(failure) if failure.class == ExitClass::Data => Ok(true),
        other => other.map(|()| false),
    }
}

impl fmt::Display for Mismatch {
    /// Writes one line that is safe to print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = gristmill_core::text::display_safe(&self.text);
        write!(
            f,
            "token {} of a text is {:?} by the reference and {:?} by the fast reader, near `{text}`",
            self.at, self.reference, self.fast
        )
    }
}

#[cfg(test)]
mod tests {
    use super::FIRST;
    use crate::Tokenizer;

    fn gpt2() -> Tokenizer {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/tokenizers/gpt2.json");
        Tokenizer::load(file.to_str().unwrap()).unwrap()
    }

    #[test]
    fn the_first_documents_and_one_in_two_thousand_are_compared() {
        let guard = gpt2().guard();
        assert!((0..FIRST).all(|document| guard.wants(document)));
        let wanted = (FIRST..2_000_000 + FIRST).filter(|document| guard.wants(*document)).count();
        assert!((900..1_100).contains(&wanted), "{wanted}");
    }

    #[test]
    fn difference_is_reported_with_its_position_and_switches_all_encoders_to_the_reference() {
        let tokenizer = gpt2();
        let (mut guard, mut encoder) = (tokenizer.guard(), tokenizer.encoder());
        assert!(tokenizer.is_fast() && tokenizer.facts().is_fast);
        let text = "some words, and then\u{202e} others";
        let mut ids = Vec::new();
        encoder.encode(text, &mut ids).unwrap();
        assert_eq!(guard.check(text, &ids).unwrap(), None);
        let right = ids[5];
        ids[5] = 7;
        let found = guard.check(text, &ids).unwrap().unwrap();
        assert_eq!((found.at, found.reference[0], found.fast[0]), (5, right, 7));
        assert!(text.contains(&found.text));
        assert!(!found.to_string().contains('\u{202e}'), "{found}");
        ids.pop();
        ids[5] = right;
        assert!(guard.check(text, &ids).unwrap().is_some(), "a missing id is a difference");
        tokenizer.clone().use_reference();
        assert!(!tokenizer.is_fast() && !tokenizer.facts().is_fast);
        assert_eq!(guard.check(text, &ids).unwrap(), None, "there is nothing left to compare");
        let mut again = Vec::new();
        encoder.encode(text, &mut again).unwrap();
        assert_eq!((again.len(), again[5]), (ids.len() + 1, right));
    }

    #[test]
    fn only_the_beginning_of_a_long_text_is_compared() {
        let tokenizer = gpt2();
        let text = "é word\n".repeat(200_000);
        assert_eq!(tokenizer.guard().check(&text, &[]).unwrap(), None);
    }
}
