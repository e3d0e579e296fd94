//! Sizes, colours and glyphs in a real terminal.

use super::harness::{StoryOptions, TestHome};

#[test]
fn home_screen_follows_terminal_resizes() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("p  prepare").resize(60, 20).wait_gone("p  prepare").wait_for("coco/");
    story.resize(30, 8).wait_for("gristmill needs 40 columns");
    story.resize(120, 40).wait_for("p  prepare");
}

#[test]
fn home_survives_a_thousand_resizes() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/");
    for step in 0..1_000_u16 {
        story.resize(2 + step * 7 % 150, 2 + step * 3 % 60);
    }
    story.resize(100, 30).wait_for("▸ coco/").wait_for("p  prepare");
    assert_eq!(story.keys("q").exit_code(), 0);
    story.assert_restored();
}

#[test]
fn frames_are_drawn_only_for_changes() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("WebDataset, not prepared");
    let before = story.frames();
    // The first key has no meaning here; the second one moves the selection. They are read in this order.
    story.keys("Z").keys("j").wait_for_frame(before).wait_for("▸ corpus.jsonl").wait_for("JSONL");
    let after = story.frames();
    assert!(
        (before + 1..=before + 3).contains(&after),
        "{before} to {after}: one for the key, at most two for what is found out"
    );
}

#[test]
fn without_colour_the_selection_is_visible() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).variable("NO_COLOR", "1").run();
    story.wait_for("▸ coco/").keys("j").wait_for("▸ corpus.jsonl");
    let (row, column) = place_of(&story.screen(), "▸ corpus.jsonl");
    story.look(|screen| {
        let cell = screen.cell(row, column).unwrap();
        assert!(cell.inverse(), "the selected row is not reversed");
        let (rows, columns) = screen.size();
        for (row, column) in (0..rows.get()).flat_map(|r| (0..columns.get()).map(move |c| (r, c))) {
            let cell = screen.cell(row, column).unwrap();
            assert_eq!((cell.fgcolor(), cell.bgcolor()), (vt100::Color::Default, vt100::Color::Default));
        }
    });
}

#[test]
fn with_colours_the_selection_is_inverted() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("▸ coco/").wait_for("WebDataset");
    let (row, column) = place_of(&story.screen(), "▸ coco/");
    assert!(story.look(|screen| screen.cell(row, column).unwrap().inverse()));
}

#[test]
fn in_ascii_the_screen_is_ascii() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).arguments(&["--ascii"]).run();
    story.wait_for("> coco/").wait_for("p  prepare");
    assert!(story.screen().is_ascii(), "{}", story.screen());
    story.keys("?").wait_for("Help: what works here");
    assert!(story.screen().is_ascii(), "{}", story.screen());
}

/// Returns row and column of a text on the screen.
fn place_of(screen: &str, text: &str) -> (u16, u16) {
    let (row, line) = screen.lines().enumerate().find(|(_, line)| line.contains(text)).expect("the text is shown");
    let column = line.split(text).next().unwrap_or_default().chars().count();
    (u16::try_from(row).unwrap(), u16::try_from(column).unwrap())
}
