//! Whole screens of every step, as text.

use super::fixture::{
    act, clear, facts, facts_half_scanned, facts_of, facts_prepared, screen, settle, type_text, wizard,
};
use super::run::tests::{status, without_report};
use super::state::Wizard;
use super::step::{Ask, Step};
use crate::tui::keymap::Action;
use crate::tui::testing;
use crate::tui::widgets::Level;
use gristmill_core::{Failure, Problem, ProblemKind, Severity, Subject};
use gristmill_ops::engine::splits::SplitSummary;
use gristmill_ops::job::prepare::PrepareReport;
use gristmill_ops::job::report::OutputFile;
use gristmill_ops::job::{JobState, JobStatus};
use std::sync::Arc;
use std::time::Duration;

/// Compares a screen in the sizes that matter, and without colours and boxes.
fn compare(name: &str, wizard: &mut Wizard) {
    testing::compare(&format!("prepare_{name}"), &testing::WINDOWS, |(columns, rows, ascii)| {
        screen(wizard, columns, rows, ascii)
    });
}

fn at(step: Step) -> Wizard {
    let mut wizard = wizard(facts());
    for before in Step::ALL.iter().take(step.index()) {
        wizard.answered[before.index()] = true;
    }
    wizard.step = step;
    settle(&mut wizard);
    wizard
}

#[test]
fn source_while_the_scan_runs() {
    let mut wizard = wizard(facts_half_scanned());
    act(&mut wizard, &[Action::Down, Action::Exclude]);
    compare("source_scanning", &mut wizard);
}

#[test]
fn source_with_a_pattern_that_cannot_be_used() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::NextField]);
    type_text(&mut wizard, "shard_[0");
    compare("source_bad_pattern", &mut wizard);
}

#[test]
fn source_of_a_prepared_data_set() {
    let mut wizard = wizard(facts_prepared());
    compare("source_prepared", &mut wizard);
}

#[test]
fn source_with_a_draft_found() {
    let plan = wizard(facts()).answers.plan;
    let mut wizard = wizard(facts());
    wizard.take_draft(&plan, Step::Source, Duration::from_secs(300));
    settle(&mut wizard);
    compare("source_draft", &mut wizard);
}

#[test]
fn splits_by_ratio() {
    compare("splits_ratio", &mut at(Step::Splits));
}

#[test]
fn splits_by_ratio_with_too_few_shards() {
    let mut wizard = wizard(facts_of(&["a.tar", "b.tar"]));
    wizard.step = Step::Splits;
    clear(&mut wizard);
    type_text(&mut wizard, "8,1,1");
    compare("splits_ratio_empty", &mut wizard);
}

#[test]
fn splits_by_pattern_with_a_glob() {
    let mut wizard = at(Step::Splits);
    act(&mut wizard, &[Action::Down, Action::NextField]);
    type_text(&mut wizard, "train");
    act(&mut wizard, &[Action::NextField]);
    type_text(&mut wizard, "shard_000.*");
    act(&mut wizard, &[Action::NextField]);
    type_text(&mut wizard, "val");
    act(&mut wizard, &[Action::NextField]);
    type_text(&mut wizard, "*_001?.tar");
    compare("splits_pattern", &mut wizard);
}

#[test]
fn splits_by_hand() {
    let mut wizard = at(Step::Splits);
    act(&mut wizard, &[Action::Down, Action::Down, Action::NextField, Action::Down, Action::Mark, Action::Down]);
    compare("splits_hand", &mut wizard);
}

#[test]
fn splits_of_an_update() {
    let mut wizard = wizard(facts_prepared());
    wizard.step = Step::Splits;
    compare("splits_update", &mut wizard);
}

#[test]
fn sample_types() {
    compare("sample_type", &mut at(Step::SampleType));
}

#[test]
fn sample_type_crude() {
    let mut wizard = at(Step::SampleType);
    while wizard.sample_type.choice != super::sample_type::Choice::Crude {
        act(&mut wizard, &[Action::Down]);
    }
    compare("sample_type_crude", &mut wizard);
}

#[test]
fn the_field_map() {
    compare("field_map", &mut at(Step::FieldMap));
}

#[test]
fn the_field_map_with_an_error() {
    let mut wizard = at(Step::FieldMap);
    act(&mut wizard, &[Action::Down]);
    clear(&mut wizard);
    type_text(&mut wizard, "json[caption][lnog]");
    compare("field_map_error", &mut wizard);
}

#[test]
fn the_field_map_while_completing() {
    let mut wizard = at(Step::FieldMap);
    act(&mut wizard, &[Action::Down]);
    clear(&mut wizard);
    act(&mut wizard, &[Action::Complete]);
    compare("field_map_complete", &mut wizard);
}

#[test]
fn media_when_nothing_is_recorded() {
    compare("media_none", &mut at(Step::Media));
}

#[test]
fn media_by_extension() {
    let mut wizard = at(Step::Media);
    act(&mut wizard, &[Action::Down]);
    compare("media_extension", &mut wizard);
}

#[test]
fn media_by_header_while_the_scan_runs() {
    let mut wizard = wizard(facts_half_scanned());
    wizard.step = Step::Media;
    act(&mut wizard, &[Action::Down, Action::Down, Action::NextField, Action::Toggle]);
    compare("media_header_scanning", &mut wizard);
}

