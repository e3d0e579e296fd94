//! Duplicate keys: in two shards, and repeated within one.

use super::sandbox::{assert_unprepared, excludes, indexed_parts, keys, shard_counts, Sandbox};
use super::tars::{archive, sample, samples};
use crate::support::put;

fn two_shards() -> Sandbox {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&[sample("x"), sample("twice"), sample("y")]));
    put(&sandbox.at("b.tar"), &archive(&[sample("p"), sample("q"), sample("twice")]));
    sandbox
}

#[test]
fn duplicate_key_is_refused_with_both_positions() {
    let sandbox = two_shards();
    let ran = sandbox.refused(&[], 1);
    let (message, hint) = ran.error();
    for word in ["twice", "a.tar (sample 1)", "b.tar (sample 2)"] {
        assert!(message.contains(word), "{word}: {ran}");
    }
    for flag in ["--exclude", "--duplicates keep-first", "--skip-sample-tables"] {
        assert!(hint.contains(flag), "{flag}: {ran}");
    }
    assert_unprepared(&sandbox.data());
}

#[test]
fn every_hint_for_duplicate_keys_works() {
    let sandbox = two_shards();
    assert_eq!(sandbox.prepare(&["--exclude", "^b"]).code, 0);
    assert_eq!(keys(&sandbox.data(), "a.tar"), ["twice", "x", "y"]);

    let sandbox = two_shards();
    let ran = sandbox.prepare(&["--duplicates", "keep-first"]);
    assert_eq!((ran.code, ran.counted("duplicate-key")), (1, 1), "{ran}");
    assert_eq!(keys(&sandbox.data(), "a.tar"), ["twice", "x", "y"]);
    assert_eq!(keys(&sandbox.data(), "b.tar"), ["p", "q"]);
    assert_eq!(excludes(&sandbox.data()), ["b.tar/twice"]);
    assert_eq!(shard_counts(&sandbox.data())[1].1, 3, ".tar.idx keeps the later copy");

    let sandbox = two_shards();
    let ran = sandbox.prepare(&["--skip-sample-tables"]);
    assert_eq!(ran.code, 0, "{ran}");
    assert!(!sandbox.at(".nv-meta/index.sqlite").exists() && sandbox.at("b.tar.idx").exists());
}

#[test]
fn key_repeated_within_a_shard_is_a_duplicate() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&[sample("x"), sample("between"), sample("x")]));
    let ran = sandbox.refused(&[], 1);
    let (message, _) = ran.error();
    assert!(message.contains("a.tar (sample 0)") && message.contains("a.tar (sample 2)"), "{ran}");
    let ran = sandbox.prepare(&["--duplicates", "keep-first"]);
    assert_eq!(ran.code, 1, "{ran}");
    assert!(excludes(&sandbox.data()).is_empty(), "an exclude would drop both copies");
    assert_eq!(indexed_parts(&sandbox.data()).len(), 4);
    assert_eq!(shard_counts(&sandbox.data()), [("a.tar".to_owned(), 3)]);
}

#[test]
fn thousands_of_duplicate_keys_are_counted_in_a_short_message() {
    let sandbox = Sandbox::new();
    put(&sandbox.at("a.tar"), &archive(&samples("k", 3000)));
    put(&sandbox.at("b.tar"), &archive(&samples("k", 3000)));
    let ran = sandbox.refused(&[], 1);
    assert!(ran.error().0.contains("3,000 duplicate keys"), "{}", ran.error().0);
    let words = sandbox.prepare_in_words(&[]);
    assert!(words.err.lines().count() < 100, "{} lines", words.err.lines().count());
    let ran = sandbox.prepare(&["--duplicates", "keep-first"]);
    assert_eq!(ran.code, 1);
    assert_eq!(ran.counted("duplicate-key"), 3000, "each is counted");
    assert_eq!(excludes(&sandbox.data()).len(), 3000, "each later copy is excluded");
    assert_eq!(keys(&sandbox.data(), "a.tar").len(), 3000);
    assert!(keys(&sandbox.data(), "b.tar").is_empty());
}
