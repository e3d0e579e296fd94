//! The cache that is shared with the Python tools, and runs without requests.

use super::*;

#[test]
fn the_cache_has_the_layout_of_the_python_tools() {
    let test = HubTest::new();
    let server = test.serve(&[]);
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    let commit = std::fs::read_to_string(test.cached().join("refs/main")).unwrap();
    assert_eq!(commit.len(), 40);
    let snapshot = test.cached().join("snapshots").join(&commit);
    let link = std::fs::read_link(snapshot.join("data/large.jsonl.gz")).unwrap();
    assert!(link.starts_with("../../../blobs") && link.file_name().unwrap().len() == 64, "{link:?}");
    let link = std::fs::read_link(snapshot.join("data/small.jsonl")).unwrap();
    assert_eq!(link.file_name().unwrap().len(), 40, "the name of a small file is its Git id");
    assert!(snapshot.join("README.md").exists(), "it may describe splits");
    assert!(!snapshot.join(".gitattributes").exists(), "only what is read is downloaded");
    let left = std::fs::read_dir(test.cached().join("blobs")).unwrap();
    assert!(left.filter_map(Result::ok).all(|blob| blob.path().extension().is_none()));
    let locks = std::fs::read_dir(test.sandbox.path("hf/hub/.locks/datasets--o--n")).unwrap();
    assert_eq!(locks.count(), 3);
}

#[test]
fn cached_files_are_not_downloaded_by_a_second_run() {
    let test = HubTest::new();
    let server = test.serve(&[]);
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    let requests = server.data_requests();
    // For another commit with the same content, only the link is created.
    test.put("o/n/README.md", b"# The same data\n");
    test.pack(&server.address, "hf://datasets/o/n", "second").ends(0);
    assert_eq!(server.data_requests(), requests);
    assert_eq!(std::fs::read_dir(test.cached().join("snapshots")).unwrap().count(), 2);
    test.has_all("second");
}

#[test]
fn offline_run_reads_the_cache_or_names_missing_files() {
    let test = HubTest::new();
    let server = test.serve(&[]);
    test.pack(&server.address, "hf://datasets/o/n/data/small.jsonl", "file").ends(0);
    test.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    drop(server);
    let test = test.set("HF_HUB_OFFLINE", "1");
    let nowhere = "http://127.0.0.1:9";
    test.pack(nowhere, "hf://datasets/o/n", "offline").ends(0);
    test.has_all("offline");
    test.pack(nowhere, "hf://datasets/o/n@v2", "other").ends(3).complains("offline").complains("no revision v2");
    test.pack(nowhere, "hf://datasets/o/other", "other").ends(3).complains("offline");
    let commit = std::fs::read_to_string(test.cached().join("refs/main")).unwrap();
    let link = test.cached().join("snapshots").join(commit).join("data/large.jsonl.gz");
    std::fs::remove_file(std::fs::canonicalize(&link).unwrap()).unwrap();
    let ran = test.pack(nowhere, "hf://datasets/o/n", "other").ends(3);
    assert!(ran.err.contains("lacks 1 file") && ran.err.contains("data/large.jsonl.gz"), "{}", ran.err);
    test.pack(nowhere, "hf://datasets/o/n/data/small.jsonl", "small").ends(0);
}

#[test]
fn partial_cache_of_other_tools_is_read_with_a_problem() {
    let test = HubTest::new().set("HF_HUB_OFFLINE", "on");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    test.sandbox.write("hf/hub/datasets--o--n/refs/main", commit);
    let text = std::fs::read(test.root().join("o/n/data/small.jsonl")).unwrap();
    test.sandbox.write(&format!("hf/hub/datasets--o--n/snapshots/{commit}/data/small.jsonl"), text);
    let ran = test.pack("http://127.0.0.1:9", "hf://datasets/o/n", "out").ends(1);
    assert!(ran.err.contains("the data set may have more"), "{}", ran.err);
    assert!(!test.tokens("out").is_empty());
}
