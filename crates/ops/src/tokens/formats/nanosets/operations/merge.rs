//! `nanosets merge`: merges the `.ds` files of a folder into one sequence.

use super::super::engine::merge::MAX_TOKENS_PER_FILE;
use super::super::engine::MergePlan;
use super::super::job::run_merge;
use crate::job::files_report::FilesReport;
use crate::job::operation::{Operation, Plan};
use crate::job::task::TaskContext;
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::pack::DEFAULT_SEED;
use gristmill_core::Outcome;

type Spec = OptionSpec<MergePlan>;

/// The values of `--shuffle`.
const SHUFFLES: &[Choice] = &[
    Choice { name: "documents", help: "Which file the next document comes from" },
    Choice { name: "none", help: "Nothing: one file after the other" },
];

const OPTIONS: &[Spec] = &[
    Spec::new("dir", "DIR", "Folder with .ds files, each with its .ds.index", path!(input))
        .or_store()
        .positional()
        .required(),
    Spec::new("output", "DIR", "Folder of the result", path!(output)).or_store().short('o').required(),
    Spec::new("name", "NAME", "Name of the result: 000_NAME.ds and so on", text_or!("", name)).required(),
    Spec::new(
        "max-tokens-per-file",
        "M",
        "Begin another file once one has N tokens; 0 for no limit",
        number_or!(MAX_TOKENS_PER_FILE, 0..=u64::MAX, max_tokens_per_file),
    )
    .default("100000000000"),
    Spec::new(
        "max-tokens",
        "T",
        "Stop once there are N tokens; 0 for no limit",
        number_or!(0, 0..=u64::MAX, max_tokens),
    )
    .default("0"),
    Spec::new(
        "chunk-size",
        "C",
        "Interleave full chunks of this many tokens in place of documents",
        number!(1..=u64::MAX, chunk),
    ),
    Spec::new(
        "seed",
        "S",
        "Seed of the interleaving",
        Access::Number {
            least: 0,
            most: u64::MAX,
            get: |plan| plan.seed.filter(|seed| *seed != DEFAULT_SEED),
            set: |plan, seed| plan.seed = Some(seed.unwrap_or(DEFAULT_SEED)),
        },
    )
    .default("42"),
    // Applied after the seed, because it may remove the seed.
    Spec::new(
        "shuffle",
        "WHAT",
        "What is drawn at random",
        Access::Choice {
            choices: SHUFFLES,
            get: |plan| plan.seed.is_none().then_some("none"),
            set: |plan, shuffle| {
                plan.seed = (shuffle == "documents").then(|| plan.seed.unwrap_or(DEFAULT_SEED));
            },
        },
    )
    .default("documents"),
    Spec::new("force-overwrite", "", "Replace a merge of this name that is there", switch!(overwrite)).replaces(""),
];

/// The `nanosets merge` operation.
pub struct NanosetsMerge;

impl Plan for MergePlan {
    fn blank() -> Self {
        Self { seed: Some(DEFAULT_SEED), ..Self::new("", "", "") }
    }
}

impl Operation for NanosetsMerge {
    type Plan = MergePlan;
    type Preview = FilesReport;
    type Report = FilesReport;
    const NAME: &'static str = "nanosets merge";
    const ABOUT: &'static str =
        "Merge the .ds files of a folder: documents of all files are interleaved at random, the order inside each file stays";
    const ACTIVITY: &'static str = "merging";
    const PLAN_OF: &'static str = "merging token files";
    const GROUPS: &'static [Group<Self::Plan>] = &[Group::new("", "settings", OPTIONS)];

    fn preview(plan: &MergePlan, context: &TaskContext) -> Outcome<FilesReport> {
        run_merge(plan, false, context)
    }

    fn run(plan: &MergePlan, context: &TaskContext) -> Outcome<FilesReport> {
        run_merge(plan, true, context)
    }
}
