//! Text from Parquet: the bytes of the reference program, refusals and omissions.

use super::{golden, Case, END};
use crate::cli_support::Sandbox;
use crate::support::copy_folder;
use serde_json::Value;

/// Returns `case.json`, and the words of its command line.
fn case_of(name: &str) -> (Value, Vec<String>) {
    let facts: Value = serde_json::from_slice(&std::fs::read(golden(name).join("case.json")).unwrap()).unwrap();
    let words = facts["gristmill"][0].as_array().unwrap();
    let words = words.iter().map(|word| word.as_str().unwrap().to_owned()).collect();
    (facts, words)
}

#[test]
fn parquet_tokens_equal_reference_for_any_threads_and_memory() {
    let cases = [
        "p01_parquet_files",
        "p02_codecs_and_encodings",
        "p03_column_types",
        "p08_nothing_there",
        "p12_nested_path",
        "p13_column_with_a_dot",
        "p11_chat_by_jq",
    ];
    for case in cases {
        let name = format!("parquet/{case}");
        let (_, words) = case_of(&name);
        for (threads, memory) in [("1", "64M"), ("2", "256M"), ("7", "1G")] {
            let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
            words.extend(["--threads", threads, "--memory", memory]);
            let case = Case::new(&name);
            case.run(&words).ends(0);
            case.is_as_expected("expected");
        }
    }
}

#[test]
fn wrong_column_or_invalid_parquet_file_ends_the_run_without_output() {
    for (case, code, says) in [
        ("p18_missing_column", 2, "name one of its columns of text with --text-key: content"),
        ("p19_pointer_not_data", 1, "git lfs pull"),
        ("p20_truncated", 1, "cut short"),
    ] {
        let name = format!("parquet/{case}");
        let (facts, words) = case_of(&name);
        let case = Case::new(&name);
        let result = case.run(&words.iter().map(String::as_str).collect::<Vec<_>>()).ends(code);
        for text in facts["says"].as_array().unwrap().iter().filter_map(Value::as_str).chain([says]) {
            assert!(result.err.contains(text), "{name}: {text} in {}", result.err);
        }
        assert!(!case.sandbox.has("case/expected"), "{name}");
    }
}

/// Returns a sandbox with the inputs of cases in the folder `input`.
fn inputs(files: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("input")).unwrap();
    for (from, to) in files {
        std::fs::copy(golden("parquet").join(from), sandbox.path("input").join(to)).unwrap();
    }
    copy_folder(&golden("parquet/tokenizers"), &sandbox.path("tokenizers"));
    sandbox
}

const PACK: [&str; 8] =
    ["pack", "input", "--format", "modalities", "--tokenizer", "tokenizers/bpe1k.json", "--eod-token", END];

#[test]
fn parquet_files_without_the_text_column_are_reported() {
    let sandbox = inputs(&[
        ("p12_nested_path/input/a.parquet", "a.parquet"),
        ("p18_missing_column/input/a.parquet", "b.parquet"),
    ]);
    let words = [&PACK[..], &["--text-key", "content", "--output", "o"]].concat();
    let result = sandbox.run(&words).ends(1);
    assert!(result.err.contains("a.parquet: it is left out: it has no column `content`"), "{}", result.err);
    assert!(sandbox.has("o"));
}

#[test]
fn other_files_of_a_folder_with_tables_are_left_out_with_a_note() {
    let sandbox = inputs(&[("p12_nested_path/input/a.parquet", "a.parquet"), ("README.md", "README.md")]);
    let words = "pack input --format nanosets --tokenizer tokenizers/bpe1k.json --text-key meta.deep.x --output o -v";
    let result = sandbox.run(words.split(' ').collect::<Vec<_>>()).ends(0);
    let note = "1 file without documents left out, the first is README.md";
    assert!(result.err.contains(note) || result.out.contains(note), "{} {}", result.out, result.err);
}

#[test]
fn null_text_rows_are_skipped_without_a_problem() {
    let sandbox = inputs(&[("p01_parquet_files/input/part-0.parquet", "a.parquet")]);
    let result = sandbox.run([&PACK[..], &["--output", "o", "-v"]].concat()).ends(0);
    assert!(result.err.contains("(in row group 0) is left out: its text is null"), "{}", result.err);
}

#[test]
fn a_dry_run_counts_rows_not_lines() {
    let sandbox = inputs(&[("p01_parquet_files/input/part-0.parquet", "a.parquet")]);
    let result = sandbox.run([&PACK[..], &["--output", "o", "--jq", ".text | empty", "--dry-run"]].concat());
    let text = result.out + &result.err;
    assert!(text.contains("no row that was examined gave a document"), "{text}");
}
