//! Tests of individual behaviours.

use super::*;
use gristmill_core::{DuplicateKeys, ExitClass};
use rustix::io::Errno;

/// Returns `count` samples of three parts each. Keys descend if `reverse` is set.
fn many(prefix: &str, count: usize, reverse: bool) -> Vec<ModelSample> {
    let one = |i: usize| sample(&format!("{prefix}{i:06}"), &[("jpg", 900), ("txt", 20), ("json", 0)]);
    if reverse {
        (0..count).rev().map(one).collect()
    } else {
        (0..count).map(one).collect()
    }
}

fn put(path: &Path, bytes: &[u8]) {
    RealFs.remove_file(path).unwrap();
    let mut file = RealFs.create_file(path).unwrap();
    file.write_all(bytes).unwrap();
    file.close().unwrap();
}

#[test]
fn index_without_shards_or_samples_has_empty_tables() {
    let bench = TestFolders::new();
    let built = bench.build(&[], &BuildOptions::default()).unwrap();
    assert_eq!(dump(&built.database.unwrap()), TableDump { samples: vec![], parts: vec![] });
    let spools = [spool_model(&bench, 0, &[], 1), spool_model(&bench, 1, &[sample("k", &[("", 0)])], 1)];
    let built = bench.build(&spools, &BuildOptions::default()).unwrap();
    let found = dump(&built.database.unwrap());
    assert_eq!(found, TableDump { samples: vec!["1,k,0,0,512".into()], parts: vec!["1,0,,512,0".into()] });
    assert_eq!(std::fs::read(spools[0].tar_idx_path()).unwrap(), [0; 8]);
}

