//! The split editor, operated like a user does.

use super::harness::{deadline, run_plainly, Story, StoryOptions, TestHome};
use rustix::process::Signal;
use std::path::PathBuf;
use std::time::Instant;

/// Splits written by a user: with comments and an unusual indentation.
const KEPT: &str = "\
# Ana: the test shard is from another camera
split_parts:
   train:
   - shard_0000.tar
   - shard_0001.tar   # the large one
   val:
   - 'shard_0002.tar'
   test:
   - shard_0003.tar
exclude:
- shard_0001.tar/000101   # blurred
";

/// Returns `coco`, prepared, with four shards of three samples in three splits.
fn prepared() -> TestHome {
    let test_home = TestHome::furnished();
    let flags = ["prepare", "coco", "--yes", "--split-ratio", "2,1,1", "--sample-type", "CrudeWebdataset"];
    assert_eq!(run_plainly(&test_home, &flags), Some(0));
    test_home.file("coco/.nv-meta/split.yaml", KEPT.as_bytes());
    test_home
}

fn file(test_home: &TestHome) -> PathBuf {
    test_home.data().join("coco/.nv-meta/split.yaml")
}

fn text(test_home: &TestHome) -> String {
    std::fs::read_to_string(file(test_home)).unwrap()
}

/// Opens the editor from the home screen.
#[track_caller]
fn open_with(start: StoryOptions) -> Story {
    let mut story = start.run();
    story.wait_for("WebDataset, prepared").keys("s").wait_for("Excluded  1 sample");
    story
}

fn open(test_home: &TestHome) -> Story {
    open_with(StoryOptions::new(test_home))
}

/// Writes the pending changes, and returns to the columns.
#[track_caller]
fn write(story: &mut Story) {
    story.keys("w").wait_for("What would be written").wait_for("+");
    story.keys("enter").wait_for("Written").wait_for("split.yaml").keys("enter").wait_for("Excluded");
}

#[test]
fn one_shard_is_moved_and_only_its_line_changes() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.wait_for("train  2 shards").keys("m").wait_for("Move shard_0000.tar to").keys("3");
    story.wait_for("+ shard_0000.tar").wait_for("1 change not written (w)");
    assert_eq!(text(&test_home), KEPT, "nothing is written before it is asked");
    write(&mut story);
    story.wait_gone("not written");
    let moved = KEPT
        .replace("   - shard_0000.tar\n", "")
        .replace("   - shard_0003.tar\n", "   - shard_0003.tar\n   - shard_0000.tar\n");
    let sorted = KEPT
        .replace("   - shard_0000.tar\n", "")
        .replace("   - shard_0003.tar\n", "   - shard_0000.tar\n   - shard_0003.tar\n");
    let written = text(&test_home);
    assert!(written == moved || written == sorted, "{written}");
    story.keys("esc").wait_for("WebDataset, prepared").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn moved_range_is_one_change_and_an_emptied_split_is_reported() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("V j").wait_for("* shard_0001.tar").keys("m").wait_for("Move 2 shards to").keys("2");
    story.wait_for("1 change not written").wait_for("train  empty").wait_for("split 'train' is empty");
    story.keys("u").wait_for("undone: move 2 shards to val").wait_gone("train  empty");
}

#[test]
fn shards_are_moved_by_a_pattern_whose_matches_are_shown_while_it_is_typed() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("/").wait_for("Shards by pattern").type_text("*3").wait_for("!");
    story.keys("ctrl-u").type_text("shard_000[23]").wait_for("2 shards: 1 in val, 1 in test").keys("enter");
    story.wait_for("Move 2 shards to").wait_for("exclude them").keys("1");
    story.wait_for("train  4 shards").wait_for("val  empty").wait_for("test  empty");
}

#[test]
fn balance_dialog_previews_its_moves() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("b").wait_for("Balance by samples").keys("ctrl-u").type_text("1,1").wait_for("2 numbers for 3 splits");
    story.type_text(",2").wait_for("1 shard to move").wait_for("wanted").keys("enter");
    story.wait_for("1 change not written").wait_for("test  2 shards").keys("u").wait_for("train  2 shards");
}

