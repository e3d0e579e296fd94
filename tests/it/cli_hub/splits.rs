//! Splits and subsets of data sets of the hub.

use super::{pack_words, HubTest};

pub(super) fn hub_test() -> HubTest {
    let test = HubTest::new();
    test.put("o/s/data/train-00000-of-00002.jsonl", b"{\"text\": \"first\"}\n{\"text\": \"second\"}\n");
    test.put("o/s/data/train-00001-of-00002.jsonl", b"{\"text\": \"third\"}\n");
    test.put("o/s/data/test-00000-of-00001.jsonl", b"{\"text\": \"fourth\"}\n");
    let card =
        "---\nconfigs:\n- config_name: en\n  data_files: en.jsonl\n- config_name: de\n  data_files: de.jsonl\n---\n";
    test.put("o/c/README.md", card.as_bytes());
    test.put("o/c/en.jsonl", b"{\"text\": \"english\"}\n");
    test.put("o/c/de.jsonl", b"{\"text\": \"deutsch\"}\n{\"text\": \"mehr\"}\n");
    test
}

fn pack(test: &HubTest, address: &str, input: &str, more: &[&str]) -> super::RunOutput {
    let mut words = pack_words(input, "out");
    words.extend(more.iter().map(|word| (*word).to_owned()));
    test.run(address, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn one_of_several_splits_must_be_chosen_and_only_its_files_are_downloaded() {
    let test = hub_test();
    let server = test.serve(&[]);
    let refused = pack(&test, &server.address, "hf://datasets/o/s", &[]);
    refused.ends(2).complains("the data set has several splits").complains("--split train, test");
    let missing = pack(&test, &server.address, "hf://datasets/o/s", &["--split", "tests"]);
    missing.ends(2).complains("test");
    pack(&test, &server.address, "hf://datasets/o/s", &["--split", "train"]).ends(0).says("3 documents");
    let asked = |name: &str| server.requests().iter().any(|request| request.to_string().contains(name));
    assert!(asked("train-00001-of-00002.jsonl") && !asked("test-00000-of-00001.jsonl"));
    pack(&test, &server.address, "hf://datasets/o/s", &["--split", "train[:1]+test", "--force-overwrite"])
        .ends(0)
        .says("2 documents");
}

#[test]
fn subset_is_selected_by_its_name_in_the_card() {
    let test = hub_test();
    let server = test.serve(&[]);
    pack(&test, &server.address, "hf://datasets/o/c", &[]).ends(2).complains("en").complains("--subset");
    pack(&test, &server.address, "hf://datasets/o/c", &["--subset", "de"]).ends(0).says("2 documents");
}

#[test]
fn default_subset_is_read_by_default_and_an_invalid_card_ends_the_run() {
    let test = hub_test();
    let card = "---\nconfigs:\n- config_name: default\n  data_files: en.jsonl\n- config_name: de\n  data_files: de.jsonl\n---\n";
    test.put("o/d/README.md", card.as_bytes());
    test.put("o/d/en.jsonl", b"{\"text\": \"english\"}\n");
    test.put("o/d/de.jsonl", b"{\"text\": \"deutsch\"}\n{\"text\": \"mehr\"}\n");
    test.put("o/w/README.md", b"---\nconfigs:\n- config_name: default\n  data_files: tset.jsonl\n---\n");
    test.put("o/w/train.jsonl", b"{\"text\": \"a\"}\n");
    test.put("o/w/test.jsonl", b"{\"text\": \"b\"}\n");
    let server = test.serve(&[]);
    pack(&test, &server.address, "hf://datasets/o/d", &[]).ends(0).says("1 document");
    pack(&test, &server.address, "hf://datasets/o/w", &[]).ends(1).complains("tset.jsonl, which does not exist");
    let both = pack(&test, &server.address, "hf://datasets/o/d", &["--split", "train", "hf://datasets/o/s"]);
    both.ends(2).complains("a split or subset is of one data set");
}

#[test]
fn nanotron_drop_in_accepts_a_hub_data_set_name() {
    let test = hub_test();
    let server = test.serve(&[]);
    let tokenizer = super::tokenizer();
    let words = |dataset: &'static str| {
        let tokenizer = tokenizer.to_str().unwrap().to_owned();
        let first = ["nanotron", "preprocess_data", "--tokenizer-name-or-path"].map(str::to_owned);
        let last = ["--output-folder", "out", "--n-tasks", "1", "hf", "--dataset", dataset].map(str::to_owned);
        [first.as_slice(), &[tokenizer], last.as_slice()].concat()
    };
    let run = |dataset| test.run(&server.address, &words(dataset).iter().map(String::as_str).collect::<Vec<_>>());
    run("o/s").ends(0);
    assert!(test.sandbox.has("out/00000_unshuffled.ds"));
    run("nowhere").ends(2).complains("there is no such folder or file");
}
