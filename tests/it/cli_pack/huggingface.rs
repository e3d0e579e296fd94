//! Splits of folders and of saved data sets: the bytes of the reference programs, refusals and reports.

use super::{golden, Case, END};
use crate::cli_support::Sandbox;
use serde_json::Value;

#[test]
fn huggingface_tokens_equal_reference_for_any_threads_and_memory() {
    let cases = [
        "p04_nanotron_hf",
        "p05_nanotron_hf_split_column",
        "p06_rows_dealt",
        "p07_saved_to_disk",
        "p09_readme_configs",
        "p14_hf_jsonl",
        "p15_arrow_files",
        "p16_matched_twice",
        "p17_matched_twice_once",
        "p23_split_train_only_files",
    ];
    for case in cases {
        let name = format!("huggingface/{case}");
        let facts: Value = serde_json::from_slice(&std::fs::read(golden(&name).join("case.json")).unwrap()).unwrap();
        let words = facts["gristmill"][0].as_array().unwrap();
        for (threads, memory) in [("1", "64M"), ("2", "256M"), ("7", "1G")] {
            let mut words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
            words.splice(0..0, ["--threads", threads, "--memory", memory]);
            let case = Case::new(&name);
            case.run(&words).ends(0);
            case.is_as_expected("expected");
        }
    }
}

#[test]
fn ids_of_a_large_vocabulary_have_four_bytes() {
    let case = Case::new("huggingface/p10_wide_ids");
    let base = std::fs::read(golden("huggingface/tokenizers/bpe1k.json")).unwrap();
    let mut tokenizer: Value = serde_json::from_slice(&base).unwrap();
    const ENTRIES: usize = 70_000;
    let added = tokenizer["added_tokens"].as_array_mut().unwrap();
    let last = serde_json::json!({
        "id": ENTRIES - 1, "content": "<|last|>", "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true,
    });
    added.push(last);
    let taken: Vec<u64> = added.iter().map(|token| token["id"].as_u64().unwrap()).collect();
    let vocabulary = tokenizer["model"]["vocab"].as_object_mut().unwrap();
    let taken = taken
        .into_iter()
        .take_while(|id| *id < ENTRIES as u64 - 1)
        .chain(vocabulary.values().filter_map(Value::as_u64));
    let first = usize::try_from(taken.max().unwrap()).unwrap() + 1;
    (first..ENTRIES - 1).for_each(|id| {
        vocabulary.insert(format!("<dummy_{id}>"), id.into());
    });
    // The folder of the tokenizers is a link.
    std::fs::remove_file(case.sandbox.path("tokenizers")).unwrap();
    case.sandbox.write("tokenizers/bpe70k.json", serde_json::to_vec(&tokenizer).unwrap());
    let facts: Value =
        serde_json::from_slice(&std::fs::read(golden("huggingface/p10_wide_ids/case.json")).unwrap()).unwrap();
    let words: Vec<&str> =
        facts["gristmill"][0].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    case.run(&words).ends(0);
    case.is_as_expected("expected");
}

/// Returns a sandbox with files of two lines each, and a tokenizer.
fn folder(names: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    for name in names {
        let lines: String = (1..=2).map(|row| format!("{{\"text\": \"{name} {row}\"}}\n")).collect();
        sandbox.write(&format!("in/{name}"), lines);
    }
    sandbox.write("t.json", std::fs::read(golden("huggingface/tokenizers/bpe1k.json")).unwrap());
    sandbox
}

const PACK: [&str; 10] =
    ["pack", "in", "--format", "nanosets", "--tokenizer", "t.json", "--eos-token", END, "--tasks", "1"];

fn words<'w>(more: &[&'w str]) -> Vec<&'w str> {
    [&PACK[..], more].concat()
}

