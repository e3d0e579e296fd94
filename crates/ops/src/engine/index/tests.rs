//! The engine from tar files to tables: compared with the golden dumps and with a naive model, and with little memory, damage and
//! cancellation.

use super::*;
use gristmill_core::{Cancel, HiddenSample, PartRow, ProblemLog, SampleRow};
use gristmill_data::formats::energon::tables::open_readonly;
use gristmill_data::source::tar::{ScanSink as _, ShardScan};
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::RealFs;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Scratch folders and handles of a test.
struct TestFolders {
    dir: tempfile::TempDir,
    progress: Progress,
    cancel: Cancel,
    problems: ProblemLog,
}

impl TestFolders {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("spool")).unwrap();
        std::fs::create_dir(dir.path().join("scratch")).unwrap();
        Self { dir, progress: Progress::default(), cancel: Cancel::default(), problems: ProblemLog::default() }
    }
    fn handles(&self) -> Handles<'_> {
        Handles { progress: &self.progress, cancel: &self.cancel, problems: &self.problems }
    }
    fn spool_dir(&self) -> PathBuf {
        self.dir.path().join("spool")
    }
    fn build(&self, spools: &[SpooledShard], options: &BuildOptions) -> Outcome<BuiltIndex> {
        build(&RealFs, spools, self.dir.path(), &self.dir.path().join("scratch"), options, &self.handles())
    }
    fn left_in_scratch(&self) -> usize {
        std::fs::read_dir(self.dir.path().join("scratch")).unwrap().count()
    }
}

/// A sample of the model: its key (`None` for a sample without a row), and part names with sizes.
type ModelSample = (Option<String>, Vec<(String, u64)>);

/// Writes a shard's spool from a model, as a scan would. Each part has a header, its content and padding.
fn spool_model(bench: &TestFolders, id: u32, samples: &[ModelSample], memory: usize) -> SpooledShard {
    let dir = bench.spool_dir();
    let mut sink = SpoolSink::create(&RealFs, &dir, (ShardId(id), "shard"), memory).unwrap();
    let mut at = 0;
    for (index, (key, parts)) in (0..).zip(samples) {
        let start = at;
        for (name, size) in parts {
            let row = PartRow { part_name: name, content_byte_offset: at + 512, content_byte_size: *size };
            if key.is_some() {
                sink.part(row).unwrap();
            }
            at += 512 + size.next_multiple_of(512);
        }
        let (sample_index, byte_offset, byte_size) = (index, start, at - start);
        match key {
            Some(key) => sink.sample(SampleRow { key, sample_index, byte_offset, byte_size }).unwrap(),
            None => {
                sink.hidden_sample(HiddenSample { sample_index, byte_offset, byte_size, is_damaged: false }).unwrap()
            }
        }
    }
    let scan = ShardScan { samples: samples.len() as u64, end_offset: at, ..ShardScan::default() };
    sink.finish(scan).unwrap()
}

/// Rows of a database as text, in the order of the golden dumps.
#[derive(Debug, PartialEq, Eq)]
struct TableDump {
    samples: Vec<String>,
    parts: Vec<String>,
}

fn dump(database: &Path) -> TableDump {
    let db = open_readonly(database).unwrap();
    let verdict: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let rows = |sql: &str| -> Vec<String> {
        let mut statement = db.prepare(sql).unwrap();
        let columns = statement.column_count();
        let line = |row: &rusqlite::Row<'_>| {
            let cells = (0..columns).map(|at| match row.get_unwrap::<_, rusqlite::types::Value>(at) {
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Text(text) => text,
                other => panic!("{other:?}"),
            });
            Ok(cells.collect::<Vec<_>>().join(","))
        };
        statement.query_map([], line).unwrap().map(Result::unwrap).collect()
    };
    TableDump {
        samples: rows("SELECT * FROM samples ORDER BY tar_file_id, sample_index"),
        parts: rows("SELECT * FROM sample_parts ORDER BY tar_file_id, sample_index, content_byte_offset"),
    }
}

/// Returns the rows expected from a model.
fn model_dump(shards: &[Vec<ModelSample>], keep_first: bool) -> (TableDump, Vec<DuplicateKey>) {
    let mut seen: BTreeMap<&str, (ShardId, u64)> = BTreeMap::new();
    let (mut samples, mut parts, mut duplicates) = (Vec::new(), Vec::new(), Vec::new());
    for (shard, rows) in (0..).zip(shards) {
        let mut at = 0;
        for (index, (key, own)) in (0..).zip(rows) {
            let start = at;
            let mut lines = Vec::new();
            for (name, size) in own {
                lines.push(format!("{shard},{index},{name},{},{size}", at + 512));
                at += 512 + size.next_multiple_of(512);
            }
            let Some(key) = key else { continue };
            if let Some(&first) = seen.get(key.as_str()) {
                duplicates.push(DuplicateKey { key: key.clone(), first, second: (ShardId(shard), index) });
                if keep_first {
                    continue;
                }
            } else {
                seen.insert(key, (ShardId(shard), index));
            }
            samples.push(format!("{shard},{key},{index},{start},{}", at - start));
            parts.extend(lines);
        }
    }
    duplicates.sort_by(|a, b| a.key.cmp(&b.key).then(a.second.cmp(&b.second)));
    (TableDump { samples, parts }, duplicates)
}

fn sample(key: &str, parts: &[(&str, u64)]) -> ModelSample {
    (Some(key.to_owned()), parts.iter().map(|&(name, size)| (name.to_owned(), size)).collect())
}

mod behaviour;
mod golden;
mod model;
