//! Parquet as input and output: the tables of the reference, the same bytes under all conditions, and refusals.

use super::*;
use gristmill_core::dedup::Mode;
use gristmill_core::{DedupPlan, ExitClass, Outcome, RunOptions};
use gristmill_ops::job::dedup::{start_on, DedupReport, Tuning};
use gristmill_parquet::ParquetFile;
use gristmill_storage::fs::fault::{Fault, FaultFs};
use gristmill_storage::fs::{Fs, RealFs};
use gristmill_storage::read::open_read;
use rustix::io::Errno;
use std::sync::Arc;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parquet")
}

/// Returns all rows of a file as objects, and the number of rows of each row group.
fn rows(path: &Path) -> (Vec<Value>, Vec<u64>) {
    let file = ParquetFile::open(Arc::new(open_read(path).unwrap())).unwrap();
    let mut bytes = Vec::new();
    file.json_rows(None, 0..file.rows(), usize::MAX, &mut bytes).unwrap();
    let lines = std::str::from_utf8(&bytes).unwrap().lines();
    let rows = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    (rows, (0..file.row_groups()).map(|group| file.rows_of(group).end).collect())
}

/// Copies files of cases into the folder `data`.
fn inputs(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (from, to) in files {
        sandbox.write(&format!("data/{to}"), std::fs::read(cases().join(from)).unwrap());
    }
    sandbox
}

#[test]
fn deduplicated_tables_equal_the_reference_for_all_threads_and_memory() {
    for (case, length) in [("p21_dedup", "50"), ("p22_dedup_unicode", "20")] {
        let (sandbox, case) = (Sandbox::new(), cases().join(case));
        let input = case.join("input");
        let mut first = None;
        for (number, how) in ["--threads 1", "--threads 2 --memory 16M", "--threads 7 --memory 4G"].iter().enumerate() {
            let output = format!("out-{number}");
            let mut words = vec!["dedup", input.to_str().unwrap(), "--output", &output, "--minlen", length];
            words.extend(how.split(' '));
            sandbox.run(words).ends(0);
            let files = picture(&sandbox.path(&output));
            assert_eq!(files.keys().collect::<Vec<_>>(), picture(&case.join("expected")).keys().collect::<Vec<_>>());
            for name in files.keys() {
                assert_eq!(
                    rows(&sandbox.path(&output).join(name)),
                    rows(&case.join("expected").join(name)),
                    "{name:?}"
                );
            }
            assert_same(first.get_or_insert_with(|| files.clone()), &files, how);
        }
    }
}

#[test]
fn annotated_tables_have_an_additional_column() {
    let input = cases().join("p21_dedup/input");
    let sandbox = Sandbox::new();
    let words = ["dedup", input.to_str().unwrap(), "--output", "out", "--minlen", "50", "--mode", "annotate"];
    sandbox.run(words).ends(0);
    sandbox.run(words).ends(0);
    for name in ["a.parquet", "b.parquet"] {
        let (before, _) = rows(&input.join(name));
        let (after, _) = rows(&sandbox.path("out").join(name));
        let (expected, _) = rows(&cases().join("p21_dedup/expected").join(name));
        for ((before, mut after), expected) in before.into_iter().zip(after).zip(expected) {
            let ranges = after.as_object_mut().unwrap().remove("sa_remove_ranges").unwrap();
            assert_eq!(after, before);
            let mut text = before["text"].as_str().unwrap().to_owned();
            for range in ranges.as_array().unwrap().iter().rev() {
                let place = |key: &str| range[key].as_u64().unwrap() as usize;
                text.replace_range(place("start")..place("end"), "");
            }
            assert_eq!(text, expected["text"]);
        }
    }
    let named = ["--force-overwrite", "--annotate-key", "gone"];
    sandbox.run([&words[..], &named[..]].concat()).ends(0);
    assert!(rows(&sandbox.path("out/a.parquet")).0[0].get("gone").is_some());
    let below = ["--force-overwrite", "--annotate-key", "nested.gone"];
    sandbox
        .run([&words[..], &below[..]].concat())
        .ends(2)
        .complains("not in `nested.gone`")
        .complains("give a name without dots");
    let taken = ["--force-overwrite", "--annotate-key", "nested"];
    sandbox.run([&words[..], &taken[..]].concat()).ends(1).complains("it has a column `nested` already");
}

