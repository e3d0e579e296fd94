//! The guided prepare, operated like a user does.

use super::harness::{Story, StoryOptions, TestHome};
use std::path::{Path, PathBuf};

/// Opens the next step, once the current one is on the screen.
#[track_caller]
fn next(story: &mut Story, heading_of_next: &str) {
    story.keys("enter").wait_for(heading_of_next);
}

const SPLITS: &str = "divided?";
const TYPES: &str = "Which class does the trainer use for a sample?";
const FIELDS: &str = "Which part fills which field";
const MEDIA: &str = "Record facts about pictures, sound and video?";
const REVIEW: &str = "Files that will be written";

fn meta(test_home: &TestHome, name: &str) -> PathBuf {
    test_home.data().join("coco/.nv-meta").join(name)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn open(test_home: &TestHome) -> Story {
    let mut story = StoryOptions::new(test_home).arguments(&["prepare", "coco"]).run();
    story.wait_for("Source").wait_for("12 samples");
    story
}

#[test]
fn prepare_form_prepares_by_ratio_with_proposed_answers() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    story.wait_for("shard_0003.tar").wait_for("jpg 100 %");
    next(&mut story, SPLITS);
    story.wait_for("2,1,1").wait_for("train");
    next(&mut story, TYPES);
    story.wait_for("CaptioningSample").wait_for("best guess");
    next(&mut story, FIELDS);
    story.wait_for("000000").wait_for("a cat");
    next(&mut story, MEDIA);
    next(&mut story, REVIEW);
    story.wait_for("everything is answered").wait_for("gristmill prepare coco");
    story.keys("enter").wait_for("coco is ready to train on").wait_for("get_train_dataset");
    assert!(read(&meta(&test_home, "split.yaml")).contains("shard_{0000..0001}.tar"));
    assert!(read(&meta(&test_home, "dataset.yaml")).contains("CaptioningSample"));
    assert!(test_home.data().join("coco/shard_0000.tar.idx").is_file());
    story.keys("esc").wait_for("corpus.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn splits_step_opens_by_key_from_every_step() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    // From another step, from the ratio, and from the review, where `s` saves the plan.
    story.keys("S").wait_for(SPLITS).wait_for("(•) by hand").keys("m").wait_for("val 2");
    story
        .keys("u alt-6")
        .wait_for(REVIEW)
        .keys("S")
        .wait_for("(•) by hand")
        .keys("g g up up")
        .wait_for("(•) by pattern");
    story.keys("up").wait_for("(•) by ratio").keys("tab S").wait_for("(•) by hand").keys("alt-6").wait_for(REVIEW);
    story.wait_for("everything is answered").keys("enter").wait_for("coco is ready to train on").wait_for("s splits");
    story.keys("s").wait_for("▸ splits ▸ coco").wait_for("Excluded  nothing").keys("esc");
    story.wait_gone("Excluded  nothing").wait_for("coco is ready to train on").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn prepare_form_accepts_a_pattern_after_an_invalid_one() {
    let test_home = TestHome::new();
    for (number, name) in ["train-0.tar", "train-1.tar", "holdout-0.tar"].iter().enumerate() {
        test_home.shard(&format!("coco/{name}"), number * 100, 4);
    }
    let mut story = open(&test_home);
    next(&mut story, SPLITS);
    story.keys("down").wait_for("(•) by pattern").keys("tab").type_text("train").keys("tab");
    // A glob in the syntax of a shell.
    story.type_text("*train*").wait_for("invalid").keys("enter").wait_for(SPLITS);
    story.keys("ctrl-u").type_text("rain-.*").wait_for("nothing").wait_for("did you mean");
    story.keys("enter").wait_for("matches 0 of 3 shards");
    story.keys("home").type_text("t").wait_for("2 shards").wait_gone("nothing");
    story.keys("tab").type_text("val").keys("tab").type_text("holdout").wait_for("1 shard");
    next(&mut story, TYPES);
    next(&mut story, FIELDS);
    next(&mut story, MEDIA);
    next(&mut story, REVIEW);
    story.keys("enter").wait_for("coco is ready to train on");
    let split = read(&meta(&test_home, "split.yaml"));
    assert!(split.contains("val:\n  - holdout-0.tar") || split.contains("val:\n- holdout-0.tar"), "{split}");
    assert!(split.contains("train-{0..1}.tar"), "{split}");
}

#[test]
fn prepare_form_keeps_answers_on_back() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    story.keys("j x").wait_for("left out");
    next(&mut story, SPLITS);
    story.wait_for("How should the 3 shards").keys("ctrl-u").type_text("2,1,0").wait_for("--split-ratio 2,1,0");
    next(&mut story, TYPES);
    story.keys("j").wait_for("a picture alone");
    next(&mut story, FIELDS);
    story.keys("esc").wait_for(TYPES).keys("esc").wait_for(SPLITS).wait_for("2,1,0");
    story.keys("esc").wait_for("1 of 4 left out").keys("x").wait_gone("left out:");
    next(&mut story, SPLITS);
    story.wait_for("How should the 4 shards").wait_for("2,1,0");
    next(&mut story, TYPES);
    story.wait_for("a picture alone");
}

#[test]
fn closed_prepare_form_restores_its_draft() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    next(&mut story, SPLITS);
    story.keys("ctrl-u").type_text("1,1,2").wait_for("--split-ratio 1,1,2");
    story.keys("esc").wait_for("parts").keys("esc").wait_for("kept as a draft");
    story.wait_for("corpus.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
    let mut story = StoryOptions::new(&test_home).arguments(&["prepare", "coco"]).run();
    story.wait_for("restored from a draft (just now)").keys("enter").wait_for(SPLITS).wait_for("1,1,2");
    story.keys("esc").wait_for("parts").keys("N").wait_gone("restored from");
    next(&mut story, SPLITS);
    story.wait_for("2,1,1").wait_gone("1,1,2");
}

#[test]
fn a_field_map_with_an_error_and_its_repair() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    next(&mut story, SPLITS);
    next(&mut story, TYPES);
    next(&mut story, FIELDS);
    story.wait_for("000000").keys("down ctrl-u").type_text("json[capton]").wait_for("has no [capton]");
    story.wait_for("its keys are").keys("enter").wait_for(FIELDS).wait_for("fails");
    // Completed from the keys in the data.
    story.keys("ctrl-u").type_text("json[cap").keys("tab").wait_for("json[caption]");
    story.type_text("[").keys("tab").wait_for("json[caption][long]").wait_for("caption 0");
    next(&mut story, MEDIA);
    next(&mut story, REVIEW);
    story.wait_for("caption=json[caption][long]").keys("enter").wait_for("coco is ready to train on");
    assert!(read(&meta(&test_home, "dataset.yaml")).contains("caption: json[caption][long]"));
}

