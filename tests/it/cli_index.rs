//! `gristmill index` as typed by a user.

use super::cli_support::Sandbox;

#[test]
fn existing_raw_index_is_replaced_only_with_the_override_policy() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{\"text\": \"x\"}\n{}\n");
    let ran = sandbox.say("index a.jsonl --format modalities --dry-run").ends(0).says("Would index a.jsonl: 2 samples");
    ran.says("Would be written: a.idx (");
    assert!(!sandbox.has("a.idx"));
    let value = sandbox.say("index a.jsonl --format modalities --json").ends(0).json("ok");
    assert_eq!((&value["samples"], &value["written"][0]["name"]), (&2.into(), &"a.idx".into()));
    assert_eq!(value["equivalent_command"], "gristmill index a.jsonl --format modalities");
    assert!(sandbox.has("a.idx") && !sandbox.has("a.idx.gristmill"));
    sandbox.say("index a.jsonl --format modalities").ends(1).complains("--file-existence-policy");
    sandbox.say("index a.jsonl --format modalities --file-existence-policy skip").ends(0).says("left alone");
    sandbox.say("index a.jsonl --format modalities --file_existence_policy override").ends(0).says("replacing");
    sandbox.say("index a.jsonl --format modalities --index_path x/y/b.idx").ends(0);
    assert_eq!(sandbox.read("x/y/b.idx"), sandbox.read("a.idx"));
}

#[test]
fn bad_lines_end_in_exit_code_one_with_and_without_an_index() {
    let sandbox = Sandbox::new();
    sandbox.write("a.jsonl", "{}\nnope\n\n[1]\n");
    let ran = sandbox.say("index a.jsonl --format modalities").ends(1).complains("2 of 4 lines are not JSON");
    assert!(ran.err.contains("line 2") && ran.err.contains("line 3"), "{}", ran.err);
    assert!(!sandbox.has("a.idx"));
    sandbox.say("index a.jsonl --format modalities --skip-bad-lines --compat").ends(2);
    let value = sandbox.say("index a.jsonl --format modalities --skip-bad-lines --json").ends(1).json("problems");
    assert_eq!((&value["samples"], &value["skipped_lines"]), (&2.into(), &2.into()));
    sandbox
        .say("index a.jsonl --format modalities --file-existence-policy override --skip-bad-lines --problems-ok")
        .ends(0);
    sandbox.write("empty.jsonl", "");
    sandbox.say("index empty.jsonl --format modalities").ends(1).complains("empty");
    let ran = sandbox.say("index some.parquet --format modalities");
    ran.ends(3).complains("no such file");
    std::fs::copy(super::cli_support::golden_dir("../parquet/p21_dedup/input/a.parquet"), sandbox.path("some.parquet"))
        .unwrap();
    let ran = sandbox.say("index some.parquet --format modalities").ends(1).complains("it holds rows of Parquet");
    ran.complains("gristmill pack some.parquet --format modalities");
    assert!(!sandbox.has("some.idx"));
}

#[test]
fn index_writes_a_raw_index_for_each_file_of_a_folder() {
    let sandbox = Sandbox::new();
    sandbox.write("d/a.jsonl", "{}\n[1]\n");
    sandbox.write("d/deep/b.jsonl", "{}\n");
    sandbox.write("d/bad.jsonl", "nope\n");
    sandbox.write("d/packed.jsonl.gz", b"\x1f\x8b");
    sandbox.write("c.jsonl", "1\n2\n3\n");
    let ran = sandbox.say("index d c.jsonl --format modalities --json").ends(1).complains("bad.jsonl");
    let value = ran.json("refused");
    let samples: Vec<u64> =
        value["indexes"].as_array().unwrap().iter().map(|index| index["samples"].as_u64().unwrap()).collect();
    assert_eq!(samples, [2, 1, 3]);
    assert!(ran.err.contains("packed.jsonl.gz"), "{}", ran.err);
    for name in ["d/a.idx", "d/deep/b.idx", "c.idx"] {
        assert!(sandbox.has(name), "{name}");
    }
    assert!(!sandbox.has("d/bad.idx"));
    std::fs::remove_file(sandbox.path("d/bad.jsonl")).unwrap();
    let again = "index d c.jsonl --format modalities --file-existence-policy skip --json";
    let value = sandbox.say(again).ends(0).json("ok");
    assert_eq!(value["indexes"].as_array().unwrap().len(), 3);
    let command = "gristmill index d c.jsonl --format modalities --file-existence-policy skip";
    assert_eq!(value["equivalent_command"], command);
}

#[test]
fn forager_index_is_published_completely_and_not_replaced() {
    let sandbox = Sandbox::new();
    sandbox.write("d/b10.jsonl", "1\n\n");
    sandbox.write("d/b9.jsonl", "x");
    sandbox.write("d/.hidden.jsonl", "x");
    let value = sandbox.say("index d --format forager --json --threads 2").ends(0).json("ok");
    assert_eq!((&value["samples"], &value["files"]), (&3.into(), &2.into()));
    assert_eq!(sandbox.read("d/index/file_location.txt"), b"b9.jsonl\nb10.jsonl\n");
    assert_eq!(sandbox.read("d/index/sample_locations.bin").len(), 72);
    assert!(!sandbox.has("d/index.gristmill"));
    sandbox.say("index d --format forager").ends(1).complains("an index exists already");
    sandbox.say("index d --format forager --index-folder other").ends(0);
    assert!(sandbox.has("d/other/file_location.txt"));
}

#[test]
fn invalid_index_flags_are_usage_errors() {
    let sandbox = Sandbox::new();
    sandbox.write("d/a.jsonl", "1\n");
    sandbox.write("none/a.txt", "1\n");
    for words in [
        "index d/a.jsonl",
        "index none --format modalities",
        "index d d --format forager",
        "index d --format modalities --index-path x.idx",
        "index d/a.jsonl --format forager",
        "index none --format forager",
        "index d --format forager --skip-bad-lines",
        "index d/a.jsonl --format modalities --index-folder x",
        "index d --format forager --index-folder ../x",
        "index d/a.jsonl --format modalities --index-path d/a.jsonl",
    ] {
        sandbox.say(words).ends(2);
    }
    sandbox.say("index none --format forager").ends(2).complains("the index is of files whose names end in .jsonl");
    sandbox.say("index no.jsonl --format modalities").ends(3);
}

#[test]
fn a_saved_plan_indexes_the_same_files_from_any_folder() {
    let sandbox = Sandbox::new();
    sandbox.write("d/a.jsonl", "1\n2\n");
    sandbox.write("d/b.jsonl", "3\n");
    sandbox.say("index d --format modalities --save-plan plan.yaml --dry-run").ends(0);
    assert!(!sandbox.has("d/a.idx"));
    sandbox.say("run plan.yaml").ends(0).says("a.jsonl: 2 samples");
    sandbox.say("run plan.yaml").ends(1).complains("--file-existence-policy");
    sandbox.say("run plan.yaml --force-overwrite").ends(0).says("replacing");
}
