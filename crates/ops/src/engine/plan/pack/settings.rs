//! The settings of a plan of packing: their labels and notes, and when each of them applies.

use super::values;
use crate::engine::plan::setting::{Kind, Setting};
use gristmill_core::pack::TextField;
use gristmill_core::PackPlan;

/// A setting of a plan of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PackSetting {
    /// The files that were found.
    Files,
    /// `--glob`.
    Glob,
    /// The keys found in real documents, and whether a program replaces them.
    Keys,
    /// `--jq`.
    Jq,
    /// `--tokenizer`.
    Tokenizer,
    /// The tokenizers that were found.
    Found,
    /// `--eos-token`.
    End,
    /// `--format modalities`.
    Modalities,
    /// `--truncate-to`.
    TruncateTo,
    /// `--pad-to`.
    PadTo,
    /// `--pad-token`.
    PadToken,
    /// `--eod-token`.
    EodToken,
    /// `--index`.
    Index,
    /// `--skip-bad-lines`.
    SkipBadLines,
    /// `--batch-lines`.
    BatchLines,
    /// `--format nanosets`.
    Nanosets,
    /// `--paths-file`.
    PathsFile,
    /// `--tasks`.
    Tasks,
    /// `--shuffle documents`.
    Shuffle,
    /// `--chunk-size`.
    ChunkSize,
    /// `--max-tokens-per-file`.
    FileTokens,
    /// `--loss-masks nanosets`.
    NanosetsMasks,
    /// `--rank`.
    Rank,
    /// `--skip`.
    Skip,
    /// `--limit`.
    Limit,
    /// `--prefix`.
    Prefix,
    /// `--names classic`.
    Classic,
    /// `--logging-dir`.
    Logs,
    /// `--format forager`.
    Forager,
    /// `--sample-size`; empty means `--variable`.
    SampleSize,
    /// `--dtype`.
    TokenType,
    /// `--loss-masks forager`.
    ForagerMasks,
    /// `--mask-parts`.
    MaskParts,
    /// `--mask-eos`.
    MaskEnd,
    /// The inverse of `--no-special-tokens`.
    SpecialTokens,
    /// `--file-suffix`.
    Suffix,
    /// `--index-folder`.
    IndexFolder,
    /// `--output`.
    Output,
    /// `--tokenizer-name`.
    TokenizerName,
    /// `--seed`.
    Seed,
    /// `--force-overwrite`.
    Overwrite,
}