#[test]
fn packed_splits_and_slices_equal_their_lines() {
    let sandbox = folder(&["train-0.jsonl", "train-1.jsonl", "val.jsonl"]);
    for (number, (split, lines)) in [
        ("train", &["train-0.jsonl 1", "train-0.jsonl 2", "train-1.jsonl 1", "train-1.jsonl 2"][..]),
        ("train[1:3]", &["train-0.jsonl 2", "train-1.jsonl 1"]),
        ("validation[50%:] + train[:-3]", &["val.jsonl 2", "train-0.jsonl 1"]),
        ("train[3:]+train[3:]", &["train-1.jsonl 2", "train-1.jsonl 2"]),
        (
            "all",
            &["train-0.jsonl 1", "train-0.jsonl 2", "train-1.jsonl 1", "train-1.jsonl 2", "val.jsonl 1", "val.jsonl 2"],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let text: String = lines.iter().map(|line| format!("{{\"text\": \"{line}\"}}\n")).collect();
        sandbox.write("lines.jsonl", text);
        let (ours, same) = (format!("a{number}"), format!("b{number}"));
        sandbox.run(words(&["--split", split, "--output", &ours])).ends(0);
        let mut plain = words(&["--output", &same]);
        plain[1] = "lines.jsonl";
        sandbox.run(plain).ends(0);
        let file = "00000_unshuffled.ds";
        assert!(sandbox.read(&format!("{ours}/{file}")) == sandbox.read(&format!("{same}/{file}")), "{split}");
    }
    sandbox.run(words(&["--output", "plain"])).ends(0).complains("all files are read: train, validation");
    let hint = "did you mean train? each split: train, validation";
    sandbox.run(words(&["--split", "trian", "--output", "o"])).ends(2).complains(hint);
    sandbox.run(words(&["--split", "train[1]", "--output", "o"])).ends(2).complains("the slice has no colon");
    sandbox.run(words(&["--subset", "x", "--output", "o"])).ends(2).complains("there is no subset x");
    sandbox.run(words(&["--split", "train", "--glob", "*", "--output", "o"])).ends(2);
}

#[test]
fn split_with_lost_or_shared_files_is_a_problem() {
    for (names, says) in [
        (&["train.val.jsonl", "train.jsonl"][..], "it is in split train and in split validation"),
        (
            &["train.jsonl", "train-2.jsonl", "train.csv"],
            "it is left out: most files of split train have another ending",
        ),
        (&["data/train-00001-of-00003.jsonl"], "2 files of 3 missing in split train: data/train-00000-of-00003.jsonl"),
    ] {
        let sandbox = folder(names);
        sandbox.run(words(&["--split", "train", "--output", "o"])).ends(1).complains(says);
        assert!(sandbox.has("o/00000_unshuffled.ds"));
    }
    let sandbox = folder(&["train.jsonl", "train-2.jsonl", "train.csv"]);
    let tool = [
        "nanotron",
        "preprocess_data",
        "--tokenizer",
        "t.json",
        "--output",
        "o",
        "--logging-dir",
        "l",
        "--n-tasks",
        "1",
    ];
    sandbox.run([&tool[..], &["hf", "--dataset", "in"]].concat()).ends(0).complains("another ending");
    sandbox
        .run([&tool[..], &["hf", "--dataset", "in", "--split", "x"]].concat())
        .ends(2)
        .complains("each split: train");
    sandbox.run([&tool[..], &["hf", "--dataset", "in/train.jsonl"]].concat()).ends(0);
    sandbox.run([&tool[..], &["hf", "--dataset", "nowhere"]].concat()).ends(2).complains("no such folder or file");
}

#[test]
fn a_saved_data_set_of_several_splits_needs_a_choice() {
    let sandbox = folder(&["train/b.jsonl", "train/a.jsonl", "other/c.jsonl"]);
    sandbox.write("in/dataset_dict.json", r#"{"splits": ["train", "other"]}"#);
    sandbox.write("in/train/state.json", r#"{"_data_files": [{"filename": "b.jsonl"}, {"filename": "a.jsonl"}]}"#);
    sandbox.run(words(&["--split", "train", "--output", "o"])).ends(1).complains("other/state.json");
    sandbox.write("in/other/state.json", r#"{"_data_files": [{"filename": "c.jsonl"}]}"#);
    sandbox.run(words(&["--output", "o"])).ends(2).complains("--split train, other");
    sandbox.run(words(&["--split", "other", "--output", "other"])).ends(0);
    sandbox.run(words(&["--split", "train[1:2]", "--output", "second"])).ends(0);
    let mut alone = words(&["--output", "alone"]);
    alone[1] = "in/train/b.jsonl";
    sandbox.run(words(&["--split", "train[:2]", "--output", "first"])).ends(0);
    sandbox.run(alone).ends(0);
    let file = "00000_unshuffled.ds";
    assert!(sandbox.read(&format!("first/{file}")) == sandbox.read(&format!("alone/{file}")));
}

#[test]
fn invalid_card_is_refused_and_ignored_with_glob() {
    let sandbox = folder(&["a.jsonl"]);
    sandbox.write("in/README.md", "---\nconfigs: [\n---\n");
    sandbox.run(words(&["--split", "train", "--output", "o"])).ends(1).complains("in/README.md");
    sandbox.run(words(&["--glob", "*.jsonl", "--output", "o"])).ends(0);
}

#[test]
fn cut_arrow_files_are_a_problem_with_deal_and_slices() {
    let whole = std::fs::read(golden("arrow/p07_saved_to_disk").join("input/data-00000-of-00003.arrow")).unwrap();
    let bpe = golden("huggingface/tokenizers/bpe1k.json");
    for more in [&["--deal", "rows"][..], &["--deal", "blocks"], &["--split", "train[:100%]"]] {
        for (cut, lost) in [(8, "the stream has no end mark"), (whole.len() / 4, "the stream has no end mark")] {
            let sandbox = Sandbox::new();
            sandbox.write("in/a.arrow", &whole[..whole.len() - cut]);
            let words = ["pack", "in", "--format", "nanosets", "--tokenizer", bpe.to_str().unwrap(), "--output", "o"];
            sandbox.run([&words[..], more].concat()).ends(1).complains(lost);
        }
    }
}
