//! The steps of the guided pack, and the fields in them.

use crate::model::pack::TokenType;

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

impl Step {
    /// All of them in order.
    pub const ALL: [Self; 5] = [Self::Source, Self::Text, Self::Tokenizer, Self::Targets, Self::Review];

    /// Its name in the list of steps.
    pub fn title(self) -> &'static str {
        match self {
            Self::Source => "Source",
            Self::Text => "Text",
            Self::Tokenizer => "Tokenizer",
            Self::Targets => "Formats",
            Self::Review => "Review",
        }
    }

    /// Its name in a draft.
    pub fn id(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Text => "text",
            Self::Tokenizer => "tokenizer",
            Self::Targets => "formats",
            Self::Review => "review",
        }
    }

    /// Its number, from 0.
    pub fn index(self) -> usize {
        Self::ALL.iter().position(|step| *step == self).unwrap_or(0)
    }

    /// The one after it; the last one stays.
    pub fn next(self) -> Self {
        Self::ALL.get(self.index() + 1).copied().unwrap_or(self)
    }

    /// The one before it.
    pub fn previous(self) -> Option<Self> {
        self.index().checked_sub(1).and_then(|index| Self::ALL.get(index).copied())
    }
}

/// How a field is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Typed.
    Text,
    /// On or off.
    Switch,
    /// One of several, stepped through by the arrows.
    Choice,
    /// A list that the cursor moves in.
    List,
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
    /// `--output`.
    Output,
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
    /// `--format nanosets`.
    Nanosets,
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
    /// `--file-suffix`.
    Suffix,
    /// `--index-folder`.
    IndexFolder,
    /// `--no-special-tokens`, the other way round.
    SpecialTokens,
    /// `--tokenizer-name`.
    TokenizerName,
    /// `--seed`.
    Seed,
    /// `--force-overwrite`.
    Overwrite,
}

impl Field {
    /// How it is answered.
    pub fn kind(self) -> Kind {
        match self {
            Self::Files | Self::Keys | Self::Found => Kind::List,
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

    /// What it is called.
    pub fn label(self) -> &'static str {
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
            Self::Nanosets => "Nanosets",
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

    /// What it means, or what an empty field means.
    pub fn note(self) -> &'static str {
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
            Self::Nanosets => "a folder of .ds files, by datatrove's rules",
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
            Self::ForagerMasks => "lines hold parts; prompts are not trained on",
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

    /// Whether it is shown only when everything is.
    pub fn is_advanced(self) -> bool {
        matches!(
            self,
            Self::TruncateTo
                | Self::PadTo
                | Self::PadToken
                | Self::EodToken
                | Self::Index
                | Self::SkipBadLines
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

    /// Whether it belongs to a format, and stands indented below it.
    pub fn is_of_format(self) -> bool {
        !matches!(
            self,
            Self::Modalities
                | Self::Nanosets
                | Self::Forager
                | Self::Output
                | Self::TokenizerName
                | Self::Seed
                | Self::Overwrite
        )
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