#[test]
fn index_bytes_do_not_depend_on_memory_and_merge_width() {
    let bench = TestFolders::new();
    let shards: Vec<_> = ["b", "a", "c"].map(|prefix| many(prefix, 700, prefix == "a")).into();
    let mut files = Vec::new();
    for (memory, merge_width) in [(1 << 20, 256), (400, 2), (400, 5), (1, 16)] {
        let spools: Vec<_> = (0..).zip(&shards).map(|(id, samples)| spool_model(&bench, id, samples, memory)).collect();
        assert_eq!(spools.iter().all(|spool| spool.keys.is_none()), memory == 1 << 20);
        let options = BuildOptions { sort_memory: memory, merge_width, ..BuildOptions::default() };
        let built = bench.build(&spools, &options).unwrap();
        let database = built.database.unwrap();
        assert_eq!(dump(&database), model_dump(&shards, false).0);
        assert_eq!(bench.left_in_scratch(), 0);
        files.push(std::fs::read(database).unwrap());
    }
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_sample_with_very_many_parts_is_sorted_on_disk() {
    let bench = TestFolders::new();
    let parts: Vec<_> = (0..3_000u64).map(|i| (format!("{:05}.bin", i * 7_919 % 3_000), i)).collect();
    let shards = [vec![sample("a", &[("z", 1)]), (Some("b".into()), parts), sample("c", &[("y", 2), ("x", 3)])]];
    let spools = [spool_model(&bench, 0, &shards[0], 1 << 20)];
    let options = BuildOptions { sort_memory: 10_000, merge_width: 3, ..BuildOptions::default() };
    let built = bench.build(&spools, &options).unwrap();
    assert_eq!(built.parts, 3_003);
    assert_eq!(dump(&built.database.unwrap()), model_dump(&shards, false).0);
    assert_eq!(bench.left_in_scratch(), 0);
}

#[test]
fn duplicate_keys_are_listed_with_both_places_and_no_database_is_built() {
    let bench = TestFolders::new();
    let shards = [
        vec![sample("x", &[("a", 1)]), sample("y", &[("a", 1)]), sample("x", &[("b", 1)])],
        vec![sample("z", &[("a", 1)]), sample("x", &[("c", 1)])],
    ];
    let spools: Vec<_> = (0..).zip(&shards).map(|(id, s)| spool_model(&bench, id, s, 1)).collect();
    let built = bench.build(&spools, &BuildOptions { listed: 1, ..BuildOptions::default() }).unwrap();
    assert_eq!((built.database, built.duplicate_count), (None, 2));
    let first = DuplicateKey { key: "x".into(), first: (ShardId(0), 0), second: (ShardId(0), 2) };
    assert_eq!(built.duplicates, [first]);
    assert!(!bench.dir.path().join("index.sqlite").exists());
    let options = BuildOptions { duplicates: Duplicates::KeepFirst, ..BuildOptions::default() };
    let built = bench.build(&spools, &options).unwrap();
    assert_eq!((built.samples, built.parts, built.duplicates.len()), (3, 3, 2));
    assert_eq!(built.duplicates[1].second, (ShardId(1), 1));
    let none_listed = BuildOptions { listed: 0, ..options };
    let again = bench.build(&spools, &none_listed).unwrap();
    assert_eq!(again.duplicates, built.duplicates[1..], "what must be excluded by name is always listed");
    assert_eq!(dump(&built.database.unwrap()), model_dump(&shards, true).0);
}

#[test]
fn duplicate_keys_are_found_before_any_table_is_built() {
    let bench = TestFolders::new();
    let one = |key: &str| sample(key, &[("a", 1)]);
    let shards = [
        vec![one("x"), one("y"), one("x"), one("own")],
        vec![one("z"), one("x"), one("both")],
        vec![one("both"), one("z"), one("y")],
        vec![one("alone")],
    ];
    let find = |memory: usize, cancel: &Cancel| {
        let spools: Vec<SpooledShard> =
            (0..).zip(&shards).map(|(id, samples)| spool_model(&bench, id, samples, memory)).collect();
        let numbered: Vec<_> = (10..).zip(&spools).collect();
        same_keys(&RealFs, &numbered, &bench.dir.path().join("scratch"), cancel)
    };
    let group = |shards: &[u32], key: &str, keys| DuplicateKeys { shards: shards.to_vec(), key: key.into(), keys };
    let wanted = [group(&[10, 10, 11], "x", 1), group(&[10, 12], "y", 1), group(&[11, 12], "both", 2)];
    for memory in [1 << 20, 1] {
        assert_eq!(find(memory, &Cancel::default()).unwrap().same, wanted, "{memory} bytes to sort in");
        assert_eq!(bench.left_in_scratch(), 0);
    }
    assert_eq!(same_keys(&RealFs, &[], bench.dir.path(), &Cancel::default()).unwrap(), KeyGroups::default());
}

#[test]
fn samples_of_one_key_with_disjoint_parts_are_pieces() {
    let bench = TestFolders::new();
    let parts = |key: &str, names: &[&str]| sample(key, &names.iter().map(|name| (*name, 1)).collect::<Vec<_>>());
    let shards = [
        vec![parts("torn", &["a"]), parts("whole", &["a", "b"]), parts("torn", &["b"]), parts("copy", &["a"])],
        vec![parts("whole", &["b"]), parts("copy", &["a", "c"]), parts("divided", &["a", "b"])],
        vec![parts("divided", &["c"]), parts("divided", &["d"]), parts("whole", &["a"])],
    ];
    for memory in [1 << 20, 1] {
        let spools: Vec<SpooledShard> =
            (0..).zip(&shards).map(|(id, samples)| spool_model(&bench, id, samples, memory)).collect();
        let numbered: Vec<_> = (0..).zip(&spools).collect();
        let scratch = bench.dir.path().join("scratch");
        let keys = scattered_samples(&RealFs, &numbered, &scratch, &Cancel::default()).unwrap();
        let group = |shards: &[u32], key: &str| DuplicateKeys { shards: shards.to_vec(), key: key.into(), keys: 1 };
        assert_eq!(keys.scattered, [group(&[0, 0], "torn"), group(&[1, 2, 2], "divided")], "{memory} bytes to sort in");
        assert_eq!(keys.same, [group(&[0, 1], "copy"), group(&[0, 1, 2], "whole")], "{memory} bytes to sort in");
        assert_eq!(bench.left_in_scratch(), 0);
    }
}

#[test]
fn rows_are_inserted_while_other_shards_are_scanned() {
    let bench = TestFolders::new();
    let (one, two) = (many("a", 300, false), many("b", 300, false));
    let spools = [spool_model(&bench, 0, &one, 1 << 20), spool_model(&bench, 1, &two, 1 << 20)];
    let at_once = bench.build(&spools, &BuildOptions::default()).unwrap();
    assert_eq!(bench.progress.read().items_done, 600);
    let whole = std::fs::read(at_once.database.unwrap()).unwrap();
    let other = bench.dir.path().join("other.sqlite");
    let scratch = bench.dir.path().join("scratch");
    let mut writer = IndexWriter::create(&RealFs, &other, &scratch, BuildOptions::default()).unwrap();
    std::thread::scope(|scope| {
        let (give, take) = std::sync::mpsc::channel::<SpooledShard>();
        let bench = &bench;
        let worker = scope.spawn(move || {
            for spool in take {
                writer.add_shard(&spool, &bench.handles()).unwrap();
            }
            writer.finish(&bench.handles()).unwrap()
        });
        spools.iter().for_each(|spool| give.send(spool.clone()).unwrap());
        drop(give);
        worker.join().unwrap();
    });
    assert!(std::fs::read(other).unwrap() == whole);
}

#[test]
fn spool_record_survives_serialization_and_detects_a_changed_file() {
    let bench = TestFolders::new();
    let spool = spool_model(&bench, 3, &many("k", 50, true), 100);
    let line = serde_json::to_string(&spool).unwrap();
    let back: SpooledShard = serde_json::from_str(&line).unwrap();
    let back = SpooledShard { dir: spool.dir.clone(), ..back };
    assert_eq!(back, spool);
    assert!(back.is_intact().unwrap());
    let path = spool.dir.join(&spool.keys.as_ref().unwrap().name);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[10] ^= 1;
    put(&path, &bytes);
    assert!(!back.is_intact().unwrap());
    back.remove(&RealFs).unwrap();
    assert!(!back.is_intact().unwrap());
    assert_eq!(std::fs::read_dir(bench.spool_dir()).unwrap().count(), 0);
}

#[test]
fn refuses_changed_spool_without_panic() {
    let bench = TestFolders::new();
    let spool = spool_model(&bench, 0, &many("k", 80, false), 1_000);
    for file in [&spool.rows, spool.keys.as_ref().unwrap()] {
        let path = spool.dir.join(&file.name);
        let good = std::fs::read(&path).unwrap();
        for at in (0..good.len()).step_by(29) {
            for bad in [0, 0x7f, 0xff] {
                let mut bytes = good.clone();
                bytes[at] = bad;
                put(&path, &bytes);
                // Any outcome is accepted if the build terminates: a refusal, or rows that differ.
                let _ = bench.build(std::slice::from_ref(&spool), &BuildOptions::default());
            }
        }
        put(&path, &good[..good.len() / 2]);
        let failure = bench.build(std::slice::from_ref(&spool), &BuildOptions::default()).unwrap_err();
        assert_eq!(failure.class, ExitClass::Environment);
        put(&path, &good);
    }
}

#[test]
fn cancelled_index_build_is_repeated_successfully() {
    let bench = TestFolders::new();
    let spools = [spool_model(&bench, 0, &many("k", 3_000, true), 5_000)];
    bench.cancel.cancel();
    let options = BuildOptions { sort_memory: 5_000, merge_width: 2, ..BuildOptions::default() };
    assert!(bench.build(&spools, &options).unwrap_err().is_cancelled());
    let again = TestFolders { cancel: Cancel::default(), ..bench };
    let built = again.build(&spools, &options).unwrap();
    assert_eq!(built.samples, 3_000);
    dump(&built.database.unwrap());
}

#[test]
fn index_build_reports_a_full_disk_at_any_write_and_leaves_no_complete_file() {
    let bench = TestFolders::new();
    let spools = [spool_model(&bench, 0, &many("k", 4_000, true), 40_000)];
    let options = BuildOptions { sort_memory: 40_000, merge_width: 2, ..BuildOptions::default() };
    let scratch = bench.dir.path().join("scratch");
    let run = |fs: &FaultFs| build(fs, &spools, bench.dir.path(), &scratch, &options, &bench.handles());
    let count = {
        let fs = FaultFs::new(Fault::Nothing);
        run(&fs).unwrap();
        fs.ops()
    };
    for at in 0..count {
        let failure = run(&FaultFs::new(Fault::Full { at, errno: Errno::NOSPC }));
        let database = bench.dir.path().join("index.sqlite");
        match failure {
            Ok(built) => assert_eq!(built.samples, 4_000),
            Err(failure) => {
                assert_eq!(failure.class, ExitClass::Environment);
                assert_eq!(failure.why, "no space left on the device");
                assert!(!database.exists() || rows_in(&database).is_none(), "operation {at}");
            }
        }
    }
    run(&FaultFs::new(Fault::Short { at: count / 2 })).unwrap();
    dump(&bench.dir.path().join("index.sqlite"));
}

#[test]
fn media_tables_of_an_old_index_are_copied_with_their_ids() {
    let bench = TestFolders::new();
    let spool = spool_model(&bench, 0, &many("k", 30, false), 1 << 20);
    let new = bench.build(std::slice::from_ref(&spool), &BuildOptions::default()).unwrap().database.unwrap();
    let old = bench.dir.path().join("old.sqlite");
    let carry = || carry_media_tables(&RealFs, &old, &new, &bench.cancel).unwrap();
    assert_eq!(carry(), CarriedMedia::Nothing);
    put(
        &old,
        b"not a database, and longer than a header would have to be, so that nobody takes it for an empty one....",
    );
    assert!(matches!(carry(), CarriedMedia::Unreadable(why) if why.contains("not an SQLite database")));
    RealFs.remove_file(&old).unwrap();
    let db = rusqlite::Connection::open(&old).unwrap();
    db.execute_batch("CREATE TABLE samples (x)").unwrap();
    assert_eq!(carry(), CarriedMedia::Nothing);
    db.execute_batch(gristmill_data::formats::energon::tables::CREATE_MEDIA_TABLES).unwrap();
    db.execute_batch(
        "INSERT INTO media_metadata VALUES ('a.jpg', 'image', '{\"width\":1}'), ('b.wav', 'av', '{}');
         INSERT INTO media_filters VALUES (3, 'EXTENSION', '', '2026-01-01 00:00:00');
         UPDATE sqlite_sequence SET seq = 9;",
    )
    .unwrap();
    drop(db);
    let rows = dump(&new);
    assert_eq!(carry(), CarriedMedia::Rows { metadata: 2, filters: 1 });
    assert_eq!(dump(&new), rows, "the samples are as before");
    let db = open_readonly(&new).unwrap();
    let one = |sql: &str| db.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0)).unwrap();
    assert_eq!(
        one("SELECT metadata_json FROM media_metadata WHERE entry_key = 'a.jpg'"),
        "{\"width\":1}".to_owned().into()
    );
    assert_eq!(one("SELECT filter_id || created_at_utc FROM media_filters"), "32026-01-01 00:00:00".to_owned().into());
    assert_eq!(one("SELECT seq FROM sqlite_sequence"), 9.into());
    assert_eq!(one("PRAGMA journal_mode"), "delete".to_owned().into());
    assert!(!bench.dir.path().join("index.sqlite-journal").exists());
}

