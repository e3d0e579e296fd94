//! The options of `shard`.

use super::super::media_filters;
use super::preparation::{DECODE, PREPARE};
use gristmill_core::options::{Access, Choice, Group, OptionSpec, Step};
use gristmill_core::shard_plan::{
    Column, InputKind, KeyRule, Missing, RepeatedKeys, MAX_COUNT, MAX_SIZE, PATTERN, SEED,
};
use gristmill_core::text::{exact_size, parse_size};
use gristmill_core::ShardPlan;

type Spec = OptionSpec<ShardPlan>;

pub(super) const STEPS: &[Step] = &[
    Step { id: "source", title: "Source" },
    Step { id: "samples", title: "Samples" },
    Step { id: "choose", title: "Choose" },
    Step { id: "shards", title: "Shards" },
    Step { id: "order", title: "Order" },
    Step { id: "media", title: "Media" },
    Step { id: "prepare", title: "Prepare" },
];

pub(super) const GROUPS: &[Group<ShardPlan>] = &[
    Group::new("", "source", SOURCE),
    Group::new("Keys", "samples", KEYS),
    Group::new("Rows", "samples", ROWS),
    Group::new("Choose", "choose", CHOOSE),
    Group::new("Divide", "shards", DIVIDE),
    Group::new("Order", "order", ORDER),
    Group::new("Append", "shards", APPEND),
    Group::new("Media apart", "media", MEDIA_SET),
    Group::new("Prepare", "prepare", PREPARE),
    Group::new("Prepare", "prepare", &media_filters::filters()),
    Group::new("Prepare", "prepare", DECODE),
];

const KINDS: &[Choice] = &[
    Choice { name: "auto", help: "What the content of each input says" },
    Choice { name: "tars", help: "Shards" },
    Choice { name: "files", help: "Loose files: those of one key are a sample" },
    Choice { name: "rows", help: "Rows of JSONL, JSON, CSV, TSV or Parquet files" },
];

const SOURCE: &[Spec] = &[
    Spec::new(
        "input",
        "INPUT",
        "Folders with shards, single shards, folders of loose files, or files of rows; one after the other",
        paths!(inputs),
    )
    .or_read_store()
    .positional()
    .required(),
    Spec::new("output", "DIR", "Folder of the new shards", optional_path!(output)).or_store().short('o').required(),
    Spec::new(
        "as",
        "KIND",
        "What the inputs are read as",
        choice!(
            KINDS,
            InputKind::Auto,
            [("tars", InputKind::Tars), ("files", InputKind::Files), ("rows", InputKind::Rows)],
            read_as
        ),
    )
    .default("auto"),
];

const KEYS: &[Spec] = &[
    Spec::new(
        "key",
        "COLUMN|number",
        "Column of rows with the key; number: number the samples, with nine digits",
        text!(key),
    )
    .unset("the old keys; of rows, the names of their media, or numbers")
    .example("number"),
    Spec::new(
        "key-rule",
        "RULE",
        "Of loose files: the dot that divides key and part",
        choice!(KEY_RULES, KeyRule::FirstDot, [("last-dot", KeyRule::LastDot)], key_rule),
    )
    .default("first-dot"),
];

const KEY_RULES: &[Choice] = &[
    Choice { name: "first-dot", help: "The first one of the name, as loaders read it" },
    Choice { name: "last-dot", help: "The last one; earlier dots become _" },
];

const MISSING: &[Choice] = &[
    Choice { name: "skip", help: "Leave the row out, as a problem" },
    Choice { name: "keep", help: "Write the sample without that part" },
    Choice { name: "fail", help: "Write nothing" },
];

/// Returns the accessors for a list of columns with the names of their parts.
macro_rules! columns {
    ($field:ident) => {
        Access::List {
            separator: None,
            get: |plan| plan.rows.$field.iter().map(column_text).collect(),
            set: |plan, texts| {
                plan.rows.$field = texts.iter().map(|text| column_of(text)).collect::<Result<_, String>>()?;
                Ok(())
            },
        }
    };
}

