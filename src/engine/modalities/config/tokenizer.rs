//! The tokenizer's part of a configuration: which files, and how long documents may and must be.

use super::Section;
use crate::formats::python::{json_read, Node};
use crate::model::text::display_safe;
use crate::model::{Failure, Outcome, Subject};
use crate::storage::read::read_whole;
use crate::tokenize::Tokenizer;
use std::path::Path;

/// The largest `tokenizer_config.json` that is read.
const LARGEST: u64 = 16 << 20;
/// Lengths above this mean that there is no limit.
const NO_LIMIT: f64 = 1e20;

/// Which tokenizer, and what is asked of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TokenizerConfig {
    pub(super) path: String,
    is_hf: bool,
    truncation: bool,
    pads_to_length: bool,
    max_length: Option<u32>,
    /// Special tokens that are spelled out: `pad_token` and so on.
    special_tokens: Vec<(String, String)>,
}

/// How long documents may and must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lengths {
    pub(super) truncate_to: Option<u32>,
    pub(super) pad_to: Option<u32>,
    pub(super) pad_token: Option<String>,
}

impl TokenizerConfig {
    pub(super) fn of(section: &Section<'_>) -> Outcome<Self> {
        let variant = section.text("variant_key")?;
        let config = section.section("config")?;
        match variant.as_str() {
            "pretrained_hf_tokenizer" => Self::of_hf(&config),
            "pretrained_sp_tokenizer" => Ok(Self {
                path: config.text("tokenizer_model_file")?,
                is_hf: false,
                truncation: false,
                pads_to_length: false,
                max_length: None,
                special_tokens: Vec::new(),
            }),
            _ => Err(section
                .wrong("variant_key", format!("'{variant}' is not known"))
                .with_hint("pretrained_hf_tokenizer or pretrained_sp_tokenizer")),
        }
    }

    fn of_hf(config: &Section<'_>) -> Outcome<Self> {
        let wrong = |key: &str, needed: &str, found: &Node| {
            Err(config.wrong(key, format!("{needed} is needed, not {}", found.describe())))
        };
        let truncation = match config.get("truncation") {
            None | Some(Node::Bool(false)) => false,
            Some(Node::Bool(true)) => true,
            Some(other) => return wrong("truncation", "true or false", other),
        };
        let pads_to_length = match config.get("padding") {
            None | Some(Node::Bool(_)) => false,
            Some(Node::Str(word)) if word == "longest" => false,
            Some(Node::Str(word)) if word == "max_length" => true,
            Some(other) => return wrong("padding", "true, false, longest or max_length", other),
        };
        let max_length = match config.get("max_length") {
            None => None,
            Some(Node::Int(number)) => match u32::try_from(*number) {
                Ok(number) => Some(number),
                Err(_) => return wrong("max_length", "a whole number from 0 up", &Node::Int(*number)),
            },
            Some(other) => return wrong("max_length", "a whole number from 0 up", other),
        };
        let mut special_tokens = Vec::new();
        if config.get("special_tokens").is_some() {
            let section = config.section("special_tokens")?;
            for (key, value) in section.entries() {
                match value {
                    Node::Str(text) => special_tokens.push((key.clone(), text.clone())),
                    other => return Err(section.wrong(key, format!("a text is needed, not {}", other.describe()))),
                }
            }
        }
        let path = config.text("pretrained_model_name_or_path")?;
        Ok(Self { path, is_hf: true, truncation, pads_to_length, max_length, special_tokens })
    }

    /// What becomes of truncation and padding. Special tokens that the vocabulary does not have are a failure.
    pub(super) fn lengths(&self) -> Outcome<Lengths> {
        if !self.is_hf {
            return Ok(Lengths::default());
        }
        if !self.special_tokens.is_empty() {
            let tokenizer = Tokenizer::load(&self.path)?;
            let added = &tokenizer.facts().added;
            for (key, token) in &self.special_tokens {
                tokenizer.expect_id(token)?;
                if !added.iter().any(|known| known.text == *token) {
                    let why = format!(
                        "the {key} {} is an ordinary entry of the vocabulary: the reference would cut it out of the middle of words from then on",
                        display_safe(token)
                    );
                    return Err(Failure::data("reading special_tokens", why).on(Subject::path(&self.path)).with_hint(
                        "put it among the added_tokens of tokenizer.json, or leave it out of special_tokens",
                    ));
                }
            }
        }
        let asks = self.truncation || self.pads_to_length;
        let stored = if asks { stored_config(&self.path)? } else { Node::Null };
        let limit = self.max_length.or_else(|| match stored.get("model_max_length") {
            Some(Node::Int(number)) => u32::try_from(*number).ok(),
            Some(Node::Float(number)) if *number < NO_LIMIT => Some(*number as u32),
            _ => None,
        });
        let named = self.special_tokens.iter().find(|(key, _)| key == "pad_token").map(|(_, token)| token.clone());
        let pad_token = named.or_else(|| match stored.get("pad_token") {
            Some(Node::Str(token)) => Some(token.clone()),
            Some(token) => token.get("content").and_then(Node::as_str).map(str::to_owned),
            None => None,
        });
        let pad_to = limit.filter(|_| self.pads_to_length);
        Ok(Lengths {
            truncate_to: limit.filter(|_| self.truncation),
            pad_to,
            pad_token: pad_token.filter(|_| pad_to.is_some()),
        })
    }
}

/// What `tokenizer_config.json` beside the tokenizer says; nothing where there is none or it cannot be read.
fn stored_config(path: &str) -> Outcome<Node> {
    let path = Path::new(path);
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) };
    let bytes = read_whole(&folder.join("tokenizer_config.json"), LARGEST)?.unwrap_or_default();
    Ok(std::str::from_utf8(&bytes).ok().and_then(|text| json_read::read(text).ok()).unwrap_or(Node::Null))
}
