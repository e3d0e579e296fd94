//! The answers to `pack --format modalities`.

use serde::{Deserialize, Serialize};

/// Options of the Modalities output: one `.pbin` file per input file (docs/formats/modalities.md §3 and §4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ModalitiesTarget {
    /// The token that ends every document; `None` means the plan's end token, which is then required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eod_token: Option<String>,
    /// The raw index; `None` means the one next to the input, which is built if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<String>,
    /// Truncates documents to this number of tokens, including those of the template, excluding the end token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncate_to: Option<u32>,
    /// Pads documents to this number of tokens, excluding the end token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad_to: Option<u32>,
    /// The spelling of the padding token; `None` means that of the tokenizer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pad_token: Option<String>,
    /// Whether to omit invalid JSON lines from the raw index instead of refusing the file.
    #[serde(default)]
    pub skip_bad_lines: bool,
    /// Number of lines per batch. Used only with `compat`, where a bad document loses its batch and all later ones.
    #[serde(default = "default_batch")]
    pub batch_lines: u64,
}

/// User-facing name of the index of a file of text.
pub(crate) const RAW_INDEX_TITLE: &str = "raw index of Modalities";

/// Default number of lines per batch.
pub const DEFAULT_BATCH_LINES: u64 = 1_000;

fn default_batch() -> u64 {
    DEFAULT_BATCH_LINES
}

impl Default for ModalitiesTarget {
    fn default() -> Self {
        Self {
            eod_token: None,
            index: None,
            truncate_to: None,
            pad_to: None,
            pad_token: None,
            skip_bad_lines: false,
            batch_lines: DEFAULT_BATCH_LINES,
        }
    }
}
