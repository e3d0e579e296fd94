//! A single shard, very many shards, and prompts that appear for certain data only.

use super::super::cli_prompts::Dialogue;
use super::*;

/// Returns a data set of two shards that both have the key `2`.
fn with_duplicates() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["1", "2"]);
    sandbox.tar("data/b.tar", ["2", "3"]);
    sandbox
}

#[test]
fn single_shard_is_browsed_described_and_linted() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["1", "2", "3"]);
    sandbox.tar("data/b.tar", ["4"]);
    let report = is_clean(&sandbox.say("info data/a.tar --json"));
    assert_eq!((&report["samples"], &report["shards"]), (&3.into(), &1.into()));
    assert_eq!(report["parts"]["txt"]["samples"], 3);
    sandbox.say("info data/a.tar").ends(0).says("samples: 3").says("json: in 3 samples");
    let report = is_clean(&sandbox.say("lint data/a.tar --json"));
    assert_eq!((&report["samples"], &report["parts"]), (&3.into(), &6.into()));
    let report = is_clean(&sandbox.say("browse data/a.tar --json"));
    assert_eq!((&report["samples"], &report["groups"], &report["is_complete"]), (&3.into(), &1.into(), &true.into()));
    assert_eq!(report["listed"][2]["key"], "3");
    sandbox.say("browse data/a.tar --sample 2").ends(0).says("2 in a.tar");
    let written: Vec<_> = std::fs::read_dir(sandbox.path("data")).unwrap().collect();
    assert_eq!(written.len(), 2, "nothing is written");
}

#[test]
fn lint_and_info_find_problems_of_a_single_shard() {
    let sandbox = case("T06");
    names(&entries(&sandbox.say("lint gnu/s.tar --json").json("problems"), "problem"), &["sparse-entry", "s.tar"]);
    names(&entries(&sandbox.say("info gnu/s.tar --json").json("problems"), "problem"), &["sparse-entry"]);
    sandbox.tar("twice.tar", ["1", "2", "1"]);
    let ran = sandbox.say("lint twice.tar --json");
    names(&entries(&ran.json("problems"), "problem"), &["twice.tar", "'1'"]);
    sandbox.write("text.tar", "this is no archive");
    assert_eq!(sandbox.say("lint text.tar --json").code, 1);
    assert_eq!(sandbox.say("lint missing.tar --json").code, 3);
    sandbox.say("prepare twice.tar --yes --split-ratio 1,0,0 --skip-dataset-yaml").ends(2).complains("single shard");
}

#[test]
fn very_many_shards_are_noted_by_info_and_lint() {
    let sandbox = Sandbox::new();
    let note = |shards: usize, command: &str| {
        let counts: Vec<String> = (0..shards).map(|n| format!("\"s_{n:05}.tar\": 1")).collect();
        let info = format!("{{\"energon_version\": \"7.4.1\", \"shard_counts\": {{{}}}}}", counts.join(","));
        sandbox.write("data/.nv-meta/.info.json", info);
        let report = sandbox.say(&format!("{command} data --json")).json("problems");
        entries(&report, "note").contains("many-shards")
    };
    assert!(note(10_001, "info") && note(10_001, "lint"));
    assert!(!note(10_000, "info"));
}

#[test]
fn prompts_offer_choices_for_duplicate_keys() {
    let sandbox = with_duplicates();
    let line = "prepare data --plain --split-ratio 1,0,0 --skip-dataset-yaml";
    let mut dialogue = Dialogue::start(&sandbox, line, "xterm");
    dialogue.expect("Leave out shards").answer("");
    dialogue.expect("Exclude one sample").answer("");
    dialogue.expect("'2'").expect("Keys must be unique").expect("stop").expect("keep the first").expect("Number");
    dialogue.answer("1").expect("Not possible").expect("What now?").expect("4  decide about keys").expect("Number");
    dialogue.answer("4").expect("Keys must be unique").expect("Number").answer("2");
    dialogue.expect("--duplicates keep-first").expect("What now?").expect("1  write it").expect("Number").answer("1");
    dialogue.expect("Prepared data");
    dialogue.ends(1);
    assert!(sandbox.text("data/.nv-meta/split.yaml").contains("b.tar/2"));
}

#[test]
fn prompts_ask_about_compressed_shards_and_empty_splits() {
    let sandbox = Sandbox::new();
    sandbox.tar("data/a.tar", ["1"]);
    sandbox.tar("b.tar", ["2"]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &sandbox.read("b.tar")).unwrap();
    sandbox.write("data/b.tgz", gzip.finish().unwrap());
    let mut dialogue = Dialogue::start(&sandbox, "prepare data --plain --skip-dataset-yaml", "xterm");
    dialogue.expect("1 compressed shard (.tgz)").expect("Number").answer("2");
    dialogue.expect("Leave out shards").answer("");
    dialogue.expect("Exclude one sample").answer("");
    dialogue.expect("How should the shards be divided?").expect("Number").answer("2");
    dialogue.expect("Pattern for train").answer(".*").expect("Pattern for val").answer("no");
    dialogue.expect("Pattern for test").answer("").expect("further split").answer("").expect("Shuffle").answer("y");
    dialogue.expect("Not possible").expect("Accept splits without shards?").answer("y");
    dialogue.expect("Use this division?").answer("y");
    dialogue.expect("--shuffle-tars").expect("What now?").expect("Number").answer("1").expect("Prepared data");
    dialogue.ends(0);
    let splits = sandbox.text("data/.nv-meta/split.yaml");
    assert!(splits.contains("val: []") && splits.contains("b.tar"), "{splits}");
}

#[test]
fn prompts_name_files_that_look_like_shards() {
    let sandbox = case("N01");
    let mut dialogue = Dialogue::start(&sandbox, "prepare . --plain", "xterm");
    dialogue.expect("C.TAR").expect("b.tar.gz").expect("e.tar.zst").expect("Leave out shards");
    assert!(dialogue.text().contains("--tgz rewrite"), "{}", dialogue.text());
}
