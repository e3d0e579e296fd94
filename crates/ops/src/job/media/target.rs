//! The target of a plan for media: the shards of a prepared WebDataset, or the files of a folder.

use crate::engine::dataset::OpenDataset;
use crate::engine::index::{self, OldIndex, OldTables, SpooledShard};
use crate::engine::media::{picks_file, ProbeSettings};
use crate::engine::media::{probe_files, probe_shard, MediaRows};
use crate::job::pool;
use crate::job::times;
use gristmill_core::{
    ExitClass, Failure, Handles, MediaFilter, Outcome, PrepareMediaPlan, Problem, ProblemKind, ProblemLog, Progress,
    RunOptions, Shard, ShardId, Subject,
};
use gristmill_data::source::kind::kind_of;
use gristmill_data::source::media_folder::{self, FileList};
use gristmill_storage::location::hint_for;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The shards or files that are examined.
pub(super) enum Target {
    /// The shards that exist.
    Shards(Shards),
    /// The files of a folder that the filter may select.
    Files(FileList),
}

/// The existing shards of a prepared WebDataset, in index order.
pub(super) struct Shards {
    /// Each shard with its `tar_file_id`.
    pub(super) list: Vec<(Shard, u32)>,
    /// Names of shards that changed since they were indexed.
    changed: HashSet<String>,
}

/// Opens the target. For a path of the wrong kind, fails with a usage failure that names the right command.
pub(super) fn open(plan: &PrepareMediaPlan, threads: usize, handles: &Handles<'_>) -> Outcome<Target> {
    let root = Path::new(&plan.path);
    let kind = kind_of(root)?;
    kind.info().media.map_err(|refusal| refusal.on("preparing media", &plan.path))?;
    match kind.has_splits() {
        true => shards(root, threads, handles).map(Target::Shards),
        false => files(plan, handles).map(Target::Files),
    }
}

fn files(plan: &PrepareMediaPlan, handles: &Handles<'_>) -> Outcome<FileList> {
    let root = Path::new(&plan.path);
    let found = media_folder::walk(root, |name| picks_file(&plan.media.filter, name), handles)?;
    if found.files.is_empty() {
        let doing = "looking for media";
        let none = || format!("the filter picks none of {}", gristmill_core::text::count(found.file_count, "file"));
        let failure = match (found.file_count, &plan.media.filter) {
            (0, _) => Failure::data(doing, "it holds no file").with_hint("name the folder that the media are in"),
            (_, MediaFilter::Glob(_)) => Failure::usage(doing, none())
                .with_hint("patterns fit whole names, *.jpg or photos/*.png; separate them by a comma"),
            _ => Failure::data(doing, none())
                .with_hint("--media-metadata-by-header also finds media whose names have no known ending"),
        };
        return Err(failure.on(Subject::path(root)));
    }
    Ok(found.files)
}

fn shards(root: &Path, threads: usize, handles: &Handles<'_>) -> Outcome<Shards> {
    let OpenDataset { shards, facts, .. } = times::open(root, threads, handles.cancel)?;
    let Some(prepared) = facts.prepared else {
        return Err(Failure::data("preparing media", "its .info.json no longer exists").on(Subject::path(root)));
    };
    let mut on_disk: HashMap<String, Shard> = shards.into_iter().map(|shard| (shard.name.clone(), shard)).collect();
    let mut list = Vec::new();
    for (position, (name, _)) in prepared.shard_counts.iter().enumerate() {
        let Some(shard) = on_disk.remove(name) else {
            let message = "the index lists this shard, but it is not there; its media are not described";
            handles.problems.report(Problem::problem(ProblemKind::MissingFile, Subject::shard(name), message))?;
            continue;
        };
        list.push((shard, u32::try_from(position).unwrap_or(u32::MAX)));
    }
    Ok(Shards { list, changed: prepared.changed_shards.into_iter().collect() })
}

