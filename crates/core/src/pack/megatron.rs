//! The answers to `pack --format megatron`.

use super::TokenType;
use serde::{Deserialize, Serialize};

/// How empty texts are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EmptyTexts {
    /// Empty texts are not packed.
    #[default]
    LeaveOut,
    /// Each is a document without a sequence, as `preprocess_data.py` writes it.
    Document,
    /// Each is a sequence of the end token alone, or of length 0, as `preprocess_data_fast.py` writes it.
    Sequence,
}

/// Options of the Megatron output: pairs of `.bin` and `.idx` (docs/formats/megatron.md).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MegatronTarget {
    /// The keys that each get a pair; empty means the text of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// The token that ends documents; `None` means the plan's end token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eod_token: Option<String>,
    /// The integer type of a token; `None` means that the size of the vocabulary determines it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_type: Option<TokenType>,
    /// Closes a pair once it has more tokens than this; `None` writes one pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens_per_file: Option<u64>,
    /// Whether the template of the tokenizer is added.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub special_tokens: bool,
    /// How empty texts are packed.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub empty_texts: EmptyTexts,
    /// Orders documents as `preprocess_data.py` does with this many partitions; `None` means the order of the inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partitions: Option<u32>,
}

fn yes() -> bool {
    true
}

fn is_usual(empty_texts: &EmptyTexts) -> bool {
    *empty_texts == EmptyTexts::default()
}

impl Default for MegatronTarget {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            eod_token: None,
            token_type: None,
            max_tokens_per_file: None,
            special_tokens: true,
            empty_texts: EmptyTexts::default(),
            partitions: None,
        }
    }
}
