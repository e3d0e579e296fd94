//! Text inputs: marks, arrays, empty files, hidden copies, pointers of Git LFS.

use super::{case, entries, is_clean, names, pack, pack_with, prepare};
use serde_json::Value;

fn report(ran: &crate::cli_support::Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{}{}", ran.out, ran.err))
}

#[test]
fn json_that_is_not_one_object_per_line_is_refused_once() {
    for (input, command) in [
        ("array.json.gz", "jq -c '.[]'"),
        ("array_indented.json", "jq -c '.[]'"),
        ("objects_indented.jsonl", "jq -c ."),
    ] {
        let sandbox = case("K09");
        let ran = pack(&sandbox, input);
        ran.json("refused");
        names(&ran.out, &[input, command]);
        assert_eq!(ran.code, 1);
        assert!(!sandbox.has("OUT"), "{input}");
        assert_eq!(pack_with(&sandbox, input, "--dry-run").code, 1, "{input}");
    }
    let sandbox = case("K09");
    sandbox.write("mixed.jsonl", "{\"text\": \"a\"}\n[1]\n{\"text\": \"b\"}\n");
    assert_eq!(pack(&sandbox, "mixed.jsonl").json("problems")["documents"], 2);
}

#[test]
fn a_byte_order_mark_is_reported_with_the_way_to_remove_it() {
    let sandbox = case("K07");
    let report = pack(&sandbox, "bom.jsonl").json("problems");
    assert_eq!(report["documents"], 5);
    names(&entries(&report, "problem"), &["bom.jsonl", "byte-order mark", "tail -c +4"]);
    let sandbox = case("K07");
    is_clean(&pack(&sandbox, "plain.jsonl"));
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