#[test]
fn damaged_media_tables_leave_the_new_index_unchanged() {
    let bench = TestFolders::new();
    let spool = spool_model(&bench, 0, &many("k", 30, false), 1 << 20);
    let new = bench.build(std::slice::from_ref(&spool), &BuildOptions::default()).unwrap().database.unwrap();
    let old = bench.dir.path().join("old.sqlite");
    let db = rusqlite::Connection::open(&old).unwrap();
    db.execute_batch(
        "CREATE TABLE media_metadata (entry_key, metadata_type, metadata_json);
         CREATE TABLE media_filters (filter_id, strategy, patterns, created_at_utc);
         INSERT INTO media_metadata VALUES ('a', 'image', '{}'), ('a', 'image', '{}');",
    )
    .unwrap();
    drop(db);
    let carried = carry_media_tables(&RealFs, &old, &new, &bench.cancel).unwrap();
    assert!(matches!(carried, CarriedMedia::Unreadable(_)), "{carried:?}");
    let db = open_readonly(&new).unwrap();
    let count: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 6, "no media tables were made");
    assert_eq!(dump(&new).samples.len(), 30);
}

/// Returns the number of rows in `samples`, if it can be read.
fn rows_in(database: &Path) -> Option<i64> {
    let db = open_readonly(database).ok()?;
    db.query_row("SELECT count(*) FROM samples", [], |row| row.get(0)).ok()
}