impl Setting for PackSetting {
    type Plan = PackPlan;
    const ALL: &'static [Self] = &[
        Self::Files,
        Self::Glob,
        Self::Keys,
        Self::Jq,
        Self::Tokenizer,
        Self::Found,
        Self::End,
        Self::Modalities,
        Self::TruncateTo,
        Self::PadTo,
        Self::PadToken,
        Self::EodToken,
        Self::Index,
        Self::SkipBadLines,
        Self::BatchLines,
        Self::Nanosets,
        Self::PathsFile,
        Self::Tasks,
        Self::Shuffle,
        Self::ChunkSize,
        Self::FileTokens,
        Self::NanosetsMasks,
        Self::Rank,
        Self::Skip,
        Self::Limit,
        Self::Prefix,
        Self::Classic,
        Self::Logs,
        Self::Forager,
        Self::SampleSize,
        Self::TokenType,
        Self::ForagerMasks,
        Self::MaskParts,
        Self::MaskEnd,
        Self::SpecialTokens,
        Self::Suffix,
        Self::IndexFolder,
        Self::Output,
        Self::TokenizerName,
        Self::Seed,
        Self::Overwrite,
    ];

    fn kind(self) -> Kind {
        match self {
            Self::Files => Kind::Page,
            Self::Keys | Self::Found => Kind::List,
            Self::TokenType => Kind::Choice,
            Self::Modalities
            | Self::SkipBadLines
            | Self::Nanosets
            | Self::Shuffle
            | Self::NanosetsMasks
            | Self::Classic
            | Self::Forager
            | Self::ForagerMasks
            | Self::MaskEnd
            | Self::SpecialTokens
            | Self::Overwrite => Kind::Switch,
            _ => Kind::Text,
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Glob => "only files",
            Self::Keys => "text",
            Self::Jq => "jq program",
            Self::Tokenizer => "tokenizer",
            Self::Found => "found",
            Self::End => "end token",
            Self::Output => "output",
            Self::Modalities => "Modalities",
            Self::TruncateTo => "cut to",
            Self::PadTo => "fill up to",
            Self::PadToken => "filled with",
            Self::EodToken => "own end token",
            Self::Index => "raw index",
            Self::SkipBadLines => "skip bad lines",
            Self::BatchLines => "lines at a time",
            Self::Nanosets => "Nanosets",
            Self::PathsFile => "list of files",
            Self::Tasks => "tasks",
            Self::Shuffle => "shuffle",
            Self::ChunkSize => "chunk size",
            Self::FileTokens => "tokens per file",
            Self::NanosetsMasks => "loss masks",
            Self::Rank => "only task",
            Self::Skip => "skip documents",
            Self::Limit => "documents",
            Self::Prefix => "name prefix",
            Self::Classic => "classic names",
            Self::Logs => "log folder",
            Self::Forager => "Forager",
            Self::SampleSize => "sample size",
            Self::TokenType => "token type",
            Self::ForagerMasks => "loss masks",
            Self::MaskParts => "masked parts",
            Self::MaskEnd => "mask end token",
            Self::Suffix => "name suffix",
            Self::IndexFolder => "index folder",
            Self::SpecialTokens => "special tokens",
            Self::TokenizerName => "call it",
            Self::Seed => "seed",
            Self::Overwrite => "overwrite",
        }
    }

    fn note(self) -> &'static str {
        match self {
            Self::Glob => "all; for example **/*.jsonl.zst",
            Self::Files | Self::Found => "",
            Self::Keys => "a key, or a jq program that begins with a dot",
            Self::Jq => ".text, or .parts | map(.text) | join(\"\\n\")",
            Self::Tokenizer => "tokenizer.json, its folder, a .model, or a name in the hub's cache",
            Self::End => "none: only what the tokenizer's template adds",
            Self::Output => "where the tokens go",
            Self::Modalities => "a .pbin for each file",
            Self::TruncateTo => "documents are not cut",
            Self::PadTo => "documents are not filled up",
            Self::PadToken => "the tokenizer's own token",
            Self::EodToken => "the end token of all formats",
            Self::Index => "the lines are read as they are",
            Self::SkipBadLines => "leave lines that are no JSON out of the raw index",
            Self::BatchLines => "1,000; a bad document takes the rest of its batch with it, as there",
            Self::Nanosets => "a folder of .ds files, by datatrove's rules",
            Self::PathsFile => "all; else a file that lists them",
            Self::Tasks => "one a file, at most 64",
            Self::Shuffle => "the documents of a task, by the seed",
            Self::ChunkSize => "chunks are not cut or shuffled",
            Self::FileTokens => "shuffled files are not split",
            Self::NanosetsMasks => "write .ds.loss from no_loss_ranges",
            Self::Rank => "all tasks",
            Self::Skip => "none at the start of a task",
            Self::Limit => "all of a task",
            Self::Prefix => "none",
            Self::Classic => "name shuffled files as datatrove 0.4 does",
            Self::Logs => "none; else stats/, completions/ and so on",
            Self::Forager => "tokenized-samples/ and index/",
            Self::SampleSize => "one sample a document, of its own length",
            Self::TokenType => "how an id is stored",
            Self::ForagerMasks => r#"a line: {"parts":[{"type":"prompt","text":"…"}]}"#,
            Self::MaskParts => "none",
            Self::MaskEnd => "end tokens are not trained on either",
            Self::Suffix => "tokenized-samples",
            Self::IndexFolder => "index",
            Self::SpecialTokens => "the tokenizer's template adds its own",
            Self::TokenizerName => "the tokenizer's path, in metadata files",
            Self::Seed => "42",
            Self::Overwrite => "replace what is there",
        }
    }

    fn group(self) -> Option<&'static str> {
        match self {
            Self::TruncateTo
            | Self::PadTo
            | Self::PadToken
            | Self::EodToken
            | Self::Index
            | Self::SkipBadLines
            | Self::BatchLines => Some("Modalities"),
            Self::PathsFile
            | Self::Tasks
            | Self::Shuffle
            | Self::ChunkSize
            | Self::FileTokens
            | Self::NanosetsMasks
            | Self::Rank
            | Self::Skip
            | Self::Limit
            | Self::Prefix
            | Self::Classic
            | Self::Logs => Some("Nanosets"),
            Self::SampleSize
            | Self::TokenType
            | Self::ForagerMasks
            | Self::MaskParts
            | Self::MaskEnd
            | Self::SpecialTokens
            | Self::Suffix
            | Self::IndexFolder => Some("Forager"),
            _ => None,
        }
    }

    fn is_path(self) -> bool {
        matches!(self, Self::Tokenizer | Self::PathsFile | Self::Logs | Self::Output)
    }

    fn is_there(self, plan: &PackPlan) -> bool {
        match self {
            Self::Jq => matches!(plan.text, TextField::Jq(_)),
            // Batches matter only when the bytes of the other program are reproduced.
            Self::BatchLines => plan.modalities.is_some() && plan.compat,
            Self::PadToken => plan.modalities.as_ref().is_some_and(|target| target.pad_to.is_some()),
            Self::MaskParts | Self::MaskEnd => plan.forager.as_ref().is_some_and(|target| target.masks.is_some()),
            _ => match self.group() {
                Some("Modalities") => plan.modalities.is_some(),
                Some("Nanosets") => plan.nanosets.is_some(),
                Some(_) => plan.forager.is_some(),
                None => true,
            },
        }
    }

    fn is_second_way(self) -> bool {
        matches!(self, Self::Found | Self::Jq)
    }

    fn words(self, plan: &PackPlan) -> String {
        values::words(self, plan)
    }

    fn set(self, plan: &mut PackPlan, words: &str) -> Result<(), String> {
        values::set(self, plan, words)
    }

    fn is_on(self, plan: &PackPlan) -> bool {
        values::is_on(self, plan)
    }

    fn switch(self, plan: &mut PackPlan, on: bool) {
        values::switch(self, plan, on);
    }

    fn choices(self, plan: &PackPlan) -> (Vec<(String, &'static str)>, usize) {
        values::types(plan)
    }

    fn choose(self, plan: &mut PackPlan, number: usize) {
        values::choose_type(plan, number);
    }
}
