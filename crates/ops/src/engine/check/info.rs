//! `info`: describes a prepared data set from its small files. Also supports crude data sets, and data sets without a dataset yaml.

use super::lint::shard::UPDATE_HINT;
use super::PreparedDataset;
use crate::engine::media::{facts_of, MediaSpread};
use crate::engine::recorded::describe_resized;
use gristmill_core::plan::FieldExpr;
use gristmill_core::text::count;
use gristmill_core::{Cancel, DatasetKind, Failure, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::energon::dataset_yaml::{DatasetYaml, PartFilter, SampleSource};
use gristmill_data::formats::energon::layout;
use gristmill_storage::files;
use gristmill_storage::location::hint_for;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Maximum number of shards that are named for one kind of problem.
const MAX_LISTED: u64 = 3;

/// Options of `info`.
#[derive(Clone, Debug)]
pub struct InfoOptions {
    /// The dataset yaml, relative to `.nv-meta`.
    pub dataset_config: String,
    /// A file to use instead of `split.yaml`, relative to `.nv-meta`.
    pub split_config: Option<String>,
}

impl Default for InfoOptions {
    fn default() -> Self {
        Self { dataset_config: layout::DATASET_YAML.to_owned(), split_config: None }
    }
}

/// A split, for the description of a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitInfo {
    /// Name of the split.
    pub name: String,
    /// Shards of the split, without excluded ones.
    pub shards: u64,
    /// Samples in these shards, as the loader counts them: individually excluded samples are included.
    pub samples: u64,
    /// Share of all samples, from 0 to 1.
    pub share: f64,
    /// Bytes of the shards.
    pub bytes: u64,
    /// Excluded shards of the split.
    pub excluded_shards: u64,
    /// Individually excluded samples of the split, as far as the excludes name them.
    pub excluded_samples: u64,
    /// Names in the split that are not in the index.
    pub unknown_shards: u64,
}

/// The description of a data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InfoReport {
    /// Last component of the path.
    pub name: String,
    /// Absolute path of the data set.
    pub path: String,
    /// The kind of data set.
    pub kind: DatasetKind,
    /// Samples in all shards.
    pub samples: u64,
    /// Bytes of all existing shards.
    pub bytes: u64,
    /// Shards in the index.
    pub shards: u64,
    /// The version of the format in which the index was written.
    pub version: Option<String>,
    /// Class name of the samples; `None` without a dataset yaml.
    pub sample_type: Option<String>,
    /// Module of the class.
    pub sample_module: Option<String>,
    /// Whether samples are plain maps of parts.
    pub is_crude: bool,
    /// The field map, when there is one.
    pub field_map: Option<Vec<FieldExpr>>,
    /// The function that makes samples, if there is one.
    pub sample_loader: Option<String>,
    /// The parts that are read, if they are listed.
    pub part_filter: Option<Vec<String>>,
    /// Whether samples can be found by name (`index.sqlite` exists).
    pub has_sample_tables: bool,
    /// The content of the media tables; `None` when there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSpread>,
    /// Whether this program prepared the data set.
    pub by_gristmill: bool,
    /// The splits: train, val, test, then the others in the order of the file.
    pub splits: Vec<SplitInfo>,
    /// The number of excluded shards.
    pub excluded_shards: u64,
    /// The number of individually excluded samples.
    pub excluded_samples: u64,
    /// Shards that are in no split, without excluded ones.
    pub unassigned: Vec<String>,
    /// Problems that prevented the determination of a fact.
    pub problems: Vec<Problem>,
}

/// Describes a data set. Reads small files and the sizes of the shards, but no tar.
pub fn info(root: &Path, options: &InfoOptions) -> Outcome<InfoReport> {
    let prepared = PreparedDataset::open_with(root, options.split_config.as_deref())?;
    let mut report = basic_report(root, &prepared);
    let sizes = sizes(&prepared, &mut report);
    report.bytes = sizes.values().sum();
    report.problems.extend(crate::engine::plan::many_shards(prepared.info.shard_counts.len()));
    loading(root, options, &mut report);
    splits(&prepared, &sizes, &mut report);
    match facts_of(root, &Cancel::default()) {
        Ok(media) => report.media = media,
        Err(failure) => report.problems.push(super::bad_file(failure)),
    }
    Ok(report)
}

