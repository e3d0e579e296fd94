//! Answers of the terminal about pictures, which may arrive at any time.

use super::harness::{StoryOptions, TestHome};

/// Answers about Kitty's graphics, the size of a cell, and the kind of terminal.
const ANSWERS: &str = "\x1b_Gi=31;OK\x1b\\\x1b[6;16;8t\x1b[?62;4;22c";

#[test]
fn terminal_replies_are_never_read_as_keys() {
    let test_home = TestHome::furnished();
    for pause in ["gristmill", "p  prepare"] {
        let mut story = StoryOptions::new(&test_home).run();
        story.wait_for(pause);
        // Read as keys they would select the last entry (`G`) and open a page (`i`).
        story.type_text(ANSWERS).type_text("j").wait_for("▸ corpus.jsonl");
        assert_eq!(story.keys("q").exit_code(), 0);
        story.assert_restored();
    }
}

#[test]
fn keys_typed_around_the_first_frame_are_processed() {
    let test_home = TestHome::furnished();
    // Moving has no effect before the folder is read; quitting works from the first frame on.
    let mut story = StoryOptions::new(&test_home).run();
    assert_eq!(story.type_text("q").exit_code(), 0);
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("▸ coco/").type_text("j\x1b[A\x1b[Bj");
    story.wait_for("▸ notes/");
    assert_eq!(story.keys("q").exit_code(), 0);
}

#[test]
fn quit_before_the_terminal_reply_restores_the_terminal() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("coco/");
    assert_eq!(story.keys("q").exit_code(), 0);
    story.assert_restored();
}
