//! Writes rows to a private copy of the database, and publishes the copy.

use super::target::Target;
use super::MediaReport;
use crate::engine::media::{is_in_samples, write_rows, MediaRows, OldRows, RowStats};
use crate::job::job_progress::{cost, Forecast};
use crate::job::report::OutputFile;
use crate::job::task::TaskContext;
use crate::job::Phase;
use gristmill_core::{text, Failure, Outcome, PrepareMediaPlan, Problem, ProblemKind, ProblemSink as _, Subject};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::tables::{failure, open_readonly, Tables};
use gristmill_data::source::media_folder::FileList;
use gristmill_storage::files::{self, FileInfo};
use gristmill_storage::local_copy::local_copy;
use gristmill_storage::location::is_remote;
use gristmill_storage::publish::place_version;
use gristmill_storage::run_folder::RunFolder;
use gristmill_storage::space;
use std::path::{Component, Path, PathBuf};

/// Size of the database in bytes from which the log mentions the copy.
const MIN_LOGGED_COPY_BYTES: u64 = 256 << 20;
/// Free space that must remain next to the copy, in bytes.
const MIN_FREE_BYTES: u64 = 16 << 20;

/// A database that is not published yet.
pub(super) struct DatabaseDraft {
    path: PathBuf,
    /// State of the database from which it was copied.
    old: Option<FileInfo>,
}

/// Writes the rows to a copy of the database.
pub(super) fn fill_database(
    context: &TaskContext,
    plan: &PrepareMediaPlan,
    own: &RunFolder,
    target: &Target,
    rows: &[MediaRows],
) -> Outcome<(DatabaseDraft, RowStats)> {
    let root = Path::new(&plan.path);
    let database = layout::in_nv_meta(root, layout::INDEX_SQLITE);
    let draft = own.media_work().join(layout::INDEX_SQLITE);
    let count = rows.iter().map(MediaRows::rows).sum();
    let old = files::metadata(&database).ok();
    let has_samples = old.map_or(Ok(false), |old| copy_old(context, (&database, old), &draft, count))?;
    let forecast = Forecast::new(cost::rows(count), cost::publishing(2));
    context.stage(Phase::Tables, "row", forecast, format!("writing {}", text::count(count, "row")));
    context.progress.expect(count, 0);
    let mut still_there = |connection: &rusqlite::Connection, key: &str| match target {
        Target::Files(files) => Ok(is_in_folder(root, files, key)),
        Target::Shards(_) if has_samples => is_in_samples(connection, &draft, key),
        // Without sample tables, the existing entries are unknown.
        Target::Shards(_) => Ok(true),
    };
    let old_rows = OldRows { still_there: &mut still_there, prune: plan.prune };
    let written =
        write_rows(&*context.fs, &draft, rows, &plan.media.filter, &|_, _| true, old_rows, &context.handles())?;
    report_stale(context, &database, &written)?;
    Ok((DatabaseDraft { path: draft, old }, written))
}

/// Copies the current database, into which `rows` rows are written later. Returns whether it has sample tables.
fn copy_old(context: &TaskContext, (database, facts): (&Path, FileInfo), draft: &Path, rows: u64) -> Outcome<bool> {
    // Refuses a file that is not a database, and a database whose last transaction is incomplete.
    let connection = open_readonly(database)?;
    let looked = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    looked.map_err(|error| failure(database, &error))?;
    drop(connection);
    let bytes = facts.len();
    let free = space::free_bytes(draft)?;
    if free < bytes.saturating_add(MIN_FREE_BYTES) {
        let why = format!("its copy takes {}, and {} are free", text::bytes(bytes), text::bytes(free));
        return Err(Failure::environment("copying the database", why)
            .on(Subject::path(database))
            .with_hint("free some space and run the same command again"));
    }
    let size = if bytes >= MIN_LOGGED_COPY_BYTES { format!(", {}", text::bytes(bytes)) } else { String::new() };
    let forecast = Forecast::new(cost::copying(bytes), cost::rows(rows) + cost::publishing(2));
    context.stage(Phase::Tables, "row", forecast, format!("copying the database{size}"));
    context.progress.expect(0, bytes);
    context.fs.copy_file_watched(&local_copy(database)?, draft, &mut |count| {
        context.progress.add(0, count);
        context.cancel.check()
    })?;
    context.fs.set_mode(draft, 0o600)?;
    Ok(Tables::open(database).is_ok())
}

/// Whether the key of a row is the name of a file that a scan of the folder would find.
fn is_in_folder(root: &Path, files: &FileList, key: &str) -> bool {
    if files.contains(key) {
        return true;
    }
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if name != layout::NV_META);
    !key.is_empty() && Path::new(key).components().all(is_plain) && files::is_file(root.join(key))
}

fn report_stale(context: &TaskContext, database: &Path, written: &RowStats) -> Outcome<()> {
    let Some(first) = written.stale_keys.first().filter(|_| written.stale > 0) else { return Ok(()) };
    let message = format!(
        "{} of entries that no longer exist, such as {first}; they are kept",
        text::count(written.stale, "row")
    );
    let note = Problem::note(ProblemKind::StaleMedia, Subject::path(database), message);
    context.problems.report(note.with_hint("--prune removes them"))
}

/// Publishes the finished database with its permissions.
pub(super) fn publish(
    context: &TaskContext,
    plan: &PrepareMediaPlan,
    target: &Target,
    draft: &DatabaseDraft,
    report: &mut MediaReport,
) -> Outcome<()> {
    let root = Path::new(&plan.path);
    let meta = layout::nv_meta(root);
    let database = meta.join(layout::INDEX_SQLITE);
    let root_mode = mode_of(root)?;
    let mode = match (target, mode_of(&database)) {
        (Target::Files(_), _) => (root_mode | 0o600) & 0o666,
        (Target::Shards(_), Ok(old)) => old,
        (Target::Shards(shards), Err(_)) => shards.list.first().map_or(0o644, |(shard, _)| shard.mode & 0o777 | 0o600),
    };
    if matches!(target, Target::Files(_)) && !is_remote(root) && mode_of(&meta)? != root_mode | 0o700 {
        context.fs.set_mode(&meta, root_mode | 0o700)?;
    }
    let bytes = files::metadata(&draft.path).map_or(0, |facts| facts.len());
    if !place_version(&*context.fs, &draft.path, &database, mode, draft.old)? {
        return Err(Failure::environment("preparing media", "the database was changed by another program meanwhile")
            .on(Subject::path(&database))
            .with_hint("run the same command again"));
    }
    let replaces = draft.old.is_some();
    report.files.push(OutputFile { name: format!("{}/{}", layout::NV_META, layout::INDEX_SQLITE), bytes, replaces });
    Ok(())
}

fn mode_of(path: &Path) -> Outcome<u32> {
    let facts = files::metadata(path).map_err(|error| Failure::io("opening", path, &error))?;
    Ok(facts.mode)
}
