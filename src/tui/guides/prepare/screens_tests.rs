//! Snapshots of the screens of every step.

use super::fixture::PrepareForm;
use super::fixture::{act, clear, facts, facts_half_scanned, facts_of, facts_prepared, prepare, screen, type_text};
use super::step::Step;
use crate::tui::keymap::Action;
use crate::tui::screen::Effect;
use crate::tui::testing;
use gristmill_core::{Problem, ProblemKind, Subject};
use gristmill_ops::engine::splits::SplitSummary;
use gristmill_ops::job::report::OutputFile;
use std::sync::Arc;

/// Compares a screen at the usual sizes, and in ASCII without colours.
fn compare(name: &str, form: &mut PrepareForm) {
    testing::compare(&format!("prepare_{name}"), &testing::WINDOWS, |(columns, rows, ascii)| {
        screen(form, columns, rows, ascii)
    });
}

fn at(step: Step) -> PrepareForm {
    let mut form = prepare(facts());
    form.go(step);
    form
}

#[test]
fn source_while_the_scan_runs() {
    let mut form = prepare(facts_half_scanned());
    act(&mut form, &[Action::Down, Action::Exclude]);
    compare("source_scanning", &mut form);
}

#[test]
fn source_with_a_pattern_that_cannot_be_used() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::NextField]);
    type_text(&mut form, "shard_[0");
    compare("source_bad_pattern", &mut form);
}

#[test]
fn source_of_a_prepared_data_set() {
    let mut form = prepare(facts_prepared());
    compare("source_prepared", &mut form);
}

#[test]
fn source_with_a_draft_found() {
    let plan = prepare(facts()).answers.plan.clone();
    let mut form = PrepareForm::with_draft(&plan, Step::Source, facts());
    compare("source_draft", &mut form);
}

#[test]
fn splits_by_ratio() {
    compare("splits_ratio", &mut at(Step::Splits));
}

#[test]
fn splits_by_ratio_with_too_few_shards() {
    let mut form = prepare(facts_of(&["a.tar", "b.tar"]));
    form.go(Step::Splits);
    clear(&mut form);
    type_text(&mut form, "8,1,1");
    compare("splits_ratio_empty", &mut form);
}

#[test]
fn splits_by_pattern_with_a_glob() {
    let mut form = at(Step::Splits);
    act(&mut form, &[Action::Down, Action::NextField]);
    type_text(&mut form, "train");
    act(&mut form, &[Action::NextField]);
    type_text(&mut form, "shard_000.*");
    act(&mut form, &[Action::NextField]);
    type_text(&mut form, "val");
    act(&mut form, &[Action::NextField]);
    type_text(&mut form, "*_001?.tar");
    compare("splits_pattern", &mut form);
}

#[test]
fn splits_by_hand() {
    let mut form = at(Step::Splits);
    act(&mut form, &[Action::Down, Action::Down, Action::NextField, Action::Down, Action::Mark, Action::Down]);
    compare("splits_hand", &mut form);
}

#[test]
fn splits_of_an_update() {
    let mut form = prepare(facts_prepared());
    form.go(Step::Splits);
    compare("splits_update", &mut form);
}

#[test]
fn sample_types() {
    compare("sample_type", &mut at(Step::SampleType));
}

#[test]
fn sample_type_crude() {
    let mut form = at(Step::SampleType);
    while form.sample_type.choice != super::sample_type::Choice::Crude {
        act(&mut form, &[Action::Down]);
    }
    compare("sample_type_crude", &mut form);
}

#[test]
fn the_field_map() {
    compare("field_map", &mut at(Step::FieldMap));
}

#[test]
fn the_field_map_with_an_error() {
    let mut form = at(Step::FieldMap);
    act(&mut form, &[Action::Down]);
    clear(&mut form);
    type_text(&mut form, "json[caption][lnog]");
    compare("field_map_error", &mut form);
}

#[test]
fn the_field_map_while_completing() {
    let mut form = at(Step::FieldMap);
    act(&mut form, &[Action::Down]);
    clear(&mut form);
    act(&mut form, &[Action::Complete]);
    compare("field_map_complete", &mut form);
}

