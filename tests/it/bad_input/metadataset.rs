//! Metadatasets that loaders reject: each mistake is reported once, at its line and column, and nothing is written.

use super::sandbox::Sandbox;
use super::tars::{archive, samples};
use crate::support::{picture, put};

const HEAD: &str = "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n  train:\n";

/// Returns a sandbox with two prepared data sets of six samples, a raw one, and an indexed JSONL file.
fn house() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in ["a", "b", "raw"] {
        put(&sandbox.at(format!("{name}/s.tar")), &archive(&samples(name, 6)));
    }
    put(&sandbox.at("l.jsonl"), b"{}\n{}\n");
    for name in ["a", "b"] {
        let rest = ["--yes", "--split-ratio", "1,0,0", "--sample-type", "CrudeWebdataset"];
        assert_eq!(sandbox.run(["prepare", name].into_iter().chain(rest)).code, 0);
    }
    assert_eq!(sandbox.run(["prepare", "l.jsonl"]).code, 0);
    put(&sandbox.at("weighted.yaml"), format!("{HEAD}    blend:\n      - {{path: ./a}}\n").as_bytes());
    put(&sandbox.at("turns.yaml"), format!("{HEAD}    blend_epochized:\n      - {{path: ./a}}\n").as_bytes());
    sandbox
}

/// Body under `train:`, line of the first mistake, a word of the message.
const MISTAKES: &[(&str, u64, &str)] = &[
    ("    blend:\n      - {path: ./a, wieght: 1}\n", 6, "wieght"),
    ("    path: ./a\nextra: 1\n", 6, "extra"),
    ("    path: ./a\n    subset: {range: [50%, 10%]}\n", 6, "ends before it begins"),
    ("    path: ./a\n    subset: {range: [0, 100000]}\n", 6, "100000"),
    ("    blend_epochized:\n      - path: ./weighted.yaml\n", 6, "cannot hold a weighted one"),
    ("    blend:\n      - path: ./turns.yaml\n", 6, "cannot hold an epochized one"),
    ("    blend_epochized:\n      - blend: [{path: ./a}]\n", 6, "not 'blend'"),
    ("    blend:\n      - {path: ./a, weight: 0}\n      - {path: ./b, weight: 0}\n", 6, "'weight' is 0"),
    ("    blend:\n      - {path: ./a, weight: -1}\n", 6, "negative"),
    ("    blend:\n      - {path: ./a, weight: .nan}\n", 6, "must be a number"),
    ("    blend_epochized: [{path: ./a, repetitions: 0}]\n", 5, "'repetitions' is 0"),
    ("    blend: []\n", 5, "no member"),
    ("    blend:\n      - {path: ./nowhere}\n      - {path: ./b}\n", 6, "no such file or folder"),
    ("    path: ./raw\n", 5, "not prepared"),
    ("    path: ./self.yaml\n", 5, "in a cycle"),
    ("    path: ./a\n    split_part: nope\n", 5, "no split 'nope'"),
    ("    path: ./a\n    blend: [{path: ./b}]\n", 6, "do not go together"),
    ("    join: [{path: ./a}, {path: ./b}]\n", 5, "joiner"),
    ("    concat: [{path: ./a}]\n", 5, "needs one of"),
    ("    path: ./a\n    path: ./b\n", 6, "duplicate key"),
    ("    path: \"./a\\e[31m\\nx\"\n", 5, "no such file or folder"),
    ("    path: !!python/object/apply:os.system [\"true\"]\n", 5, "a tag"),
    ("    blend:\n      - &p {path: ./a}\n      - *p\n", 7, "an alias"),
    ("\tpath: ./a\n", 5, "tab"),
    ("    path: ./a\n    aux: {x: ./nowhere}\n", 6, "no such file or folder"),
];

#[test]
fn each_metadataset_mistake_is_reported_once_with_its_line() {
    let sandbox = house();
    for (body, line, word) in MISTAKES {
        put(&sandbox.at("self.yaml"), format!("{HEAD}{body}").as_bytes());
        let before = picture(&sandbox.data());
        let ran = sandbox.run(["prepare", "self.yaml", "--json"]);
        let error = &ran.json()["error"];
        assert!(ran.code == 1 && error["message"].as_str().unwrap().contains(word), "{body}: {ran}");
        assert_eq!(error["subject"]["line"].as_u64(), Some(*line), "{body}: {ran}");
        let ran = sandbox.run(["prepare", "self.yaml"]);
        let lines = ran.err.lines().filter(|line| line.starts_with("error: ")).count();
        let checked = sandbox.run(["mix", "check", "self.yaml", "--json"]);
        let is_mistake = |problem: &&serde_json::Value| problem["severity"] != "note";
        let mistakes = checked.json()["problems"].as_array().unwrap().iter().filter(is_mistake).count();
        assert_eq!(lines, mistakes.max(1), "one mistake is one message: {body}: {ran}");
        let ran = checked;
        assert!(ran.code == 1 && ran.json()["problems"].to_string().contains(&word.replace('"', "\\\"")), "{ran}");
        sandbox.run(["mix", "check", "self.yaml"]);
        assert!(picture(&sandbox.data()) == before, "{body}");
    }
}

#[test]
fn hostile_metadatasets_are_refused_quickly() {
    let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (name, of) in ('b'..='z').zip('a'..) {
        bomb.push_str(&format!("{name}: &{name} [{}]\n", vec![format!("*{of}"); 10].join(", ")));
    }
    let deep = format!("{HEAD}    blend: {}{}\n", "[".repeat(200_000), "]".repeat(200_000));
    let wide = format!("{HEAD}    blend:\n{}", "      - {path: ./nowhere}\n".repeat(2_000));
    let sandbox = house();
    for (what, bytes) in [
        ("a bomb", bomb.into_bytes()),
        ("deep", deep.into_bytes()),
        ("wide", wide.into_bytes()),
        ("empty", Vec::new()),
        ("a word", b"hello".to_vec()),
        ("a list", b"- 1\n".to_vec()),
        ("not text", b"\xff\xfe\0\0splits".to_vec()),
        ("another class", b"__module__: os\n__class__: system\nsplits: {train: {path: ./a}}\n".to_vec()),
        ("version 1 with no weight", b"splits: {train: {datasets: [{path: ./a, weight: 0}]}}\n".to_vec()),
    ] {
        put(&sandbox.at("self.yaml"), &bytes);
        for args in [vec!["prepare"], vec!["mix", "check"], vec!["lint"], vec!["info"]] {
            let ran = sandbox.run(args.iter().chain(&["self.yaml", "--json"]));
            assert_eq!(ran.code, 1, "{what}, {args:?}: {ran}");
            let ran = sandbox.run(args.iter().chain(&["self.yaml"]));
            assert!(ran.err.contains("error: ") && ran.err.lines().count() < 100, "{what}, {args:?}: {ran}");
        }
    }
}