#[test]
fn cancelled_prepare_is_resumed_by_retry() {
    let test_home = TestHome::new();
    for number in 0..6 {
        test_home.shard(&format!("coco/shard_{number:04}.tar"), number * 100_000, 6_000);
    }
    let arguments = ["prepare", "coco", "--threads", "1", "--split-ratio", "4,1,1", "--sample-type", "TextSample"];
    let mut story = StoryOptions::new(&test_home).arguments(&arguments).run();
    // The first x only shows a question; both keys are typed at once, because the run is short.
    story.wait_for("shard_0005.tar").keys("alt-6").wait_for("everything is answered").keys("enter x x");
    story.wait_for("nothing was published").wait_for("finished work is reused");
    assert!(!meta(&test_home, ".info.json").exists());
    story.keys("r").wait_for("coco is ready to train on");
    assert!(read(&meta(&test_home, ".info.json")).contains("\"shard_0005.tar\": 6000"));
}

#[test]
fn a_second_run_with_new_shards_keeps_excludes() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    story.keys("alt-6").wait_for(REVIEW).keys("enter").wait_for("coco is ready to train on");
    story.keys("esc").wait_for("corpus.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
    // The user finds a broken sample and edits the file; then new data arrives.
    let split = meta(&test_home, "split.yaml");
    let edited = read(&split).replace("exclude: []", "exclude:\n- shard_0001.tar/000101");
    assert!(edited.contains("000101"), "{edited}");
    test_home.file("coco/.nv-meta/split.yaml", edited.as_bytes());
    test_home.shard("coco/shard_0004.tar", 400, 5);
    let mut story = StoryOptions::new(&test_home).arguments(&["prepare", "coco"]).run();
    story.wait_for("Already prepared by gristmill").wait_for("(•) update").wait_for("1 new");
    next(&mut story, "Which split does the new shard join?");
    story.wait_for("ratio 2,1,1").keys("down").wait_for("(•) train").keys("alt-6").wait_for(REVIEW).keys("enter");
    story.wait_for("coco is ready to train on");
    let written = read(&split);
    assert!(written.contains("shard_0001.tar/000101"), "{written}");
    assert!(written.contains("shard_0004.tar"), "{written}");
    assert!(read(&meta(&test_home, ".info.json")).contains("\"shard_0004.tar\": 5"));
}

