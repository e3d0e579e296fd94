//! The options of `--format nanosets`.

use crate::tokens::options::{target_number, target_path, target_text};
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::pack::{NameProfile, TaskShare};
use gristmill_core::PackPlan;

type Spec = OptionSpec<PackPlan>;

pub(in super::super) const CHOICE: Choice =
    Choice { name: "nanosets", help: "A folder of .ds with .ds.index and .ds.metadata" };
pub(in super::super) const LOSS_MASKS: Choice = Choice { name: "nanosets", help: ".ds.loss, from no_loss_ranges" };
pub(in super::super) const GROUP: Group<PackPlan> =
    Group::new("Nanosets", "formats", OPTIONS).needs("--format nanosets", |plan| plan.nanosets.is_some());

const OPTIONS: &[Spec] = &[
    Spec::new("tasks", "N", "Tasks that the files are dealt to", target_number!(nanosets.tasks, u32))
        .unset("one for each file, at most 64"),
    Spec::new(
        "deal",
        "WHAT",
        "What is dealt to the tasks",
        Access::Choice {
            choices: &[
                Choice { name: "files", help: "Files in turn" },
                Choice { name: "rows", help: "Rows, or lines, of all files in turn" },
                Choice { name: "blocks", help: "Rows, or lines, of all files in blocks of equal size" },
            ],
            get: |plan| match plan.nanosets.as_ref()?.deal {
                TaskShare::Files => None,
                TaskShare::Rows => Some("rows"),
                TaskShare::Blocks => Some("blocks"),
            },
            set: |plan, deal| {
                if let Some(target) = &mut plan.nanosets {
                    target.deal = match deal {
                        "rows" => TaskShare::Rows,
                        "blocks" => TaskShare::Blocks,
                        _ => TaskShare::Files,
                    };
                }
            },
        },
    )
    .default("files")
    .advanced(),
    Spec::new("rank", "R", "Only this task, from 0", target_number!(nanosets.rank, u32))
        .label("only task")
        .unset("all tasks")
        .advanced(),
    Spec::new(
        "chunk-size",
        "C",
        "Cut the tokens into chunks of C and shuffle those",
        target_number!(nanosets.chunk_size, u64),
    )
    .unset("chunks are not cut or shuffled")
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
    .or_store()
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
    .or_store()
    .label("log folder")
    .unset("no logs")
    .advanced(),
];
