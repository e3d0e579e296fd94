//! The steps of the guided pack, and the fields in them.

use crate::model::pack::TokenType;
use crate::tui::form::{self, Kind};
use crate::tui::keymap::Action;

/// A step, in the order in which they are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// Which files.
    #[default]
    Source,
    /// Where the text stands.
    Text,
    /// Which tokenizer.
    Tokenizer,
    /// What is made, and where.
    Targets,
    /// What a run would do.
    Review,
}

impl form::Step for Step {
    const ALL: &'static [Self] = &[Self::Source, Self::Text, Self::Tokenizer, Self::Targets, Self::Review];

    fn title(self) -> &'static str {
        match self {
            Self::Source => "Source",
            Self::Text => "Text",
            Self::Tokenizer => "Tokenizer",
            Self::Targets => "Formats",
            Self::Review => "Review",
        }
    }

    fn id(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Text => "text",
            Self::Tokenizer => "tokenizer",
            Self::Targets => "formats",
            Self::Review => "review",
        }
    }

    fn of_action(action: Action) -> Option<Self> {
        match action {
            Action::GoSource => Some(Self::Source),
            Action::GoText => Some(Self::Text),
            Action::GoTokenizer => Some(Self::Tokenizer),
            Action::GoFormats => Some(Self::Targets),
            Action::GoReview => Some(Self::Review),
            _ => None,
        }
    }
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// The files that were found.
    Files,
    /// `--glob`.
    Glob,
    /// The keys of real documents, and whether a program takes their place.
    Keys,
    /// `--jq`.
    Jq,
    /// `--tokenizer`.
    Tokenizer,
    /// Tokenizers that were found.
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
    /// `--sample-size`; empty is `--variable`.
    SampleSize,
    /// `--dtype`.
    TokenType,
    /// `--loss-masks forager`.
    ForagerMasks,
    /// `--mask-parts`.
    MaskParts,
    /// `--mask-eos`.
    MaskEnd,
    /// `--no-special-tokens`, the other way round.
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

impl form::Field for Field {
    type Step = Step;
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

    fn step(self) -> Step {
        match self {
            Self::Files | Self::Glob => Step::Source,
            Self::Keys | Self::Jq => Step::Text,
            Self::Tokenizer | Self::Found | Self::End => Step::Tokenizer,
            _ => Step::Targets,
        }
    }

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
            Self::Files | Self::Keys | Self::Found => "",
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

    fn is_advanced(self) -> bool {
        matches!(
            self,
            Self::TruncateTo
                | Self::PadTo
                | Self::PadToken
                | Self::EodToken
                | Self::Index
                | Self::SkipBadLines
                | Self::BatchLines
                | Self::PathsFile
                | Self::ChunkSize
                | Self::FileTokens
                | Self::NanosetsMasks
                | Self::Rank
                | Self::Skip
                | Self::Limit
                | Self::Prefix
                | Self::Classic
                | Self::Logs
                | Self::ForagerMasks
                | Self::MaskParts
                | Self::MaskEnd
                | Self::Suffix
                | Self::IndexFolder
                | Self::SpecialTokens
                | Self::TokenizerName
                | Self::Seed
                | Self::Overwrite
        )
    }

    /// The settings of a format stand below its name.
    fn indent(self) -> u16 {
        let is_of_all = matches!(
            self,
            Self::Modalities
                | Self::Nanosets
                | Self::Forager
                | Self::Output
                | Self::TokenizerName
                | Self::Seed
                | Self::Overwrite
        );
        if self.step() == Step::Targets && !is_of_all {
            4
        } else {
            0
        }
    }
}

/// The types of a Forager token, as they are stepped through; none is the reference's default.
pub const TYPES: [Option<TokenType>; 7] = [
    None,
    Some(TokenType::U8),
    Some(TokenType::U16),
    Some(TokenType::U32),
    Some(TokenType::I32),
    Some(TokenType::I64),
    Some(TokenType::U64),
];
