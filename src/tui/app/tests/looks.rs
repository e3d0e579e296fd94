//! Snapshots of whole screens at the supported sizes.

use super::*;

const SIZES: [(u16, u16); 3] = [(80, 24), (100, 30), (40, 12)];

fn all_sizes(test: &mut AppTest, name: &str) {
    for (columns, rows) in SIZES {
        snapshot(test, name, columns, rows);
    }
}

#[test]
fn home() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    all_sizes(&mut test, "home");
}

#[test]
fn home_filtered() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    test.keys("/").type_text("co");
    all_sizes(&mut test, "home_filtered");
}

#[test]
fn home_on_an_interrupted_preparation() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    test.keys("j j j");
    all_sizes(&mut test, "home_interrupted");
}

#[test]
fn home_in_ascii_without_colours() {
    let mut test = AppTest::new(ColourMode::None, true);
    all_sizes(&mut test, "home_ascii");
}

#[test]
fn help() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    test.keys("?");
    all_sizes(&mut test, "help");
}

#[test]
fn help_in_ascii() {
    let mut test = AppTest::new(ColourMode::None, true);
    test.keys("?");
    snapshot(&mut test, "help_ascii", 80, 24);
}

#[test]
fn palette() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    test.keys(":").type_text("job");
    all_sizes(&mut test, "palette");
}

#[test]
fn jobs() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    with_jobs(&mut test);
    test.keys("J");
    all_sizes(&mut test, "jobs");
    test.keys("enter");
    snapshot(&mut test, "jobs_problems", 100, 30);
}

#[test]
fn jobs_in_ascii() {
    let mut test = AppTest::new(ColourMode::None, true);
    with_jobs(&mut test);
    test.keys("J");
    snapshot(&mut test, "jobs_ascii", 80, 24);
}

#[test]
fn quitting_while_a_job_runs() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    with_jobs(&mut test);
    test.keys("q");
    snapshot(&mut test, "quit_question", 80, 24);
}

#[test]
fn a_terminal_that_is_too_small_gets_one_sentence() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    snapshot(&mut test, "too_small", 30, 8);
}

#[test]
fn frame_and_popups_draw_at_any_size() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    with_jobs(&mut test);
    for keys in ["", "?", "esc :", "esc J", "enter", "q"] {
        test.keys(keys);
        for (columns, rows) in
            [(1, 1), (2, 40), (200, 2), (40, 10), (41, 11), (79, 23), (81, 25), (300, 100), (40, 100)]
        {
            test.terminal(columns, rows);
        }
    }
}

#[test]
fn without_colours_cells_are_uncoloured_and_selection_is_reversed() {
    let mut test = AppTest::new(ColourMode::None, false);
    with_jobs(&mut test);
    for keys in ["", "?", "esc J", "esc q"] {
        test.keys(keys);
        let terminal = test.terminal(100, 30);
        let cells = terminal.backend().buffer().content();
        let coloured = cells.iter().filter(|c| c.fg != Color::Reset || c.bg != Color::Reset).count();
        assert_eq!(coloured, 0, "after '{keys}'");
        assert!(cells.iter().any(|c| c.modifier.contains(Modifier::REVERSED)), "no selection after '{keys}'");
    }
}

#[test]
fn ascii_mode_draws_only_ascii() {
    let mut test = AppTest::new(ColourMode::None, true);
    with_jobs(&mut test);
    // Remove the file whose unusual name is not shown in ASCII.
    std::fs::remove_file(test.folder.path().join("data/odd \u{202e}name\u{1b}[31m.txt")).unwrap();
    for keys in ["f5", "?", "esc :", "esc J", "enter", "esc q"] {
        test.keys(keys);
        let screen = test.screen(100, 30);
        assert!(screen.is_ascii(), "after '{keys}':\n{screen}");
    }
}

#[test]
fn cells_contain_no_control_or_direction_characters() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    test.keys("G");
    let terminal = test.terminal(120, 40);
    for cell in terminal.backend().buffer().content() {
        assert!(!cell.symbol().chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)));
    }
    test.assert_shows("odd <U+202E>name");
}

#[test]
fn narrow_list_shows_long_names_instead_of_sizes() {
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    assert!(test.screen(80, 24).contains("80.0 KiB  –"));
    for number in 0..8 {
        put(&test.folder.path().join(format!("data/openimages_v7_extended_{number}/s.tar")), &shard(&["txt"]));
    }
    test.keys("f5");
    test.assert_shows("openimages_v7_extended_7/");
    let screen = test.screen(80, 24);
    assert!(screen.contains("openimages_v7_extended_7/  ") && !screen.contains("KiB  –"), "{screen}");
    assert!(test.screen(100, 30).contains("KiB  –"), "there is room for both");
}
