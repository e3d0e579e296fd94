use super::preview::draw_preview;
use crate::tui::form::testing::FormTest;
use crate::tui::form::{Field, PreviewGuide};
use crate::tui::keymap::Action;
use crate::tui::screen::UiEnv;
use gristmill_core::media::AvFacts;
use gristmill_core::options::Answer;
use gristmill_core::{Failure, ImageFacts, MediaFacts, MediaType, Outcome, Problem, ProblemKind, RunOptions, Subject};
use gristmill_ops::engine::media::MediaForecast;
use gristmill_ops::job::media::MediaPreview;
use gristmill_ops::job::report::OutputFile;
use gristmill_ops::job::report::Report;
use gristmill_ops::operations::operation;

const BY_EXTENSION: Field = Field::Option("media-metadata-by-extension");
const BY_HEADER: Field = Field::Option("media-metadata-by-header");

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
        outlook: MediaForecast {
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

/// Returns the form of a folder, with the given preview of its initial answers.
fn form(preview: Option<Outcome<MediaPreview>>) -> FormTest<PreviewGuide> {
    let plan = operation("prepare-media").unwrap().plan_for(vec!["/data/recordings".to_owned()]);
    let env = UiEnv::new(RunOptions::default(), std::env::temp_dir());
    let mut test = FormTest::new(plan, PreviewGuide::new(draw_preview, &env));
    if let Some(preview) = preview {
        let report = preview.map(|preview| Box::new(preview) as Box<dyn Report>);
        test.guide.set_preview(test.form.plan(), report);
    }
    test
}

fn command(test: &FormTest<PreviewGuide>) -> String {
    test.form.plan().command_line().text()
}

#[test]
fn the_first_filter_is_proposed_and_its_preview_is_shown() {
    let mut test = form(Some(Ok(preview())));
    assert_eq!(command(&test), "gristmill prepare-media /data/recordings --media-metadata-by-extension");
    assert_eq!(test.first_blocker(), None);
    test.compare("media_folder");
}

#[test]
fn media_form_is_drawn_while_files_are_counted() {
    form(None).compare("media_counting");
}

#[test]
fn media_filter_without_matches_is_reported() {
    form(Some(Ok(MediaPreview { outlook: MediaForecast::default(), ..preview() }))).compare("media_nothing");
}

#[test]
fn existing_rows_and_problems_are_shown() {
    let mut again = preview();
    again.rows_before = 7_000;
    again.files[0].replaces = true;
    let stale = "12 rows are of entries that no longer exist";
    again.problems =
        vec![Problem::problem(ProblemKind::StaleMedia, Subject::default(), stale).with_hint("--prune removes them")];
    form(Some(Ok(again))).compare("media_again");
}

#[test]
fn unreadable_media_folder_is_shown_with_hint() {
    let failure = Failure::environment("reading the folder", "permission denied").with_hint("ask its owner");
    let mut test = form(Some(Err(failure)));
    assert!(test.first_blocker().unwrap().1.contains("permission denied"));
    test.compare("media_error");
}

#[test]
fn exactly_one_media_filter_is_selected() {
    let mut test = form(None);
    test.toggle(BY_HEADER);
    assert!(command(&test).ends_with("--media-metadata-by-header"), "{}", command(&test));
    test.toggle(BY_HEADER);
    assert!(test.form.is_on(BY_HEADER), "another one has to be selected");
    test.type_into("media-metadata-by-glob", "*.jpg");
    assert!(!test.form.is_on(BY_HEADER) && command(&test).ends_with("--media-metadata-by-glob '*.jpg'"));
    test.compare("media_glob");
    test.type_into("media-metadata-by-glob", "");
    assert_eq!(test.blocker("settings").unwrap(), "media metadata not given");
    test.toggle(BY_EXTENSION);
    test.toggle(Field::Option("prune"));
    assert!(command(&test).ends_with("--media-metadata-by-extension --prune"), "{}", command(&test));
    test.act(Action::Toggle);
    assert_eq!(test.form.plan().get("prune"), Answer::Unset);
}
