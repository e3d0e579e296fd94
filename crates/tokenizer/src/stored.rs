//! The fields of a `tokenizer.json` that the reference crate does not expose.

use super::file::File;
use serde::Deserialize;

/// The fields of the file that are parsed without the reference crate.
#[derive(Debug, Default, Deserialize)]
pub(super) struct StoredFields {
    #[serde(default)]
    pub(super) added_tokens: Vec<StoredToken>,
    #[serde(default)]
    pub(super) model: StoredModel,
    #[serde(default)]
    pub(super) decoder: serde_json::Value,
}

/// An added token as stored in the file.
#[derive(Debug, Deserialize)]
pub(super) struct StoredToken {
    pub(super) id: u32,
    pub(super) content: String,
}

/// The model without its vocabulary.
#[derive(Debug, Default, Deserialize)]
pub(super) struct StoredModel {
    #[serde(default, rename = "type")]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) unk_id: Option<u32>,
}

impl StoredFields {
    /// Whether the decoder has this type, or a step of this type.
    pub(super) fn decodes_by(&self, kind: &str) -> bool {
        let is_kind = |part: &serde_json::Value| part.get("type").and_then(|found| found.as_str()) == Some(kind);
        let steps = self.decoder.get("decoders").and_then(|steps| steps.as_array());
        is_kind(&self.decoder) || steps.is_some_and(|steps| steps.iter().any(is_kind))
    }

    /// Returns the fields of a parsed file.
    pub(super) fn of(file: &File<'_>) -> Option<Self> {
        let tokens = file.added_tokens.iter().map(|token| StoredToken::deserialize(token).ok());
        Some(Self {
            added_tokens: tokens.collect::<Option<_>>()?,
            model: StoredModel { kind: file.model.kind.as_ref().map(|kind| kind.0.to_string()), unk_id: None },
            decoder: file.decoder.clone(),
        })
    }

    /// Parses the fields if the file has the usual form; otherwise returns empty fields.
    pub(super) fn read(json: &[u8]) -> Self {
        serde_json::from_slice(json).unwrap_or_default()
    }
}
