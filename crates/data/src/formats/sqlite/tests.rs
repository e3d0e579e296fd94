use super::*;
use gristmill_storage::fs::RealFs;
use proptest::prelude::*;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

const TABLE: &str = "CREATE TABLE t (k TEXT NOT NULL UNIQUE, a INTEGER)";
const INDEX: &str = "CREATE INDEX t_by_a ON t(a)";

/// Writes rows (in order of key) with both indexes, and returns the file.
fn write(dir: &Path, rows: &[(String, i64)]) -> PathBuf {
    let path = dir.join("db");
    let mut pages = PageWriter::create(&RealFs, &path).unwrap();
    let mut record = Record::default();
    let (mut table, mut by_key, mut by_a) = (TableTree::default(), IndexTree::default(), IndexTree::default());
    let mut order: Vec<_> = (1i64..).zip(rows).map(|(rowid, row)| (row.1, rowid)).collect();
    order.sort_unstable();
    for (rowid, (key, a)) in (1..).zip(rows) {
        table.push(&mut pages, rowid, record.encode(&[Value::Text(key.as_bytes()), Value::Int(*a)])).unwrap();
        by_key.push(&mut pages, record.encode(&[Value::Text(key.as_bytes()), Value::Int(rowid)])).unwrap();
    }
    for (a, rowid) in order {
        by_a.push(&mut pages, record.encode(&[Value::Int(a), Value::Int(rowid)])).unwrap();
    }
    let entry = |kind, name, root, sql| SchemaEntry { kind, name, table: "t", root, sql };
    let schema = [
        entry("table", "t", table.finish(&mut pages).unwrap(), Some(TABLE)),
        entry("index", "sqlite_autoindex_t_1", by_key.finish(&mut pages).unwrap(), None),
        entry("index", "t_by_a", by_a.finish(&mut pages).unwrap(), Some(INDEX)),
    ];
    let bytes = pages.finish(&schema).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes);
    path
}

fn check(path: &Path, rows: &[(String, i64)]) {
    let db = Connection::open(path).unwrap();
    let verdict: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok", "{} rows", rows.len());
    let mut statement = db.prepare("SELECT k, a FROM t ORDER BY rowid").unwrap();
    let found: Vec<(String, i64)> =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect();
    assert!(found == rows, "{} rows are read back as {}", rows.len(), found.len());
    for (key, a) in rows.iter().step_by(rows.len() / 50 + 1) {
        let by_key: i64 = db.query_row("SELECT a FROM t WHERE k = ?1", [key], |row| row.get(0)).unwrap();
        assert_eq!(by_key, *a);
    }
}

fn numbered(count: usize, pad: usize) -> Vec<(String, i64)> {
    (0..count).map(|i| (format!("{i:08}{}", "x".repeat(pad)), i as i64 * 37 % 1009)).collect()
}

#[test]
fn sqlite_accepts_row_counts_around_page_borders() {
    let dir = tempfile::tempdir().unwrap();
    for pad in [0, 300, 900, 985, 986, 987, 988, 989, 1000] {
        for count in (0..40).chain([100, 500]) {
            let rows = numbered(count, pad);
            check(&write(dir.path(), &rows), &rows);
            std::fs::remove_file(dir.path().join("db")).unwrap();
        }
    }
    // Covers more counts than an index leaf has entries, so that one of them ends directly after a full page.
    for count in 180..420 {
        let rows = numbered(count, 0);
        check(&write(dir.path(), &rows), &rows);
        std::fs::remove_file(dir.path().join("db")).unwrap();
    }
}

#[test]
fn sqlite_accepts_three_level_trees_and_overflow_pages() {
    let dir = tempfile::tempdir().unwrap();
    for (count, pad) in [(60_000, 0), (4_000, 960), (300, 5_000), (40, 100_000)] {
        let rows = numbered(count, pad);
        check(&write(dir.path(), &rows), &rows);
        std::fs::remove_file(dir.path().join("db")).unwrap();
    }
}

