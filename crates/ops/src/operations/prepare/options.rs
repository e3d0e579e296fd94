//! The options of `prepare`.

use super::super::media_filters::{self, MediaAnswers};
use super::texts::{exclude_lines, field_map, field_texts, sort_in_class_order, split_patterns, yaml_name};
use gristmill_core::options::{Access, AnswerFile, Choice, Group, OptionSpec, Step};
use gristmill_core::plan::{SplitList, DATASET_YAML};
use gristmill_core::sample_type::CRUDE_CLASS;
use gristmill_core::{
    Duplicates, Failure, MediaFilter, MediaPlan, Outcome, PreparePlan, Rerun, SampleMapping, Scope, SplitPlan, Subject,
    Tgz,
};
use gristmill_data::formats::energon::split_yaml::SplitFile;
use gristmill_storage::read::read_whole;
use std::path::Path;

type Spec = OptionSpec<PreparePlan>;

/// Maximum number of excludes that are printed as flags; more are written to a file.
const MAX_PRINTED_EXCLUDES: usize = 8;
/// Maximum size of a file of excludes, in bytes.
const MAX_EXCLUDES_BYTES: u64 = 64 << 20;

/// Name of the file with explicit splits in the printed command.
const SPLITS_FILE: &str = "splits.yaml";
/// The name of the file with many excludes in the printed command.
const EXCLUDES_FILE: &str = "excludes.txt";

pub(super) const STEPS: &[Step] = &[
    Step { id: "source", title: "Source" },
    Step { id: "splits", title: "Splits" },
    Step { id: "sample-type", title: "Sample type" },
    Step { id: "field-map", title: "Field map" },
    Step { id: "media", title: "Media" },
];

pub(super) const GROUPS: &[Group<PreparePlan>] = &[
    Group::new("", "source", PATH),
    Group::new("Second run", "source", SECOND_RUN).listed_last(),
    Group::new("Index", "source", SCOPE).listed_last(),
    Group::new("Splits", "splits", SPLITS),
    Group::new("Excludes", "source", EXCLUDES),
    Group::new("Loading", "sample-type", SAMPLE_TYPE),
    Group::new("Loading", "field-map", FIELD_MAP),
    Group::new("Loading", "sample-type", LOADER),
    Group::new("Index", "source", SHARDS),
    Group::new("Media metadata", "media", &media_filters::filters()),
    Group::new("Media metadata", "media", DECODE),
    Group::new("", "source", COMPAT),
];

const PATH: &[Spec] =
    &[Spec::new("path", "PATH", "Folder of tar shards, .jsonl file, or metadataset .yaml", path!(path))
        .or_store()
        .positional()
        .required()];

const SECOND_RUN: &[Spec] = &[
    Spec::new(
        "update",
        "",
        "Prepared before: take in new and changed shards, keep excludes and assignments",
        value!(Rerun::Update, rerun),
    )
    .conflicts(&["force-overwrite"]),
    Spec::new(
        "force-overwrite",
        "",
        "Prepared before: redo everything, keep excludes and a backup of split.yaml",
        value!(Rerun::Overwrite, rerun),
    )
    .replaces(""),
    Spec::new("new-to", "SPLIT", "The split that new shards join", text!(new_to))
        .unset("by the recorded rule")
        .needs("update")
        .applies("--update", |plan| plan.rerun == Rerun::Update),
    Spec::new("reset-excludes", "", "With --force-overwrite: remove the excludes too", switch!(reset_excludes))
        .needs("force-overwrite")
        .applies("--force-overwrite", |plan| plan.rerun == Rerun::Overwrite),
];

const SCOPE: &[Spec] = &[
    Spec::new(
        "tar-index-only",
        "",
        "Rewrite .tar.idx, the database and the uuid; leave splits and dataset yaml alone",
        value!(Scope::TarIndexOnly, scope),
    )
    .advanced()
    .conflicts(&["skip-sample-tables", "update", "force-overwrite"]),
    Spec::new(
        "skip-sample-tables",
        "",
        "Write no index.sqlite: enough for training, not for access by name",
        value!(Scope::WithoutSampleTables, scope),
    )
    .advanced(),
    Spec::new(
        "skip-bad-lines",
        "",
        "Of a .jsonl file: index a copy, NAME.clean.jsonl, without the lines that lint reports",
        switch!(skip_bad_lines),
    ),
];

