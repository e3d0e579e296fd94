//! Settings and themes in a real terminal.

use super::harness::{StoryOptions, TestHome};
use std::path::PathBuf;

fn settings(test_home: &TestHome, name: &str, text: &str) -> PathBuf {
    // The data folder is inside the home, like the folder of settings.
    test_home.file(&format!("../config/gristmill/{name}"), text.as_bytes())
}

#[test]
fn user_keys_run_their_actions_and_appear_in_bar_and_help() {
    let test_home = TestHome::furnished();
    let keys = "keys:\n  home:\n    recent: [Z]\n    prepare: [P]\n    info: [ctrl-g]\n  global:\n    jobs: []\n    quit: [Q]\n";
    settings(&test_home, "config.yaml", keys);
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("▸ coco/").wait_for("Z recent").wait_for("Q quit").wait_for("Ctrl-g info").wait_gone("J jobs");
    story.keys("r q J ctrl-g").wait_for("▸ info ▸ coco").keys("esc").wait_for("▸ coco/");
    story.keys("?").type_text("left the program").keys("backspace").wait_for("Help:").keys("esc").wait_gone("Help:");
    story.keys("j ctrl-g").wait_for("none: prepare writes it").keys("esc").wait_gone("▸ info").keys("k");
    story.keys("Z").wait_for("nothing was opened yet").keys("Q");
    assert_eq!(story.exit_code(), 0);
    story.assert_restored();
}

#[test]
fn settings_mistakes_are_shown_first_and_valid_settings_apply() {
    let test_home = TestHome::furnished();
    settings(&test_home, "config.yaml", "theem: dark\nkeys:\n  home:\n    recent: [Z]\n    prepare: [entr]\n");
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("Some of your settings cannot be used");
    story.wait_for("config.yaml, line 1, column 1: there is no setting 'theem'").wait_for("did you mean 'theme'?");
    story.wait_for("line 5, column 15: 'entr' is not a key").wait_for("did you mean 'enter'?");
    story.keys("esc").wait_for("▸ coco/").wait_for("Z recent").wait_for("p  prepare").keys("q");
    assert_eq!(story.exit_code(), 0);
}

#[test]
fn user_theme_colours_the_whole_background() {
    let test_home = TestHome::furnished();
    settings(&test_home, "config.yaml", "theme: dusk\n");
    settings(&test_home, "themes/dusk.yaml", "base: dark\ntext: \"#d0d0d0 on #101418\"\n");
    let mut story = StoryOptions::new(&test_home).variable("COLORTERM", "truecolor").run();
    story.wait_for("▸ coco/").keys("?").wait_for("Help:");
    story.look(|screen| {
        let (rows, columns) = screen.size();
        for (row, column) in (0..rows.get()).flat_map(|r| (0..columns.get()).map(move |c| (r, c))) {
            let cell = screen.cell(row, column).unwrap();
            assert_ne!(cell.bgcolor(), vt100::Color::Default, "row {row}, column {column}");
        }
    });
    let mut story = StoryOptions::new(&test_home).arguments(&["--theme", "16-colour"]).run();
    story.wait_for("▸ coco/");
    story.look(|screen| assert_eq!(screen.cell(0, 0).unwrap().bgcolor(), vt100::Color::Default));
}

#[test]
fn no_color_overrides_the_theme_and_color_always_overrides_no_color() {
    let test_home = TestHome::furnished();
    settings(&test_home, "config.yaml", "theme: dark\n");
    for (variable, arguments, coloured) in
        [("1", vec![], false), ("", vec!["--color", "never"], false), ("1", vec!["--color", "always"], true)]
    {
        let mut story = StoryOptions::new(&test_home).variable("NO_COLOR", variable).arguments(&arguments).run();
        story.wait_for("▸ coco/").wait_for("p  prepare");
        story.look(|screen| {
            let is_coloured = screen.cell(0, 0).unwrap().bgcolor() != vt100::Color::Default;
            assert_eq!(is_coloured, coloured, "NO_COLOR={variable} {arguments:?}");
        });
    }
}

#[test]
fn unknown_theme_flag_is_refused_with_a_suggestion() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).arguments(&["--theme", "drak"]).run();
    assert_eq!(story.exit_code(), 2);
    story.wait_for("there is no theme 'drak'").wait_for("did you mean 'dark'?");
    story.assert_restored();
}

#[test]
fn mouse_setting_false_leaves_the_mouse_to_the_terminal() {
    let test_home = TestHome::furnished();
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("▸ coco/");
    story.look(|screen| assert_ne!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None));
    settings(&test_home, "config.yaml", "mouse: false\n");
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("▸ coco/");
    story.look(|screen| assert_eq!(screen.mouse_protocol_mode(), vt100::MouseProtocolMode::None));
    assert_eq!(story.keys("q").exit_code(), 0);
    story.assert_restored();
}

#[test]
fn ascii_setting_draws_only_ascii() {
    let test_home = TestHome::furnished();
    settings(&test_home, "config.yaml", "ascii: true\n");
    let mut story = StoryOptions::new(&test_home).run();
    story.wait_for("> coco/").wait_for("p  prepare");
    assert!(story.screen().is_ascii(), "{}", story.screen());
}
