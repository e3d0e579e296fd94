//! More shards for a prepared set.

use super::{entries, files_below};
use crate::cli_support::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.tar("one/0.tar", ["a", "b", "c"]);
    sandbox.tar("two/0.tar", ["d", "e", "f"]);
    sandbox.say("shard one --output set --max-count 2").ends(0);
    sandbox
}

#[test]
fn shards_are_added_after_the_highest_number_and_excludes_stay() {
    let sandbox = sandbox();
    sandbox.say("splits exclude set shard_000000.tar/a").ends(0);
    let old = sandbox.read("set/shard_000001.tar");
    let line = "shard two --output set --append --new-to train --max-count 2";
    sandbox.say(&format!("{line} --dry-run")).ends(0).says("Would write 3 samples");
    sandbox.say(line).ends(0).says("Wrote 3 samples (6 parts) to 2 shards");
    assert_eq!(entries(&sandbox, "set/shard_000003.tar"), ["f.json", "f.txt"]);
    assert_eq!(sandbox.read("set/shard_000001.tar"), old);
    let splits = sandbox.text("set/.nv-meta/split.yaml");
    assert!(splits.contains("shard_{000000..000003}.tar") && splits.contains("shard_000000.tar/a"), "{splits}");
    sandbox.say("verify set").ends(0);
    let before = files_below(&sandbox.path("set"));
    sandbox.say(line).ends(0).says("Nothing to do");
    assert_eq!(files_below(&sandbox.path("set")), before);
    // As if the run had been killed before the set was prepared again.
    sandbox.tar("three/0.tar", ["g"]);
    sandbox.say("shard three --output set --append --new-to train").ends(0);
    sandbox.say("info set").ends(0).says("7");
}

#[test]
fn keys_of_the_set_and_sets_that_are_not_prepared_are_refused() {
    let sandbox = sandbox();
    sandbox.tar("two/1.tar", ["b"]);
    let before = files_below(&sandbox.path("set"));
    let refused = sandbox.say("shard two --output set --append --new-to train").ends(1);
    refused.complains("the set has the key already, in shard_000000.tar").complains("1 key is in the set already");
    assert_eq!(files_below(&sandbox.path("set")), before);
    sandbox.say("shard two --output one --append --new-to train").ends(2).complains("it is not prepared");
    sandbox.say("shard two --output set --append --no-prepare").ends(2).complains("added to one prepared set");
    sandbox.say("shard two --output set --new-to train").ends(2).complains("--append");
}