#[test]
fn a_shard_is_excluded_with_a_note_that_becomes_a_comment() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("l n").wait_for("Exclude shard_0002.tar, because:").type_text("too dark").keys("enter");
    story.wait_for("too dark").wait_for("x shard_0002.tar").wait_for("val  empty: all excluded");
    write(&mut story);
    let written = text(&test_home);
    assert!(written.starts_with(&KEPT.replace("exclude:\n- shard_0001.tar/000101   # blurred\n", "")), "{written}");
    assert!(written.contains("000101   # blurred\n- shard_0002.tar  # too dark\n"), "{written}");
}

#[test]
fn typed_exclude_range_is_checked_and_written_with_its_note() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story
        .keys("a")
        .wait_for("SHARD, SHARD/KEY")
        .type_text("shard_0001.tar/{000200..000209}")
        .wait_for("matches nothing");
    story.keys("enter").wait_for("Enter again").keys("ctrl-u").type_text("shard_0001.tar/{000100..000102}");
    story.wait_for("all 3").keys("tab").type_text("dust").keys("enter").wait_for("all 3").wait_for("dust");
    write(&mut story);
    assert!(text(&test_home).contains("- shard_0001.tar/{000100..000102}  # dust\n"), "{}", text(&test_home));
}

#[test]
fn unmatched_exclude_is_marked_in_the_split_editor() {
    let test_home = prepared();
    let broken = KEPT.replace("shard_0001.tar/000101", "shard_0001.tar/000999");
    test_home.file("coco/.nv-meta/split.yaml", broken.as_bytes());
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("WebDataset, prepared").keys("s").wait_for("matches nothing").wait_for("it excludes nothing");
    story.keys("tab x").wait_for("Excluded  nothing");
}

#[test]
fn excludes_get_notes_and_are_removed_and_restored() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story
        .keys("tab n")
        .wait_for("Note")
        .keys("ctrl-u")
        .type_text("sharp enough")
        .keys("enter")
        .wait_for("sharp enough");
    story.keys("x").wait_for("Excluded  nothing").keys("u").wait_for("Excluded  1 sample");
    write(&mut story);
    assert!(text(&test_home).contains("- shard_0001.tar/000101   # sharp enough\n"), "{}", text(&test_home));
}

#[test]
fn split_changes_are_undone_and_redone() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("x").wait_for("1 change not written").keys("j x").wait_for("2 changes not written");
    story.keys("u u").wait_gone("not written").keys("ctrl-r").wait_for("1 change not written");
    story.keys("ctrl-r").wait_for("2 changes not written").keys("ctrl-r").wait_for("nothing to redo");
}

#[test]
fn splits_are_added_renamed_and_dropped() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("A").wait_for("New split").type_text("val").keys("enter").wait_for("there is a split 'val' already");
    story.keys("ctrl-u").type_text("holdout").keys("enter").wait_for("holdout  empty");
    story.keys("R").wait_for("Rename split").keys("ctrl-u").type_text("clean").keys("enter");
    story.wait_for("clean  empty").keys("D").wait_gone("clean  empty").keys("h h h D").wait_for("no split  2 shards");
}

#[test]
fn conflict_choice_1_reapplies_changes_to_the_changed_file() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("x").wait_for("1 change not written");
    let theirs = KEPT.replace("Ana:", "Ben:");
    test_home.file("coco/.nv-meta/split.yaml", theirs.as_bytes());
    story.keys("w").wait_for("What would be written").wait_for("+").keys("enter").wait_for("The file has changed");
    assert_eq!(text(&test_home), theirs);
    story.keys("1").wait_for("your changes on their file").wait_for("lines +1 -0").keys("enter");
    story.wait_for("Written");
    let written = text(&test_home);
    assert!(written.starts_with("# Ben:") && written.contains("- shard_0000.tar\n"), "{written}");
    assert!(written.ends_with("- shard_0000.tar\n"), "{written}");
}

#[test]
fn conflict_choices_2_and_3_keep_own_or_changed_file() {
    for (choice, mine) in [("2", true), ("3", false)] {
        let test_home = prepared();
        let mut story = open(&test_home);
        story.keys("x").wait_for("1 change not written");
        let theirs = KEPT.replace("Ana:", "Ben:");
        test_home.file("coco/.nv-meta/split.yaml", theirs.as_bytes());
        story.keys("w").wait_for("What would be written").wait_for("+").keys("enter").wait_for("The file has changed");
        story.keys(choice);
        if mine {
            story.wait_for("Written");
            assert!(text(&test_home).starts_with("# Ana:"), "{}", text(&test_home));
        } else {
            story.wait_for("nothing was written");
            assert_eq!(text(&test_home), theirs);
        }
    }
}

