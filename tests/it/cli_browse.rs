//! `browse` without a full screen: a few samples, line by line or as one object.

use super::cli_support::Sandbox;

#[test]
fn browse_prints_first_samples_of_every_kind() {
    let sandbox = Sandbox::new();
    sandbox.tar("raw/a.tar", ["x/1", "x/2"]);
    sandbox.write("c.jsonl", "{\"a\":1}\n{\"a\":2}\n");
    sandbox.write("media/one.png", Sandbox::png(3, 2));
    sandbox.say("browse raw").ends(0).says("2 samples, 1 shard").says("0 x/1 in a.tar");
    sandbox.say("browse c.jsonl --plain").ends(0).says("2 samples, 1 file").says("1 1 in c.jsonl");
    sandbox.say("browse media").ends(0).says("1 sample, 1 folder").says("one");
}

#[test]
fn browse_json_lists_the_requested_sample() {
    let sandbox = Sandbox::new();
    sandbox.tar("raw/a.tar", ["1", "2", "3"]);
    let value = sandbox.say("browse raw --json --number 1").ends(0).json("ok");
    assert_eq!(value["samples"], 3);
    assert_eq!(value["listed"].as_array().unwrap().len(), 1);
    assert_eq!((&value["listed"][0]["key"], &value["listed"][0]["number"]), (&"2".into(), &1.into()));
}

#[test]
fn browse_finds_a_sample_by_key_or_number() {
    let sandbox = Sandbox::new();
    sandbox.tar("raw/a.tar", ["1", "2"]);
    sandbox.tar("raw/b.tar", ["3"]);
    sandbox.say("browse raw --sample 3").ends(0).says("2 3 in b.tar");
    sandbox.say("browse raw --sample a.tar/2").ends(0).says("1 2 in a.tar");
    sandbox.say("browse raw --sample unknown").ends(2).complains("no sample has this key");
    sandbox.say("browse raw --number 3").ends(2).complains("3 samples");
    sandbox.say("browse raw --number 1 --sample 3").ends(2).complains("cannot be used with");
}

#[test]
fn browse_of_unsupported_path_is_refused_with_supported_kinds() {
    let sandbox = Sandbox::new();
    sandbox.write("note.txt", "hello");
    sandbox.say("browse note.txt").ends(2).complains("give a folder of tar shards");
    sandbox.say("browse nothing").ends(3).complains("no such file or folder");
}

#[test]
fn missing_shard_of_a_brace_range_is_refused_by_name() {
    let sandbox = Sandbox::new();
    sandbox.tar("in/s_0.tar", ["a"]);
    sandbox.tar("in/s_2.tar", ["b"]);
    sandbox.say("browse in/s_{0..2}.tar").ends(3).complains("s_1.tar").complains("shards is missing");
    sandbox.say("mount in/s_{0..2}.tar at --dry-run").ends(3).complains("s_1.tar");
    sandbox.tar("in/s_1.tar", ["c"]);
    sandbox.say("browse in/s_{0..2}.tar").ends(0).says("3 samples, 3 shards");
    // A folder with the name of a tar.
    std::fs::remove_file(sandbox.path("in/s_1.tar")).unwrap();
    std::fs::create_dir(sandbox.path("in/s_1.tar")).unwrap();
    sandbox.say("browse in/s_{0..2}.tar").ends(1).says("shard s_1.tar");
}

#[test]
fn hostile_names_are_printed_as_visible_signs() {
    let sandbox = Sandbox::new();
    sandbox.tar("raw/a.tar", ["k\u{1b}[31m"]);
    let ran = sandbox.say("browse raw").ends(0).says("k␛[31m");
    assert!(!ran.out.contains('\u{1b}'));
}

#[test]
fn browse_decodes_packed_tokens_with_given_tokenizer() {
    let sandbox = Sandbox::new();
    let golden = |name: &str| format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    sandbox.write("a.pbin", std::fs::read(golden("modalities/pack_bpe/expected/data.pbin")).unwrap());
    sandbox.write("c.jsonl", "{\"a\":1}\n");
    let tokenizer = golden("modalities/tokenizers/bpe1k/tokenizer.json");
    let parts = |more: &str| {
        sandbox.say(&format!("browse a.pbin --json {more}")).ends(0).json("ok")["listed"][0]["parts"].clone()
    };
    let names = |parts: &serde_json::Value| -> Vec<String> {
        parts.as_array().unwrap().iter().map(|part| part["name"].as_str().unwrap().to_owned()).collect()
    };
    let documents = sandbox.say("browse a.pbin --json").json("ok")["samples"].as_u64().unwrap();
    assert_eq!(names(&parts(&format!("--tokenizer {tokenizer}"))), ["text", "ids"]);
    let windows = sandbox.say("browse a.pbin --json --sequence-length 3").ends(0).json("ok");
    assert!(windows["samples"].as_u64().unwrap() > documents);
    sandbox.say("browse a.pbin --sequence-length 0").ends(2).complains("--sequence-length");
    sandbox.say("browse a.pbin --tokenizer nowhere.json").ends(3).complains("nowhere.json");
    sandbox.say(&format!("browse c.jsonl --tokenizer {tokenizer}")).ends(2).complains("--tokenizer");
}
