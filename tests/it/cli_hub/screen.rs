//! Addresses on the home screen.

use super::HubTest;
use crate::pty::harness::{Story, StoryOptions, TestHome};

/// Starts the program with a separate cache.
fn start(test_home: &TestHome, endpoint: &str, arguments: &[&str]) -> Story {
    let hub = test_home.home().join("hf").to_string_lossy().into_owned();
    let start =
        StoryOptions::new(test_home).arguments(arguments).variable("HF_ENDPOINT", endpoint).variable("HF_HOME", &hub);
    start.variable("GRISTMILL_HTTP_PAUSE_MS", "100").run()
}

/// Opens the home screen, types an address into its filter, and lists it.
fn open(test_home: &TestHome, endpoint: &str, address: &str) -> Story {
    let mut story = start(test_home, endpoint, &[]);
    story.wait_for("coco/").keys("/").wait_for("Esc back").type_text(address);
    story.wait_for("Enter lists this folder of a store").keys("enter");
    story
}

#[test]
fn an_address_in_the_filter_is_listed_and_browsed() {
    let (test, test_home) = (super::read::hub_test(), TestHome::furnished());
    let server = test.serve(&["--cut", "1"]);
    let mut story = open(&test_home, &server.address, "hf://o/one");
    story.wait_for("hf://datasets/o/one").wait_for("data/").keys("right").wait_for("all.jsonl").keys("left");
    // Above the data set is the folder that was listed before.
    story.wait_for("data/").keys("left").wait_for("coco/");
    story.keys("/").wait_for("Esc back").type_text("hf://datasets/o/w").keys("enter").wait_for("shard_0.tar");
    story
        .wait_for("2 shards")
        .keys("p")
        .wait_for("this location is read-only")
        .keys("enter")
        .wait_for("browse ▸ w")
        .wait_for("0_00")
        .keys("esc")
        .wait_for("shard_0.tar")
        .keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn browse_of_an_address_opens_the_browser_with_its_name() {
    let (test, test_home) = (super::read::hub_test(), TestHome::furnished());
    let server = test.serve(&[]);
    let mut story = start(&test_home, &server.address, &["browse", "hf://datasets/o/t"]);
    story.wait_for("browse ▸ t").wait_for("58 samples").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn an_address_that_cannot_be_listed_shows_the_reason() {
    let (test, test_home) = (HubTest::new(), TestHome::furnished());
    let server = test.serve(&[]);
    let mut story = open(&test_home, &server.address, "hf://datasets/o/n@v9");
    story.wait_for("no revision v9").keys("left").wait_for("coco/").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn pack_form_lists_files_of_a_hub_address() {
    let (test, test_home) = (super::read::hub_test(), TestHome::furnished());
    let server = test.serve(&[]);
    let mut story = start(&test_home, &server.address, &["pack", "hf://datasets/o/one"]);
    story.wait_for("pack ▸ one").wait_for("data/all.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn the_form_of_dedup_estimates_what_a_run_on_an_address_removes() {
    let (test, test_home) = (super::read::hub_test(), TestHome::furnished());
    let text = "a passage of more than one hundred bytes, which comes again in the next document, word for word, letter by letter";
    let lines = format!("{{\"text\": \"one {text}\"}}\n{{\"text\": \"two {text}\"}}\n");
    test.put("o/twice/data/all.jsonl", lines.as_bytes());
    let server = test.serve(&[]);
    let mut story = start(&test_home, &server.address, &["dedup", "hf://datasets/o/twice"]);
    story
        .wait_for("dedup ▸ twice")
        .wait_for("data/all.jsonl")
        .keys("enter")
        .wait_for("Minimum length of a repeat")
        .wait_for("50");
    story.keys("enter").wait_for("Mode").keys("enter").wait_for("--output twice-dedup").wait_for("Writes 1 file");
    story.keys("q");
    assert_eq!(story.exit_code(), 0);
}