#[test]
fn splits_by_hand_move_a_marked_range() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    next(&mut story, SPLITS);
    // The columns contain the result of the ratio, once it is known.
    story.wait_for("2 shards").keys("down down").wait_for("(•) by hand").keys("tab").wait_for("train 2");
    story.keys("V j m").wait_for("train 0").wait_for("val 3").keys("u").wait_for("train 2").keys("a");
    story.wait_for("Name of the new split").type_text("holdout").keys("enter").wait_for("holdout 0");
    story.keys("alt-6").wait_for(REVIEW).wait_for("--splits-from");
}

#[test]
fn dry_run_of_the_form_writes_nothing_and_returns_to_review() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    story
        .keys("alt-6")
        .wait_for(REVIEW)
        .wait_for("everything is answered")
        .keys("d")
        .wait_for("dry run: the run is possible; 4 shards read");
    story.keys("J").wait_for("no running or interrupted jobs").keys("esc").wait_for(REVIEW);
    assert!(!test_home.data().join("coco/.nv-meta/.info.json").exists());
    story.keys("enter").wait_for("coco is ready to train on");
}

#[test]
fn form_saves_the_plan_and_asks_before_it_replaces_one() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    story
        .keys("alt-6")
        .wait_for(REVIEW)
        .keys("s")
        .wait_for("Save the plan as")
        .keys("enter")
        .wait_for("saved; run it with");
    assert!(read(&test_home.data().join("coco-prepare-plan.yaml")).contains("ratio"));
    story.keys("s").wait_for("coco-prepare-plan-2.yaml").keys("ctrl-x").type_text("coco-prepare-plan.yaml");
    story.keys("enter").wait_for("exists; Enter again replaces it");
}

#[test]
fn prepare_form_works_at_80_by_24_in_ascii_without_colours() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home)
        .arguments(&["prepare", "coco", "--ascii"])
        .variable("NO_COLOR", "1")
        .size(80, 24)
        .run();
    story.wait_for("12 samples");
    next(&mut story, SPLITS);
    // Enter is refused before a ratio is suggested from the data.
    story.wait_for("2,1,1");
    next(&mut story, TYPES);
    next(&mut story, FIELDS);
    next(&mut story, MEDIA);
    next(&mut story, REVIEW);
    story.keys("enter").wait_for("coco is ready to train on");
}

#[test]
fn step_is_redrawn_after_the_terminal_shrinks() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    next(&mut story, SPLITS);
    story.resize(40, 10).wait_for("Splits (2 of 6)").wait_for("by ratio");
    story.resize(30, 5).wait_for("needs 40 columns").resize(100, 30).wait_for(SPLITS).wait_for("Sample type");
}

