//! Publishes everything in one publication: indexes, database, text files, and the record of the run.

use super::collect::Selection;
use super::rewrite::RenamedShard;
use super::{rerun, Context, PrepareReport};
use crate::engine::index::{BuiltIndex, SpooledShard};
use crate::engine::outputs::{self, Text};
use crate::engine::plan::file as plan_file;
use crate::engine::recorded::{Recorded, RecordedShard};
use crate::job::pool::run_units;
use crate::job::report::OutputFile;
use gristmill_core::{Failure, Outcome, Rerun, Scope, Shard};
use gristmill_data::formats::energon::{layout, split_yaml};
use gristmill_storage::files;
use gristmill_storage::listing::Listing;
use gristmill_storage::location::is_remote;
use gristmill_storage::lock::DatasetLock;
use gristmill_storage::publish::Publication;
use gristmill_storage::run_folder::RunFolder;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Name of a step in errors.
const LOOKUP_ACTIVITY: &str = "looking for earlier files";

/// All files of the publication.
pub(super) struct Outputs<'a> {
    pub(super) selection: &'a Selection,
    pub(super) spools: &'a [SpooledShard],
    /// Rewritten shards that replace the shards with the same names.
    pub(super) renamed: &'a [RenamedShard],
    pub(super) built: &'a BuiltIndex,
    /// Files inside `.nv-meta`, including `.info.json`.
    pub(super) texts: Vec<Text>,
    /// Excludes by the user that this run would also have added.
    pub(super) user_excludes: Vec<String>,
    /// Current time, used in the names of backups of files that a user may have edited.
    pub(super) now: SystemTime,
    /// Whether an existing database must be removed because the plan has no tables.
    pub(super) drop_database: bool,
}

/// Stages all files and publishes them, `.info.json` last. Sets `report.files`.
pub(super) fn publish(
    context: &Context,
    (own, lock): (&RunFolder, &DatasetLock),
    outputs: Outputs<'_>,
    report: &mut PrepareReport,
) -> Outcome<()> {
    let root = &context.shared.root;
    let meta = root.join(layout::NV_META);
    let shards: Vec<Shard> = {
        let state = context.shared.lock();
        outputs.selection.positions.iter().filter_map(|&p| state.shards.get(p).cloned()).collect()
    };
    let mode = mode_of_first(&shards);
    // Counts four more files: the database, its uuid, the report and the plan.
    let expected = (outputs.renamed.len() + shards.len() + outputs.texts.len() + 4) as u64;
    let publication = Publication::begin(&*context.shared.fs, root, own)?.with_lock(lock, "preparing");
    let mut publication = publication.counting(&context.shared.progress, expected);
    let listing = Listing::of(root).map_err(|error| Failure::io(LOOKUP_ACTIVITY, root, &error))?;
    let mut files = Files { root, listing: &listing, list: &mut report.files };
    for shard in outputs.renamed {
        context.shared.cancel.check()?;
        files.note(&shard.target, shard.bytes)?;
        shard.stage(&mut publication)?;
    }
    let indexes: Vec<(&Shard, &SpooledShard)> = shards.iter().zip(outputs.spools).collect();
    let shared = &context.shared;
    let are_kept = run_units(&indexes, shared.options.threads, &shared.cancel, |(shard, spool)| {
        let is_unchanged = outputs.selection.unchanged.contains(&shard.name);
        Ok(is_unchanged && is_same(&listing, &root.join(shard.index_name()), &spool.tar_idx_path()))
    })?;
    for ((shard, spool), _) in indexes.into_iter().zip(are_kept).filter(|(_, is_kept)| !is_kept) {
        shared.cancel.check()?;
        let target = root.join(shard.index_name());
        files.note(&target, spool.tar_idx.bytes)?;
        publication.stage_file(&target, spool.tar_idx_path(), file_mode(shard.mode))?;
    }
    let database = meta.join(layout::INDEX_SQLITE);
    for left in ["-journal", "-wal", "-shm"].map(|end| meta.join(format!("{}{end}", layout::INDEX_SQLITE))) {
        // Remove files left by a killed writer, which SQLite would replay into the new database.
        if listing.is_taken(&left).map_err(|error| Failure::io(LOOKUP_ACTIVITY, &left, &error))? {
            publication.remove(&left)?;
        }
    }
    if let Some(built) = &outputs.built.database {
        files.note(&database, files::metadata(built).map_or(0, |m| m.len()))?;
        publication.stage_file(&database, built.clone(), mode)?;
    } else if outputs.drop_database && files.is_there(&database)? {
        publication.remove(&database)?;
    }
    if outputs.built.samples > 0 {
        let target = meta.join(layout::INDEX_UUID);
        let uuid = uuid::Uuid::new_v4().to_string();
        files.note(&target, uuid.len() as u64)?;
        publication.stage_bytes(&target, uuid.as_bytes(), mode)?;
    }
    stage_texts(context, &mut publication, &mut files, &outputs, mode)?;
    if context.plan.scope != Scope::TarIndexOnly {
        stage_own(context, own, &mut publication, &shards, outputs, report)?;
    }
    context.shared.cancel.check()?;
    publication.commit(&meta.join(layout::INFO_JSON))
}

/// Whether an identical file already exists, so that an update need not replace it.
fn is_same(listing: &Listing, target: &Path, spool: &Path) -> bool {
    let Ok(Some(old)) = listing.info(target) else { return false };
    if !files::metadata(spool).is_ok_and(|new| new.len() == old.len()) {
        return false;
    }
    match (files::read(target), files::read(spool)) {
        (Ok(old), Ok(new)) => old == new,
        _ => false,
    }
}

