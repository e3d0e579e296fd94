//! The facts about a tokenizer that are known without encoding anything.

use gristmill_core::{Failure, Outcome};
use serde::Serialize;

/// The kind of file that the tokenizer was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenizerKind {
    /// `tokenizer.json`.
    Json,
    /// A SentencePiece `.model`.
    SentencePiece,
    /// No file: texts are numbers.
    Numbers,
}

/// The contents of a tokenizer's file, for reviews, reports and the identity of a plan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenizerFacts {
    /// Whether the file is a `tokenizer.json` or SentencePiece.
    pub kind: TokenizerKind,
    /// Name of the model: `BPE`, `Unigram`, `WordPiece`, `WordLevel`; for SentencePiece `BPE`, `Unigram`.
    pub model: &'static str,
    /// Number of tokens of the model itself, without added ones.
    pub base_size: u64,
    /// Number of tokens of the model and those added to it, each counted once.
    pub full_size: u64,
    /// The greatest id that can be produced; it can be above `full_size` where ids have gaps.
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
    /// Whether a faster reader than the reference is currently used.
    pub is_fast: bool,
    /// Why the fast reader is not used for this file; `None` where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_because: Option<String>,
    /// blake3 of the file's bytes, in hexadecimal.
    pub hash: String,
    /// What the user should know before packing with this tokenizer, one sentence each.
    pub warnings: Vec<String>,
}

/// The warning about a tokenizer without a token that ends a text.
pub(super) const NO_END: &str = "no token is recognized as the end of text";

impl TokenizerFacts {
    /// Returns the facts of a model of `size` tokens, to which nothing is added.
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

    /// Returns the warnings that apply, without that of a missing EOS token if the plan names one.
    pub fn warnings_for(&self, names_an_end: bool) -> Vec<String> {
        self.warnings.iter().filter(|words| !names_an_end || *words != NO_END).cloned().collect()
    }
}

/// A token that was added to the model's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AddedTokenFacts {
    /// Id of the token.
    pub id: u32,
    /// Spelling of the token, raw.
    pub text: String,
    /// Whether it is a control token (`special`).
    pub is_special: bool,
}

/// Ids that the file's post-processor puts around a single text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Template {
    /// Ids before the text's own.
    pub prefix: Vec<u32>,
    /// Ids after the text's own.
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
    /// The side on which ids are cut off.
    pub side: Side,
}

/// The padding of short texts, as stored in `tokenizer.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Padding {
    /// The length in ids up to which texts are padded.
    pub length: PaddingLength,
    /// Lengths are rounded up to a multiple of this, where it is given and above 0.
    pub multiple_of: Option<usize>,
    /// The side on which ids are added.
    pub side: Side,
    /// The id that is added.
    pub id: u32,
}

/// The length up to which texts are padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaddingLength {
    /// The length of the longest text of the batch.
    Longest,
    /// A fixed length, in ids.
    Fixed(usize),
}

impl Template {
    /// Whether nothing is put around a text.
    pub fn is_empty(&self) -> bool {
        self.prefix.is_empty() && self.suffix.is_empty()
    }

    /// Returns prefix, ids and suffix. The raw ids are cut first as in the reference: to `max_length` less the template's own. Fails with a
    /// usage failure if the template alone is longer than that.
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
    /// Returns how many of a text's raw ids are cut off when `around` ids are to be put around them.
    pub fn truncated_ids(&self, ids: usize, around: usize) -> usize {
        ids.saturating_sub(self.max_length.saturating_sub(around))
    }

    /// Returns the part of a text's raw ids that is left when `around` ids are to be put around them.
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
    /// Pads each text of a batch, as the reference does: all to one length; nothing is cut.
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
