//! Shards that a run writes itself: uncompressed copies of compressed shards, and shards in which each key has the name of the shard as
//! prefix.

use super::collect::Selection;
use super::{duplicates, preview, Context};
use crate::engine::index::{self, SpooledShard};
use crate::engine::outputs::exclude_item;
use crate::job::job_progress::{cost, Forecast};
use crate::job::{pool, times, Phase};
use gristmill_core::text::{bytes, count, count_verb, display_safe, hint_for};
use gristmill_core::{
    DatasetFacts, DuplicateKeys, Duplicates, Failure, FileStamp, Handles, NullProblemSink, Outcome, Problem,
    ProblemKind, ProblemSink as _, Progress, SampleSketch, Scope, Shard, ShardId, Subject,
};
use gristmill_data::source::{tar, tgz};
use gristmill_pycompat::braces;
use gristmill_storage::files;
use gristmill_storage::location::is_remote;
use gristmill_storage::publish::Publication;
use gristmill_storage::read::stamp_at;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::space;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

const RENAME_ACTIVITY: &str = "putting the names of shards before keys";
/// Maximum length of a name in a header, in bytes; longer names need an extension.
const MAX_HEADER_NAME: usize = 100;
/// Size of an extension with a long name, in bytes.
const EXTENSION_BYTES: u64 = 1_024;
/// Folder of the new shards in the work folder.
const RENAMED: &str = "renamed";
/// Permission bits of folders for unfinished shards.
const FOLDER_MODE: u32 = 0o700;

/// Writes a `.tar` next to each `.tgz`. Returns whether there was any, so that the shard list must be read again.
pub(super) fn unpack(context: &Context, own: &RunFolder, selection: &Selection) -> Outcome<bool> {
    let shared = &context.shared;
    let mut any = false;
    for &position in &selection.positions {
        let Some(shard) = shared.lock().shards.get(position).filter(|shard| shard.is_tgz).cloned() else { continue };
        let target = shard.path.with_extension("tar");
        context.task.log(format!("unpacking {}", display_safe(&shard.name)));
        // Shards are decompressed in the work folder, so that a killed run leaves no file next to the data.
        shared.fs.create_dir(&own.work_folder(), FOLDER_MODE)?;
        tgz::rewrite(&*shared.fs, &shard, &target, &shared.cancel)?;
        any = true;
    }
    if any {
        shared.set_opened(times::open(&shared.root, shared.options.threads, &shared.cancel)?);
    }
    Ok(any)
}

/// A rewritten shard that replaces its original.
pub(super) struct RenamedShard {
    pub(super) target: PathBuf,
    pub(super) bytes: u64,
    /// The rewritten file, until it is published as `target`.
    written: PathBuf,
    /// Permission bits of the shard.
    mode: u32,
    /// State of the original.
    before: FileStamp,
}

impl RenamedShard {
    /// Adds the shard to a publication, unless the original has changed since it was read.
    pub(super) fn stage(&self, publication: &mut Publication<'_>) -> Outcome<()> {
        if stamp_at(&self.target)? != self.before {
            return Err(Failure::data(RENAME_ACTIVITY, "it changed after it was read; nothing is published")
                .on(Subject::path(&self.target))
                .of_kind(ProblemKind::ChangedDuringScan)
                .with_hint("wait until no program writes to it, then run again"));
        }
        publication.stage_file(&self.target, self.written.clone(), self.mode)
    }
}

