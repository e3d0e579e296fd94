//! Keys of the samples in `index.sqlite`, read page by page, so that an index in a store is not downloaded as a whole.

use super::super::sqlite::{DatabasePages, Field, Fields};
use super::tables::{check_finished, CREATE_SAMPLE_TABLES};
use gristmill_core::Outcome;
use gristmill_storage::cache::open_cached;
use std::path::Path;

/// Name of the automatic index on the unique keys.
const KEY_INDEX: &str = "sqlite_autoindex_samples_1";

/// The tables of samples of a database, read page by page.
pub struct KeyPages {
    pages: DatabasePages,
    /// Number of the root page of the samples; then that of the index of their keys.
    samples: u32,
    keys: u32,
}

/// A key and the location of its sample.
pub struct KeyLocation<'a> {
    /// The key.
    pub key: &'a [u8],
    /// Position of the shard in the index.
    pub tar_file_id: u32,
    /// Position in the shard, from 0.
    pub sample_index: u64,
}

impl KeyPages {
    /// Opens the tables of a database. Returns `None` if their definitions differ from those of Energon, because only SQLite knows the
    /// order of other tables.
    ///
    /// # Errors
    /// Those of [`open_readonly`](super::tables::open_readonly).
    pub fn open(path: &Path) -> Outcome<Option<Self>> {
        let file = open_cached(path)?;
        check_finished(path)?;
        let Some(pages) = DatabasePages::open(file)? else { return Ok(None) };
        let schema = pages.schema()?;
        let usual = CREATE_SAMPLE_TABLES.split(';').next().map(without_spaces);
        let is_known = |sql: &str| usual.as_ref() == Some(&without_spaces(sql));
        let samples = schema.iter().find(|row| row.kind == "table" && row.name == "samples" && is_known(&row.sql));
        let keys = schema.iter().find(|row| row.kind == "index" && row.name == KEY_INDEX && row.table == "samples");
        let roots = samples.zip(keys).map(|(samples, keys)| (samples.root, keys.root));
        Ok(roots.map(|(samples, keys)| Self { pages, samples, keys }))
    }

