//! A tour through hostile data: none of its control characters reach the terminal, and the program never hangs.

use super::harness::{deadline, Story, StoryOptions, TestHome};
use super::stream::strays;
use super::wild;
use std::time::Instant;

/// Returns the state that no text of a data set may change.
fn state(story: &Story) -> String {
    story.look(|screen| {
        format!(
            "{:?}",
            (
                screen.alternate_screen(),
                screen.application_keypad(),
                screen.application_cursor(),
                screen.bracketed_paste(),
                screen.mouse_protocol_mode(),
                screen.mouse_protocol_encoding(),
                screen.hide_cursor(),
            )
        )
    })
}

/// Presses keys one by one, and waits for a frame after each, at most a quarter of a story's usual deadline. Esc is excluded: the frame may
/// have another cause, and Esc together with the next key is a different key.
#[track_caller]
fn press(story: &mut Story, keys: &str) {
    for key in keys.split_whitespace() {
        let frames = story.frames();
        let pressed = Instant::now();
        story.keys(key).wait_for_frame(frames);
        assert!(pressed.elapsed() < deadline() / 4, "{key}: a frame after {:?}\n{}", pressed.elapsed(), story.screen());
    }
}

/// Opens a screen, waits for its content, and leaves it.
#[track_caller]
fn look_at(story: &mut Story, keys: &str, shown: &str) {
    press(story, keys);
    story.wait_for(shown);
    press(story, "j j");
    story.keys("esc").wait_gone(shown);
}

/// Ends the story, and checks all bytes that were sent to the terminal.
#[track_caller]
fn end(story: &mut Story, before: &str) -> Vec<String> {
    assert_eq!(state(story), before);
    press(story, "q");
    if story.screen().contains("Stay") {
        story.keys("up up up enter");
    }
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
    let (found, copied) = strays(&story.raw());
    assert_eq!(found, Vec::<String>::new());
    story.look(|screen| assert!(!screen.application_keypad() && !screen.application_cursor()));
    copied
}

#[test]
fn hostile_data_set_is_browsed_without_changing_the_terminal_state() {
    let test_home = TestHome::new();
    wild::furnish(&test_home);
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "wild"]).run();
    story.wait_for("43 samples").wait_for("▸ 0-plain").wait_for("train 1");
    let before = state(&story);
    // Every sample with each of its parts, in the pane and on the whole screen.
    for _ in 0..8 {
        for _ in 0..7 {
            press(&mut story, ".");
        }
        press(&mut story, "z j j z j");
    }
    press(&mut story, "home");
    story.wait_for("▸ 0-plain");
    for number in 0..8 {
        press(&mut story, "v");
        story.wait_for("As the loader gets it");
        press(&mut story, "o");
        story.wait_for("Location");
        press(&mut story, "y Y");
        story.wait_for("copied");
        story.keys("esc").wait_gone("Location");
        if number < 7 {
            press(&mut story, "j");
        }
    }
    press(&mut story, "c");
    story.wait_for("seed 1");
    press(&mut story, "n j l");
    story.keys("esc").wait_gone("seed");
    look_at(&mut story, "f", "samples with part");
    press(&mut story, "/");
    story.wait_for("find key").paste("\x1b]0;owned").keys("enter").wait_gone("find key:");
    press(&mut story, "home");
    story.keys("/").wait_for("find key").type_text("/^[1-7]/").keys("enter").wait_for("found");
    press(&mut story, "n n N ] [");
    story.keys("esc").wait_gone("found");
    press(&mut story, "F");
    story.wait_for("List only samples that").keys("right enter");
    story.wait_for("listed").keys("esc").wait_gone("listed");
    // Marked items have hostile shard names, which the preview of the write shows.
    press(&mut story, "home j x");
    story.wait_for("not written");
    press(&mut story, "s");
    story.wait_for("val");
    story.keys("esc").wait_gone("a new split");
    look_at(&mut story, "w", "What would be written");
    press(&mut story, "S");
    story.wait_for("▸ splits ▸ wild");
    press(&mut story, "l j V i");
    story.wait_for("▸ details");
    story.keys("esc").wait_gone("▸ details").keys("u").wait_gone("not written");
    story.keys("esc").wait_for("▸ browse ▸ wild");
    // A name that is unsafe for a file is not written to any folder.
    press(&mut story, "home j E");
    story.wait_for("the whole sample").keys("enter").wait_for("Into which folder");
    story.type_text("~/out").keys("enter").wait_for("not safe for a file");
    assert!(!test_home.home().join("out").exists());
    let copied = end(&mut story, &before);
    assert!(copied.len() >= 16, "{copied:?}");
}

#[test]
fn leaks_of_hostile_keys_are_listed() {
    let test_home = TestHome::new();
    wild::furnish(&test_home);
    let mut story = StoryOptions::new(&test_home).arguments(&["browse", "leaky"]).run();
    story.wait_for("16 samples").wait_for("▸ 0-plain").wait_for("train 1");
    let before = state(&story);
    press(&mut story, "S");
    story.wait_for("▸ splits ▸ leaky");
    press(&mut story, "L");
    story.wait_for("by content").keys("j enter").wait_for("leaks").wait_for("0-plain");
    press(&mut story, "j j j j j j j k");
    story.keys("x").wait_for("not written");
    press(&mut story, "u");
    story.wait_gone("not written");
    story.keys("esc").wait_gone("▸ leaks");
    end(&mut story, &before);
}

#[test]
fn cut_archives_and_invalid_indexes_are_browsed() {
    let test_home = TestHome::new();
    wild::furnish(&test_home);
    for (name, shown) in [("cut", "▸ 0-plain"), ("lies", "s.tar"), ("broken", "▸ 000200")] {
        let mut story = StoryOptions::new(&test_home).arguments(&["browse", name]).size(80, 24).run();
        story.wait_for(shown);
        let before = state(&story);
        press(&mut story, "j G .");
        // For missing content, the reason is shown.
        if name == "lies" {
            press(&mut story, "o");
            story.wait_for("this sample cannot be read");
        } else {
            look_at(&mut story, "o", "Location");
            look_at(&mut story, "v", "As the loader gets it");
        }
        press(&mut story, "j j home r ]");
        look_at(&mut story, "f", "▸ facts");
        look_at(&mut story, "c", "seed 1");
        press(&mut story, "S");
        story.wait_until("a screen of its own, or the reason", |screen| {
            let shown = screen.contents();
            shown.contains("▸ splits") || shown.contains("!") || shown.contains("prepared")
        });
        press(&mut story, "j j");
        end(&mut story, &before);
    }
}

#[test]
fn hostile_jsonl_lines_and_media_are_browsed() {
    let test_home = TestHome::new();
    wild::furnish(&test_home);
    for (name, shown) in [("lines.jsonl", "5 samples"), ("media", "4 samples")] {
        let mut story = StoryOptions::new(&test_home).arguments(&["browse", name]).run();
        story.wait_for(shown);
        let before = state(&story);
        press(&mut story, "j j j j G home tab j j z z backtab");
        for _ in 0..5 {
            press(&mut story, "j .");
            look_at(&mut story, "v", "As the loader gets it");
            look_at(&mut story, "o", "Location");
        }
        look_at(&mut story, "c", "seed 1");
        press(&mut story, "Y y");
        story.wait_for("copied");
        end(&mut story, &before);
    }
}