const SPLITS: &[Spec] = &[
    Spec::new(
        "split-ratio",
        "A,B,C",
        "Divide the shards by three numbers for train, val and test",
        variant_text!(SplitPlan::Ratio, splits),
    )
    .conflicts(&["split-parts", "splits-from"]),
    Spec::new(
        "split-parts",
        "NAME:REGEX",
        "Divide by regular expressions on shard names, anchored at the start (repeat)",
        Access::List {
            separator: None,
            get: |plan| match &plan.splits {
                SplitPlan::Patterns(all) => all.iter().map(|x| format!("{}:{}", x.name, x.pattern)).collect(),
                _ => Vec::new(),
            },
            set: |plan, texts| {
                match (split_patterns(&texts, plan.compat)?, &plan.splits) {
                    (patterns, SplitPlan::Patterns(_)) if patterns.is_empty() => plan.splits = SplitPlan::Unset,
                    (patterns, _) if patterns.is_empty() => {}
                    (patterns, _) => plan.splits = SplitPlan::Patterns(patterns),
                }
                Ok(())
            },
        },
    )
    .example("train:train/.*")
    .conflicts(&["splits-from"]),
    Spec::new(
        "splits-from",
        "FILE",
        "Take splits and excludes from a split.yaml, as it is",
        Access::Content { read: read_splits, write: splits_file },
    ),
    Spec::new("shuffle-tars", "", "Shuffle the shards before dividing them (fixed seed)", switch!(shuffle_tars)),
    Spec::new("allow-empty-splits", "", "Accept patterns that match no shard", switch!(allow_empty_splits)),
];

/// Sets the splits and excludes to those of a `split.yaml`.
fn read_splits(plan: &mut PreparePlan, path: &Path) -> Outcome<()> {
    let Some(file) = SplitFile::read_file(path)? else {
        return Err(Failure::io("reading --splits-from", path, &std::io::ErrorKind::NotFound.into()));
    };
    plan.findings.extend(file.repeated_excludes(path));
    let lists = file.split_parts.into_iter().map(|(name, shards)| SplitList { name, shards });
    plan.splits = SplitPlan::Listed(lists.collect());
    plan.excludes = file.exclude;
    Ok(())
}

fn splits_file(plan: &PreparePlan) -> Option<AnswerFile> {
    let SplitPlan::Listed(lists) = &plan.splits else { return None };
    let split_parts = lists.iter().map(|list| (list.name.clone(), list.shards.clone())).collect();
    let file = SplitFile { split_parts, exclude: plan.excludes.clone(), ..SplitFile::default() };
    Some(AnswerFile { name: SPLITS_FILE, text: file.render() })
}

const EXCLUDES: &[Spec] = &[
    Spec::new(
        "exclude",
        "REGEX",
        "Leave out shards whose name this regular expression finds (repeat)",
        list!(None, exclude_shards),
    ),
    Spec::new(
        "exclude-sample",
        "SHARD/KEY",
        "Exclude one sample (repeat); braces are expanded",
        Access::List { separator: None, get: printed_excludes, set: set_excludes },
    )
    .advanced(),
    Spec::new(
        "exclude-from",
        "FILE",
        "Exclude the shards and samples that FILE lists, one SHARD or SHARD/KEY a line",
        Access::Content { read: read_excludes, write: excludes_file },
    ),
];

/// Returns the excludes that are not in a file of the printed command.
fn printed_excludes(plan: &PreparePlan) -> Vec<String> {
    match is_listed(plan) || excludes_file(plan).is_some() {
        true => Vec::new(),
        false => plan.excludes.clone(),
    }
}

/// Sets the individual excludes. Excludes from a `split.yaml` remain, and come first.
fn set_excludes(plan: &mut PreparePlan, items: Vec<String>) -> Result<(), String> {
    if !is_listed(plan) {
        plan.excludes.clear();
    }
    plan.excludes.extend(items);
    Ok(())
}

fn is_listed(plan: &PreparePlan) -> bool {
    matches!(plan.splits, SplitPlan::Listed(_))
}