#[test]
fn media_by_a_glob_that_matches_nothing() {
    let mut wizard = at(Step::Media);
    act(&mut wizard, &[Action::Last, Action::NextField]);
    type_text(&mut wizard, "*.webp");
    act(&mut wizard, &[Action::Next]);
    compare("media_glob_nothing", &mut wizard);
}

#[test]
fn media_that_are_being_looked_at() {
    let mut wizard = at(Step::Media);
    wizard.act(Action::Down);
    compare("media_looking", &mut wizard);
}

#[test]
fn the_review() {
    let mut wizard = at(Step::Review);
    let mut preview = (**wizard.review.preview.as_ref().unwrap()).clone();
    // What a preview lists is the job's business; here it is fixed.
    let file = |name: &str, bytes: u64, replaces: bool| OutputFile { name: name.into(), bytes, replaces };
    let mut files: Vec<_> = (0..20).map(|i| file(&format!("shard_{i:04}.tar.idx"), 80_008, false)).collect();
    files.push(file(".nv-meta/index.sqlite", 55 << 20, false));
    files.push(file(".nv-meta/split.yaml", 180, true));
    preview.files = files;
    preview.splits = [("train", 16, 160_840), ("val", 2, 20_231), ("test", 2, 20_259)]
        .map(|(n, shards, samples)| SplitSummary { name: n.into(), shards, samples })
        .into();
    preview.differences = vec!["2 shards are new: shard_0018.tar, shard_0019.tar".into()];
    preview.problems = Vec::new();
    wizard.review.preview = Some(Arc::new(preview));
    compare("review", &mut wizard);
}

#[test]
fn the_review_of_a_plan_that_cannot_run() {
    let mut wizard = at(Step::Splits);
    type_text(&mut wizard, ",1");
    act(&mut wizard, &[Action::GoReview]);
    wizard.review.preview = None;
    compare("review_refused", &mut wizard);
}

#[test]
fn a_run_under_way() {
    let mut wizard = wizard(facts_half_scanned());
    wizard.show_run();
    wizard.run.observe(status(JobState::Running), None);
    wizard.run.asks_cancel = true;
    compare("run", &mut wizard);
}

#[test]
fn a_run_that_is_done() {
    let mut wizard = at(Step::Review);
    wizard.show_run();
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
    wizard.run.observe(status(JobState::Done), Some(Ok(report).into()));
    compare("run_done", &mut wizard);
}

#[test]
fn a_run_that_failed() {
    let mut wizard = at(Step::Review);
    wizard.show_run();
    let failure = Failure::environment("writing the index", "no space left on the device")
        .with_hint("free some space and run the same command again");
    wizard.run.observe(status(JobState::Failed), Some(without_report(failure)));
    compare("run_failed", &mut wizard);
}

#[test]
fn a_run_that_found_problems_lists_them() {
    let mut wizard = at(Step::Review);
    wizard.show_run();
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
    wizard.run.observe(failed, Some(without_report(failure)));
    act(&mut wizard, &[Action::ShowProblems, Action::Down]);
    compare("run_problems", &mut wizard);
}

#[test]
fn no_screen_breaks_in_any_size() {
    let mut screens: Vec<Wizard> = Step::ALL.into_iter().map(at).collect();
    screens.push(wizard(facts_prepared()));
    let mut hand = at(Step::Splits);
    act(&mut hand, &[Action::Down, Action::Down, Action::NextField, Action::AddSplit]);
    screens.push(hand);
    screens.push(wizard(gristmill_core::DatasetFacts::new("/x".into(), gristmill_core::DatasetKind::PlainFolder)));
    for wizard in &mut screens {
        for (width, height) in [(1, 3), (2, 4), (10, 5), (39, 10), (40, 10), (71, 12), (72, 9), (200, 60)] {
            screen(wizard, width, height, false);
        }
    }
}

#[test]
fn names_from_the_data_cannot_reach_the_terminal_raw() {
    let mut facts = facts_of(&["a\u{1b}[31m.tar", "b\u{202e}.tar"]);
    facts.parts.insert("x\u{9b}y".into(), gristmill_core::PartFacts { samples: 5, bytes: 5 });
    for step in Step::ALL {
        let mut wizard = wizard(facts.clone());
        wizard.step = step;
        settle(&mut wizard);
        let shown = screen(&mut wizard, 100, 30, false);
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{}", step.title());
    }
}

/// A wizard in which the folder may not be written to, at a step.
fn without_access(step: Step) -> Wizard {
    let mut wizard = at(step);
    let subject = Subject::path("/data/coco");
    let problem = Problem::refusal(ProblemKind::Other, subject, "nothing can be written here: permission denied");
    let hint = "gristmill writes next to the data; ask for write access, or link the shards into a folder of your own";
    let derived = Arc::get_mut(&mut wizard.answers.derived).unwrap();
    derived.problems.push(problem.clone().with_hint(hint));
    derived.no_access = Some(problem.with_hint(hint));
    wizard
}

#[test]
fn a_folder_without_write_access_is_named_at_source_and_at_review() {
    let mut source = without_access(Step::Source);
    compare("source_without_access", &mut source);
    let mut review = without_access(Step::Review);
    compare("review_without_access", &mut review);
    let asked = review.act(Action::Run);
    assert!(matches!(asked.as_slice(), [Ask::Say(Level::Error, why)] if why.contains("nothing can be written here")));
    assert!(!asked.contains(&Ask::Start));
}