/// With [`Duplicates::Prefix`], if a key is in several shards: rewrites all shards with the name of the shard before every entry name, and
/// scans the new shards instead. The originals stay unchanged until the publication. Returns the new shards.
pub(super) fn rename_entries(
    context: &Context,
    own: &RunFolder,
    selection: &mut Selection,
    spools: &mut Vec<SpooledShard>,
) -> Outcome<Vec<RenamedShard>> {
    let shared = &context.shared;
    if context.plan.duplicates != Duplicates::Prefix {
        return Ok(Vec::new());
    }
    let Some(keys) = keys_in_several_shards(context, selection, spools)? else { return Ok(Vec::new()) };
    let shards: Vec<Shard> = {
        let state = shared.lock();
        selection.positions.iter().filter_map(|&position| state.shards.get(position).cloned()).collect()
    };
    // Files left by a stopped run would take the space of the new copies.
    let folder = own.work_folder().join(RENAMED);
    shared.fs.remove_dir_all(&folder)?;
    check_possible(context, &shards, keys)?;
    check_space(context, &shards, spools)?;
    let total = shards.iter().map(|shard| shard.stamp.bytes).sum();
    let forecast = Forecast::new(cost::copying(total), cost::reading(shards.len() as u64, 0));
    let number = count(shards.len() as u64, "shard");
    context.task.stage(Phase::Write, "shard", forecast, format!("writing {number} with other names, {}", bytes(total)));
    shared.progress.expect(shards.len() as u64, total);
    shared.fs.create_dir(&folder, FOLDER_MODE)?;
    let units: Vec<(usize, &Shard, &SpooledShard)> =
        (0..).zip(&shards).zip(&*spools).map(|((n, a), b)| (n, a, b)).collect();
    let written = pool::run_units(&units, shared.options.threads, &shared.cancel, |&(number, shard, spool)| {
        rename_shard(context, &folder, (number, shard), spool)
    })?;
    let mut renamed = Vec::with_capacity(shards.len());
    spools.clear();
    for (shard, (new, spool)) in shards.iter().zip(written) {
        renamed.push(RenamedShard {
            target: shard.path.clone(),
            bytes: new.stamp.bytes,
            written: new.path,
            mode: shard.mode,
            before: shard.stamp,
        });
        spools.push(spool);
    }
    take_over(context, selection, &shards, &renamed)?;
    let why = format!(
        "{} in several shards: the name of its shard was put before every name in {number}",
        count_verb(keys, "key", "was", "were")
    );
    shared.problems.report(Problem::note(ProblemKind::Other, Subject::path(&shared.root), why))?;
    Ok(renamed)
}

/// Returns the number of keys in several shards; `None` if prefixes would not make all keys different, as a key occurs twice in one shard.
fn keys_in_several_shards(context: &Context, selection: &Selection, spools: &[SpooledShard]) -> Outcome<Option<u64>> {
    let shared = &context.shared;
    let numbers = selection.positions.iter().map(|position| u32::try_from(*position).unwrap_or(u32::MAX));
    let shards: Vec<(u32, &SpooledShard)> = numbers.zip(spools).collect();
    let groups = index::same_keys(&*shared.fs, &shards, context.scratch.path(), &shared.cancel)?;
    if !groups.scattered.is_empty() {
        duplicates::refuse_scattered(context, selection, spools)?;
    }
    let has_pair = |group: &DuplicateKeys, is_same: bool| {
        group.shards.windows(2).any(|pair| matches!(pair, [one, other] if (one == other) == is_same))
    };
    // The build of the index refuses keys that occur twice in one shard.
    if groups.same.iter().any(|group| has_pair(group, true)) {
        return Ok(None);
    }
    let keys = groups.same.iter().filter(|group| has_pair(group, false)).map(|group| group.keys).sum();
    Ok(Some(keys).filter(|keys| *keys > 0))
}

/// Refuses shards in linked folders: a shard that is found twice would be written twice, and a shard elsewhere belongs to other data.
fn check_folders(root: &Path, shards: &[Shard], several: &str, in_new_files: &str) -> Outcome<()> {
    let place_of = |path: &Path| files::canonicalize(path).map_err(|error| Failure::io(RENAME_ACTIVITY, path, &error));
    let (top, mut seen) = (place_of(root)?, HashSet::new());
    for shard in shards {
        let place = place_of(&shard.path)?;
        let why = match (place.starts_with(&top), seen.insert(place)) {
            (true, true) => continue,
            (true, false) => "this shard is reached twice, by a link to its folder",
            (false, _) => "this one is elsewhere, by a link to its folder",
        };
        let failure = Failure::data(RENAME_ACTIVITY, format!("{several} in several shards, and {why}"));
        return Err(failure.on(Subject::path(&shard.path)).with_hint(format!("remove the link, or {in_new_files}")));
    }
    Ok(())
}

