//! Metadatasets and the mix form, operated like a user does.

use super::harness::{run_plainly, StoryOptions, TestHome};

/// Returns two prepared data sets next to each other.
fn two_sets() -> TestHome {
    let test_home = TestHome::furnished();
    test_home.shard("flickr/shard_0000.tar", 900, 4);
    test_home.shard("flickr/shard_0001.tar", 950, 4);
    for name in ["coco", "flickr"] {
        let flags = ["prepare", name, "--yes", "--split-ratio", "1,1,0", "--sample-type", "CrudeWebdataset"];
        assert_eq!(run_plainly(&test_home, &flags), Some(0));
    }
    test_home
}

#[test]
fn mixture_is_written_by_the_form_and_passes_the_check() {
    let test_home = two_sets();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("WebDataset, prepared").wait_for("x  mix").keys("x");
    story.wait_for("Data sets").wait_for("[x] coco").keys("3").wait_for("train").wait_for("100 %");
    story.keys("j").wait_for("▸ [ ] flickr").keys("space").wait_for("75.0 %").wait_for("25.0 %");
    story.keys("enter").wait_for("everything is answered").wait_for("weight: 3");
    assert!(!test_home.data().join("mix.yaml").exists(), "nothing is written before");
    story.keys("enter").wait_for("Written").wait_for("mix.yaml");
    assert!(std::fs::read_to_string(test_home.data().join("mix.yaml")).unwrap().contains("weight: 3"));
    assert_eq!(run_plainly(&test_home, &["mix", "check", "mix.yaml"]), Some(0));
    story
        .keys("esc")
        .wait_for("WebDataset, prepared")
        .wait_for("metadataset")
        .keys("j j j")
        .wait_for("metadataset, readable");
    story.wait_for("2 members").keys("p").wait_for("mix.yaml is ready to train on");
    story.keys("esc").wait_for("metadataset, readable").keys("q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn invalid_mixture_is_not_written() {
    let test_home = two_sets();
    let mut story = StoryOptions::new(&test_home).size(80, 24).run();
    story
        .wait_for("▸ coco/")
        .wait_for("x  mix")
        .keys("x")
        .wait_for("[x] coco")
        .keys("space")
        .wait_for("choose the data");
    story.keys("enter").wait_for("choose the data sets").keys("0").wait_for("a number above 0 is needed");
    story.keys("backspace 2 tab").type_text("nowhere").wait_for("nowhere").keys("enter").wait_for("nowhere");
    assert!(!test_home.data().join("mix.yaml").exists());
    story.keys("esc").wait_for("▸ coco/");
}

#[test]
fn invalid_metadataset_shows_the_line_of_its_mistake() {
    let test_home = two_sets();
    let head = "__module__: megatron.energon\n__class__: MetadatasetV2\nsplits:\n";
    test_home.file("bad.yaml", format!("{head}  train:\n    blnd: []\n").as_bytes());
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("▸ bad.yaml").wait_for("metadataset, has mistakes").wait_for("line 5");
    story.keys("p").wait_for("it failed; nothing was published");
    story.keys("esc").wait_for("▸ bad.yaml");
}