fn column_text(column: &Column) -> String {
    match &column.part {
        Some(part) => format!("{}:{part}", column.name),
        None => column.name.clone(),
    }
}

fn column_of(text: &str) -> Result<Column, String> {
    let (name, part) = match text.split_once(':') {
        Some((name, part)) => (name, Some(part.to_owned())),
        None => (text, None),
    };
    match name.is_empty() || part.as_ref().is_some_and(String::is_empty) {
        true => Err(format!("'{text}' is not COLUMN or COLUMN:PART")),
        false => Ok(Column { name: name.to_owned(), part }),
    }
}

const ROWS: &[Spec] = &[
    Spec::new(
        "media",
        "COLUMN[:PART]",
        "Column with paths of media, or with media; PART may contain {ext} (repeat)",
        columns!(media),
    )
    .example("image:{ext}"),
    Spec::new(
        "media-root",
        "DIR",
        "Folder that these paths are relative to, or a prepared data set",
        optional_path!(rows.media_root),
    )
    .or_read_store()
    .unset("the folder of the file of rows"),
    Spec::new("text", "COLUMN[:PART]", "Column whose text becomes a part, txt unless named (repeat)", columns!(text))
        .example("caption"),
    Spec::new("no-json", "", "Do not write the row itself as a part json", switch!(rows.no_json)),
    Spec::new("split-column", "COLUMN", "Column with the name of the split", text!(rows.split)),
    Spec::new(
        "missing",
        "HOW",
        "What to do with a row whose media are missing",
        choice!(MISSING, Missing::Skip, [("keep", Missing::Keep), ("fail", Missing::Fail)], rows.missing),
    )
    .default("skip"),
];

const DUPLICATES: &[Choice] = &[
    Choice { name: "fail", help: "Write nothing and name both places" },
    Choice { name: "keep-first", help: "Leave later samples of a key out" },
    Choice { name: "merge", help: "Bring the parts of all samples of a key together" },
    Choice { name: "prefix", help: "Put the name of the shard before every key, and bring its parts together" },
];

const CHOOSE: &[Spec] = &[
    Spec::new("limit", "N", "Write N samples at most, after shuffling", number!(1..=u64::MAX, choice.limit))
        .unset("all"),
    Spec::new(
        "split",
        "NAMES",
        "Of a prepared input: only these splits, separated by commas",
        list!(Some(','), choice.splits),
    )
    .unset("all of them"),
    Spec::new("one-split", "", "Write all splits into one", switch!(choice.one_split)),
    Spec::new("keep-excluded", "", "Also write what split.yaml excludes", switch!(choice.keep_excluded)),
    Spec::new(
        "keep-keys",
        "FILE",
        "Only the samples that FILE lists, one KEY or SHARD/KEY a line",
        optional_path!(choice.keep_keys),
    )
    .or_read_store(),
    Spec::new(
        "drop-keys",
        "FILE",
        "Leave out the samples that FILE lists, one KEY or SHARD/KEY a line",
        optional_path!(choice.drop_keys),
    )
    .or_read_store(),
    Spec::new("keep-parts", "A,B", "Only these parts", list!(Some(','), choice.keep_parts)).unset("all"),
    Spec::new("drop-parts", "A,B", "Leave these parts out", list!(Some(','), choice.drop_parts)),
    Spec::new(
        "rename-part",
        "OLD=NEW",
        "Give a part another name, before other choices (repeat)",
        Access::List {
            separator: None,
            get: |plan| plan.choice.rename_parts.iter().map(|(old, new)| format!("{old}={new}")).collect(),
            set: |plan, texts| {
                let pair = |text: &String| {
                    let (old, new) = text.split_once('=').ok_or_else(|| format!("'{text}' has no ="))?;
                    Ok((old.to_owned(), new.to_owned()))
                };
                plan.choice.rename_parts = texts.iter().map(pair).collect::<Result<_, String>>()?;
                Ok(())
            },
        },
    )
    .example("seg.png=mask.png"),
    Spec::new("require", "A,B", "Leave out samples that lack one of these parts", list!(Some(','), choice.require)),
    Spec::new(
        "duplicates",
        "HOW",
        "What to do with a key that occurs more than once",
        choice!(
            DUPLICATES,
            RepeatedKeys::Fail,
            [("keep-first", RepeatedKeys::KeepFirst), ("merge", RepeatedKeys::Merge), ("prefix", RepeatedKeys::Prefix)],
            choice.repeated_keys
        ),
    )
    .default("fail"),
];

