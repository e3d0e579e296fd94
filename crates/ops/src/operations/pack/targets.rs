//! The options of the formats of `pack`.

use super::config::read_config;
use super::options::{has_masked_parts, usual_forager, usual_parts};
use crate::engine::plan::pack::MASKED_BY_DEFAULT;
use gristmill_core::options::{Access, Choice, OptionSpec};
use gristmill_core::pack::{DocumentShuffle, NameProfile, SampleSize, TokenType, DEFAULT_BATCH_LINES};
use gristmill_core::PackPlan;

type Spec = OptionSpec<PackPlan>;

/// Accessors of an optional text of a format's target.
macro_rules! target_text {
    ($target:ident.$field:ident) => {
        Access::Text {
            get: |plan| plan.$target.as_ref()?.$field.clone(),
            set: |plan, text| {
                if let Some(target) = &mut plan.$target {
                    target.$field = text;
                }
                Ok(())
            },
        }
    };
}

/// Accessors of an optional path of a format's target.
macro_rules! target_path {
    ($target:ident.$field:ident) => {
        Access::Path {
            get: |plan| plan.$target.as_ref()?.$field.clone(),
            set: |plan, path| {
                if let Some(target) = &mut plan.$target {
                    target.$field = path;
                }
            },
        }
    };
}

/// Accessors of an optional number of a format's target.
macro_rules! target_number {
    ($target:ident.$field:ident, $kind:ident) => {
        Access::Number {
            least: 0,
            most: $kind::MAX as u64,
            get: |plan| plan.$target.as_ref()?.$field.map(u64::from),
            set: |plan, number| {
                if let Some(target) = &mut plan.$target {
                    target.$field = number.and_then(|number| $kind::try_from(number).ok());
                }
            },
        }
    };
}

pub(super) const MODALITIES: &[Spec] = &[
    Spec::new("eod-token", "TEXT", "Token that ends each document", target_text!(modalities.eod_token))
        .label("own end token")
        .unset("that of --eos-token")
        .advanced(),
    Spec::new("index", "FILE", "Raw index of the input", target_path!(modalities.index))
        .label("raw index")
        .unset("the lines are read as they are")
        .advanced(),
    Spec::new(
        "config",
        "FILE.yaml",
        "Settings as `modalities data pack_encoded_data` reads them, the text among them; flags take precedence",
        Access::File { read: read_config },
    ),
    Spec::new(
        "skip-bad-lines",
        "",
        "Leave lines that are no JSON out of the index instead of refusing the file",
        Access::Switch {
            get: |plan| plan.modalities.as_ref().is_some_and(|target| target.skip_bad_lines),
            set: |plan, is_on| {
                if let Some(target) = &mut plan.modalities {
                    target.skip_bad_lines = is_on;
                }
            },
        },
    )
    .advanced(),
    Spec::new(
        "truncate-to",
        "N",
        "Cut documents to N tokens, before the end token",
        target_number!(modalities.truncate_to, u32),
    )
    .unset("documents are not cut")
    .advanced(),
    Spec::new(
        "pad-to",
        "N",
        "Fill documents up to N tokens, before the end token",
        target_number!(modalities.pad_to, u32),
    )
    .unset("documents are not filled up")
    .advanced(),
    Spec::new("pad-token", "TEXT", "What they are filled with", target_text!(modalities.pad_token))
        .unset("the tokenizer's own")
        .needs("pad-to")
        .applies("--pad-to N", |plan| plan.modalities.as_ref().is_some_and(|target| target.pad_to.is_some()))
        .advanced(),
    Spec::new(
        "batch-lines",
        "N",
        "With --compat: lines that one bad document takes with it",
        Access::Number {
            least: 0,
            most: u64::MAX,
            get: |plan| plan.modalities.as_ref().map(|target| target.batch_lines).filter(|n| *n != DEFAULT_BATCH_LINES),
            set: |plan, lines| {
                if let Some(target) = &mut plan.modalities {
                    target.batch_lines = lines.unwrap_or(DEFAULT_BATCH_LINES);
                }
            },
        },
    )
    .default("1000")
    .applies("--compat", |plan| plan.compat)
    .advanced(),
];

