//! Removing repeated text and viewing it, as a user does.

use super::harness::{StoryOptions, TestHome};

const NOTICE: &str =
    "We use cookies to improve your experience. By continuing to browse this site you agree to our terms, \
                      to our notice about the privacy of visitors, and to everything else that nobody has ever read.";

/// Returns two files in a folder, with one notice in three documents.
fn corpus() -> TestHome {
    let test_home = TestHome::new();
    let line = |text: &str| format!("{}\n", serde_json::json!({ "text": text }));
    let first = line(&format!("{NOTICE} An article about boats.")) + &line("A short one.");
    let second = line(&format!("Another page. {NOTICE}")) + &line(&format!("{NOTICE} And a third."));
    test_home.file("web/a.jsonl", first.as_bytes());
    test_home.file("web/b.jsonl", second.as_bytes());
    test_home
}

#[test]
fn dedup_form_runs_and_shows_removed_repeats() {
    let test_home = corpus();
    let mut story = StoryOptions::new(&test_home).size(100, 30).run();
    story.wait_for("▸ web/").wait_for("d  dedup").keys("d");
    story.wait_for("2 files").wait_for("a.jsonl").wait_for("b.jsonl").keys("enter");
    story.wait_for("(•) 500").wait_for("( ) 1,000").wait_for(" 0 %").keys("k k").wait_for("(•) 100");
    story.wait_for("We use cookies").wait_for("%").keys("enter");
    story.wait_for("< remove >").wait_for("web-dedup").keys("enter");
    story.wait_for("everything is answered").wait_for("Writes 2 files").wait_for("--minlen 100");
    assert!(!test_home.data().join("web-dedup").exists(), "nothing is written before");
    story.keys("enter").wait_for("web-dedup is deduplicated").wait_for("By file").wait_for("2 ranges");
    let written = std::fs::read_to_string(test_home.data().join("web-dedup/b.jsonl")).unwrap();
    assert!(written.contains("Another page. ") && !written.contains("cookies"), "{written}");
    let kept = std::fs::read_to_string(test_home.data().join("web-dedup/a.jsonl")).unwrap();
    assert!(kept.contains("cookies"), "the first copy of a repeat is kept");
    story.keys("o").wait_for("Documents 2").wait_for("removed 1 of 1").wait_for("⟦").keys("enter");
    story.wait_for("a.jsonl line 1").wait_for("the first copy").keys("esc").wait_for("removed 1 of 1");
    story.keys("n").wait_for("b.jsonl line 2").keys("p").wait_for("Repeated most").keys("f").wait_for("By file 2");
    story
        .keys("esc")
        .wait_for("Documents 2")
        .keys("esc")
        .wait_for("is deduplicated")
        .keys("esc")
        .wait_for("web-dedup/");
    story.keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn dedup_without_a_folder_requests_it_and_opens_the_form() {
    let test_home = corpus();
    let mut story = StoryOptions::new(&test_home).arguments(&["dedup"]).size(80, 24).run();
    story.wait_for("JSONL or Parquet file").type_text("web").wait_for("▸ dedup ▸ web").wait_for("b.jsonl");
    story.keys("esc").wait_for("▸ web/").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn dedup_form_keeps_answers_on_back_and_after_closing() {
    let test_home = corpus();
    let mut story = StoryOptions::new(&test_home).arguments(&["dedup", "web"]).size(80, 24).run();
    story.wait_for("2 files").keys("enter").wait_for("(•) 500").keys("j").wait_for("(•) 1,000").keys("enter");
    story.wait_for("< remove >").keys("right").wait_for("< annotate >").wait_for("variant").keys("enter");
    story.wait_for("--mode annotate").keys("esc").wait_for("< annotate >").keys("esc").wait_for("(•) 1,000");
    story.keys("esc").wait_for("2 files").keys("esc").wait_for("▸ web/").keys("d").wait_for("restored from a draft");
    story
        .keys("enter")
        .wait_for("(•) 1,000")
        .keys("x")
        .keys("alt-4")
        .wait_for("--minlen")
        .wait_for("1000 --mode annotate");
    story.keys("esc esc esc esc").wait_for("▸ web/").keys("q");
    assert_eq!(story.exit_code(), 0);
    assert!(!test_home.data().join("web-dedup").exists(), "nothing was written");
}

#[test]
fn browser_opens_repeats_of_a_file() {
    let test_home = corpus();
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "web/b.jsonl"]).size(80, 24).run();
    story.wait_for("2 samples").keys("j").keys("D").wait_for("repeat").keys("- -").wait_for("by 100 bytes and more");
    story.wait_for("b.jsonl line 2").wait_for("range 1 of 1").keys("space").wait_for("Documents 2").keys("enter");
    story.wait_for("a.jsonl line 1").keys("u").wait_for("range 1 of 1").keys("esc").wait_for("2 samples").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn browse_of_a_dedup_output_shows_removed_ranges() {
    let test_home = corpus();
    let flags = ["dedup", "web", "--output", "out", "--minlen", "100", "--yes"];
    let mut story = StoryOptions::new(&test_home).arguments(&flags).size(100, 30).run();
    story.wait_for("Deduplicated 2 files");
    assert_eq!(story.exit_code(), 0);
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "out"]).size(100, 30).run();
    story.wait_for("Documents 2").wait_for("b.jsonl line 1").wait_for("removed 1 of 1").wait_for("cookies");
    story.wait_for("removed, by 100 bytes and more").keys("n").wait_for("b.jsonl line 2").keys("enter");
    story.wait_for("a.jsonl line 1").wait_for("the first copy").keys("u").wait_for("b.jsonl line 2");
    story.keys("p").wait_for("Repeated most").wait_for("one of its places").keys("f").wait_for("By file 2");
    story.keys("esc").wait_for("Documents 2").keys("q");
    assert_eq!(story.exit_code(), 0);
    // The original text is required: if it is missing, this is reported, and the list is still shown.
    std::fs::remove_file(test_home.data().join("web/b.jsonl")).unwrap();
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "out/b.jsonl"]).size(80, 24).run();
    story.wait_for("2 samples").keys("D").wait_for("Documents 2").wait_for("that the run read").keys("esc");
    story.wait_for("2 samples").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn dedup_form_shows_figures_of_the_finished_run() {
    let test_home = corpus();
    let arguments = ["dedup", "web", "--output", "web-dedup", "--minlen", "100", "--yes"];
    assert_eq!(super::harness::run_plainly(&test_home, &arguments), Some(0));
    let mut story = StoryOptions::new(&test_home).arguments(&["dedup", "web"]).size(100, 30).run();
    story.wait_for("2 files").keys("enter").wait_for(" 0 %").keys("k k").wait_for("(•) 100").keys("enter");
    story.wait_for("< remove >").keys("enter").wait_for("Up to date");
    story.wait_for("4 documents").wait_for("cut out, repeats of 100 bytes and more").wait_gone("~");
    story.keys("enter").wait_for("2 ranges of 2 documents").wait_for("By file");
    story.keys("esc").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn home_opens_a_file_with_an_unwritable_home_folder() {
    let test_home = TestHome::new();
    let line = |text: &str| format!("{}\n", serde_json::json!({ "text": text }));
    test_home.file("one.jsonl", (line(&format!("{NOTICE} First.")) + &line(&format!("{NOTICE} Second."))).as_bytes());
    let mut start = StoryOptions::new(&test_home).variable("HOME", "/proc/none");
    for name in ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        start = start.variable(name, "/proc/none/own");
    }
    let mut story = start.run();
    story.wait_for("▸ one.jsonl").wait_for("d  dedup").keys("d").wait_for("1 file").keys("enter");
    story.wait_for("(•) 500").keys("k k").wait_for("(•) 100").keys("enter").wait_for("< remove >").keys("enter");
    story.wait_for("everything is answered").keys("enter").wait_for("is deduplicated").wait_for("1 range");
    let written = std::fs::read_dir(test_home.data()).unwrap().map(|entry| entry.unwrap().path().join("one.jsonl"));
    let written = written.into_iter().find(|path| path.is_file()).unwrap();
    let text = std::fs::read_to_string(written).unwrap();
    assert!(text.contains("First.") && text.matches("cookies").count() == 1, "{text}");
    story.keys("esc").wait_for("one.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}
