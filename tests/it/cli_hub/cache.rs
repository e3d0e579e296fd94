//! The cache that the Python tools share, and runs without requests.

use super::*;

#[test]
fn the_cache_has_the_layout_of_the_python_tools() {
    let world = World::new();
    let server = world.serve(&[]);
    world.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    let commit = std::fs::read_to_string(world.cached().join("refs/main")).unwrap();
    assert_eq!(commit.len(), 40);
    let snapshot = world.cached().join("snapshots").join(&commit);
    let link = std::fs::read_link(snapshot.join("data/large.jsonl.gz")).unwrap();
    assert!(link.starts_with("../../../blobs") && link.file_name().unwrap().len() == 64, "{link:?}");
    let link = std::fs::read_link(snapshot.join("data/small.jsonl")).unwrap();
    assert_eq!(link.file_name().unwrap().len(), 40, "the name of a small file is its Git id");
    assert!(snapshot.join("README.md").exists(), "it may describe splits");
    assert!(!snapshot.join(".gitattributes").exists(), "only what is read is downloaded");
    let left = std::fs::read_dir(world.cached().join("blobs")).unwrap();
    assert!(left.filter_map(Result::ok).all(|blob| blob.path().extension().is_none()));
    let locks = std::fs::read_dir(world.sandbox.path("hf/hub/.locks/datasets--o--n")).unwrap();
    assert_eq!(locks.count(), 3);
}

#[test]
fn what_the_cache_has_is_not_downloaded() {
    let world = World::new();
    let server = world.serve(&[]);
    world.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    let requests = server.data_requests();
    // Of another commit with the same content only the link is made.
    world.put("o/n/README.md", b"# The same data\n");
    world.pack(&server.address, "hf://datasets/o/n", "second").ends(0);
    assert_eq!(server.data_requests(), requests);
    assert_eq!(std::fs::read_dir(world.cached().join("snapshots")).unwrap().count(), 2);
    world.has_all("second");
}

#[test]
fn a_run_without_requests_reads_the_cache_or_names_what_is_missing() {
    let world = World::new();
    let server = world.serve(&[]);
    world.pack(&server.address, "hf://datasets/o/n/data/small.jsonl", "file").ends(0);
    world.pack(&server.address, "hf://datasets/o/n", "out").ends(0);
    drop(server);
    let world = world.set("HF_HUB_OFFLINE", "1");
    let nowhere = "http://127.0.0.1:9";
    world.pack(nowhere, "hf://datasets/o/n", "offline").ends(0);
    world.has_all("offline");
    world.pack(nowhere, "hf://datasets/o/n@v2", "other").ends(3).complains("offline").complains("no revision v2");
    world.pack(nowhere, "hf://datasets/o/other", "other").ends(3).complains("offline");
    let commit = std::fs::read_to_string(world.cached().join("refs/main")).unwrap();
    let link = world.cached().join("snapshots").join(commit).join("data/large.jsonl.gz");
    std::fs::remove_file(std::fs::canonicalize(&link).unwrap()).unwrap();
    let ran = world.pack(nowhere, "hf://datasets/o/n", "other").ends(3);
    assert!(ran.err.contains("lacks 1 file") && ran.err.contains("data/large.jsonl.gz"), "{}", ran.err);
    world.pack(nowhere, "hf://datasets/o/n/data/small.jsonl", "small").ends(0);
}

#[test]
fn a_cache_of_other_tools_may_have_only_a_part() {
    let world = World::new().set("HF_HUB_OFFLINE", "on");
    let commit = "0123456789abcdef0123456789abcdef01234567";
    world.sandbox.write("hf/hub/datasets--o--n/refs/main", commit);
    let text = std::fs::read(world.root().join("o/n/data/small.jsonl")).unwrap();
    world.sandbox.write(&format!("hf/hub/datasets--o--n/snapshots/{commit}/data/small.jsonl"), text);
    let ran = world.pack("http://127.0.0.1:9", "hf://datasets/o/n", "out").ends(1);
    assert!(ran.err.contains("the data set may have more"), "{}", ran.err);
    assert!(!world.tokens("out").is_empty());
}
