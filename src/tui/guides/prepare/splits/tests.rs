use super::super::fixture::PrepareForm;
use super::super::fixture::{act, clear, facts, facts_of, facts_prepared, notices, prepare, settle, type_text};
use super::super::step::Step;
use super::*;
use crate::tui::screen::Effect;
use gristmill_core::DatasetFacts;

fn at_splits(facts: DatasetFacts) -> PrepareForm {
    let mut form = prepare(facts);
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::Splits);
    form
}

fn counts(form: &PrepareForm) -> Vec<(String, usize)> {
    form.answers.derived.resolved.splits.iter().map(|(n, s)| (n.clone(), s.len())).collect()
}

#[test]
fn typed_ratio_changes_the_splits() {
    let mut form = at_splits(facts());
    assert_eq!(counts(&form), [("train".into(), 16), ("val".into(), 2), ("test".into(), 2)]);
    clear(&mut form);
    type_text(&mut form, "2,1,1");
    assert_eq!(counts(&form), [("train".into(), 10), ("val".into(), 5), ("test".into(), 5)]);
    assert!(form.command().contains("--split-ratio 2,1,1"));
}

#[test]
fn problems_of_the_answer_before_it_do_not_block_a_proposal() {
    let mut form = at_splits(facts());
    let ratio = form.answers.plan.splits.clone();
    clear(&mut form);
    assert!(form.splits.blocking_reason(&form.answers).is_some_and(|why| why.contains("three numbers")));
    form.splits.touched = false;
    let later = Answers { plan: PreparePlan { splits: ratio, ..form.answers.plan.clone() }, ..form.answers.clone() };
    assert_eq!(form.splits.blocking_reason(&later), None);
}

#[test]
fn the_first_character_replaces_the_proposed_ratio() {
    let mut form = at_splits(facts());
    type_text(&mut form, "0.8,0.1,0.1");
    assert_eq!(form.splits.ratio.value(), "0.8,0.1,0.1");
}

#[test]
fn ratio_field_ignores_letters_except_movement_keys() {
    let mut form = at_splits(facts());
    type_text(&mut form, "xyz");
    assert_eq!(form.splits.ratio.value(), "8,1,1");
    let letter = |c: char| KeyEvent::new(KeyCode::Char(c), ratatui::crossterm::event::KeyModifiers::NONE);
    assert_eq!(form.guide().action_of(&letter('j'), form.form()), Some(Action::Down));
    assert_eq!(form.guide().action_of(&letter('?'), form.form()), None);
    assert_eq!(form.guide().action_of(&letter('q'), form.form()), None, "a slip of the finger ends nothing");
    assert_eq!(form.guide().action_of(&letter('2'), form.form()), None, "digits belong to the ratio");
    act(&mut form, &[Action::Down]);
    assert_eq!(form.splits.mode, Mode::Patterns);
    assert_eq!(form.guide().action_of(&letter('j'), form.form()), None, "the key table says it itself");
    act(&mut form, &[Action::Up]);
    assert_eq!(form.splits.mode, Mode::Ratio);
    act(&mut form, &[Action::DropRow]);
    assert_eq!(form.splits.ratio.value(), "");
}

#[test]
fn ratio_field_states_what_it_takes_after_a_letter() {
    use super::super::fixture::screen;
    let note = "a ratio has only numbers and commas, such as 8,1,1";
    let mut form = at_splits(facts());
    assert!(!screen(&mut form, 80, 24, false).contains(note));
    type_text(&mut form, "x");
    assert!(screen(&mut form, 80, 24, false).contains(note));
    type_text(&mut form, "6");
    assert!(!screen(&mut form, 80, 24, false).contains(note));
    type_text(&mut form, "x");
    act(&mut form, &[Action::Down]);
    assert!(!screen(&mut form, 80, 24, false).contains(note));
    type_text(&mut form, "x");
    assert!(!screen(&mut form, 80, 24, false).contains(note), "the modes without a text field ignore letters");
}

