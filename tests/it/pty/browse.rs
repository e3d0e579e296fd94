//! The browser, operated like a user does.

use super::harness::{run_plainly, Story, StoryOptions, TestHome};
use std::os::unix::fs::PermissionsExt as _;

/// Returns three shards of forty samples, prepared; the field map requires a caption.
fn prepared() -> TestHome {
    let test_home = TestHome::new();
    for number in 0..3 {
        test_home.shard(&format!("big/shard_{number:04}.tar"), number * 100, 40);
    }
    let mut answers = vec!["prepare", "big", "--yes", "--split-ratio", "1,1,1", "--sample-type", "CaptioningSample"];
    answers.extend(["--field-map", "image=jpg", "--field-map", "caption=json[caption][long]"]);
    assert_eq!(run_plainly(&test_home, &answers), Some(0));
    test_home
}

fn browse(test_home: &TestHome, arguments: &[&str]) -> Story {
    let mut all = vec!["browse"];
    all.extend(arguments);
    StoryOptions::new(test_home).arguments(&all).run()
}

fn quit(story: &mut Story) {
    assert_eq!(story.keys("q").exit_code(), 0);
    story.assert_restored();
}

/// Waits until the named sample is selected.
#[track_caller]
fn at(story: &mut Story, key: &str) {
    let marked = format!("▸ {key}");
    story.wait_until(&format!("{key} is selected"), |screen| screen.contents().contains(&marked));
}

#[test]
fn a_prepared_data_set_opens_at_its_first_sample() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big"]);
    story.wait_for("120 samples").wait_for("jpg txt json").wait_for("a cat").assert_taken();
    at(&mut story, "000000");
    story.keys(".").wait_for("txt 5 B");
    quit(&mut story);
}

#[test]
fn one_list_scrolls_over_all_shards() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.keys("G");
    at(&mut story, "000239");
    story.wait_for("▸ shard_0002.tar").keys("g g");
    at(&mut story, "000000");
    story.keys("ctrl-d ctrl-d ctrl-d ctrl-d");
    story.wait_for("▸ shard_0001.tar");
    story.keys("backtab").wait_for("▸ shard_0001.tar").keys("j");
    at(&mut story, "000200");
    quit(&mut story);
}

#[test]
fn matches_of_a_key_search_are_stepped_through() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.keys("/").wait_for("find key").type_text("/5$/").keys("enter");
    story.wait_for("12 found");
    at(&mut story, "000005");
    story.keys("n n");
    at(&mut story, "000025");
    story.keys("N");
    at(&mut story, "000015");
    story.keys("esc").wait_gone("12 found");
    quit(&mut story);
}

#[test]
fn typed_numbers_select_samples() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.keys("5 0").wait_for("go to number").keys("enter");
    at(&mut story, "000110");
    story.keys(":").wait_for("Commands").type_text("119").wait_for("go to sample 119").keys("enter");
    at(&mut story, "000239");
    story.keys("#").wait_for("go to number").type_text("7000").keys("enter").wait_for("the last one is 119");
    quit(&mut story);
}

#[test]
fn random_key_selects_another_sample() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    // A random sample may be the first one, but hardly three times.
    let is_elsewhere = |story: &mut Story| {
        // The screen that opens after a key shows that the key was processed.
        story.keys("r :").wait_for("Commands").keys("esc").wait_gone("Commands");
        story.look(|screen| !screen.contents().contains("Samples  #0 "))
    };
    assert!((0..3).any(|_| is_elsewhere(&mut story)), "{}", story.screen());
    quit(&mut story);
}

#[test]
fn excluded_samples_are_undone_and_written_after_review() {
    let test_home = prepared();
    let split = test_home.data().join("big/.nv-meta/split.yaml");
    let before = std::fs::read_to_string(&split).unwrap();
    let mut story = browse(&test_home, &["big", "--number", "42"]);
    at(&mut story, "000102");
    story.wait_for("train 1").keys("x").wait_for("1 change not written (w)").wait_for("x excluded");
    story.keys("u").wait_gone("not written").wait_gone("x excluded");
    story.keys("j x").wait_for("1 change not written (w)");
    assert_eq!(std::fs::read_to_string(&split).unwrap(), before, "browsing writes nothing");
    story.keys("w").wait_for("What would be written").wait_for("+ - shard_0001.tar/000103").keys("enter");
    story.wait_until("it is written", |_| std::fs::read_to_string(&split).unwrap().contains("shard_0001.tar/000103"));
    story.keys("esc").wait_for("1 excluded");
    quit(&mut story);
    assert!(!std::fs::read_to_string(&split).unwrap().contains("000102"));
}