/// The description of a folder of media that only has media tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MediaFolderInfo {
    /// Last component of the path.
    pub name: String,
    /// Absolute path of the folder.
    pub path: String,
    /// The kind of folder.
    pub kind: DatasetKind,
    /// Size of the database in bytes.
    pub database_bytes: u64,
    /// The content of the tables.
    pub media: MediaSpread,
}

/// Returns the failure of a folder whose database has no tables of media metadata.
pub fn no_media_tables(root: &Path) -> Failure {
    Failure::data("looking at the folder", "its database has no media tables")
        .on(Subject::path(layout::in_nv_meta(root, layout::INDEX_SQLITE)))
        .with_hint(hint_for(root, "gristmill prepare-media PATH makes them"))
}

/// Describes a folder of media. Fails if its database has no tables of media metadata.
pub fn media_folder_info(root: &Path) -> Outcome<MediaFolderInfo> {
    let path = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    let Some(media) = facts_of(root, &Cancel::default())? else {
        return Err(no_media_tables(root));
    };
    let absolute = files::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    Ok(MediaFolderInfo {
        name: absolute.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned()),
        path: root.to_string_lossy().into_owned(),
        kind: DatasetKind::Filesystem,
        database_bytes: files::metadata(path).map_or(0, |facts| facts.len()),
        media,
    })
}

fn basic_report(root: &Path, prepared: &PreparedDataset) -> InfoReport {
    let absolute = files::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let name = absolute.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let own = gristmill_storage::run_folder::RunFolder::for_webdataset(root);
    InfoReport {
        name,
        path: root.to_string_lossy().into_owned(),
        kind: DatasetKind::PreparedWebDataset,
        samples: prepared.info.samples(),
        bytes: 0,
        shards: prepared.info.shard_counts.len() as u64,
        version: prepared.info.energon_version.clone(),
        sample_type: None,
        sample_module: None,
        is_crude: false,
        field_map: None,
        sample_loader: None,
        part_filter: None,
        has_sample_tables: prepared.has_tables,
        media: None,
        by_gristmill: files::exists(own.plan()),
        splits: Vec::new(),
        excluded_shards: 0,
        excluded_samples: 0,
        unassigned: Vec::new(),
        problems: Vec::new(),
    }
}

fn sizes<'p>(prepared: &'p PreparedDataset, report: &mut InfoReport) -> HashMap<&'p str, u64> {
    let mut sizes = HashMap::new();
    let (mut missing, mut changed) = (0, 0);
    for (name, shard) in prepared.shards() {
        match shard {
            Ok(shard) => {
                sizes.insert(name, shard.stamp.bytes);
                let then = prepared.stamps.get(name);
                if let Some(how) =
                    then.and_then(|then| describe_resized((&prepared.root, name), *then, shard.stamp.bytes))
                {
                    changed += 1;
                    if changed <= MAX_LISTED {
                        let problem = Problem::problem(ProblemKind::ShardChanged, Subject::shard(name), how);
                        report.problems.push(problem.with_hint(hint_for(&prepared.root, UPDATE_HINT)));
                    }
                }
            }
            Err(failure) => {
                missing += 1;
                if missing <= MAX_LISTED {
                    let message = format!("the index lists this shard, but it cannot be read: {}", failure.why);
                    report.problems.push(Problem::problem(ProblemKind::MissingFile, Subject::shard(name), message));
                }
            }
        }
    }
    let rests = [
        (missing, ProblemKind::MissingFile, "cannot be read"),
        (changed, ProblemKind::ShardChanged, "changed since indexed"),
    ];
    for (number, kind, what) in rests.into_iter().filter(|(number, ..)| *number > MAX_LISTED) {
        let message = format!("{} of the index {what}", count(number - MAX_LISTED, "more shard"));
        report.problems.push(Problem::problem(kind, Subject::default(), message));
    }
    if prepared.pending.is_some() {
        let message = "publishing was interrupted: what is shown may be half old, half new";
        report.problems.push(
            Problem::problem(ProblemKind::InterruptedPublish, Subject::path(&prepared.root), message)
                .with_hint("run gristmill prepare on it again with the same answers: that finishes it"),
        );
    }
    sizes
}

