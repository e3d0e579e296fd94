//! Damaged tables: they end a run, or whole row groups and files are skipped if the user accepts problems.

use super::cli_support::Sandbox;
use super::support::picture;
use gristmill_parquet::ParquetFile;
use gristmill_storage::read::open_read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the dictionary of the text in row group 1 of the file, which has rows 7 to 13.
const DAMAGED_BYTES: std::ops::Range<usize> = 1_700..1_800;
const DAMAGED_ROWS: std::ops::Range<usize> = 7..14;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/parquet").join(name)
}

fn rows(path: &Path) -> Vec<String> {
    let file = ParquetFile::open(Arc::new(open_read(path).unwrap())).unwrap();
    let mut bytes = Vec::new();
    file.json_rows(None, 0..file.rows(), usize::MAX, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

/// Returns a folder with a damaged file and a truncated one, and `kept.jsonl` with the remaining rows.
fn sandbox() -> Sandbox {
    let (sandbox, whole) = (Sandbox::new(), golden("p20_truncated/input/a.parquet"));
    let mut bytes = std::fs::read(&whole).unwrap();
    sandbox.write("in/b.parquet", &bytes[..1_000]);
    bytes[DAMAGED_BYTES].fill(0xff);
    sandbox.write("in/a.parquet", bytes);
    let mut kept = rows(&whole);
    kept.drain(DAMAGED_ROWS);
    sandbox.write("kept.jsonl", kept.join("\n") + "\n");
    sandbox.write("tokenizer.json", std::fs::read(golden("tokenizers/bpe1k.json")).unwrap());
    sandbox
}

const SAYS: [&str; 2] = ["rows 7 to 13 are left out: row group 1", "b.parquet: the file is left out: "];

#[test]
fn damaged_parquet_file_ends_runs_without_output() {
    let sandbox = sandbox();
    for command in
        ["pack in --format nanosets --tokenizer tokenizer.json", "dedup in --minlen 20", "shard in --as rows"]
    {
        sandbox.say(&format!("{command} --output o --yes")).ends(1).complains("parquet");
        assert!(!sandbox.has("o"), "{command}");
    }
    sandbox.say("count in --tokenizer tokenizer.json").ends(1).complains("parquet");
}

#[test]
fn tokens_without_damaged_rows_are_independent_of_threads_and_memory() {
    let sandbox = sandbox();
    for (number, text) in [["--text-key", "text"], ["--jq", ".text + .id"]].iter().enumerate() {
        let pack = |input: &str, output: &str, how: &str| {
            let words = format!("pack {input} --format modalities --tokenizer tokenizer.json --output {output} {how}");
            sandbox.run(words.split_whitespace().chain(["--eod-token", "<|endoftext|>"]).chain(*text))
        };
        let expected = format!("expected{number}");
        pack("kept.jsonl", &expected, "").ends(0);
        let tokens = |folder: &str| picture(&sandbox.path(folder)).into_values().collect::<Vec<_>>();
        for how in ["--threads 1", "--threads 2 --memory 16M", "--threads 7"] {
            let ran = pack("in", "o", &format!("{how} --problems-ok --force-overwrite")).ends(0);
            SAYS.iter().fold(ran, |ran, text| ran.complains(text));
            assert_eq!(tokens("o"), tokens(&expected), "{how}");
        }
        // A run that has nothing to do reports the losses again.
        pack("in", "o", "--problems-ok").ends(0).complains("row group 1");
    }
}

#[test]
fn counts_exclude_damaged_rows() {
    let sandbox = sandbox();
    let count = |words: &str| sandbox.say(&format!("count {words} --tokenizer tokenizer.json --json"));
    let kept = count("kept.jsonl").ends(0).json("ok");
    let ran = count("in --problems-ok").ends(0).json("problems");
    for key in ["documents", "tokens", "text_bytes", "longest_tokens"] {
        assert_eq!(ran["total"][key], kept["total"][key], "{key}");
    }
}

#[test]
fn dedup_skips_damaged_row_groups() {
    let sandbox = sandbox();
    let (out, whole) =
        ("dedup in --minlen 20 --output o --problems-ok --yes", "dedup kept.jsonl --minlen 20 --output k");
    let ran = sandbox.say(out).ends(0);
    SAYS.iter().fold(ran, |ran, text| ran.complains(text));
    sandbox.say(whole).ends(0);
    let parse = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let written: Vec<_> = rows(&sandbox.path("o/a.parquet")).iter().map(|line| parse(line)).collect();
    let expected: Vec<_> = sandbox.text("k/kept.jsonl").lines().map(parse).collect();
    assert_eq!(written, expected);
    assert!(!sandbox.has("o/b.parquet"));
    sandbox.say("verify o").ends(0);
}

#[test]
fn sharding_skips_damaged_rows() {
    let sandbox = sandbox();
    let shard = |input: &str, output: &str| {
        sandbox.say(&format!("shard {input} --as rows --output {output} --text text --problems-ok --yes"))
    };
    let ran = shard("in", "o").ends(0);
    SAYS.iter().fold(ran, |ran, text| ran.complains(text));
    shard("kept.jsonl", "k").ends(0);
    let samples = |folder: &str| sandbox.say(&format!("info {folder} --json")).ends(0).json("ok")["samples"].clone();
    assert_eq!(samples("o"), samples("k"));
}
