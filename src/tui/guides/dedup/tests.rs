#![expect(clippy::disallowed_methods, reason = "test data need not be published")]

use super::guide::{plan_of, wanted_lengths, DedupGuide, LENGTHS};
use crate::tui::form::testing::FormTest;
use crate::tui::form::{Field, Guide as _};
use crate::tui::keymap::Action;
use crate::tui::screen::UiEnv;
use crate::tui::testing;
use gristmill_core::dedup::{Keep, Mode, Variant};
use gristmill_core::{DedupPlan, Failure, Problem, ProblemKind, RunOptions, Subject};
use gristmill_data::source::dedup::Listing;
use gristmill_data::source::documents::{Packing, TextFile};
use gristmill_ops::job::dedup::{DedupEstimate, LengthEstimate, RepeatedPassage};
use gristmill_ops::operations::{erase, Dedup};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

type Test = FormTest<DedupGuide>;

fn open(plan: DedupPlan) -> Test {
    let env = UiEnv::new(RunOptions::default(), "/nonexistent".into());
    let guide = DedupGuide::start(&env);
    FormTest::new(erase::<Dedup>(plan), guide)
}

fn plan(test: &Test) -> DedupPlan {
    plan_of(&test.form)
}

fn compare(name: &str, test: &mut Test) {
    test.compare(&format!("dedup_{name}"));
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
        source: &gristmill_data::source::documents::Jsonl,
        packing,
        rows: None,
        damaged: Vec::new(),
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

fn answered() -> Test {
    let mut test = open(DedupPlan::new("/data/web", ""));
    test.guide.known.files = Some(Arc::new(Ok(listing())));
    test
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

fn with_estimates(test: &mut Test, lengths: &[(u64, f64)]) {
    for (length, share) in lengths {
        test.guide.known.estimates.by_length.insert(*length, Arc::new(Ok(estimate(*length, *share))));
    }
}

const SHARES: [(u64, f64); 5] = [(50, 0.312), (100, 0.241), (200, 0.173), (500, 0.0891), (1_000, 0.031)];

#[test]
fn source_step_shows_files_and_scan_failure() {
    let mut test = open(DedupPlan::new("/data/web", ""));
    compare("source_waiting", &mut test);
    compare("source", &mut answered());
    test.guide.known.files = Some(Arc::new(Err(
        Failure::usage("looking for text", "there is no .jsonl file").with_hint("name a folder of JSONL files")
    )));
    compare("source_failed", &mut test);
    assert!(test.blocker("source").unwrap().contains("there is no .jsonl file"));
}

#[test]
fn length_step_draws_each_estimate_on_arrival() {
    let mut test = answered();
    test.go_to("length");
    assert_eq!(wanted_lengths(&plan(&test)), [500, 1_000, 200, 100, 50], "the usual one first");
    compare("length_waiting", &mut test);
    with_estimates(&mut test, &SHARES[3..]);
    compare("length_some", &mut test);
    with_estimates(&mut test, &SHARES);
    compare("length", &mut test);
    test.act(Action::Up);
    assert_eq!((plan(&test).min_length, test.blocker("length")), (Some(200), None));
    test.guide.known.estimates.is_stopped = true;
    test.guide.known.estimates.by_length.remove(&50);
    compare("length_stopped", &mut test);
}

#[test]
fn custom_minimum_length_is_typed_and_estimated() {
    let mut test = answered();
    test.go_to("length");
    test.act(Action::Last);
    assert_eq!(plan(&test).min_length, None);
    assert!(test.blocker("length").is_some());
    test.type_into("minlen", "2_000");
    assert_eq!((plan(&test).min_length, test.blocker("length")), (Some(2_000), None));
    assert_eq!(wanted_lengths(&plan(&test)).first(), Some(&2_000));
    with_estimates(&mut test, &SHARES);
    with_estimates(&mut test, &[(2_000, 0.011)]);
    compare("length_own", &mut test);
    test.type_into("minlen", "many");
    assert!(test.blocker("length").unwrap().contains("not a number"));
    test.form.focus_on(LENGTHS);
    test.act(Action::First);
    assert_eq!((plan(&test).min_length, test.blocker("length")), (Some(50), None));
    let kept = open(DedupPlan { min_length: Some(777), ..DedupPlan::new("/data/web", "") });
    assert!(kept.guide.is_own && plan(&kept).min_length == Some(777));
}

#[test]
fn failed_length_estimate_shows_reason() {
    let mut test = answered();
    test.go_to("length");
    let failure = Failure::data("reading the text", "no document has text").with_hint("--text-key names the field");
    test.guide.known.estimates.by_length.insert(500, Arc::new(Err(failure)));
    compare("length_failed", &mut test);
}

#[test]
fn annotate_mode_has_settings_that_remove_mode_lacks() {
    let mut test = answered();
    test.go_to("mode");
    compare("mode", &mut test);
    assert_eq!(plan(&test).output, "/data/web-dedup");
    test.form.focus_on(Field::Option("mode"));
    test.act(Action::Right);
    test.type_into("annotate-key", "meta.repeats");
    assert_eq!((plan(&test).mode, plan(&test).annotate_key.as_str()), (Mode::Annotate, "meta.repeats"));
    test.form.focus_on(Field::Option("keep"));
    test.act(Action::Right);
    test.act(Action::Advanced);
    compare("mode_all", &mut test);
    assert_eq!(plan(&test).keep, Keep::None);
    test.form.focus_on(Field::Option("variant"));
    test.act(Action::Right);
    assert!(!test.form.fields().contains(&Field::Option("annotate-key")));
    assert_eq!(plan(&test).variant, Variant::B);
    assert!(test.form.plan().check(false).is_empty(), "{:?}", test.form.plan().check(false));
    test.form.focus_on(Field::Option("mode"));
    test.act(Action::Right);
    assert_eq!(plan(&test).variant, Variant::A);
    assert!(test.form.plan().check(false).is_empty(), "{:?}", test.form.plan().check(false));
}

#[test]
fn an_output_inside_the_input_and_a_count_below_two_are_refused_at_their_fields() {
    let mut test = answered();
    test.go_to("mode");
    test.type_into("output", "/data/web/out");
    assert!(test.blocker("mode").unwrap().contains("is in the input"), "{:?}", test.blocker("mode"));
    compare("mode_refused", &mut test);
    test.type_into("output", "/data/out");
    test.type_into("min-count", "1");
    assert!(test.blocker("mode").is_some());
    test.type_into("min-count", "");
    assert_eq!((plan(&test).min_count, test.blocker("mode")), (2, None));
}

#[test]
fn dedup_review_shows_files_and_required_space() {
    let mut test = answered();
    test.go_to("review");
    compare("review_waiting", &mut test);
    test.guide.known.review = Some((plan(&test).clone(), Arc::new(Ok(estimate(500, 0.0891)))));
    assert_eq!(test.first_blocker(), None);
    compare("review", &mut test);
    test.type_into("min-count", "3");
    assert!(test.guide.review(&test.form).is_none(), "other answers, another outlook");
    let refusal = Problem::refusal(ProblemKind::BadName, Subject::path("/data"), "the disk has no room for it");
    let found = DedupEstimate { problems: vec![refusal], ..estimate(500, 0.0891) };
    test.guide.known.review = Some((plan(&test).clone(), Arc::new(Ok(found))));
    compare("review_refused", &mut test);
    test.type_into("output", "");
    assert_eq!(test.first_blocker().unwrap().0, "mode");
}

#[test]
fn dedup_form_keeps_answers_on_the_way_back() {
    let mut test = answered();
    test.go_to("mode");
    test.form.focus_on(Field::Option("mode"));
    test.act(Action::Right);
    let before = plan(&test);
    (0..test.form.step).rev().for_each(|step| test.form.select_step(step));
    assert_eq!((test.form.step, plan(&test)), (0, before));
    assert!((0..2).all(|step| test.form.is_answered(step)));
    test.form.draft = Some(Duration::from_secs(7_300));
    compare("draft", &mut test);
    test.act(Action::PreviousField);
    assert_eq!(test.form.rail, Some(0));
    test.act(Action::Down);
    compare("rail", &mut test);
}

#[test]
fn dedup_estimates_depend_only_on_relevant_answers() {
    let one = DedupPlan { output: "/a".into(), min_length: Some(5), mode: Mode::Annotate, ..DedupPlan::new("/d", "") };
    let other = DedupPlan { output: "/b".into(), overwrite: true, ..DedupPlan::new("/d", "") };
    assert_eq!(super::estimates::relevant(&one), super::estimates::relevant(&other));
    let keyed = DedupPlan { text_key: "body".into(), ..other.clone() };
    assert_ne!(super::estimates::relevant(&keyed), super::estimates::relevant(&other));
}

/// Writes a file with more text than one search covers, in which every second document is a repeat.
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
fn estimates_of_larger_text_become_exact() {
    let folder = tempfile::tempdir().unwrap();
    write_nine_mib(folder.path());
    let mut test = open(DedupPlan::new(folder.path().to_str().unwrap(), ""));
    let mut estimates: Vec<LengthEstimate> = Vec::new();
    let mut pictures: Vec<String> = Vec::new();
    test.go_to("length");
    testing::wait("exact figures", || {
        test.guide.request_data(&mut test.form);
        if test.guide.apply_results(&mut test.form) {
            if let Some(Ok(found)) = test.guide.known.estimate(500) {
                estimates.push(found.lengths[0]);
                pictures.push(test.shown((80, 22, false)));
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
