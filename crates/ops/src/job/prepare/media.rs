//! Media metadata of a prepare: examines the scanned shards, and adds the rows to those of earlier runs.

use super::collect::Selection;
use super::{forecast, Context, MediaSummary};
use crate::engine::index::{carry_media_tables, BuiltIndex, CarriedMedia, SpooledShard};
use crate::engine::media::{
    has_filter, is_in_samples, probe_shard, write_rows, MediaRows, OldRows, ProbeSettings, RowStats,
};
use crate::job::job_progress::{cost, Forecast};
use crate::job::{pool, Phase};
use gristmill_core::{
    text, Duplicates, Failure, Handles, MediaPlan, Outcome, PreparePlan, Problem, ProblemKind, ProblemSink, Rerun,
    Subject,
};
use gristmill_data::formats::energon::layout;
use gristmill_storage::files;
use gristmill_storage::location::hint_for;
use gristmill_storage::run_folder::RunFolder;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Rows of all shards, in index order.
pub(super) struct MediaTotals {
    /// Parallel to the spools.
    rows: Vec<MediaRows>,
    /// Positions of shards that were not examined, because the old tables have their rows.
    skipped: Vec<usize>,
}

/// Examines the media of all shards if the plan requests it. An update skips unchanged shards that the previous run examined in the same
/// way.
pub(super) fn probe(
    context: &Context,
    own: &RunFolder,
    selection: &Selection,
    spools: &[SpooledShard],
) -> Outcome<Option<MediaTotals>> {
    let Some(plan) = &context.plan.media else { return Ok(None) };
    let known = rows_are_known(context, plan);
    let mut found = MediaTotals { rows: vec![MediaRows::default(); spools.len()], skipped: Vec::new() };
    let mut fresh = Vec::new();
    for (unit, position) in selection.positions.iter().enumerate() {
        let is_unchanged = || {
            let state = context.shared.lock();
            state.shards.get(*position).is_some_and(|shard| selection.unchanged.contains(&shard.name))
        };
        if known && is_unchanged() {
            found.skipped.push(unit);
        } else {
            fresh.push(unit);
        }
    }
    probe_shards(context, own, selection, spools, &fresh, &mut found.rows)?;
    Ok(Some(found))
}

/// Whether the old database contains the rows that this plan would produce for unchanged shards.
fn rows_are_known(context: &Context, plan: &MediaPlan) -> bool {
    let shared = &context.shared;
    let facts = shared.facts_now();
    let old = facts.prepared.as_ref().and_then(|prepared| prepared.plan.as_deref());
    let same = |old: &PreparePlan| old.media.as_ref() == Some(plan) && old.compat == context.plan.compat;
    context.plan.rerun == Rerun::Update
        && old.is_some_and(same)
        && has_filter(&layout::in_nv_meta(&shared.root, layout::INDEX_SQLITE), &plan.filter)
}

fn probe_shards(
    context: &Context,
    own: &RunFolder,
    selection: &Selection,
    spools: &[SpooledShard],
    units: &[usize],
    rows: &mut [MediaRows],
) -> Outcome<()> {
    let Some(plan) = &context.plan.media else { return Ok(()) };
    let shared = &context.shared;
    let samples = spools.iter().map(|spool| spool.scan.samples).sum();
    let tables = forecast::tables(context, samples, spools.len() as u64);
    let forecast = Forecast::new(forecast::media(context, samples), tables.stage + tables.later);
    let line = format!("looking at the media of {}", text::count(units.len() as u64, "shard"));
    context.task.stage(Phase::Media, "shard", forecast, line);
    shared.progress.expect(units.len() as u64, 0);
    let dir = own.media_work();
    shared.fs.remove_dir_all(&dir)?;
    shared.fs.create_dir(&dir, 0o700)?;
    let probing = ProbeSettings { plan, compat: context.plan.compat, fs: &*shared.fs, dir: &dir };
    let done = pool::run_units(units, shared.options.threads, &shared.cancel, |&unit| {
        let position = selection.positions.get(unit).copied();
        let shard = position.and_then(|position| shared.lock().shards.get(position).cloned());
        match shard.zip(spools.get(unit)) {
            Some((shard, spool)) => probe_shard(&shard, spool, unit, &probing, &shared.handles()),
            None => Ok(MediaRows::default()),
        }
    })?;
    for (unit, found) in units.iter().zip(done) {
        if let Some(place) = rows.get_mut(*unit) {
            *place = found;
        }
    }
    Ok(())
}

/// Writes the rows, in addition to the rows carried over from the old database.
pub(super) fn write(
    context: &Context,
    own: &RunFolder,
    selection: &Selection,
    spools: &[SpooledShard],
    mut found: MediaTotals,
    (built, carried): (&BuiltIndex, &CarriedMedia),
) -> Outcome<Option<MediaSummary>> {
    let (Some(plan), Some(database)) = (&context.plan.media, &built.database) else { return Ok(None) };
    if !matches!(carried, CarriedMedia::Rows { .. }) && !found.skipped.is_empty() {
        // The old rows could not be read, so the skipped shards are examined as well.
        let mut again = vec![MediaRows::default(); spools.len()];
        let units: Vec<usize> = (0..spools.len()).collect();
        probe_shards(context, own, selection, spools, &units, &mut again)?;
        found.rows = again;
    }
    let shared = &context.shared;
    let count = found.rows.iter().map(MediaRows::rows).sum();
    let forecast = Forecast::new(cost::rows(count), cost::publishing(spools.len() as u64));
    context.task.stage(Phase::Tables, "row", forecast, format!("writing {} of media", text::count(count, "row")));
    shared.progress.expect(count, 0);
    let dropped = later_copies(&context.plan, built);
    let keep = |unit: usize, entry: &str| dropped.is_empty() || !dropped.contains(&(unit, sample_key(entry)));
    let mut still_there = |connection: &rusqlite::Connection, key: &str| is_in_samples(connection, database, key);
    // After renaming, no entry has its old name.
    let old = OldRows { still_there: &mut still_there, prune: selection.is_renamed };
    let written = write_rows(&*shared.fs, database, &found.rows, &plan.filter, &keep, old, &shared.handles())?;
    report_stale(&shared.handles(), &shared.root, &written)?;
    Ok(Some(MediaSummary {
        entries: found.rows.iter().map(|unit| unit.entries).sum(),
        images: found.rows.iter().map(|unit| unit.images).sum(),
        av: found.rows.iter().map(|unit| unit.av).sum(),
        rows_written: written.rows_written,
        rows_in_all: written.rows_in_all,
        stale: written.stale,
    }))
}

