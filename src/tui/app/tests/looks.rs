//! Whole screens at the supported sizes.

use super::*;

const SIZES: [(u16, u16); 3] = [(80, 24), (100, 30), (40, 12)];

fn all_sizes(stage: &mut Stage, name: &str) {
    for (columns, rows) in SIZES {
        snapshot(stage, name, columns, rows);
    }
}

#[test]
fn home() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    all_sizes(&mut stage, "home");
}

#[test]
fn home_filtered() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    stage.keys("/").type_text("co");
    all_sizes(&mut stage, "home_filtered");
}

#[test]
fn home_on_an_interrupted_preparation() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    stage.keys("j j j");
    all_sizes(&mut stage, "home_interrupted");
}

#[test]
fn home_in_ascii_without_colours() {
    let mut stage = Stage::new(ColourMode::None, true);
    all_sizes(&mut stage, "home_ascii");
}

#[test]
fn help() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    stage.keys("?");
    all_sizes(&mut stage, "help");
}

#[test]
fn help_in_ascii() {
    let mut stage = Stage::new(ColourMode::None, true);
    stage.keys("?");
    snapshot(&mut stage, "help_ascii", 80, 24);
}

#[test]
fn palette() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    stage.keys(":").type_text("job");
    all_sizes(&mut stage, "palette");
}

#[test]
fn jobs() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    with_jobs(&mut stage);
    stage.keys("J");
    all_sizes(&mut stage, "jobs");
    stage.keys("enter");
    snapshot(&mut stage, "jobs_problems", 100, 30);
}

#[test]
fn jobs_in_ascii() {
    let mut stage = Stage::new(ColourMode::None, true);
    with_jobs(&mut stage);
    stage.keys("J");
    snapshot(&mut stage, "jobs_ascii", 80, 24);
}

#[test]
fn quitting_while_a_job_runs() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    with_jobs(&mut stage);
    stage.keys("q");
    snapshot(&mut stage, "quit_question", 80, 24);
}

#[test]
fn a_terminal_that_is_too_small_gets_one_sentence() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    snapshot(&mut stage, "too_small", 30, 8);
}

#[test]
fn no_size_panics() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    with_jobs(&mut stage);
    for keys in ["", "?", "esc :", "esc J", "enter", "q"] {
        stage.keys(keys);
        for (columns, rows) in
            [(1, 1), (2, 40), (200, 2), (40, 10), (41, 11), (79, 23), (81, 25), (300, 100), (40, 100)]
        {
            stage.terminal(columns, rows);
        }
    }
}

#[test]
fn without_colours_no_cell_has_one_and_the_selection_is_reversed() {
    let mut stage = Stage::new(ColourMode::None, false);
    with_jobs(&mut stage);
    for keys in ["", "?", "esc J", "esc q"] {
        stage.keys(keys);
        let terminal = stage.terminal(100, 30);
        let cells = terminal.backend().buffer().content();
        let coloured = cells.iter().filter(|c| c.fg != Color::Reset || c.bg != Color::Reset).count();
        assert_eq!(coloured, 0, "after '{keys}'");
        assert!(cells.iter().any(|c| c.modifier.contains(Modifier::REVERSED)), "no selection after '{keys}'");
    }
}

#[test]
fn in_ascii_everything_of_our_own_is_ascii() {
    let mut stage = Stage::new(ColourMode::None, true);
    with_jobs(&mut stage);
    // Remove the file whose unusual name is not shown in ASCII.
    std::fs::remove_file(stage.folder.path().join("data/odd \u{202e}name\u{1b}[31m.txt")).unwrap();
    for keys in ["f5", "?", "esc :", "esc J", "enter", "esc q"] {
        stage.keys(keys);
        let screen = stage.screen(100, 30);
        assert!(screen.is_ascii(), "after '{keys}':\n{screen}");
    }
}

#[test]
fn no_cell_ever_holds_a_control_or_a_direction_mark() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    stage.keys("G");
    let terminal = stage.terminal(120, 40);
    for cell in terminal.backend().buffer().content() {
        assert!(!cell.symbol().chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)));
    }
    stage.assert_shows("odd <U+202E>name");
}

#[test]
fn in_a_narrow_list_long_names_come_before_sizes() {
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    assert!(stage.screen(80, 24).contains("80.0 KiB  –"));
    for number in 0..8 {
        put(&stage.folder.path().join(format!("data/openimages_v7_{number}/s.tar")), &shard(&["txt"]));
    }
    stage.keys("f5");
    stage.assert_shows("openimages_v7_7/");
    let screen = stage.screen(80, 24);
    assert!(screen.contains("openimages_v7_7/  ") && !screen.contains("KiB  –"), "{screen}");
    assert!(stage.screen(100, 30).contains("KiB  –"), "there is room for both");
}
