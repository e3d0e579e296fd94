use super::super::fixture::{keys, metadataset, Set};
use super::*;
use gristmill_core::{Cancel, ProblemLog, Progress};
use gristmill_data::formats::energon::join_idx::JoinIdx;
use gristmill_storage::fs::RealFs;
use tempfile::TempDir;

const JOINER: &str = "joiner: {__module__: m, __function__: f}";

/// Writes a first member with three shards listed out of order, and the given second member.
fn house(second: &Set<'_>) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let first = Set {
        shards: vec![("a.tar", keys("k", 0..10)), ("b.tar", keys("k", 10..20)), ("c.tar", keys("k", 20..30))],
        splits: vec![("train", vec!["c.tar", "a.tar"]), ("val", vec!["b.tar"])],
        ..Set::small()
    };
    first.write(&dir.path().join("one"));
    second.write(&dir.path().join("two"));
    dir
}

fn join_with(dir: &TempDir, member: &str, memory: usize, compat: bool) -> Outcome<(JoinCounts, Vec<Vec<Cell>>)> {
    let body = format!("  train:\n    join: [{{path: one}}, {{path: two{member}}}]\n    {JOINER}\n");
    let path = metadataset(&dir.path().join("mix.yaml"), &body);
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let super::super::Joins { plans, problems: found, .. } = super::super::joins(&path, handles).unwrap();
    assert!(found.iter().all(|problem| problem.severity < gristmill_core::Severity::Refusal), "{found:?}");
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("out.bin");
    let work = JoinWork { fs: &RealFs, scratch: scratch.path(), memory, compat };
    let counts = build(&plans[0], &out, &work, &handles)?;
    let index = JoinIdx::open(&out)?;
    assert_eq!((index.rows(), index.columns()), (counts.rows, 2));
    assert_eq!(std::fs::metadata(&out).unwrap().len(), counts.bytes);
    Ok((counts, (0..index.rows()).map(|row| index.row(row).unwrap().unwrap()).collect()))
}

fn join(dir: &TempDir, member: &str) -> Outcome<(JoinCounts, Vec<Vec<Cell>>)> {
    join_with(dir, member, 0, false)
}

/// Returns all keys of the first member, in one shard and in reverse order.
fn all_backwards() -> Set<'static> {
    let mut all = keys("k", 0..30);
    all.reverse();
    Set {
        shards: vec![("x.tar", vec!["other".into()]), ("y.tar", all)],
        splits: vec![("train", vec!["x.tar", "y.tar"])],
        ..Set::small()
    }
}

fn at(shard: i64, index: i64) -> Cell {
    Cell { shard, byte_offset: index * 2048, byte_size: 2048 }
}

#[test]
fn join_rows_follow_the_first_member_and_point_into_both_members() {
    let dir = house(&all_backwards());
    let (counts, rows) = join(&dir, "").unwrap();
    assert_eq!((counts.samples, counts.rows, counts.skipped), (20, 20, 0));
    for (n, row) in rows.iter().enumerate() {
        let n = n as i64;
        // First all of c.tar (keys 20..30, position 0), then all of a.tar (keys 0..10, position 1).
        let (place, index, key) = if n < 10 { (0, n, 20 + n) } else { (1, n - 10, n - 10) };
        assert_eq!(row, &[at(place, index), at(1, 29 - key)], "row {n}");
    }
}

#[test]
fn missing_join_sample_is_refused_skipped_or_joined_with_nothing() {
    let mut some = keys("k", 0..10);
    some.retain(|key| key != "k0003" && key != "k0007");
    let set = Set {
        shards: vec![("x.tar", some), ("y.tar", keys("k", 20..30))],
        splits: vec![("train", vec!["x.tar", "y.tar"])],
        ..Set::small()
    };
    let dir = house(&set);
    let failure = join(&dir, "").unwrap_err();
    assert_eq!(failure.why, "'two' lacks 2 of the 20 samples of 'one': 'k0003', 'k0007'");
    assert_eq!((failure.subject.line, failure.class), (Some(5), gristmill_core::ExitClass::Data));
    assert!(failure.hint.unwrap().contains("nonmatch: skip"));
    let (counts, rows) = join(&dir, ", nonmatch: skip").unwrap();
    assert_eq!((counts.rows, counts.skipped, rows.len()), (18, 2, 18));
    assert!(rows.iter().all(|row| row[1] != Cell::NOTHING));
    let (counts, rows) = join(&dir, ", nonmatch: none").unwrap();
    assert_eq!((counts.rows, counts.filled.clone()), (20, vec![0, 2]));
    assert_eq!(rows.iter().filter(|row| row[1] == Cell::NOTHING).count(), 2);
    assert_eq!(rows[13], [at(1, 3), Cell::NOTHING]);
}

