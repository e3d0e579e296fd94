use super::super::fixture::{facts, facts_half_scanned, prepare};
use super::*;
use crate::tui::keymap::{Keymap, Meaning};
use crate::tui::screen::{Effect, Input, Screen, UiEnv};
use crate::tui::screens::run::{RunRequest, RunScreen, Tab};
use crate::tui::testing;
use gristmill_core::handles::ProgressReading;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, RunOptions, Severity, Subject};
use gristmill_ops::engine::splits::SplitSummary;
use gristmill_ops::job::prepare::PrepareReport;
use gristmill_ops::job::report::OutputFile;
use gristmill_ops::job::{JobState, JobStatus, Phase};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;

fn running() -> RunState {
    let mut run = RunState::default();
    run.begin();
    run.update(status(JobState::Running), None);
    run
}

/// Returns the screen of a run in this state.
fn screen_of(facts: DatasetFacts, run: RunState) -> RunScreen {
    let env = UiEnv::new(RunOptions::default(), PathBuf::from("/nowhere"));
    RunScreen::with_state(request(&prepare(facts).answers, None), env, run)
}

fn shown(run: RunState, size: (u16, u16, bool)) -> String {
    draw(&mut screen_of(facts(), run), size)
}

fn draw(screen: &mut RunScreen, (columns, rows, ascii): (u16, u16, bool)) -> String {
    // The title line and the bottom bar of the frame take a row each.
    testing::shown((columns, rows - 2, ascii), |frame, area, ui| screen.draw(frame, area, ui))
}

fn compare(name: &str, facts: DatasetFacts, run: RunState) {
    let mut screen = screen_of(facts, run);
    testing::compare(&format!("prepare_{name}"), &testing::WINDOWS, |size| draw(&mut screen, size));
}

/// Returns the result of a run that failed without a report.
fn without_report(failure: Failure) -> JobResult {
    let end: Outcome<PrepareReport> = Err(failure);
    end.into()
}

fn status(state: JobState) -> JobStatus {
    let gib = 1u64 << 30;
    JobStatus {
        item: "shard",
        state,
        phase: Phase::Scan,
        progress: ProgressReading {
            items_done: 12,
            items_total: 20,
            bytes_done: 3 * gib,
            bytes_total: 5 * gib,
            ..ProgressReading::default()
        },
        elapsed: Duration::from_secs(8),
        share: Some(if state == JobState::Done { 1.0 } else { 0.6 }),
        remaining: Some(Duration::from_secs(5)),
        bytes_per_second: 1.9 * gib as f64,
        tokens_per_second: 0.0,
        problems: Vec::new(),
        counts: Vec::new(),
        unlisted: Default::default(),
        log: vec!["0:00  opening the data set".into(), "0:00  scanning 20 shards".into()],
        outputs: Default::default(),
    }
}

#[test]
fn remaining_time_is_shown_in_narrow_windows() {
    use crate::tui::screen::Ui;
    use crate::tui::screens::run::view::head_lines;
    use crate::tui::theme::{ColourMode, Glyphs, Theme};
    let (theme, glyphs, keymap) = (Theme::new(ColourMode::None), Glyphs::new(false), Keymap::default());
    let ui = Ui { theme: &theme, glyphs: &glyphs, keymap: &keymap, frame_count: 0 };
    let (run, texts) = (running(), request(&prepare(facts()).answers, None).words);
    for columns in [76, 36] {
        let lines: Vec<String> = head_lines(&run, &texts, columns, &ui).iter().map(ToString::to_string).collect();
        assert!(lines.iter().any(|line| line.starts_with("0:05 left")), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains('…')), "a figure is whole or missing: {lines:?}");
    }
}

#[test]
fn cancel_of_run_needs_confirmation() {
    let mut run = running();
    assert_eq!(run.handle_action(Action::CancelJob), None);
    assert!(run.confirms_cancel);
    assert_eq!(run.handle_action(Action::Down), None);
    assert!(!run.confirms_cancel && !run.is_stopping);
    assert_eq!(run.handle_action(Action::CancelJob), None);
    assert_eq!(run.handle_action(Action::CancelJob), Some(RunRequest::Cancel));
    assert!(run.is_stopping);
    assert_eq!(run.handle_action(Action::CancelJob), None, "it is stopping already");
}

fn with_problem(state: JobState) -> JobStatus {
    let problem = Problem::problem(ProblemKind::EmptyShard, Subject::shard("s.tar"), "the file is empty");
    let counts = vec![(Severity::Problem, ProblemKind::EmptyShard, 1)];
    JobStatus { problems: vec![problem], counts, ..status(state) }
}

