//! `count`: documents, bytes and tokens of text, without packing it.

use super::{Operation, Plan};
use crate::job::count::{run_count, CountPlan, CountReport, TEXT_KEY};
use crate::job::task::TaskContext;
use gristmill_core::options::{Access, Group, OptionSpec};
use gristmill_core::plan::PLAN_VERSION;
use gristmill_core::Outcome;

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
        text_or!("", tokenizer),
    )
    .completes_paths()
    .required(),
    Spec::new(
        "text-key",
        "KEY",
        "Key, or column, of the text",
        text_or!(TEXT_KEY, text_key),
    )
    .default(TEXT_KEY),
    Spec::new("glob", "GLOB", "Only files of folders whose relative path fits", text!(glob)),
    Spec::new(
        "output",
        "FILE",
        "Write the counts to a JSON file",
        optional_path!(output),
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
