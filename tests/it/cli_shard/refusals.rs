//! Refusals, and repeated runs.

use super::{entries, files_below};
use crate::cli_support::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.tar("in/0.tar", ["a", "b", "c"]);
    sandbox.tar("in/1.tar", ["d", "e"]);
    sandbox
}

#[test]
fn same_shard_plan_does_nothing_and_different_plan_is_refused() {
    let sandbox = sandbox();
    sandbox.say("shard in --output out --max-count 2").ends(0).says("Wrote 5 samples (10 parts) to 3 shards");
    let before = files_below(&sandbox.path("out"));
    sandbox.say("reshard in --output out --max-count 2").ends(0).says("Nothing to do");
    let other = sandbox.say("shard in --output out --max-count 3").ends(1);
    other.complains("--max-count is 3 instead of 2").complains("name another output, or remove this one");
    sandbox
        .say("shard in --output out --max-count 2 --require text,json --rename-part txt=text --limit 4")
        .ends(1)
        .complains("--require is text, json, and was not given")
        .complains("--rename-part is txt, text, and was not given");
    sandbox.tar("in/1.tar", ["x", "y", "z"]);
    sandbox.say("shard in --output out --max-count 2").ends(1).complains("the input changed");
    assert_eq!(files_below(&sandbox.path("out")), before);
    sandbox.write("full/x", "x");
    sandbox.say("shard in --output full").ends(1).complains("the output exists already");
    assert!(!sandbox.has("full.gristmill"));
}

#[test]
fn set_whose_pictures_are_all_damaged_is_a_problem_with_the_command_that_prepares_it() {
    let sandbox = Sandbox::new();
    for key in ["a", "b"] {
        sandbox.write(&format!("in/{key}.jpg"), "no picture");
        sandbox.write(&format!("in/{key}.txt"), "caption");
    }
    let fields = "--sample-type CaptioningSample --field-map image=jpg --field-map caption=txt";
    let ran = sandbox.say(&format!("shard in --output out {fields}")).ends(1);
    let ran = ran.complains("preparing the new set failed").complains("fails on every sample that was tried");
    let (_, command) = ran.err.split_once("in place: gristmill ").unwrap();
    let (command, _) = command.split_once(" prepares them").unwrap();
    sandbox.say(&format!("{command} --yes")).ends(0).says("2 samples");
}

#[test]
fn invalid_shard_flags_are_refused_before_reading() {
    let sandbox = sandbox();
    for (line, reason) in [
        ("shard in --output out --pattern x.tar", "no place for the number"),
        ("shard in --output out --max-count 0", "--max-count"),
        ("shard in --output out --shards 2 --even", "cannot be used with"),
        ("shard in --output out --rename-part a=b --rename-part a=c", "two names"),
        ("shard in --output out --require a --drop-parts a", "no sample has it"),
        ("shard in --output out --no-prepare --split-ratio 1,1,1", "cannot be used with"),
        ("shard in --output in/out", "overlap"),
        ("shard in --output out --key name", "the input has none"),
        ("shard in --output out --split train", "not prepared"),
        ("shard in --output out --split-ratio 1,2", "three numbers"),
        ("shard in --output out --split-parts train:none/.*", "matches 0 of 1 shard"),
        ("shard in --output out --sample-type CaptioningSample --field-map image=jpg", "needs its field 'caption'"),
    ] {
        sandbox.say(line).ends(2).complains(reason);
    }
    sandbox.say("shard none --output out").ends(3).complains("no such file or folder");
    assert!(!sandbox.has("out") && !sandbox.has("out.gristmill"));
}