fn check_possible(context: &Context, shards: &[Shard], keys: u64) -> Outcome<()> {
    let root = &context.shared.root;
    let in_new_files =
        hint_for(root, "gristmill shard PATH --output NEW --duplicates prefix writes them into a new set");
    let several = count_verb(keys, "key", "is", "are");
    if is_remote(root) {
        let why = format!("{several} in several shards, and shards in a store are not replaced");
        return Err(Failure::usage(RENAME_ACTIVITY, why).on(Subject::path(root)).with_hint(in_new_files));
    }
    if let Some(shard) = shards.iter().find(|shard| shard.is_tgz) {
        let why = format!("{several} in several shards, and this one is compressed");
        return Err(Failure::data(RENAME_ACTIVITY, why).on(Subject::shard(&shard.name)).with_hint(in_new_files));
    }
    if let Some(shard) = shards.iter().find(|shard| files::is_symlink(&shard.path)) {
        let why = format!("{several} in several shards, and this one is a link: it would become a file, and the file that it leads to would stay as it is");
        let hint = format!("run it in the folder of the files themselves, or {in_new_files}");
        return Err(Failure::data(RENAME_ACTIVITY, why).on(Subject::path(&shard.path)).with_hint(hint));
    }
    if let Some(shard) = shards.iter().find(|shard| tar::is_reserved(shard.name.as_bytes())) {
        let why = format!("{several} in several shards, and this one is in a folder __…__, so that readers would skip all of its samples");
        let failure = Failure::data(RENAME_ACTIVITY, why).on(Subject::shard(&shard.name));
        return Err(failure.with_hint("rename the folder"));
    }
    check_folders(root, shards, &several, &in_new_files)?;
    let has_excludes = context.shared.lock().facts.prepared.as_ref().is_some_and(|facts| !facts.excludes.is_empty());
    if context.plan.scope == Scope::TarIndexOnly && has_excludes {
        let why = format!("{several} in several shards, and split.yaml excludes samples by their present keys");
        let hint = "run it with --force-overwrite in place of --tar-index-only";
        return Err(Failure::usage(RENAME_ACTIVITY, why).on(Subject::path(root)).with_hint(hint));
    }
    Ok(())
}

/// Removes the new shards after a failure, because they would fill the disk until the next run writes them again. An interrupted publication
/// has its own links to them.
pub(super) fn discard(context: &Context, own: &RunFolder) {
    if let Err(error) = context.shared.fs.remove_dir_all(&own.work_folder().join(RENAMED)) {
        context.task.log(format!("cleaning up: {error}"));
    }
}

/// Refuses shards whose copies and tables are larger than the free space.
fn check_space(context: &Context, shards: &[Shard], spools: &[SpooledShard]) -> Outcome<()> {
    let root = &context.shared.root;
    let facts = context.shared.facts_now();
    let new: u64 = shards.iter().zip(spools).map(|(shard, spool)| new_bytes(shard, spool, &facts)).sum();
    let tables: u64 = preview::preview(&context.plan, &facts).files.iter().map(|file| file.bytes).sum();
    let (needed, free) = (new.saturating_add(tables), space::free_bytes(root)?);
    if needed <= free {
        return Ok(());
    }
    let why = format!("{} are needed for the new shards and tables, and {} are free", bytes(needed), bytes(free));
    let hint = hint_for(root, "gristmill shard PATH --output NEW --duplicates prefix writes them into a new set");
    let failure = Failure::environment(RENAME_ACTIVITY, why).on(Subject::path(root));
    Err(failure.with_hint(format!("free some space; on another disk, {hint}")))
}

/// Returns the size of a shard after the prefix is put before its names, of its spool, and of the prefixes in the tables.
fn new_bytes(shard: &Shard, spool: &SpooledShard, facts: &DatasetFacts) -> u64 {
    let prefix = shard.name.len() + 1;
    let name = |sketch: &SampleSketch| {
        let part = sketch.parts.iter().map(|(name, ..)| name.len()).max().unwrap_or_default();
        prefix + sketch.key.len() + 1 + part
    };
    let is_long = facts.sketches.iter().any(|sketch| name(sketch) > MAX_HEADER_NAME);
    let extensions = if is_long { spool.part_rows * EXTENSION_BYTES } else { 0 };
    // Keys are in the spool, in the table of samples and in its index.
    let prefixes = 3 * spool.samples * prefix as u64;
    shard.stamp.bytes + extensions + spool.bytes() + prefixes
}

