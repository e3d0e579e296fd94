//! Jobs that end while another screen is open: notice, title and bell.

use super::harness::{Story, StoryOptions, TestHome};
use rustix::process::{kill_process, Pid, Signal};

/// Returns the settings to start the program with a data set that takes about a second to prepare, on slow storage.
fn prepares<'a>(test_home: &'a TestHome, settings: &str) -> StoryOptions<'a> {
    for shard in 0..6_usize {
        test_home.shard(&format!("more/shard_{shard:04}.tar"), shard * 100, 3);
    }
    test_home.file("../config/gristmill/config.yaml", settings.as_bytes());
    let arguments = ["prepare", "more", "--threads", "2", "--split-ratio", "2,1,1", "--sample-type", "CrudeWebdataset"];
    StoryOptions::new(test_home).arguments(&arguments).variable("GRISTMILL_SLOW_READS_MS", "70")
}

fn runs_in_the_background(story: &mut Story) {
    story.wait_for("scanning").keys("alt-6").wait_for("Enter runs it").keys("enter").wait_for("reading shards");
    story.keys("b").wait_for("1 job running").wait_for("▸ more/");
}

fn has(story: &Story, bytes: &[u8]) -> bool {
    story.raw().windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn the_end_of_a_background_job_is_announced_on_the_home_screen_and_in_the_title() {
    let test_home = TestHome::furnished();
    let mut story = prepares(&test_home, "").run();
    runs_in_the_background(&mut story);
    story.wait_for_bytes(b" % prepare more \xc2\xb7 gristmill\x1b\\");
    story.wait_for("prepare more: done; J shows it").wait_gone("1 job running");
    story.wait_for_bytes(b"\x1b]2;prepare more: done \xc2\xb7 gristmill\x1b\\");
    story.keys("j").wait_gone("shows it");
    story.keys("J").wait_for("prepare more").wait_for("done").keys("esc").wait_for("coco/").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
    assert!(has(&story, b"\x1b[22;0t"), "the title of before is kept");
    assert!(has(&story, b"\x1b[23;0t"), "and given back");
    assert!(!has(&story, b"\x07"), "the bell is not rung by default");
}

#[test]
fn job_end_during_typing_is_announced_below_the_text_field() {
    let test_home = TestHome::furnished();
    let mut story = prepares(&test_home, "").run();
    runs_in_the_background(&mut story);
    story.keys("/").type_text("co").wait_for("prepare more: done; F3 shows it").wait_for("co");
    story.keys("f3").wait_for("Jobs").wait_for("prepare more").wait_gone("shows it");
}

#[test]
fn settings_enable_the_bell_and_disable_the_title() {
    let test_home = TestHome::furnished();
    let mut story = prepares(&test_home, "title: false\nbell: true\n").run();
    runs_in_the_background(&mut story);
    story.wait_for("prepare more: done; J shows it").wait_for_bytes(b"\x07").keys("j q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
    assert!(!has(&story, b"\x1b]2;") && !has(&story, b"\x1b[22;0t") && !has(&story, b"\x1b[23;0t"));
}

#[test]
fn job_that_continues_without_the_screens_is_named_with_its_process() {
    let test_home = TestHome::furnished();
    let mut story = prepares(&test_home, "").variable("GRISTMILL_SLOW_READS_MS", "1000").run();
    runs_in_the_background(&mut story);
    story.keys("q").wait_for("1 job still running").keys("l").wait_for("`gristmill jobs` shows it");
    assert_eq!(story.exit_code(), 0);
    let screen = story.screen();
    let (_, process) = screen.split_once("prepare more continues as process ").expect(&screen);
    let process = process.split(';').next().and_then(|number| number.parse().ok()).and_then(Pid::from_raw);
    kill_process(process.unwrap(), Signal::KILL).unwrap();
}
