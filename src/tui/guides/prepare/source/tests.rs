use super::super::fixture::{
    act, clear, facts, facts_half_scanned, facts_of, facts_prepared, prepare, screen, type_text, PrepareForm,
};
use super::super::step::Step;
use super::*;
use crate::tui::screen::{Effect, Input};

#[test]
fn shard_is_excluded_and_included_by_exact_name() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::Down, Action::Exclude]);
    assert_eq!(form.answers.plan.exclude_shards, ["^shard_0001\\.tar$"]);
    assert!(!form.answers.derived.is_usable(1));
    assert!(form.command().contains("--exclude '^shard_0001\\.tar$'"));
    act(&mut form, &[Action::Toggle]);
    assert!(form.answers.plan.exclude_shards.is_empty());
}

#[test]
fn exact_pattern_matches_one_shard_and_converts_back() {
    for name in ["a.tar", "x+(1).tar", "sub/{a,b}.tar", "a\\b.tar", "ü ^$.tar"] {
        assert_eq!(exact_name(&exact_pattern(name)).as_deref(), Some(name));
        assert!(regex::Regex::new(&exact_pattern(name)).unwrap().is_match(name), "{name}");
    }
    for pattern in ["a.tar", "^a.tar$", "^a\\.tar", "^a\\"] {
        assert_eq!(exact_name(pattern), None, "{pattern}");
    }
}

#[test]
fn a_pattern_shows_its_matches_while_it_is_typed() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::NextField]);
    assert_eq!(form.context(), Context::PrepareText);
    type_text(&mut form, "000[12]");
    assert_eq!(form.answers.derived.excluded, Some(Ok(vec![1, 2])));
    act(&mut form, &[Action::DropRow]);
    assert_eq!(form.answers.derived.excluded, None);
}

#[test]
fn unusable_exclude_pattern_blocks_source_step() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::NextField]);
    type_text(&mut form, "shard_[");
    assert!(matches!(act(&mut form, &[Action::Next]).as_slice(), [Effect::Toast(_)]));
    assert_eq!(form.step(), Step::Source);
    clear(&mut form);
    type_text(&mut form, ".*");
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::Source, "no shard would remain");
}

#[test]
fn focus_moves_between_lists_at_their_ends() {
    let mut form = prepare(facts_half_scanned());
    act(&mut form, &[Action::Last, Action::Down]);
    assert_eq!(form.source.stop(&form.answers), FocusStop::Pattern);
    act(&mut form, &[Action::Down, Action::Down]);
    assert_eq!(form.source.stop(&form.answers), FocusStop::Findings);
    assert_eq!(form.source.findings.selected, 1);
    act(&mut form, &[Action::Up, Action::Up]);
    assert_eq!(form.source.stop(&form.answers), FocusStop::Pattern);
    act(&mut form, &[Action::Up]);
    assert_eq!(form.source.stop(&form.answers), FocusStop::Shards);
}

#[test]
fn a_finding_opens_in_full_and_any_key_closes_it() {
    let mut form = prepare(facts_half_scanned());
    act(&mut form, &[Action::Details]);
    assert!(form.source.shows_detail);
    act(&mut form, &[Action::Down]);
    assert_eq!(form.source.findings.selected, 1);
    act(&mut form, &[Action::Close]);
    assert_eq!((form.source.shows_detail, form.step()), (false, Step::Source));
}

#[test]
fn compressed_shards_and_duplicate_keys_add_questions() {
    let mut facts = facts_of(&["a.tar", "b.tgz", "c.tar"]);
    facts.same_keys = vec![gristmill_core::DuplicateKeys { shards: vec![0, 2], key: "000001".into(), keys: 1 }];
    let mut form = prepare(facts);
    let stops = form.source.stop_list(&form.answers);
    assert_eq!(stops, [FocusStop::Shards, FocusStop::Pattern, FocusStop::Tgz, FocusStop::Duplicates]);
    form.source.set_focus(2);
    act(&mut form, &[Action::Down]);
    assert_eq!(form.answers.plan.tgz, Tgz::Rewrite);
    act(&mut form, &[Action::Down, Action::Toggle]);
    assert_eq!(form.answers.plan.duplicates, Duplicates::Fail, "the cursor is on it");
    act(&mut form, &[Action::Down, Action::Toggle, Action::Toggle]);
    assert_eq!(form.answers.plan.duplicates, Duplicates::KeepFirst);
    assert!(form.command().contains("--tgz rewrite") && form.command().contains("--duplicates keep-first"));
    act(&mut form, &[Action::Up, Action::Up, Action::Up]);
    assert_eq!(form.answers.plan.duplicates, Duplicates::Fail);
    assert_eq!(form.answers.plan.tgz, Tgz::Skip);
}