#[test]
fn jsonl_and_parquet_files_are_deduplicated_as_one_set() {
    let sandbox = inputs(&[("p21_dedup/input/a.parquet", "a.parquet"), ("README.md", "README.md")]);
    let (before, _) = rows(&sandbox.path("data/a.parquet"));
    let texts: Vec<&str> = before.iter().map(|row| row["text"].as_str().unwrap()).collect();
    sandbox.write("data/b.jsonl", jsonl(texts.iter().filter(|text| text.len() >= 50)));
    sandbox.write("data/settings.json", "{\n}\n");
    let ran = sandbox.say("dedup data --output out --minlen 50").ends(0);
    assert!(ran.err.contains("1 file without documents left out"), "{}", ran.err);
    assert!(texts_of(&sandbox.read("out/b.jsonl")).iter().all(String::is_empty));
}

#[test]
fn unwritable_tables_end_the_run_before_writing() {
    let sandbox = inputs(&[("p21_dedup/input/a.parquet", "a.parquet")]);
    for (more, code, why) in [
        ("--text-key content", 2, "name one of its columns of text with --text-key: text"),
        ("--text-key n", 2, "its column `n` holds a number, not text"),
        ("--export-index index", 2, "an index holds lines of JSON"),
    ] {
        sandbox.say(&format!("dedup data --output out --minlen 50 {more}")).ends(code).complains(why);
        assert!(!sandbox.has("out"), "{more}");
    }
    let whole = sandbox.read("data/a.parquet");
    sandbox.write("data/a.parquet", &whole[..whole.len() - 9]);
    sandbox.say("dedup data --output out --minlen 50").ends(1).complains("cut short");
    // The rows of a file without the column are not changed.
    let (one, other) = ("p18_missing_column/input/a.parquet", "p21_dedup/input/a.parquet");
    let sandbox = inputs(&[(one, "other.parquet"), (other, "a.parquet")]);
    sandbox
        .say("dedup data --output out --minlen 50")
        .ends(1)
        .complains("its rows stay as they are: it has no column `text`");
    assert_eq!(sandbox.read("out/other.parquet"), sandbox.read("data/other.parquet"));
}

/// Writes files of every codec and encoding, with the same texts, next to lines.
fn data(root: &Path) {
    for entry in std::fs::read_dir(cases().join("p02_codecs_and_encodings/input")).unwrap() {
        let path = entry.unwrap().path();
        put(&root.join("data").join(path.file_name().unwrap()), &std::fs::read(&path).unwrap());
    }
    put(&root.join("data/z.jsonl"), &jsonl(some_texts(20)));
}

fn run(root: &Path, mode: Mode, threads: usize, tuning: Tuning, fs: Arc<dyn Fs>) -> Outcome<DedupReport> {
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let mut plan = DedupPlan::new(path("data"), path("out"));
    (plan.min_length, plan.mode) = (Some(20), mode);
    start_on(plan, RunOptions { threads, ..RunOptions::default() }, tuning, fs)?.wait()
}

fn tuning(piles: Option<u64>) -> Tuning {
    Tuning { parts: Some(2), unit_bytes: Some(8 << 10), spill_bytes: piles }
}

#[test]
fn table_output_is_independent_of_kills_threads_and_memory() {
    for (mode, piles) in [(Mode::Remove, Some(0)), (Mode::Annotate, None)] {
        let dir = tempfile::tempdir().unwrap();
        data(dir.path());
        let counting = Arc::new(FaultFs::new(Fault::Nothing));
        let report = run(dir.path(), mode, 1, tuning(piles), counting.clone()).unwrap();
        assert!(report.totals.removed_bytes > 0);
        let wanted = picture(&dir.path().join("out"));
        for (threads, tuning) in [(2, Tuning::default()), (7, tuning(Some(600 << 10)))] {
            let dir = tempfile::tempdir().unwrap();
            data(dir.path());
            run(dir.path(), mode, threads, tuning, Arc::new(RealFs)).unwrap();
            assert_same(&picture(&dir.path().join("out")), &wanted, &format!("{mode:?} {threads} threads"));
        }
        let operations = counting.ops();
        for (round, at) in (0..operations).step_by((operations / 50).max(1) as usize).enumerate() {
            let dir = tempfile::tempdir().unwrap();
            data(dir.path());
            let fault = if round % 2 == 0 { Fault::Kill { at } } else { Fault::Full { at, errno: Errno::NOSPC } };
            let ended = run(dir.path(), mode, 1, tuning(piles), Arc::new(FaultFs::new(fault)));
            if let (1, Err(failure)) = (round % 2, &ended) {
                assert_eq!(failure.class, ExitClass::Environment, "operation {at}: {failure}");
                assert!(!dir.path().join("out").exists(), "operation {at}");
            }
            run(dir.path(), mode, 2, tuning(piles), Arc::new(RealFs)).unwrap();
            assert_same(
                &picture(&dir.path().join("out")),
                &wanted,
                &format!("{mode:?} operation {at} of {operations}"),
            );
        }
    }
}