pub(super) const NANOSETS: &[Spec] = &[
    Spec::new("tasks", "N", "Tasks that the files are dealt to", target_number!(nanosets.tasks, u32))
        .unset("one for each file, at most 64"),
    Spec::new("rank", "R", "Only this task, from 0", target_number!(nanosets.rank, u32))
        .label("only task")
        .unset("all tasks")
        .advanced(),
    Spec::new(
        "shuffle",
        "HOW",
        "Order of the documents",
        Access::Choice {
            choices: &[
                Choice { name: "none", help: "The order of the files" },
                Choice { name: "documents", help: "All documents of a task permuted" },
            ],
            get: |plan| (plan.nanosets.as_ref()?.shuffle == DocumentShuffle::Documents).then_some("documents"),
            set: |plan, shuffle| {
                if let Some(target) = &mut plan.nanosets {
                    target.shuffle =
                        if shuffle == "documents" { DocumentShuffle::Documents } else { DocumentShuffle::None };
                }
            },
        },
    )
    .default("none"),
    Spec::new(
        "chunk-size",
        "C",
        "Cut the tokens into chunks of C and shuffle those",
        target_number!(nanosets.chunk_size, u64),
    )
    .unset("chunks are not cut or shuffled")
    .advanced(),
    Spec::new(
        "max-tokens-per-file",
        "M",
        "Close a shuffled file once it has more tokens than M",
        target_number!(nanosets.max_tokens_per_file, u64),
    )
    .label("tokens per file")
    .unset("shuffled files are not split")
    .advanced(),
    Spec::new("prefix", "P", "Start of every file name", target_text!(nanosets.prefix))
        .label("name prefix")
        .unset("none")
        .advanced(),
    Spec::new(
        "names",
        "HOW",
        "How shuffled files are named",
        Access::Choice {
            choices: &[
                Choice { name: "modern", help: "As datatrove 0.10 does" },
                Choice { name: "classic", help: "As datatrove 0.4 does" },
            ],
            get: |plan| (plan.nanosets.as_ref()?.names == NameProfile::Classic).then_some("classic"),
            set: |plan, names| {
                if let Some(target) = &mut plan.nanosets {
                    target.names = if names == "classic" { NameProfile::Classic } else { NameProfile::Modern };
                }
            },
        },
    )
    .default("modern")
    .advanced(),
    Spec::new(
        "paths-file",
        "F",
        "One relative path a line, in place of looking into the folder",
        Access::Path { get: |plan| plan.paths_file.clone(), set: |plan, path| plan.paths_file = path },
    )
    .label("list of files")
    .unset("all; else a file that lists them")
    .advanced(),
    Spec::new(
        "skip",
        "N",
        "Leave out the first N usable documents of each task",
        Access::Number {
            least: 0,
            most: u64::MAX,
            get: |plan| plan.nanosets.as_ref().map(|target| target.skip).filter(|skip| *skip > 0),
            set: |plan, skip| {
                if let Some(target) = &mut plan.nanosets {
                    target.skip = skip.unwrap_or(0);
                }
            },
        },
    )
    .label("skip documents")
    .unset("none at the start of a task")
    .advanced(),
    Spec::new("limit", "N", "Take at most N usable documents of each task", target_number!(nanosets.limit, u64))
        .label("documents")
        .unset("all of a task")
        .advanced(),
    Spec::new(
        "logging-dir",
        "DIR",
        "Write executor.json, logs/, stats/ and completions/ here, and leave out tasks that are done there",
        target_path!(nanosets.logging_dir),
    )
    .label("log folder")
    .unset("no logs")
    .advanced(),
];