#[test]
fn a_shard_is_moved_to_another_split() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.wait_for("train 1").keys("s").wait_for("val").keys("j enter").wait_for("1 change not written (w)");
    story.keys("q").wait_for("Stay").keys("esc").wait_gone("Stay").keys("u").wait_gone("not written");
    quit(&mut story);
}

#[test]
fn the_loader_view_shows_fields_and_the_error_that_training_would_raise() {
    let test_home = prepared();
    let yaml = test_home.data().join("big/.nv-meta/dataset.yaml");
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.keys("v").wait_for("As the loader gets it").wait_for("caption 0").wait_for("image");
    story.keys("esc").wait_gone("As the loader gets it");
    quit(&mut story);
    let text = std::fs::read_to_string(&yaml).unwrap().replace("long", "short");
    test_home.file("big/.nv-meta/dataset.yaml", text.as_bytes());
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.keys("v").wait_for("short").wait_for("!");
    quit(&mut story);
}

#[test]
fn location_view_shows_offsets_of_archive_and_index() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big", "--sample", "000001"]);
    at(&mut story, "000001");
    story.keys("o").wait_for("Location").wait_for("archive and index agree").wait_for("000001.jpg");
    story.keys("tab ctrl-d ctrl-d").wait_for("ustar");
    quit(&mut story);
}

/// Returns the keys on a screen.
fn keys_of(shown: &str) -> Vec<String> {
    let is_key = |word: &&str| word.len() == 6 && word.bytes().all(|byte| byte.is_ascii_digit());
    shown.split_whitespace().filter(is_key).map(str::to_owned).collect()
}

#[test]
fn contact_sheets_of_one_seed_show_the_same_samples() {
    let test_home = prepared();
    let has_sheet = |shown: &str| shown.contains("seed 77") && !shown.contains('#') && keys_of(shown).len() >= 6;
    let ask = |story: &mut Story| {
        story.keys("c").wait_for("seed 1 ").keys("s").wait_for("Seed").keys("ctrl-u").type_text("77").keys("enter");
        story.wait_until("the samples of the seed are there", |screen| has_sheet(&screen.contents()));
    };
    let mut first = browse(&test_home, &["big"]);
    at(&mut first, "000000");
    let mut second = browse(&test_home, &["big", "--number", "9"]);
    at(&mut second, "000009");
    ask(&mut first);
    ask(&mut second);
    // Each of the two screens may be incomplete at first.
    second.wait_until("both see the same", |screen| {
        let (one, other) = (first.screen(), screen.contents());
        has_sheet(&one) && has_sheet(&other) && keys_of(&one) == keys_of(&other)
    });
    first.keys("l l enter").wait_gone("seed 77").wait_for("Samples  #");
    quit(&mut first);
}

#[test]
fn parts_are_exported_without_replacing_files() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big", "--number", "3"]);
    at(&mut story, "000003");
    let export = |story: &mut Story| {
        story.keys("E").wait_for("the whole sample").keys("j enter").wait_for("Into which folder");
        story.type_text("~/out").keys("enter");
    };
    export(&mut story);
    story.wait_for("wrote 3 files");
    assert_eq!(std::fs::read(test_home.home().join("out/000003.txt")).unwrap(), b"a cat");
    export(&mut story);
    story.wait_for("the file exists already");
    quit(&mut story);
}

#[test]
fn all_marked_samples_are_exported() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big", "--number", "3"]);
    at(&mut story, "000003");
    story.keys("V j j E").wait_for("the 3 marked samples").keys("j enter").wait_for("Into which folder");
    story.type_text("~/marked").keys("enter").wait_for("wrote 9 files");
    for key in ["000003", "000004", "000005"] {
        assert!(test_home.home().join(format!("marked/{key}.txt")).is_file(), "{key}");
    }
    quit(&mut story);
}

#[test]
fn unsafe_sample_names_are_escaped_and_not_exported() {
    let test_home = TestHome::new();
    test_home.file("bad/shard_0.tar", &hostile_tar());
    let mut story = browse(&test_home, &["bad"]);
    story.wait_for("␛[31mred").wait_for("<U+202E>");
    story.wait_until("no escape got through", |screen| !screen.contents().contains('\u{202e}'));
    story.keys("g g E").wait_for("the whole sample").keys("enter").wait_for("Into which folder");
    story.type_text("~/out").keys("enter").wait_for("not safe for a file");
    assert!(!test_home.home().join("out").exists());
    story.keys("y").wait_for("copied");
    story.keys("G k v o c").wait_for("seed").keys("esc").wait_for("Location");
    quit(&mut story);
}

