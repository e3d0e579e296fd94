//! Collects one spool for each shard of the plan: from the scan that ran while the user answered questions, from the journal of an
//! interrupted run, from the old database for unchanged shards, or by reading the tar.

use super::super::journal::{DoneUnit, Journal, SpoolDigest};
use super::super::pool;
use super::super::scan::{into_fatal_failure, unchanged};
use super::Context;
use crate::engine::index::SpooledShard;
use gristmill_core::{text, Cancel, Failure, FileStamp, Mutex, Outcome, ProblemKind, Shard, Subject};
use gristmill_storage::listing::find_changed;
use gristmill_storage::run_folder::RunFolder;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Interval at which an adopted scan is checked for finished shards.
const ADOPT_EVERY: Duration = Duration::from_millis(50);

/// The shards of the plan, as positions in the opened list, in index order.
pub(super) struct Selection {
    /// Positions in `State::shards`.
    pub(super) positions: Vec<usize>,
    /// Names of shards whose rows are taken from the old database.
    pub(super) unchanged: HashSet<String>,
    /// Excludes that the previous run added automatically.
    pub(super) added: HashSet<String>,
    /// Excludes among `added` that are decided again.
    pub(super) redecided: HashSet<String>,
    /// Whether the run has rewritten these shards with other names of entries.
    pub(super) is_renamed: bool,
}

/// Collects the spools, in selection order. Finished spools are recorded in the journal, from which a killed run is resumed.
pub(super) fn collect(
    context: &Context,
    own: &RunFolder,
    selection: &Selection,
    journal: Journal,
) -> Outcome<Vec<SpooledShard>> {
    let folder = spool_folder(own);
    context.shared.fs.create_dir(&own.work_folder(), 0o700)?;
    context.shared.fs.create_dir(&folder, 0o700)?;
    let count = context.shared.lock().shards.len();
    let collected: Mutex<Vec<Option<SpooledShard>>> = Mutex::new(vec![None; count]);
    resume(context, selection, &folder, &journal, &collected)?;
    adopt_live(context, selection, &folder, &journal, &collected)?;
    scan_missing(context, selection, &folder, &journal, &collected)?;
    let mut collected = collected.into_inner();
    let mut spools = Vec::with_capacity(selection.positions.len());
    for &position in &selection.positions {
        if let Some(spool) = collected.get_mut(position).and_then(Option::take) {
            spools.push(spool);
        }
    }
    Ok(spools)
}

/// Fails if a shard has changed since it was scanned: the indexes of this run would describe other bytes.
pub(super) fn check_unchanged(context: &Context, selection: &Selection, spools: &[SpooledShard]) -> Outcome<()> {
    let shared = &context.shared;
    let shards: Vec<Shard> = {
        let state = shared.lock();
        selection.positions.iter().filter_map(|&position| state.shards.get(position).cloned()).collect()
    };
    let scanned = shards.iter().zip(spools).map(|(shard, spool)| (&*shard.path, spool.scan.stamp));
    fail_if_changed(scanned, &shared.cancel)
}

fn fail_if_changed<'a>(scanned: impl Iterator<Item = (&'a Path, FileStamp)>, cancel: &Cancel) -> Outcome<()> {
    let Some(changed) = find_changed(scanned, cancel)? else { return Ok(()) };
    let what = if changed.is_missing { "was removed" } else { "changed" };
    Err(Failure::data("preparing", format!("it {what} after it was read; nothing is published"))
        .on(Subject::path(changed.path))
        .of_kind(ProblemKind::ChangedDuringScan)
        .with_hint("wait until no program writes to it, then run again: the other shards are not read again"))
}

pub(super) fn spool_folder(own: &RunFolder) -> PathBuf {
    own.work_folder().join("spools")
}

type Collected = Mutex<Vec<Option<SpooledShard>>>;

fn has(collected: &Collected, position: usize) -> bool {
    collected.lock().get(position).is_some_and(Option::is_some)
}

fn store_shard(collected: &Collected, position: usize, spooled: SpooledShard) {
    if let Some(slot) = collected.lock().get_mut(position) {
        *slot = Some(spooled);
    }
}

pub(super) fn record(journal: &Journal, shard: &Shard, spooled: &SpooledShard) -> Outcome<()> {
    let (bytes, xxh3) = spooled.fingerprint();
    let notes = serde_json::to_string(spooled).map_err(|error| {
        Failure::environment("writing the journal", error.to_string()).on(Subject::shard(&shard.name))
    })?;
    journal.record(&DoneUnit {
        unit: shard.name.clone(),
        input: shard.stamp,
        spool: SpoolDigest { bytes, xxh3 },
        notes,
    })
}