const DIVIDE: &[Spec] = &[
    Spec::new("max-count", "N", "Most samples of a shard", number_or!(MAX_COUNT, 1..=u64::MAX, division.max_count))
        .default("10000")
        .conflicts(&["shards"]),
    Spec::new(
        "max-size",
        "SIZE",
        "Largest size of a finished shard, in bytes or like 512MiB",
        Access::Text {
            get: |plan| Some(plan.division.max_size).filter(|size| *size != MAX_SIZE).map(exact_size),
            set: |plan, text| {
                plan.division.max_size = text.map_or(Ok(MAX_SIZE), |text| parse_size(&text))?;
                Ok(())
            },
        },
    )
    .default("3000000000")
    .example("512MiB")
        .conflicts(&["shards", "even"]),
    Spec::new("shards", "N", "Write N shards, of each split", number!(1..=u64::MAX, division.shards))
        .unset("as many as the limits of a shard need")
        .conflicts(&["even"]),
    Spec::new(
        "even",
        "",
        "As many shards as --max-count takes, with counts that differ by one at most",
        switch!(division.even),
    ),
    Spec::new(
        "pattern",
        "TEXT",
        "File name of a shard, with a place for its number",
        text_or!(PATTERN, division.pattern),
    )
    .default(PATTERN)
    .example("img_%05d.tar"),
    Spec::new("start", "N", "Number of the first shard", number_or!(0, 0..=u64::MAX, division.start)).default("0"),
    Spec::new("mtime", "SECONDS", "Time in the headers, since 1970", number_or!(0, 0..=u64::MAX, mtime))
        .default("0")
        .advanced(),
    Spec::new("checksums", "", "List the SHA-256 of every shard in the report", switch!(checksums)).advanced(),
    Spec::new(
        "splits-by-folder",
        "",
        "The first folder of each name is its split; so are folders named train, val, test and the like if there are no others",
        switch!(division.splits_by_folder),
    )
    .conflicts(&["one-split"]),
];

const ORDER: &[Spec] = &[
    Spec::new("shuffle", "", "Shuffle all samples of a split", switch!(shuffle)),
    Spec::new("seed", "N", "Seed of the shuffle", number_or!(SEED, 0..=u64::MAX, seed))
        .default("42")
        .needs("shuffle")
        .applies("--shuffle", |plan| plan.shuffle),
];

const APPEND: &[Spec] = &[
    Spec::new(
        "append",
        "",
        "Add the shards to a prepared set, with numbers after its highest one and keys that it has not",
        switch!(append),
    ),
    Spec::new("new-to", "SPLIT", "The split that the new shards join", text!(new_to))
        .unset("by the recorded rule")
        .needs("append")
        .applies("--append", |plan| plan.append),
];

const MEDIA_SET: &[Spec] = &[
    Spec::new("media-to", "DIR", "Write media as a set of their own, of the same keys", optional_path!(apart.media_to))
        .or_store()
        .unset("together"),
    Spec::new(
        "text-to",
        "FILE.jsonl",
        "Write the rest as lines of JSON, in place of --output",
        optional_path!(apart.text_to),
    )
    .or_store()
    .needs("media-to")
    .applies("--media-to", |plan| plan.apart.media_to.is_some()),
    Spec::new(
        "metadataset",
        "FILE.yaml",
        "Write a metadataset of the rest, with the media as an aux source",
        optional_path!(apart.metadataset),
    )
    .or_store()
    .needs("media-to")
    .applies("--media-to", |plan| plan.apart.media_to.is_some()),
];
