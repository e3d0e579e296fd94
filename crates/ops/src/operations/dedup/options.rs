//! The options of `dedup`.

use gristmill_core::dedup::{Keep, Mode, Variant, ANNOTATE_KEY, LEAST_COUNT, TEXT_KEY};
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::DedupPlan;

type Spec = OptionSpec<DedupPlan>;

pub(super) const GROUPS: &[Group<DedupPlan>] = &[
    Group::new("", "source", INPUT),
    Group::new("", "length", LENGTH),
    Group::new("", "mode", MODE),
    Group::new("Annotate", "mode", ANNOTATE).needs("--mode annotate", is_annotated),
    Group::new("Documents", "source", SOURCE),
    Group::new("Documents", "mode", DOCUMENTS),
    Group::new("", "mode", OUTPUT),
    Group::new("Index", "mode", INDEX),
    Group::new("Index", "", FROM_INDEX),
    Group::new("", "mode", GLOBAL),
];

const INPUT: &[Spec] = &[Spec::new(
    "dir",
    "DIR",
    "JSONL or Parquet file, or folder of such files at any depth (.jsonl or .json, plain, .gz, .zst, .bz2, .xz; .parquet), or hf://datasets/OWNER/NAME",
    path!(input),
)
.or_address()
.positional()];

const LENGTH: &[Spec] = &[Spec::new(
    "minlen",
    "N",
    "The shortest repeat that is removed, in bytes of text: 500 is usual for web text",
    number!(1..=u64::MAX, min_length),
)];

const MODE: &[Spec] = &[Spec::new(
    "mode",
    "HOW",
    "What happens to text that repeats",
    Access::Choice {
        choices: &[
            Choice { name: "remove", help: "Cut it out: the text becomes shorter" },
            Choice { name: "annotate", help: "Leave the text, list the ranges in the record" },
        ],
        get: |plan| is_annotated(plan).then_some("annotate"),
        set: |plan, mode| {
            plan.mode = if mode == "annotate" { Mode::Annotate } else { Mode::Remove };
            // Resets the answers that apply only to annotations.
            if plan.mode == Mode::Remove {
                (plan.variant, plan.annotate_key) = (Variant::A, ANNOTATE_KEY.to_owned());
            }
        },
    },
)
.default("remove")];

const ANNOTATE: &[Spec] = &[
    Spec::new(
        "variant",
        "WHICH",
        "Variant of annotated records: a lists ranges under --annotate-key, b in sa_remove_ranges",
        Access::Choice {
            choices: &[
                Choice { name: "a", help: "Under a dotted key" },
                Choice { name: "b", help: "In sa_remove_ranges, right after the text" },
            ],
            get: |plan| (plan.variant == Variant::B).then_some("b"),
            set: |plan, variant| {
                plan.variant = if variant == "b" { Variant::B } else { Variant::A };
                if plan.variant == Variant::B {
                    plan.annotate_key = ANNOTATE_KEY.to_owned();
                }
            },
        },
    )
    .default("a"),
    Spec::new("annotate-key", "A.B", "Dotted key of the list", text_or!(ANNOTATE_KEY, annotate_key))
        .default(ANNOTATE_KEY)
        .applies("--variant a", |plan| plan.variant == Variant::A),
];

const SOURCE: &[Spec] = &[
    Spec::new("text-key", "KEY", "Key of the text", text_or!(TEXT_KEY, text_key)).default(TEXT_KEY),
    Spec::new("against", "DIR", "Earlier set: it counts as coming first, and is not changed", optional_path!(against))
        .or_store()
        .unset("none")
        .advanced(),
];

const DOCUMENTS: &[Spec] = &[
    Spec::new(
        "keep",
        "WHICH",
        "Which places of a passage stay",
        choice!(
            &[
                Choice { name: "first", help: "The first, in the order of the documents" },
                Choice { name: "none", help: "None at all" },
            ],
            Keep::First,
            [("none", Keep::None)],
            keep
        ),
    )
    .default("first"),
    Spec::new(
        "min-count",
        "N",
        "Remove only text that occurs at least N times in total",
        number_or!(LEAST_COUNT, 0..=u64::MAX, min_count),
    )
    .default("2"),
];

const OUTPUT: &[Spec] = &[
    Spec::new("output", "DIR", "Folder for the same files without repeats", path!(output))
        .or_store()
        .short('o')
        .required(),
    Spec::new("force-overwrite", "", "Replace an existing output", switch!(overwrite)).replaces("").advanced(),
];

const INDEX: &[Spec] = &[
    Spec::new(
        "export-index",
        "DIR",
        "Write the index of bsade (the infini-gram files) too, with remove_ranges",
        optional_path!(export_index),
    )
    .unset("no index")
    .advanced(),
    Spec::new(
        "export-ranges",
        "DIR",
        "Write remove_ranges and kept_in_the_middle_lengths.txt too",
        optional_path!(export_ranges),
    )
    .unset("no ranges")
    .advanced(),
    Spec::new("shards", "S", "Shards of what is written there", number_or!(1, 0..=u32::MAX as u64, shards))
        .default("1")
        .advanced(),
    Spec::new(
        "table",
        "",
        "With --export-index: the suffix table too; needs memory for a shard at a time",
        switch!(table),
    )
    .advanced(),
];

const FROM_INDEX: &[Spec] =
    &[Spec::new("from-index", "DIR", "Read an index of bsade instead of a folder", optional_path!(from_index))];

const GLOBAL: &[Spec] = &[Spec::new("compat", "", "", switch!(compat)).global()];

fn is_annotated(plan: &DedupPlan) -> bool {
    plan.mode == Mode::Annotate
}
