//! Addresses on the home screen.

use super::World;
use crate::pty::harness::{House, Start, Story};

/// Starts the program with a cache of its own.
fn start(house: &House, endpoint: &str, arguments: &[&str]) -> Story {
    let hub = house.home().join("hf").to_string_lossy().into_owned();
    let start = Start::new(house).arguments(arguments).variable("HF_ENDPOINT", endpoint).variable("HF_HOME", &hub);
    start.variable("GRISTMILL_HTTP_PAUSE_MS", "100").run()
}

/// Opens the home screen, and types an address into its filter.
fn open(house: &House, endpoint: &str, address: &str) -> Story {
    let mut story = start(house, endpoint, &[]);
    story.wait_for("coco/").keys("/").wait_for("Esc back").type_text(address);
    story.wait_for("Enter downloads this data set of the hub").keys("enter");
    story
}

#[test]
fn an_address_in_the_filter_is_downloaded_and_browsed() {
    let (world, house) = (World::new(), House::furnished());
    let server = world.serve(&["--cut", "1"]);
    let mut story = open(&house, &server.address, "hf://datasets/o/n/data/small.jsonl");
    story.wait_for("browse").wait_for("small.jsonl").wait_for("text");
    story.keys("esc").wait_for("coco/").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn browse_of_an_address_opens_the_browser_with_its_name() {
    let (world, house) = (super::read::world(), House::furnished());
    let server = world.serve(&[]);
    let mut story = start(&house, &server.address, &["browse", "hf://datasets/o/t"]);
    story.wait_for("browse ▸ o/t").wait_for("58 samples").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn a_download_that_fails_shows_the_reason_and_a_slow_one_is_stopped() {
    let (world, house) = (World::new(), House::furnished());
    let server = world.serve(&["--rate", "20000"]);
    let mut story = open(&house, &server.address, "hf://datasets/o/n@v9");
    story.wait_for("no revision v9").keys("esc").wait_gone("no revision v9").wait_for("coco/");
    story.keys("/").wait_for("Esc back").type_text("hf://datasets/o/n").wait_for("Enter downloads").keys("enter");
    story.wait_for("downloading: ").wait_for("of 2 files").wait_for("Esc stop");
    story.keys("esc").wait_gone("downloading").wait_for("coco/").keys("q");
    assert_eq!(story.exit_code(), 0);
}
