//! Checks `index.sqlite`, which is opened as untrusted: its schema, its indexes, and rows that belong to no shard.

use crate::engine::check::compare::REMAKE_HINT;
use crate::engine::check::{bad_file, EndRecorder, PreparedDataset};
use crate::engine::plan::prefix_hint;
use gristmill_core::text::count_verb;
use gristmill_core::{Failure, Handles, Outcome, Problem, ProblemKind, Subject};
use gristmill_data::formats::energon::layout;
use gristmill_data::formats::energon::tables::Tables;
use gristmill_storage::location::hint_for;
use gristmill_storage::read::read_whole;

/// The indexes that lookups by name need.
const INDEXES: [&str; 3] = ["idx_samples_by_tar_and_idx", "idx_sample_parts_seq", "idx_sample_parts_full"];

/// Checks the database as a whole, including SQLite's own check of every page. After that, a damaged database is treated as absent, so that
/// the shards are still compared with the remaining files.
pub(in crate::engine::check) fn check(prepared: &mut PreparedDataset, handles: &Handles<'_>) -> Outcome<()> {
    let usable = check_database(prepared, handles)?;
    prepared.has_tables &= usable;
    Ok(())
}

/// Whether the tables can be read.
fn check_database(prepared: &PreparedDataset, handles: &Handles<'_>) -> Outcome<bool> {
    let path = prepared.database();
    if !prepared.has_tables {
        let message =
            "there is no index.sqlite: training works, access by name, mounting and use as an aux source do not";
        handles.problems.report(
            Problem::note(ProblemKind::MissingFile, Subject::path(path), message)
                .with_hint(hint_for(&prepared.root, "gristmill prepare PATH --tar-index-only makes it")),
        )?;
        return Ok(false);
    }
    let opened = prepared.tables().and_then(|tables| {
        tables.map_or(Ok(None), |mut tables| tables.stop_with(handles.cancel).map(|()| Some(tables)))
    });
    let sink = EndRecorder::new(handles.problems);
    let looked = match opened {
        Ok(Some(tables)) => check_tables(prepared, &tables, &Handles { problems: &sink, ..*handles }),
        Ok(None) => return Ok(false),
        Err(failure) => Err(failure),
    };
    handles.cancel.check()?;
    match looked {
        Err(failure) if failure.is_cancelled() || sink.has_ended() => Err(failure),
        Err(failure) => {
            handles.problems.report(bad_file(failure).with_hint(hint_for(&prepared.root, REMAKE_HINT)))?;
            Ok(false)
        }
        usable => usable,
    }
}

fn check_tables(prepared: &PreparedDataset, tables: &Tables, handles: &Handles<'_>) -> Outcome<bool> {
    let path = prepared.database();
    let report = |kind, message: String| {
        handles.problems.report(
            Problem::problem(kind, Subject::path(&path), message).with_hint(hint_for(&prepared.root, REMAKE_HINT)),
        )
    };
    let damage = tables.quick_check()?;
    for line in &damage {
        report(ProblemKind::BadFile, format!("the database is damaged: {line}"))?;
    }
    if !damage.is_empty() {
        return Ok(false);
    }
    for index in INDEXES {
        if !has_index(tables, index)? {
            report(
                ProblemKind::BadFile,
                format!("the index '{index}' is missing: access by name is slow, rows are not checked one by one"),
            )?;
        }
    }
    if !is_key_unique(tables)? {
        report(ProblemKind::BadFile, "the table 'samples' has no unique index on sample_key".to_owned())?;
        duplicate_keys(tables, &|message| {
            let problem = Problem::problem(ProblemKind::DuplicateKey, Subject::path(&path), message);
            handles.problems.report(problem.with_hint(prefix_hint(&prepared.root)))
        })?;
    }
    let shards = prepared.shard_count();
    for (table, what) in [("samples", "sample"), ("sample_parts", "part")] {
        let sql = format!("SELECT (SELECT count(*) FROM {table} WHERE tar_file_id < 0) + (SELECT count(*) FROM {table} WHERE tar_file_id >= ?1)");
        let stray: i64 =
            tables.connection().query_row(&sql, [shards], |row| row.get(0)).map_err(|e| sqlite(prepared, &e))?;
        if stray > 0 {
            report(
                ProblemKind::IndexMismatch,
                format!(
                    "{} to no shard of .info.json",
                    count_verb(stray.unsigned_abs(), &format!("{what} row"), "belongs", "belong")
                ),
            )?;
        }
    }
    uuid(prepared, tables, handles)?;
    Ok(true)
}

/// Reports duplicate keys, for tables without a unique constraint.
fn duplicate_keys(tables: &Tables, report: &dyn Fn(String) -> Outcome<()>) -> Outcome<()> {
    let sql = "SELECT sample_key, count(*) FROM samples GROUP BY sample_key HAVING count(*) > 1 LIMIT 10";
    let mut statement = tables.connection().prepare(sql).map_err(plain)?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))).map_err(plain)?;
    for row in rows {
        let (key, count) = row.map_err(plain)?;
        report(format!("the key '{key}' has {count} rows"))?;
    }
    Ok(())
}

fn plain(error: rusqlite::Error) -> Failure {
    Failure::data("reading the index", error.to_string())
}

fn sqlite(prepared: &PreparedDataset, error: &rusqlite::Error) -> Failure {
    gristmill_data::formats::energon::tables::failure(&prepared.database(), error)
}

fn has_index(tables: &Tables, name: &str) -> Outcome<bool> {
    let sql = "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = ?1";
    tables.connection().query_row(sql, [name], |row| row.get::<_, i64>(0)).map(|n| n > 0).map_err(plain)
}

fn is_key_unique(tables: &Tables) -> Outcome<bool> {
    let sql = "SELECT count(*) FROM pragma_index_list('samples') AS list WHERE list.\"unique\" = 1 AND \
               (SELECT group_concat(name) FROM pragma_index_info(list.name)) = 'sample_key'";
    tables.connection().query_row(sql, [], |row| row.get::<_, i64>(0)).map(|n| n > 0).map_err(plain)
}

/// Whether the rows of one shard can be read in order without sorting the whole table.
pub(in crate::engine::check) fn is_indexed(prepared: &PreparedDataset) -> bool {
    let Ok(Some(tables)) = prepared.tables() else { return false };
    INDEXES[..2].iter().all(|index| has_index(&tables, index).unwrap_or(false))
}

fn has_rows(tables: &Tables) -> Outcome<bool> {
    let sql = "SELECT EXISTS(SELECT 1 FROM samples)";
    tables.connection().query_row(sql, [], |row| row.get(0)).map_err(plain)
}

/// Checks the UUID. Caches and joins accept any UUID; a missing one is reported.
fn uuid(prepared: &PreparedDataset, tables: &Tables, handles: &Handles<'_>) -> Outcome<()> {
    let path = layout::in_nv_meta(&prepared.root, layout::INDEX_UUID);
    let (kind, message) = match read_whole(&path, 4096)? {
        // Tables without a row have no UUID.
        None if !has_rows(tables)? => return Ok(()),
        None => (ProblemKind::MissingFile, "index.uuid is missing: caches cannot distinguish this index from another"),
        Some(bytes) if std::str::from_utf8(&bytes).is_ok_and(|t| uuid::Uuid::try_parse(t).is_ok()) => return Ok(()),
        Some(_) => (ProblemKind::BadFile, "index.uuid does not hold a UUID"),
    };
    handles
        .problems
        .report(Problem::problem(kind, Subject::path(path), message).with_hint(hint_for(&prepared.root, REMAKE_HINT)))
}
