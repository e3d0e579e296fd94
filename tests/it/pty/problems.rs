//! The list of problems: of a run, of the browser and of the jobs.

use super::harness::{run_plainly, Story, StoryOptions, TestHome, TINY_PNG};

/// Returns `coco`: four shards of `samples` samples each; the pictures of samples for which `is_bad` holds are invalid.
fn with_pictures(samples: u64, is_bad: fn(u64) -> bool) -> TestHome {
    let test_home = TestHome::new();
    for number in 0..4 {
        let mut builder = tar::Builder::new(Vec::new());
        for index in (0..samples).map(|index| number * 100.max(samples) + index) {
            let picture = if is_bad(index) { b"no picture at all".as_slice() } else { TINY_PNG };
            for (part, bytes) in [("jpg", picture), ("txt", b"a cat".as_slice())] {
                let mut header = tar::Header::new_ustar();
                header.set_size(bytes.len() as u64);
                header.set_mode(0o644);
                builder.append_data(&mut header, format!("{index:06}.{part}"), bytes).unwrap();
            }
        }
        test_home.file(&format!("coco/shard_{number:04}.tar"), &builder.into_inner().unwrap());
    }
    test_home
}

/// Returns four shards of three samples; the pictures of 000101 and 000200 are invalid.
fn damaged() -> TestHome {
    with_pictures(3, |index| matches!(index, 101 | 200))
}

const ANSWERS: [&str; 7] =
    ["prepare", "coco", "--split-ratio", "2,1,1", "--sample-type", "TextSample", "--media-metadata-by-extension"];

fn split(test_home: &TestHome) -> String {
    std::fs::read_to_string(test_home.data().join("coco/.nv-meta/split.yaml")).unwrap()
}

/// Waits until the named sample is selected in the browser.
#[track_caller]
fn at(story: &mut Story, key: &str) {
    let marked = format!("▸ {key}");
    story.wait_until(&format!("{key} is selected"), |screen| screen.contents().contains(&marked));
}

/// Writes the two excludes from the list, and checks the file.
#[track_caller]
fn write_both(story: &mut Story, test_home: &TestHome) {
    story.keys("w").wait_for("What would be written").wait_for("+ - shard_0001.tar/000101");
    story.wait_for("+ - shard_0002.tar/000200").keys("enter").wait_for("Written");
    let written = split(test_home);
    for item in
        ["- shard_0001.tar/000101  # no row is written for it", "- shard_0002.tar/000200  # no row is written for it"]
    {
        assert!(written.contains(item), "{written}");
    }
}

#[test]
fn bad_sample_is_opened_excluded_and_written_from_the_problem_list() {
    let test_home = damaged();
    let mut story = StoryOptions::new(&test_home).arguments(&ANSWERS).run();
    story.wait_for("12 samples").keys("alt-6").wait_for("everything is answered").keys("enter");
    story.wait_for("coco is prepared, with 2 problems").wait_for("Enter shows them").keys("enter");
    // The keys of the list are in the bottom bar once the targets of the problems are known.
    story.wait_for("▸ ! shard_0001.tar, '000101.jpg'").wait_for("Enter open").wait_for("x exclude");
    story.wait_for("X excludes all 2 of this kind");
    story.keys("enter").wait_for("▸ browse ▸ coco");
    at(&mut story, "000101");
    story.wait_for("train 2").keys("x").wait_for("1 change not written (w)").keys("u").wait_gone("not written");
    story.keys("esc").wait_for("▸ ! shard_0001.tar, '000101.jpg'").keys("x").wait_for("1 change not written (w)");
    story.keys("u").wait_for("undone: exclude shard_0001.tar/000101").wait_gone("not written");
    story.keys("X").wait_for("exclude 2 samples").wait_for("1 change not written (w)");
    let before = split(&test_home);
    assert!(!before.contains("000101"), "{before}");
    write_both(&mut story, &test_home);
    story.keys("esc").wait_for("▸ ! shard_0001.tar, '000101.jpg'").wait_gone("not written").keys("j");
    story.wait_for("▸ ! shard_0002.tar, '000200.jpg'").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn browser_lists_problems_and_opens_their_samples() {
    let test_home = damaged();
    let flags: Vec<&str> = ANSWERS.iter().copied().chain(["--yes", "--field-map", "text=txt"]).collect();
    assert_eq!(run_plainly(&test_home, &flags), Some(1));
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "coco"]).size(80, 24).run();
    at(&mut story, "000000");
    story.wait_for("12 samples").keys("P").wait_for("Problems  2").wait_for("x exclude");
    story.keys("j").wait_for("▸ ! shard_0002.tar, '000200'").keys("enter").wait_gone("Problems  2");
    at(&mut story, "000200");
    // The list starts at the problem of the selected sample.
    story.keys("P").wait_for("▸ ! shard_0002.tar, '000200'").keys("x").wait_for("1 change not written (w)");
    story.keys("u").wait_gone("not written").keys("ctrl-r").wait_for("1 change not written (w)");
    story.keys("u").wait_gone("not written").keys("X").wait_for("exclude 2 samples");
    write_both(&mut story, &test_home);
    story.keys("esc").wait_for("Problems  2").keys("esc").wait_for("2 excluded").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn the_browser_counts_repeated_keys_and_pieces_of_samples_and_names_them() {
    let test_home = TestHome::new();
    test_home.shard("raw/a.tar", 1, 3);
    test_home.shard("raw/b.tar", 3, 2);
    let entries = ["8.txt", "9.txt", "8.json"].map(|name| (name.to_owned(), b"{}".to_vec()));
    super::super::support::write_tar(&test_home.data().join("raw/c.tar"), &entries);
    test_home.file("raw/d.tar", &[1; 100]);
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "raw"]).size(100, 30).run();
    story.wait_for("4 problems").keys("P").wait_for("Problems  4");
    story.wait_for("b.tar, '000003'").wait_for("the key is also in a.tar, sample 3");
    story
        .wait_for("c.tar, '8'")
        .wait_for("other parts of the sample are in c.tar, sample 1")
        .wait_for("d.tar")
        .keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

