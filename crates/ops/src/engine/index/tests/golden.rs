//! Compares results with those of the reference program.

use super::*;
use gristmill_data::source::discover::discover;

fn case(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/energon").join(name)
}

/// Returns the lines of a dump without the heading. Quotes, which only surround cells with commas, do not occur in these cases.
fn expected(case: &Path, table: &str) -> Vec<String> {
    let text = std::fs::read_to_string(case.join("expected/dump").join(format!("{table}.csv"))).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

fn scan_case(bench: &TestFolders, case: &Path, threads: usize, memory: usize) -> (Vec<Shard>, Vec<SpooledShard>) {
    let shards = discover(&case.join("input")).unwrap().shards;
    let dir = bench.spool_dir();
    let mut spools: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let own = shards.iter().enumerate().skip(worker).step_by(threads);
                let dir = &dir;
                scope.spawn(move || {
                    own.map(|(id, shard)| {
                        scan_unit(shard, ShardId(id as u32), dir, &RealFs, memory, &bench.handles()).unwrap()
                    })
                    .collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    spools.sort_by_key(|spool| spool.id);
    (shards, spools)
}

fn check(name: &str) {
    let case = case(name);
    let mut files = Vec::new();
    for (threads, memory, merge_width) in [(1, 1 << 20, 256), (2, 1 << 20, 2), (7, 1, 3), (1, 1, 2)] {
        let bench = TestFolders::new();
        let (shards, spools) = scan_case(&bench, &case, threads, memory);
        let options = BuildOptions { sort_memory: memory, merge_width, ..BuildOptions::default() };
        let built = bench.build(&spools, &options).unwrap();
        let database = built.database.unwrap();
        let found = dump(&database);
        assert_eq!(found.samples, expected(&case, "samples"), "{name}");
        assert_eq!(found.parts, expected(&case, "sample_parts"), "{name}");
        for (shard, spool) in shards.iter().zip(&spools) {
            let wanted = std::fs::read(case.join("expected").join(shard.index_name())).unwrap();
            assert_eq!(std::fs::read(spool.tar_idx_path()).unwrap(), wanted, "{}", shard.name);
        }
        assert_eq!(bench.left_in_scratch(), 0);
        files.push(std::fs::read(database).unwrap());
    }
    assert!(files.windows(2).all(|pair| pair[0] == pair[1]), "{name}: workers or memory changed the file");
}

#[test]
fn captioning_index_matches_the_reference() {
    check("captioning_fieldmap");
}

#[test]
fn index_of_unusual_names_matches_the_reference() {
    check("odd_names");
}

#[test]
fn index_schema_matches_the_reference() {
    let case = case("odd_names");
    let bench = TestFolders::new();
    let (_, spools) = scan_case(&bench, &case, 1, 1 << 20);
    let database = bench.build(&spools, &BuildOptions::default()).unwrap().database.unwrap();
    let db = open_readonly(&database).unwrap();
    let names = |sql: &str| -> Vec<(String, String, String)> {
        let mut statement = db.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let mut lines = Vec::new();
    for (kind, name, table) in names("SELECT type, name, tbl_name FROM sqlite_schema ORDER BY type, name") {
        let columns: Vec<String> = if kind == "index" {
            names(&format!("SELECT name, '', '' FROM pragma_index_info('{name}')")).into_iter().map(|c| c.0).collect()
        } else {
            let sql = format!("SELECT name, type, CASE \"notnull\" WHEN 1 THEN ' notnull' ELSE '' END FROM pragma_table_info('{name}')");
            names(&sql).into_iter().map(|(column, kind, rest)| format!("{column} {kind}{rest}")).collect()
        };
        lines.push(format!("{kind},{name},{table},{}", columns.join("; ")));
    }
    assert_eq!(lines, expected(&case, "schema"));
}

#[test]
fn unchanged_shard_is_read_from_the_old_index_as_by_a_scan() {
    for name in ["captioning_fieldmap", "odd_names"] {
        let case = case(name);
        let bench = TestFolders::new();
        let (shards, spools) = scan_case(&bench, &case, 1, 1 << 20);
        let tables = OldTables::new(&case.join("expected"));
        let again = bench.dir.path().join("again");
        std::fs::create_dir(&again).unwrap();
        for (shard, spool) in shards.iter().zip(&spools) {
            let tar_idx = case.join("expected").join(shard.index_name());
            let old = OldIndex { tables: &tables, tar_file_id: spool.id.0, tar_idx: &tar_idx };
            let taken = respool_unit(old, shard, spool.id, &again, &RealFs, 1 << 20, &bench.cancel).unwrap().unwrap();
            let expected = SpooledShard { dir: again.clone(), ..spool.clone() };
            let mut taken = taken;
            taken.scan.damaged_keys.clone_from(&expected.scan.damaged_keys);
            assert_eq!(taken, expected, "{}", shard.name);
        }
    }
}

#[test]
fn scan_reports_a_full_disk_at_any_write_and_leaves_no_files() {
    let case = case("captioning_fieldmap");
    let shard = discover(&case.join("input")).unwrap().shards.remove(0);
    let bench = TestFolders::new();
    let dir = bench.spool_dir();
    let scan = |fs: &FaultFs| scan_unit(&shard, ShardId(0), &dir, fs, 1, &bench.handles());
    let fs = FaultFs::new(Fault::Nothing);
    let whole = scan(&fs).unwrap();
    assert!(whole.is_intact().unwrap());
    for at in 0..fs.ops() {
        whole.remove(&RealFs).unwrap();
        match scan(&FaultFs::new(Fault::Full { at, errno: rustix::io::Errno::NOSPC })) {
            Ok(spool) => assert_eq!(spool, whole),
            Err(failure) => {
                assert_eq!(failure.why, "no space left on the device");
                assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0, "operation {at}");
            }
        }
    }
}
