#![expect(clippy::disallowed_methods, reason = "test data need not be published")]

use super::guide::DedupGuide;
use super::state::DedupState;
use super::step::{Field, Step};
use crate::tui::form::{self, draw, Answers as _, Guide as _, Step as _};
use crate::tui::keymap::Action;
use crate::tui::screen::UiEnv;
use crate::tui::testing;
use gristmill_core::dedup::{Keep, Mode, Variant};
use gristmill_core::{DedupPlan, Failure, Problem, ProblemKind, RunOptions, Subject};
use gristmill_ops::job::dedup::{DedupEstimate, LengthEstimate, RepeatedPassage};
use gristmill_ops::source::dedup::Listing;
use gristmill_ops::source::text::{Packing, TextFile};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn shown(state: &mut DedupState, columns: u16, rows: u16, ascii: bool) -> String {
    testing::shown((columns, rows, ascii), |frame, area, ui| draw::<DedupGuide>(state, frame, area, ui))
}

fn compare(name: &str, state: &mut DedupState) {
    testing::compare(&format!("dedup_{name}"), &testing::SCREENS, |size| shown(state, size.0, size.1, size.2));
}

fn listing() -> Listing {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, "x").unwrap();
    let stamp = gristmill_storage::read::open_read(&path).unwrap().stamp().unwrap();
    let file = |name: &str, mib: u64, packing| TextFile {
        path: format!("/data/web/{name}").into(),
        name: name.to_owned(),
        bytes: mib << 20,
        stamp,
        packing,
    };
    let problem = "it is left out: its name ends in .xz, which is not read here";
    let mut listing = Listing::default();
    listing.files = vec![
        file("2024/a.jsonl.zst", 812, Packing::Zstd),
        file("2024/b.jsonl.zst", 790, Packing::Zstd),
        file("2025/a.jsonl", 1_403, Packing::Plain),
    ];
    listing.problems =
        vec![Problem::problem(ProblemKind::Unreadable, Subject::path("/data/web/old.jsonl.xz"), problem)
            .with_hint("xz -d unpacks it")];
    listing
}

fn answered() -> DedupState {
    let mut state = DedupState::new(DedupPlan::new("/data/web", ""));
    state.seen.files = Some(Arc::new(Ok(listing())));
    state
}

fn estimate(length: u64, share: f64) -> DedupEstimate {
    let passage = |count, length, text: &str| RepeatedPassage {
        file: "2024/a.jsonl.zst".into(),
        line: 17,
        offset: 0,
        length,
        count,
        text: text.into(),
    };
    DedupEstimate {
        files: 3,
        input_bytes: 3_005 << 20,
        text_bytes: 9_100 << 20,
        documents: 2_410_000,
        sampled_bytes: 96 << 20,
        one_in: 1,
        lengths: vec![LengthEstimate {
            min_length: length,
            share,
            removed_bytes: (9_100.0 * share) as u64 * (1 << 20),
            margin_bytes: 1 << 20,
            least_share: share * 0.8,
            most_share: (length > 50).then_some(share * 1.1),
            is_exact: false,
        }],
        passages: vec![
            passage(61_203, 812, "We use cookies to improve your experience.\nBy continuing to browse, you agree"),
            passage(4_117, 1_320, "Alle Preise verstehen sich inklusive der gesetzlichen Mehrwertsteuer"),
            passage(902, 640, "\u{1b}[31mhostile\u{202e} passage"),
        ],
        estimated: Duration::from_secs(95),
        memory_bytes: 4 << 30,
        scratch_bytes: 11 << 30,
        scratch: "/tmp".into(),
        scratch_free_bytes: 200 << 30,
        output_bytes: 2_700 << 20,
        free_bytes: 512 << 30,
        nothing_to_do: false,
        resumable_units: 0,
        problems: Vec::new(),
    }
}

fn with_estimates(state: &mut DedupState, lengths: &[(u64, f64)]) {
    for (length, share) in lengths {
        state.seen.estimates.by_length.insert(*length, Arc::new(Ok(estimate(*length, *share))));
    }
}

const SHARES: [(u64, f64); 5] = [(50, 0.312), (100, 0.241), (200, 0.173), (500, 0.0891), (1_000, 0.031)];

fn type_into(state: &mut DedupState, field: Field, words: &str) {
    state.focus_on(field);
    state.act(Action::DropRow);
    state.form.inputs.entry(field).or_default().paste(words);
    state.typed(field);
}

