//! The options of `pack`.

use super::targets::{FORAGER, MODALITIES, NANOSETS};
use crate::engine::plan::pack::MASKED_BY_DEFAULT;
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::pack::{EndToken, ForagerTarget, MaskedParts, SampleSize, TextField, DEFAULT_SEED};
use gristmill_core::{PackFormat, PackPlan};

type Spec = OptionSpec<PackPlan>;

pub(super) const GROUPS: &[Group<PackPlan>] = &[
    Group::new("", "source", INPUTS),
    Group::new("", "formats", FORMATS),
    Group::new("", "tokenizer", TOKENIZER),
    Group::new("", "formats", OUTPUT),
    Group::new("Documents", "text", TEXT),
    Group::new("Documents", "source", FILES),
    Group::new("Documents", "tokenizer", END),
    Group::new("Documents", "formats", SHARED),
    Group::new("Modalities", "formats", MODALITIES).needs("--format modalities", |plan| plan.modalities.is_some()),
    Group::new("Nanosets", "formats", NANOSETS).needs("--format nanosets", |plan| plan.nanosets.is_some()),
    Group::new("Forager", "formats", FORAGER).needs("--format forager", |plan| plan.forager.is_some()),
    Group::new("", "formats", GLOBAL),
];

const INPUTS: &[Spec] = &[Spec::new(
    "path",
    "PATH",
    "JSONL files (plain, .gz, .zst, .bz2, .xz) and folders of them",
    Access::Paths { get: |plan| plan.inputs.clone(), set: |plan, paths| plan.inputs = paths },
)
.positional()];

const FORMATS: &[Spec] = &[Spec::new(
    "format",
    "NAME",
    "For which framework (repeat): one pass makes all of them",
    Access::Choices {
        choices: &[
            Choice { name: "modalities", help: ".pbin: a file for each input file" },
            Choice { name: "nanosets", help: "A folder of .ds with .ds.index and .ds.metadata" },
            Choice { name: "forager", help: "tokenized-samples/ and index/" },
        ],
        get: |plan| plan.formats().into_iter().map(PackFormat::word).collect(),
        set: set_formats,
    },
)];

const TOKENIZER: &[Spec] = &[Spec::new(
    "tokenizer",
    "FILE",
    "tokenizer.json, a folder with one, a SentencePiece .model, or a name in the local hub cache",
    Access::Text {
        get: |plan| Some(plan.tokenizer.clone()).filter(|name| !name.is_empty()),
        set: |plan, name| {
            plan.tokenizer = name.unwrap_or_default();
            Ok(())
        },
    },
)
.completes_paths()
.required()];

const OUTPUT: &[Spec] = &[
    Spec::new("tokenizer-name", "TEXT", "What metadata files say in place of --tokenizer", text!(tokenizer_name))
        .unset("the path of the tokenizer")
        .advanced(),
    Spec::new(
        "output",
        "PATH",
        "Modalities: a file for one input, else a folder; Nanosets, Forager: a folder; several formats: a folder with one for each",
        Access::Path {
            get: |plan| Some(plan.output.clone()).filter(|path| !path.is_empty()),
            set: |plan, path| plan.output = path.unwrap_or_default(),
        },
    )
    .short('o')
    .required(),
    Spec::new("force-overwrite", "", "Replace what is there", switch!(overwrite)).replaces("").label("overwrite").advanced(),
];

