//! The tokenizer arguments of Megatron-LM's tools (docs/formats/megatron.md §5).

use super::super::paths;
use clap::Args;
use gristmill_core::pack::SpecialToken;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_ops::tokens::formats::modalities::engine::config::stored_config;
use gristmill_pycompat::Node;
use gristmill_tokenizer::{numbers_name, path_of, vocab_merges_name, Tokenizer, TokenizerKind, GPT2_END};
use std::path::PathBuf;

const ACTIVITY: &str = "choosing the tokenizer";
/// The tokenizer type for `tokenizer.json`.
const HUGGING_FACE: &str = "HuggingFaceTokenizer";
/// The tokenizer types for SentencePiece models.
const SENTENCE_PIECE: [&str; 3] = ["SentencePieceTokenizer", "GPTSentencePieceTokenizer", "Llama2Tokenizer"];
/// The end token of SentencePiece models.
const SENTENCE_PIECE_END: &str = "</s>";
/// The tokenizer type for a vocabulary and merges.
const BYTE_PAIRS: &str = "GPT2BPETokenizer";
/// The tokenizer type for texts that consist of ids.
const NUMBERS: &str = "NullTokenizer";

/// Which tokenizer, and what it adds.
#[derive(Args, Clone, Debug)]
pub(super) struct TokenizerArgs {
    /// HuggingFaceTokenizer, GPT2BPETokenizer, SentencePieceTokenizer, GPTSentencePieceTokenizer, Llama2Tokenizer or NullTokenizer
    #[arg(long, value_name = "TYPE")]
    tokenizer_type: String,
    /// Folder with a tokenizer.json, name in the local hub cache, or SentencePiece .model
    #[arg(long, value_name = "NAME")]
    tokenizer_model: Option<String>,
    /// Entries of the vocabulary that are special tokens, too
    #[arg(long = "tokenizer-special-tokens", value_name = "TEXT", num_args = 1..)]
    pub(super) special_tokens: Vec<String>,
    /// Leave out the tokens of the tokenizer's template
    #[arg(long)]
    tokenizer_hf_no_include_special_tokens: bool,
    /// Never obeyed: no code of others is run
    #[arg(long)]
    trust_remote_code: bool,
    /// Not supported
    #[arg(long)]
    tokenizer_sentencepiece_legacy: bool,
    /// Not supported
    #[arg(long)]
    no_tokenizer_sentencepiece_ignore_extra_whitespaces: bool,
    /// Not read
    #[arg(long, value_name = "FILE")]
    tokenizer_metadata: Option<String>,
    /// Of GPT2BPETokenizer: the vocab.json
    #[arg(long, value_name = "FILE")]
    vocab_file: Option<PathBuf>,
    /// Of GPT2BPETokenizer: the merges.txt
    #[arg(long, value_name = "FILE")]
    merge_file: Option<PathBuf>,
    /// Of NullTokenizer: the number of ids
    #[arg(long, value_name = "N")]
    vocab_size: Option<u32>,
    /// Of NullTokenizer: the end token (default: the last id)
    #[arg(long, value_name = "ID")]
    null_tokenizer_eod_id: Option<u32>,
    #[command(flatten)]
    others: OtherTokenizerArgs,
}

/// Arguments that change nothing here.
#[derive(Args, Clone, Debug)]
struct OtherTokenizerArgs {
    /// Accepted, without effect
    #[arg(long, value_name = "ID")]
    null_tokenizer_pad_id: Option<String>,
    /// Accepted, without effect
    #[arg(long, value_name = "N")]
    vocab_extra_ids: Option<String>,
    /// Accepted, without effect
    #[arg(long, value_name = "N")]
    padded_vocab_size: Option<String>,
    /// Accepted, without effect
    #[arg(long)]
    no_pad_vocab_size: bool,
    /// Accepted, without effect
    #[arg(long)]
    tokenizer_hf_no_use_fast: bool,
    /// Accepted, without effect
    #[arg(long, value_name = "TEXT")]
    chat_template: Option<String>,
    /// Accepted, without effect
    #[arg(long)]
    use_gigatoken: bool,
}