/// Returns the number of files per unit: small enough that all threads have work and the progress is updated often.
fn slice_of(files: usize, threads: usize) -> usize {
    (files / (threads.max(1) * 16)).clamp(64, 4096)
}

/// Examines all entries. Rows are returned in the order of shards or files.
pub(super) fn probe(
    target: &Target,
    root: &Path,
    probing: &ProbeSettings<'_>,
    options: &RunOptions,
    handles: &Handles<'_>,
) -> Outcome<Vec<MediaRows>> {
    match target {
        Target::Files(files) => {
            handles.progress.restart(files.len() as u64, 0);
            let step = slice_of(files.len(), options.threads);
            let units: Vec<(usize, usize)> = (0..files.len()).step_by(step).enumerate().collect();
            pool::run_units(&units, options.threads, handles.cancel, |&(unit, start)| {
                let end = (start + step).min(files.len());
                probe_files(root, files, start..end, unit, probing, handles)
            })
        }
        Target::Shards(shards) => {
            handles.progress.restart(shards.list.len() as u64, 0);
            let units: Vec<(usize, &(Shard, u32))> = shards.list.iter().enumerate().collect();
            let memory =
                usize::try_from(options.memory_bytes / (4 * options.threads.max(1) as u64)).unwrap_or(usize::MAX);
            let tables = OldTables::new(root);
            pool::run_units(&units, options.threads, handles.cancel, |&(unit, (shard, old_id))| {
                let changed = shards.changed.contains(&shard.name);
                match spooled((root, &tables), shard, *old_id, changed, memory.max(64 << 10), probing, handles) {
                    Ok(spool) => {
                        let rows = probe_shard(shard, &spool, unit, probing, handles);
                        spool.remove(probing.fs)?;
                        rows
                    }
                    Err(failure) => skip_unreadable(shard, failure, handles),
                }
            })
        }
    }
}

/// Returns the entries of a shard: from the index, or by reading its headers if the index does not contain them.
fn spooled(
    (root, tables): (&Path, &OldTables),
    shard: &Shard,
    old_id: u32,
    changed: bool,
    memory: usize,
    probing: &ProbeSettings<'_>,
    handles: &Handles<'_>,
) -> Outcome<SpooledShard> {
    let id = ShardId(old_id);
    if changed {
        let message = "it changed since it was indexed; its media are described as it is now";
        let problem = Problem::problem(ProblemKind::ShardChanged, Subject::shard(&shard.name), message);
        handles
            .problems
            .report(problem.with_hint(hint_for(root, "gristmill prepare PATH --update indexes it again")))?;
    } else {
        let tar_idx = root.join(shard.index_name());
        let old = OldIndex { tables, tar_file_id: old_id, tar_idx: &tar_idx };
        if let Some(spool) = index::respool_unit(old, shard, id, probing.dir, probing.fs, memory, handles.cancel)? {
            return Ok(spool);
        }
    }
    // Findings about the archive itself were reported when it was indexed.
    let (progress, problems) = (Progress::default(), ProblemLog::default());
    let quiet = Handles { progress: &progress, cancel: handles.cancel, problems: &problems };
    index::scan_unit(shard, id, probing.dir, probing.fs, memory, &quiet)
}

/// Reports a shard that cannot be read, and returns no rows for it. A write error ends the run.
fn skip_unreadable(shard: &Shard, failure: Failure, handles: &Handles<'_>) -> Outcome<MediaRows> {
    let is_about_shard = failure.subject.shard.is_some()
        || failure.subject.path.as_deref().is_some_and(|path| Path::new(path) == shard.path);
    if failure.class == ExitClass::Interrupted || !is_about_shard {
        return Err(failure);
    }
    let problem = Problem::of_failure(ProblemKind::Unreadable, failure).on(Subject::shard(&shard.name));
    handles.problems.report(problem.with_effect("its media cannot be described"))?;
    handles.progress.add(1, 0);
    Ok(MediaRows::default())
}
