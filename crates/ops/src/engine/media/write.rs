//! Writes rows to the database: merges them with the existing ones, in one transaction.

use super::spool::{MediaRows, Row};
use crate::engine::index::sql_failure;
use gristmill_core::{Failure, Handles, MediaFilter, Outcome, Subject};
use gristmill_data::formats::energon::tables::{CREATE_MEDIA_TABLES, INSERT_MEDIA, INSERT_MEDIA_FILTER};
use gristmill_storage::fs::Fs;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use std::path::Path;

/// Size of the rows that are sorted at a time, in bytes. Constant, because it affects the bytes of the file.
const BATCH_BYTES: usize = 32 << 20;
/// Approximate size of a row without its texts, in bytes.
const ROW_BYTES: usize = 48;
/// Rows between two checks of the cancel flag.
const CANCEL_EVERY: u64 = 1024;

/// Function that returns whether the entry of an old row still exists.
pub type EntryExists<'a> = dyn FnMut(&Connection, &str) -> Outcome<bool> + 'a;

/// Treatment of existing rows.
pub struct OldRows<'a> {
    /// Whether the entry of a row, given by its key, still exists.
    pub still_there: &'a mut EntryExists<'a>,
    /// Whether rows whose entry no longer exists are removed.
    pub prune: bool,
}

/// Counts of the changes to the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowStats {
    /// Number of rows written.
    pub rows_written: u64,
    /// Total number of rows in the table.
    pub rows_in_all: u64,
    /// Number of rows whose entry no longer exists, but which were not removed.
    pub stale: u64,
    /// Keys of the first such rows.
    pub stale_keys: Vec<String>,
    /// Number of rows that were removed because their entry no longer exists.
    pub pruned: u64,
}

/// Limit of reported keys of stale rows.
const MAX_STALE_KEYS: usize = 100;

/// Writes the rows of all units, and the filter, to a private copy of a database, which is created if missing, and flushes it to disk.
///
/// `keep` returns for each key whether its row is written. Of two rows with the same key, the later one is written. Adds one item per row
/// to the progress. SQLite writes the file itself, so a full disk is an environment failure.
pub fn write_rows(
    fs: &dyn Fs,
    database: &Path,
    units: &[MediaRows],
    filter: &MediaFilter,
    keep: &dyn Fn(usize, &str) -> bool,
    old: OldRows<'_>,
    handles: &Handles<'_>,
) -> Outcome<RowStats> {
    let failed = |error: &rusqlite::Error| sql_failure(database, error);
    let mut connection = open(database).map_err(|error| failed(&error))?;
    let mut written = RowStats::default();
    {
        let change = connection.transaction().map_err(|error| failed(&error))?;
        change.execute_batch(CREATE_MEDIA_TABLES).map_err(|error| failed(&error))?;
        check_tables(&change, database)?;
        let newest_old = newest(&change).map_err(|error| failed(&error))?;
        written.rows_written = insert(&change, database, units, keep, handles)?;
        let parameters = (filter.strategy(), filter.patterns());
        change.execute(INSERT_MEDIA_FILTER, parameters).map_err(|error| failed(&error))?;
        if let Some(newest) = newest_old {
            stale(&change, database, newest, old, handles, &mut written)?;
        }
        let count = "SELECT count(*) FROM media_metadata";
        let rows: i64 = change.query_row(count, [], |row| row.get(0)).map_err(|error| failed(&error))?;
        written.rows_in_all = rows.unsigned_abs();
        handles.cancel.check()?;
        change.commit().map_err(|error| failed(&error))?;
    }
    connection.close().map_err(|(_, error)| failed(&error))?;
    fs.sync_file(database)?;
    Ok(written)
}

/// Opens a private file. It is discarded unless all steps succeed, so it is not synced in between. Its existing content is untrusted, so no
/// code in it may be executed.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.execute_batch(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; \
         PRAGMA cache_size = -65536; PRAGMA cell_size_check = ON;",
    )?;
    Ok(connection)
}

/// Checks that the media tables have the columns that readers expect; rows in other tables would not be found.
fn check_tables(connection: &Connection, database: &Path) -> Outcome<()> {
    let sql = "SELECT (SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('media_metadata', 'media_filters')) = 2 \
               AND (SELECT count(*) FROM pragma_table_info('media_metadata') WHERE name = 'entry_key' AND pk = 1) = 1 \
               AND (SELECT count(*) FROM pragma_table_info('media_metadata')) = 3";
    let is_fine = connection.query_row(sql, [], |row| row.get::<_, bool>(0)).map_err(|e| sql_failure(database, &e))?;
    if is_fine {
        return Ok(());
    }
    Err(Failure::data("writing the database", "its media tables are not of the shape that readers expect")
        .on(Subject::path(database))
        .with_hint("move .nv-meta/index.sqlite away, and prepare again"))
}

/// Returns the highest existing row id. Rows that are then written or replaced have higher ids.
fn newest(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection.query_row("SELECT max(rowid) FROM media_metadata", [], |row| row.get(0))
}

