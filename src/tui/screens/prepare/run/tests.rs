use super::super::fixture::{act, facts, wizard};
use super::super::state::Wizard;
use super::super::step::Step;
use super::*;
use crate::tui::jobs::JobResult;
use crate::tui::keymap::{Keymap, Meaning};
use crate::tui::screens::run::Tab;
use gristmill_core::handles::ProgressReading;
use gristmill_core::{Failure, Outcome, Problem, ProblemKind, Severity, Subject};
use gristmill_ops::engine::splits::SplitSummary;
use gristmill_ops::job::prepare::PrepareReport;
use gristmill_ops::job::{JobState, JobStatus, Phase};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;

fn running() -> Wizard {
    let mut wizard = wizard(facts());
    wizard.show_run();
    wizard.run.observe(status(JobState::Running), None);
    wizard
}

/// The end of a run that failed.
pub(in super::super) fn without_report(failure: Failure) -> JobResult {
    let end: Outcome<PrepareReport> = Err(failure);
    end.into()
}

pub(in super::super) fn status(state: JobState) -> JobStatus {
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
fn stopping_asks_once_and_any_other_key_goes_on() {
    let mut wizard = running();
    assert_eq!(wizard.act(Action::CancelJob), []);
    assert!(wizard.run.asks_cancel);
    assert_eq!(wizard.act(Action::Down), []);
    assert!(!wizard.run.asks_cancel && !wizard.run.is_stopping);
    act(&mut wizard, &[Action::CancelJob]);
    assert_eq!(wizard.act(Action::CancelJob), [Ask::Cancel]);
    assert!(wizard.run.is_stopping);
    assert_eq!(wizard.act(Action::CancelJob), [], "it is stopping already");
}

fn with_problem(state: JobState) -> JobStatus {
    let problem = Problem::problem(ProblemKind::EmptyShard, Subject::shard("s.tar"), "the file is empty");
    let counts = vec![(Severity::Problem, ProblemKind::EmptyShard, 1)];
    JobStatus { problems: vec![problem], counts, ..status(state) }
}

#[test]
fn while_it_runs_the_problems_have_no_keys_and_a_late_press_of_x_excludes_nothing() {
    let key = |wizard: &Wizard, key: char| {
        let pressed = [KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE)];
        Keymap::default().meaning(wizard.context(), &pressed)
    };
    let mut wizard = running();
    wizard.run.observe(with_problem(JobState::Running), None);
    act(&mut wizard, &[Action::ShowProblems]);
    assert_eq!(key(&wizard, 'x'), Meaning::Do(Action::CancelJob));
    assert_eq!(key(&wizard, 'X'), Meaning::Nothing);
    assert_eq!(key(&wizard, 'l'), Meaning::Do(Action::ShowLog));
    assert_eq!(wizard.act(Action::ExcludeProblem), [], "not even by name");
    assert!(wizard.why_disabled(Action::ExcludeProblem).is_some());
    act(&mut wizard, &[Action::CancelJob]);
    assert!(wizard.run.asks_cancel);
    // It ends between the two presses of x.
    let failure = Failure::environment("writing the index", "no space left on the device");
    wizard.run.observe(with_problem(JobState::Failed), Some(without_report(failure)));
    assert_eq!(key(&wizard, 'x'), Meaning::Do(Action::ExcludeProblem));
    assert_eq!(wizard.why_disabled(Action::ExcludeProblem), None);
    assert_eq!(wizard.act(Action::ExcludeProblem), [Ask::TooLate]);
    assert_eq!(wizard.act(Action::ExcludeProblem), [Ask::Problems(Action::ExcludeProblem)]);
    assert!(wizard.why_disabled(Action::OpenProblem).unwrap().contains("still being looked up"));
}

#[test]
fn esc_leaves_a_run_to_itself_and_b_does_the_same() {
    let mut wizard = running();
    assert_eq!(wizard.act(Action::Close), [Ask::Background]);
    assert_eq!(wizard.act(Action::Background), [Ask::Background]);
}

#[test]
fn a_failed_run_is_tried_again_or_gone_back_from() {
    let mut wizard = running();
    let failure = Failure::environment("writing the index", "no space left on the device");
    wizard.run.observe(status(JobState::Failed), Some(without_report(failure)));
    assert!(wizard.run.has_failed() && !wizard.run.is_running());
    assert_eq!(wizard.why_disabled(Action::Retry), None);
    assert_eq!(wizard.act(Action::Retry), [Ask::Start]);
    assert_eq!(wizard.act(Action::Close), []);
    assert_eq!(wizard.step, Step::Review);
}

