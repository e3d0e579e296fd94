//! Benchmarks whole processes of `gristmill prepare` on sets W and T, the index engine alone, and the floor, to which both are compared.
//!
//! ```text
//! cargo bench --bench prepare                      # set W: command, engine, floor
//! cargo bench --bench prepare -- t                 # set T (5 GB on the disk)
//! cargo bench --bench prepare -- w engine          # one of: command, engine, floor
//! THREADS=1 RUNS=5 cargo bench --bench prepare     # default: 2 threads and 3 runs; reports the best run
//! ```
//!
//! The floor of a data set is reading every tar once (`cat > /dev/null`), plus one SQLite connection that inserts the same rows, sorted,
//! and creates the same indexes. It is measured in processor time, so that a slow disk does not favour the program. The reference
//! program needs 39 CPU s, 21.5 s wall and 0.7 GB for set W (two workers, quiet machine, files in the cache).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, clippy::disallowed_methods)]

mod generate;
mod measure;

use generate::Set;
use gristmill_core::{Cancel, Handles, ProblemLog, Progress, Shard, ShardId};
use gristmill_data::formats::energon::tables::{
    CREATE_SAMPLE_INDEXES, CREATE_SAMPLE_TABLES, INSERT_PART, INSERT_SAMPLE,
};
use gristmill_data::source::discover::discover;
use gristmill_ops::engine::index::{scan_unit, BuildOptions, IndexWriter, SpooledShard};
use gristmill_ops::job::pool::run_units;
use gristmill_storage::fs::RealFs;
use measure::Cost;
use rusqlite::Connection;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [mode, dir, threads] = &words[..] {
        if mode == "run-engine" {
            return engine(Path::new(dir), threads.parse().unwrap());
        }
        if mode == "run-inserts" {
            return println!("{}", inserts(Path::new(dir)).as_millis());
        }
    }
    let set = if words.iter().any(|word| word == "t") { &generate::SET_T } else { &generate::SET_W };
    let wanted = |name: &str| {
        !["command", "engine", "floor"].iter().any(|known| words.iter().any(|word| word == known))
            || words.iter().any(|word| word == name)
    };
    let dir = set.make();
    let bytes = set.shards as u64 * set.shard_bytes();
    println!(
        "set {}: {} samples, {:.0} MB, {} threads",
        set.name,
        set.shards * set.samples,
        bytes as f64 / 1e6,
        threads()
    );
    read_all(&dir);
    if wanted("command") {
        println!("command {}", best(|| command(&dir)));
    }
    if wanted("engine") {
        println!("engine  {}", best(|| engine_process(&dir)));
    }
    if wanted("floor") {
        floor(set, &dir);
    }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn threads() -> usize {
    setting("THREADS", 2)
}

/// Returns the best of several runs, because noise only adds time.
fn best(mut run: impl FnMut() -> Cost) -> Cost {
    (0..setting("RUNS", 3)).map(|_| run()).min_by_key(|cost| cost.cpu).unwrap()
}

fn tars(dir: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut tars: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "tar")).collect();
    tars.sort();
    tars
}

/// Reads every tar once, which also brings them into the page cache.
fn read_all(dir: &Path) -> Cost {
    measure::run(Command::new("cat").args(tars(dir)).stdout(Stdio::null()))
}

/// Removes the output of an earlier run.
fn tidy(dir: &Path) {
    let _ = std::fs::remove_dir_all(dir.join(".nv-meta"));
    for tar in tars(dir) {
        let _ = std::fs::remove_file(tar.with_extension("tar.idx"));
    }
}

/// Runs `gristmill prepare` as a user does, on an unprepared folder.
fn command(dir: &Path) -> Cost {
    tidy(dir);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gristmill"));
    command.arg("prepare").arg(dir).args(["--yes", "--split-ratio", "8,1,1", "--skip-dataset-yaml", "--threads"]);
    let cost = measure::run(command.arg(threads().to_string()).stdout(Stdio::null()).stderr(Stdio::null()));
    assert!(dir.join(".nv-meta/index.sqlite").is_file(), "prepare made no index");
    cost
}

fn engine_process(dir: &Path) -> Cost {
    let mut command = Command::new(std::env::current_exe().unwrap());
    measure::run(command.arg("run-engine").arg(dir).arg(threads().to_string()))
}