/// Returns a tar of samples with hostile names.
fn hostile_tar() -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for name in ["a\u{1b}[31mred.txt", "b\u{202e}txt.json", "c\nd.txt", "e.\u{7}f"] {
        let mut header = tar::Header::new_ustar();
        header.set_size(7);
        header.set_mode(0o644);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, &b"\x1b[2Jhey"[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn the_key_and_the_path_are_copied() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.keys("y").wait_for("copied, if the terminal supports it").keys("j").wait_gone("copied, if");
    story.keys("Y").wait_for("copied, if the terminal supports it");
    // The requests to copy `000000` and then the path to the clipboard, in base64.
    story.wait_for_bytes(b"\x1b]52;c;MDAwMDAw\x07").wait_for_bytes(b"\x1b]52;c;YmlnL3NoYXJkXzAwMDAudGFy\x07");
    quit(&mut story);
}

#[test]
fn a_part_is_opened_as_a_read_only_copy() {
    let test_home = prepared();
    let editor = test_home.file(
        "editor.sh",
        b"#!/bin/sh\nprintf 'editing '\ncat \"$1\"\ntest -w \"$1\" || echo ' read-only'\nread answer\n",
    );
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut story =
        StoryOptions::new(&test_home).arguments(&["browse", "big"]).variable("EDITOR", &editor.to_string_lossy()).run();
    at(&mut story, "000000");
    story.keys(". e").wait_for("editing a cat");
    story.type_text("\n");
    at(&mut story, "000000");
    story.assert_taken();
    quit(&mut story);
}

#[test]
fn filter_lists_only_matching_samples() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.wait_for("train 1").keys("F").wait_for("List only samples that").keys("right right").wait_for(" val ");
    story.keys("enter").wait_for("40 listed");
    at(&mut story, "000100");
    story.keys("esc").wait_gone("listed");
    at(&mut story, "000100");
    quit(&mut story);
}

#[test]
fn unprepared_data_set_is_scanned_by_the_browser() {
    let test_home = TestHome::furnished();
    let mut story = browse(&test_home, &["coco"]);
    story.wait_for("12 samples").wait_for("jpg txt json");
    at(&mut story, "000000");
    story.keys("x").wait_for("it is not prepared").keys("j");
    at(&mut story, "000001");
    quit(&mut story);
}

#[test]
fn lines_of_a_jsonl_file_are_samples() {
    let test_home = TestHome::new();
    let lines: String = (0..500).map(|n| format!("{{\"text\":\"line {n}\"}}\n")).collect();
    test_home.file("corpus.jsonl", lines.as_bytes());
    let mut story = browse(&test_home, &["corpus.jsonl", "--number", "321"]);
    story.wait_for("500 samples").wait_for("line 321").wait_for("? help");
    assert!(!story.screen().contains("failed"), "{}", story.screen());
    quit(&mut story);
}

#[test]
fn files_of_a_media_folder_are_samples() {
    let test_home = TestHome::new();
    for name in ["media/a/one.png", "media/a/two.png", "media/b/three.png"] {
        test_home.file(name, super::harness::TINY_PNG);
    }
    let mut story = browse(&test_home, &["media"]);
    story.wait_for("3 samples").wait_for("Folders").wait_for("one");
    quit(&mut story);
}

#[test]
fn browser_opens_from_home_and_returns_to_it() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("b  browse").keys("b").wait_for("▸ browse ▸ coco").wait_for("12 samples");
    at(&mut story, "000000");
    story.keys("esc").wait_gone("▸ browse").wait_for("▸ coco/");
    quit(&mut story);
}

#[test]
fn unsupported_file_shows_a_reason_in_the_browser() {
    let test_home = TestHome::new();
    test_home.file("note.txt", b"hello\n");
    let mut story = browse(&test_home, &["note.txt"]);
    story.wait_for("cannot be").wait_for("F5 tries again").keys("esc").wait_gone("F5 tries again");
    quit(&mut story);
}