#[test]
fn proposes_ratio_that_keeps_single_shard_in_train() {
    let form = at_splits(facts_of(&["only.tar"]));
    assert_eq!(counts(&form)[0], ("train".into(), 1));
}

#[test]
fn folders_named_like_splits_are_proposed_as_patterns() {
    let form = at_splits(facts_of(&["train/a.tar", "train/b.tar", "val/a.tar"]));
    assert_eq!(form.splits.mode, Mode::Patterns);
    assert_eq!(counts(&form), [("train".into(), 2), ("val".into(), 1)]);
    assert!(form.splits.rows.last().is_some_and(PatternRow::is_empty), "there is room for one more");
    assert!(!form.is_dirty);
}

#[test]
fn glob_in_pattern_row_is_refused_with_the_pattern_as_hint() {
    let mut form = at_splits(facts());
    act(&mut form, &[Action::Down, Action::NextField]);
    assert_eq!(form.splits.stop(&form.answers), FocusStop::Name(0));
    type_text(&mut form, "val");
    act(&mut form, &[Action::NextField]);
    type_text(&mut form, "*001*");
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::Splits);
    clear(&mut form);
    type_text(&mut form, "shard-001*");
    assert!(matches!(&form.answers.derived.patterns[0], Ok(m) if m.shards.is_empty()));
    assert!(form.splits.stop_list(&form.answers).contains(&FocusStop::AllowEmpty));
    clear(&mut form);
    type_text(&mut form, "shard_001.*");
    assert_eq!(counts(&form), [("val".into(), 10)]);
    assert_eq!(form.answers.derived.resolved.unassigned.len(), 10);
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::SampleType);
    assert_eq!(form.splits.rows.len(), 2);
}

#[test]
fn arrows_stay_in_their_column_of_the_pattern_rows() {
    let mut form = at_splits(facts_of(&["train/a.tar", "val/a.tar"]));
    let stop = |w: &PrepareForm| w.splits.stop(&w.answers);
    act(&mut form, &[Action::NextField, Action::NextField]);
    assert_eq!(stop(&form), FocusStop::Pattern(0));
    act(&mut form, &[Action::Down]);
    assert_eq!(stop(&form), FocusStop::Pattern(1));
    act(&mut form, &[Action::Down, Action::Down]);
    assert_eq!(stop(&form), FocusStop::Shuffle);
    act(&mut form, &[Action::Toggle]);
    assert!(form.answers.plan.shuffle_tars);
    act(&mut form, &[Action::Up, Action::Up, Action::Up, Action::Up]);
    assert_eq!(stop(&form), FocusStop::Mode);
}

#[test]
fn pattern_row_is_deleted_with_name_and_pattern() {
    let mut form = at_splits(facts_of(&["train/a.tar", "val/a.tar"]));
    act(&mut form, &[Action::NextField, Action::DropRow]);
    assert_eq!(form.splits.rows.len(), 2);
    assert_eq!(counts(&form).len(), 1);
}

#[test]
fn manual_splits_start_from_ratio_and_moves_change_plan() {
    let mut form = at_splits(facts());
    act(&mut form, &[Action::Down, Action::Down]);
    assert_eq!(form.splits.mode, Mode::Hand);
    assert_eq!(counts(&form), [("train".into(), 16), ("val".into(), 2), ("test".into(), 2)]);
    act(&mut form, &[Action::NextField, Action::Mark, Action::Down, Action::Down, Action::MoveToNextSplit]);
    assert_eq!(counts(&form), [("train".into(), 13), ("val".into(), 5), ("test".into(), 2)]);
    act(&mut form, &[Action::Undo]);
    assert_eq!(counts(&form)[0].1, 16);
    act(&mut form, &[Action::Redo, Action::Right, Action::MoveToPreviousSplit]);
    assert_eq!(counts(&form), [("train".into(), 14), ("val".into(), 4), ("test".into(), 2)]);
    assert!(form.command().contains("--splits-from splits.yaml"));
}

