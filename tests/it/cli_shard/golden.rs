//! The same bytes as the reference programs for the same samples, with any number of threads.

use super::files_below;
use crate::cli_support::{copy_tree, Sandbox};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Tables of the index, with the columns that are compared.
const TABLES: [(&str, &str); 2] = [
    ("samples", "tar_file_id, sample_key, sample_index, byte_offset, byte_size"),
    ("sample_parts", "tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size"),
];

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/webdataset");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

/// Runs the commands of a case.
fn run(sandbox: &Sandbox, case: &Path, threads: &str) {
    copy_tree(&case.join("given"), &sandbox.path(""));
    let text = std::fs::read_to_string(case.join("case.json")).unwrap();
    let facts: Value = serde_json::from_str(&text).unwrap();
    for run in facts["runs"].as_array().unwrap() {
        let words = run["command"].as_array().unwrap().iter().skip(1).map(|word| word.as_str().unwrap());
        let words: Vec<&str> = words.chain(["--threads", threads]).collect();
        sandbox.run(&words).ends(run["exit"].as_i64().unwrap() as i32);
    }
}

/// Returns a table in the format of the dumps.
fn dump(database: &Path, (table, columns): (&str, &str)) -> String {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let database = rusqlite::Connection::open_with_flags(database, flags).unwrap();
    let mut statement = database.prepare(&format!("SELECT {columns} FROM {table} ORDER BY rowid")).unwrap();
    let count = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut text = format!("{}\n", columns.replace(", ", ","));
    while let Some(row) = rows.next().unwrap() {
        let value = |at: usize| match row.get_ref(at).unwrap() {
            rusqlite::types::ValueRef::Integer(number) => number.to_string(),
            other => quoted(other.as_str().unwrap()),
        };
        text.push_str(&(0..count).map(value).collect::<Vec<_>>().join(","));
        text.push('\n');
    }
    text
}

fn quoted(text: &str) -> String {
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

fn check(sandbox: &Sandbox, case: &Path) {
    let expected = case.join("expected");
    for name in files_below(&expected) {
        let bytes = std::fs::read(expected.join(&name)).unwrap();
        let Some((set, table)) = name.split_once(".dump/") else {
            assert!(sandbox.read(&name) == bytes, "{}: {name} differs", case.display());
            continue;
        };
        let database = sandbox.path(set).join(".nv-meta/index.sqlite");
        let table = TABLES.into_iter().find(|(known, _)| table.strip_suffix(".csv") == Some(known)).unwrap();
        let bytes = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
        assert_eq!(dump(&database, table), bytes, "{}: {name}", case.display());
    }
    // There are no further files.
    for set in std::fs::read_dir(&expected).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        if !set.ends_with(".dump") {
            let own = |name: &String| !name.starts_with(".nv-meta/gristmill/") && !name.starts_with(".nv-meta/index.");
            let found: Vec<String> = files_below(&sandbox.path(&set)).into_iter().filter(own).collect();
            assert_eq!(found, files_below(&expected.join(&set)), "{}: {set}", case.display());
        }
    }
}

#[test]
fn every_shard_case_is_independent_of_threads() {
    assert_eq!(cases().len(), 15);
    for case in &cases() {
        for threads in ["1", "2", "7"] {
            let sandbox = Sandbox::new();
            run(&sandbox, case, threads);
            check(&sandbox, case);
        }
    }
}

#[test]
fn sharded_output_is_prepared_as_by_prepare() {
    let case = cases().into_iter().find(|case| case.ends_with("reshard_count")).unwrap();
    let sandbox = Sandbox::new();
    run(&sandbox, &case, "2");
    sandbox.say("lint out").ends(0);
    sandbox.say("verify out").ends(0);
    sandbox.say("prepare out --split-ratio 1,0,0 --sample-type CrudeWebdataset --yes").ends(0).says("Nothing to do");
    let scanned = sandbox.read("out/.nv-meta/index.sqlite");
    sandbox.say("prepare out --split-ratio 1,0,0 --sample-type CrudeWebdataset --force-overwrite --yes").ends(0);
    assert!(sandbox.read("out/.nv-meta/index.sqlite") == scanned, "a scan gives the same tables");
}
