//! The tokenizer's part of a configuration: its files, and the limits of the length of documents.

use super::Section;
use gristmill_core::{Outcome, Subject};
use gristmill_pycompat::{json_read, Node};
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use gristmill_tokenizer::Tokenizer;
use std::path::Path;

/// Maximum size of a `tokenizer_config.json`, in bytes.
const MAX_CONFIG_BYTES: u64 = 16 << 20;
/// Key of the padding token.
const PAD_TOKEN: &str = "pad_token";
/// Keys of special tokens with a single text as value.
const ONE_TOKEN: [&str; 7] = ["bos_token", "eos_token", "unk_token", "sep_token", PAD_TOKEN, "cls_token", "mask_token"];
/// Key of the list of additional special tokens.
const ADDITIONAL: &str = "additional_special_tokens";
/// Value from which a length means that there is no limit.
const NO_LIMIT: f64 = 1e20;

/// The tokenizer and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TokenizerConfig {
    pub(super) path: String,
    is_hf: bool,
    truncation: bool,
    pads_to_length: bool,
    max_length: Option<u32>,
    /// Special tokens with their keys, such as `pad_token`.
    special_tokens: Vec<(String, Vec<String>)>,
}

/// The maximum and minimum length of documents.
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
            special_tokens = special_tokens_of(&config.section("special_tokens")?)?;
        }
        let path = config.text("pretrained_model_name_or_path")?;
        Ok(Self { path, is_hf: true, truncation, pads_to_length, max_length, special_tokens })
    }

    /// Returns all special tokens without duplicates.
    pub(super) fn special_tokens(&self) -> Vec<String> {
        let mut tokens: Vec<String> = Vec::new();
        for token in self.special_tokens.iter().flat_map(|(_, tokens)| tokens) {
            if !tokens.contains(token) {
                tokens.push(token.clone());
            }
        }
        tokens
    }

    /// Returns the lengths for truncation and padding. Fails if a special token is not in the vocabulary.
    pub(super) fn lengths(&self) -> Outcome<Lengths> {
        if !self.is_hf {
            return Ok(Lengths::default());
        }
        if !self.special_tokens.is_empty() {
            let tokenizer = Tokenizer::load_unproven(&self.path)?;
            for (key, tokens) in &self.special_tokens {
                for token in tokens {
                    let field = format!("tokenizer.config.special_tokens.{key}");
                    tokenizer.expect_id(token).map_err(|failure| failure.on(Subject::field(field)))?;
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
        let pad_tokens = self.special_tokens.iter().find(|(key, _)| key == PAD_TOKEN).map(|(_, tokens)| tokens);
        let named = pad_tokens.and_then(|tokens| tokens.first().cloned());
        let pad_token = named.or_else(|| match stored.get(PAD_TOKEN) {
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

/// Reads special tokens: a text for each key, and a list for `additional_special_tokens`.
fn special_tokens_of(section: &Section<'_>) -> Outcome<Vec<(String, Vec<String>)>> {
    let mut all = Vec::new();
    for (key, value) in section.entries() {
        let tokens: Option<Vec<String>> = match (key.as_str(), value) {
            (ADDITIONAL, Node::List(items)) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            (key, Node::Str(text)) if ONE_TOKEN.contains(&key) => Some(vec![text.clone()]),
            (ADDITIONAL, _) => None,
            (key, _) if ONE_TOKEN.contains(&key) => None,
            _ => {
                let known = format!("{}, {ADDITIONAL}", ONE_TOKEN.join(", "));
                return Err(section.wrong(key, "there is no special token of this name").with_hint(known));
            }
        };
        let needed = if key == ADDITIONAL { "a list of texts" } else { "a text" };
        let wrong = || section.wrong(key, format!("{needed} is needed, not {}", value.describe()));
        all.push((key.clone(), tokens.ok_or_else(wrong)?));
    }
    Ok(all)
}

/// Reads `tokenizer_config.json` from the folder of the tokenizer; null if it is missing or cannot be read.
pub fn stored_config(path: &str) -> Outcome<Node> {
    let path = Path::new(path);
    let folder = if files::is_dir(path) { path } else { path.parent().unwrap_or(Path::new("")) };
    let bytes = read_whole(&folder.join("tokenizer_config.json"), MAX_CONFIG_BYTES)?.unwrap_or_default();
    Ok(std::str::from_utf8(&bytes).ok().and_then(|text| json_read::read(text).ok()).unwrap_or(Node::Null))
}