/// Uses the finished shards of an interrupted run of the same plan, if shard and spool are unchanged, and reports their problems again. An
/// active scan then skips these shards.
fn resume(
    context: &Context,
    selection: &Selection,
    folder: &Path,
    journal: &Journal,
    collected: &Collected,
) -> Outcome<()> {
    let mut resumed = 0u64;
    for &position in &selection.positions {
        let Some(shard) = context.shared.lock().shards.get(position).cloned() else { continue };
        let done = journal.finished(&shard.name, &shard.stamp);
        let found = done.and_then(|done| serde_json::from_str::<SpooledShard>(&done.notes).ok());
        let found = found.map(|spooled| SpooledShard { dir: folder.to_path_buf(), ..spooled });
        if let Some(spooled) = found.filter(|spooled| spooled.is_intact().unwrap_or(false)) {
            if !context.shared.take_over(position) {
                continue;
            }
            context.shared.count_in(position, &spooled);
            spooled.problems.report_to(&*context.shared.problems)?;
            context.shared.progress.resume_from(1, shard.stamp.bytes);
            store_shard(collected, position, spooled);
            resumed += 1;
        }
    }
    if resumed > 0 {
        context.task.log(format!("{} taken over from an interrupted run", text::count(resumed, "shard")));
    }
    Ok(())
}

/// Moves the finished spools of the adopted scan into the work folder, until the scan ends.
fn adopt_live(
    context: &Context,
    selection: &Selection,
    folder: &Path,
    journal: &Journal,
    collected: &Collected,
) -> Outcome<()> {
    let Some(live) = &context.scan_thread else { return Ok(()) };
    context.shared.no_more_questions.cancel();
    loop {
        let ended = live.is_finished();
        for &position in &selection.positions {
            let Some((spooled, is_from_index)) = context.shared.take_spool(position) else { continue };
            let Some(shard) = context.shared.lock().shards.get(position).cloned() else { continue };
            // If the shard must be read again, rows from the old index are not used.
            let is_stale = is_from_index && !selection.unchanged.contains(&shard.name);
            if is_stale || has(collected, position) || !unchanged(&shard, spooled.scan.stamp) {
                spooled.remove(&*context.shared.fs)?;
                continue;
            }
            let adopted = spooled.move_to(&*context.shared.fs, folder)?;
            record(journal, &shard, &adopted)?;
            store_shard(collected, position, adopted);
        }
        context.shared.cancel.check()?;
        if ended {
            return Ok(());
        }
        std::thread::sleep(ADOPT_EVERY);
    }
}

/// Reads the shards that do not have a spool yet.
fn scan_missing(
    context: &Context,
    selection: &Selection,
    folder: &Path,
    journal: &Journal,
    collected: &Collected,
) -> Outcome<()> {
    let missing: Vec<usize> = selection.positions.iter().copied().filter(|&p| !has(collected, p)).collect();
    let shared = &context.shared;
    pool::run_units(&missing, shared.options.threads, &shared.cancel, |&position| {
        let Some(shard) = shared.lock().shards.get(position).cloned() else {
            return Err(Failure::internal("scanning the shards", "a shard of the selection is not known"));
        };
        let spooled = if selection.unchanged.contains(&shard.name) {
            shared.respool_one(position, folder)?
        } else {
            shared.scan_one(position, folder).map_err(|failure| into_fatal_failure(failure, &shard.name))?
        };
        if let Some(spooled) = spooled {
            record(journal, &shard, &spooled)?;
            store_shard(collected, position, spooled);
        }
        Ok(())
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use gristmill_storage::memory_store::put;
    use gristmill_storage::read::stamp_at;

    #[test]
    fn shard_that_changed_after_its_scan_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (local, stored) = (dir.path().join("a.tar"), Path::new("mem://changed-shards/set/a.tar"));
        std::fs::write(&local, b"one").unwrap();
        put(stored, b"one");
        let scanned = [local.as_path(), stored].map(|path| (path, stamp_at(path).unwrap()));
        let check = || fail_if_changed(scanned.into_iter(), &Cancel::default());
        check().unwrap();
        put(stored, b"two");
        let failure = check().unwrap_err();
        assert_eq!(failure.kind, Some(ProblemKind::ChangedDuringScan), "{failure}");
        assert!(failure.to_string().contains("mem://changed-shards/set/a.tar: it changed"), "{failure}");
        std::fs::remove_file(&local).unwrap();
        assert!(check().unwrap_err().why.contains("was removed"));
    }
}
