//! The options of `dedup`.

use gristmill_core::dedup::{Keep, Mode, Variant, ANNOTATE_KEY, LEAST_COUNT, TEXT_KEY};
use gristmill_core::options::{Access, Choice, Group, OptionSpec};
use gristmill_core::DedupPlan;

type Spec = OptionSpec<DedupPlan>;

/// Accessors of an optional path.
macro_rules! folder {
    ($field:ident) => {
        Access::Path { get: |plan| plan.$field.clone(), set: |plan, path| plan.$field = path }
    };
}

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
    Access::Path {
        get: |plan| Some(plan.input.clone()).filter(|path| !path.is_empty()),
        set: |plan, path| plan.input = path.unwrap_or_default(),
    },
)
.or_address()
.positional()];

const LENGTH: &[Spec] = &[Spec::new(
    "minlen",
    "N",
    "The shortest repeat that is removed, in bytes of text: 500 is usual for web text",
    Access::Number {
        least: 1,
        most: u64::MAX,
        get: |plan| plan.min_length,
        set: |plan, length| plan.min_length = length,
    },
)
.label("minimum length")];

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
            // What only annotations have.
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
        "Where annotate mode lists ranges: a under --annotate-key, b in sa_remove_ranges after the text",
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
    Spec::new(
        "annotate-key",
        "A.B",
        "Dotted key of the list",
        Access::Text {
            get: |plan| Some(plan.annotate_key.clone()).filter(|key| key != ANNOTATE_KEY),
            set: |plan, key| {
                plan.annotate_key = key.unwrap_or_else(|| ANNOTATE_KEY.to_owned());
                Ok(())
            },
        },
    )
    .default(ANNOTATE_KEY)
    .applies("--variant a", |plan| plan.variant == Variant::A),
];

const SOURCE: &[Spec] = &[
    Spec::new(
        "text-key",
        "KEY",
        "Key of the text",
        Access::Text {
            get: |plan| Some(plan.text_key.clone()).filter(|key| key != TEXT_KEY),
            set: |plan, key| {
                plan.text_key = key.unwrap_or_else(|| TEXT_KEY.to_owned());
                Ok(())
            },
        },
    )
    .default(TEXT_KEY),
    Spec::new("against", "DIR", "An earlier set: it counts as coming first, and stays as it is", folder!(against))
        .or_store()
        .label("earlier set")
        .unset("none")
        .advanced(),
];

const DOCUMENTS: &[Spec] = &[
    Spec::new(
        "keep",
        "WHICH",
        "Which places of a passage stay",
        Access::Choice {
            choices: &[
                Choice { name: "first", help: "The first, in the order of the documents" },
                Choice { name: "none", help: "None at all" },
            ],
            get: |plan| (plan.keep == Keep::None).then_some("none"),
            set: |plan, keep| plan.keep = if keep == "none" { Keep::None } else { Keep::First },
        },
    )
    .default("first"),
    Spec::new(
        "min-count",
        "N",
        "Remove only what occurs at least this often, in all",
        Access::Number {
            least: 0,
            most: u64::MAX,
            get: |plan| Some(plan.min_count).filter(|count| *count != LEAST_COUNT),
            set: |plan, count| plan.min_count = count.unwrap_or(LEAST_COUNT),
        },
    )
    .label("occurrences")
    .default("2"),
];

const OUTPUT: &[Spec] = &[
    Spec::new(
        "output",
        "DIR",
        "Folder that gets the same files",
        Access::Path {
            get: |plan| Some(plan.output.clone()).filter(|path| !path.is_empty()),
            set: |plan, path| plan.output = path.unwrap_or_default(),
        },
    )
    .or_store()
    .short('o')
    .required(),
    Spec::new("force-overwrite", "", "Replace what is there", switch!(overwrite))
        .replaces("")
        .label("overwrite")
        .advanced(),
];

const INDEX: &[Spec] = &[
    Spec::new(
        "export-index",
        "DIR",
        "Write the index of bsade (the infini-gram files) too, with remove_ranges",
        folder!(export_index),
    )
    .label("index to")
    .unset("no index")
    .advanced(),
    Spec::new(
        "export-ranges",
        "DIR",
        "Write remove_ranges and kept_in_the_middle_lengths.txt too",
        folder!(export_ranges),
    )
    .label("ranges to")
    .unset("no ranges")
    .advanced(),
    Spec::new(
        "shards",
        "S",
        "Shards of what is written there",
        Access::Number {
            least: 0,
            most: u32::MAX as u64,
            get: |plan| Some(u64::from(plan.shards)).filter(|shards| *shards != 1),
            set: |plan, shards| plan.shards = shards.and_then(|shards| u32::try_from(shards).ok()).unwrap_or(1),
        },
    )
    .default("1")
    .advanced(),
    Spec::new(
        "table",
        "",
        "With --export-index: the suffix table too; needs memory for a shard at a time",
        switch!(table),
    )
    .label("suffix table")
    .advanced(),
];

const FROM_INDEX: &[Spec] =
    &[Spec::new("from-index", "DIR", "Read an index that bsade made, in place of a folder", folder!(from_index))];

const GLOBAL: &[Spec] = &[Spec::new("compat", "", "", switch!(compat)).global()];

fn is_annotated(plan: &DedupPlan) -> bool {
    plan.mode == Mode::Annotate
}