#[test]
fn manual_splits_chosen_early_start_from_proposed_splits() {
    let whole = facts();
    for (keys, focus) in
        [([Action::Down, Action::Down].as_slice(), FocusStop::Mode), (&[Action::Splits], FocusStop::Columns)]
    {
        let mut form = prepare(DatasetFacts::new(whole.root.clone(), whole.kind));
        form.set_facts_without_workers(whole.clone());
        for key in [&[Action::Next], keys].concat() {
            form.act(key);
        }
        assert_eq!(form.step(), Step::Splits);
        assert_ne!(form.splits.mode, Mode::Hand, "there is nothing to begin with yet");
        settle(&mut form);
        assert_eq!((form.splits.mode, form.splits.stop(&form.answers)), (Mode::Hand, focus));
        assert_eq!(counts(&form), [("train".into(), 16), ("val".into(), 2), ("test".into(), 2)]);
    }
}

#[test]
fn a_split_is_added_by_name_and_a_bad_name_is_refused() {
    let mut form = at_splits(facts());
    act(&mut form, &[Action::Down, Action::Down, Action::NextField, Action::AddSplit]);
    type_text(&mut form, "train");
    assert!(matches!(act(&mut form, &[Action::Next]).as_slice(), [Effect::Toast(_)]));
    clear(&mut form);
    type_text(&mut form, "holdout");
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::Splits);
    assert!(counts(&form).iter().any(|(n, _)| n == "holdout"));
    act(&mut form, &[Action::DropSplit]);
    assert!(!counts(&form).iter().any(|(n, _)| n == "holdout"));
    act(&mut form, &[Action::AddSplit, Action::Close]);
    assert!(form.splits.naming.is_none());
}

#[test]
fn switching_split_mode_keeps_answers_of_each_mode() {
    let mut form = at_splits(facts());
    clear(&mut form);
    type_text(&mut form, "3,1,1");
    act(&mut form, &[Action::Down, Action::NextField]);
    type_text(&mut form, "train");
    act(&mut form, &[Action::PreviousField, Action::Up]);
    assert_eq!(form.answers.plan.splits, SplitPlan::Ratio("3,1,1".into()));
    act(&mut form, &[Action::Down]);
    assert_eq!(form.splits.rows[0].name.value(), "train");
}

#[test]
fn update_needs_a_split_only_for_new_shards() {
    let mut form = at_splits(facts_prepared());
    assert_eq!(form.splits.stop_list(&form.answers), [FocusStop::NewTo]);
    act(&mut form, &[Action::Down, Action::Down]);
    assert_eq!(form.answers.plan.new_to.as_deref(), Some("val"));
    assert!(form.command().contains("--update --new-to val"));
    assert_eq!(counts(&form), [("train".into(), 14), ("val".into(), 4), ("test".into(), 2)]);
    act(&mut form, &[Action::Up, Action::Up, Action::Up]);
    assert_eq!(form.answers.plan.new_to, None);
}

#[test]
fn excluded_shards_are_not_listed_in_manual_splits() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::Exclude, Action::Next, Action::Down, Action::Down]);
    let listed: usize = form.splits.hand.columns.iter().map(|c| c.shards.len()).sum();
    assert_eq!(listed, 19);
    act(&mut form, &[Action::Close, Action::Exclude, Action::Next]);
    settle(&mut form);
    assert_eq!(form.splits.hand.columns.last().map(|c| c.shards.len()), Some(1), "taken back, it is in no split yet");
}

#[test]
fn draft_restores_answers_of_every_split_mode() {
    use super::super::fixture::screen;
    let mut first = at_splits(facts());
    clear(&mut first);
    type_text(&mut first, "6,2,2");
    act(&mut first, &[Action::Down, Action::NextField]);
    type_text(&mut first, "train");
    act(&mut first, &[Action::NextField]);
    type_text(&mut first, "shard_000.*");
    act(&mut first, &[Action::PreviousField, Action::PreviousField, Action::Down]);
    assert_eq!(first.splits.mode, Mode::Hand);
    let (plan, lists) = (first.answers.plan.clone(), first.splits.hand.lists());
    let second = first.reopen(facts());
    assert_eq!(second.answers.plan, plan);
    assert_eq!(second.splits.ratio.value(), "6,2,2");
    let row = &second.splits.rows[0];
    assert_eq!((row.name.value(), row.pattern.value()), ("train", "shard_000.*"));
    assert_eq!(second.splits.hand.lists(), lists);

    let mut old = PrepareForm::with_draft(&plan, Step::Splits, facts());
    assert!(!screen(&mut old, 80, 24, false).contains("train,val,test"));
}

