//! The answers to `pack --format megatron`.

use super::TokenType;
use serde::{Deserialize, Serialize};

/// Options of the Megatron output: pairs of `.bin` and `.idx` (docs/formats/megatron.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MegatronTarget {
    /// The token that ends documents; `None` uses the plan's end token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eod_token: Option<String>,
    /// Type of a token; `None` decides by the size of the vocabulary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<TokenType>,
    /// Closes a pair once it has more tokens than this; `None` writes one pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens_per_file: Option<u64>,
}