#[test]
fn problems_of_running_job_have_no_actions() {
    let key = |run: &RunState, key: char| {
        let pressed = [KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)];
        Keymap::default().meaning(run.context(), &pressed)
    };
    let mut run = running();
    run.update(with_problem(JobState::Running), None);
    run.handle_action(Action::ShowProblems);
    assert_eq!(key(&run, 'x'), Meaning::Do(Action::CancelJob));
    assert_eq!(key(&run, 'X'), Meaning::Nothing);
    assert_eq!(key(&run, 'l'), Meaning::Do(Action::ShowLog));
    assert_eq!(run.handle_action(Action::ExcludeProblem), None, "not even by name");
    assert!(run.why_disabled(Action::ExcludeProblem).is_some());
    run.handle_action(Action::CancelJob);
    assert!(run.confirms_cancel);
    // The run ends between the two presses of x.
    let failure = Failure::environment("writing the index", "no space left on the device");
    run.update(with_problem(JobState::Failed), Some(without_report(failure)));
    assert_eq!(key(&run, 'x'), Meaning::Do(Action::ExcludeProblem));
    assert_eq!(run.why_disabled(Action::ExcludeProblem), None);
    assert_eq!(run.handle_action(Action::ExcludeProblem), Some(RunRequest::TooLate));
    assert_eq!(run.handle_action(Action::ExcludeProblem), Some(RunRequest::Problems(Action::ExcludeProblem)));
    assert!(run.why_disabled(Action::OpenProblem).unwrap().contains("still being looked up"));
}

#[test]
fn closing_a_running_job_keeps_it_in_the_background() {
    for action in [Action::Close, Action::Background] {
        let effects = screen_of(facts(), running()).handle(Input::Action(action));
        assert!(matches!(effects.as_slice(), [Effect::Pop, Effect::Pop, Effect::Toast(_)]), "{action:?}");
    }
}

#[test]
fn a_failed_run_is_retried_or_returns_to_the_answers() {
    let mut run = running();
    let failure = Failure::environment("writing the index", "no space left on the device");
    run.update(status(JobState::Failed), Some(without_report(failure)));
    assert!(run.has_failed() && !run.is_running());
    assert_eq!(run.why_disabled(Action::Retry), None);
    assert_eq!(run.handle_action(Action::Retry), Some(RunRequest::Retry));
    let effects = screen_of(facts(), run).handle(Input::Action(Action::Close));
    assert!(matches!(effects.as_slice(), [Effect::Pop]));
}

#[test]
fn duplicate_keys_found_by_a_run_reopen_the_source_step() {
    let mut form = prepare(facts());
    form.go(super::super::step::Step::Review);
    form.change_guide(|guide, form| guide.learn_from_run(&[(Severity::Refusal, ProblemKind::DuplicateKey, 72)], form));
    assert_eq!(form.step(), super::super::step::Step::Source);
    super::super::fixture::act(&mut form, &[Action::Down]);
    assert_eq!(form.answers.plan.duplicates, gristmill_core::Duplicates::KeepFirst);
}

#[test]
fn problems_and_log_tabs_are_selected_by_keys() {
    let mut run = running();
    run.handle_action(Action::ShowProblems);
    assert_eq!(run.tab, Tab::Problems);
    run.handle_action(Action::ShowLog);
    assert_eq!(run.tab, Tab::Log);
    run.handle_action(Action::ShowLog);
    assert_eq!(run.tab, Tab::Problems, "closing the log returns to the tab before it");
    let tabs = [Action::NextPane, Action::NextPane, Action::PreviousPane].map(|action| {
        run.handle_action(action);
        run.tab
    });
    assert_eq!(tabs, [Tab::Log, Tab::Overview, Tab::Log]);
    run.handle_action(Action::ShowLog);
    assert_eq!(run.tab, Tab::Overview);
}

#[test]
fn the_loader_is_copied_with_an_absolute_path() {
    let effects = screen_of(facts(), running()).handle(Input::Action(Action::Copy));
    let [Effect::Copy(python), Effect::Toast(_)] = effects.as_slice() else { panic!() };
    assert!(python.contains("\"/data/coco\","), "{python}");
}

#[test]
fn splits_of_unfinished_run_cannot_be_edited() {
    let screen = screen_of(facts(), running());
    assert_eq!(screen.disabled_reason(Action::Splits).as_deref(), Some("there are no splits yet"));
}

#[test]
fn summary_of_run_with_problems_does_not_report_ready() {
    let end = |counts, splits: &[(&str, u64)]| {
        let mut run = running();
        let split = |(name, samples): &(&str, u64)| SplitSummary { name: (*name).into(), shards: 2, samples: *samples };
        let report = PrepareReport {
            shards: 20,
            samples: 2_000,
            parts: Some(4_000),
            bytes: 1 << 20,
            splits: splits.iter().map(split).collect(),
            media: None,
            files: Vec::new(),
            excludes: 0,
            nothing_to_do: false,
            problems: Vec::new(),
            counts,
            elapsed: Duration::from_secs(1),
        };
        run.update(status(JobState::Done), Some(Ok(report).into()));
        shown(run, (100, 30, false))
    };
    let damaged =
        end(vec![(Severity::Problem, ProblemKind::CutShort, 3), (Severity::Note, ProblemKind::JunkAfterEnd, 4)], &[]);
    assert!(damaged.contains("is prepared, with 3 problems") && !damaged.contains("ready to train on"), "{damaged}");
    assert!(end(vec![(Severity::Note, ProblemKind::JunkAfterEnd, 4)], &[]).contains("ready to train on"));
    let empty = end(Vec::new(), &[("train", 0), ("val", 5)]);
    assert!(empty.contains("train has no sample, so loading it fails: s divides"), "{empty}");
    assert!(!empty.contains("ready to train on"), "{empty}");
    let other = end(Vec::new(), &[("training", 5)]);
    assert!(other.contains("train does not exist, so"), "{other}");
    let fine = end(Vec::new(), &[("train", 1), ("val", 0)]);
    assert!(fine.contains("ready to train on") && !fine.contains("so loading it fails"), "{fine}");
}

