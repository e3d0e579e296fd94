//! Pairs for Megatron: the bytes of the reference program, names, sizes, and refusals.

use super::{bpe, golden, jsonl, without_own_folders, Case, END};
use crate::cli_support::Sandbox;
use crate::support::{assert_same, picture};
use serde_json::Value;
use std::path::Path;

#[test]
fn megatron_pairs_equal_the_reference_for_all_threads_and_memory() {
    for (case, code) in [("m09_empty_input", 1), ("m11_pack", 0), ("m12_pack_parquet", 0)] {
        let name = format!("megatron/{case}");
        let facts: Value = serde_json::from_slice(&std::fs::read(golden(&name).join("case.json")).unwrap()).unwrap();
        let command: Vec<&str> =
            facts["gristmill"][0].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let expected = picture(&golden(&name).join("expected"));
        for (threads, memory) in [("1", "64M"), ("2", "256M"), ("7", "1G")] {
            let case = Case::new(&name);
            let mut command = command.clone();
            command.extend(["--threads", threads, "--memory", memory]);
            let ran = case.run(&command).ends(code);
            if code == 1 {
                ran.complains("no documents");
            }
            assert_same(&without_own_folders(&case.sandbox.path("case/expected")), &expected, &name);
        }
    }
}

fn line(more: &str) -> String {
    format!("pack a.jsonl --format megatron --tokenizer {} --yes {more}", bpe())
}

/// Writes a text of this many documents, each of one word.
fn text(sandbox: &Sandbox, documents: usize) {
    sandbox.write("a.jsonl", jsonl((0..documents).map(|number| format!("word {number}"))));
}

fn number(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// Returns the token type and the numbers of sequences and documents of an index, after checking its size.
fn index(sandbox: &Sandbox, path: &str) -> (u8, usize, usize) {
    let bytes = std::fs::read(sandbox.path(path)).unwrap();
    let (sequences, marks) = (number(&bytes, 18), number(&bytes, 26));
    assert_eq!(bytes.len(), 34 + 12 * sequences + 8 * marks, "{path}");
    (bytes[17], sequences, marks - 1)
}

#[test]
fn megatron_file_names_have_prefix_and_text_key() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"one\", \"body\": \"two\"}\n");
    sandbox.say(&line("--eos-token <|endoftext|> --text-key body --output out/web.v2")).ends(0);
    assert!(sandbox.has("out/web.v2_body_document.bin") && sandbox.has("out/web.v2_body_document.idx"));
    sandbox.say(&line("--eos-token <|endoftext|> --jq .body --output out/jq")).ends(0);
    assert!(sandbox.has("out/jq_text_document.bin"));
    sandbox.say(&line("--eos-token <|endoftext|> --output folder/")).ends(0).says("folder/text_document");
    assert!(sandbox.has("folder/text_document.idx"));
}

#[test]
fn json_key_names_the_column_of_a_table() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"body\": \"one two\", \"n\": 1}\n{\"body\": \"three\", \"n\": 2}\n");
    sandbox.write("a.csv", "body,n\none two,1\nthree,2\n");
    let more = |output: &str| line(&format!("--eos-token <|endoftext|> --json-key body --output {output}"));
    sandbox.say(&more("lines")).ends(0);
    sandbox.say(&more("table").replace("a.jsonl", "a.csv")).ends(0);
    for end in ["bin", "idx"] {
        let read = |output: &str| sandbox.read(&format!("{output}_body_document.{end}"));
        assert_eq!(read("table"), read("lines"), "{end}");
    }
}

#[test]
fn dtype_decides_the_bytes_per_token() {
    let sandbox = Sandbox::new();
    text(&sandbox, 30);
    sandbox.say(&line(&format!("--eos-token {END} --output small"))).ends(0);
    sandbox.say(&line(&format!("--eos-token {END} --dtype i32 --output large"))).ends(0);
    assert_eq!(index(&sandbox, "small_text_document.idx"), (8, 30, 30));
    assert_eq!(index(&sandbox, "large_text_document.idx"), (4, 30, 30));
    let size = |name: &str| std::fs::metadata(sandbox.path(name)).unwrap().len();
    assert_eq!(size("small_text_document.bin") * 2, size("large_text_document.bin"));
}

