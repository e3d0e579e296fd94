//! Files of a folder that are skipped, and inputs without any usable file.

use super::{golden, golden_path, END};
use crate::cli_support::{RunOutput, Sandbox};
use serde_json::Value;

fn pointer() -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 123456\n", "0".repeat(64))
}

fn pack(sandbox: &Sandbox, input: &str, formats: &[&str], more: &[&str]) -> RunOutput {
    let tokenizer = golden_path("parquet/tokenizers/bpe1k.json");
    let mut words = vec!["pack", input, "--tokenizer", &tokenizer, "--eos-token", END, "--yes"];
    if !more.contains(&"--output") {
        words.extend(["--output", "out"]);
    }
    formats.iter().for_each(|format| words.extend(["--format", format]));
    words.extend(more);
    sandbox.run(words)
}

#[test]
fn a_run_whose_only_file_is_left_out_writes_nothing() {
    for format in ["modalities", "nanosets", "forager", "mds", "megatron", "olmo"] {
        let sandbox = Sandbox::new();
        sandbox.write("data/a.jsonl", pointer());
        let size: &[&str] = if matches!(format, "forager" | "mds") { &["--sample-size", "4"] } else { &[] };
        for more in [&["--problems-ok"][..], &["--dry-run"]] {
            let ran = pack(&sandbox, "data", &[format], &[size, more].concat());
            assert!(ran.code > 0, "{format} {more:?}: {}", ran.out);
            ran.complains("a.jsonl").complains("Git LFS pointer").complains("no other file is there");
        }
        assert!(!sandbox.has("out") && !sandbox.has("out_text_document.bin"), "{format}");
    }
}

#[test]
fn link_to_a_folder_above_is_a_note_with_and_without_a_split() {
    let sandbox = Sandbox::new();
    sandbox.write("in/train.jsonl", "{\"text\": \"one\"}\n");
    sandbox.write("in/test.jsonl", "{\"text\": \"two\"}\n");
    std::os::unix::fs::symlink("..", sandbox.path("in/link")).unwrap();
    for more in [&[][..], &["--split", "train", "--output", "split"]] {
        pack(&sandbox, "in", &["nanosets"], more).ends(0).complains("it leads back to");
    }
}

#[test]
fn rows_with_texts_that_are_not_utf8_are_left_out_of_every_format() {
    let texts: Vec<Value> =
        serde_json::from_slice(&std::fs::read(golden("arrow/layouts/texts.json")).unwrap()).unwrap();
    let arrow_text = texts[26].as_str().unwrap().as_bytes();
    let files = [
        (
            "parquet/p02_codecs_and_encodings/input/0-none.parquet",
            "a.parquet",
            "text",
            &b"by should. go of come off"[..],
        ),
        // Dictionaries precede the other columns.
        ("arrow/layouts/plain.arrow", "a.arrow", "dictionary", arrow_text),
    ];
    let all = ["nanosets", "megatron", "olmo", "mds", "forager", "modalities"];
    for (from, name, key, text) in files {
        let whole = std::fs::read(golden(from)).unwrap();
        let hits: Vec<usize> = (0..whole.len()).filter(|at| whole[*at..].starts_with(text)).collect();
        // The text is damaged everywhere, or in all columns but the first.
        for is_text in [true, false] {
            let mut bytes = whole.clone();
            hits.iter().skip(usize::from(!is_text)).for_each(|at| bytes[*at] = 0xFF);
            let sandbox = Sandbox::new();
            sandbox.write(&format!("data/{name}"), &bytes);
            for formats in all.iter().map(std::slice::from_ref).chain([&all[..]]) {
                let is_sized = formats.contains(&"forager") || formats.contains(&"mds");
                let size: &[&str] = if is_sized { &["--sample-size", "4"] } else { &[] };
                let output = format!("out-{is_text}-{}", formats.join("-"));
                let words: &[&str] = &["--text-key", key, "--output", &output, "-v"];
                let ran = pack(&sandbox, "data", formats, &[words, size].concat());
                match is_text {
                    true => drop(ran.ends(1).complains(&format!("its text is not UTF-8 (column `{key}`)"))),
                    false => assert!(!ran.err.contains("not UTF-8"), "{formats:?}: {}", ran.err),
                }
            }
        }
    }
}

#[test]
fn table_that_is_a_git_lfs_pointer_is_left_out_with_problems_ok() {
    for (from, name, key) in [
        ("parquet/p12_nested_path/input/a.parquet", "parquet", "meta.deep.x"),
        ("arrow/layouts/plain.arrow", "arrow", "string"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.write(&format!("data/a.{name}"), std::fs::read(golden(from)).unwrap());
        sandbox.write(&format!("data/b.{name}"), pointer());
        pack(&sandbox, "data", &["nanosets"], &["--text-key", key]).ends(1).complains("Git LFS pointer");
        assert!(!sandbox.has("out"));
        let ran = pack(&sandbox, "data", &["nanosets"], &["--text-key", key, "--problems-ok"]).ends(0);
        ran.complains(&format!("data/b.{name}: the file is left out")).complains("Git LFS pointer");
        assert!(sandbox.has("out"), "{name}");
    }
}

#[test]
fn a_damaged_file_without_a_document_is_refused_by_every_format() {
    for format in ["nanosets", "megatron", "olmo"] {
        let sandbox = Sandbox::new();
        sandbox.write("data/a.jsonl.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xff\xff\xff");
        pack(&sandbox, "data", &[format], &["--problems-ok"]).ends(1).complains("it has no document");
        assert!(!sandbox.has("out") && !sandbox.has("out_text_document.bin"), "{format}");
    }
}

#[test]
fn column_of_numbers_is_refused_for_every_format() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.csv", "text,x\n1,a\n2,b\n");
    for formats in [&["nanosets"][..], &["megatron"], &["nanosets", "megatron"]] {
        let ran = pack(&sandbox, "data", formats, &[]).ends(2);
        ran.complains("its column `text` holds numbers, not text");
    }
}