#[test]
fn media_when_nothing_is_recorded() {
    compare("media_none", &mut at(Step::Media));
}

#[test]
fn media_by_extension() {
    let mut form = at(Step::Media);
    act(&mut form, &[Action::Down]);
    compare("media_extension", &mut form);
}

#[test]
fn media_by_header_while_the_scan_runs() {
    let mut form = prepare(facts_half_scanned());
    form.go(Step::Media);
    act(&mut form, &[Action::Down, Action::Down, Action::NextField, Action::Toggle]);
    compare("media_header_scanning", &mut form);
}

#[test]
fn media_by_a_glob_that_matches_nothing() {
    let mut form = at(Step::Media);
    act(&mut form, &[Action::Last, Action::NextField]);
    type_text(&mut form, "*.webp");
    act(&mut form, &[Action::Next]);
    compare("media_glob_nothing", &mut form);
}

#[test]
fn media_step_while_entries_are_counted() {
    let mut form = at(Step::Media);
    form.act(Action::Down);
    compare("media_looking", &mut form);
}

#[test]
fn the_review() {
    let mut form = at(Step::Review);
    let mut preview = (**form.guide().preview.as_ref().unwrap()).clone();
    // Fixed files: the files of a preview are tested with the job.
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
    form.change_guide(|guide, _| guide.preview = Some(Arc::new(preview)));
    compare("review", &mut form);
}

#[test]
fn the_review_of_a_plan_that_cannot_run() {
    let mut form = at(Step::Splits);
    type_text(&mut form, ",1");
    act(&mut form, &[Action::GoStep6]);
    form.change_guide(|guide, _| guide.preview = None);
    compare("review_refused", &mut form);
}

#[test]
fn prepare_steps_draw_at_any_size() {
    let mut screens: Vec<PrepareForm> = Step::ALL.into_iter().map(at).collect();
    screens.push(prepare(facts_prepared()));
    let mut hand = at(Step::Splits);
    act(&mut hand, &[Action::Down, Action::Down, Action::NextField, Action::AddSplit]);
    screens.push(hand);
    screens.push(prepare(gristmill_core::DatasetFacts::new("/x".into(), gristmill_core::DatasetKind::PlainFolder)));
    for form in &mut screens {
        for (width, height) in [(1, 3), (2, 4), (10, 5), (39, 10), (40, 10), (71, 12), (72, 9), (200, 60)] {
            screen(form, width, height, false);
        }
    }
}

#[test]
fn prepare_steps_escape_names() {
    let mut facts = facts_of(&["a\u{1b}[31m.tar", "b\u{202e}.tar"]);
    facts.parts.insert("x\u{9b}y".into(), gristmill_core::PartFacts { samples: 5, bytes: 5 });
    for step in Step::ALL {
        let mut form = prepare(facts.clone());
        form.go(step);
        let shown = screen(&mut form, 100, 30, false);
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\u{9b}']), "{step:?}");
    }
}

/// Returns the form at a step, for a folder that cannot be written to.
fn without_access(step: Step) -> PrepareForm {
    let mut form = at(step);
    let subject = Subject::path("/data/coco");
    let problem = Problem::refusal(ProblemKind::Other, subject, "this folder is not writable: permission denied");
    let hint = "gristmill writes next to the data; ask for write access, or link the shards into a folder of your own";
    let derived = Arc::get_mut(&mut form.answers.derived).unwrap();
    derived.problems.push(problem.clone().with_hint(hint));
    derived.no_access = Some(problem.with_hint(hint));
    form
}

#[test]
fn folder_without_write_access_is_reported_and_cannot_run() {
    let mut source = without_access(Step::Source);
    compare("source_without_access", &mut source);
    let mut review = without_access(Step::Review);
    compare("review_without_access", &mut review);
    let effects = review.act(Action::Run);
    assert!(matches!(effects.as_slice(), [Effect::Toast(why)] if why.text.contains("this folder is not writable")));
}
