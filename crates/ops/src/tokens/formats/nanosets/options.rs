//! The options of `--format nanosets`.

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
    Spec::new(
        "tasks",
        "N",
        "Number of tasks that the input is distributed to",
        number!(0..=u32::MAX as u64, nanosets?.tasks),
    )
    .unset("one for each file, at most 64"),
    Spec::new(
        "deal",
        "WHAT",
        "How input is distributed to the tasks",
        choice!(
            &[
                Choice { name: "files", help: "Files in turn" },
                Choice { name: "rows", help: "Rows, or lines, of all files in turn" },
                Choice { name: "blocks", help: "Rows, or lines, of all files in blocks of equal size" },
            ],
            TaskShare::Files,
            [("rows", TaskShare::Rows), ("blocks", TaskShare::Blocks)],
            nanosets?.deal
        ),
    )
    .default("files")
    .advanced(),
    Spec::new("rank", "R", "Only this task, from 0", number!(0..=u32::MAX as u64, nanosets?.rank))
        .unset("all tasks")
        .advanced(),
    Spec::new(
        "chunk-size",
        "C",
        "Cut the tokens into chunks of C and shuffle those",
        number!(0..=u64::MAX, nanosets?.chunk_size),
    )
    .unset("chunks are not cut or shuffled")
    .advanced(),
    Spec::new("prefix", "P", "Start of every file name", text!(nanosets?.prefix)).unset("none").advanced(),
    Spec::new(
        "names",
        "HOW",
        "How shuffled files are named",
        choice!(
            &[
                Choice { name: "modern", help: "As datatrove 0.10 does" },
                Choice { name: "classic", help: "As datatrove 0.4 does" },
            ],
            NameProfile::Modern,
            [("classic", NameProfile::Classic)],
            nanosets?.names
        ),
    )
    .default("modern")
    .advanced(),
    Spec::new(
        "paths-file",
        "F",
        "One relative path per line, in place of the files of the folder",
        optional_path!(paths_file),
    )
    .or_store()
    .unset("all files")
    .advanced(),
    Spec::new(
        "skip",
        "N",
        "Leave out the first N usable documents of each task",
        number_or!(0, 0..=u64::MAX, nanosets?.skip),
    )
    .unset("none")
    .advanced(),
    Spec::new("limit", "N", "Take at most N usable documents of each task", number!(0..=u64::MAX, nanosets?.limit))
        .unset("all")
        .advanced(),
    Spec::new(
        "logging-dir",
        "DIR",
        "Write executor.json, logs/, stats/ and completions/ here, and leave out tasks that are done there",
        optional_path!(nanosets?.logging_dir),
    )
    .or_store()
    .unset("no logs")
    .advanced(),
];
