use super::super::fixture::{act, clear, facts, facts_half_scanned, facts_of, facts_prepared, type_text, wizard};
use super::super::step::Step;
use super::*;

#[test]
fn a_shard_is_left_out_and_taken_back_by_its_exact_name() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::Down, Action::Exclude]);
    assert_eq!(wizard.answers.plan.exclude_shards, ["^shard_0001\\.tar$"]);
    assert!(!wizard.answers.derived.is_usable(1));
    assert_eq!(wizard.flags(), "--exclude '^shard_0001\\.tar$'");
    act(&mut wizard, &[Action::Toggle]);
    assert!(wizard.answers.plan.exclude_shards.is_empty());
}

#[test]
fn an_exact_pattern_names_one_shard_and_is_recognised_again() {
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
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::NextField]);
    assert_eq!(wizard.context(), Context::PrepareText);
    type_text(&mut wizard, "000[12]");
    assert_eq!(wizard.answers.derived.excluded, Some(Ok(vec![1, 2])));
    act(&mut wizard, &[Action::DropRow]);
    assert_eq!(wizard.answers.derived.excluded, None);
}

#[test]
fn a_pattern_that_cannot_be_used_keeps_the_person_here() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::NextField]);
    type_text(&mut wizard, "shard_[");
    assert!(matches!(act(&mut wizard, &[Action::Next]).as_slice(), [Ask::Say(..)]));
    assert_eq!(wizard.step, Step::Source);
    clear(&mut wizard);
    type_text(&mut wizard, ".*");
    let asks = act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::Source, "nothing would remain: {asks:?}");
}

#[test]
fn lists_hand_the_focus_on_at_their_ends() {
    let mut wizard = wizard(facts_half_scanned());
    act(&mut wizard, &[Action::Last, Action::Down]);
    assert_eq!(wizard.source.stop(&wizard.answers), FocusStop::Pattern);
    act(&mut wizard, &[Action::Down, Action::Down]);
    assert_eq!(wizard.source.stop(&wizard.answers), FocusStop::Findings);
    assert_eq!(wizard.source.findings.selected, 1);
    act(&mut wizard, &[Action::Up, Action::Up]);
    assert_eq!(wizard.source.stop(&wizard.answers), FocusStop::Pattern);
    act(&mut wizard, &[Action::Up]);
    assert_eq!(wizard.source.stop(&wizard.answers), FocusStop::Shards);
}

#[test]
fn a_finding_opens_in_full_and_any_key_closes_it() {
    let mut wizard = wizard(facts_half_scanned());
    act(&mut wizard, &[Action::Details]);
    assert!(wizard.source.shows_detail);
    act(&mut wizard, &[Action::Down]);
    assert_eq!(wizard.source.findings.selected, 1);
    act(&mut wizard, &[Action::Close]);
    assert_eq!((wizard.source.shows_detail, wizard.step), (false, Step::Source));
}

#[test]
fn compressed_shards_and_duplicates_bring_their_questions() {
    let mut facts = facts_of(&["a.tar", "b.tgz", "c.tar"]);
    facts.same_keys = vec![gristmill_core::DuplicateKeys { shards: vec![0, 2], key: "000001".into(), keys: 1 }];
    let mut wizard = wizard(facts);
    let stops = wizard.source.stop_list(&wizard.answers);
    assert_eq!(stops, [FocusStop::Shards, FocusStop::Pattern, FocusStop::Tgz, FocusStop::Duplicates]);
    wizard.source.set_focus(2);
    act(&mut wizard, &[Action::Down]);
    assert_eq!(wizard.answers.plan.tgz, Tgz::Rewrite);
    act(&mut wizard, &[Action::Down, Action::Toggle]);
    assert_eq!(wizard.answers.plan.duplicates, Duplicates::Fail, "the cursor is on it");
    act(&mut wizard, &[Action::Down, Action::Toggle, Action::Toggle]);
    assert_eq!(wizard.answers.plan.duplicates, Duplicates::KeepFirst);
    assert_eq!(wizard.flags(), "--tgz rewrite --duplicates keep-first");
    act(&mut wizard, &[Action::Up, Action::Up, Action::Up]);
    assert_eq!(wizard.answers.plan.duplicates, Duplicates::Fail);
    assert_eq!(wizard.answers.plan.tgz, Tgz::Skip);
}

#[test]
fn samples_in_several_pieces_bring_no_question() {
    let mut facts = facts_of(&["a.tar", "b.tar"]);
    facts.same_keys = vec![gristmill_core::DuplicateKeys { shards: vec![0, 0], key: "000001".into(), keys: 1 }];
    facts.scattered.clone_from(&facts.same_keys);
    let wizard = wizard(facts);
    assert_eq!(wizard.source.stop_list(&wizard.answers), [FocusStop::Shards, FocusStop::Pattern]);
    let problem = wizard.answers.derived.unusable_samples.as_ref().unwrap();
    assert!(problem.message.contains("not next to each other") && problem.message.contains("a.tar"), "{problem}");
    assert!(wizard.answers.derived.problems.iter().any(|p| p.severity == gristmill_core::Severity::Refusal));
}

#[test]
fn excludes_are_forgotten_only_on_request_and_only_when_overwriting() {
    let mut wizard = wizard(facts_prepared());
    assert!(!wizard.source.stop_list(&wizard.answers).contains(&FocusStop::ResetExcludes));
    act(&mut wizard, &[Action::Down, Action::Down, Action::Toggle]);
    assert!(wizard.answers.plan.reset_excludes);
    assert_eq!(wizard.flags(), "--force-overwrite --reset-excludes");
    act(&mut wizard, &[Action::Up, Action::Up]);
    assert_eq!(wizard.answers.plan.rerun, Rerun::Update);
    assert!(!wizard.answers.plan.reset_excludes);
}

#[test]
fn shards_left_out_in_ways_that_one_field_cannot_hold_survive() {
    let mut wizard = wizard(facts());
    let mut plan = wizard.answers.plan.clone();
    plan.exclude_shards = vec!["0001".into(), "0002".into(), "^shard_0003\\.tar$".into()];
    wizard.adopt(&plan);
    let mut kept = wizard.answers.plan.exclude_shards.clone();
    kept.sort();
    plan.exclude_shards.sort();
    assert_eq!(kept, plan.exclude_shards);
}
