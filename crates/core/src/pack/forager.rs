//! The answers to `pack --format forager`.

use super::TokenType;
use serde::{Deserialize, Serialize};

/// How documents are divided into Forager samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleSize {
    /// Concatenates all documents, each with its end token, and divides them into samples of this many tokens.
    Fixed(u64),
    /// One sample per document, without an end token.
    Variable,
}

/// Loss masks of Forager samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MaskedParts {
    /// Types of parts that are excluded from the loss.
    pub parts: Vec<String>,
    /// Whether the end token is excluded from the loss too.
    #[serde(default)]
    pub mask_end: bool,
}

/// Options of the Forager output: samples and their index (docs/formats/forager.md §3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ForagerTarget {
    /// Size of a sample.
    pub sample_size: SampleSize,
    /// The integer type of a token; `None` means the default of the reference program: two bytes, or four with loss masks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<TokenType>,
    /// Loss masks: lines contain `parts`, and masks are written with the tokens. `None` means no masks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub masks: Option<MaskedParts>,
    /// Suffix of the name of each sample file.
    #[serde(default = "default_suffix")]
    pub file_suffix: String,
    /// Name of the index folder.
    #[serde(default = "default_index_folder")]
    pub index_folder: String,
    /// Whether the template of the tokenizer is added.
    #[serde(default = "yes")]
    pub special_tokens: bool,
}

fn default_suffix() -> String {
    "tokenized-samples".into()
}

fn default_index_folder() -> String {
    "index".into()
}

fn yes() -> bool {
    true
}

impl ForagerTarget {
    /// Creates a target with the defaults of the reference program for all other answers.
    pub fn new(sample_size: SampleSize) -> Self {
        Self {
            sample_size,
            token_type: None,
            masks: None,
            file_suffix: default_suffix(),
            index_folder: default_index_folder(),
            special_tokens: true,
        }
    }

    /// Returns the integer type of a token, or its default.
    pub fn token_type(&self) -> TokenType {
        let usual = if self.masks.is_some() { TokenType::U32 } else { TokenType::U16 };
        self.token_type.unwrap_or(usual)
    }
}
