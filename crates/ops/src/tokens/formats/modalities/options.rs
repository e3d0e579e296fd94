//! The options of `--format modalities`.

use super::config::read_config;
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::pack::DEFAULT_BATCH_LINES;
use gristmill_core::PackPlan;

type Spec = OptionSpec<PackPlan>;

pub(in super::super) const CHOICE: Choice = Choice { name: "modalities", help: ".pbin: a file for each input file" };
pub(in super::super) const GROUP: Group<PackPlan> =
    Group::new("Modalities", "formats", OPTIONS).needs("--format modalities", |plan| plan.modalities.is_some());

const OPTIONS: &[Spec] = &[
    Spec::new("index", "FILE", "Raw index of the input", optional_path!(modalities?.index))
        .or_store()
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
        "Leave lines that are not JSON out of the index instead of refusing the file",
        switch!(modalities?.skip_bad_lines),
    )
    .advanced(),
    Spec::new(
        "truncate-to",
        "N",
        "Cut documents to N tokens, before the end token",
        number!(0..=u32::MAX as u64, modalities?.truncate_to),
    )
    .unset("documents are not cut")
    .advanced(),
    Spec::new(
        "pad-to",
        "N",
        "Fill documents up to N tokens, before the end token",
        number!(0..=u32::MAX as u64, modalities?.pad_to),
    )
    .unset("documents are not filled up")
    .advanced(),
    Spec::new("pad-token", "TEXT", "Token that fills documents up", text!(modalities?.pad_token))
        .unset("the tokenizer's own")
        .needs("pad-to")
        .applies("--pad-to N", |plan| plan.modalities.as_ref().is_some_and(|target| target.pad_to.is_some()))
        .advanced(),
    Spec::new(
        "batch-lines",
        "N",
        "With --compat: number of lines that are lost with a bad document",
        number_or!(DEFAULT_BATCH_LINES, 0..=u64::MAX, modalities?.batch_lines),
    )
    .default("1000")
    .applies("--compat", |plan| plan.compat)
    .advanced(),
];