#[test]
fn empty_input_is_refused_if_one_of_the_formats_refuses_it() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", "");
    pack(&sandbox, "data", &["nanosets", "megatron"], &[]).ends(1).complains("it has no document");
}

#[test]
fn missing_numbered_files_are_a_problem() {
    let sandbox = Sandbox::new();
    for number in [0, 2] {
        sandbox.write(&format!("data/train-0000{number}-of-00003.jsonl"), "{\"text\": \"one two\"}\n");
    }
    let missing = "1 file of 3 missing: train-00001-of-00003.jsonl";
    pack(&sandbox, "data", &["nanosets"], &[]).ends(1).complains(missing);
    sandbox.say("dedup data --output deduped --minlen 50").ends(1).complains(missing);
    // If the user selects files, the others are not missing.
    pack(&sandbox, "data", &["nanosets"], &["--glob", "train-*.jsonl", "--output", "chosen"]).ends(0);
}

#[test]
fn json_files_of_one_value_are_skipped_as_descriptions() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", "{\"text\": \"one two\"}\n");
    sandbox.write("data/dataset_infos.json", "{\n \"a\": {\n }\n}\n");
    sandbox.write("data/card.json", "{\n \"b\": 1\n}\n");
    let note = "2 files without lines left out, the first is card.json";
    pack(&sandbox, "data", &["nanosets"], &[]).ends(0).complains(note);
    sandbox.say("dedup data --output deduped --minlen 50").ends(0).complains(note);
    // An array may contain documents.
    sandbox.write("data/labels.json", "[{\"text\": \"three\"}]\n");
    sandbox.say("dedup data --output problem --minlen 50").ends(1).complains("3 files without lines left out");
    // Next to lines, files with such names may be documents.
    sandbox.write("other/a.json", "{\"text\": \"one two\"}\n");
    sandbox.write("other/b.json", "[{\"text\": \"three\"}]\n");
    sandbox.say("dedup other --output other-out --minlen 50").ends(1).complains("1 file without lines left out");
    // If it is the only file, it is the intended input.
    sandbox.write("alone/b.json", "[{\"text\": \"three\"}]\n");
    sandbox.say("dedup alone --output alone-out --minlen 50").ends(1).complains("jq -c '.[]'");
    for command in ["info", "lint"] {
        sandbox.say(&format!("{command} alone/b.json")).ends(2).complains("jq -c '.[]' alone/b.json > NEW.jsonl");
    }
}

#[test]
fn unmatched_pattern_of_a_card_is_reported() {
    let sandbox = Sandbox::new();
    sandbox.write("data/a.jsonl", "{\"text\": \"one two\"}\n");
    sandbox.write("data/README.md", "---\nconfigs:\n- config_name: default\n  data_files: \"none/*.jsonl\"\n---\n");
    let ran = pack(&sandbox, "data", &["nanosets"], &["--split", "train"]).ends(2);
    ran.complains("data/README.md").complains("none/*.jsonl");
}

#[test]
fn the_failure_of_lines_without_text_names_the_file() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": null}\n");
    let ran = pack(&sandbox, "a.jsonl", &["nanosets"], &[]).ends(1);
    ran.complains("failed on a.jsonl: no line gave a document").complains("--text-key");
}

#[test]
fn end_token_too_large_for_dtype_is_refused_with_a_hint() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"one\"}\n");
    let base = std::fs::read(golden("parquet/tokenizers/bpe1k.json")).unwrap();
    let mut tokenizer: Value = serde_json::from_slice(&base).unwrap();
    let vocabulary = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    (vocabulary.len()..70_000).for_each(|id| drop(vocabulary.insert(format!("entry-{id}"), id.into())));
    sandbox.write("t.json", tokenizer.to_string());
    let words =
        "pack a.jsonl --format megatron --dtype u16 --tokenizer t.json --eos-token entry-69999 --output out --yes";
    sandbox.say(words).ends(2).complains("does not fit").complains("--dtype i32");
}

#[test]
fn text_inside_a_column_is_packed_by_every_format_or_refused() {
    for (from, name) in [("parquet/p12_nested_path/input/a.parquet", "parquet"), ("arrow/layouts/plain.arrow", "arrow")]
    {
        let sandbox = Sandbox::new();
        sandbox.write(&format!("data/a.{name}"), std::fs::read(golden(from)).unwrap());
        let packed = |flag: &str, value: &str, key: &str| {
            pack(&sandbox, "data", &["megatron"], &[flag, value, "--output", key]).ends(0);
            sandbox.read(&format!("{key}_{key}_document.bin"))
        };
        let tokens = packed("--text-key", "meta.deep.x", "meta.deep.x");
        assert!(!tokens.is_empty() && tokens == packed("--jq", ".meta.deep.x", "text"), "{name}");
        let ran = pack(&sandbox, "data", &["olmo"], &["--text-key", "meta.deep.x", "--id-key", "meta"]).ends(2);
        ran.complains("`meta.deep.x` is part of another one").complains("--jq '.meta.deep.x'");
    }
}
