//! Repeated text: inputs under every spelling of their packing, and single files.

use super::{case, is_clean};

#[test]
fn every_spelling_of_a_packing_is_read() {
    let sandbox = case("D10");
    is_clean(&sandbox.say("dedup text --minlen 50 --output OUT --json"));
    let packed = sandbox.read("OUT/shard_00000000_processed.jsonl.zstd");
    let text = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    assert!(text.lines().next().unwrap().contains("the very same passage"), "{text}");
    assert_eq!(text.lines().nth(1), Some(r#"{"text": "2"}"#));
    assert_eq!(sandbox.text("OUT/y.jsonl").trim_end(), r#"{"text": "3"}"#);
}

#[test]
fn one_file_is_deduplicated_alone() {
    let sandbox = case("D11");
    is_clean(&sandbox.say("dedup one.jsonl --minlen 50 --dry-run --json"));
    is_clean(&sandbox.say("dedup one.jsonl --minlen 50 --output OUT --json"));
    is_clean(&sandbox.say("dedup alone --minlen 50 --output OTHER --json"));
    assert_eq!(sandbox.read("OUT/one.jsonl"), sandbox.read("OTHER/one.jsonl"));
    assert_eq!(std::fs::read_dir(sandbox.path("OUT")).unwrap().count(), 1);
}
