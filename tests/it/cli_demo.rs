//! The demo: written once, prepared at once, and never written over other files.

use super::cli_support::Sandbox;

#[test]
fn demo_writes_and_prepares_a_data_set_without_a_terminal() {
    let sandbox = Sandbox::new();
    let ran = sandbox
        .say("demo --yes")
        .ends(0)
        .says("Wrote the demo to gristmill-demo")
        .says("6 shards, 300 samples, 899 parts");
    assert!(ran.out.contains("train       4      200"), "{}", ran.out);
    for name in [
        ".nv-meta/.info.json",
        ".nv-meta/index.sqlite",
        ".nv-meta/index.uuid",
        "corpus.jsonl",
        "shards/pictures_0000.tar.idx",
    ] {
        assert!(sandbox.has(&format!("gristmill-demo/{name}")), "{name}");
    }
    let yaml = sandbox.text("gristmill-demo/.nv-meta/dataset.yaml");
    assert!(yaml.contains("image: jpg,png,webp\n  caption: json[caption][long],txt\n"), "{yaml}");
    assert!(sandbox.text("gristmill-demo/.nv-meta/split.yaml").contains("- shards/pictures_{0000..0003}.tar"));
    sandbox.say("lint gristmill-demo").ends(0).says("No problem found");
    sandbox.say("verify gristmill-demo").ends(0).says("300 samples");
}

#[test]
fn demo_without_a_terminal_needs_no_yes() {
    let sandbox = Sandbox::new();
    sandbox.say("demo here").ends(0);
    assert!(sandbox.has("here/.nv-meta/.info.json"));
}

#[test]
fn repeated_demo_does_nothing() {
    let sandbox = Sandbox::new();
    sandbox.say("demo --yes").ends(0);
    let before = sandbox.read("gristmill-demo/.nv-meta/index.uuid");
    sandbox.say("demo --yes").ends(0).says("already").says("Nothing to do");
    assert_eq!(before, sandbox.read("gristmill-demo/.nv-meta/index.uuid"));
}

#[test]
fn an_interrupted_demo_is_completed() {
    let sandbox = Sandbox::new();
    sandbox.say("demo --yes").ends(0);
    let whole = sandbox.read("gristmill-demo/shards/pictures_0003.tar");
    std::fs::remove_dir_all(sandbox.path("gristmill-demo/.nv-meta")).unwrap();
    std::fs::remove_file(sandbox.path("gristmill-demo/shards/pictures_0003.tar")).unwrap();
    std::fs::remove_file(sandbox.path("gristmill-demo/corpus.jsonl")).unwrap();
    sandbox.say("demo --yes").ends(0).says("6 shards, 300 samples");
    assert_eq!(whole, sandbox.read("gristmill-demo/shards/pictures_0003.tar"), "the same bytes each time");
}

#[test]
fn demo_refuses_a_folder_with_other_files() {
    let sandbox = Sandbox::new();
    sandbox.write("theirs/thesis.tex", "x");
    sandbox.say("demo theirs --yes").ends(1).complains("not a demo").complains("hint: name another folder");
    assert_eq!(std::fs::read_dir(sandbox.path("theirs")).unwrap().count(), 1);
    sandbox.write("file", "x");
    sandbox.say("demo file --yes").ends(1).complains("not a folder");
}

#[test]
fn demo_writes_into_an_empty_folder() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    sandbox.say("demo empty --yes").ends(0);
}

#[test]
fn a_dry_demo_writes_nothing() {
    let sandbox = Sandbox::new();
    sandbox.say("demo --dry-run").ends(0).says("pictures_0005.tar");
    assert!(!sandbox.has("gristmill-demo"));
}

#[test]
fn demo_shows_its_result_as_json() {
    let sandbox = Sandbox::new();
    let ran = sandbox.say("demo --json").ends(0);
    let value = ran.json("ok");
    assert_eq!(value["samples"], 300);
    assert_eq!(value["counts"]["note"]["unnamed-entry"], 1, "the odd entry is a note");
    assert_eq!(value["demo_files_written"].as_array().unwrap().len(), 7);
}

#[test]
fn demo_corpus_has_one_object_per_line_in_many_languages() {
    let sandbox = Sandbox::new();
    sandbox.say("demo --yes").ends(0);
    let text = sandbox.text("gristmill-demo/corpus.jsonl");
    let mut languages = std::collections::BTreeSet::new();
    for line in text.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(!value["text"].as_str().unwrap().is_empty());
        languages.insert(value["metadata"]["language"].as_str().unwrap().to_owned());
    }
    assert!(text.lines().count() >= 300 && languages.len() >= 6, "{languages:?}");
}

#[test]
fn preview_shows_the_first_sample_of_the_demo() {
    let sandbox = Sandbox::new();
    sandbox.say("demo --yes").ends(0);
    let ran = sandbox.say("energon preview gristmill-demo").ends(0).says("image: 256×192 JPEG RGB").says("caption: ");
    let picture: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("    ")).collect();
    assert!(picture.len() >= 20 && picture.iter().all(|line| line.is_ascii()), "{}", ran.out);
}