#[test]
fn invalid_edited_text_is_reported_and_can_be_corrected() {
    let test_home = prepared();
    // The script breaks the file the first time, and repairs it the second time.
    let script = "if grep -q '^broken' \"$1\"; then sed -i '/^broken/d; s/the large one/the largest/' \"$1\"; \
                  else sed -i '5i broken: [' \"$1\"; fi\n";
    let editor = test_home.file("editor.sh", script.as_bytes());
    let mut story =
        open_with(StoryOptions::new(&test_home).variable("VISUAL", &format!("/bin/sh {}", editor.display())));
    story.keys("e").wait_for("The text was not taken").wait_for("Line ");
    story.keys("1").wait_gone("The text was not taken").wait_for("1 change not written").assert_taken();
    write(&mut story);
    assert_eq!(text(&test_home), KEPT.replace("the large one", "the largest"));
}

#[test]
fn invalid_edited_text_can_be_discarded() {
    let test_home = prepared();
    let editor = test_home.file("editor.sh", b"echo '}{' >> \"$1\"\n");
    let mut story =
        open_with(StoryOptions::new(&test_home).variable("EDITOR", &format!("/bin/sh {}", editor.display())));
    story.keys("e").wait_for("The text was not taken").keys("2").wait_gone("The text was not taken");
    story.keys("x").wait_for("1 change not written");
    assert_eq!(text(&test_home), KEPT);
}

/// Returns a data set with one sample in both train and val.
fn leaky() -> TestHome {
    let test_home = TestHome::new();
    for shard in 0..4_usize {
        let mut builder = tar::Builder::new(Vec::new());
        for sample in 0..3_usize {
            let key = shard * 100 + sample;
            // The last sample of each half is the same.
            let seed = if sample == 2 { shard / 3 * 7 + 1 } else { key + 1000 };
            let bytes: Vec<u8> = (0..300_usize).map(|at| (seed * 31 + at * (seed % 13 + 1)) as u8).collect();
            let mut header = tar::Header::new_ustar();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, format!("s{key:06}.bin"), &bytes[..]).unwrap();
        }
        test_home.file(&format!("coco/shard_{shard:04}.tar"), &builder.into_inner().unwrap());
    }
    let flags = ["prepare", "coco", "--yes", "--split-ratio", "2,1,1", "--sample-type", "CrudeWebdataset"];
    assert_eq!(run_plainly(&test_home, &flags), Some(0));
    test_home
}

#[test]
fn leak_is_found_and_resolved_by_one_key() {
    let test_home = leaky();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("WebDataset, prepared").keys("s").wait_for("Excluded  nothing").keys("L").wait_for("Leak check");
    story.keys("2").wait_for("same sample").wait_for("contents compared").wait_for("! same sample");
    story.keys("x").wait_for("✓ same sample").wait_for("1 change not written");
    story.keys("u").wait_for("! same sample").keys("X").wait_for("✓ same sample");
    story.keys("w").wait_for("What would be written").wait_for("+").keys("enter").wait_for("Written");
    let text = text(&test_home);
    assert!(text.contains("exclude:\n- shard_"), "{text}");
    story.keys("enter").wait_for("Leaks").keys("esc").wait_for("Excluded").keys("L").wait_for("Leak check");
    story.keys("2").wait_for("no two splits share a sample");
}

#[test]
fn quit_with_unwritten_changes_needs_confirmation_and_keeps_a_draft() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story
        .keys("x")
        .wait_for("1 change not written")
        .keys("q")
        .wait_for("1 change to the splits of coco is not written");
    story.keys("s").wait_gone("Opening it again").keys("q").wait_for("Opening it again").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
    assert_eq!(text(&test_home), KEPT);
    let mut story = open(&test_home);
    story.wait_for("Unwritten changes").wait_for("exclude shard_0000.tar").keys("2").wait_gone("Unwritten changes");
    story.keys("esc").wait_for("WebDataset, prepared").keys("s").wait_for("train  2 shards").wait_gone("Unwritten");
}

