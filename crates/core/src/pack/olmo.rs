//! The answers to `pack --format olmo`.

use super::{DocumentShuffle, TokenType};
use serde::{Deserialize, Serialize};

/// Default number of tokens that a file of OLMo stays below.
pub const DEFAULT_OLMO_FILE_TOKENS: u64 = 1 << 30;

/// Where the ids of documents come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentId {
    /// The text at these keys, separated by dots (`--id-key`).
    Key(String),
    /// The name of the file and the number of the line (`--id-key none`).
    Line,
}

impl Default for DocumentId {
    fn default() -> Self {
        Self::Key("id".into())
    }
}

/// Options of the OLMo output: files of ids, each with a table of its documents (docs/formats/olmo.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct OlmoTarget {
    /// Where the ids of documents come from.
    #[serde(default)]
    pub id: DocumentId,
    /// Whether documents are shuffled.
    #[serde(default, skip_serializing_if = "DocumentShuffle::is_none")]
    pub shuffle: DocumentShuffle,
    /// Type of a token; `None` means the smallest that holds the vocabulary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<TokenType>,
    /// Number of tokens that a file stays below; `None` means [`DEFAULT_OLMO_FILE_TOKENS`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens_per_file: Option<u64>,
}
