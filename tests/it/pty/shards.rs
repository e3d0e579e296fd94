//! New shards from the samples in view, operated like a user does.

use super::super::cli_support::Sandbox;
use super::harness::{run_plainly, Story, StoryOptions, TestHome};
use std::path::Path;

/// Returns three prepared shards of forty samples, each in another split.
fn prepared() -> TestHome {
    let test_home = TestHome::new();
    for number in 0..3 {
        test_home.shard(&format!("big/shard_{number:04}.tar"), number * 100, 40);
    }
    let answers = ["prepare", "big", "--yes", "--split-ratio", "1,1,1", "--skip-dataset-yaml"];
    assert_eq!(run_plainly(&test_home, &answers), Some(0));
    test_home
}

/// Enters the output, keeps the defaults of the other options, and starts the run.
fn write_into(story: &mut Story, output: &str) {
    story.wait_for("Folder of the new shards").keys("ctrl-u").type_text(output).keys("enter");
    for step in ["Parts of ", "max count", "Shuffle all samples", "Write media as a set", "no prepare"] {
        story.keys("enter").wait_for(step);
    }
    story.keys("enter").wait_for("Enter runs it").wait_for("Would write").keys("enter").wait_for("is written");
}

/// Returns the number of samples of each shard of a prepared set.
fn counts(test_home: &TestHome, set: &str) -> Vec<(String, u64)> {
    let info = std::fs::read_to_string(test_home.data().join(set).join(".nv-meta/.info.json")).unwrap();
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    let counts = info["shard_counts"].as_object().unwrap();
    counts.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
}