pub(super) const FORAGER: &[Spec] = &[
    Spec::new(
        "sample-size",
        "N",
        "Cut all documents, one after the other, into samples of N tokens",
        Access::Number {
            least: 1,
            most: u64::MAX,
            get: |plan| match plan.forager.as_ref()?.sample_size {
                SampleSize::Fixed(size) => Some(size).filter(|size| *size > 0),
                SampleSize::Variable => None,
            },
            set: |plan, size| match (size, plan.forager.as_mut()) {
                (Some(size), Some(target)) => target.sample_size = SampleSize::Fixed(size),
                (None, Some(target)) if target.sample_size != SampleSize::Variable => {
                    target.sample_size = SampleSize::Fixed(0);
                }
                _ => {}
            },
        },
    )
    .unset("not chosen yet")
    .conflicts(&["variable"])
    .applies("samples of a fixed size", |plan| {
        plan.forager.as_ref().is_some_and(|target| target.sample_size != SampleSize::Variable)
    }),
    Spec::new(
        "variable",
        "",
        "One sample a document, without an end token",
        Access::Switch {
            get: |plan| plan.forager.as_ref().is_some_and(|target| target.sample_size == SampleSize::Variable),
            set: |plan, is_on| match plan.forager.as_mut() {
                Some(target) if is_on => target.sample_size = SampleSize::Variable,
                Some(target) if target.sample_size == SampleSize::Variable => {
                    target.sample_size = SampleSize::Fixed(0);
                }
                _ => {}
            },
        },
    )
    .label("variable size"),
    Spec::new(
        "dtype",
        "TYPE",
        "Type of a token",
        Access::Choice { choices: TYPES, get: |plan| plan.forager.as_ref()?.token_type.map(type_name), set: set_type },
    )
    .label("token type")
    .unset("u16, with loss masks u32"),
    Spec::new(
        "mask-parts",
        "A,B",
        "With loss masks: types of parts that are not trained on",
        Access::List {
            separator: Some(','),
            get: |plan| {
                let masks = plan.forager.as_ref().and_then(|target| target.masks.as_ref());
                let is_usual = |parts: &&Vec<String>| parts.iter().map(String::as_str).eq(MASKED_BY_DEFAULT);
                masks.map(|masks| &masks.parts).filter(|parts| !is_usual(parts)).cloned().unwrap_or_default()
            },
            set: |plan, parts| {
                if let Some(masks) = plan.forager.as_mut().and_then(|target| target.masks.as_mut()) {
                    masks.parts = if parts.is_empty() { usual_parts() } else { parts };
                }
                Ok(())
            },
        },
    )
    .label("masked parts")
    .unset("system,prompt")
    .needs("loss-masks")
    .applies("the loss masks of forager", has_masked_parts)
    .advanced(),
    Spec::new(
        "mask-eos",
        "",
        "With loss masks: do not train on end tokens",
        Access::Switch {
            get: |plan| {
                let masks = plan.forager.as_ref().and_then(|target| target.masks.as_ref());
                masks.is_some_and(|masks| masks.mask_end)
            },
            set: |plan, is_on| {
                if let Some(masks) = plan.forager.as_mut().and_then(|target| target.masks.as_mut()) {
                    masks.mask_end = is_on;
                }
            },
        },
    )
    .label("mask end token")
    .needs("loss-masks")
    .applies("the loss masks of forager", has_masked_parts)
    .advanced(),
    Spec::new(
        "file-suffix",
        "TEXT",
        "End of the name of each sample file",
        Access::Text {
            get: |plan| {
                let suffix = plan.forager.as_ref().map(|target| target.file_suffix.clone());
                suffix.filter(|suffix| *suffix != usual_forager().file_suffix)
            },
            set: |plan, suffix| {
                if let Some(target) = &mut plan.forager {
                    target.file_suffix = suffix.unwrap_or_else(|| usual_forager().file_suffix);
                }
                Ok(())
            },
        },
    )
    .label("name suffix")
    .default("tokenized-samples")
    .advanced(),
    Spec::new(
        "index-folder",
        "NAME",
        "Name of the index folder",
        Access::Text {
            get: |plan| {
                let folder = plan.forager.as_ref().map(|target| target.index_folder.clone());
                folder.filter(|folder| *folder != usual_forager().index_folder)
            },
            set: |plan, folder| {
                if let Some(target) = &mut plan.forager {
                    target.index_folder = folder.unwrap_or_else(|| usual_forager().index_folder);
                }
                Ok(())
            },
        },
    )
    .default("index")
    .advanced(),
    Spec::new(
        "no-special-tokens",
        "",
        "Leave out the tokens of the tokenizer's template",
        Access::Switch {
            get: |plan| plan.forager.as_ref().is_some_and(|target| !target.special_tokens),
            set: |plan, is_on| {
                if let Some(target) = &mut plan.forager {
                    target.special_tokens = !is_on;
                }
            },
        },
    )
    .advanced(),
];

const TYPES: &[Choice] = &[
    Choice { name: "auto", help: "u16, with loss masks u32" },
    Choice { name: "u8", help: "One byte, unsigned" },
    Choice { name: "u16", help: "Two bytes, unsigned" },
    Choice { name: "u32", help: "Four bytes, unsigned" },
    Choice { name: "i32", help: "Four bytes, signed" },
    Choice { name: "i64", help: "Eight bytes, signed" },
    Choice { name: "u64", help: "Eight bytes, unsigned" },
];

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

fn set_type(plan: &mut PackPlan, name: &'static str) {
    use TokenType::{I32, I64, U16, U32, U64, U8};
    if let Some(target) = &mut plan.forager {
        target.token_type = [U8, U16, U32, I32, I64, U64].into_iter().find(|known| type_name(*known) == name);
    }
}
