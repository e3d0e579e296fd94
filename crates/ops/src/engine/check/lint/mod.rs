//! `lint`: checks a prepared data set: small files, database, splits, excludes, and the header at the offset in every index row.

pub(super) mod database;
pub(super) mod files;
pub(super) mod shard;
pub(super) mod splits;

use super::media::{self, Depth};
use super::sample_checks::FieldParts;
use super::shard_unit::one_shard;
use super::unindexed_pieces::KeySpools;
use super::{bad_file, CheckCounts, PreparedDataset};
use gristmill_core::text::count;
use gristmill_core::{Handles, Outcome, Problem, ProblemKind, ProblemSink, ShardId, Subject};
use gristmill_data::formats::energon::dataset_yaml::{DatasetYaml, PartFilter, SampleSource};
use gristmill_data::formats::energon::layout;
use gristmill_storage::files::is_file;
use gristmill_storage::location::hint_for;
use gristmill_storage::run_folder::RunFolder;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Options of `lint`.
#[derive(Clone, Debug)]
pub struct LintOptions {
    /// The dataset yaml, relative to `.nv-meta`.
    pub dataset_config: String,
    /// A file to use instead of `split.yaml`, relative to `.nv-meta`.
    pub split_config: Option<String>,
    /// Whether every header is read again, which takes longest.
    pub headers: bool,
    /// Whether every picture with a media row is decoded, to find damage that its header does not show.
    pub decode: bool,
}

impl Default for LintOptions {
    fn default() -> Self {
        Self { dataset_config: layout::DATASET_YAML.to_owned(), split_config: None, headers: true, decode: false }
    }
}

/// The data against which shards are checked; cheap to share between threads.
pub struct LintContext {
    /// The data set that is checked.
    pub prepared: PreparedDataset,
    fields: FieldParts,
    /// The excluded keys of each shard.
    excluded_keys: HashMap<String, HashSet<String>>,
    /// Shards whose samples are loaded for training.
    trained: HashSet<String>,
    /// Whether the rows can be read in order without sorting.
    rows_are_indexed: bool,
    /// The keys of all shards; `None` if the tables guarantee that keys are unique.
    keys: Option<KeySpools>,
    headers: bool,
    media: Depth,
    /// Number of shards whose modification time differs from the recorded one although their size and headers match the index.
    retimed: AtomicU64,
}

/// Checks a whole data set, one shard after the other. Findings are reported to the handles. Fails if the data set is not prepared.
///
/// A caller with several threads calls [`begin`], then [`lint_shard`] for each shard in any order, then [`finish`].
pub fn lint(root: &Path, options: &LintOptions, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let context = begin(root, options, handles)?;
    let prepared = &context.prepared;
    handles.progress.restart(u64::from(prepared.shard_count()), if options.headers { prepared.bytes() } else { 0 });
    let mut checked = CheckCounts::default();
    for id in 0..prepared.shard_count() {
        checked.add(lint_shard(&context, ShardId(id), handles)?);
    }
    finish(&context, handles)?;
    Ok(checked)
}

/// Reports findings that concern several shards together. Must be called after all of them were checked.
pub fn finish(context: &LintContext, handles: &Handles<'_>) -> Outcome<()> {
    if let Some(keys) = &context.keys {
        keys.finish(&context.prepared, handles)?;
    }
    let (shards, verb) = match context.retimed.load(Ordering::Relaxed) {
        0 => return Ok(()),
        1 => ("1 shard".to_owned(), "has"),
        many => (count(many, "shard"), "have"),
    };
    let message = format!(
        "{shards} {verb} another modification time than when indexed, as in a copy without times; sizes and headers \
         agree with the index"
    );
    let problem = Problem::note(ProblemKind::ShardChanged, Subject::path(&context.prepared.root), message);
    handles.problems.report(problem.with_hint(hint_for(
        &context.prepared.root,
        "gristmill verify PATH compares everything and records the new times",
    )))
}

