//! `index.sqlite`: its schema, and reading it as untrusted data (docs/formats/energon.md §5).

use gristmill_core::problem::Subject;
use gristmill_core::{Failure, FileStamp, Outcome};
use gristmill_storage::files;
use gristmill_storage::local_copy::{copy_of_version, local_copy};
use gristmill_storage::location::is_remote;
use gristmill_storage::read::open_read;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

const ACTIVITY: &str = "reading the index";

/// Creates the sample tables.
pub const CREATE_SAMPLE_TABLES: &str = "
CREATE TABLE samples (
  tar_file_id INTEGER NOT NULL,
  sample_key TEXT NOT NULL UNIQUE,
  sample_index INTEGER NOT NULL,
  byte_offset INTEGER,
  byte_size INTEGER
);
CREATE TABLE sample_parts (
  tar_file_id INTEGER,
  sample_index INTEGER,
  part_name TEXT,
  content_byte_offset INTEGER,
  content_byte_size INTEGER
);
";

/// Creates the indexes, after the rows are inserted.
pub const CREATE_SAMPLE_INDEXES: &str = "
CREATE INDEX idx_samples_by_tar_and_idx ON samples(tar_file_id, sample_index);
CREATE INDEX idx_sample_parts_seq ON sample_parts(tar_file_id, sample_index, content_byte_offset);
CREATE INDEX idx_sample_parts_full ON sample_parts(tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size);
";

/// Creates the media tables if they are missing.
pub const CREATE_MEDIA_TABLES: &str = "
CREATE TABLE IF NOT EXISTS media_metadata (
  entry_key TEXT PRIMARY KEY,
  metadata_type TEXT NOT NULL,
  metadata_json TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS media_filters (
  filter_id INTEGER PRIMARY KEY AUTOINCREMENT,
  strategy TEXT NOT NULL,
  patterns TEXT,
  created_at_utc TEXT DEFAULT CURRENT_TIMESTAMP,
  UNIQUE(strategy, patterns)
);
";

/// Adds a sample: tar_file_id, sample_key, sample_index, byte_offset, byte_size.
pub const INSERT_SAMPLE: &str =
    "INSERT INTO samples (tar_file_id, sample_key, sample_index, byte_offset, byte_size) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Adds a part: tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size.
pub const INSERT_PART: &str = "INSERT INTO sample_parts (tar_file_id, sample_index, part_name, content_byte_offset, \
                               content_byte_size) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Adds or replaces a media row: entry_key, metadata_type, metadata_json.
pub const INSERT_MEDIA: &str =
    "INSERT OR REPLACE INTO media_metadata (entry_key, metadata_type, metadata_json) VALUES (?1, ?2, ?3)";

/// Adds a media filter once: strategy, patterns.
pub const INSERT_MEDIA_FILTER: &str = "INSERT OR IGNORE INTO media_filters (strategy, patterns) VALUES (?1, ?2)";

/// Maximum length of a text or blob that is read, in bytes.
const MAX_VALUE_BYTES: i32 = 64 << 20;

/// Opens a database of unknown origin for reading: it cannot run code, write, or access other files.
///
/// A database in a store is copied to the cache folder. A database that an interrupted run did not finish writing is refused.
pub fn open_readonly(path: &Path) -> Outcome<Connection> {
    connect(path, &local_database(path)?)
}

/// Returns the local file of a database that [`open_readonly`] would open.
pub fn local_database(path: &Path) -> Outcome<Cow<'_, Path>> {
    if !is_remote(path) {
        // SQLite does not report why a file cannot be opened, so the file is opened here first.
        drop(open_read(path)?);
    }
    check_finished(path)?;
    local_copy(path)
}

/// Opens the local copy `local` of the database at `path`.
fn connect(path: &Path, local: &Path) -> Outcome<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(local), flags).map_err(|error| failure(path, &error))?;
    harden(&connection).map_err(|error| failure(path, &error))?;
    Ok(connection)
}

/// Refuses a database that an interrupted run did not finish writing: a journal is next to it.
pub(super) fn check_finished(path: &Path) -> Outcome<()> {
    for suffix in ["-journal", "-wal"] {
        let mut companion = path.as_os_str().to_owned();
        companion.push(suffix);
        if files::metadata(Path::new(&companion)).is_ok_and(|info| !info.is_empty()) {
            return Err(Failure::data(ACTIVITY, format!("an unfinished change ('{suffix}' file) is next to it"))
                .on(Subject::path(path))
                .with_hint("prepare the data set again"));
        }
    }
    Ok(())
}