#[test]
fn an_old_index_that_does_not_fit_the_offsets_is_not_used() {
    let bench = TestFolders::new();
    let spool = spool_model(&bench, 0, &many("k", 30, false), 1 << 20);
    let database = bench.build(std::slice::from_ref(&spool), &BuildOptions::default()).unwrap().database.unwrap();
    let shard = Shard { name: "s.tar".into(), path: "s.tar".into(), stamp: Default::default(), mode: 0, is_tgz: false };
    let tar_idx = bench.dir.path().join("s.tar.idx");
    let good = std::fs::read(spool.tar_idx_path()).unwrap();
    let again = bench.dir.path().join("again");
    std::fs::create_dir(&again).unwrap();
    let tables = OldTables::at(database.clone());
    let respool = |bytes: &[u8], tar_file_id| {
        put(&tar_idx, bytes);
        let old = OldIndex { tables: &tables, tar_file_id, tar_idx: &tar_idx };
        respool_unit(old, &shard, ShardId(0), &again, &RealFs, 1 << 20, &bench.cancel).unwrap()
    };
    // The file name contains the shard's name, which the model lacks, so only length and hash are compared.
    let rows = respool(&good, 0).unwrap().rows;
    assert_eq!((rows.bytes, rows.xxh3), (spool.rows.bytes, spool.rows.xxh3));
    let mut moved = good.clone();
    moved[8 * 7] ^= 1;
    for bad in [&good[8..], &good[..good.len() - 8], &good[..good.len() - 3], &[], &moved] {
        assert_eq!(respool(bad, 0), None);
        assert_eq!(std::fs::read_dir(&again).unwrap().count(), 0, "nothing is left of it");
    }
    // A second shard is read by the same connection, and a new one is opened after the tables were replaced.
    assert!(respool(&good, 0).is_some());
    std::fs::remove_file(&database).unwrap();
    assert!(respool(&good, 0).is_some());
    tables.close();
    assert_eq!(respool(&good, 0), None);
    let missing = OldIndex { tables: &tables, tar_file_id: 0, tar_idx: &tar_idx };
    assert_eq!(respool_unit(missing, &shard, ShardId(0), &again, &RealFs, 1, &bench.cancel).unwrap(), None);
}