#[test]
fn sqlite_reads_default_settings_and_can_modify_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), &numbered(2_000, 20));
    let db = Connection::open(&path).unwrap();
    let text = |name: &str| -> String {
        db.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, rusqlite::types::Value>(0))
            .map(|value| format!("{value:?}"))
            .unwrap()
    };
    assert_eq!(text("page_size"), "Integer(4096)");
    assert_eq!(text("encoding"), "Text(\"UTF-8\")");
    assert_eq!(text("journal_mode"), "Text(\"delete\")");
    for zero in ["auto_vacuum", "user_version", "application_id", "freelist_count"] {
        assert_eq!(text(zero), "Integer(0)", "{zero}");
    }
    db.execute("INSERT INTO t VALUES ('new', 5)", []).unwrap();
    assert!(db.execute("INSERT INTO t VALUES ('new', 6)", []).is_err(), "keys stay unique");
    db.execute("DELETE FROM t WHERE a < 500", []).unwrap();
    assert_eq!(text("integrity_check"), "Text(\"ok\")");
}

#[test]
#[ignore = "writes 2.2 GiB"]
fn a_database_over_one_gibibyte_leaves_out_the_page_that_sqlite_locks() {
    let dir = tempfile::tempdir().unwrap();
    // The first database passes 1 GiB inside a chain of overflow pages, the second between leaves.
    for (count, pad) in [(11_000, 50_000), (1_250_000, 400)] {
        let rows = numbered(count, pad);
        check(&write(dir.path(), &rows), &rows);
        std::fs::remove_file(dir.path().join("db")).unwrap();
    }
}

#[test]
fn the_same_rows_make_the_same_bytes() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rows = numbered(5_000, 30);
    let read = |dir: &Path| std::fs::read(write(dir, &rows)).unwrap();
    assert!(read(one.path()) == read(two.path()));
}

#[test]
fn integers_are_stored_as_sqlite_stores_them() {
    let db = Connection::open_in_memory().unwrap();
    let edges = [0, 1, 2, 127, 128, 255, 256, 32_767, 32_768, 8_388_607, 8_388_608, 1 << 31, (1 << 47) - 1, 1 << 47];
    db.execute_batch("CREATE TABLE t (a INTEGER)").unwrap();
    let signed = edges.iter().flat_map(|&n: &i64| [n, -n, n - 1, -n - 1]).chain([i64::MAX, i64::MIN]);
    for number in signed {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path(), &[("k".to_owned(), number)]);
        let ours = Connection::open(path).unwrap();
        let read: i64 = ours.query_row("SELECT a FROM t WHERE a = ?1", [number], |row| row.get(0)).unwrap();
        assert_eq!(read, number);
    }
}

#[test]
fn varint_len_is_the_length_of_the_written_varint() {
    for bits in 0..64 {
        for value in [1u64 << bits, (1 << bits) - 1, u64::MAX >> bits] {
            let mut out = Vec::new();
            record::push_varint(&mut out, value);
            assert_eq!(out.len(), record::varint_len(value), "{value:#x}");
            let mut read = 0u64;
            for (at, &byte) in out.iter().enumerate() {
                read = if at == 8 { read << 8 | u64::from(byte) } else { read << 7 | u64::from(byte & 0x7f) };
                assert_eq!(byte & 0x80 == 0 || at == 8, at + 1 == out.len(), "{value:#x}");
            }
            assert_eq!(read, value);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_rows_are_read_back_by_sqlite(
        keys in prop::collection::btree_map(
            prop_oneof![8 => "[a-zA-Z0-9/._ü-]{1,40}", 2 => "[a-c]{900,1100}", 1 => "[a-c]{3900,9000}"],
            any::<i64>(),
            0..600,
        ),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let rows: Vec<_> = keys.into_iter().collect();
        check(&write(dir.path(), &rows), &rows);
    }
}