/// Returns a `file:` URI in which everything but the plain path characters is escaped.
fn uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let absolute = files::absolute_or_same(path);
    let mut uri = String::from("file:");
    for byte in absolute.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(byte) {
            uri.push(char::from(*byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}

fn harden(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    for (limit, value) in [
        (Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 16),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 64),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    ] {
        connection.set_limit(limit, value)?;
    }
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0;")
}

/// Returns the failure that SQLite reported for a file.
pub fn failure(path: &Path, error: &rusqlite::Error) -> Failure {
    use rusqlite::ErrorCode as C;
    let subject = Subject::path(path);
    match error.sqlite_error_code() {
        Some(C::SystemIoFailure | C::CannotOpen | C::PermissionDenied | C::DiskFull | C::OutOfMemory) => {
            Failure::environment(ACTIVITY, error.to_string()).on(subject)
        }
        Some(C::NotADatabase) => Failure::data(ACTIVITY, "it is not an SQLite database").on(subject),
        Some(C::DatabaseCorrupt) => {
            Failure::data(ACTIVITY, "it is damaged").on(subject).with_hint("prepare the data set again")
        }
        _ => Failure::data(ACTIVITY, error.to_string()).on(subject),
    }
}

/// The reason why a walk over rows ended early.
pub enum VisitError {
    /// A query failed.
    Sql(rusqlite::Error),
    /// The run was cancelled.
    Cancelled,
}

impl From<rusqlite::Error> for VisitError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl VisitError {
    /// Returns the failure of reading the database at `path`.
    pub fn into_failure(self, path: &Path) -> Failure {
        match self {
            Self::Sql(error) => failure(path, &error),
            Self::Cancelled => Failure::cancelled(),
        }
    }
}

/// Whether a database has the tables of media metadata.
pub fn has_media_tables(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('media_metadata', 'media_filters')";
    connection.query_row(sql, [], |row| row.get::<_, i64>(0)).map(|count| count == 2)
}

/// One row of `samples`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleRecord {
    /// Position of the shard in the index.
    pub tar_file_id: u32,
    /// Sample key.
    pub key: String,
    /// Position in the shard, from 0.
    pub sample_index: u64,
    /// Offset in the (decompressed) archive, in bytes.
    pub byte_offset: u64,
    /// Bytes up to the next sample.
    pub byte_size: u64,
}

/// One row of `sample_parts`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartRecord {
    /// Position of the sample in its shard, from 0.
    pub sample_index: u64,
    /// Part name; may be empty.
    pub part_name: String,
    /// Offset of the content in the (decompressed) archive, in bytes.
    pub content_byte_offset: u64,
    /// Length of the content in bytes.
    pub content_byte_size: u64,
}

/// SQLite instructions between two checks for cancellation.
const CANCEL_CHECK_EVERY: i32 = 20_000;

/// The tables of one data set, open for reading.
pub struct Tables {
    connection: Connection,
    path: PathBuf,
}

const SAMPLE_COLUMNS: &str = "tar_file_id, sample_key, sample_index, byte_offset, byte_size";

/// Returns an offset, size or count; negative ones are out of range.
fn unsigned(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

/// Converts to SQLite's signed integer; values out of range become its maximum.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn sample_record(row: &rusqlite::Row<'_>) -> rusqlite::Result<SampleRecord> {
    Ok(SampleRecord {
        tar_file_id: row.get(0)?,
        key: row.get(1)?,
        sample_index: unsigned(row, 2)?,
        byte_offset: unsigned(row, 3)?,
        byte_size: unsigned(row, 4)?,
    })
}

impl Tables {
    /// Opens the tables and checks that they exist, with the columns that the loader queries.
    pub fn open(path: &Path) -> Outcome<Self> {
        Self::of(open_readonly(path)?, path)
    }

    /// Opens the tables of a database from the file that [`local_database`] has returned for it.
    pub fn open_local(path: &Path, local: &Path) -> Outcome<Self> {
        Self::of(connect(path, local)?, path)
    }

    /// Opens the given version of a database, which the caller has just found at its path. Sends no request to the store if the cache has a
    /// copy of this version.
    pub fn open_version(path: &Path, version: FileStamp) -> Outcome<Self> {
        if !is_remote(path) {
            return Self::open(path);
        }
        check_finished(path)?;
        let local = copy_of_version(path, version).map_or_else(|| local_copy(path), Ok)?;
        Self::of(connect(path, &local)?, path)
    }

    fn of(connection: Connection, path: &Path) -> Outcome<Self> {
        let tables = Self { connection, path: path.to_owned() };
        for (table, columns) in [
            ("samples", SAMPLE_COLUMNS),
            ("sample_parts", "tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size"),
        ] {
            if !tables.has_table(table)? {
                let why = format!("it has no table '{table}'");
                return Err(Failure::data(ACTIVITY, why).on(Subject::path(path)));
            }
            tables.connection.prepare(&format!("SELECT {columns} FROM {table}")).map_err(|e| tables.failed(&e))?;
        }
        Ok(tables)
    }

    /// Whether a table (not a view) of that name exists.
    pub fn has_table(&self, name: &str) -> Outcome<bool> {
        let sql =
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1 AND sql NOT LIKE 'CREATE VIRTUAL%'";
        let count: i64 = self.connection.query_row(sql, [name], |row| row.get(0)).map_err(|e| self.failed(&e))?;
        Ok(count > 0)
    }

