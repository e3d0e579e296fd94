//! The options of `pack`.

use crate::tokens::formats;
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::pack::{DocumentShuffle, SpecialToken, TextField, TokenType, DEFAULT_SEED};
use gristmill_core::PackPlan;

type Spec = OptionSpec<PackPlan>;

/// All groups: the shared ones, then those of each format.
pub(super) const GROUPS: &[Group<PackPlan>] = &{
    const SHARED_GROUPS: usize = COMMON.len();
    let mut groups = [GLOBAL; SHARED_GROUPS + formats::GROUPS.len() + 1];
    let mut at = 0;
    while at < SHARED_GROUPS {
        groups[at] = COMMON[at];
        at += 1;
    }
    while at < SHARED_GROUPS + formats::GROUPS.len() {
        groups[at] = formats::GROUPS[at - SHARED_GROUPS];
        at += 1;
    }
    groups
};

const COMMON: &[Group<PackPlan>] = &[
    Group::new("", "source", INPUTS),
    Group::new("", "formats", FORMATS),
    Group::new("", "formats", SAMPLES),
    Group::new("", "tokenizer", TOKENIZER),
    Group::new("", "formats", OUTPUT),
    Group::new("Documents", "text", TEXT),
    Group::new("Documents", "source", FILES),
    Group::new("Documents", "tokenizer", END),
    Group::new("Documents", "formats", SHARED),
    Group::new("Documents", "formats", FILES_OF_TOKENS),
];

const INPUTS: &[Spec] = &[Spec::new(
    "path",
    "PATH",
    "JSONL, CSV and TSV files (plain, .gz, .zst, .bz2, .xz), Parquet and Arrow files, folders of them, .txt files, and hf://datasets/OWNER/NAME",
    Access::Paths { get: |plan| plan.inputs.clone(), set: |plan, paths| plan.inputs = paths },
)
.or_address()
.positional()];

const FORMATS: &[Spec] = &[Spec::new(
    "format",
    "NAME",
    "Framework that reads the output (repeat); one pass writes all",
    Access::Choices { choices: formats::CHOICES, get: formats::names, set: set_formats },
)];

const SAMPLES: &[Spec] = &[Spec::new(
    "sample-size",
    "N",
    "Cut all documents, one after the other, into samples of N tokens",
    Access::Number {
        least: 1,
        most: u64::MAX,
        get: |plan| formats::sample_size(plan).filter(|tokens| *tokens > 0),
        set: |plan, tokens| {
            for format in formats::chosen(plan) {
                if format.sample_size(plan).is_some() {
                    format.set_sample_size(plan, tokens.unwrap_or(0));
                }
            }
        },
    },
)
.alternatives(&["variable"])
.applies(formats::WITH_SAMPLE_SIZE, |plan| formats::sample_size(plan).is_some())];

const TOKENIZER: &[Spec] = &[Spec::new(
    "tokenizer",
    "FILE",
    "tokenizer.json, a folder with one, a SentencePiece .model, or the name of a model on the hub",
    text_or!("", tokenizer),
)
.completes_paths()
.required()];

const OUTPUT: &[Spec] = &[
    Spec::new(
        "tokenizer-name",
        "TEXT",
        "Name of the tokenizer in metadata files, instead of --tokenizer",
        text!(tokenizer_name),
    )
    .unset("the path of the tokenizer")
    .advanced(),
    Spec::new(
        "input-name",
        "TEXT",
        "Name of an input in files that list sources (repeat, one for each input)",
        list!(None, input_names),
    )
    .unset("the inputs as given")
    .applies("a format that lists sources", formats::names_inputs)
    .advanced(),
    Spec::new(
        "output",
        "PATH",
        "File or folder, as the format writes one or several files; with several formats a folder with one for each",
        path!(output),
    )
    .or_store()
    .short('o')
    .required(),
    Spec::new("force-overwrite", "", "Replace an existing output", switch!(overwrite)).replaces("").advanced(),
];

const TEXT: &[Spec] = &[
    Spec::new(
        "text-key",
        "KEY",
        "Key, or column, of the text",
        Access::Text {
            get: |plan| match &plan.text {
                TextField::Key(key) if *key != usual_key() => Some(key.clone()),
                _ => None,
            },
            set: |plan, key| {
                plan.text = key.map_or_else(TextField::default, TextField::Key);
                Ok(())
            },
        },
    )
    .default("text")
    .conflicts(&["jq"]),
    Spec::new("jq", "EXPR", "jq program whose first output is the text", variant_text!(TextField::Jq, text)),
];

