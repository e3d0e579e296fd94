//! The tokenizer's part of a configuration: its files, and the limits of the length of documents.

use super::Section;
use gristmill_core::{Outcome, Subject};
use gristmill_pycompat::{json_read, Node};
use gristmill_storage::files;
use gristmill_storage::read::read_whole;
use gristmill_tokenizer::{path_of, Tokenizer};
use std::path::Path;

/// Maximum size of a JSON file next to a tokenizer, in bytes.
const MAX_CONFIG_BYTES: u64 = 16 << 20;
/// Key of the padding token.
const PAD_TOKEN: &str = "pad_token";
/// Key of the unknown token.
const UNKNOWN_TOKEN: &str = "unk_token";
/// Beginning of the names of the classes without default tokens.
const GENERAL_CLASS: &str = "PreTrainedTokenizer";
/// Keys of special tokens with a single text as value.
const ONE_TOKEN: [&str; 7] =
    ["bos_token", "eos_token", UNKNOWN_TOKEN, "sep_token", PAD_TOKEN, "cls_token", "mask_token"];
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
        let pad_token = named.or_else(|| stored.get(PAD_TOKEN).and_then(token_text).map(str::to_owned));
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
    stored_file(Path::new(path), "tokenizer_config.json")
}

/// Returns the unknown token as the reference program knows it: from the files next to `tokenizer.json`, or the default of the class that
/// they name, which is the unknown token of the model. The general class has no default.
pub(in crate::tokens::formats::modalities::engine) fn stored_unknown(
    named: &str,
    tokenizer: &Tokenizer,
) -> Outcome<Option<u32>> {
    let Ok(path) = path_of(named) else { return Ok(None) };
    let config = stored_file(&path, "tokenizer_config.json")?;
    // The older file counts only if the newer one does not list the added tokens.
    let older = match config.get("added_tokens_decoder") {
        Some(_) => Node::Null,
        None => stored_file(&path, "special_tokens_map.json")?,
    };
    if let Some(token) = older.get(UNKNOWN_TOKEN).or_else(|| config.get(UNKNOWN_TOKEN)) {
        return Ok(token_text(token).and_then(|token| tokenizer.id_of(token)));
    }
    let model = stored_file(&path, "config.json")?;
    let keys = [(&config, "tokenizer_class"), (&model, "tokenizer_class"), (&model, "model_type")];
    let class = keys.into_iter().find_map(|(file, key)| file.get(key).and_then(Node::as_str));
    Ok(tokenizer.unknown().filter(|_| class.is_some_and(|class| !class.starts_with(GENERAL_CLASS))))
}

/// Returns the text of a token, which is a text or a map with its content.
fn token_text(token: &Node) -> Option<&str> {
    token.as_str().or_else(|| token.get("content")?.as_str())
}

/// Reads a JSON file from the folder of the tokenizer; null if it is missing or cannot be read.
fn stored_file(path: &Path, name: &str) -> Outcome<Node> {
    let folder = if files::is_dir(path) { path } else { path.parent().unwrap_or(Path::new("")) };
    let bytes = read_whole(&folder.join(name), MAX_CONFIG_BYTES)?.unwrap_or_default();
    Ok(std::str::from_utf8(&bytes).ok().and_then(|text| json_read::read(text).ok()).unwrap_or(Node::Null))
}