fn read_excludes(plan: &mut PreparePlan, path: &Path) -> Outcome<()> {
    const ACTIVITY: &str = "reading --exclude-from";
    let Some(bytes) = read_whole(path, MAX_EXCLUDES_BYTES)? else {
        return Err(Failure::io(ACTIVITY, path, &std::io::ErrorKind::NotFound.into()));
    };
    let not_text = |_| Failure::usage(ACTIVITY, "it is not a text file in UTF-8").on(Subject::path(path));
    plan.excludes.extend(exclude_lines(&String::from_utf8(bytes).map_err(not_text)?));
    Ok(())
}

fn excludes_file(plan: &PreparePlan) -> Option<AnswerFile> {
    let fits_a_line = |item: &String| {
        !item.is_empty() && !item.contains(['\n', '\r']) && item.trim() == *item && !item.starts_with('#')
    };
    if is_listed(plan) || plan.excludes.len() <= MAX_PRINTED_EXCLUDES || !plan.excludes.iter().all(fits_a_line) {
        return None;
    }
    let text = plan.excludes.iter().flat_map(|item| [item.as_str(), "\n"]).collect();
    Some(AnswerFile { name: EXCLUDES_FILE, text })
}

const SAMPLE_TYPE: &[Spec] = &[Spec::new(
    "sample-type",
    "NAME",
    "Sample type: a class name, module:Class, or CrudeWebdataset",
    Access::Text {
        get: |plan| match &plan.loading {
            SampleMapping::Unset | SampleMapping::NoDatasetYaml => None,
            SampleMapping::Crude { .. } => Some(CRUDE_CLASS.to_owned()),
            SampleMapping::FieldMap { sample_type, .. } | SampleMapping::SampleLoader { sample_type } => {
                Some(sample_type.clone())
            }
        },
        set: set_sample_type,
    },
)
.conflicts(&["skip-dataset-yaml"])];

const FIELD_MAP: &[Spec] = &[Spec::new(
    "field-map",
    "JSON|FIELD=EXPR",
    "Which part fills which field (repeat): caption=json[text],txt",
    Access::List {
        separator: None,
        get: |plan| match &plan.loading {
            SampleMapping::FieldMap { fields, .. } => field_texts(fields),
            _ => Vec::new(),
        },
        set: set_field_map,
    },
)
.example("image=jpg")
.needs("sample-type")
.conflicts(&["sample-loader", "cooker"])
.applies("a --sample-type that is not crude", has_fields)];

const LOADER: &[Spec] = &[
    Spec::new(
        "sample-loader",
        "",
        "Write a sample_loader.py template instead of a field map (deprecated)",
        Access::Switch {
            get: |plan| matches!(plan.loading, SampleMapping::SampleLoader { .. }),
            set: |plan, is_on| match (&plan.loading, is_on) {
                (SampleMapping::FieldMap { sample_type, .. }, true) => {
                    plan.loading = SampleMapping::SampleLoader { sample_type: sample_type.clone() };
                }
                (SampleMapping::SampleLoader { sample_type }, false) => {
                    plan.loading = SampleMapping::FieldMap { sample_type: sample_type.clone(), fields: Vec::new() };
                }
                _ => {}
            },
        },
    )
    .needs("sample-type")
    .conflicts(&["cooker"])
    .applies("a --sample-type that is not crude", has_fields),
    Spec::new(
        "cooker",
        "",
        "With CrudeWebdataset: write a cooker.py skeleton",
        Access::Switch {
            get: |plan| matches!(plan.loading, SampleMapping::Crude { cooker: true }),
            set: |plan, is_on| {
                if let SampleMapping::Crude { cooker } = &mut plan.loading {
                    *cooker = is_on;
                }
            },
        },
    )
    .needs("sample-type")
    .applies("--sample-type CrudeWebdataset", |plan| matches!(plan.loading, SampleMapping::Crude { .. })),
    Spec::new("skip-dataset-yaml", "", "Write no dataset yaml", value!(SampleMapping::NoDatasetYaml, loading)),
    Spec::new(
        "dataset-yaml-name",
        "NAME",
        "Name of the dataset yaml",
        Access::Text {
            get: |plan| Some(plan.dataset_yaml_name.clone()).filter(|name| name != DATASET_YAML),
            set: |plan, name| {
                plan.dataset_yaml_name = name.map_or(Ok(DATASET_YAML.to_owned()), |name| yaml_name(&name))?;
                Ok(())
            },
        },
    )
    .default(DATASET_YAML)
    .advanced(),
];