const FILES: &[Spec] = &[
    Spec::new("split", "NAME", "Only these splits of a data set, as in train[:10%]+test", text!(split))
        .unset("all files")
        .advanced(),
    Spec::new("subset", "NAME", "The subset whose splits are read, by README.md of the data set", text!(subset))
        .unset("the default one")
        .advanced(),
    Spec::new("glob", "GLOB", "Only files of folders whose relative path fits", text!(glob))
        .unset("all; for example **/*.jsonl.zst")
        .conflicts(&["split", "subset"]),
];

/// Returns the accessors for a special token given by its spelling.
macro_rules! token_text {
    ($field:ident) => {
        Access::Text {
            get: |plan| match &plan.$field {
                Some(SpecialToken::Text(text)) => Some(text.clone()),
                _ => None,
            },
            set: |plan, text| {
                match (text, &plan.$field) {
                    (Some(text), _) => plan.$field = Some(SpecialToken::Text(text)),
                    (None, Some(SpecialToken::Text(_))) => plan.$field = None,
                    (None, _) => {}
                }
                Ok(())
            },
        }
    };
}

/// Returns the accessors for a special token given by its id.
macro_rules! token_id {
    ($field:ident) => {
        Access::Number {
            least: 0,
            most: u32::MAX as u64,
            get: |plan| match plan.$field {
                Some(SpecialToken::Id(id)) => Some(u64::from(id)),
                _ => None,
            },
            set: |plan, id| match (id.and_then(|id| u32::try_from(id).ok()), &plan.$field) {
                (Some(id), _) => plan.$field = Some(SpecialToken::Id(id)),
                (None, Some(SpecialToken::Id(_))) => plan.$field = None,
                (None, _) => {}
            },
        }
    };
}

const END: &[Spec] = &[
    Spec::new("bos-token", "TEXT", "Token that begins each document", token_text!(begin))
        .unset("what the template of the tokenizer adds")
        .conflicts(&["bos-id"])
        .applies("a format with begin tokens", formats::takes_begin_token)
        .advanced(),
    Spec::new("bos-id", "N", "Token that begins each document, by its id", token_id!(begin))
        .unset("by its text")
        .applies("a format with begin tokens", formats::takes_begin_token)
        .advanced(),
    Spec::new("eos-token", "TEXT", "Token that ends each document", token_text!(end))
        .unset("what the template of the tokenizer adds")
        .conflicts(&["eos-id"]),
    Spec::new("eos-id", "N", "Token that ends each document, by its id", token_id!(end))
        .unset("by its text")
        .advanced(),
    Spec::new(
        "special-token",
        "TEXT",
        "Entry of the vocabulary that is a special token, too: texts are cut at it (repeat)",
        list!(None, special_tokens),
    )
    .unset("those of the tokenizer file")
    .advanced(),
];

const SHARED: &[Spec] = &[
    Spec::new("strip", "", "Leave out white space at both ends of each text", switch!(strip)).advanced(),
    Spec::new(
        "limit-tokens",
        "N",
        "Stop each format after the document that brings it to N tokens",
        number!(1..=u64::MAX, limit_tokens),
    )
    .unset("all documents")
    .advanced(),
    Spec::new("seed", "N", "Seed of every shuffle", number_or!(DEFAULT_SEED, 0..=u64::MAX, seed))
        .default("42")
        .advanced(),
    Spec::new(
        "loss-masks",
        "NAME",
        "Write loss masks; of several formats for one only: --loss-masks=NAME",
        Access::Choice { choices: formats::LOSS_MASKS, get: loss_masks, set: set_loss_masks },
    )
    .bare("all")
    .applies("a format with loss masks", |plan| masks_of(plan).next().is_some())
    .advanced(),
];