/// Returns the later samples of keys of which only the first sample is indexed. They have no row, so their media have none either.
fn later_copies<'a>(plan: &PreparePlan, built: &'a BuiltIndex) -> HashSet<(usize, &'a str)> {
    if plan.duplicates != Duplicates::KeepFirst {
        return HashSet::new();
    }
    let elsewhere = built.duplicates.iter().filter(|twice| twice.first.0 != twice.second.0);
    elsewhere.map(|twice| (twice.second.0 .0 as usize, twice.key.as_str())).collect()
}

/// Returns the key in `key.part`: up to the first dot after the last `/`.
fn sample_key(entry: &str) -> &str {
    let file = entry.rfind('/').map_or(0, |at| at + 1);
    let dot = entry.get(file..).and_then(|name| name.find('.'));
    dot.and_then(|dot| entry.get(..file + dot)).unwrap_or(entry)
}

fn report_stale(handles: &Handles<'_>, root: &Path, written: &RowStats) -> Outcome<()> {
    let Some(first) = written.stale_keys.first().filter(|_| written.stale > 0) else { return Ok(()) };
    let message = format!(
        "{} of entries that are in no shard of this index, {first} among them; left as they are",
        text::count(written.stale, "media row")
    );
    let subject = Subject::path(layout::in_nv_meta(root, layout::INDEX_SQLITE));
    let note = Problem::note(ProblemKind::StaleMedia, subject, message);
    handles.problems.report(note.with_hint(hint_for(root, "gristmill prepare-media PATH --prune … removes them")))
}

/// Creates a database with only the existing media tables, for a run without sample tables; `None` if there are no media tables.
pub(super) fn copy_media_tables(context: &Context, own: &RunFolder) -> Outcome<Option<PathBuf>> {
    let fs = &*context.shared.fs;
    let old = layout::in_nv_meta(&context.shared.root, layout::INDEX_SQLITE);
    if !files::try_is_file(&old).map_err(|error| Failure::io("reading the old index", &old, &error))? {
        return Ok(None);
    }
    let new = own.work_folder().join(layout::INDEX_SQLITE);
    fs.remove_file(&new)?;
    // SQLite opens an empty file as an empty database.
    fs.create_file(&new)?.close()?;
    let carried = carry_media_tables(fs, &old, &new, &context.shared.cancel)?;
    report_carried(context, &carried)?;
    if matches!(carried, CarriedMedia::Rows { .. }) {
        return Ok(Some(new));
    }
    fs.remove_file(&new)?;
    Ok(None)
}

/// Reports shards that were modified after their media were described, as the rows carried over are outdated.
pub(super) fn report_outdated(context: &Context, selection: &Selection, carried: &CarriedMedia) -> Outcome<()> {
    if !matches!(carried, CarriedMedia::Rows { metadata: 1.., .. }) {
        return Ok(());
    }
    let facts = context.shared.facts_now();
    let Some(prepared) = &facts.prepared else { return Ok(()) };
    let chosen: HashSet<&str> =
        selection.positions.iter().filter_map(|&p| facts.shards.get(p)).map(|shard| shard.name.as_str()).collect();
    let is_chosen = |name: &&String| chosen.contains(name.as_str());
    let hint = "gristmill prepare-media PATH describes all of them, by the filter that it was described by";
    let hint = hint_for(&context.shared.root, hint);
    for name in prepared.changed_shards.iter().filter(is_chosen) {
        let why = "its media metadata is that of the shard as it was before it was written to";
        context
            .shared
            .problems
            .report(Problem::problem(ProblemKind::StaleMedia, Subject::shard(name.as_str()), why).with_hint(&hint))?;
    }
    let new = prepared.new_shards.iter().filter(is_chosen).count() as u64;
    if new > 0 {
        let why = format!("the media of {} are not described", text::count(new, "new shard"));
        let subject = Subject::path(layout::in_nv_meta(&context.shared.root, layout::INDEX_SQLITE));
        context.shared.problems.report(Problem::note(ProblemKind::StaleMedia, subject, why).with_hint(hint))?;
    }
    Ok(())
}

/// Reports the treatment of media rows of an earlier run that cannot be read.
pub(super) fn report_carried(context: &Context, carried: &CarriedMedia) -> Outcome<()> {
    let why = match carried {
        CarriedMedia::Nothing => return Ok(()),
        CarriedMedia::Rows { metadata, .. } => {
            let rows = text::count(*metadata, "row");
            context.task.log(format!("{rows} of media metadata of the old database kept"));
            return Ok(());
        }
        CarriedMedia::Unreadable(why) => why,
    };
    let subject = Subject::path(layout::in_nv_meta(&context.shared.root, layout::INDEX_SQLITE));
    let message = format!("its media metadata could not be carried over: {why}");
    let hint = "where it had any, gristmill prepare-media makes it again";
    context.shared.problems.report(Problem::note(ProblemKind::BadFile, subject, message).with_hint(hint))
}