fn loading(root: &Path, options: &InfoOptions, report: &mut InfoReport) {
    match DatasetYaml::read(root, &options.dataset_config) {
        Ok(Some(yaml)) => {
            report.is_crude = yaml.is_crude();
            report.sample_type = Some(yaml.sample_type.class.clone());
            report.sample_module = Some(yaml.sample_type.module.clone());
            match yaml.source {
                SampleSource::FieldMap(fields) => report.field_map = Some(fields),
                SampleSource::Loader { function, part_filter } => {
                    report.sample_loader = Some(function);
                    report.part_filter = listed(part_filter);
                }
                SampleSource::Parts(part_filter) => report.part_filter = listed(part_filter),
            }
        }
        Ok(None) => {
            let path = layout::in_nv_meta(root, &options.dataset_config);
            let message = "there is no dataset yaml, so the sample type is not known";
            report.problems.push(Problem::note(ProblemKind::MissingFile, Subject::path(path), message));
        }
        Err(failure) => report.problems.push(super::bad_file(failure)),
    }
}

fn listed(filter: Option<PartFilter>) -> Option<Vec<String>> {
    match filter {
        Some(PartFilter::Parts(parts)) => Some(parts),
        Some(PartFilter::Function(_)) | None => None,
    }
}

fn splits(prepared: &PreparedDataset, sizes: &HashMap<&str, u64>, report: &mut InfoReport) {
    if let Some(failure) = &prepared.splits_failure {
        report.problems.push(super::bad_file(failure.clone()));
    }
    let Some(file) = &prepared.splits else {
        if prepared.splits_failure.is_none() {
            let path = layout::in_nv_meta(&prepared.root, layout::SPLIT_YAML);
            report.problems.push(Problem::problem(
                ProblemKind::MissingFile,
                Subject::path(path),
                "split.yaml is missing",
            ));
        }
        return;
    };
    let counts: HashMap<&str, u64> = prepared.info.shard_counts.iter().map(|(n, c)| (n.as_str(), *c)).collect();
    let (splits, _) = file.expanded();
    let (items, _) = file.expanded_excludes();
    let excluded: HashSet<&str> = items.iter().map(String::as_str).filter(|i| counts.contains_key(i)).collect();
    let mut excluded_in: HashMap<&str, u64> = HashMap::new();
    for item in items.iter().filter(|i| !counts.contains_key(i.as_str())) {
        let shard = item.match_indices('/').map(|(at, _)| &item[..at]).find(|s| counts.contains_key(s));
        if let Some(shard) = shard {
            *excluded_in.entry(shard).or_default() += 1;
        }
    }
    report.excluded_shards = excluded.len() as u64;
    report.excluded_samples = excluded_in.values().sum();
    let mut assigned: HashSet<&str> = HashSet::new();
    for (name, shards) in &splits {
        let mut split = SplitInfo {
            name: name.clone(),
            shards: 0,
            samples: 0,
            share: 0.0,
            bytes: 0,
            excluded_shards: 0,
            excluded_samples: 0,
            unknown_shards: 0,
        };
        for shard in shards {
            assigned.insert(shard);
            match counts.get(shard.as_str()) {
                None => split.unknown_shards += 1,
                Some(_) if excluded.contains(shard.as_str()) => split.excluded_shards += 1,
                Some(count) => {
                    split.shards += 1;
                    split.samples += count;
                    split.bytes += sizes.get(shard.as_str()).copied().unwrap_or(0);
                    split.excluded_samples += excluded_in.get(shard.as_str()).copied().unwrap_or(0);
                }
            }
        }
        split.share = if report.samples == 0 { 0.0 } else { split.samples as f64 / report.samples as f64 };
        report.splits.push(split);
    }
    let rank = |name: &str| ["train", "val", "test"].iter().position(|k| *k == name).unwrap_or(3);
    report.splits.sort_by_key(|s| rank(&s.name));
    let unassigned = prepared.info.shard_counts.iter().map(|(n, _)| n.as_str());
    report.unassigned =
        unassigned.filter(|n| !assigned.contains(n) && !excluded.contains(n)).map(str::to_owned).collect();
}