/// Options that several formats share; each stores the answer in its own target.
const FILES_OF_TOKENS: &[Spec] = &[
    Spec::new(
        "shuffle",
        "HOW",
        "Order of the documents",
        Access::Choice {
            choices: &[
                Choice { name: "none", help: "The order of the files" },
                Choice { name: "documents", help: "All documents of the output, or of each task, permuted" },
            ],
            get: |plan| {
                let shuffle = formats::shared_answer(plan, |info| info.document_shuffle);
                (shuffle == Some(DocumentShuffle::Documents)).then_some("documents")
            },
            set: |plan, shuffle| {
                let shuffle = if shuffle == "documents" { DocumentShuffle::Documents } else { DocumentShuffle::None };
                formats::set_shared_answer(plan, |info| info.document_shuffle, Some(shuffle));
            },
        },
    )
    .default("none")
    .applies("a format that can shuffle documents", |plan| formats::takes(plan, |info| info.document_shuffle)),
    Spec::new(
        "eod-token",
        "TEXT",
        "Token that ends each document, for formats with one of their own",
        Access::Text {
            get: |plan| formats::shared_answer(plan, |info| info.own_end),
            set: |plan, text| {
                formats::set_shared_answer(plan, |info| info.own_end, text);
                Ok(())
            },
        },
    )
    .unset("that of --eos-token")
    .applies("a format with an end token of its own", |plan| formats::takes(plan, |info| info.own_end))
    .advanced(),
    Spec::new(
        "no-special-tokens",
        "",
        "Leave out the tokens of the tokenizer's template",
        Access::Switch {
            get: |plan| formats::shared_answer(plan, |info| info.special_tokens) == Some(false),
            set: |plan, is_on| formats::set_shared_answer(plan, |info| info.special_tokens, Some(!is_on)),
        },
    )
    .applies("a format that can leave out the template", |plan| formats::takes(plan, |info| info.special_tokens))
    .advanced(),
    Spec::new(
        "dtype",
        "TYPE",
        "Type of a token",
        Access::Choice {
            choices: TOKEN_TYPES,
            get: |plan| formats::shared_answer(plan, |info| info.token_type).map(type_name),
            set: |plan, name| {
                let token_type = ALL_TYPES.into_iter().find(|known| type_name(*known) == name);
                formats::set_shared_answer(plan, |info| info.token_type, token_type);
            },
        },
    )
    .unset("the usual type of the format")
    .applies("a format with a choice of token types", |plan| formats::takes(plan, |info| info.token_type)),
    Spec::new(
        "max-tokens-per-file",
        "M",
        "Limit of tokens in a file, at which the next one begins",
        Access::Number {
            least: 1,
            most: u64::MAX,
            get: |plan| formats::shared_answer(plan, |info| info.max_tokens_per_file),
            set: |plan, tokens| formats::set_shared_answer(plan, |info| info.max_tokens_per_file, tokens),
        },
    )
    .unset("the usual limit of the format, or none")
    .applies("a format with a limit of tokens in a file", |plan| formats::takes(plan, |info| info.max_tokens_per_file))
    .advanced(),
];

/// The token types by name. The first name means the default of the format.
const TOKEN_TYPES: &[Choice] = &[
    Choice { name: "auto", help: "The usual type of the format" },
    Choice { name: "u8", help: "One byte, unsigned" },
    Choice { name: "u16", help: "Two bytes, unsigned" },
    Choice { name: "u32", help: "Four bytes, unsigned" },
    Choice { name: "i32", help: "Four bytes, signed" },
    Choice { name: "i64", help: "Eight bytes, signed" },
    Choice { name: "u64", help: "Eight bytes, unsigned" },
];

/// The selectable token types.
const ALL_TYPES: [TokenType; 6] =
    [TokenType::U8, TokenType::U16, TokenType::U32, TokenType::I32, TokenType::I64, TokenType::U64];

/// Returns the value of `--dtype` for a type.
fn type_name(token_type: TokenType) -> &'static str {
    match token_type {
        TokenType::U8 => "u8",
        TokenType::U16 => "u16",
        TokenType::U32 => "u32",
        TokenType::I32 => "i32",
        TokenType::I64 => "i64",
        TokenType::U64 => "u64",
    }
}

const GLOBAL: Group<PackPlan> = Group::new("", "formats", &[Spec::new("compat", "", "", switch!(compat)).global()]);

fn usual_key() -> String {
    match TextField::default() {
        TextField::Key(text) | TextField::Jq(text) => text,
    }
}

/// Adds and removes formats. Formats that remain keep their answers.
fn set_formats(plan: &mut PackPlan, chosen: &[&'static str]) {
    for format in formats::TOKEN_FORMATS {
        format.choose(plan, chosen.contains(&format.name()));
    }
}

/// Returns the formats of a plan that support loss masks, and whether masks are written.
fn masks_of(plan: &PackPlan) -> impl Iterator<Item = (&'static str, bool)> + use<'_> {
    formats::chosen(plan).into_iter().filter_map(|format| Some((format.name(), format.loss_masks(plan)?)))
}

fn loss_masks(plan: &PackPlan) -> Option<&'static str> {
    let with: Vec<&str> = masks_of(plan).filter(|(_, is_on)| *is_on).map(|(name, _)| name).collect();
    match with.as_slice() {
        [] => None,
        [one] => Some(*one),
        _ => Some("all"),
    }
}

fn set_loss_masks(plan: &mut PackPlan, wanted: &'static str) {
    for format in formats::chosen(plan) {
        format.set_loss_masks(plan, wanted == "all" || wanted == format.name());
    }
}