#[test]
fn deleted_shard_leaves_rows_with_the_reason() {
    let test_home = TestHome::new();
    for number in 0..3 {
        test_home.shard(&format!("big/shard_{number:04}.tar"), number * 100, 40);
    }
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.wait_for("120 samples").wait_gone("scanning");
    std::fs::remove_file(test_home.data().join("big/shard_0002.tar")).unwrap();
    story.keys("G").wait_for("#119 cannot be read").wait_for("shard_0002.tar: no such file");
    story.keys("o").wait_for("this sample cannot be read");
    story.keys("g g");
    at(&mut story, "000000");
    quit(&mut story);
}

#[test]
fn browser_of_an_empty_folder_names_the_expected_content() {
    let test_home = TestHome::new();
    std::fs::create_dir_all(test_home.data().join("hollow")).unwrap();
    let mut story = browse(&test_home, &["hollow"]);
    story.wait_for("no shard, and no picture, sound or video").wait_for("F5 looks again");
    quit(&mut story);
}

#[test]
fn browser_works_at_any_size_and_after_many_resizes() {
    let test_home = prepared();
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "big"]).size(40, 12).run();
    at(&mut story, "000000");
    story.keys("tab").wait_for("#0").keys("backtab backtab").wait_for("▸ shard_0000.tar");
    for size in 0..40_u16 {
        story.resize(20 + size * 3, 5 + size);
    }
    story.resize(80, 24).keys("tab");
    at(&mut story, "000000");
    story.wait_for("? help");
    quit(&mut story);
}

/// Like [`prepared`], with three truncated pictures: those of the samples 000005, 000105 and 000205.
fn damaged() -> TestHome {
    let test_home = TestHome::new();
    for shard in 0..3_usize {
        let mut builder = tar::Builder::new(Vec::new());
        for index in shard * 100..shard * 100 + 40 {
            let picture = super::harness::TINY_PNG;
            let picture = if index % 100 == 5 { &picture[..40] } else { picture };
            for (part, bytes) in [("png", picture), ("txt", b"a cat")] {
                let mut header = tar::Header::new_ustar();
                header.set_size(bytes.len() as u64);
                header.set_mode(0o644);
                builder.append_data(&mut header, format!("{index:06}.{part}"), bytes).unwrap();
            }
        }
        test_home.file(&format!("big/shard_{shard:04}.tar"), &builder.into_inner().unwrap());
    }
    let answers = ["prepare", "big", "--yes", "--split-ratio", "1,1,1", "--sample-type", "CrudeWebdataset"];
    let answers = [&answers[..], &["--media-metadata-by-extension", "--problems-ok"]].concat();
    assert_eq!(run_plainly(&test_home, &answers), Some(0));
    test_home
}

#[test]
fn damaged_samples_are_found_excluded_and_written() {
    let test_home = damaged();
    let file = test_home.data().join("big/.nv-meta/split.yaml");
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.wait_for("train 1").keys("]");
    at(&mut story, "000005");
    story.wait_for("ends too early").keys("x").wait_for("1 change not written (w)").keys("]");
    at(&mut story, "000105");
    story.keys("x").wait_for("2 changes not written (w)").keys("u").wait_for("1 change not written (w)");
    story.keys("x").wait_for("2 changes not written (w)").keys("]");
    at(&mut story, "000205");
    story.keys("[");
    at(&mut story, "000105");
    story.keys("w").wait_for("What would be written").wait_for("+ - shard_0000.tar/000005").keys("enter");
    story.wait_until("it is written", |_| std::fs::read_to_string(&file).unwrap().contains("shard_0001.tar/000105"));
    story.keys("esc").wait_for("2 excluded");
    quit(&mut story);
    let shown = run_and_read(&test_home, &["splits", "show", "big", "--excludes"]);
    assert!(shown.contains("shard_0000.tar/000005") && shown.contains("shard_0001.tar/000105"), "{shown}");
    assert!(!shown.contains("000205"), "{shown}");
}