    /// Returns the connection, for queries that are not provided here.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Makes a long query fail soon after cancellation was requested.
    pub fn stop_with(&mut self, cancel: &gristmill_core::Cancel) -> Outcome<()> {
        let cancel = cancel.clone();
        let set = self.connection.progress_handler(CANCEL_CHECK_EVERY, Some(move || cancel.is_cancelled()));
        set.map_err(|e| self.failed(&e))
    }

    fn failed(&self, error: &rusqlite::Error) -> Failure {
        failure(&self.path, error)
    }

    fn rows<T>(
        &self,
        sql: &str,
        parameters: &[&dyn rusqlite::ToSql],
        make: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Outcome<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(|e| self.failed(&e))?;
        let rows = statement.query_map(parameters, make).map_err(|e| self.failed(&e))?;
        rows.collect::<rusqlite::Result<_>>().map_err(|e| self.failed(&e))
    }

    /// Runs SQLite's own quick check of the file; returns the mistakes, at most 20 lines, or nothing.
    pub fn quick_check(&self) -> Outcome<Vec<String>> {
        let lines = self.rows("PRAGMA quick_check(20)", &[], |row| row.get::<_, String>(0))?;
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }

    /// Returns the number of rows of `samples` per shard, in index order; shards without rows are absent.
    pub fn samples_per_shard(&self) -> Outcome<Vec<(u32, u64)>> {
        let sql = "SELECT tar_file_id, count(*) FROM samples GROUP BY tar_file_id ORDER BY tar_file_id";
        self.rows(sql, &[], |row| Ok((row.get(0)?, unsigned(row, 1)?)))
    }

    /// Returns the samples of one shard from `first` on, at most `limit`, in archive order.
    pub fn samples(&self, tar_file_id: u32, first: u64, limit: u64) -> Outcome<Vec<SampleRecord>> {
        let sql = format!(
            "SELECT {SAMPLE_COLUMNS} FROM samples WHERE tar_file_id = ?1 AND sample_index >= ?2 ORDER BY sample_index LIMIT ?3"
        );
        self.rows(&sql, &[&tar_file_id, &signed(first), &signed(limit)], sample_record)
    }

    /// Returns the sample at a position.
    pub fn sample(&self, tar_file_id: u32, sample_index: u64) -> Outcome<Option<SampleRecord>> {
        let found = self.samples(tar_file_id, sample_index, 1)?.into_iter().next();
        Ok(found.filter(|sample| sample.sample_index == sample_index))
    }

    /// Returns the sample with this key.
    pub fn sample_by_key(&self, key: &str) -> Outcome<Option<SampleRecord>> {
        let sql = format!("SELECT {SAMPLE_COLUMNS} FROM samples WHERE sample_key = ?1");
        Ok(self.rows(&sql, &[&key], sample_record)?.into_iter().next())
    }

    /// Returns the parts of the samples `first..first + count` of one shard, in archive order.
    pub fn parts(&self, tar_file_id: u32, first: u64, count: u64) -> Outcome<Vec<PartRecord>> {
        let sql = "SELECT sample_index, part_name, content_byte_offset, content_byte_size FROM sample_parts \
                   WHERE tar_file_id = ?1 AND sample_index >= ?2 AND sample_index < ?3 \
                   ORDER BY sample_index, content_byte_offset";
        let end = signed(first.saturating_add(count));
        self.rows(sql, &[&tar_file_id, &signed(first), &end], |row| {
            Ok(PartRecord {
                sample_index: unsigned(row, 0)?,
                part_name: row.get(1)?,
                content_byte_offset: unsigned(row, 2)?,
                content_byte_size: unsigned(row, 3)?,
            })
        })
    }

    /// Returns the media facts of an entry (`key.part`): type and JSON.
    pub fn media(&self, entry_key: &str) -> Outcome<Option<(String, String)>> {
        if !self.has_table("media_metadata")? {
            return Ok(None);
        }
        let sql = "SELECT metadata_type, metadata_json FROM media_metadata WHERE entry_key = ?1";
        Ok(self.rows(sql, &[&entry_key], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().next())
    }
}

#[cfg(test)]
#[path = "tables_tests.rs"]
mod tests;

/// Whether a database has media tables and no sample tables, which is the case if the data set was prepared without sample tables.
pub fn has_only_media(database: &Path) -> bool {
    let Ok(connection) = open_readonly(database) else { return false };
    let sql = "SELECT (SELECT count(*) FROM sqlite_schema WHERE name = 'media_metadata') = 1 \
               AND (SELECT count(*) FROM sqlite_schema WHERE name IN ('samples', 'sample_parts')) = 0";
    connection.query_row(sql, [], |row| row.get(0)).unwrap_or(false)
}
