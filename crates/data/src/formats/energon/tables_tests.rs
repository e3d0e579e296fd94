use super::*;
use std::fmt::Write as _;

fn golden(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/energon").join(case).join("expected")
}

fn open_golden(case: &str) -> Tables {
    Tables::open(&golden(case).join(".nv-meta/index.sqlite")).unwrap()
}

/// Creates a database with the SQL statements of `tables`.
fn write_database(dir: &Path, media: bool) -> PathBuf {
    let path = dir.join("a?b#c%20 é.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(CREATE_SAMPLE_TABLES).unwrap();
    for (index, key) in ["b", "a", "é"].iter().enumerate() {
        let offset = index as i64 * 1024;
        connection.execute(INSERT_SAMPLE, (0, key, index as i64, offset, 1024)).unwrap();
        connection.execute(INSERT_PART, (0, index as i64, "txt", offset + 512, 5)).unwrap();
    }
    connection.execute_batch(CREATE_SAMPLE_INDEXES).unwrap();
    if media {
        connection.execute_batch(CREATE_MEDIA_TABLES).unwrap();
        connection.execute(INSERT_MEDIA, ("a.jpg", "image", "{}")).unwrap();
        for _ in 0..2 {
            connection.execute(INSERT_MEDIA_FILTER, ("EXTENSION", "")).unwrap();
        }
    }
    path
}

/// Returns the schema in the form of `schema.csv` of the golden cases.
fn schema(connection: &Connection) -> String {
    let mut lines = Vec::new();
    let mut statement = connection.prepare("SELECT type, name, tbl_name FROM sqlite_master").unwrap();
    let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?))).unwrap();
    for row in rows {
        let (kind, name, table): (String, String, String) = row.unwrap();
        let columns = if kind == "table" { table_columns(connection, &name) } else { index_columns(connection, &name) };
        lines.push(format!("{kind},{name},{table},{columns}\n"));
    }
    lines.sort();
    format!("kind,name,table,columns\n{}", lines.concat())
}

fn table_columns(connection: &Connection, table: &str) -> String {
    let mut statement = connection.prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1)").unwrap();
    let columns = statement.query_map([table], |r| {
        let (name, kind, not_null, key): (String, String, bool, bool) = (r.get(0)?, r.get(1)?, r.get(2)?, r.get(3)?);
        let marks = if not_null {
            " notnull"
        } else if key {
            " pk"
        } else {
            ""
        };
        Ok(format!("{name} {kind}{marks}"))
    });
    columns.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

fn index_columns(connection: &Connection, index: &str) -> String {
    let mut statement = connection.prepare("SELECT name FROM pragma_index_info(?1)").unwrap();
    let names = statement.query_map([index], |r| r.get::<_, String>(0)).unwrap();
    names.map(Result::unwrap).collect::<Vec<_>>().join("; ")
}

#[test]
fn database_schema_matches_golden_schema() {
    let dir = tempfile::tempdir().unwrap();
    let ours = Connection::open(write_database(dir.path(), false)).unwrap();
    let wanted = std::fs::read_to_string(golden("odd_names").join("dump/schema.csv")).unwrap();
    assert_eq!(schema(&ours), wanted);
    let pragma = |name: &str| ours.query_row(&format!("PRAGMA {name}"), [], |r| r.get::<_, i64>(0)).unwrap();
    assert_eq!(
        (pragma("page_size"), pragma("user_version"), pragma("application_id"), pragma("auto_vacuum")),
        (4096, 0, 0, 0)
    );
}

#[test]
fn media_filter_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_database(dir.path(), true);
    let ours = Connection::open(&path).unwrap();
    let text = schema(&ours);
    for line in [
        "index,sqlite_autoindex_media_filters_1,media_filters,strategy; patterns\n",
        "table,media_filters,media_filters,filter_id INTEGER pk; strategy TEXT notnull; patterns TEXT; created_at_utc TEXT\n",
        "table,media_metadata,media_metadata,entry_key TEXT pk; metadata_type TEXT notnull; metadata_json TEXT notnull\n",
        "table,sqlite_sequence,sqlite_sequence,name ; seq \n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let filters: i64 = ours.query_row("SELECT count(*) FROM media_filters", [], |r| r.get(0)).unwrap();
    assert_eq!(filters, 1);
    drop(ours);
    let tables = Tables::open(&path).unwrap();
    assert_eq!(tables.media("a.jpg").unwrap(), Some(("image".to_owned(), "{}".to_owned())));
    assert_eq!(tables.media("b.jpg").unwrap(), None);
    assert_eq!(open_golden("odd_names").media("x").unwrap(), None);
}