fn insert(
    connection: &Connection,
    database: &Path,
    units: &[MediaRows],
    keep: &dyn Fn(usize, &str) -> bool,
    handles: &Handles<'_>,
) -> Outcome<u64> {
    let mut batch = Batch::default();
    let mut count = 0;
    for (unit, rows) in units.iter().enumerate() {
        let Some(mut reader) = rows.open()? else { continue };
        while let Some(row) = reader.next()? {
            if keep(unit, &row.key) {
                batch.push(row);
            }
            if batch.bytes >= BATCH_BYTES {
                count += batch.insert(connection, database, handles)?;
            }
        }
    }
    Ok(count + batch.insert(connection, database, handles)?)
}

/// Rows that are sorted together.
#[derive(Default)]
struct Batch {
    rows: Vec<Row>,
    bytes: usize,
}

impl Batch {
    fn push(&mut self, row: Row) {
        self.bytes += row.key.len() + row.json.len() + ROW_BYTES;
        self.rows.push(row);
    }

    /// Inserts all rows in the order of their keys. Of rows with equal keys, only the last is inserted.
    fn insert(&mut self, connection: &Connection, database: &Path, handles: &Handles<'_>) -> Outcome<u64> {
        let failed = |error: rusqlite::Error| sql_failure(database, &error);
        self.rows.sort_by(|a, b| a.key.cmp(&b.key));
        let mut put = connection.prepare_cached(INSERT_MEDIA).map_err(failed)?;
        let mut count = 0_u64;
        let mut rows = self.rows.iter().peekable();
        while let Some(row) = rows.next() {
            handles.progress.add(1, 0);
            if rows.peek().is_some_and(|next| next.key == row.key) {
                continue;
            }
            put.execute((&*row.key, row.media_type.name(), &*row.json)).map_err(failed)?;
            count += 1;
            if count.is_multiple_of(CANCEL_EVERY) {
                handles.cancel.check()?;
            }
        }
        self.rows.clear();
        self.bytes = 0;
        Ok(count)
    }
}

/// Iterates over the existing rows that were not replaced.
fn stale(
    connection: &Connection,
    database: &Path,
    newest_old: i64,
    old: OldRows<'_>,
    handles: &Handles<'_>,
    written: &mut RowStats,
) -> Outcome<()> {
    let failed = |error: rusqlite::Error| sql_failure(database, &error);
    let mut gone: Vec<i64> = Vec::new();
    {
        let sql = "SELECT rowid, entry_key FROM media_metadata WHERE rowid <= ?1 ORDER BY rowid";
        let mut statement = connection.prepare(sql).map_err(failed)?;
        let mut rows = statement.query([newest_old]).map_err(failed)?;
        let mut count = 0_u64;
        while let Some(row) = rows.next().map_err(failed)? {
            count += 1;
            if count.is_multiple_of(CANCEL_EVERY) {
                handles.cancel.check()?;
            }
            let key = row.get_ref(1).map_err(failed)?;
            // A key that is not text is not the name of an entry.
            let is_there = match key.as_str() {
                Ok(key) => (old.still_there)(connection, key)?,
                Err(_) => false,
            };
            if !is_there {
                gone.push(row.get(0).map_err(failed)?);
                if written.stale_keys.len() < MAX_STALE_KEYS {
                    written.stale_keys.push(key.as_str().unwrap_or_default().to_owned());
                }
            }
        }
    }
    if !old.prune {
        written.stale = gone.len() as u64;
        return Ok(());
    }
    let mut remove = connection.prepare("DELETE FROM media_metadata WHERE rowid = ?1").map_err(failed)?;
    for rowid in gone {
        remove.execute([rowid]).map_err(failed)?;
        written.pruned += 1;
    }
    Ok(())
}

/// Whether a sample table contains this entry, `key.part`. The key has no dot after its last `/`.
pub fn is_in_samples(connection: &Connection, database: &Path, entry: &str) -> Outcome<bool> {
    let file = entry.rfind('/').map_or(0, |at| at + 1);
    let Some(dot) = entry.get(file..).and_then(|name| name.find('.')).map(|at| at + file) else { return Ok(false) };
    let (Some(key), Some(part)) = (entry.get(..dot), entry.get(dot + 1..)) else { return Ok(false) };
    let sql = "SELECT 1 FROM samples AS s JOIN sample_parts AS p ON p.tar_file_id = s.tar_file_id \
               AND p.sample_index = s.sample_index AND p.part_name = ?2 WHERE s.sample_key = ?1 LIMIT 1";
    let mut statement = connection.prepare_cached(sql).map_err(|error| sql_failure(database, &error))?;
    let found = statement.query_row((key, part), |_| Ok(())).optional();
    found.map(|found| found.is_some()).map_err(|error| sql_failure(database, &error))
}

/// Whether the media tables of a database record that all its entries were probed with this filter. Returns `false` after any error.
pub fn has_filter(database: &Path, filter: &MediaFilter) -> bool {
    let Ok(connection) = gristmill_data::formats::energon::tables::open_readonly(database) else { return false };
    let sql = "SELECT count(*) FROM media_filters WHERE strategy = ?1 AND patterns = ?2";
    let found = connection.query_row(sql, (filter.strategy(), filter.patterns()), |row| row.get::<_, i64>(0));
    found.is_ok_and(|count| count > 0)
}
