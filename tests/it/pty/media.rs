//! Media metadata and the facts view, operated like a user does.

use super::harness::{run_plainly, Story, StoryOptions, TestHome, TINY_PNG};
use std::path::Path;

/// Returns the rows of the media table below a folder, as entry and JSON.
fn rows(root: &Path) -> Vec<(String, String)> {
    let database = rusqlite::Connection::open(root.join(".nv-meta/index.sqlite")).unwrap();
    let mut statement =
        database.prepare("SELECT entry_key, metadata_json FROM media_metadata ORDER BY entry_key").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Writes a folder of separate pictures, one of them broken.
fn recordings(test_home: &TestHome) {
    for number in 0..5 {
        test_home.file(&format!("recordings/p{number}.png"), TINY_PNG);
    }
    test_home.file("recordings/deep/broken.jpg", b"\xff\xd8\xff");
    test_home.file("recordings/readme.txt", b"no picture");
}

fn at_recordings(test_home: &TestHome) -> Story {
    let mut story = StoryOptions::new(test_home).run();
    story.wait_for("recordings/").keys("G").wait_for("▸ recordings/").wait_for("media folder, no metadata");
    story
}

#[test]
fn the_guided_prepare_records_media_by_extension() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).arguments(&["prepare", "coco"]).run();
    story.wait_for("12 samples").keys("alt-5").wait_for("jpg in 100 % of samples: by extension would record 12 rows");
    story.keys("down").wait_for("(•) by extension").wait_for("--media-metadata-by-ex");
    story.wait_for("Would be described: 12 entries").wait_for("000000.jpg").wait_for("1×1 PNG RGBA");
    story
        .keys("enter")
        .wait_for("Media metadata")
        .wait_for("everything is answered")
        .keys("G")
        .wait_for("--media-metadata-by-extension");
    story.keys("enter").wait_for("coco is ready to train on");
    let found = rows(&test_home.data().join("coco"));
    assert_eq!(found.len(), 12);
    let expected = r#"{"width":1,"height":1,"format":"PNG","mode":"RGBA"}"#;
    assert_eq!(found[0], ("000000.jpg".to_owned(), expected.to_owned()));
    story.keys("esc").wait_for("corpus.jsonl").keys("f").wait_for("rows of media").wait_for("formats");
}

#[test]
fn media_folder_is_described_from_the_home_screen() {
    let test_home = TestHome::furnished();
    recordings(&test_home);
    let mut story = at_recordings(&test_home);
    story.keys("m").wait_for("(•) media metadata by extension").wait_for("Would be described: 6 entries");
    story.wait_for("p0.png").wait_for("no row").keys("enter").wait_for("gristmill prepare-media");
    story.keys("enter").wait_for("prepare-media is done, with 1 problem").wait_for("5 rows written");
    story.keys("enter").wait_for("deep/broken.jpg").wait_for("Enter open").keys("enter");
    story.wait_for("▸ browse ▸ recordings").wait_for("▸ broken").keys("esc").wait_for("deep/broken.jpg").keys("x");
    story.wait_for("a folder without tar shards has no splits");
    assert_eq!(rows(&test_home.data().join("recordings")).len(), 5);
    story.keys("esc").wait_for("media folder, described").keys("f").wait_for("5 rows of media").wait_for("PNG");
    story.keys("esc").wait_for("▸ recordings/").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn prepare_media_without_a_strategy_opens_its_form_and_takes_a_pattern() {
    let test_home = TestHome::furnished();
    recordings(&test_home);
    let mut story = StoryOptions::new(&test_home).arguments(&["prepare-media", "recordings"]).size(80, 24).run();
    story.wait_for("Would be described: 6 entries").keys("down down").wait_for("(•) media metadata by extension");
    story.type_text("*.webp").wait_for("none of 7 files").keys("enter").wait_for("none of 7 files");
    story.keys("esc").wait_for("by glob").keys("down down ctrl-u").type_text("p*.png");
    story.wait_for("Would be described: 5 entries").keys("enter").wait_for("everything is answered").keys("enter");
    story.wait_for("prepare-media is done").wait_for("5 rows written");
    story.keys("esc").wait_gone("Summary");
    story.keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn a_jsonl_file_is_indexed_from_the_home_screen() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").keys("j").wait_for("JSONL, not indexed").wait_for("p  write the index");
    story.keys("p").wait_for("writes corpus.jsonl.idx next to it").keys("enter");
    story.wait_for("corpus.jsonl is ready to train on").wait_for("1 sample");
    assert_eq!(std::fs::read(test_home.data().join("corpus.jsonl.idx")).unwrap().len(), 16);
    story.keys("esc").wait_for("JSONL, indexed").keys("f").wait_for("length of 'text', in characters");
    story.keys("esc").wait_for("p  write the index").keys("J").wait_for("prepare corpus.jsonl").wait_for("done");
}

#[test]
fn bad_jsonl_line_is_reported_by_the_form_and_no_index_written() {
    let test_home = TestHome::furnished();
    test_home.file("corpus.jsonl", b"{}\nnot json\n");
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/").keys("j").wait_for("JSONL, not indexed").keys("enter").wait_for("Write the index");
    story.keys("enter").wait_for("it failed; nothing was published").wait_for("line 2");
    assert!(!test_home.data().join("corpus.jsonl.idx").exists());
    test_home.file("corpus.jsonl", b"{}\n{}\n");
    story.keys("r").wait_for("corpus.jsonl is ready to train on");
}

#[test]
fn facts_of_an_unprepared_data_set_come_from_a_scan() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("WebDataset, not prepared").keys("f").wait_for("4 of 4 shards read").wait_for("samples with part");
    story.wait_for("length of 'txt', in characters").wait_for("5 to 5");
    story.keys("esc").wait_for("▸ coco/").keys("p").wait_for("12 samples").keys("f").wait_for("samples with part");
    story.keys("esc").wait_for("shard_0003.tar");
}

#[test]
fn facts_of_a_prepared_data_set_come_from_its_index() {
    let test_home = TestHome::furnished();
    let flags = ["prepare", "coco", "--yes", "--split-ratio", "1,1,0", "--sample-type", "CrudeWebdataset"];
    assert_eq!(run_plainly(&test_home, &flags), Some(0));
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("WebDataset, prepared").keys("f").wait_for("12 samples").wait_for("bytes a sample");
    story.wait_for("bytes of jpg").keys("G").wait_for("length of 'txt', in characters");
}
