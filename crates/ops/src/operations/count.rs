//! `count`: documents, bytes and tokens of text, without packing it.

use super::{Operation, Plan};
use crate::job::count::{run_count, CountPlan, CountReport, TEXT_KEY};
use crate::job::task::TaskContext;
use gristmill_core::options::{Access, Group, OptionSpec};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::Outcome;
use std::path::PathBuf;

type Spec = OptionSpec<CountPlan>;

impl Plan for CountPlan {
    fn blank() -> Self {
        Self {
            version: PLAN_VERSION,
            inputs: Vec::new(),
            tokenizer: String::new(),
            text_key: TEXT_KEY.to_owned(),
            glob: None,
            output: None,
            overwrite: false,
        }
    }
}

const OPTIONS: &[Spec] = &[
    Spec::new("input", "INPUT", "JSONL, CSV and TSV files (plain, .gz, .zst, .bz2, .xz), Parquet and Arrow files, folders of them, .txt files, and hf://datasets/OWNER/NAME", paths!(inputs))
        .or_address()
        .positional()
        .required(),
    Spec::new(
        "tokenizer",
        "FILE",
        "tokenizer.json, a folder with one, a SentencePiece .model, or a name in the Hugging Face cache",
        Access::Text {
            get: |plan| Some(plan.tokenizer.clone()).filter(|name| !name.is_empty()),
            set: |plan, name| {
                plan.tokenizer = name.unwrap_or_default();
                Ok(())
            },
        },
    )
    .completes_paths()
    .required(),
    Spec::new(
        "text-key",
        "KEY",
        "Key, or column, of the text",
        Access::Text {
            get: |plan| Some(plan.text_key.clone()).filter(|key| key != TEXT_KEY),
            set: |plan, key| {
                plan.text_key = key.unwrap_or_else(|| TEXT_KEY.to_owned());
                Ok(())
            },
        },
    )
    .default(TEXT_KEY),
    Spec::new("glob", "GLOB", "Only files of folders whose relative path fits", text!(glob)),
    Spec::new(
        "output",
        "FILE",
        "Write the counts to a JSON file",
        Access::Path {
            get: |plan| plan.output.as_ref().map(|path| path.to_string_lossy().into_owned()),
            set: |plan, path| plan.output = path.map(PathBuf::from),
        },
    )
    .or_store()
    .short('o'),
    Spec::new("force-overwrite", "", "Replace a file that is there", switch!(overwrite)).replaces(""),
];

/// The `count` operation.
pub struct Count;

impl Operation for Count {
    type Plan = CountPlan;
    type Preview = CountReport;
    type Report = CountReport;
    const NAME: &'static str = "count";
    const ABOUT: &'static str = "Count documents, bytes and tokens of text, and the longest document of each file";
    const ACTIVITY: &'static str = "counting";
    const PLAN_OF: &'static str = "counting tokens";
    const GROUPS: &'static [Group<Self::Plan>] = &[Group::new("", "settings", OPTIONS)];

    fn preview(plan: &CountPlan, context: &TaskContext) -> Outcome<CountReport> {
        run_count(plan, false, context)
    }

    fn run(plan: &CountPlan, context: &TaskContext) -> Outcome<CountReport> {
        run_count(plan, true, context)
    }
}
