//! Notices about the ends of jobs, and the title of the window.

use super::*;

fn ended(stage: &mut Stage, title: &str, state: JobState) {
    stage.app.jobs().add(title.into(), stage.folder.path().join("data/coco"), job(state));
    stage.app.tick();
}

fn stage() -> Stage {
    Stage::new(ColourMode::Sixteen, false)
}

#[test]
fn the_end_of_a_job_is_announced_on_every_screen_until_a_key_is_pressed() {
    for keys in ["k", "?", "i"] {
        let mut stage = stage();
        stage.keys(keys);
        ended(&mut stage, "pack tokens", JobState::Done);
        stage.assert_shows("pack tokens: done, 1 problem");
        stage.keys("down").assert_hides("pack tokens: done");
    }
    let mut stage = stage();
    ended(&mut stage, "pack tokens", JobState::Failed);
    stage.assert_shows("pack tokens: failed, 1 problem; J shows it");
    ended(&mut stage, "dedup texts", JobState::Done);
    stage.assert_shows("2 jobs: 1 done, 1 failed, 2 problems; J shows it");
    stage.keys("J").assert_shows("dedup texts");
    stage.assert_hides("2 jobs");
    stage.keys("esc").assert_hides("2 jobs");
}

#[test]
fn an_end_that_is_in_view_is_not_announced() {
    let mut stage = stage();
    stage.keys("J");
    ended(&mut stage, "pack tokens", JobState::Done);
    stage.assert_shows("pack tokens");
    stage.assert_hides("shows it");
    stage.keys("esc").assert_hides("shows it");
}

#[test]
fn a_running_job_is_in_the_title_line_until_it_has_ended() {
    let mut stage = stage();
    let running = job(JobState::Running);
    let end = Arc::clone(&running.ended);
    stage.app.jobs().add("pack tokens".into(), "x".into(), running);
    stage.app.tick();
    stage.assert_shows("1 job running");
    assert_eq!(stage.app.window_title(), "60 % pack tokens · gristmill");
    end.store(true, Ordering::Relaxed);
    stage.app.tick();
    stage.assert_hides("running");
    stage.assert_shows("pack tokens: cancelled, 1 problem; J shows it");
    assert_eq!(stage.app.window_title(), "pack tokens: cancelled, 1 problem · gristmill");
    stage.keys("j");
    assert_eq!(stage.app.window_title(), "gristmill");
}

#[test]
fn what_is_typed_stays_in_view_and_takes_no_new_notice_away() {
    let mut stage = stage();
    stage.keys("/").type_text("coc");
    ended(&mut stage, "pack tokens", JobState::Done);
    stage.assert_shows("pack tokens: done, 1 problem; F3 shows it");
    stage.type_text("o");
    let screen = stage.screen(100, 30);
    assert!(screen.contains("pack tokens: done") && screen.contains("coco"), "{screen}");
    stage.keys("f3").assert_shows("Jobs");
    stage.assert_hides("shows it");
}

#[test]
fn a_warning_is_not_covered_by_an_end() {
    let mut stage = stage();
    stage.app.notify(Toast::new(Level::Info, "the run goes on"));
    ended(&mut stage, "pack tokens", JobState::Done);
    stage.assert_shows("pack tokens: done");
    stage.app.notify(Toast::new(Level::Error, "the disk is full"));
    ended(&mut stage, "dedup texts", JobState::Done);
    stage.assert_shows("the disk is full");
    stage.keys("j").assert_shows("2 jobs: 2 done");
}

#[test]
fn the_bell_rings_only_where_it_is_wished() {
    let mut stage = stage();
    ended(&mut stage, "pack tokens", JobState::Done);
    assert_eq!(stage.app.take_requests(), []);
    stage.app.env.bell = true;
    ended(&mut stage, "pack tokens", JobState::Done);
    assert_eq!(stage.app.take_requests(), [Request::Ring]);
    ended(&mut stage, "pack tokens", JobState::Cancelled);
    assert_eq!(stage.app.take_requests(), [], "the user has cancelled it");
}

#[test]
fn names_of_the_data_bring_no_control_characters_into_the_title() {
    let stage = stage();
    let name = format!("pack \u{1b}]0;x\u{7}\u{9c}\u{202e}{}", "long ".repeat(100));
    stage.app.jobs().add(name.clone(), "x".into(), job(JobState::Running));
    stage.app.jobs().add(name.clone(), "x".into(), job(JobState::Running));
    let title = stage.app.window_title();
    assert!(!title.chars().any(char::is_control) && !title.contains('\u{202e}'), "{title:?}");
    assert!(title.starts_with("60 % pack ") && title.ends_with(" and 1 more · gristmill"), "{title}");
    assert!(crate::tui::widgets::text::width(&title) < 100, "{title}");
    let mut stage = Stage::new(ColourMode::Sixteen, false);
    ended(&mut stage, &name, JobState::Done);
    let title = stage.app.window_title();
    assert!(!title.chars().any(char::is_control), "{title:?}");
}

#[test]
fn a_long_name_leaves_room_for_the_end_and_the_key() {
    let mut stage = stage();
    ended(&mut stage, &format!("pack {}", "x".repeat(200)), JobState::Done);
    for columns in [60, 80, 100] {
        let screen = stage.screen(columns, 24);
        assert!(screen.contains(": done, 1 problem; J shows it"), "{screen}");
    }
}