#[test]
fn repeated_keys_are_refused_with_both_shards_before_writing() {
    let sandbox = sandbox();
    sandbox.tar("in/2.tar", ["b"]);
    let refused = sandbox.say("shard in --output out").ends(1);
    refused.complains("the key is also in 0.tar").complains("1 key occurs more than once").complains("--duplicates");
    assert!(!sandbox.has("out") && !sandbox.has("out.gristmill"));
    sandbox.say("shard in --output out --duplicates merge").ends(1).complains("a part 'txt'");
    sandbox.say("shard in --output out --key number --start 7").ends(0);
    let names = entries(&sandbox, "out/shard_000007.tar");
    assert_eq!((names.len(), names[11].as_str()), (12, "000000005.txt"));
    sandbox.tar("in/2.tar", ["f", "g", "f"]);
    sandbox.say("shard in --output other --duplicates prefix").ends(1).complains("a part 'txt'");
    assert!(!sandbox.has("other"));
}

#[test]
fn samples_in_pieces_and_repeated_keys_are_refused_together_and_one_command_mends_both() {
    let sandbox = Sandbox::new();
    let entry = |name: &str| (name.to_owned(), b"{}".to_vec());
    sandbox.tar_of("in/a.tar", &["0.png", "1.png", "0.json", "1.json"].map(entry));
    sandbox.tar_of("in/b.tar", &["5.png", "5.json"].map(entry));
    sandbox.tar_of("in/c.tar", &["5.png", "5.json", "0.png"].map(entry));
    let answers = "--split-ratio 1,0,0 --sample-type CrudeWebdataset --yes";
    for more in ["", "--dry-run"] {
        let refused = sandbox.say(&format!("prepare in {answers} {more}")).ends(1);
        refused
            .complains("not next to each other")
            .complains("1 key names more than one sample; '5'")
            .complains("prefix");
    }
    sandbox.say("shard in --output merged --duplicates merge").ends(1).complains("--duplicates prefix");
    sandbox.say("shard in --output out --duplicates prefix").ends(0);
    let expected = [
        "a.tar/0.json",
        "a.tar/0.png",
        "a.tar/1.json",
        "a.tar/1.png",
        "b.tar/5.json",
        "b.tar/5.png",
        "c.tar/0.png",
        "c.tar/5.json",
        "c.tar/5.png",
    ];
    let mut names = entries(&sandbox, "out/shard_000000.tar");
    names.sort();
    assert_eq!(names, expected);
    sandbox.say(&format!("prepare out {answers}")).ends(0);
}

#[test]
fn parts_lost_by_keep_first_are_problems() {
    let sandbox = Sandbox::new();
    let entry = |name: &str| (name.to_owned(), b"{}".to_vec());
    sandbox.tar_of("in/a.tar", &["0.png", "1.png", "0.json", "1.json"].map(entry));
    let ran = sandbox.say("shard in --output first --duplicates keep-first").ends(1);
    ran.complains("left out with its part 'json', which the first one lacks").complains("--duplicates merge");
    sandbox.say("shard in --output all --duplicates merge").ends(0);
    assert_eq!(entries(&sandbox, "all/shard_000000.tar"), ["0.json", "0.png", "1.json", "1.png"]);
    sandbox.tar_of("in/a.tar", &["0.png", "0.json", "1.png", "0.png"].map(entry));
    sandbox.say("shard in --output later --duplicates keep-first").ends(0);
    assert_eq!(entries(&sandbox, "later/shard_000000.tar"), ["0.json", "0.png", "1.png"]);
}

#[test]
fn shard_dry_run_writes_nothing_and_unmatched_key_lists_are_refused() {
    let sandbox = sandbox();
    sandbox.say("shard in --output out --dry-run").ends(0).says("Would write 5 samples");
    assert!(!sandbox.has("out") && !sandbox.has("out.gristmill"));
    // A key list that matches no sample is a mistake; one that matches some is not.
    sandbox.write("keys", "x\r\ny\n");
    sandbox.say("shard in --output out --keep-keys keys").ends(2).complains("no line of the list of keys");
    sandbox.write("keys", "a\r\n\n1.tar/d\nx");
    sandbox.say("shard in --output out --keep-keys keys -v").ends(0).complains("1 line matches no sample, of 3 lines");
    assert_eq!(entries(&sandbox, "out/shard_000000.tar"), ["a.json", "a.txt", "d.json", "d.txt"]);
}