#[test]
fn match_in_another_split_or_excluded_shard_counts_as_missing() {
    let set = Set {
        shards: vec![("x.tar", keys("k", 0..10)), ("y.tar", keys("k", 20..30))],
        splits: vec![("train", vec!["x.tar"]), ("val", vec!["y.tar"])],
        ..Set::small()
    };
    let failure = join(&house(&set), "").unwrap_err();
    assert!(failure.why.contains("lacks 10 of the 20 samples"), "{}", failure.why);
    assert!(
        failure.why.ends_with("'k0024', …; it has them, but in another split or an excluded shard"),
        "{}",
        failure.why
    );
    let (counts, _) = join(&house(&set), ", nonmatch: skip").unwrap();
    assert_eq!((counts.rows, counts.in_other_splits.clone()), (10, vec![0, 10]));
    let excluded = Set { splits: vec![("train", vec!["x.tar", "y.tar"])], exclude: vec!["y.tar"], ..set };
    let (counts, rows) = join(&house(&excluded), ", nonmatch: none").unwrap();
    assert_eq!((counts.rows, counts.filled.clone()), (20, vec![0, 10]));
    assert_eq!(rows[0][1], Cell::NOTHING);
    let (counts, rows) = join_with(&house(&excluded), ", nonmatch: none", 0, true).unwrap();
    assert_eq!((counts.filled.clone(), rows[0][1]), (vec![0, 0], at(1, 0)));
}

#[test]
fn excluded_samples_are_in_no_row() {
    let set = Set { exclude: vec!["y.tar/k0021", "y.tar/k0005"], ..all_backwards() };
    let dir = house(&set);
    let (counts, _) = join(&dir, ", nonmatch: skip").unwrap();
    assert_eq!((counts.rows, counts.skipped), (18, 2));
    let first = Set {
        shards: vec![("a.tar", keys("k", 0..10)), ("b/c.tar", keys("k", 10..20))],
        splits: vec![("train", vec!["a.tar", "b/c.tar"])],
        exclude: vec!["a.tar/k0001", "b/c.tar"],
        ..Set::small()
    };
    first.write(&dir.path().join("one"));
    let (counts, rows) = join(&dir, ", nonmatch: skip").unwrap();
    assert_eq!((counts.samples, counts.rows), (9, 8));
    assert!(rows.iter().all(|row| row[0].shard == 0));
}

#[test]
fn refuses_join_without_common_keys() {
    let set = Set { shards: vec![("x.tar", keys("q", 0..10))], splits: vec![("train", vec!["x.tar"])], ..Set::small() };
    let failure = join(&house(&set), ", nonmatch: skip").unwrap_err();
    assert!(failure.why.contains("they have no sample in common"), "{}", failure.why);
}

#[test]
fn join_does_not_depend_on_the_memory_limit() {
    let many = |prefix: &str, count: usize| {
        let mut all = keys(prefix, 0..count);
        // With long keys, the data exceeds the smallest buffer many times.
        all.iter_mut().for_each(|key| key.push_str(&"x".repeat(300)));
        all
    };
    let first =
        Set { shards: vec![("a.tar", many("k", 12_000))], splits: vec![("train", vec!["a.tar"])], ..Set::small() };
    let mut backwards = many("k", 12_000);
    backwards.reverse();
    let second = Set { shards: vec![("x.tar", backwards)], splits: vec![("train", vec!["x.tar"])], ..Set::small() };
    let dir = house(&second);
    first.write(&dir.path().join("one"));
    let (small, rows) = join_with(&dir, "", 0, false).unwrap();
    let (large, again) = join_with(&dir, "", 256 << 20, false).unwrap();
    assert_eq!((small.rows, small), (12_000, large));
    assert_eq!(rows, again);
    assert_eq!(rows[100], [at(0, 100), at(0, 11_899)]);
}

#[test]
fn duplicate_key_in_a_join_member_is_refused() {
    let dir = house(&all_backwards());
    let database = dir.path().join("two/.nv-meta/index.sqlite");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute_batch("CREATE TABLE s2 AS SELECT * FROM samples; DROP TABLE samples; ALTER TABLE s2 RENAME TO samples; UPDATE samples SET sample_key = 'k0002' WHERE sample_key = 'k0001';")
        .unwrap();
    drop(connection);
    let failure = join(&dir, ", nonmatch: skip").unwrap_err();
    assert!(failure.why.contains("occurs twice"), "{failure:?}");
    assert_eq!(failure.subject.key.as_deref(), Some("k0002"));
}

#[test]
fn damaged_tables_of_a_join_member_are_a_data_failure() {
    let dir = house(&all_backwards());
    let database = dir.path().join("two/.nv-meta/index.sqlite");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection.execute_batch("UPDATE samples SET byte_offset = -5 WHERE sample_key = 'k0001'").unwrap();
    drop(connection);
    let failure = join(&dir, "").unwrap_err();
    assert_eq!(failure.class, gristmill_core::ExitClass::Data);
    assert!(failure.subject.path.unwrap().ends_with("index.sqlite"));
}
