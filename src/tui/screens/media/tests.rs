use super::form::Strategy;
use super::screen::{MediaState, Stop};
use super::view;
use crate::tui::keymap::Action;
use crate::tui::testing;
use gristmill_core::media::AvFacts;
use gristmill_core::{Failure, ImageFacts, MediaFacts, MediaType, Outcome, Problem, ProblemKind, Subject};
use gristmill_ops::engine::media::MediaOutlook;
use gristmill_ops::job::media::MediaPreview;
use gristmill_ops::job::prepare::OutputFile;
use std::sync::Arc;

fn shown(state: &mut MediaState, columns: u16, rows: u16, ascii: bool) -> String {
    testing::shown((columns, rows, ascii), |frame, area, ui| view::draw(state, "~/data/recordings", frame, area, ui))
}

fn compare(name: &str, state: &mut MediaState) {
    testing::compare(&format!("media_{name}"), &testing::WINDOWS, |size| shown(state, size.0, size.1, size.2));
}

fn preview() -> MediaPreview {
    let image = ImageFacts { width: 640, height: 427, format: "JPEG", mode: "RGB" };
    let clip = AvFacts {
        video_duration: Some(12.48),
        video_num_frames: Some(312),
        video_fps: Some(25.0),
        video_width: Some(1280),
        video_height: Some(720),
        audio_duration: Some(12.5),
        audio_channels: Some(2),
        audio_sample_rate: Some(44_100),
        audio_num_samples: Some(551_250),
    };
    MediaPreview {
        path: "/data/photos".into(),
        outlook: MediaOutlook {
            by_type: vec![("jpg".into(), MediaType::Image, 6_000), ("mp4".into(), MediaType::Av, 2_112)],
            probed: vec![
                ("a/0001.jpg".into(), Ok(MediaFacts::Image(image))),
                ("a/0001.mp4".into(), Ok(MediaFacts::Av(clip))),
                ("a/0002.jpg".into(), Err("the picture ends in the middle of its header (byte 17)".into())),
            ],
            candidates: 8_112,
        },
        rows_before: 0,
        files: vec![OutputFile { name: ".nv-meta/index.sqlite".into(), bytes: 1_500_000, replaces: false }],
        problems: Vec::new(),
    }
}

fn state_with(preview: Outcome<MediaPreview>) -> MediaState {
    let mut state = MediaState::new("/data/recordings");
    state.preview = state.plan().map(|plan| (plan, Arc::new(preview)));
    state
}

#[test]
fn what_would_be_recorded_is_counted_and_shown() {
    let mut state = state_with(Ok(preview()));
    assert_eq!(state.blocker(), None);
    compare("folder", &mut state);
}

#[test]
fn while_the_files_are_counted_the_form_is_there() {
    compare("counting", &mut MediaState::new("/data/recordings"));
}

#[test]
fn nothing_that_is_picked_is_said_and_not_run() {
    let mut empty = preview();
    empty.outlook = MediaOutlook::default();
    let mut state = state_with(Ok(empty));
    assert!(state.blocker().is_some());
    compare("nothing", &mut state);
}

#[test]
fn rows_that_are_there_and_problems_are_shown() {
    let mut again = preview();
    again.rows_before = 7_000;
    again.files[0].replaces = true;
    again.problems =
        vec![Problem::problem(ProblemKind::StaleMedia, Subject::default(), "12 rows are of entries that are gone")
            .with_hint("--prune removes them")];
    let mut state = state_with(Ok(again));
    state.prune = true;
    assert!(state.command().contains("--prune"), "{}", state.command());
    compare("again", &mut state);
}

#[test]
fn a_folder_that_cannot_be_read_is_an_error_with_its_way_out() {
    let failure = Failure::environment("reading the folder", "permission denied").with_hint("ask its owner");
    let mut state = state_with(Err(failure));
    assert!(state.blocker().is_some());
    compare("error", &mut state);
}

#[test]
fn patterns_are_typed_and_needed() {
    let mut state = state_with(Ok(preview()));
    for action in [Action::Down, Action::Down, Action::NextField] {
        assert!(state.act(action));
    }
    assert_eq!((state.form.strategy, state.stop()), (Strategy::Glob, Stop::Patterns));
    assert!(state.plan().is_none() && state.blocker().is_some());
    state.form.patterns.set("*.jpg");
    assert!(state.preview_now().is_none(), "what was counted was for another filter");
    assert!(state.command().contains("--media-metadata-by-glob '*.jpg'"));
    compare("glob", &mut state);
}

#[test]
fn switches_are_switched_and_counts_stay() {
    let mut state = state_with(Ok(preview()));
    for action in [Action::NextField, Action::Toggle, Action::NextField, Action::Toggle, Action::NextField] {
        state.act(action);
    }
    assert!(state.form.decode && state.prune);
    assert_eq!(state.stop(), Stop::Strategy, "the fields go round");
    assert!(state.preview_now().is_some(), "how pictures are read picks no others");
    state.act(Action::Up);
    assert_eq!(state.form.strategy, Strategy::Extension, "none is no answer here");
}

#[test]
fn no_size_breaks_the_form() {
    let mut state = state_with(Ok(preview()));
    for (columns, rows) in [(1, 1), (2, 4), (10, 5), (39, 10), (200, 60)] {
        shown(&mut state, columns, rows, false);
    }
}

#[test]
fn a_click_answers_what_it_points_at() {
    use super::screen::Place;
    use crate::tui::widgets::Gesture;
    let mut state = MediaState::new("recordings");
    let click = |state: &mut MediaState, on| state.point(Gesture::Click { on, line: 0, column: 0 });
    click(&mut state, Place::Strategy(Strategy::Glob));
    assert_eq!((state.form.strategy, state.stop()), (Strategy::Glob, Stop::Strategy));
    click(&mut state, Place::Field(Stop::Patterns));
    assert_eq!(state.stop(), Stop::Patterns);
    click(&mut state, Place::Field(Stop::Decode));
    click(&mut state, Place::Field(Stop::Prune));
    assert!(state.form.decode && state.prune);
    click(&mut state, Place::Outcome);
    assert_eq!(state.stop(), Stop::Prune);
}