#[test]
fn the_log_follows_its_newest_line_until_it_is_scrolled() {
    let mut screen = screen_of(facts(), running());
    let mut with_lines = |n: usize, action: Action| {
        let log = (0..n).map(|i| format!("0:00  line {i};")).collect();
        screen.observe_status(JobStatus { log, ..status(JobState::Running) });
        screen.handle(Input::Action(action));
        draw(&mut screen, (80, 24, false))
    };
    let lines = with_lines(50, Action::ShowLog);
    assert!(lines.contains("line 49;") && !lines.contains("line 0;"), "{lines}");
    assert!(lines.find("line 48;") < lines.find("line 49;"));
    assert!(with_lines(60, Action::Last).contains("line 59;"));
    with_lines(60, Action::First);
    // An action without a meaning here does not scroll.
    assert!(with_lines(70, Action::Toggle).contains("line 0;"));
    assert!(with_lines(80, Action::Last).contains("line 79;"));
}

#[test]
fn a_running_job() {
    let mut run = running();
    run.confirms_cancel = true;
    compare("run", facts_half_scanned(), run);
}

#[test]
fn a_run_that_is_done() {
    let mut run = running();
    let report = PrepareReport {
        shards: 20,
        samples: 201_330,
        parts: Some(603_690),
        bytes: 4 << 30,
        splits: vec![
            SplitSummary { name: "train".into(), shards: 16, samples: 160_840 },
            SplitSummary { name: "val".into(), shards: 4, samples: 40_490 },
        ],
        media: None,
        files: vec![OutputFile { name: ".nv-meta/index.sqlite".into(), bytes: 55 << 20, replaces: false }],
        excludes: 0,
        nothing_to_do: false,
        problems: Vec::new(),
        counts: Vec::new(),
        elapsed: Duration::from_secs(11),
    };
    run.update(status(JobState::Done), Some(Ok(report).into()));
    compare("run_done", facts(), run);
}

#[test]
fn a_run_that_failed() {
    let mut run = running();
    let failure = Failure::environment("writing the index", "no space left on the device")
        .with_hint("free some space and run the same command again");
    run.update(status(JobState::Failed), Some(without_report(failure)));
    compare("run_failed", facts(), run);
}

#[test]
fn a_run_that_found_problems_lists_them() {
    let mut run = running();
    let broken = |shard: &str, key: &str| {
        let subject = Subject::shard(shard).key(key);
        Problem::problem(
            ProblemKind::BrokenMedia,
            subject,
            "no row is written for it: the PNG file ends before its picture data",
        )
    };
    let problems = vec![
        broken("shard_0003.tar", "000032.jpg"),
        broken("shard_0011.tar", "000109.jpg"),
        Problem::problem(
            ProblemKind::CutShort,
            Subject::shard("shard_0019.tar").at(225_443_840),
            "the file ends inside a header; the last sample may lack parts and is excluded",
        ),
    ];
    let counts = vec![(Severity::Problem, ProblemKind::BrokenMedia, 2), (Severity::Problem, ProblemKind::CutShort, 1)];
    let failed = JobStatus { problems, counts, ..status(JobState::Failed) };
    let failure = Failure::environment("writing the index", "no space left on the device");
    run.update(failed, Some(without_report(failure)));
    run.handle_action(Action::ShowProblems);
    run.handle_action(Action::Down);
    compare("run_problems", facts(), run);
}

#[test]
fn run_screen_draws_at_any_size_and_escapes_names() {
    let names = ["a\u{1b}[31m.tar", "b\u{202e}.tar"];
    for (width, height) in [(1, 3), (2, 4), (10, 5), (39, 10), (40, 10), (71, 12), (72, 9), (200, 60)] {
        let shown = draw(&mut screen_of(super::super::fixture::facts_of(&names), running()), (width, height, false));
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    }
}

#[test]
fn copied_loader_path_of_a_store_uses_an_msc_profile() {
    let (path, comment) = super::loader_path(Path::new("mem://bucket/sets/coco"));
    assert_eq!(path, r#""msc://PROFILE/sets/coco""#);
    assert!(comment.unwrap().ends_with("base_path is bucket"));
    assert_eq!(super::loader_path(Path::new("/data/a b")), (r#""/data/a b""#.to_owned(), None));
}