/// Scans with `threads` workers while another thread writes rows; publishes nothing.
fn engine(dir: &Path, threads: usize) {
    let out = tempfile::tempdir_in(generate::home()).unwrap();
    let shards: Vec<(u32, Shard)> = (0..).zip(discover(dir).unwrap().shards).collect();
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let mut writer =
        IndexWriter::create(&RealFs, &out.path().join("index.sqlite"), out.path(), BuildOptions::default()).unwrap();
    let (give, take) = crossbeam_channel::unbounded::<SpooledShard>();
    let built = std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let mut early = std::collections::BTreeMap::new();
            let mut next = 0;
            for spool in take {
                early.insert(spool.id.0, spool);
                while let Some(spool) = early.remove(&next) {
                    writer.add_shard(&spool, &handles).unwrap();
                    next += 1;
                }
            }
            writer.finish(&handles).unwrap()
        });
        run_units(&shards, threads, &cancel, |(id, shard)| {
            let spool = scan_unit(shard, ShardId(*id), out.path(), &RealFs, 16 << 20, &handles)?;
            let _ = give.send(spool);
            Ok(())
        })
        .unwrap();
        drop(give);
        worker.join().unwrap()
    });
    assert!(built.database.is_some() && built.samples > 0);
}

/// Measures the unavoidable work: reading, and the work of SQLite on sorted rows.
fn floor(set: &Set, dir: &Path) {
    let cat = best(|| read_all(dir));
    println!("cat     {cat}");
    if set.shards * set.samples > 1_000_000 {
        return;
    }
    let millis = (0..setting("RUNS", 3)).map(|_| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command.arg("run-inserts").arg(dir).arg("1").output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().parse::<u64>().unwrap()
    });
    let inserts = Duration::from_millis(millis.min().unwrap());
    println!("inserts {:6.2} CPU s", inserts.as_secs_f64());
    println!("floor   {:6.2} CPU s", (cat.cpu + inserts).as_secs_f64());
}

/// Collects all rows, then inserts them sorted and creates the indexes. Returns the time of the second half.
fn inserts(dir: &Path) -> Duration {
    let out = tempfile::tempdir_in(generate::home()).unwrap();
    let (samples, parts) = collect_rows(dir);
    let before = measure::cpu_time(false);
    let mut db = Connection::open(out.path().join("index.sqlite")).unwrap();
    db.execute_batch(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; \
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;",
    )
    .unwrap();
    let change = db.transaction().unwrap();
    change.execute_batch(CREATE_SAMPLE_TABLES).unwrap();
    {
        let mut put = change.prepare(INSERT_SAMPLE).unwrap();
        for (key, [shard, index, offset, size]) in &samples {
            put.execute((shard, key, index, offset, size)).unwrap();
        }
        let mut put = change.prepare(INSERT_PART).unwrap();
        for (name, [shard, index, offset, size]) in &parts {
            put.execute((shard, index, name, offset, size)).unwrap();
        }
    }
    change.execute_batch(CREATE_SAMPLE_INDEXES).unwrap();
    change.commit().unwrap();
    db.close().unwrap();
    measure::cpu_time(false) - before
}

type TableRows = Vec<(String, [i64; 4])>;

/// Returns the rows of both tables, samples in key order.
fn collect_rows(dir: &Path) -> (TableRows, TableRows) {
    use gristmill_core::{HiddenSample, Outcome, PartRow, SampleRow};
    use gristmill_data::source::tar::{scan_shard, ScanSink};
    struct Rows(i64, i64, TableRows, TableRows);
    impl ScanSink for Rows {
        fn part(&mut self, row: PartRow<'_>) -> Outcome<()> {
            let numbers = [self.0, self.1, row.content_byte_offset as i64, row.content_byte_size as i64];
            self.3.push((row.part_name.to_owned(), numbers));
            Ok(())
        }
        fn sample(&mut self, row: SampleRow<'_>) -> Outcome<()> {
            let numbers = [self.0, self.1, row.byte_offset as i64, row.byte_size as i64];
            self.2.push((row.key.to_owned(), numbers));
            self.1 += 1;
            Ok(())
        }
        fn hidden_sample(&mut self, _: HiddenSample) -> Outcome<()> {
            Ok(())
        }
    }
    let (progress, cancel, problems) = (Progress::default(), Cancel::default(), ProblemLog::default());
    let handles = Handles { progress: &progress, cancel: &cancel, problems: &problems };
    let mut rows = Rows(0, 0, Vec::new(), Vec::new());
    for (id, shard) in (0..).zip(discover(dir).unwrap().shards) {
        (rows.0, rows.1) = (id, 0);
        scan_shard(&shard, &mut rows, &handles).unwrap();
    }
    rows.2.sort();
    (rows.2, rows.3)
}
