//! The fast reader against the reference, during a run.

use super::{Encoder, Tokenizer};
use crate::model::Outcome;
use std::fmt;

/// So many documents of a run are compared from its start on.
const FIRST: u64 = 16;

/// After that one document in so many, about.
const ONE_IN: u64 = 2_000;

/// Texts longer than this are compared in their first part only, so that the comparison stays cheap.
const MOST_BYTES: usize = 1 << 20;

/// Compares documents with the reference; one for each thread.
pub struct Guard {
    encoder: Encoder,
    ids: Vec<u32>,
}

/// The fast reader and the reference gave different ids for a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Position of the first id that differs.
    pub at: usize,
    /// The reference's ids from there, at most eight.
    pub reference: Vec<u32>,
    /// The fast reader's ids from there, at most eight.
    pub fast: Vec<u32>,
    /// The text around that place, raw, at most 80 characters.
    pub text: String,
}

impl Guard {
    pub(super) fn new(tokenizer: &Tokenizer) -> Self {
        Self { encoder: tokenizer.encoder(), ids: Vec::new() }
    }

    /// Whether the document of this number, counted from 0, is one of those to compare. The same for every thread count.
    pub fn wants(&self, document: u64) -> bool {
        // The low bits of such a product change with every number, so that neither periods nor neighbours are favoured.
        document < FIRST || (document.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33).is_multiple_of(ONE_IN)
    }

    /// Compares `ids`, what an [`Encoder`] gave for `text`, with the reference.
    pub fn check(&mut self, text: &str, ids: &[u32]) -> Outcome<Option<Mismatch>> {
        if text.len() > MOST_BYTES {
            return Ok(None);
        }
        self.ids.clear();
        self.encoder.encode_by_reference(text, &mut self.ids)?;
        Ok((self.ids != ids).then(|| self.mismatch(text, ids)))
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

impl fmt::Display for Mismatch {
    /// One line, safe to print.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = crate::model::text::display_safe(&self.text);
        write!(
            f,
            "token {} of a text is {:?} by the reference and {:?} by the fast reader, near `{text}`",
            self.at, self.reference, self.fast
        )
    }
}