#[test]
fn movement_letters_and_help_work_at_the_ratio_field() {
    let test_home = TestHome::furnished();
    let mut story = open(&test_home);
    next(&mut story, SPLITS);
    story
        .wait_for("2,1,1")
        .keys("? q f1")
        .wait_for("Help: what works here")
        .keys("esc")
        .wait_gone("Help: what works here");
    story.keys("j").wait_for("(•) by pattern").keys("k").wait_for("(•) by ratio").keys("tab q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

/// Clicks on a text that is on the screen.
#[track_caller]
fn click_on(story: &mut Story, words: &str) {
    let screen = story.wait_for(words).screen();
    let (row, line) = screen.lines().enumerate().find(|(_, line)| line.contains(words)).unwrap();
    let column = line.chars().take(line[..line.find(words).unwrap()].chars().count()).count();
    story.click(column, row);
}

#[test]
fn mouse_answers_prepare_form_and_wheel_scrolls_list() {
    let test_home = TestHome::furnished();
    for number in 4..40_usize {
        test_home.shard(&format!("coco/shard_{number:04}.tar"), number * 100, 1);
    }
    let mut story = StoryOptions::new(&test_home).arguments(&["prepare", "coco"]).run();
    story.wait_for("48 samples");
    // Clicks a shard in its row, turns the wheel over the list, and clicks the field below it.
    click_on(&mut story, "shard_0002.tar");
    story.wait_for("▸ shard_0002.tar");
    let row = story.screen().lines().position(|line| line.contains("shard_0002.tar")).unwrap();
    story.wheel(40, row, 3).wait_gone("shard_0002.tar");
    click_on(&mut story, "leave out, by pattern");
    story.type_text("_0039").wait_for("1 of 40 left out").keys("ctrl-x").wait_gone("left out:");
    // A click selects an option of a field, but the wheel does not.
    click_on(&mut story, "Splits");
    story.wait_for(SPLITS);
    click_on(&mut story, "by pattern");
    story.wait_for("(•) by pattern");
    let row = story.screen().lines().position(|line| line.contains("by hand")).unwrap();
    story.wheel(40, row, 2).keys("tab").wait_for("(•) by pattern");
    click_on(&mut story, "by hand");
    story.wait_for("(•) by hand");
    click_on(&mut story, "by ratio");
    story.wait_for("(•) by ratio");
    click_on(&mut story, "shuffle shards");
    story.wait_for("[x] shuffle shards");
    click_on(&mut story, "Sample type");
    story.wait_for(TYPES);
    click_on(&mut story, "CrudeWebdataset");
    story.wait_for("▸ CrudeWebdataset");
    click_on(&mut story, "write cooker.py");
    story.wait_for("[ ] write cooker.py");
    click_on(&mut story, "Media");
    story.wait_for(MEDIA);
    click_on(&mut story, "by glob");
    story.wait_for("(•) by glob");
    click_on(&mut story, "patterns");
    story.type_text("*.jpg").wait_for("by-glob '*.jpg'");
    click_on(&mut story, "decode");
    story.wait_for("[x] decode");
    story.keys("esc").wait_for(TYPES).keys("esc").wait_for(SPLITS).keys("esc").wait_for("40 shards");
}

#[test]
fn folder_without_write_access_is_reported_on_the_source_step() {
    use std::os::unix::fs::PermissionsExt as _;
    let test_home = TestHome::furnished();
    let coco = test_home.data().join("coco");
    let allow = |mode| std::fs::set_permissions(&coco, std::fs::Permissions::from_mode(mode)).unwrap();
    allow(0o555);
    let mut story = StoryOptions::new(&test_home).arguments(&["prepare", "coco"]).without_rights().run();
    story.wait_for("Source").wait_for("12 samples");
    story.wait_for("this folder is not writable: permission denied");
    story
        .keys("alt-6")
        .wait_for("Findings: 1 refusal")
        .wait_for("this folder is not writable")
        .wait_for("Alt-1 goes to Source");
    story.keys("enter").wait_for("shard_0003.tar").wait_for("this folder is not writable");
    // No run was started.
    assert!(!coco.join(".nv-meta").exists());
    story.keys("esc").wait_for("corpus.jsonl").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
    allow(0o755);
}