fn has_fields(plan: &PreparePlan) -> bool {
    matches!(plan.loading, SampleMapping::FieldMap { .. } | SampleMapping::SampleLoader { .. })
}

/// Sets the sample type. Preserves answers that still apply.
#[allow(clippy::unnecessary_wraps, reason = "the signature of an accessor")]
fn set_sample_type(plan: &mut PreparePlan, name: Option<String>) -> Result<(), String> {
    plan.loading = match (std::mem::take(&mut plan.loading), name) {
        (SampleMapping::NoDatasetYaml, None) => SampleMapping::NoDatasetYaml,
        (_, None) => SampleMapping::Unset,
        (SampleMapping::Crude { cooker }, Some(name)) if name == CRUDE_CLASS => SampleMapping::Crude { cooker },
        (_, Some(name)) if name == CRUDE_CLASS => SampleMapping::Crude { cooker: false },
        (SampleMapping::SampleLoader { .. }, Some(sample_type)) => SampleMapping::SampleLoader { sample_type },
        (SampleMapping::FieldMap { mut fields, .. }, Some(sample_type)) => {
            sort_in_class_order(&sample_type, &mut fields);
            SampleMapping::FieldMap { sample_type, fields }
        }
        (_, Some(sample_type)) => SampleMapping::FieldMap { sample_type, fields: Vec::new() },
    };
    Ok(())
}

/// Sets the field map, which replaces a sample loader. Has no effect without a sample type.
fn set_field_map(plan: &mut PreparePlan, texts: Vec<String>) -> Result<(), String> {
    let mut fields = field_map(&texts)?;
    match &plan.loading {
        SampleMapping::SampleLoader { .. } if fields.is_empty() => {}
        SampleMapping::FieldMap { sample_type, .. } | SampleMapping::SampleLoader { sample_type } => {
            sort_in_class_order(sample_type, &mut fields);
            plan.loading = SampleMapping::FieldMap { sample_type: sample_type.clone(), fields };
        }
        SampleMapping::Unset | SampleMapping::NoDatasetYaml | SampleMapping::Crude { .. } => {}
    }
    Ok(())
}

const DUPLICATES: &[Choice] = &[
    Choice { name: "fail", help: "Publish nothing and name both places" },
    Choice { name: "keep-first", help: "Keep the first, leave out the later ones" },
];

const TGZ: &[Choice] = &[
    Choice { name: "skip", help: "Index them and leave them out of the splits" },
    Choice { name: "rewrite", help: "Make a plain .tar next to each and use that" },
];

const SHARDS: &[Spec] = &[
    Spec::new(
        "duplicates",
        "HOW",
        "What to do when one key names two samples",
        choice!(DUPLICATES, Duplicates::Fail, [("keep-first", Duplicates::KeepFirst)], duplicates),
    )
    .default("fail"),
    Spec::new(
        "tgz",
        "HOW",
        "What to do with compressed shards",
        choice!(TGZ, Tgz::Skip, [("rewrite", Tgz::Rewrite)], tgz),
    )
    .default("skip"),
];

impl MediaAnswers for PreparePlan {
    fn media(&self) -> Option<&MediaPlan> {
        self.media.as_ref()
    }

    fn set_filter(&mut self, filter: Option<MediaFilter>) {
        let decode = self.media.as_ref().is_some_and(|media| media.decode);
        self.media = filter.map(|filter| MediaPlan { filter, decode });
    }

    fn set_decode(&mut self, is_on: bool) {
        if let Some(media) = &mut self.media {
            media.decode = is_on;
        }
    }
}

/// The options that select media.
pub(super) const MEDIA_FILTERS: &[&str] =
    &["media-metadata-by-extension", "media-metadata-by-header", "media-metadata-by-glob"];

const DECODE: &[Spec] = &[media_filters::decode()
    .applies("one of the flags --media-metadata-by-extension, -header and -glob", |plan: &PreparePlan| {
        plan.media.is_some()
    })];

const COMPAT: &[Spec] =
    &[Spec::new("compat", "", "Reproduce the reference program's bytes even where they lose data", switch!(compat))
        .global()];
