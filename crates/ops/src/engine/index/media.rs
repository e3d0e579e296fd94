//! Carries the media tables of an earlier database over when the sample tables are rebuilt.

use gristmill_core::problem::Subject;
use gristmill_core::{Cancel, ExitClass, Failure, Outcome};
use gristmill_data::formats::energon::tables::{self, has_media_tables, open_readonly, CREATE_MEDIA_TABLES};
use gristmill_storage::files;
use gristmill_storage::fs::Fs;
use gristmill_storage::local_copy::local_copy;
use gristmill_storage::sort::CANCEL_EVERY;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _};
use std::path::Path;

/// The result of carrying the media tables over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CarriedMedia {
    /// The earlier database has no media tables.
    Nothing,
    /// The tables were copied into the new database.
    Rows {
        /// Number of rows of `media_metadata`.
        metadata: u64,
        /// Number of rows of `media_filters`.
        filters: u64,
    },
    /// The tables cannot be read, so the new database has none.
    Unreadable(
        /// The reason why the tables cannot be read.
        String,
    ),
}

/// Copies the media tables of `old`, as far as they can be read, into the finished database `new` and flushes it to disk.
///
/// # Errors
/// It is unknown whether `old` exists, or it cannot be copied from its store. The rows of the user would then be lost.
pub fn carry_media_tables(fs: &dyn Fs, old: &Path, new: &Path, cancel: &Cancel) -> Outcome<CarriedMedia> {
    const ACTIVITY: &str = "reading the media metadata of the old index";
    if !files::try_is_file(old).map_err(|error| Failure::io(ACTIVITY, old, &error))? {
        return Ok(CarriedMedia::Nothing);
    }
    // With a local copy, a failure to open it means that the database is damaged, and not that its store failed.
    local_copy(old)?;
    let source = match open_readonly(old) {
        Ok(source) => source,
        Err(failure) => return Ok(CarriedMedia::Unreadable(failure.why)),
    };
    match has_media_tables(&source) {
        Ok(true) => {}
        Ok(false) => return Ok(CarriedMedia::Nothing),
        Err(error) => return Ok(CarriedMedia::Unreadable(tables::failure(old, &error).why)),
    }
    let mut target = open_new(new).map_err(|error| sql_failure(new, &error))?;
    let carried = match copy(&source, &mut target, cancel) {
        Ok(carried) => carried,
        Err(CopyError::Read(error)) => CarriedMedia::Unreadable(tables::failure(old, &error).why),
        Err(CopyError::Write(error)) => return Err(sql_failure(new, &error)),
        Err(CopyError::Stopped(failure)) => return Err(failure),
    };
    target.close().map_err(|(_, error)| sql_failure(new, &error))?;
    fs.sync_file(new)?;
    Ok(carried)
}

fn open_new(path: &Path) -> rusqlite::Result<Connection> {
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // The journal is in memory, to undo the copy if the old tables are damaged. The file itself is synced once, at the end.
    connection.execute_batch(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384;",
    )?;
    Ok(connection)
}

enum CopyError {
    Read(rusqlite::Error),
    Write(rusqlite::Error),
    Stopped(Failure),
}

fn copy(source: &Connection, target: &mut Connection, cancel: &Cancel) -> Result<CarriedMedia, CopyError> {
    let change = target.transaction().map_err(CopyError::Write)?;
    change.execute_batch(CREATE_MEDIA_TABLES).map_err(CopyError::Write)?;
    let metadata = copy_rows(
        source,
        &change,
        "SELECT entry_key, metadata_type, metadata_json FROM media_metadata",
        "INSERT INTO media_metadata VALUES (?1, ?2, ?3)",
        cancel,
    )?;
    let filters = copy_rows(
        source,
        &change,
        "SELECT filter_id, strategy, patterns, created_at_utc FROM media_filters ORDER BY filter_id",
        "INSERT INTO media_filters VALUES (?1, ?2, ?3, ?4)",
        cancel,
    )?;
    carry_sequence(source, &change)?;
    change.commit().map_err(CopyError::Write)?;
    Ok(CarriedMedia::Rows { metadata, filters })
}

/// Inserts the rows that `select` yields, column by column. Returns the number of rows.
fn copy_rows(
    source: &Connection,
    target: &Connection,
    select: &str,
    insert: &str,
    cancel: &Cancel,
) -> Result<u64, CopyError> {
    let mut put = target.prepare(insert).map_err(CopyError::Write)?;
    let mut get = source.prepare(select).map_err(CopyError::Read)?;
    let columns = get.column_count();
    let mut rows = get.query([]).map_err(CopyError::Read)?;
    let mut count = 0;
    while let Some(row) = rows.next().map_err(CopyError::Read)? {
        for column in 0..columns {
            let value = ToSqlOutput::Borrowed(row.get_ref(column).map_err(CopyError::Read)?);
            put.raw_bind_parameter(column + 1, value).map_err(CopyError::Write)?;
        }
        put.raw_execute().map_err(classify_insert)?;
        count += 1;
        if count % CANCEL_EVERY == 0 {
            cancel.check().map_err(CopyError::Stopped)?;
        }
    }
    Ok(count)
}

/// Copies the state of the autoincrement id, so that ids are not reused.
fn carry_sequence(source: &Connection, target: &Connection) -> Result<(), CopyError> {
    let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'media_filters'";
    let seq = source.query_row(sql, [], |row| row.get::<_, i64>(0)).optional().map_err(CopyError::Read)?;
    let Some(seq) = seq else { return Ok(()) };
    let changed = target
        .execute("UPDATE sqlite_sequence SET seq = max(seq, ?1) WHERE name = 'media_filters'", [seq])
        .map_err(CopyError::Write)?;
    if changed == 0 {
        let sql = "INSERT INTO sqlite_sequence VALUES ('media_filters', ?1)";
        target.execute(sql, [seq]).map_err(CopyError::Write)?;
    }
    Ok(())
}

/// Classifies a failed insert: a row that violates a constraint means that the old database is damaged; any other error concerns the new
/// database.
fn classify_insert(error: rusqlite::Error) -> CopyError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig) => CopyError::Read(error),
        _ => CopyError::Write(error),
    }
}

/// Converts an SQLite error on a database of this program to a failure.
pub(in crate::engine) fn sql_failure(path: &Path, error: &rusqlite::Error) -> Failure {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => "no space left on the device".to_owned(),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => "permission denied".to_owned(),
        Some(ErrorCode::OperationInterrupted) => return Failure::cancelled(),
        // The data copied from an old database is damaged.
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => return tables::failure(path, error),
        _ => error.to_string(),
    };
    let failure = Failure::new(ExitClass::Environment, "writing the database", why).on(Subject::path(path));
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => failure.with_hint("free some space and run the same command again"),
        _ => failure,
    }
}
