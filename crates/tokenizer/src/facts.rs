//! Facts about a tokenizer that are known without encoding text.

use gristmill_core::{Failure, Outcome};
use serde::Serialize;

/// The kind of the tokenizer's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenizerKind {
    /// `tokenizer.json`.
    Json,
    /// A SentencePiece `.model`.
    SentencePiece,
    /// No file: texts consist of numbers.
    Numbers,
}

/// Facts about the tokenizer's file, for reviews, reports and the identity of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenizerFacts {
    /// The kind of the file.
    pub kind: TokenizerKind,
    /// Name of the model: `BPE`, `Unigram`, `WordPiece`, `WordLevel`; for SentencePiece `BPE`, `Unigram`.
    pub model: &'static str,
    /// Number of tokens of the model itself, without added tokens.
    pub base_size: u64,
    /// Number of distinct tokens, including added tokens.
    pub full_size: u64,
    /// The greatest id. It exceeds `full_size` if ids have gaps.
    pub greatest_id: u32,
    /// Tokens added to the model, by id.
    pub added: Vec<AddedTokenFacts>,
    /// Whether the file has a normalizer.
    pub has_normalizer: bool,
    /// Whether the template adds tokens before or after every text.
    pub has_template: bool,
    /// Whether the file has truncation settings.
    pub has_truncation: bool,
    /// Whether the file has padding settings.
    pub has_padding: bool,
    /// Whether the fast tokenizer is currently used.
    pub is_fast: bool,
    /// The reason why the fast tokenizer is not used for this file; `None` if it is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_because: Option<String>,
    /// BLAKE3 of the file, in hexadecimal digits.
    pub hash: String,
    /// Warnings to show before packing with this tokenizer, one sentence each.
    pub warnings: Vec<String>,
}

/// Start of the warning about tokens that the template puts before texts.
pub(super) const TEMPLATE_PREFIX: &str = "the template puts ";
/// The warning about a tokenizer without an EOS token.
pub(super) const NO_END: &str = "no token is recognized as the end of text";

impl TokenizerFacts {
    /// Returns the facts of a model of `size` tokens without added tokens.
    pub(super) fn of_model(kind: TokenizerKind, model: &'static str, size: u64, hash: String) -> Self {
        Self {
            kind,
            model,
            base_size: size,
            full_size: size,
            greatest_id: u32::try_from(size).map_or(u32::MAX, |size| size.saturating_sub(1)),
            added: Vec::new(),
            has_normalizer: false,
            has_template: false,
            has_truncation: false,
            has_padding: false,
            is_fast: false,
            slow_because: None,
            hash,
            warnings: Vec::new(),
        }
    }

    /// Returns the warnings that apply. Omits the warning that the EOS token is missing if the plan names one, and the warning about the
    /// template if the plan does not use it.
    pub fn warnings_for(&self, names_an_end: bool, uses_template: bool) -> Vec<String> {
        let applies = |words: &&String| match words.as_str() {
            NO_END => !names_an_end,
            words => uses_template || !words.starts_with(TEMPLATE_PREFIX),
        };
        self.warnings.iter().filter(applies).cloned().collect()
    }
}

/// A token that is not part of the model's own vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AddedTokenFacts {
    /// Id of the token.
    pub id: u32,
    /// Spelling of the token, not escaped for display.
    pub text: String,
    /// Whether it is a control token (`special`).
    pub is_special: bool,
}

/// Ids that the post-processor of the file adds to a single text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Template {
    /// Ids before the ids of the text.
    pub prefix: Vec<u32>,
    /// Ids after the ids of the text.
    pub suffix: Vec<u32>,
}

/// A side of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The start of the text.
    Left,
    /// The end of the text.
    Right,
}

/// The truncation of long texts, as stored in `tokenizer.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Truncation {
    /// Maximum number of ids of a text, including those of the template.
    pub max_length: usize,
    /// The side on which ids are removed.
    pub side: Side,
}

/// The padding of short texts, as stored in `tokenizer.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Padding {
    /// The minimum length of texts, in ids.
    pub length: PaddingLength,
    /// If set and above 0, lengths are rounded up to a multiple of this.
    pub multiple_of: Option<usize>,
    /// The side on which padding is added.
    pub side: Side,
    /// The padding id.
    pub id: u32,
}

/// The minimum length of padded texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaddingLength {
    /// The length of the longest text of the batch.
    Longest,
    /// A fixed length, in ids.
    Fixed(usize),
}

impl Template {
    /// Whether the template adds no ids.
    pub fn is_empty(&self) -> bool {
        self.prefix.is_empty() && self.suffix.is_empty()
    }

    /// Returns prefix, ids and suffix. As in the reference, the raw ids are first truncated to `max_length` minus the length of the
    /// template. Fails with a usage failure if the template alone is longer.
    pub fn with_special_ids<'a>(&'a self, ids: &'a [u32], truncation: Option<&Truncation>) -> Outcome<[&'a [u32]; 3]> {
        let kept = match truncation {
            Some(truncation) => truncation.truncate(ids, self.prefix.len() + self.suffix.len())?,
            None => ids,
        };
        Ok([&self.prefix, kept, &self.suffix])
    }

    /// Appends the result of [`with_special_ids`](Self::with_special_ids) to `out`.
    pub fn apply(&self, ids: &[u32], truncation: Option<&Truncation>, out: &mut Vec<u32>) -> Outcome<()> {
        let parts = self.with_special_ids(ids, truncation)?;
        out.reserve(parts.iter().map(|part| part.len()).sum());
        parts.iter().for_each(|part| out.extend_from_slice(part));
        Ok(())
    }
}

impl Truncation {
    /// Returns the number of raw ids of a text that are removed if `around` ids are added to the text.
    pub fn truncated_ids(&self, ids: usize, around: usize) -> usize {
        ids.saturating_sub(self.max_length.saturating_sub(around))
    }

    /// Returns the raw ids of a text that remain if `around` ids are added to the text.
    pub fn truncate<'a>(&self, ids: &'a [u32], around: usize) -> Outcome<&'a [u32]> {
        if self.max_length < around {
            let why = format!(
                "{} at most {} no room for the {around} of the template",
                gristmill_core::text::count(self.max_length as u64, "token"),
                gristmill_core::text::agree(self.max_length as u64, "leaves", "leave")
            );
            return Err(Failure::usage("cutting texts to a length", why));
        }
        let cut = self.truncated_ids(ids.len(), around);
        Ok(match self.side {
            Side::Left => &ids[cut..],
            Side::Right => &ids[..ids.len() - cut],
        })
    }
}

impl Padding {
    /// Pads all texts of a batch to the same length, as the reference does. Does not truncate.
    pub fn apply(&self, batch: &mut [Vec<u32>]) {
        let mut length = match self.length {
            PaddingLength::Fixed(length) => length,
            PaddingLength::Longest => batch.iter().map(Vec::len).max().unwrap_or(0),
        };
        if let Some(multiple) = self.multiple_of.filter(|multiple| *multiple > 0) {
            length = length.div_ceil(multiple).saturating_mul(multiple);
        }
        for ids in batch {
            let missing = length.saturating_sub(ids.len());
            match self.side {
                Side::Right => ids.resize(ids.len() + missing, self.id),
                Side::Left => drop(ids.splice(..0, std::iter::repeat_n(self.id, missing))),
            }
        }
    }
}
