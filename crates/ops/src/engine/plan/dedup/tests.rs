//! Plans of `dedup`: missing and invalid answers, and their file format.

use super::*;
use crate::engine::plan::file::{dedup_to_yaml, read_plan_of, read_typed};
use gristmill_core::dedup::{Keep, Mode, Variant};
use gristmill_core::DedupPlan;

fn plan() -> DedupPlan {
    DedupPlan { min_length: Some(500), ..DedupPlan::new("web", "out") }
}

fn fields(plan: &DedupPlan) -> Vec<String> {
    refusals(plan).into_iter().filter_map(|problem| problem.subject.field).collect()
}

fn with(change: impl FnOnce(&mut DedupPlan)) -> Vec<String> {
    let mut plan = plan();
    change(&mut plan);
    fields(&plan)
}

#[test]
fn open_dedup_questions_name_their_flags() {
    let open = open_questions(&DedupPlan::new("", ""));
    let hints: Vec<String> = open.into_iter().filter_map(|problem| problem.hint).collect();
    assert_eq!(hints.len(), 3);
    for (hint, flag) in hints.iter().zip(["--from-index", "--output", "--minlen"]) {
        assert!(hint.contains(flag), "{hint}");
    }
    assert!(open_questions(&plan()).is_empty());
    let from_index = DedupPlan { input: String::new(), from_index: Some("index".into()), ..plan() };
    assert!(open_questions(&from_index).is_empty() && refusals(&from_index).is_empty());
}

#[test]
fn invalid_dedup_answers_are_refused() {
    assert_eq!(with(|_| ()), [""; 0]);
    assert_eq!(with(|plan| plan.min_length = Some(0)), ["--minlen"]);
    assert_eq!(with(|plan| plan.min_count = 1), ["--min-count"]);
    assert_eq!(with(|plan| plan.text_key.clear()), ["--text-key"]);
    assert_eq!(with(|plan| plan.annotate_key = "a.b".into()), ["--annotate-key"], "nothing is annotated");
    let annotated = |key: &str, variant| {
        with(|plan| (plan.mode, plan.variant, plan.annotate_key) = (Mode::Annotate, variant, key.into()))
    };
    assert_eq!(annotated("a.b", Variant::A), [""; 0]);
    assert_eq!(annotated("a.b", Variant::B), ["--annotate-key"]);
    for key in ["", "a.", ".a", "a..b", "text", "text.ranges"] {
        assert_eq!(annotated(key, Variant::A), ["--annotate-key"], "{key:?}");
    }
    assert_eq!(with(|plan| plan.shards = 3), ["--shards"]);
    assert_eq!(with(|plan| (plan.shards, plan.export_ranges) = (0, Some("r".into()))), ["--shards"]);
    assert_eq!(with(|plan| plan.table = true), ["--table"]);
    let exported = with(|plan| (plan.shards, plan.table, plan.export_index) = (3, true, Some("i".into())));
    assert_eq!(exported, [""; 0]);
    assert_eq!(with(|plan| plan.from_index = Some("index".into())), ["--from-index"]);
}

#[test]
fn folders_inside_one_another_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_string_lossy().into_owned();
    std::fs::create_dir(path("in")).unwrap();
    std::os::unix::fs::symlink(path("in"), path("link")).unwrap();
    let output = |name: &str| with(|plan| (plan.input, plan.output) = (path("in"), path(name)));
    for inside in ["in", "in/", "in/out", "in/a/b", "link", "link/out", "."] {
        assert_eq!(output(inside), ["--output"], "{inside}");
    }
    for apart in ["out", "in2", "in.out"] {
        assert_eq!(output(apart), [""; 0], "{apart}");
    }
    let against = |name: &str| with(|plan| (plan.input, plan.against) = (path("in"), Some(path(name))));
    assert_eq!(against("link"), ["--against"]);
    assert_eq!(against("in/old"), ["--against"]);
    assert_eq!(against("old"), [""; 0]);
    let both = with(|plan| (plan.export_index, plan.export_ranges) = (Some("out/i".into()), Some("out".into())));
    assert_eq!(both, ["--export-index", "--export-ranges"]);
}

#[test]
fn only_compat_variant_b_adds_annotated_to_the_output_name() {
    let mut plan = DedupPlan { compat: true, mode: Mode::Annotate, variant: Variant::B, ..plan() };
    plan.output = "a/out/".into();
    assert_eq!(plan.visible_output(), "a/out_annotated");
    assert_eq!(DedupPlan { compat: false, ..plan.clone() }.visible_output(), "a/out/");
    assert_eq!(DedupPlan { variant: Variant::A, ..plan.clone() }.visible_output(), "a/out/");
    assert_eq!(DedupPlan { mode: Mode::Remove, ..plan }.visible_output(), "a/out/");
}

#[test]
fn dedup_plan_hash_covers_answers_that_change_the_output() {
    let old = plan();
    let same = DedupPlan { output: "elsewhere".into(), overwrite: true, ..old.clone() };
    assert!(differences(&old, &same).is_empty());
    assert_eq!(plan_hash(&old), plan_hash(&same));
    let other = DedupPlan { min_length: Some(100), keep: Keep::None, ..old.clone() };
    let lines = differences(&old, &other);
    assert_eq!(lines, ["min-length: 500 → 100", "keep: \"first\" → \"none\""], "{lines:?}");
    assert_ne!(plan_hash(&old), plan_hash(&other));
}

#[test]
fn dedup_plan_is_read_back_from_yaml() {
    let mut plan = DedupPlan { mode: Mode::Annotate, keep: Keep::None, min_count: 7, ..plan() };
    plan.against = Some("- x: 'y'".into());
    let text = dedup_to_yaml(&plan).unwrap();
    assert_eq!(read_plan_of::<DedupPlan>(&text, "dedup"), Some(plan));
    let failure = read_typed::<DedupPlan>("version: 1\ncommand: dedup\noutput: o\nminlen: 3\n", "dedup").unwrap_err();
    assert!(failure.why.contains("minlen"), "{failure}");
}
