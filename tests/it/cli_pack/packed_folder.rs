//! Several inputs packed for Modalities: every command that reads accepts a folder of `.pbin` files.

use super::{bpe, jsonl, texts, END};
use crate::cli_support::Sandbox;

/// Packs a folder of two texts for Modalities.
fn packed(output: &str, more: &str) -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let texts = texts(50);
    sandbox.write("text/a.jsonl", jsonl(&texts[..30]));
    sandbox.write("text/sub/b.jsonl", jsonl(&texts[30..]));
    let line = format!("pack text --glob **/*.jsonl --tokenizer {} --eos-token {END} --output {output} {more}", bpe());
    let out = sandbox.say(&line).ends(0).out;
    let next = out.lines().find_map(|line| line.split_once("Next: gristmill ")).unwrap().1.to_owned();
    (sandbox, next)
}

#[test]
fn commands_read_a_folder_of_packed_files() {
    let (sandbox, next) = packed("tokm", "--format modalities");
    sandbox.say(&next).ends(0).says("Modalities").says("a.pbin").says("sub/b.pbin").says("documents");
    let info = sandbox.say("info tokm --json").ends(0).json("ok");
    assert_eq!((info["kind"].as_str(), info["documents"].as_u64()), (Some("packed-folder"), Some(50)));
    assert_eq!(info["files"][1]["name"], "sub/b.pbin");
    assert_eq!(info["files"][1]["documents"], 20);
    sandbox.say("lint tokm").ends(0).says("No problem found in 2 files, 50 documents");
    sandbox
        .say(&format!("verify tokm --tokenizer {}", bpe()))
        .ends(0)
        .says("No problem found in 2 files, 50 documents");
    let listed = sandbox.say("browse tokm --json").ends(0).json("ok");
    assert_eq!((listed["samples"].as_u64(), listed["groups"].as_u64()), (Some(50), Some(2)));
    assert_eq!((listed["kind"].as_str(), listed["listed"][0]["group"].as_str()), (Some("Modalities"), Some("a.pbin")));
    sandbox.say("browse tokm --number 30").ends(0).says("sub/b.pbin");
    sandbox.say("repair tokm").ends(2).complains("one by one");
}

#[test]
fn damaged_packed_file_of_a_folder_is_reported_and_others_are_read() {
    let (sandbox, _) = packed("tokm", "--format modalities");
    sandbox.write("tokm/sub/b.pbin", b"no packed file");
    for command in ["info tokm", "lint tokm", "verify tokm"] {
        sandbox.say(command).ends(1).complains("b.pbin");
    }
    let ran = sandbox.run(["info", "tokm", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(info["documents"], 30);
    sandbox.say("browse tokm").ends(1).says("file sub/b.pbin: ").says("in a.pbin");
}

#[test]
fn next_command_after_pack_works_for_each_folder_layout() {
    let (sandbox, next) = packed("text", "--format modalities");
    assert!(next.ends_with("text/a.pbin"), "{next}");
    sandbox.say(&next).ends(0).says("30");
    let (sandbox, next) = packed("both", "--format modalities --format nanosets");
    assert!(next.ends_with("both/modalities"), "{next}");
    sandbox.say(&next).ends(0).says("sub/b.pbin");
}

#[test]
fn packed_file_without_suffix_is_recognized_by_every_command() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", jsonl(texts(20)));
    let line = format!("pack a.jsonl --format modalities --tokenizer {} --eos-token {END} --output packed", bpe());
    let out = sandbox.say(&line).ends(0).out;
    let next = out.lines().find_map(|line| line.split_once("Next: gristmill ")).unwrap().1.to_owned();
    sandbox.say(&next).ends(0).says("20");
    for command in ["lint packed", "verify packed", "browse packed", "modalities shuffle packed --output other"] {
        sandbox.say(command).ends(0);
    }
    sandbox.say("info other").ends(0).says("20");
    sandbox.say("repair packed").ends(0).says("Nothing to do.");
    sandbox.say("modalities shuffle packed --output other.jsonl").ends(2).complains("other.jsonl");
}

#[test]
fn run_folders_are_never_read_as_text() {
    let sandbox = Sandbox::new();
    sandbox.write("in/a.jsonl", jsonl(texts(20)));
    let pack = format!("pack in --format nanosets --tokenizer {} --eos-token {END} --yes --output", bpe());
    sandbox.say(&format!("{pack} in/tokens")).ends(0);
    assert!(sandbox.has("in/tokens.gristmill/report.json"));
    let preview = sandbox.say(&format!("{pack} other --glob **/*.json* --dry-run --json")).ends(0).json("ok");
    assert_eq!(preview["files"], 1, "{preview}");
    sandbox.say("dedup in --minlen 5 --output clean --yes").ends(0);
    assert!(!sandbox.has("clean/tokens.gristmill"));
}
