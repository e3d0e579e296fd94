//! `dedup` of data sets of the hub.

use super::{picture, put, HubTest, RunOutput};

/// A passage that repeats.
const PASSAGE: &str =
    "this passage is in several documents of the data set, and is long enough to be removed from the later ones";

/// Creates the data set `o/d`, whose documents repeat a passage in two files, with a settings file next to them.
fn hub_test() -> HubTest {
    let test = HubTest::new();
    let document = |name: &str| format!("{{\"text\": \"{name}: {PASSAGE}\"}}\n");
    test.put("o/d/data/a.jsonl", [document("one"), document("two")].concat().as_bytes());
    test.put("o/d/data/b.jsonl", document("three").as_bytes());
    test.put("o/d/dataset_infos.json", b"{\"text\": \"settings\"}\n");
    test.put("o/d/README.md", b"# Repeats\n");
    test
}

fn dedup(test: &HubTest, address: &str, input: &str, output: &str, more: &[&str]) -> RunOutput {
    let ran = test.run(address, &[&["dedup", input, "--minlen", "50", "--output", output], more].concat());
    assert!(!ran.out.contains("/hf/hub") && !ran.err.contains("/hf/hub"), "{}{}", ran.out, ran.err);
    ran
}

fn texts(test: &HubTest, output: &str) -> Vec<(String, Vec<u8>)> {
    let files = picture(&test.sandbox.path(output)).into_iter();
    let files = files.map(|(path, bytes)| (path.to_string_lossy().into_owned(), bytes));
    let mut files: Vec<_> = files.filter(|(path, _)| path.ends_with(".jsonl")).collect();
    files.sort();
    files
}

#[test]
fn hub_data_set_is_deduplicated_like_a_local_copy_and_named_by_address() {
    let test = hub_test();
    let server = test.serve(&["--leak-check"]);
    let address = "hf://datasets/o/d";
    dedup(&test, &server.address, address, "out", &["--dry-run"]).ends(0).says(address);
    assert!(!test.sandbox.has("out") && !test.sandbox.has("hf/hub/datasets--o--d/snapshots"));
    dedup(&test, &server.address, address, "first", &[]).ends(0);
    // Files that other tools have downloaded are not part of the input.
    let mut snapshots = std::fs::read_dir(test.sandbox.path("hf/hub/datasets--o--d/snapshots")).unwrap();
    put(&snapshots.next().unwrap().unwrap().path().join("dataset_infos.json"), b"{\"text\": \"settings\"}\n");
    dedup(&test, &server.address, address, "out", &[]).ends(0).says("dedup hf://datasets/o/d --minlen 50");
    let local = test.sandbox.path("served/o/d/data").to_string_lossy().into_owned();
    dedup(&test, &server.address, &local, "wanted", &[]).ends(0);
    let (made, wanted) = (texts(&test, "out/data"), texts(&test, "wanted"));
    assert!(!wanted.is_empty() && made == wanted, "{made:?} and {wanted:?}");
    assert!(!test.sandbox.has("out/dataset_infos.json"));
    let plan = test.sandbox.text("out.gristmill/plan.yaml");
    assert!(plan.contains("hf://datasets/o/d\n") && !plan.contains("/hf/hub"), "{plan}");
    let report = test.sandbox.text("out.gristmill/report.json");
    assert!(report.contains("hf://datasets/o/d@") && !report.contains("/hf/hub"), "{report}");
    // The same plan has nothing to do; another commit is a different input.
    dedup(&test, &server.address, address, "out", &[]).ends(0).says("Nothing to do");
    test.run(&server.address, &["run", "out.gristmill/plan.yaml"]).ends(0).says("Nothing to do");
    test.put("o/d/data/b.jsonl", b"{\"text\": \"other\"}\n");
    dedup(&test, &server.address, address, "out", &[]).ends(1).complains("the input changed since it was made");
    dedup(&test, &server.address, "hf://o/d@main/data/a.jsonl", "file", &[]).ends(0);
    assert_eq!(texts(&test, "file").len(), 1);
}

#[test]
fn dedup_reports_problems_with_hub_addresses() {
    let test = hub_test();
    test.put("o/d/data/c.jsonl", b"{\"text\": \"good\"}\n{\"text\": \n");
    test.put("o/csv/rows.csv", b"text\na\n");
    let server = test.serve(&["--cut", "2"]);
    let ran = dedup(&test, &server.address, "hf://datasets/o/d", "out", &[]).ends(1);
    assert!(ran.err.contains("hf://datasets/o/d/data/c.jsonl"), "{}", ran.err);
    let fails = |input: &str, code: i32, text: &str| {
        dedup(&test, &server.address, input, "other", &[]).ends(code).complains(text);
        assert!(!test.sandbox.has("other"));
    };
    fails("hf://datasets/o/csv", 2, "no file of documents");
    fails("hf://datasets/o/missing", 3, "there is no such data set");
    fails("hf://datasets/o/d@v9", 2, "no revision v9");
    fails("hf://models/o/d", 2, "only data sets are read");
    dedup(&test, &server.address, "hf://o/d", "hf://o/out", &[]).ends(2).complains("cannot be written");
    dedup(&test, &server.address, "hf://o/d", "other", &["--against", "hf://o/n"])
        .ends(2)
        .complains("cannot be written");
    let test = test.set("HF_HUB_OFFLINE", "1");
    let words = ["dedup", "hf://datasets/o/n", "--minlen", "50", "--output", "other"];
    test.run("http://127.0.0.1:9", &words).ends(3).complains("offline, and the cache has no revision main");
    let ran = dedup(&test, "http://127.0.0.1:9", "hf://datasets/o/d", "out", &[]).ends(1).says("Nothing to do");
    assert!(ran.err.contains("hf://datasets/o/d/data/c.jsonl"), "{}", ran.err);
}