#[test]
fn marked_range_is_excluded_and_undone_as_one_change() {
    let test_home = prepared();
    let file = test_home.data().join("big/.nv-meta/split.yaml");
    let mut story = browse(&test_home, &["big", "--number", "38"]);
    at(&mut story, "000038");
    story.wait_for("train 1").keys("V j j j").wait_for("4 marked").keys("esc").wait_gone("marked");
    story.keys("k k k V j j j").wait_for("4 marked").keys("x").wait_for("1 change not written (w)");
    story.wait_for("4 excluded").wait_gone("marked").keys("u").wait_gone("not written").keys("ctrl-r");
    story.wait_for("1 change not written (w)").keys("w").wait_for("What would be written").keys("enter");
    story.wait_until("it is written", |_| {
        let text = std::fs::read_to_string(&file).unwrap();
        text.contains("shard_0000.tar/{000038..000039}") && text.contains("shard_0001.tar/{000100..000101}")
    });
    // If a whole marked range is excluded, x includes it again.
    story.keys("esc").wait_for("4 excluded").keys("V k k k").wait_for("4 marked").keys("x");
    story.wait_for("1 change not written (w)").wait_gone("4 excluded");
    // In the list of shards a range consists of shards.
    story.keys("backtab g g V j").wait_for("▸ shard_0001.tar").keys("x").wait_for("2 changes not written (w)");
    story.wait_for("2 shards excluded").keys("u u").wait_gone("not written");
    quit(&mut story);
}

#[test]
fn moved_data_set_is_reported_and_reread_after_its_return() {
    let test_home = prepared();
    let (here, away) = (test_home.data().join("big"), test_home.data().join("away"));
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    std::fs::rename(&here, &away).unwrap();
    story.keys("G").wait_for("no such file or folder").keys("v").wait_for("no such file or folder").keys("o k");
    story.keys("f5").wait_for("opening the data set failed on big: no such file").wait_for("F5 tries again");
    std::fs::rename(&away, &here).unwrap();
    story.keys("f5").wait_for("120 samples");
    at(&mut story, "000238");
    quit(&mut story);
}

#[test]
fn data_sets_can_be_browsed_while_a_prepare_runs() {
    let test_home = prepared();
    for shard in 0..20_usize {
        test_home.shard(&format!("more/shard_{shard:04}.tar"), shard * 100, 3);
    }
    let arguments = ["prepare", "more", "--threads", "2", "--split-ratio", "2,1,1", "--sample-type", "CrudeWebdataset"];
    // Slow storage: the preparation takes seconds.
    let mut story = StoryOptions::new(&test_home).arguments(&arguments).variable("GRISTMILL_SLOW_READS_MS", "70").run();
    story.wait_for("scanning").keys("alt-6").wait_for("Enter runs it").keys("enter").wait_for("reading shards");
    story
        .keys("b")
        .wait_for("1 job running")
        .wait_for("▸ more/")
        .keys("k")
        .wait_for("▸ big/")
        .wait_for("b  browse")
        .keys("b")
        .wait_for("120 samples");
    at(&mut story, "000000");
    story.keys("j j");
    at(&mut story, "000002");
    story.keys("J").wait_for("prepare more").wait_for("1 job running").keys("esc").wait_for("Samples");
    story.keys("G");
    at(&mut story, "000239");
    // The run is still in progress when the browser opens, and ends while the browser is used.
    assert!(!test_home.data().join("more/.nv-meta/.info.json").exists(), "it runs for longer");
    story.keys("J").wait_for("prepare more").wait_for("done").keys("esc");
    at(&mut story, "000239");
    assert!(test_home.data().join("more/.nv-meta/.info.json").exists());
    quit(&mut story);
}

/// Runs the program to its end without a terminal, and returns its output.
fn run_and_read(test_home: &TestHome, arguments: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_gristmill"))
        .args(arguments)
        .current_dir(test_home.data())
        .env("HOME", test_home.home())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn jobs_panel_and_facts_open_over_the_browser() {
    let test_home = prepared();
    let mut story = browse(&test_home, &["big"]);
    at(&mut story, "000000");
    story.keys("J").wait_for("no running or interrupted jobs").keys("esc");
    at(&mut story, "000000");
    story.keys("f").wait_for("samples with part").keys("esc");
    at(&mut story, "000000");
    quit(&mut story);
}

#[test]
fn problem_search_continues_after_a_bad_line() {
    let test_home = TestHome::new();
    let mut lines: Vec<String> = (0..3_000).map(|number| format!("{{\"n\": {number}}}")).collect();
    lines[40] = "no object".into();
    lines[1_500] = "{\"n\": }".into();
    lines[2_900] = "[]".into();
    test_home.file("corpus.jsonl", lines.join("\n").as_bytes());
    let mut story = browse(&test_home, &["corpus.jsonl"]);
    at(&mut story, "0");
    story.keys("]");
    at(&mut story, "40");
    story.keys("]").wait_for("column 7");
    at(&mut story, "1500");
    story.keys("]");
    at(&mut story, "2900");
    story.keys("]").wait_for("no further problem");
    quit(&mut story);
}