#[test]
fn crash_keeps_the_split_draft_and_a_write_deletes_it() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("x j x").wait_for("2 changes not written");
    let drafts = test_home.home().join("state");
    let kept = || {
        walkdir::WalkDir::new(&drafts)
            .into_iter()
            .filter_map(Result::ok)
            .find(|entry| entry.file_name().to_string_lossy().ends_with(".splits.json"))
            .and_then(|entry| std::fs::read_to_string(entry.path()).ok())
    };
    let end = Instant::now() + deadline();
    while kept().is_none_or(|text| !text.contains("shard_0001.tar")) {
        assert!(Instant::now() < end, "the draft is not kept");
        std::thread::yield_now();
    }
    story.signal(Signal::KILL);
    let mut story = open(&test_home);
    story
        .wait_for("Unwritten changes")
        .wait_for("2 changes were left unwritten just now:")
        .keys("1")
        .wait_for("2 changes restored");
    write(&mut story);
    assert!(text(&test_home).ends_with("- shard_0000.tar\n- shard_0001.tar\n"), "{}", text(&test_home));
    while kept().is_some() {
        assert!(Instant::now() < end + deadline(), "the draft is gone after a write");
        std::thread::yield_now();
    }
    story.keys("esc").wait_for("WebDataset, prepared").keys("s").wait_for("Excluded").wait_gone("Unwritten changes");
}

#[test]
fn closing_the_split_editor_with_changes_needs_confirmation() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("x").wait_for("1 change not written").keys("esc").wait_for("1 change is not written.").keys("4");
    story.wait_gone("discard them").keys("esc").wait_for("discard them").keys("3").wait_for("WebDataset, prepared");
    story.keys("s").wait_for("train  2 shards").wait_gone("Unwritten").keys("x").wait_for("1 change not written");
    story.keys("esc").wait_for("discard them").keys("1").wait_for("What would be written");
}

#[test]
fn split_editor_at_40_by_12_shows_one_pane() {
    let test_home = prepared();
    let mut story = StoryOptions::new(&test_home).size(40, 12).run();
    story.wait_for("✓").keys("s").wait_for("train").wait_for("Excluded  1 sample");
    story.keys("m").wait_for("Move shard_0000.tar to").keys("2").wait_for("1 change not written");
    story.keys("l").wait_for("+ shard_0000.tar").keys("tab").wait_for("000101");
    story.resize(30, 8).wait_for("gristmill needs").resize(80, 24).wait_for("val  2 shards").wait_for("000101");
}

#[test]
fn paste_of_ten_mebibytes_keeps_the_split_editor_responsive() {
    let test_home = prepared();
    let mut story = open(&test_home);
    story.keys("/").wait_for("Shards by pattern").paste(&"x".repeat(10 << 20)).wait_for("0 of 4 shards");
    story.keys("esc").wait_gone("Shards by pattern").keys("x").wait_for("1 change not written");
}

#[test]
fn without_colour_every_state_is_visible() {
    let test_home = prepared();
    let mut story = open_with(StoryOptions::new(&test_home).variable("NO_COLOR", "1"));
    story.keys("x").wait_for("x shard_0000.tar").keys("j m").wait_for("Move").keys("2").wait_for("+ shard_0001.tar");
    story.keys("w").wait_for("What would be written").wait_for("- ").wait_for("+ ");
    story.look(|screen| {
        let (rows, columns) = screen.size();
        for (row, column) in (0..rows.get()).flat_map(|r| (0..columns.get()).map(move |c| (r, c))) {
            let cell = screen.cell(row, column).unwrap();
            assert_eq!((cell.fgcolor(), cell.bgcolor()), (vt100::Color::Default, vt100::Color::Default));
        }
    });
}

#[test]
fn invalid_split_file_is_reported_and_reread_after_its_repair() {
    let test_home = prepared();
    test_home.file("coco/.nv-meta/split.yaml", b"split_parts: [\n");
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").wait_for("has mistakes").keys("s").wait_for("line 1");
    test_home.file("coco/.nv-meta/split.yaml", KEPT.as_bytes());
    story.keys("f5").wait_for("train  2 shards");
}
