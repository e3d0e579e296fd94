//! `count` of data sets of the hub.

use super::{tokenizer, HubTest, RunOutput};

fn count(test: &HubTest, address: &str, input: &str, more: &[&str]) -> RunOutput {
    let tokenizer = tokenizer().to_string_lossy().into_owned();
    test.run(address, &[&["count", input, "--tokenizer", &tokenizer], more].concat())
}

#[test]
fn a_data_set_is_counted_like_its_local_copy() {
    let test = HubTest::new();
    let server = test.serve(&["--leak-check"]);
    let ran = count(&test, &server.address, "hf://datasets/o/n", &["--json"]).ends(0);
    assert!(!ran.out.contains("/hf/hub") && !ran.err.contains("/hf/hub"), "{}{}", ran.out, ran.err);
    let made = ran.json("ok");
    let local = test.sandbox.path("served/o/n").to_string_lossy().into_owned();
    let wanted = count(&test, &server.address, &local, &["--json"]).ends(0).json("ok");
    assert_eq!((&made["files"], &made["total"]), (&wanted["files"], &wanted["total"]));
    assert_eq!(made["files"][0]["name"], "data/large.jsonl.gz");
    let before = server.data_requests();
    count(&test, &server.address, "hf://datasets/o/n", &[]).ends(0).says("Counted 2 files: 1,501 documents");
    assert_eq!(server.data_requests(), before, "the cache has the files");
    count(&test, &server.address, "hf://o/n/data/small.jsonl", &[]).ends(0).says("Counted 1 file: 1 document");
    count(&test, &server.address, "hf://o/n", &["--glob", "**/small*"]).ends(0).says("Counted 1 file: 1 document");
    count(&test, &server.address, "hf://o/n", &["--dry-run"]).ends(0).says("Would count the tokens of 2 files");
}

#[test]
fn all_splits_and_subsets_are_counted() {
    let test = super::splits::hub_test();
    let server = test.serve(&[]);
    count(&test, &server.address, "hf://datasets/o/s", &[]).ends(0).says("Counted 3 files: 4 documents");
    count(&test, &server.address, "hf://datasets/o/c", &[]).ends(0).says("Counted 2 files: 3 documents");
    let both = ["hf://datasets/o/c", "--glob", "**/*.jsonl"];
    count(&test, &server.address, "hf://datasets/o/s", &both).ends(0).says("Counted 5 files: 7 documents");
}

#[test]
fn count_reports_problems_with_hub_addresses() {
    let test = HubTest::new();
    test.put("o/n/data/bad.jsonl", b"{\"text\": \"good\"}\n{\"text\": \n");
    test.put("o/other/one.jsonl", b"{\n  \"text\": \"over several lines\"\n}\n");
    test.put("o/none/x.xml", b"<a/>\n");
    let server = test.serve(&[]);
    let ran = count(&test, &server.address, "hf://datasets/o/n", &[]).ends(1).says("1,502 documents");
    assert!(ran.err.contains("hf://datasets/o/n/data/bad.jsonl, line 2"), "{}", ran.err);
    let refused = count(&test, &server.address, "hf://datasets/o/other", &[]);
    assert!(refused.code == 1 && refused.err.contains("hf://datasets/o/other/one.jsonl"), "{}", refused.err);
    assert!(!ran.err.contains("/hf/hub"), "{}", ran.err);
    count(&test, &server.address, "hf://datasets/o/none", &[]).ends(2).complains("no file of documents");
    count(&test, &server.address, "hf://datasets/o/missing", &[]).ends(3).complains("there is no such data set");
    count(&test, &server.address, "hf://models/o/n", &[]).ends(2).complains("only data sets are read");
}

#[test]
fn count_reads_the_cache_without_a_network() {
    let test = HubTest::new().set("HF_HUB_OFFLINE", "1");
    count(&test, "http://127.0.0.1:9", "hf://datasets/o/n", &[]).ends(3).complains("offline, and the cache has no");
    let test = HubTest::new();
    let server = test.serve(&[]);
    count(&test, &server.address, "hf://datasets/o/n", &[]).ends(0);
    let test = test.set("HF_HUB_OFFLINE", "1");
    count(&test, "http://127.0.0.1:9", "hf://datasets/o/n", &[]).ends(0).says("Counted 2 files");
}