    /// Passes the keys from `from` on, in the order of their bytes, to `take` until it returns false. Skips rows whose values have the
    /// wrong type.
    ///
    /// # Errors
    /// The database cannot be read, or is damaged; or an error of `take`.
    pub fn from(&self, from: &str, take: &mut dyn FnMut(KeyLocation<'_>) -> Outcome<bool>) -> Outcome<()> {
        let mut last: Option<Vec<u8>> = None;
        self.pages.entries_from(self.keys, from.as_bytes(), &mut |entry| {
            let mut entry = Fields::of(entry);
            let (Some(Field::Text(key)), Some(rowid)) = (entry.next(), entry.next().and_then(Field::number)) else {
                return Ok(true);
            };
            if key < from.as_bytes() || last.as_deref().is_some_and(|last| key <= last) {
                return Err(self.pages.damaged());
            }
            last = Some(key.to_vec());
            let Some(row) = self.pages.row(self.samples, rowid)? else { return Ok(true) };
            let mut row = Fields::of(&row).map(Field::number);
            let tar_file_id = row.next().flatten().and_then(|id| u32::try_from(id).ok());
            let sample_index = row.nth(1).flatten().and_then(|index| u64::try_from(index).ok());
            match tar_file_id.zip(sample_index) {
                Some((tar_file_id, sample_index)) => take(KeyLocation { key, tar_file_id, sample_index }),
                None => Ok(true),
            }
        })
    }
}

/// Returns a statement without its spaces.
fn without_spaces(sql: &str) -> String {
    sql.chars().filter(|character| !character.is_whitespace()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tables::{CREATE_SAMPLE_INDEXES, CREATE_SAMPLE_TABLES, INSERT_SAMPLE};
    use super::*;
    use proptest::prelude::*;
    use rusqlite::Connection;
    use std::path::PathBuf;

    type Row = (String, u32, u64);

    /// Writes a database with SQLite in which the order of the pages is not that of the keys.
    fn write(dir: &Path, page_bytes: u32, rows: &[Row], removed: usize) -> PathBuf {
        let path = dir.join("index.sqlite");
        let database = Connection::open(&path).unwrap();
        database.execute_batch(&format!("PRAGMA page_size = {page_bytes}; {CREATE_SAMPLE_TABLES}")).unwrap();
        database.execute_batch("BEGIN").unwrap();
        for (key, shard, index) in rows {
            database.execute(INSERT_SAMPLE, (shard, key, *index as i64, 0, 512)).unwrap();
        }
        database.execute_batch("COMMIT").unwrap();
        for (key, ..) in rows.iter().take(removed) {
            database.execute("DELETE FROM samples WHERE sample_key = ?1", [key]).unwrap();
        }
        database.execute_batch(CREATE_SAMPLE_INDEXES).unwrap();
        path
    }

    fn by_pages(path: &Path, from: &str, count: usize) -> Outcome<Vec<Row>> {
        let mut rows = Vec::new();
        KeyPages::open(path)?.unwrap().from(from, &mut |place| {
            rows.push((String::from_utf8_lossy(place.key).into_owned(), place.tar_file_id, place.sample_index));
            Ok(rows.len() < count)
        })?;
        Ok(rows)
    }

    fn by_sqlite(path: &Path, from: &str, count: usize) -> Vec<Row> {
        let database = Connection::open(path).unwrap();
        let sql = "SELECT sample_key, tar_file_id, sample_index FROM samples WHERE sample_key >= ?1 ORDER BY sample_key LIMIT ?2";
        let mut rows = database.prepare(sql).unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get::<_, i64>(2)? as u64));
        rows.query_map((from, count as i64), row).unwrap().map(Result::unwrap).collect()
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let key =
            prop_oneof![8 => "[a-c]{1,6}", 4 => "[a-zé/._0-9]{1,40}", 2 => "[ab]{400,1200}", 1 => "[ab]{5000,9000}"];
        let row = |(key, (shard, index))| (key, shard, index);
        let rows = prop::collection::btree_map(key, (0..u32::MAX, 0..1_u64 << 62), 0..400);
        // Inserts the rows in random order, so that the order of the pages differs from the order of the keys.
        rows.prop_map(move |map| map.into_iter().map(row).collect::<Vec<Row>>()).prop_shuffle()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn key_pages_give_the_keys_and_places_that_sqlite_reads(
            rows in rows(),
            page in 9_u32..=16,
            removed in 0..100_usize,
            from in "[a-cé]{0,3}",
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = write(dir.path(), 1 << page, &rows, removed);
            let kept = rows.get(removed..).unwrap_or_default();
            let starts = kept.iter().take(20).map(|row| row.0.clone()).chain([from, String::new()]);
            for from in starts {
                for count in [1, 7, usize::MAX >> 1] {
                    prop_assert_eq!(by_pages(&path, &from, count).unwrap(), by_sqlite(&path, &from, count));
                }
            }
        }

        #[test]
        fn damaged_databases_are_read_or_refused(
            rows in rows(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = write(dir.path(), 512, &rows, 0);
            let mut bytes = std::fs::read(&path).unwrap();
            let size = bytes.len();
            damage.iter().for_each(|(at, byte)| bytes[at.index(size)] = *byte);
            std::fs::write(&path, bytes).unwrap();
            let Ok(Some(pages)) = KeyPages::open(&path) else { return Ok(()) };
            let mut left = 10_000;
            let read = pages.from("", &mut |_| { left -= 1; Ok(left > 0) });
            prop_assert!(read.is_ok() || read.is_err_and(|failure| failure.class == gristmill_core::ExitClass::Data));
        }
    }

    #[test]
    fn unsupported_table_schemas_are_left_to_sqlite() {
        let dir = tempfile::tempdir().unwrap();
        for (number, sql) in [
            CREATE_SAMPLE_TABLES.replace("TEXT NOT NULL UNIQUE", "TEXT COLLATE NOCASE NOT NULL UNIQUE"),
            CREATE_SAMPLE_TABLES.replace("samples", "other"),
            format!("PRAGMA encoding = 'UTF-16'; {CREATE_SAMPLE_TABLES}"),
        ]
        .into_iter()
        .enumerate()
        {
            let path = dir.path().join(number.to_string());
            Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
            assert!(KeyPages::open(&path).unwrap().is_none(), "{sql}");
        }
        let path = dir.path().join("text");
        std::fs::write(&path, [b'x'; 4096]).unwrap();
        assert!(KeyPages::open(&path).is_err_and(|failure| failure.why == "it is not a database"));
        std::fs::write(dir.path().join("0-journal"), b"x").unwrap();
        assert!(KeyPages::open(&dir.path().join("0")).is_err_and(|failure| failure.why.contains("-journal")));
    }
}
