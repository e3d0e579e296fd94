//! The answers to `pack --format olmo`.

use super::{DocumentShuffle, TokenType};
use serde::{Deserialize, Serialize};

/// Default exclusive limit of the number of tokens per OLMo file.
pub const DEFAULT_OLMO_FILE_TOKENS: u64 = 1 << 30;

/// The source of the ids of documents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentId {
    /// The text at this path of keys, separated by dots (`--id-key`).
    Key(String),
    /// The name of the file and the line number (`--id-key none`).
    Line,
}

impl Default for DocumentId {
    fn default() -> Self {
        Self::Key("id".into())
    }
}

/// Options of the OLMo output: token files, each with a table of its documents (docs/formats/olmo.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OlmoTarget {
    /// The source of the ids of documents.
    #[serde(default)]
    pub id: DocumentId,
    /// Whether documents are shuffled.
    #[serde(default, skip_serializing_if = "DocumentShuffle::is_none")]
    pub shuffle: DocumentShuffle,
    /// The integer type of a token; `None` means the smallest type for the vocabulary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<TokenType>,
    /// Exclusive limit of the number of tokens per file; `None` means [`DEFAULT_OLMO_FILE_TOKENS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens_per_file: Option<u64>,
}