const TEXT: &[Spec] = &[
    Spec::new(
        "text-key",
        "KEY",
        "Key of the text",
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
    Spec::new(
        "jq",
        "EXPR",
        "jq program whose first output is the text",
        Access::Text {
            get: |plan| match &plan.text {
                TextField::Jq(program) => Some(program.clone()),
                TextField::Key(_) => None,
            },
            set: |plan, program| {
                match (program, &plan.text) {
                    (Some(program), _) => plan.text = TextField::Jq(program),
                    (None, TextField::Jq(_)) => plan.text = TextField::default(),
                    (None, TextField::Key(_)) => {}
                }
                Ok(())
            },
        },
    )
    .label("jq program"),
];

const FILES: &[Spec] = &[Spec::new("glob", "GLOB", "Only files of folders whose relative path fits", text!(glob))
    .label("only files")
    .unset("all; for example **/*.jsonl.zst")];

const END: &[Spec] = &[
    Spec::new(
        "eos-token",
        "TEXT",
        "Token that ends each document",
        Access::Text {
            get: |plan| match &plan.end {
                Some(EndToken::Text(text)) => Some(text.clone()),
                _ => None,
            },
            set: |plan, text| {
                match (text, &plan.end) {
                    (Some(text), _) => plan.end = Some(EndToken::Text(text)),
                    (None, Some(EndToken::Text(_))) => plan.end = None,
                    (None, _) => {}
                }
                Ok(())
            },
        },
    )
    .label("end token")
    .unset("what the template of the tokenizer adds")
    .conflicts(&["eos-id"]),
    Spec::new(
        "eos-id",
        "N",
        "The same by its number",
        Access::Number {
            least: 0,
            most: u32::MAX as u64,
            get: |plan| match plan.end {
                Some(EndToken::Id(id)) => Some(u64::from(id)),
                _ => None,
            },
            set: |plan, id| match (id.and_then(|id| u32::try_from(id).ok()), &plan.end) {
                (Some(id), _) => plan.end = Some(EndToken::Id(id)),
                (None, Some(EndToken::Id(_))) => plan.end = None,
                (None, _) => {}
            },
        },
    )
    .label("end token by id")
    .unset("by its text")
    .advanced(),
    Spec::new(
        "special-token",
        "TEXT",
        "Entry of the vocabulary that is a special token, too: texts are cut at it (repeat)",
        Access::List {
            separator: None,
            get: |plan| plan.special_tokens.clone(),
            set: |plan, tokens| {
                plan.special_tokens = tokens;
                Ok(())
            },
        },
    )
    .label("special tokens")
    .unset("those of the tokenizer file")
    .advanced(),
];

const SHARED: &[Spec] = &[
    Spec::new(
        "limit-tokens",
        "N",
        "Stop each format after the document that brings it to N tokens",
        Access::Number {
            least: 1,
            most: u64::MAX,
            get: |plan| plan.limit_tokens,
            set: |plan, tokens| plan.limit_tokens = tokens,
        },
    )
    .unset("all documents")
    .advanced(),
    Spec::new(
        "seed",
        "N",
        "Seed of every shuffle",
        Access::Number {
            least: 0,
            most: u64::MAX,
            get: |plan| Some(plan.seed).filter(|seed| *seed != DEFAULT_SEED),
            set: |plan, seed| plan.seed = seed.unwrap_or(DEFAULT_SEED),
        },
    )
    .default("42")
    .advanced(),
    Spec::new(
        "loss-masks",
        "NAME",
        "Write loss masks; of several formats for one only: --loss-masks=NAME. Forager reads them from lines of the form \
         {\"parts\":[{\"type\":\"prompt\",\"text\":\"…\"},{\"type\":\"response\",\"text\":\"…\"}]}",
        Access::Choice {
            choices: &[
                Choice { name: "none", help: "No loss masks" },
                Choice { name: "all", help: "Each format that is asked for and has them" },
                Choice { name: "nanosets", help: ".ds.loss, from no_loss_ranges" },
                Choice { name: "forager", help: "In the samples, from lines of parts" },
            ],
            get: loss_masks,
            set: set_loss_masks,
        },
    )
    .bare("all")
    .applies("--format nanosets or --format forager", |plan| plan.nanosets.is_some() || plan.forager.is_some())
    .advanced(),
];

const GLOBAL: &[Spec] = &[Spec::new("compat", "", "", switch!(compat)).global()];

fn usual_key() -> String {
    match TextField::default() {
        TextField::Key(text) | TextField::Jq(text) => text,
    }
}

pub(super) fn usual_forager() -> ForagerTarget {
    ForagerTarget::new(SampleSize::Fixed(0))
}

pub(super) fn usual_parts() -> Vec<String> {
    MASKED_BY_DEFAULT.map(str::to_owned).to_vec()
}

pub(super) fn has_masked_parts(plan: &PackPlan) -> bool {
    plan.forager.as_ref().is_some_and(|target| target.masks.is_some())
}

/// Adds and removes targets; the settings of those that stay are kept.
fn set_formats(plan: &mut PackPlan, formats: &[&'static str]) {
    let is_chosen = |format: PackFormat| formats.contains(&format.word());
    plan.modalities = is_chosen(PackFormat::Modalities).then(|| plan.modalities.take().unwrap_or_default());
    plan.nanosets = is_chosen(PackFormat::Nanosets).then(|| plan.nanosets.take().unwrap_or_default());
    plan.forager = is_chosen(PackFormat::Forager).then(|| plan.forager.take().unwrap_or_else(usual_forager));
}

fn loss_masks(plan: &PackPlan) -> Option<&'static str> {
    let of_nanosets = plan.nanosets.as_ref().is_some_and(|target| target.loss_masks);
    match (of_nanosets, has_masked_parts(plan)) {
        (true, true) => Some("all"),
        (true, false) => Some("nanosets"),
        (false, true) => Some("forager"),
        (false, false) => None,
    }
}

fn set_loss_masks(plan: &mut PackPlan, formats: &'static str) {
    if let Some(target) = &mut plan.nanosets {
        target.loss_masks = matches!(formats, "all" | "nanosets");
    }
    if let Some(target) = &mut plan.forager {
        let usual = || MaskedParts { parts: usual_parts(), mask_end: false };
        target.masks = matches!(formats, "all" | "forager").then(|| target.masks.take().unwrap_or_else(usual));
    }
}