#[test]
fn golden_tables_are_read_row_for_row() {
    for case in ["captioning_fieldmap", "presplit_folders", "odd_names"] {
        let tables = open_golden(case);
        assert!(tables.quick_check().unwrap().is_empty());
        let mut samples = String::from("tar_file_id,sample_key,sample_index,byte_offset,byte_size\n");
        let mut parts = String::from("tar_file_id,sample_index,part_name,content_byte_offset,content_byte_size\n");
        for (shard, count) in tables.samples_per_shard().unwrap() {
            for s in tables.samples(shard, 0, count).unwrap() {
                let _ = writeln!(samples, "{shard},{},{},{},{}", s.key, s.sample_index, s.byte_offset, s.byte_size);
                assert_eq!(tables.sample_by_key(&s.key).unwrap().as_ref(), Some(&s));
                assert_eq!(tables.sample(shard, s.sample_index).unwrap(), Some(s));
            }
            for p in tables.parts(shard, 0, count).unwrap() {
                let row = (p.sample_index, p.part_name, p.content_byte_offset, p.content_byte_size);
                let _ = writeln!(parts, "{shard},{},{},{},{}", row.0, row.1, row.2, row.3);
            }
        }
        assert_eq!(samples, std::fs::read_to_string(golden(case).join("dump/samples.csv")).unwrap(), "{case}");
        assert_eq!(parts, std::fs::read_to_string(golden(case).join("dump/sample_parts.csv")).unwrap(), "{case}");
    }
}

#[test]
fn samples_and_parts_are_read_by_range() {
    let dir = tempfile::tempdir().unwrap();
    let tables = Tables::open(&write_database(dir.path(), false)).unwrap();
    let keys = |rows: Vec<SampleRecord>| rows.into_iter().map(|s| s.key).collect::<Vec<_>>();
    assert_eq!(keys(tables.samples(0, 1, u64::MAX).unwrap()), ["a", "é"]);
    assert_eq!(tables.parts(0, 1, u64::MAX).unwrap().len(), 2);
    assert_eq!(tables.parts(0, 1, 1).unwrap().len(), 1);
    assert_eq!(tables.sample(0, 3).unwrap(), None);
    assert_eq!(tables.sample_by_key("nope").unwrap(), None);
}

#[test]
fn readonly_connection_refuses_every_write() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_database(dir.path(), false);
    let connection = open_readonly(&path).unwrap();
    for sql in [
        "DELETE FROM samples",
        "CREATE TABLE x (y)",
        "ATTACH ':memory:' AS other",
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_master",
    ] {
        assert!(connection.execute_batch(sql).is_err(), "{sql}");
    }
    assert!(!dir.path().join("a?b#c%20 é.sqlite-journal").exists());
}

#[test]
fn damaged_and_foreign_databases_are_refused_not_fatal() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_database(dir.path(), false);
    let whole = std::fs::read(&path).unwrap();
    let put = |bytes: &[u8]| {
        gristmill_storage::publish::write_file(&gristmill_storage::fs::RealFs, &path, bytes, 0o644).unwrap()
    };
    put(b"not a database at all, whatever its name says");
    assert_eq!(Tables::open(&path).err().unwrap().why, "it is not an SQLite database");
    put(b"");
    assert!(Tables::open(&path).err().unwrap().why.contains("no table 'samples'"));
    // Changes one byte at positions all over the file: reading may succeed or fail, but must not panic.
    for at in (0..whole.len()).step_by(211) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x5a;
        put(&bytes);
        if let Ok(tables) = Tables::open(&path) {
            let _ = (tables.quick_check(), tables.samples(0, 0, 10), tables.parts(0, 0, 10));
        }
    }
    put(&whole);
    std::fs::copy(&path, dir.path().join("a?b#c%20 é.sqlite-journal")).unwrap();
    assert!(Tables::open(&path).err().unwrap().why.contains("unfinished change"));
    assert!(open_readonly(dir.path()).is_err());
}

#[test]
fn view_named_like_a_table_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("v.sqlite");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("CREATE VIEW samples AS SELECT 0 AS tar_file_id, 'k' AS sample_key, 0 AS sample_index, 0 AS byte_offset, 0 AS byte_size")
        .unwrap();
    drop(connection);
    assert!(Tables::open(&path).err().unwrap().why.contains("no table 'samples'"));
}

#[test]
fn negative_and_missing_numbers_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let path = write_database(dir.path(), false);
    let connection = Connection::open(&path).unwrap();
    connection.execute("UPDATE samples SET byte_offset = -1 WHERE sample_key = 'a'", []).unwrap();
    connection.execute("UPDATE samples SET byte_size = NULL WHERE sample_key = 'b'", []).unwrap();
    drop(connection);
    let tables = Tables::open(&path).unwrap();
    assert!(tables.sample_by_key("a").is_err());
    assert!(tables.sample_by_key("b").is_err());
    assert!(tables.sample_by_key("é").unwrap().is_some());
}