#[test]
fn the_files_are_listed_in_their_order_with_what_is_left_out() {
    let mut state = DedupState::new(DedupPlan::new("/data/web", ""));
    compare("source_waiting", &mut state);
    compare("source", &mut answered());
    state.seen.files = Some(Arc::new(Err(
        Failure::usage("looking for text", "there is no .jsonl file").with_hint("name a folder of JSONL files")
    )));
    compare("source_failed", &mut state);
    assert!(state.blocker(Step::Source).unwrap().contains("there is no .jsonl file"));
}

#[test]
fn each_length_is_drawn_as_soon_as_it_is_known() {
    let mut state = answered();
    state.go(Step::Length);
    assert_eq!(state.wanted_lengths(), [500, 1_000, 200, 100, 50], "the usual one first");
    compare("length_waiting", &mut state);
    with_estimates(&mut state, &SHARES[3..]);
    compare("length_some", &mut state);
    with_estimates(&mut state, &SHARES);
    compare("length", &mut state);
    state.act(Action::Up);
    assert_eq!((state.plan.min_length, state.blocker(Step::Length)), (Some(200), None));
    state.seen.estimates.is_stopped = true;
    state.seen.estimates.by_length.remove(&50);
    compare("length_stopped", &mut state);
}

#[test]
fn a_length_of_ones_own_is_typed() {
    let mut state = answered();
    state.go(Step::Length);
    state.act(Action::Last);
    assert_eq!(state.plan.min_length, None);
    assert!(state.blocker(Step::Length).is_some());
    type_into(&mut state, Field::Own, "2_000");
    assert_eq!((state.plan.min_length, state.blocker(Step::Length)), (Some(2_000), None));
    assert_eq!(state.wanted_lengths().first(), Some(&2_000));
    with_estimates(&mut state, &SHARES);
    with_estimates(&mut state, &[(2_000, 0.011)]);
    compare("length_own", &mut state);
    type_into(&mut state, Field::Own, "many");
    assert!(state.blocker(Step::Length).unwrap().contains("not a number"));
    state.focus_on(Field::Lengths);
    state.act(Action::First);
    assert_eq!((state.plan.min_length, state.blocker(Step::Length)), (Some(50), None));
    let kept = DedupState::new(DedupPlan { min_length: Some(777), ..DedupPlan::new("/data/web", "") });
    assert!(kept.is_own && kept.plan.min_length == Some(777));
}

#[test]
fn a_length_that_cannot_be_estimated_says_why() {
    let mut state = answered();
    state.go(Step::Length);
    let failure = Failure::data("reading the text", "no document has text").with_hint("--text-key names the field");
    state.seen.estimates.by_length.insert(500, Arc::new(Err(failure)));
    compare("length_failed", &mut state);
}

#[test]
fn listing_has_its_settings_and_cutting_out_has_none_of_them() {
    let mut state = answered();
    state.go(Step::Mode);
    compare("mode", &mut state);
    assert_eq!(state.plan.output, "/data/web-dedup");
    state.toggle(Field::Mode);
    type_into(&mut state, Field::AnnotateKey, "meta.repeats");
    assert_eq!((state.plan.mode, state.plan.annotate_key.as_str()), (Mode::Annotate, "meta.repeats"));
    state.focus_on(Field::Keep);
    state.act(Action::Right);
    state.act(Action::Advanced);
    compare("mode_all", &mut state);
    assert_eq!(state.plan.keep, Keep::None);
    state.toggle(Field::Variant);
    assert!(!state.fields().contains(&Field::AnnotateKey));
    assert_eq!(state.plan.variant, Variant::B);
    assert!(state.refused().is_empty(), "{:?}", state.refused());
    state.toggle(Field::Mode);
    assert_eq!(state.plan.variant, Variant::A);
    assert!(state.refused().is_empty(), "{:?}", state.refused());
}

#[test]
fn an_output_inside_the_input_and_a_count_below_two_are_refused_where_they_stand() {
    let mut state = answered();
    state.go(Step::Mode);
    type_into(&mut state, Field::Output, "/data/web/out");
    assert!(state.blocker(Step::Mode).unwrap().contains("is in the input"), "{:?}", state.blocker(Step::Mode));
    compare("mode_refused", &mut state);
    type_into(&mut state, Field::Output, "/data/out");
    type_into(&mut state, Field::MinCount, "1");
    assert!(state.blocker(Step::Mode).is_some());
    type_into(&mut state, Field::MinCount, "");
    assert_eq!((state.plan.min_count, state.blocker(Step::Mode)), (2, None));
}

