//! More shards for a prepared set.

use super::{entries, files_below, raw_tar};
use crate::cli_support::Sandbox;
use crate::support::copy_folder;

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
    // Simulates a run that was killed before the set was prepared again.
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

#[test]
fn shards_of_a_killed_append_are_indexed_before_the_next_append() {
    let sandbox = sandbox();
    copy_folder(&sandbox.path("set/.nv-meta"), &sandbox.path("before"));
    sandbox.say("shard two --output set --append --new-to train").ends(0);
    // Simulates a run that was killed before the set was prepared again.
    std::fs::remove_dir_all(sandbox.path("set/.nv-meta")).unwrap();
    std::fs::remove_file(sandbox.path("set/shard_000002.tar.idx")).unwrap();
    copy_folder(&sandbox.path("before"), &sandbox.path("set/.nv-meta"));
    std::fs::create_dir_all(sandbox.path("set.gristmill/work")).unwrap();
    std::fs::copy(sandbox.path("set.gristmill/plan.yaml"), sandbox.path("set.gristmill/work/plan.yaml")).unwrap();
    sandbox.tar("three/0.tar", ["g"]);
    sandbox.tar("four/0.tar", ["e"]);
    let left = "an interrupted run left 1 shard that no index has, shard_000002.tar first";
    let line = "shard three --output set --append --new-to train --max-count 1";
    sandbox.say(&format!("{line} --dry-run")).ends(0).complains(left);
    // The set contains the keys of that shard.
    let refused = sandbox.say("shard four --output set --append --new-to train").ends(1);
    refused.complains(left).complains("the set has the key already, in shard_000002.tar");
    let ran = sandbox.say(line).ends(0);
    assert!(!ran.err.contains("interrupted"), "{}", ran.err);
    assert!(sandbox.text("set/.nv-meta/.info.json").contains("shard_000003.tar"));
    sandbox.say("verify set").ends(0);
}

#[test]
fn non_utf8_keys_are_compared_with_keys_of_the_existing_set() {
    let sandbox = Sandbox::new();
    raw_tar(&sandbox, "one/0.tar", &[b"a.txt", b"\xffb.txt"]);
    raw_tar(&sandbox, "two/0.tar", &[b"c.txt", b"\xffb.txt"]);
    raw_tar(&sandbox, "three/0.tar", &[b"\xffd.txt"]);
    sandbox.say("shard one --output set").ends(1);
    let before = files_below(&sandbox.path("set"));
    let line = "--output set --append --new-to train";
    let refused = sandbox.say(&format!("shard two {line}")).ends(1);
    refused.complains("the set has the key already, in shard_000000.tar").complains("1 key is in the set already");
    assert_eq!(files_below(&sandbox.path("set")), before);
    sandbox.say(&format!("shard three {line}")).ends(1).says("Wrote 1 sample");
}

#[test]
fn shards_that_no_index_has_are_refused_before_anything_is_written() {
    let sandbox = sandbox();
    for name in ["shard_000002.tar", "shard_000003.tar", "other.tar"] {
        sandbox.tar(&format!("set/{name}"), ["x"]);
    }
    let before = files_below(&sandbox.path("set"));
    let line = "shard two --output set --append --new-to train";
    for line in [line.to_owned(), format!("{line} --dry-run")] {
        let refused = sandbox.say(&line).ends(2).complains("gristmill prepare").complains("--update");
        refused.complains("2 shards are in the set and not in its index: shard_000002.tar, shard_000003.tar");
    }
    assert_eq!(files_below(&sandbox.path("set")), before);
    for name in ["shard_000002.tar", "shard_000003.tar", "other.tar"] {
        std::fs::remove_file(sandbox.path(&format!("set/{name}"))).unwrap();
    }
    sandbox.say(line).ends(0).says("Wrote 3 samples");
}

#[test]
fn samples_of_other_splits_are_not_added_to_the_training_data() {
    let sandbox = sandbox();
    for split in ["train", "val", "test"] {
        sandbox.tar(&format!("splits/{split}/0.tar"), [format!("{split}-x").as_str()]);
    }
    let before = files_below(&sandbox.path("set"));
    let line = "shard splits --output set --append";
    for line in [line.to_owned(), format!("{line} --dry-run")] {
        let refused = sandbox.say(&line).ends(2).complains("are in split ").complains("--one-split adds all");
        refused.complains("the recorded splits of the set add it to train");
    }
    assert_eq!(files_below(&sandbox.path("set")), before);
    sandbox.say(&format!("{line} --new-to train")).ends(0).says("Wrote 3 samples");
}