/// Confirms the review. While the excludes are looked up, the changes are compared again, and the key is refused.
#[track_caller]
fn confirm(story: &mut Story) {
    const REFUSED: &str = "are being compared";
    let is_written = std::cell::Cell::new(false);
    loop {
        story.keys("enter").wait_until("an answer", |screen| {
            let text = screen.contents();
            is_written.set(text.contains("Written"));
            is_written.get() || text.contains(REFUSED)
        });
        if is_written.get() {
            return;
        }
        // The next key removes the message.
        story.keys("j").wait_gone(REFUSED);
    }
}

/// Excludes all problems of the kind, and checks that the written excludes contain the last one.
#[track_caller]
fn exclude_all(story: &mut Story, test_home: &TestHome) {
    story.keys("X").wait_for("exclude 1,500 samples").wait_for("1 change not written (w)");
    story.keys("w").wait_for("+ - shard_0000.tar/000000");
    confirm(story);
    let written = split(test_home);
    assert_eq!(written.matches("# no row is written for it").count(), 1_500);
    assert!(
        written.contains("- shard_0000.tar/000000  #") && written.contains("- shard_0002.tar/001499  #"),
        "{written}"
    );
}

#[test]
fn all_problems_of_a_kind_are_excluded_including_unlisted_ones() {
    let test_home = with_pictures(500, |index| index < 1_500);
    let mut story = StoryOptions::new(&test_home).arguments(&ANSWERS).run();
    story.wait_for("2,000 samples").keys("alt-6").wait_for("everything is answered").keys("enter");
    story.wait_for("coco is prepared, with 1,500 problems").wait_for("Enter shows them").keys("enter");
    story.wait_for("X excludes all 1,500 of this kind").wait_for("x exclude");
    let before = split(&test_home);
    exclude_all(&mut story, &test_home);
    story.keys("q");
    assert_eq!(story.exit_code(), 0);
    // The browser shows them, too, and so does a run that has nothing to do.
    let flags: Vec<&str> = ANSWERS.iter().copied().chain(["--yes", "--field-map", "text=txt", "--update"]).collect();
    test_home.file("coco/.nv-meta/split.yaml", before.as_bytes());
    assert_eq!(run_plainly(&test_home, &flags), Some(1));
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "coco"]).run();
    story.wait_for("2,000 samples").keys("P").wait_for("Problems  1,500").wait_for("X excludes all 1,500 of this kind");
    exclude_all(&mut story, &test_home);
    story.keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn x_during_a_run_only_cancels_it() {
    let test_home = TestHome::new();
    test_home.file("coco/shard_0000.tar", b"");
    for number in 1..6 {
        test_home.shard(&format!("coco/shard_{number:04}.tar"), number * 100_000, 6_000);
    }
    let arguments = ["prepare", "coco", "--threads", "1", "--split-ratio", "4,1,1", "--sample-type", "TextSample"];
    let mut story = StoryOptions::new(&test_home).arguments(&arguments).run();
    // The problems are shown during the run; the first x only shows a question, and all keys are typed at once, because the run is short.
    story.wait_for("shard_0005.tar").keys("alt-6").wait_for("everything is answered").keys("enter enter x x");
    story.wait_for("nothing was published").wait_for("shard_0000.tar");
    assert!(!test_home.data().join("coco/.nv-meta/split.yaml").exists());
    story.keys("l").wait_for("opening the data set").wait_for("l close log").keys("l").wait_for("the file is empty");
    story.keys("r").wait_for("files written").keys("q");
    assert_eq!(story.exit_code(), 0);
    assert!(split(&test_home).contains("exclude: []"), "neither x nor anything else excluded something");
}

#[test]
fn problem_line_opens_and_x_reports_why_it_cannot_be_excluded() {
    let test_home = TestHome::new();
    let words = "some words that are in no other document of this file, and that are long enough for the method";
    let lines = format!("{{\"text\":\"{words} a\"}}\n\n\n{{\"text\":\"{words} b\"}}\n{{\"id\":77}}\n");
    test_home.file("web/a.jsonl", lines.as_bytes());
    let mut story = StoryOptions::new(&test_home).arguments(&["dedup", "web", "--minlen", "100"]).run();
    story.wait_for("1 file").keys("alt-4").wait_for("everything is answered").keys("enter");
    story.wait_for("is deduplicated, with 1 problem").keys("J").wait_for("dedup web").keys("enter");
    story.wait_for("line 5").wait_for("Enter open").keys("x").wait_for("has no splits");
    // Two of the lines are blank, and therefore not samples.
    story.keys("enter").wait_for("▸ browse ▸ a.jsonl").wait_for("Samples  #2");
    story.keys("esc").wait_for("line 5").keys("esc l").wait_for("Log").keys("esc q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}