/// Returns the permissions of the files that describe the shards: those of the first one.
fn mode_of_first(shards: &[Shard]) -> u32 {
    shards.first().map_or(0o644, |shard| file_mode(shard.mode))
}

/// Returns the permissions of the shard, plus read and write permission for the owner.
fn file_mode(shard_mode: u32) -> u32 {
    (shard_mode & 0o777) | 0o600
}

struct Files<'a> {
    root: &'a Path,
    /// The existing files, written by an earlier run or by the user.
    listing: &'a Listing,
    list: &'a mut Vec<OutputFile>,
}

impl Files<'_> {
    fn note(&mut self, target: &Path, bytes: u64) -> Outcome<()> {
        let name = target.strip_prefix(self.root).unwrap_or(target).to_string_lossy().into_owned();
        self.list.push(OutputFile { name, bytes, replaces: self.is_there(target)? });
        Ok(())
    }

    fn is_there(&self, target: &Path) -> Outcome<bool> {
        self.listing.has(target).map_err(|error| Failure::io(LOOKUP_ACTIVITY, target, &error))
    }
}

fn stage_texts(
    context: &Context,
    publication: &mut Publication<'_>,
    files: &mut Files<'_>,
    outputs: &Outputs<'_>,
    mode: u32,
) -> Outcome<()> {
    let root = &context.shared.root;
    let meta = root.join(layout::NV_META);
    // A user who requested a rerun of a prepared data set has already been informed that the splits are kept.
    let is_informed = context.plan.rerun != Rerun::Refuse;
    for text in &outputs.texts {
        let target: PathBuf = meta.join(&text.name);
        let replaces = files.is_there(&target)?;
        if text.keep_existing && replaces {
            continue;
        }
        let is_split = text.name == layout::SPLIT_YAML;
        let is_edited = || match files::read(&target) {
            Ok(old) => Ok(old != text.content.as_bytes()),
            Err(error) if is_remote(&target) => Err(Failure::io("reading the earlier file", &target, &error)),
            Err(_) => Ok(false),
        };
        // The shard counts are not meant to be edited.
        let may_be_edited = ![layout::INFO_JSON, layout::INFO_YAML].contains(&text.name.as_str());
        if replaces && (is_split || may_be_edited && is_edited()?) {
            let backup = meta.join(rerun::free_backup_name(root, &text.name, outputs.now)?);
            if !(is_split && is_informed) {
                files.note(&backup, files::metadata(&target).map_or(0, |facts| facts.len()))?;
            }
            publication.keep_backup(&target, &backup)?;
        }
        files.note(&target, text.content.len() as u64)?;
        publication.stage_bytes(&target, text.content.as_bytes(), mode)?;
        let facts = context.shared.facts_now();
        if let (true, Some(prepared)) = (is_split, &facts.prepared) {
            publication.replace_only(prepared.split_version);
        }
    }
    Ok(())
}

/// Stages the record of the run: the plan, and a report with which the next run compares its inputs.
fn stage_own(
    context: &Context,
    own: &RunFolder,
    publication: &mut Publication<'_>,
    shards: &[Shard],
    outputs: Outputs<'_>,
    report: &PrepareReport,
) -> Outcome<()> {
    #[derive(serde::Serialize)]
    struct Saved<'a> {
        gristmill: &'a str,
        #[serde(flatten)]
        recorded: Recorded,
        result: &'a PrepareReport,
    }
    let inputs = shards
        .iter()
        .zip(outputs.spools)
        .map(|(shard, spool)| RecordedShard {
            name: shard.name.clone(),
            stamp: spool.scan.stamp,
            samples: spool.scan.samples,
        })
        .collect();
    let recorded =
        Recorded { plan_hash: plan_file::hash(&context.recorded_plan), inputs, user_excludes: outputs.user_excludes };
    let saved = Saved { gristmill: env!("CARGO_PKG_VERSION"), recorded, result: report };
    let json =
        serde_json::to_vec_pretty(&saved).map_err(|e| Failure::environment("writing the report", e.to_string()))?;
    // The report names keys of samples, which only readers of the shards may know.
    let mode = mode_of_first(shards);
    publication.stage_bytes(&own.report(), &json, mode)?;
    let (unlisted, path) = (context.shared.problems.unlisted().lines(), own.unlisted_problems());
    match unlisted.is_empty() {
        false => publication.stage_bytes(&path, &unlisted, mode)?,
        true if files::try_exists(&path).map_err(|error| Failure::io(LOOKUP_ACTIVITY, &path, &error))? => {
            publication.remove(&path)?
        }
        true => {}
    }
    publication.stage_bytes(&own.plan(), plan_file::to_yaml(&context.recorded_plan)?.as_bytes(), mode)
}

/// Returns the text files of a full preparation. Fails if no command could read `split.yaml`.
pub(super) fn texts(
    context: &Context,
    counts: Vec<(String, u64)>,
    splits: &[(String, Vec<String>)],
    excludes: Vec<String>,
    facts: &gristmill_core::DatasetFacts,
) -> Outcome<Vec<Text>> {
    let with_yaml = files::is_file(context.shared.root.join(layout::NV_META).join(layout::INFO_YAML));
    let content = outputs::split_yaml(splits, excludes);
    let path = layout::in_nv_meta(&context.shared.root, layout::SPLIT_YAML);
    split_yaml::check_size("preparing", &path, content.len() as u64)?;
    let mut texts = vec![Text { name: layout::SPLIT_YAML.to_owned(), content, keep_existing: false }];
    texts.extend(outputs::loading(&context.plan, facts));
    texts.extend(outputs::info(counts, with_yaml));
    Ok(texts)
}
