//! Text inputs: byte-order marks, arrays, empty files, hidden copies, Git LFS pointers.

use super::{case, entries, is_clean, names, pack, pack_with, prepare};
use crate::cli_support::Sandbox;
use serde_json::Value;
use std::io::Write as _;

fn report(ran: &crate::cli_support::RunOutput) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err))
}

#[test]
fn json_without_one_object_per_line_is_refused_with_a_jq_hint() {
    for (input, command) in [("array.json.gz", "jq -c '.[]'"), ("objects_indented.jsonl", "jq -c .")] {
        let sandbox = case("K09");
        let ran = pack(&sandbox, input);
        ran.json("refused");
        names(&ran.out, &[input, command]);
        assert_eq!(ran.code, 1);
        assert!(!sandbox.has("OUT"), "{input}");
        assert_eq!(pack_with(&sandbox, input, "--dry-run").code, 1, "{input}");
    }
    let sandbox = case("K09");
    assert_eq!(pack(&sandbox, "array_indented.json").json("ok")["documents"], 6, "one array is read");
    let sandbox = case("K09");
    sandbox.write("mixed.jsonl", "{\"text\": \"a\"}\n[1]\n{\"text\": \"b\"}\n");
    assert_eq!(pack(&sandbox, "mixed.jsonl").json("problems")["documents"], 2);
}