/// The tokenizer of a run.
pub(super) struct ChosenTokenizer {
    /// A path, or the name of a tokenizer in the hub.
    pub(super) name: String,
    /// The end token, if documents get one.
    pub(super) end: Option<SpecialToken>,
    loaded: Tokenizer,
    /// The settings of `tokenizer_config.json` for begin and end tokens.
    adds: [(&'static str, Option<bool>); 2],
}

impl TokenizerArgs {
    /// Whether the tokens of the template are omitted.
    pub(super) fn leaves_out_template(&self) -> bool {
        self.tokenizer_hf_no_include_special_tokens
    }

    /// Refuses tokenizer types that `preprocess_data_fast` does not support.
    pub(super) fn refuse_slow(&self) -> Outcome<()> {
        match [HUGGING_FACE, BYTE_PAIRS].contains(&self.tokenizer_type.as_str()) {
            true => Ok(()),
            false => Err(wrong_type("preprocess_data_fast has HuggingFaceTokenizer and GPT2BPETokenizer only")
                .with_hint("gristmill megatron preprocess_data also accepts SentencePiece models")),
        }
    }

    /// Returns notes about flags without effect, and about settings that the tokenizer ignores.
    pub(super) fn notes(&self, chosen: &ChosenTokenizer) -> Vec<Problem> {
        let note = |flag: &str, why: String| Problem::note(ProblemKind::Other, Subject::field(flag), why);
        let mut notes = Vec::new();
        if self.trust_remote_code {
            notes.push(note("--trust-remote-code", "it is ignored: code of a tokenizer is never run".into()));
        }
        if self.tokenizer_metadata.is_some() {
            notes.push(note("--tokenizer-metadata", "the file is not read".into()));
        }
        let template = chosen.loaded.template().unwrap_or_default();
        for ((key, is_asked_for), is_added) in
            chosen.adds.iter().zip([!template.prefix.is_empty(), !template.suffix.is_empty()])
        {
            if is_asked_for.is_some_and(|is_asked_for| is_asked_for != is_added) {
                let does = if is_added { "adds such a token" } else { "adds no such token" };
                let why = format!(
                    "tokenizer_config.json has {key} {}, and tokenizer.json {does}: the latter decides",
                    !is_added
                );
                notes.push(note("--tokenizer-model", why));
            }
        }
        notes
    }
}

fn wrong_type(why: &str) -> Failure {
    Failure::usage(ACTIVITY, why).on(Subject::field("--tokenizer-type"))
}

/// Loads the tokenizer and, if `has_end`, looks up its end token.
///
/// # Errors
/// The type is not supported, the tokenizer cannot be loaded, or it has no end token.
pub(super) fn choose(args: &TokenizerArgs, has_end: bool) -> Outcome<ChosenTokenizer> {
    let is_hugging_face = args.tokenizer_type == HUGGING_FACE;
    let is_sentence_piece = SENTENCE_PIECE.contains(&args.tokenizer_type.as_str());
    let name = name_of(args, is_hugging_face || is_sentence_piece)?;
    let changes_pieces =
        args.tokenizer_sentencepiece_legacy || args.no_tokenizer_sentencepiece_ignore_extra_whitespaces;
    if is_sentence_piece && changes_pieces {
        let why = "the legacy settings of SentencePiece models are not supported";
        return Err(wrong_type(why).with_hint("leave out --tokenizer-sentencepiece-legacy and the like"));
    }
    let loaded = Tokenizer::load_unproven(&name)?;
    let kind = match args.tokenizer_type.as_str() {
        NUMBERS => TokenizerKind::Numbers,
        _ if is_sentence_piece => TokenizerKind::SentencePiece,
        _ => TokenizerKind::Json,
    };
    if loaded.kind() != kind {
        let hint = match is_hugging_face {
            true => "--tokenizer-type SentencePieceTokenizer reads a .model",
            false => "--tokenizer-type HuggingFaceTokenizer reads a tokenizer.json",
        };
        return Err(wrong_type("the tokenizer is of another type").with_hint(hint));
    }
    if let Some(token) = args.special_tokens.iter().find(|token| loaded.id_of(token).is_none()) {
        let why = format!("`{token}` is not in the vocabulary, and no token is added to it");
        return Err(Failure::usage(ACTIVITY, why)
            .on(Subject::field("--tokenizer-special-tokens"))
            .with_hint("add it with the transformers library, save the tokenizer, and give that folder"));
    }
    let config = if is_hugging_face { stored_config(&path_of(&name)?.to_string_lossy())? } else { Node::Null };
    let flag = |key| match config.get(key) {
        Some(Node::Bool(is_on)) => (key, Some(*is_on)),
        _ => (key, None),
    };
    let adds = [flag("add_bos_token"), flag("add_eos_token")];
    let token = |key| config.get(key).and_then(|token| token.as_str().or_else(|| token.get("content")?.as_str()));
    let end = match (is_hugging_face, is_sentence_piece) {
        (true, _) => token("eos_token").or_else(|| token("sep_token")),
        (_, true) => Some(SENTENCE_PIECE_END).filter(|end| loaded.id_of(end).is_some()),
        _ => Some(GPT2_END),
    };
    let end = match kind {
        TokenizerKind::Numbers => {
            args.null_tokenizer_eod_id.or(args.vocab_size.map(|size| size - 1)).map(SpecialToken::Id)
        }
        _ => end.map(|end| SpecialToken::Text(end.to_owned())),
    };
    let end = end.filter(|_| has_end);
    if has_end && end.is_none() {
        let why = match is_hugging_face {
            true => "tokenizer_config.json names no eos_token and no sep_token",
            false => "the model has no </s>",
        };
        return Err(Failure::usage(ACTIVITY, why)
            .on(Subject::field("--append-eod"))
            .with_hint("gristmill pack --format megatron --eos-token TEXT takes any token"));
    }
    Ok(ChosenTokenizer { name, end, loaded, adds })
}

/// Returns the path or name of the tokenizer for a plan.
fn name_of(args: &TokenizerArgs, has_model: bool) -> Outcome<String> {
    let missing = |flag, hint| Failure::usage(ACTIVITY, "it is missing").on(Subject::field(flag)).with_hint(hint);
    if has_model {
        let hint = "--tokenizer-model FOLDER: one with a tokenizer.json";
        return args.tokenizer_model.clone().ok_or_else(|| missing("--tokenizer-model", hint));
    }
    if args.tokenizer_type == NUMBERS {
        let size = args.vocab_size.filter(|size| *size > 0);
        return size
            .map(numbers_name)
            .ok_or_else(|| missing("--vocab-size", "--vocab-size N: the number of ids, at least 1"));
    }
    if args.tokenizer_type != BYTE_PAIRS {
        return Err(refusal_of(&args.tokenizer_type));
    }
    let hint = "GPT2BPETokenizer needs --vocab-file VOCAB.json and --merge-file MERGES.txt; \
                --tokenizer-type HuggingFaceTokenizer --tokenizer-model FOLDER reads a tokenizer.json";
    let given = |flag, file: &Option<PathBuf>| file.as_deref().map_or_else(|| Err(missing(flag, hint)), paths::local);
    let (vocab, merges) = (given("--vocab-file", &args.vocab_file)?, given("--merge-file", &args.merge_file)?);
    if merges.contains(':') {
        let failure = Failure::usage(ACTIVITY, "the path has a colon").on(Subject::field("--merge-file"));
        return Err(failure.with_hint("rename the file or its folder"));
    }
    Ok(vocab_merges_name(&vocab, &merges))
}

/// Returns the failure for an unsupported tokenizer type, with a hint about alternatives.
fn refusal_of(tokenizer_type: &str) -> Failure {
    let same_model = "the folder of the tokenizer.json of the same model";
    let (why, folder) = match tokenizer_type {
        "TikTokenizer" => ("tiktoken files are not read", same_model),
        "BertWordPieceLowerCase" | "BertWordPieceCase" => ("a vocab.txt alone is not read", same_model),
        "MultimodalTokenizer" | "NullMultimodalTokenizer" | "SFTTokenizer" => {
            ("conversations are not packed", "apply the chat template first, and pack the texts")
        }
        _ => ("this type does not exist", "a folder with a tokenizer.json"),
    };
    let hint = format!("--tokenizer-type {HUGGING_FACE} --tokenizer-model FOLDER: {folder}");
    wrong_type(&format!("{tokenizer_type}: {why}")).with_hint(hint)
}