/// Checks everything except the shards: small files, splits, excludes, database, leftover files.
pub fn begin(root: &Path, options: &LintOptions, handles: &Handles<'_>) -> Outcome<LintContext> {
    let mut prepared = PreparedDataset::open_with(root, options.split_config.as_deref())?;
    let problems = handles.problems;
    interrupted(&prepared, problems)?;
    files::check(&prepared, problems)?;
    let yaml = dataset_yaml(&prepared, &options.dataset_config, problems)?;
    let splits = splits::check(&prepared, problems)?;
    handles.cancel.check()?;
    database::check(&mut prepared, handles)?;
    media::check_rows(&prepared, handles)?;
    let rows_are_indexed = database::is_indexed(&prepared);
    Ok(LintContext {
        fields: FieldParts::of(yaml.as_ref()),
        excluded_keys: splits.excluded_keys,
        trained: splits.trained,
        rows_are_indexed,
        keys: (options.headers && !prepared.has_tables).then(KeySpools::create).transpose()?,
        headers: options.headers,
        media: if options.decode { Depth::Decode } else { Depth::Rows },
        retimed: AtomicU64::new(0),
        prepared,
    })
}

/// Checks one shard, which is a unit of work. A shard that is missing or unreadable is a finding, not a failure.
pub fn lint_shard(context: &LintContext, id: ShardId, handles: &Handles<'_>) -> Outcome<CheckCounts> {
    let Some((name, _)) = context.prepared.entry(id) else { return Ok(CheckCounts::default()) };
    one_shard(name, handles, |handles| {
        let checked = shard::check(context, id, handles)?;
        media::check_shard(&context.prepared, id, context.media, handles)?;
        Ok(checked)
    })
}

/// Reports an interrupted publication, which the next writing command completes.
pub(super) fn interrupted(prepared: &PreparedDataset, problems: &dyn ProblemSink) -> Outcome<()> {
    let Some(files) = &prepared.pending else { return Ok(()) };
    let own = RunFolder::for_webdataset(&prepared.root);
    let message = format!(
        "publishing was interrupted: {} may be old or new ({})",
        count(files.len() as u64, "file"),
        files.iter().take(3).map(String::as_str).collect::<Vec<_>>().join(", ")
    );
    problems.report(
        Problem::problem(ProblemKind::InterruptedPublish, Subject::path(own.path()), message)
            .with_hint("run gristmill prepare on it again with the same answers: that finishes it"),
    )
}

pub(super) fn dataset_yaml(
    prepared: &PreparedDataset,
    name: &str,
    problems: &dyn ProblemSink,
) -> Outcome<Option<DatasetYaml>> {
    match DatasetYaml::read(&prepared.root, name) {
        Ok(Some(yaml)) => {
            splits::check_fields(&yaml, name, problems)?;
            python_files(prepared, &yaml, problems)?;
            Ok(Some(yaml))
        }
        Ok(None) => {
            let path = layout::in_nv_meta(&prepared.root, name);
            let message = "there is no dataset yaml: the trainer cannot load this data set without it";
            problems.report(
                Problem::note(ProblemKind::MissingFile, Subject::path(path), message)
                    .with_hint(hint_for(&prepared.root, "gristmill prepare PATH --update --sample-type …")),
            )?;
            Ok(None)
        }
        Err(failure) => {
            let problem = bad_file(failure);
            let way = "correct it, or have it made again: gristmill prepare PATH --update --sample-type …";
            let hint = problem.hint.clone().unwrap_or_else(|| hint_for(&prepared.root, way));
            problems.report(problem.with_hint(hint))?;
            Ok(None)
        }
    }
}

/// Checks that the Python files named by the dataset yaml are next to it. Their code is never run.
fn python_files(prepared: &PreparedDataset, yaml: &DatasetYaml, problems: &dyn ProblemSink) -> Outcome<()> {
    let (loader, filter) = match &yaml.source {
        SampleSource::Loader { function, part_filter } => (Some(function), part_filter.as_ref()),
        SampleSource::Parts(part_filter) => (None, part_filter.as_ref()),
        SampleSource::FieldMap(_) => (None, None),
    };
    let filter = filter.and_then(|f| match f {
        PartFilter::Function(function) => Some(function),
        PartFilter::Parts(_) => None,
    });
    let mut reported = HashSet::new();
    for function in loader.into_iter().chain(filter) {
        let Some((file, _)) = function.rsplit_once(':').filter(|(file, _)| file.ends_with(".py")) else { continue };
        let path = layout::nv_meta(&prepared.root).join(file);
        if !is_file(&path) && reported.insert(file) {
            let message = format!("the dataset yaml names '{function}', and this file does not exist");
            let hint = "restore it, or choose a field map: gristmill prepare PATH --update --sample-type …";
            let problem = Problem::problem(ProblemKind::MissingFile, Subject::path(path), message);
            problems.report(problem.with_hint(hint_for(&prepared.root, hint)))?;
        }
    }
    Ok(())
}