#[test]
fn new_shards_follow_recorded_rule_or_need_an_answer() {
    use super::super::fixture::screen;
    let with_rule = |splits: SplitPlan| {
        let mut facts = facts_prepared();
        let prepared = facts.prepared.as_mut().unwrap();
        prepared.plan.as_mut().unwrap().splits = splits;
        at_splits(facts)
    };
    let shown = screen(&mut with_rule(SplitPlan::Ratio("7,2,1".into())), 100, 30, false);
    assert!(shown.contains("by the recorded rule") && shown.contains("ratio 7,2,1"), "{shown}");
    let pattern = SplitPattern { name: "train".into(), pattern: "shard_.*".into() };
    let shown = screen(&mut with_rule(SplitPlan::Patterns(vec![pattern])), 100, 30, false);
    assert!(shown.contains("pattern train:shard_.*"), "{shown}");

    let mut none = with_rule(SplitPlan::Unset);
    let effects = act(&mut none, &[Action::Next]);
    assert!(notices(&effects)[0].contains("no rule is recorded"));
    assert!(screen(&mut none, 100, 30, false).contains("none is recorded"));
    act(&mut none, &[Action::Down, Action::Up]);
    assert_eq!(none.splits.new_to.as_deref(), Some("train"), "the rule that is not there cannot be chosen");
    act(&mut none, &[Action::Next]);
    assert_eq!(none.step(), Step::SampleType);
}

#[test]
fn update_without_new_shards_has_no_split_question() {
    use super::super::fixture::screen;
    let mut facts = facts_prepared();
    let counts = facts.shards.iter().map(|s| (s.name.clone(), s.samples)).collect();
    let prepared = facts.prepared.as_mut().unwrap();
    prepared.shard_counts = counts;
    prepared.new_shards.clear();
    prepared.plan = None;
    let mut form = at_splits(facts);
    assert!(screen(&mut form, 80, 24, false).contains("No new shard: the splits stay as they are"));
    act(&mut form, &[Action::Down]);
    assert_eq!(form.answers.plan.new_to, None);
    assert!(form.command().contains("--update") && !form.command().contains("--new-to"));
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::SampleType);
}

#[test]
fn split_notes_are_shown_on_splits_step() {
    use super::super::fixture::screen;
    use gristmill_core::{Problem, Subject};
    for facts in [facts(), facts_prepared()] {
        let mut form = at_splits(facts);
        let mut derived = (*form.answers.derived).clone();
        let note = "2 shards are in 'train' and 'val': a.tar, b.tar";
        derived.resolved.problems.push(Problem::note(ProblemKind::ShardInTwoSplits, Subject::field("val"), note));
        form.set_findings(std::sync::Arc::new(derived));
        assert!(screen(&mut form, 80, 24, false).contains(note));
    }
}

#[test]
fn hidden_split_column_is_named_and_scrolled_into_view() {
    use super::super::fixture::screen;
    let mut form = at_splits(facts());
    act(&mut form, &[Action::Down, Action::Down, Action::NextField]);
    let shown = screen(&mut form, 80, 24, false);
    assert!(shown.contains("train 16") && shown.contains("→ none 0"), "{shown}");
    act(&mut form, &[Action::Right, Action::Right, Action::Right]);
    assert_eq!(form.splits.hand.at, 3);
    let shown = screen(&mut form, 80, 24, false);
    assert!(shown.contains(" none 0 ") && !shown.contains("→ none") && !shown.contains("train 16"), "{shown}");
}