#[test]
fn byte_order_mark_is_reported_with_a_removal_command() {
    let sandbox = case("K07");
    let report = pack(&sandbox, "bom.jsonl").json("problems");
    assert_eq!(report["documents"], 5);
    names(&entries(&report, "problem"), &["bom.jsonl", "byte-order mark", "tail -c +4"]);
    let sandbox = case("K07");
    is_clean(&pack(&sandbox, "plain.jsonl"));
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

#[test]
fn a_byte_order_mark_is_reported_in_packed_text_and_in_later_lines() {
    let first = "\u{feff}{\"text\": \"a\"}\n{\"text\": \"b\"}\n";
    let later = "{\"text\": \"a\"}\n\u{feff}{\"text\": \"b\"}\n";
    let sed = r"LC_ALL=C sed 's/^\\xEF\\xBB\\xBF//'";
    for (name, content, hint) in [
        ("first.jsonl.gz", gzip(first.as_bytes()), "gzip -dc < FILE | tail -c +4"),
        ("first.jsonl.zst", zstd(first.as_bytes()), "zstd -dc < FILE | tail -c +4"),
        ("later.jsonl", later.as_bytes().to_vec(), sed),
        ("later.jsonl.gz", gzip(later.as_bytes()), sed),
    ] {
        let sandbox = case("K07");
        sandbox.write(name, content);
        let report = pack(&sandbox, name).json("problems");
        assert_eq!(report["documents"], 1, "{name}");
        names(&entries(&report, "problem"), &[name, "byte-order mark", hint]);
    }
    // Both commands that read the lines of a file report the mark.
    let sandbox = case("K07");
    sandbox.write("later.jsonl", later);
    let ran = sandbox.say("prepare later.jsonl --yes --json");
    ran.json("refused");
    names(&ran.out, &["byte order mark", sed]);
}

#[test]
fn valid_lines_before_invalid_lines_are_packed() {
    let good = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n";
    for (later, problems) in [("[1]\n[{\"text\": \"c\"}]\n", 2), ("{\n  \"text\": \"c\"\n}\n", 3)] {
        let text = format!("{good}{later}");
        for (name, content) in [
            ("docs.jsonl", text.clone().into_bytes()),
            ("docs.jsonl.gz", gzip(text.as_bytes())),
            ("docs.jsonl.zst", zstd(text.as_bytes())),
        ] {
            let sandbox = case("K09");
            sandbox.write(name, content);
            let report = pack(&sandbox, name).json("problems");
            assert_eq!(report["documents"], 2, "{name}");
            let found =
                report["problems"].as_array().unwrap().iter().filter(|problem| problem["severity"] == "problem");
            assert_eq!(found.count(), problems, "{name}: {report:#}");
            names(&entries(&report, "problem"), &[name]);
        }
    }
}

#[test]
fn an_array_in_packed_text_is_refused_by_pack_and_dedup() {
    for (name, content) in [
        ("all.json.gz", gzip(b"[\n{\"text\": \"a\"},\n{\"text\": \"b\"}\n]\n")),
        ("all.jsonl.zst", zstd("\u{feff}\n[{\"text\": \"a\"}, {\"text\": \"b\"}]".as_bytes())),
    ] {
        let sandbox = case("K09");
        sandbox.write(name, content);
        for ran in [pack(&sandbox, name), sandbox.say(&format!("dedup {name} --minlen 50 --output OUT --json"))] {
            ran.json("refused");
            names(&ran.out, &[name, "jq -c '.[]'", "-dc"]);
            assert_eq!(ran.code, 1);
            assert!(!sandbox.has("OUT"));
        }
    }
}

#[test]
fn a_set_without_a_document_is_refused() {
    let formats = [
        "--format nanosets --eos-token <|endoftext|>",
        "--format modalities --eod-token <|endoftext|>",
        "--format forager --eos-token <|endoftext|> --sample-size 8",
    ];
    for (format, input) in
        formats.iter().flat_map(|format| ["zero.jsonl", "named.jsonl.gz"].map(|input| (format, input)))
    {
        let sandbox = case("K14");
        let ran = sandbox.say(&format!("pack {input} {format} --tokenizer tokenizer.json --output OUT --json"));
        ran.json("refused");
        assert_eq!(ran.code, 1);
        names(&ran.out, &[input]);
        assert!(!sandbox.has("OUT"), "{format}");
    }
    let sandbox = case("K14");
    names(&entries(&is_clean(&pack(&sandbox, "some")), "note"), &["b.jsonl"]);
    for set in ["nanosets", "forager"] {
        let ran = sandbox.say(&format!("lint {set} --json"));
        assert_eq!(ran.code, 1, "{}", ran.out);
        names(&entries(&report(&ran), "problem"), &["no document"]);
    }
}

#[test]
fn hidden_copies_and_unfinished_files_are_left_out() {
    let sandbox = case("K20");
    let report = is_clean(&pack(&sandbox, "out"));
    assert_eq!(report["documents"], 6);
    names(&entries(&report, "note"), &["part-00000-checkpoint.jsonl", "part-00003.jsonl.tmp", "--glob"]);
    let sandbox = case("K20");
    assert_eq!(is_clean(&pack(&sandbox, "out/part-00003.jsonl.tmp"))["documents"], 1);
    let line = "pack out --format nanosets --tokenizer tokenizer.json --eos-token <|endoftext|> --output OUT";
    case("K20").say(line).ends(0).complains("part-00003.jsonl.tmp").complains("--glob");
}

#[test]
fn compat_and_nanotron_drop_in_read_hidden_copies() {
    // The reference program reads every readable file of the folder, and so does `--compat`, which reports this.
    let sandbox = case("K20");
    let report = report(&pack_with(&sandbox, "out", "--compat"));
    assert_eq!(report["documents"], 10, "{report:#}");
    names(
        &entries(&report, "note"),
        &["part-00000-checkpoint.jsonl", "part-00003.jsonl.tmp", "are read, as the reference"],
    );
    let sandbox = case("K20");
    let line = "nanotron preprocess_data --tokenizer-name-or-path tokenizer.json --eos-token <|endoftext|> \
                --output-folder OUT --n-tasks 1 jsonl --dataset out";
    let ran = sandbox.say(line);
    names(&format!("{}{}", ran.out, ran.err), &["part-00003.jsonl.tmp"]);
    let index = std::fs::read_dir(sandbox.path("OUT")).unwrap().map(|entry| entry.unwrap().path());
    let index = index.into_iter().find(|path| path.to_string_lossy().ends_with(".ds.index")).unwrap();
    assert_eq!(std::fs::metadata(index).unwrap().len(), 10 * 8);
}

#[test]
fn git_lfs_pointers_are_reported_as_files_and_shard_entries() {
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 12345\n", "7".repeat(64));
    let way_out = ["Git LFS pointer", "git lfs pull"];
    for name in ["spiece.model", "tokenizer.model"] {
        let sandbox = case("T14");
        sandbox.write(name, &pointer);
        let line = format!("pack good/docs.jsonl --format nanosets --tokenizer {name} --output OUT --json");
        let ran = sandbox.say(&line).ends(1);
        ran.json("refused");
        names(&ran.out, &[name, way_out[0], way_out[1]]);
    }
    for name in ["docs.jsonl.gz", "docs.jsonl.zst", "docs.json.GZIP", "docs.jsonl"] {
        let sandbox = case("T14");
        sandbox.write(name, &pointer);
        for line in [
            format!("pack {name} --format nanosets --tokenizer good/tokenizer.json --eos-token <|endoftext|> --output OUT --json"),
            format!("dedup {name} --minlen 50 --output OUT --json"),
            format!("info {name} --json"),
        ] {
            // `info` does not treat files with this name as JSONL.
            if line == "info docs.json.GZIP --json" {
                continue;
            }
            let ran = sandbox.say(&line);
            assert_eq!(ran.code, 1, "{line}: {}{}", ran.out, ran.err);
            names(&ran.out, &[name, way_out[0], way_out[1]]);
        }
        assert!(!sandbox.has("OUT"));
    }
    for name in ["data/only.tar", "data/only.tgz"] {
        let sandbox = case("T14");
        sandbox.write(name, &pointer);
        let ran = prepare(&sandbox, "data").ends(1);
        names(&ran.out, &way_out);
    }
    let sandbox = case("T14");
    let entries_of = |picture: Vec<u8>, n: u32| [(format!("{n}.png"), picture), (format!("{n}.txt"), b"a".to_vec())];
    let all = [entries_of(Sandbox::png(2, 2), 0), entries_of(pointer.into_bytes(), 1)].concat();
    sandbox.tar_of("pictures/s.tar", &all);
    let report = super::prepare_with(&sandbox, "pictures", "--media-metadata-by-extension").json("problems");
    names(&entries(&report, "problem"), &["1.png", way_out[0], way_out[1]]);
    assert_eq!(sandbox.media_rows("pictures").len(), 1);
}

#[test]
fn pointers_of_git_lfs_are_named_by_every_reader() {
    let sandbox = case("T14");
    let prepared = prepare(&sandbox, "shards").json("problems");
    names(&entries(&prepared, "problem"), &["b.tar", "git lfs pull"]);
    for (line, name) in [
        ("pack good/docs.jsonl --format nanosets --tokenizer tokenizer.json --output OUT --json", "tokenizer.json"),
        ("pack docs.jsonl --format nanosets --tokenizer good/tokenizer.json --eos-token <|endoftext|> --output OUT --json", "docs.jsonl"),
        ("prepare docs.jsonl --yes --json", "docs.jsonl"),
    ] {
        let ran = sandbox.say(line);
        ran.json("refused");
        assert_eq!(ran.code, 1);
        names(&ran.out, &[name, "git lfs pull"]);
    }
    let media = sandbox.say("prepare-media photos --media-metadata-by-extension --json").json("problems");
    names(&entries(&media, "problem"), &["b.png", "git lfs pull"]);
}