/// Writes one shard and scans it. Findings of this scan are dropped, because they were already reported for the original.
fn rename_shard(
    context: &Context,
    folder: &Path,
    (number, shard): (usize, &Shard),
    before: &SpooledShard,
) -> Outcome<(Shard, SpooledShard)> {
    let shared = &context.shared;
    let path = folder.join(number.to_string());
    tar::write_prefixed(&*shared.fs, shard, &format!("{}/", shard.name), &path, &shared.handles())?;
    let stamp = stamp_at(&path)?;
    let new = Shard { path, stamp, ..shard.clone() };
    let (id, progress) = (ShardId(u32::try_from(number).unwrap_or(u32::MAX)), Progress::default());
    let handles = Handles { problems: &NullProblemSink, progress: &progress, ..shared.handles() };
    let spool = index::scan_unit(&new, id, folder, &*shared.fs, shared.sort_memory(), &handles)?;
    if (spool.scan.samples, &spool.scan.parts) != (before.scan.samples, &before.scan.parts) {
        let why = "the new shard does not have the samples of the old one; nothing is published";
        let failure = Failure::data(RENAME_ACTIVITY, why).on(Subject::shard(&shard.name));
        let hint = "gristmill shard PATH --output NEW --duplicates prefix writes a new set";
        return Err(failure.with_hint(hint_for(&shared.root, hint)));
    }
    shared.progress.add(1, 0);
    Ok((new, spool))
}

/// Replaces the original shards by the new ones, also in excludes.
fn take_over(context: &Context, selection: &mut Selection, shards: &[Shard], renamed: &[RenamedShard]) -> Outcome<()> {
    let names: HashSet<&str> = shards.iter().map(|shard| shard.name.as_str()).collect();
    let mut stamps = Vec::with_capacity(renamed.len());
    for new in renamed {
        stamps.push(stamp_at(&new.written)?);
    }
    // Excludes that an earlier run added for duplicate keys are no longer needed; excludes by the user are.
    let judged = std::mem::take(&mut selection.redecided);
    let rename = |items: &mut dyn Iterator<Item = &String>| -> Vec<String> {
        items.flat_map(|item| renamed_excludes(item, &names)).collect()
    };
    selection.added = rename(&mut selection.added.iter()).into_iter().collect();
    context.shared.update(|state| {
        for ((&position, new), stamp) in selection.positions.iter().zip(renamed).zip(stamps) {
            if let Some(shard) = state.shards.get_mut(position) {
                (shard.path, shard.stamp) = (new.written.clone(), stamp);
            }
            if let Some(facts) = state.facts.shards.get_mut(position) {
                facts.stamp = stamp;
            }
        }
        if let Some(prepared) = &mut state.facts.prepared {
            prepared.excludes = rename(&mut prepared.excludes.iter().filter(|item| !judged.contains(*item)));
            prepared.user_excludes = rename(&mut prepared.user_excludes.iter());
            // The media were described under the old names of the entries.
            prepared.changed_shards = shards.iter().map(|shard| shard.name.clone()).collect();
        }
    });
    selection.unchanged.clear();
    selection.is_renamed = true;
    Ok(())
}

/// Returns the items that exclude the same samples after the prefixes have been added to the keys of these shards.
fn renamed_excludes(item: &str, shards: &HashSet<&str>) -> Vec<String> {
    let expanded = braces::expand(item, braces::MAX_RESULTS).unwrap_or_default();
    let renamed = |name: &String| {
        let mut places = name.match_indices('/').map(|(at, _)| (&name[..at], &name[at + 1..]));
        let (shard, key) = places.find(|(shard, _)| shards.contains(shard))?;
        Some(exclude_item(shard, Some(&format!("{shard}/{key}"))))
    };
    if !expanded.iter().any(|name| renamed(name).is_some()) {
        return vec![item.to_owned()];
    }
    expanded.iter().map(|name| renamed(name).unwrap_or_else(|| braces::escape(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_sample_excludes_get_their_shard_as_key_prefix() {
        let shards = HashSet::from(["a.tar", "x/b.tar"]);
        for (item, expected) in [
            ("a.tar", vec!["a.tar"]),
            ("a.tar/k", vec!["a.tar/a.tar/k"]),
            ("x/b.tar/d/k", vec!["x/b.tar/x/b.tar/d/k"]),
            ("c.tar/k", vec!["c.tar/k"]),
            ("a.tar/k{1..2}", vec!["a.tar/a.tar/k1", "a.tar/a.tar/k2"]),
            ("{a,c}.tar/k", vec!["a.tar/a.tar/k", "c.tar/k"]),
            ("{a,c}.tar", vec!["{a,c}.tar"]),
        ] {
            assert_eq!(renamed_excludes(item, &shards), expected, "{item}");
        }
    }
}