fn shards(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn browse(test_home: &TestHome) -> Story {
    let mut story = StoryOptions::new(test_home).arguments(&["browse", "big"]).run();
    story.wait_for("▸ 000000").wait_for("jpg txt json");
    story
}

#[test]
fn filtered_samples_are_written_as_a_new_set() {
    let test_home = prepared();
    let mut story = browse(&test_home);
    story.keys("F").wait_for("List only samples that").keys("down down down down down down");
    story.type_text("/5$/").keys("enter").wait_for("12 listed");
    story.keys("W");
    write_into(&mut story, "new");
    story.wait_for("Wrote 12 samples").wait_for("--keep-keys");
    let expected = ["test", "train", "val"].map(|split| format!("{split}/shard_000000.tar"));
    assert_eq!(counts(&test_home, "new"), expected.map(|name| (name, 4)));
    assert_eq!(story.keys("q").exit_code(), 0);
}

#[test]
fn filtered_samples_are_written_by_flags_or_a_key_list() {
    let test_home = prepared();
    let mut story = browse(&test_home);
    story.keys("F").wait_for("List only samples that").keys("right right").wait_for(" val ");
    story.keys("enter").wait_for("40 listed").keys("W");
    write_into(&mut story, "new");
    story.wait_for("Wrote 40 samples").wait_for("--split val");
    assert_eq!(counts(&test_home, "new"), shards(&[("shard_000000.tar", 40)]));
    assert_eq!(story.keys("q").exit_code(), 0);
}

#[test]
fn marked_samples_are_written_as_a_new_set() {
    let test_home = prepared();
    let mut story = browse(&test_home);
    story.wait_for("train 1").keys("V j j W");
    write_into(&mut story, "new");
    story.wait_for("Wrote 3 samples");
    assert_eq!(counts(&test_home, "new").iter().map(|(_, count)| count).sum::<u64>(), 3);
    assert_eq!(story.keys("q").exit_code(), 0);
}

#[test]
fn shard_form_shows_samples_keys_parts_and_sizes() {
    let test_home = TestHome::new();
    for number in 0..5 {
        test_home.file(&format!("pictures/{number:03}.seg.png"), b"\x89PNG");
        test_home.file(&format!("pictures/{number:03}.txt"), b"a cat");
    }
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("pictures/").wait_for("S  shards").keys("S").wait_for("Folder of the new shards");
    story.keys("ctrl-u").type_text("set").wait_for("First sample").wait_for("seg.png").keys("enter");
    story.wait_for("Key and part by both rules").wait_for("004_seg").keys("enter");
    story.wait_for("Parts of 5 samples").keys("enter").wait_for("max count");
    story.wait_for("1 shard of").wait_for("10,000 shards").keys("tab").type_text("2").wait_for("3 shards of");
    for step in ["Shuffle all samples", "Write media as a set", "no prepare", "Enter runs it"] {
        story.keys("enter").wait_for(step);
    }
    story.wait_for("Would write 5 samples").keys("enter").wait_for("Wrote 5 samples (10 parts)");
    let names = [0, 1, 2].map(|number| (format!("shard_{number:06}.tar"), if number < 2 { 2 } else { 1 }));
    assert_eq!(counts(&test_home, "set"), names);
    assert_eq!(story.keys("q").exit_code(), 0);
}

#[test]
fn two_sets_are_joined_by_key() {
    let test_home = TestHome::new();
    for number in 0..4 {
        test_home.file(&format!("captions/{number:03}.txt"), b"a cat");
        test_home.file(&format!("pictures/{number:03}.jpg"), &Sandbox::jpeg(4, 4));
    }
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("captions/").wait_for("S  shards").keys("S").wait_for("files, 4 samples");
    // Samples are shown before the output is set.
    story.wait_for("First sample").keys("backtab").type_text("pictures").keys("enter").wait_for("pictures");
    story.wait_for("4 keys occur more than").wait_for("--duplicates merge");
    story.keys("tab ctrl-u").type_text("joined").keys("enter").wait_for("Choose").keys("enter");
    story.wait_for("Write N samples at most").keys("down down down down down down down down down down");
    story.wait_for("What to do with a key").keys("right right").wait_for("< merge >");
    story.wait_for("Parts of 4 samples").wait_for("20 B");
    for step in ["max count", "Shuffle all samples", "Write media as a set", "no prepare"] {
        story.keys("enter").wait_for(step);
    }
    story.keys("enter").wait_for("Enter runs it").wait_for("--duplicates merge");
    story.wait_for("Would write 4 samples (8 parts)").keys("enter").wait_for("Wrote 4 samples (8 parts)");
    assert_eq!(counts(&test_home, "joined"), shards(&[("shard_000000.tar", 4)]));
    assert_eq!(story.keys("q").exit_code(), 0);
}

#[test]
fn inputs_are_added_moved_and_removed() {
    let test_home = TestHome::new();
    for folder in ["a", "b", "c"] {
        test_home.file(&format!("{folder}/{folder}.txt"), b"text");
    }
    let mut story = StoryOptions::new(&test_home).arguments(&["shard", "a"]).run();
    story.wait_for("Folder of the new shards").keys("ctrl-u").type_text("out").keys("backtab").type_text("b");
    // Typed text that was not added is not an input.
    story.keys("tab enter").wait_for("Enter in its field adds b").keys("backtab enter").wait_for("▸ b");
    story.type_text("c").keys("enter").wait_for("▸ c");
    story.keys("backtab").wait_for("x remove").keys("up").wait_for("▸ b").keys("x").wait_gone("▸ b").keys("K");
    story.keys("alt-8").wait_for("shard c a --output out").wait_for("Would write 2 samples").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn home_writes_pictures_with_captions_as_a_prepared_set() {
    let test_home = TestHome::new();
    for number in 0..5 {
        test_home.file(&format!("pictures/{number:03}.jpg"), &Sandbox::jpeg(4, 4));
        test_home.file(&format!("pictures/{number:03}.txt"), b"a cat");
    }
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("pictures/").wait_for("S  shards").keys("S");
    write_into(&mut story, "set");
    story.wait_for("Wrote 5 samples (10 parts)").keys("o").wait_for("a cat");
    assert_eq!(counts(&test_home, "set"), shards(&[("shard_000000.tar", 5)]));
    assert!(Path::new(&test_home.data().join("set/.nv-meta/index.sqlite")).exists());
    assert_eq!(story.keys("q").exit_code(), 0);
}