#[test]
fn max_tokens_per_file_writes_several_pairs() {
    let sandbox = Sandbox::new();
    text(&sandbox, 500);
    let end = format!("--eos-token {END}");
    let preview = sandbox.say(&line(&format!("{end} --output one --dry-run --json"))).ends(0).json("ok");
    sandbox.say(&line(&format!("{end} --output one"))).ends(0);
    for (number, name) in ["one_text_document.bin", "one_text_document.idx"].into_iter().enumerate() {
        let file = &preview["targets"][0]["outputs"][number];
        let size = std::fs::metadata(sandbox.path(name)).unwrap().len();
        assert!(file["name"].as_str().unwrap().ends_with(name));
        assert!(file["bytes"].as_u64().unwrap().abs_diff(size) < size / 4 + 64, "{name}: {file} and {size}");
    }
    sandbox.say("info one").ends(3).complains("one_text_document");
    let ran = sandbox.say(&line(&format!("{end} --max-tokens-per-file 400 --output cut --json"))).ends(0).json("ok");
    assert_eq!(ran["targets"][0]["documents"], 500);
    let (mut tokens, mut documents, mut pairs) = (Vec::new(), 0, 0);
    while sandbox.has(&format!("cut_text_document_{pairs:03}.idx")) {
        let bin = std::fs::read(sandbox.path(&format!("cut_text_document_{pairs:03}.bin"))).unwrap();
        documents += index(&sandbox, &format!("cut_text_document_{pairs:03}.idx")).2;
        let is_last = documents == 500;
        assert!(is_last || (401..410).contains(&(bin.len() / 2)), "{} tokens", bin.len() / 2);
        tokens.extend(bin);
        pairs += 1;
    }
    assert!(pairs > 2 && documents == 500, "{pairs} pairs, {documents} documents");
    assert_eq!(tokens, std::fs::read(sandbox.path("one_text_document.bin")).unwrap());
    // Pairs of an earlier run must not remain next to the pairs of another plan.
    sandbox.write("cut_text_document.json", "mine");
    sandbox.say(&line(&format!("{end} --max-tokens-per-file 900 --output cut --force-overwrite"))).ends(0);
    assert!(
        sandbox.has("cut_text_document_001.idx") && !sandbox.has(&format!("cut_text_document_{:03}.bin", pairs - 1))
    );
    sandbox.say(&line(&format!("{end} --output cut --force-overwrite"))).ends(0);
    assert!(sandbox.has("cut_text_document.idx") && !sandbox.has("cut_text_document_000.idx"));
    assert!(sandbox.has("cut_text_document.json"), "only files that a run wrote are removed");
}

#[test]
fn missing_end_token_is_noted_and_invalid_megatron_flags_refused() {
    let sandbox = Sandbox::new();
    text(&sandbox, 3);
    sandbox.say(&line("--output o")).ends(0).complains("no token ends a document").complains("--eos-token");
    sandbox.say(&line("--output p --dtype u8")).ends(2).complains("--dtype u16 or --dtype i32");
    sandbox.say(&line("--output p --max-tokens-per-file 0")).ends(2).complains("--max-tokens-per-file");
    sandbox.say(&line("--output p --text-key a/b")).ends(2).complains("--text-key").complains("slash");
    sandbox.say(&line("--output p --variable")).ends(2).complains("--variable");
    sandbox.write("taken_text_document.idx", "mine");
    sandbox.say(&line("--output taken")).ends(1).complains("taken_text_document.idx");
    assert_eq!(sandbox.text("taken_text_document.idx"), "mine");
    assert!(!sandbox.has("p_text_document.bin") && !sandbox.has("taken_text_document.bin"), "nothing was written");
}