#[test]
fn the_review_tells_what_a_run_would_write_and_need() {
    let mut state = answered();
    state.go(Step::Review);
    compare("review_waiting", &mut state);
    state.seen.review = Some((state.plan.clone(), Arc::new(Ok(estimate(500, 0.0891)))));
    assert_eq!(state.first_blocker(), None);
    compare("review", &mut state);
    state.plan.min_count = 3;
    assert!(state.review_now().is_none(), "other answers, another outlook");
    let refusal = Problem::refusal(ProblemKind::BadName, Subject::path("/data"), "the disk has no room for it");
    let found = DedupEstimate { problems: vec![refusal], ..estimate(500, 0.0891) };
    state.seen.review = Some((state.plan.clone(), Arc::new(Ok(found))));
    compare("review_refused", &mut state);
    state.plan.output.clear();
    assert_eq!(state.first_blocker().unwrap().0, Step::Mode);
}

#[test]
fn going_back_loses_nothing() {
    let mut state = answered();
    state.go(Step::Mode);
    state.toggle(Field::Mode);
    let plan = state.plan.clone();
    while let Some(step) = state.form.step.previous() {
        state.go(step);
    }
    assert_eq!((state.form.step, &state.plan), (Step::Source, &plan));
    assert!(Step::ALL[..2].iter().all(|step| state.form.answered.contains(step)));
    state.form.draft = Some(Duration::from_secs(7_300));
    compare("draft", &mut state);
    state.act(Action::PreviousField);
    assert_eq!(state.form.rail, Some(Step::Source));
    state.act(Action::Down);
    compare("rail", &mut state);
}

#[test]
fn a_draft_comes_back_as_it_was_left() {
    let folder = tempfile::tempdir().unwrap();
    let plan = DedupPlan { keep: Keep::None, min_length: Some(77), ..DedupPlan::new("/data/web", "/data/out") };
    let place = form::place(folder.path(), &DedupPlan::new("/data/web", ""));
    form::save(&place, &plan, Step::Mode).unwrap();
    let draft = form::load::<DedupPlan, Step>(&place).unwrap();
    assert_eq!((draft.plan, draft.step), (plan, Step::Mode));
    form::forget(&place);
    assert!(form::load::<DedupPlan, Step>(&place).is_none());
}

#[test]
fn what_lengths_come_to_depends_on_few_answers() {
    let one = DedupPlan { output: "/a".into(), min_length: Some(5), mode: Mode::Annotate, ..DedupPlan::new("/d", "") };
    let other = DedupPlan { output: "/b".into(), overwrite: true, ..DedupPlan::new("/d", "") };
    assert_eq!(super::seen::relevant(&one), super::seen::relevant(&other));
    let keyed = DedupPlan { text_key: "body".into(), ..other.clone() };
    assert_ne!(super::seen::relevant(&keyed), super::seen::relevant(&other));
}

/// One file with more text than is searched at once; every second document is there twice.
fn write_nine_mib(folder: &Path) {
    let mut text = String::new();
    let mut number = 0_u64;
    while text.len() < 9 << 20 {
        number += 1;
        let words: String =
            (0..60).map(|word| format!("{:x} ", (number * 60 + word) * 0x9e37_79b9 % 0xffff_fffb)).collect();
        let copies = if number.is_multiple_of(2) { 2 } else { 1 };
        (0..copies).for_each(|_| text.push_str(&format!("{{\"text\": \"{words}\"}}\n")));
    }
    std::fs::write(folder.join("a.jsonl"), text).unwrap();
}

#[test]
fn first_estimates_of_a_larger_text_are_followed_by_exact_ones() {
    let folder = tempfile::tempdir().unwrap();
    write_nine_mib(folder.path());
    let env = UiEnv::new(RunOptions::default(), folder.path().join("state"));
    let mut state = DedupState::new(DedupPlan::new(folder.path().to_str().unwrap(), ""));
    let mut guide = DedupGuide::start(&state.plan, &env);
    let mut estimates: Vec<LengthEstimate> = Vec::new();
    let mut pictures: Vec<String> = Vec::new();
    state.form.step = Step::Length;
    testing::wait("exact figures", || {
        guide.ask(&mut state);
        if guide.take(&mut state) {
            if let Some(Ok(found)) = state.seen.estimate(500) {
                estimates.push(found.lengths[0]);
                pictures.push(shown(&mut state, 80, 22, false));
            }
        }
        estimates.last().is_some_and(|last| last.is_exact)
    });
    let (first, last) = (estimates[0], estimates[estimates.len() - 1]);
    assert!(!first.is_exact, "{first:?}");
    assert!(first.least_share <= last.share && last.share <= first.most_share.unwrap(), "{first:?} {last:?}");
    assert!((0.3..0.4).contains(&last.share), "{last:?}");
    let row = |picture: &str| picture.lines().find(|line| line.contains(") 500")).unwrap().to_owned();
    assert!(row(&pictures[0]).contains('~'), "{}", pictures[0]);
    assert!(!row(&pictures[pictures.len() - 1]).contains('~'), "{}", pictures[pictures.len() - 1]);
}