#[test]
fn duplicate_keys_that_only_a_run_finds_bring_their_question() {
    let mut wizard = running();
    let mut failed = status(JobState::Failed);
    failed.counts = vec![(gristmill_core::Severity::Refusal, gristmill_core::ProblemKind::DuplicateKey, 72)];
    wizard.run.observe(failed, Some(without_report(Failure::data("preparing", "72 duplicate keys"))));
    wizard.learn_from_run();
    act(&mut wizard, &[Action::Close]);
    assert_eq!(wizard.step, Step::Source);
    act(&mut wizard, &[Action::Down]);
    assert_eq!(wizard.answers.plan.duplicates, gristmill_core::Duplicates::KeepFirst);
}

#[test]
fn problems_and_log_are_a_key_away() {
    let mut wizard = running();
    act(&mut wizard, &[Action::ShowProblems]);
    assert_eq!(wizard.run.tab, Tab::Problems);
    act(&mut wizard, &[Action::ShowLog]);
    assert_eq!(wizard.run.tab, Tab::Log);
    act(&mut wizard, &[Action::ShowLog]);
    assert_eq!(wizard.run.tab, Tab::Problems, "the log goes back to what it took the place of");
    let tabs = [Action::NextPane, Action::NextPane, Action::PreviousPane].map(|action| {
        act(&mut wizard, &[action]);
        wizard.run.tab
    });
    assert_eq!(tabs, [Tab::Log, Tab::Overview, Tab::Log]);
    act(&mut wizard, &[Action::ShowLog]);
    assert_eq!(wizard.run.tab, Tab::Overview);
}

#[test]
fn the_loader_is_copied_with_an_absolute_path() {
    let mut wizard = running();
    let Some(Ask::Copy(python)) = wizard.act(Action::Copy).pop() else { panic!() };
    assert!(python.contains("\"/data/coco\","), "{python}");
}

#[test]
fn a_run_that_found_problems_does_not_end_as_simply_ready() {
    use super::super::fixture::screen;
    use gristmill_core::{ProblemKind, Severity};
    let end = |counts, splits: &[(&str, u64)]| {
        let mut wizard = running();
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
        wizard.run.observe(status(JobState::Done), Some(Ok(report).into()));
        screen(&mut wizard, 100, 30, false)
    };
    let damaged =
        end(vec![(Severity::Problem, ProblemKind::CutShort, 3), (Severity::Note, ProblemKind::JunkAfterEnd, 4)], &[]);
    assert!(damaged.contains("is prepared, with 3 problems") && !damaged.contains("ready to train on"), "{damaged}");
    assert!(end(vec![(Severity::Note, ProblemKind::JunkAfterEnd, 4)], &[]).contains("ready to train on"));
    let empty = end(Vec::new(), &[("train", 0), ("val", 5)]);
    assert!(empty.contains("train has no sample, so that what loads it fails: s divides"), "{empty}");
    assert!(!empty.contains("ready to train on"), "{empty}");
    let other = end(Vec::new(), &[("training", 5)]);
    assert!(other.contains("train is not there, so that"), "{other}");
    let fine = end(Vec::new(), &[("train", 1), ("val", 0)]);
    assert!(fine.contains("ready to train on") && !fine.contains("so that what loads it fails"), "{fine}");
}

#[test]
fn the_log_has_its_newest_line_last_and_follows_it_until_it_is_scrolled() {
    use super::super::fixture::screen;
    let mut wizard = running();
    let with_lines = |n: usize| {
        let log = (0..n).map(|i| format!("0:00  line {i};")).collect();
        JobStatus { log, ..status(JobState::Running) }
    };
    act(&mut wizard, &[Action::ShowLog]);
    wizard.run.observe(with_lines(50), None);
    let shown = screen(&mut wizard, 80, 24, false);
    assert!(shown.contains("line 49;") && !shown.contains("line 0;"), "{shown}");
    assert!(shown.find("line 48;") < shown.find("line 49;"));
    wizard.run.observe(with_lines(60), None);
    assert!(screen(&mut wizard, 80, 24, false).contains("line 59;"));
    act(&mut wizard, &[Action::First]);
    wizard.run.observe(with_lines(70), None);
    assert!(screen(&mut wizard, 80, 24, false).contains("line 0;"));
    act(&mut wizard, &[Action::Last]);
    wizard.run.observe(with_lines(80), None);
    assert!(screen(&mut wizard, 80, 24, false).contains("line 79;"));
}