#[test]
fn scattered_samples_are_refused_without_question() {
    let mut facts = facts_of(&["a.tar", "b.tar"]);
    facts.same_keys = vec![gristmill_core::DuplicateKeys { shards: vec![0, 0], key: "000001".into(), keys: 1 }];
    facts.scattered.clone_from(&facts.same_keys);
    let form = prepare(facts);
    assert_eq!(form.source.stop_list(&form.answers), [FocusStop::Shards, FocusStop::Pattern]);
    let problem = form.answers.derived.unusable_samples.as_ref().unwrap();
    assert!(problem.message.contains("not next to each other") && problem.message.contains("a.tar"), "{problem}");
    assert!(form.answers.derived.problems.iter().any(|p| p.severity == gristmill_core::Severity::Refusal));
}

#[test]
fn excludes_are_reset_only_on_request_of_overwrite() {
    let mut form = prepare(facts_prepared());
    assert!(!form.source.stop_list(&form.answers).contains(&FocusStop::ResetExcludes));
    act(&mut form, &[Action::Down, Action::Down, Action::Toggle]);
    assert!(form.answers.plan.reset_excludes);
    assert!(form.command().contains("--force-overwrite --reset-excludes"));
    act(&mut form, &[Action::Up, Action::Up]);
    assert_eq!(form.answers.plan.rerun, Rerun::Update);
    assert!(!form.answers.plan.reset_excludes);
}

#[test]
fn several_exclude_patterns_of_a_plan_are_kept() {
    let mut form = prepare(facts());
    let mut plan = form.answers.plan.clone();
    plan.exclude_shards = vec!["0001".into(), "0002".into(), "^shard_0003\\.tar$".into()];
    form.adopt(&plan);
    let mut kept = form.answers.plan.exclude_shards.clone();
    kept.sort();
    plan.exclude_shards.sort();
    assert_eq!(kept, plan.exclude_shards);
}

#[test]
fn new_shards_are_written_with_the_answer_that_makes_keys_usable() {
    let repeated = |shards: Vec<u32>| gristmill_core::DuplicateKeys { shards, key: "000001".into(), keys: 1 };
    let mut facts = facts_of(&["a.tar", "b.tar"]);
    let form = prepare(facts.clone());
    assert!(form.why_disabled(Action::Shards).is_some(), "no key is repeated");
    facts.scattered = vec![repeated(vec![0, 0])];
    let mut form = prepare(facts.clone());
    assert_eq!(form.why_disabled(Action::Shards), None);
    let shown = screen(&mut form, 100, 30, false);
    assert!(shown.contains("W opens the form of shard with this answer"), "{shown}");
    let command = opened_command(&mut form);
    assert!(command.contains("gristmill shard /data/coco ") && command.contains("--duplicates merge"), "{command}");
    (facts.scattered, facts.same_keys) = (Vec::new(), vec![repeated(vec![0, 1])]);
    let mut form = prepare(facts);
    let shown = screen(&mut form, 100, 30, false);
    assert!(shown.contains("leave a shard out, or W writes new shards"), "{shown}");
    let command = opened_command(&mut form);
    assert!(command.contains("--duplicates prefix"), "{command}");
}

/// Opens the form of new shards, and returns its command.
fn opened_command(form: &mut PrepareForm) -> String {
    let Some(Effect::Push(mut opened)) = form.act(Action::Shards).pop() else { panic!("no form is opened") };
    match opened.handle(Input::Action(Action::Copy)).into_iter().next() {
        Some(Effect::Copy(command)) => command,
        _ => panic!("no command is copied"),
    }
}