#[test]
fn megatron_packed_with_other_formats_equals_megatron_packed_separately() {
    let sandbox = Sandbox::new();
    text(&sandbox, 200);
    let line = format!("pack a.jsonl --tokenizer {} --eos-token {END} --yes", bpe());
    let formats = "--format megatron --format mds --format nanosets --sample-size 32";
    sandbox.say(&format!("{line} {formats} --output several")).ends(0);
    sandbox.say(&format!("{line} --format megatron --output one/")).ends(0);
    let several = without_own_folders(&sandbox.path("several/megatron"));
    assert!(several.contains_key(Path::new("text_document.idx")));
    assert_same(&several, &without_own_folders(&sandbox.path("one")), "the pair of one format alone");
    sandbox.say(&format!("{line} {formats} --output several")).ends(0).says("Nothing to do");
}

#[test]
fn megatron_pair_is_read_by_each_of_its_paths() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"one two\"}\n{\"text\": \"three\"}\n");
    let tokenizer = bpe();
    let pack =
        format!("pack a.jsonl --format megatron --tokenizer {tokenizer} --eos-token {END} --output out/web --yes");
    sandbox.say(&pack).ends(0);
    for path in ["out/web_text_document", "out/web_text_document.idx", "out/web_text_document.bin", "out"] {
        sandbox
            .say(&format!("info {path}"))
            .ends(0)
            .says("kind: Megatron")
            .says("documents: 2")
            .says("token type: u16");
        sandbox.say(&format!("lint {path}")).ends(0).says("No problem found in");
        sandbox.say(&format!("verify {path} --tokenizer {tokenizer}")).ends(0).says("2 documents");
        sandbox.say(&format!("browse {path} --plain")).ends(0).says("Megatron, 2 samples");
    }
    assert_eq!(sandbox.say("info out --json").ends(0).json("ok")["kind"], "megatron-folder");
    let mut tokens = sandbox.read("out/web_text_document.bin");
    tokens[..2].fill(0xff);
    sandbox.write("out/web_text_document.bin", &tokens);
    sandbox.say(&format!("verify out --tokenizer {tokenizer}")).ends(1).complains("token 0, is 65535");
    tokens.pop();
    sandbox.write("out/web_text_document.bin", &tokens);
    sandbox.say("lint out/web_text_document").ends(1).complains("the .bin file has");
    sandbox.say("repair out").ends(2).complains("pairs are repaired one by one");
    sandbox.say("repair out/web_text_document").ends(1).complains("gristmill pack");
}

#[test]
fn megatron_index_is_repaired_if_the_result_is_unambiguous() {
    let sandbox = Sandbox::new();
    text(&sandbox, 30);
    sandbox.say(&line(&format!("--eos-token {END} --output web"))).ends(0);
    let right = sandbox.read("web_text_document.idx");
    let mut wrong = right.clone();
    wrong[34 + 4 * 30 + 8..][..16].fill(0xff);
    sandbox.write("web_text_document.idx", &wrong);
    sandbox.say("lint web_text_document").ends(1);
    let dry = sandbox.say("repair web_text_document --dry-run").ends(0);
    dry.says("positions of 2 of 30 sequences, from sequence 1 on");
    assert_eq!(sandbox.read("web_text_document.idx"), wrong);
    sandbox.say("repair web_text_document").ends(0).says("Repaired");
    assert_eq!(sandbox.read("web_text_document.idx"), right);
    assert_eq!(sandbox.read("web_text_document.idx.before-repair"), wrong);
    sandbox.say("repair web_text_document.bin").ends(0).says("Nothing to do");
    sandbox.say("lint web_text_document").ends(0);
}

#[test]
fn megatron_notes_empty_text_and_reports_missing_text() {
    let sandbox = Sandbox::new();
    sandbox.write("empty.jsonl", "{\"text\": \"one\"}\n{\"text\": \"\"}\n");
    sandbox.write("missing.jsonl", "{\"text\": \"one\"}\n{\"other\": 1}\n{\"text\": null}\n");
    let pack = |input: &str| {
        let tokenizer = bpe();
        format!("pack {input}.jsonl --format megatron --tokenizer {tokenizer} --eos-token {END} --output {input} --yes")
    };
    sandbox.say(&pack("empty")).ends(0).says("1  its text is empty");
    let ran = sandbox.say(&pack("missing")).ends(1).complains("line 2").complains("it has no text");
    assert!(ran.err.contains("line 3") && ran.err.contains("its text is null"), "{}", ran.err);
}
