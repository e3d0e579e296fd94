//! Notices about the ends of jobs, and the title of the window.

use super::*;

fn ended(test: &mut AppTest, title: &str, state: JobState) {
    test.app.jobs().add(title.into(), test.folder.path().join("data/coco"), job(state));
    test.app.tick();
}

fn open_test() -> AppTest {
    AppTest::new(ColourMode::Sixteen, false)
}

#[test]
fn the_end_of_a_job_is_announced_on_every_screen_until_a_key_is_pressed() {
    for keys in ["k", "?", "i"] {
        let mut test = open_test();
        test.keys(keys);
        ended(&mut test, "pack tokens", JobState::Done);
        test.assert_shows("pack tokens: done, 1 problem");
        test.keys("down").assert_hides("pack tokens: done");
    }
    let mut test = open_test();
    ended(&mut test, "pack tokens", JobState::Failed);
    test.assert_shows("pack tokens: failed, 1 problem; J shows it");
    ended(&mut test, "dedup texts", JobState::Done);
    test.assert_shows("2 jobs: 1 done, 1 failed, 2 problems; J shows it");
    test.keys("J").assert_shows("dedup texts");
    test.assert_hides("2 jobs");
    test.keys("esc").assert_hides("2 jobs");
}

#[test]
fn job_end_is_not_announced_on_open_jobs_panel() {
    let mut test = open_test();
    test.keys("J");
    ended(&mut test, "pack tokens", JobState::Done);
    test.assert_shows("pack tokens");
    test.assert_hides("shows it");
    test.keys("esc").assert_hides("shows it");
}

#[test]
fn a_running_job_is_in_the_title_line_until_it_has_ended() {
    let mut test = open_test();
    let running = job(JobState::Running);
    let end = Arc::clone(&running.ended);
    test.app.jobs().add("pack tokens".into(), "x".into(), running);
    test.app.tick();
    test.assert_shows("1 job running");
    assert_eq!(test.app.window_title(), "60 % pack tokens · gristmill");
    end.store(true, Ordering::Relaxed);
    test.app.tick();
    test.assert_hides("running");
    test.assert_shows("pack tokens: cancelled, 1 problem; J shows it");
    assert_eq!(test.app.window_title(), "pack tokens: cancelled, 1 problem · gristmill");
    test.keys("j");
    assert_eq!(test.app.window_title(), "gristmill");
}

#[test]
fn typing_keeps_text_and_new_notice_visible() {
    let mut test = open_test();
    test.keys("/").type_text("coc");
    ended(&mut test, "pack tokens", JobState::Done);
    test.assert_shows("pack tokens: done, 1 problem; F3 shows it");
    test.type_text("o");
    let screen = test.screen(100, 30);
    assert!(screen.contains("pack tokens: done") && screen.contains("coco"), "{screen}");
    test.keys("f3").assert_shows("Jobs");
    test.assert_hides("shows it");
}

#[test]
fn job_end_does_not_replace_error_toast() {
    let mut test = open_test();
    test.app.notify(Toast::new(Level::Info, "the run goes on"));
    ended(&mut test, "pack tokens", JobState::Done);
    test.assert_shows("pack tokens: done");
    test.app.notify(Toast::new(Level::Error, "the disk is full"));
    ended(&mut test, "dedup texts", JobState::Done);
    test.assert_shows("the disk is full");
    test.keys("j").assert_shows("2 jobs: 2 done");
}

#[test]
fn rings_bell_only_if_enabled() {
    let mut test = open_test();
    ended(&mut test, "pack tokens", JobState::Done);
    assert_eq!(test.app.take_requests(), []);
    test.app.env.bell = true;
    ended(&mut test, "pack tokens", JobState::Done);
    assert_eq!(test.app.take_requests(), [Request::Ring]);
    ended(&mut test, "pack tokens", JobState::Cancelled);
    assert_eq!(test.app.take_requests(), [], "the user has cancelled it");
}

#[test]
fn window_title_escapes_control_characters_of_job_names() {
    let test = open_test();
    let name = format!("pack \u{1b}]0;x\u{7}\u{9c}\u{202e}{}", "long ".repeat(100));
    test.app.jobs().add(name.clone(), "x".into(), job(JobState::Running));
    test.app.jobs().add(name.clone(), "x".into(), job(JobState::Running));
    let title = test.app.window_title();
    assert!(!title.chars().any(char::is_control) && !title.contains('\u{202e}'), "{title:?}");
    assert!(title.starts_with("60 % pack ") && title.ends_with(" and 1 more · gristmill"), "{title}");
    assert!(crate::tui::widgets::text::width(&title) < 100, "{title}");
    let mut test = AppTest::new(ColourMode::Sixteen, false);
    ended(&mut test, &name, JobState::Done);
    let title = test.app.window_title();
    assert!(!title.chars().any(char::is_control), "{title:?}");
}

#[test]
fn long_job_name_is_cut_before_result_and_key() {
    let mut test = open_test();
    ended(&mut test, &format!("pack {}", "x".repeat(200)), JobState::Done);
    for columns in [60, 80, 100] {
        let screen = test.screen(columns, 24);
        assert!(screen.contains(": done, 1 problem; J shows it"), "{screen}");
    }
}
