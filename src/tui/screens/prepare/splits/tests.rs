use super::super::fixture::{act, clear, facts, facts_of, facts_prepared, settle, type_text, wizard};
use super::super::state::Wizard;
use super::super::step::Step;
use super::*;
use crate::model::DatasetFacts;

fn at_splits(facts: DatasetFacts) -> Wizard {
    let mut wizard = wizard(facts);
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::Splits);
    wizard
}

fn counts(wizard: &Wizard) -> Vec<(String, usize)> {
    wizard.answers.derived.resolved.splits.iter().map(|(n, s)| (n.clone(), s.len())).collect()
}

#[test]
fn the_ratio_is_typed_where_it_stands_and_the_splits_follow() {
    let mut wizard = at_splits(facts());
    assert_eq!(counts(&wizard), [("train".into(), 16), ("val".into(), 2), ("test".into(), 2)]);
    clear(&mut wizard);
    type_text(&mut wizard, "2,1,1");
    assert_eq!(counts(&wizard), [("train".into(), 10), ("val".into(), 5), ("test".into(), 5)]);
    assert_eq!(wizard.flags(), "--split-ratio 2,1,1");
}

#[test]
fn letters_do_not_get_into_the_ratio_and_stay_commands() {
    let mut wizard = at_splits(facts());
    type_text(&mut wizard, "xyz");
    assert_eq!(wizard.splits.ratio.value(), "8,1,1");
    let letter = |c: char| KeyEvent::new(KeyCode::Char(c), ratatui::crossterm::event::KeyModifiers::NONE);
    assert_eq!(wizard.command_of(&letter('j')), Some(Action::Down));
    assert_eq!(wizard.command_of(&letter('?')), Some(Action::Help));
    assert_eq!(wizard.command_of(&letter('q')), Some(Action::Quit));
    assert_eq!(wizard.command_of(&letter('2')), None, "digits belong to the ratio");
    act(&mut wizard, &[Action::Down]);
    assert_eq!(wizard.splits.mode, Mode::Patterns);
    assert_eq!(wizard.command_of(&letter('j')), None, "the key table says it itself");
    act(&mut wizard, &[Action::Up]);
    assert_eq!(wizard.splits.mode, Mode::Ratio);
    act(&mut wizard, &[Action::DropRow]);
    assert_eq!(wizard.splits.ratio.value(), "");
}

#[test]
fn one_shard_gets_a_ratio_that_leaves_train_full() {
    let wizard = at_splits(facts_of(&["only.tar"]));
    assert_eq!(counts(&wizard)[0], ("train".into(), 1));
}

#[test]
fn folders_named_like_splits_are_proposed_as_patterns() {
    let wizard = at_splits(facts_of(&["train/a.tar", "train/b.tar", "val/a.tar"]));
    assert_eq!(wizard.splits.mode, Mode::Patterns);
    assert_eq!(counts(&wizard), [("train".into(), 2), ("val".into(), 1)]);
    assert!(wizard.splits.rows.last().is_some_and(PatternRow::is_empty), "there is room for one more");
    assert!(!wizard.is_dirty);
}

#[test]
fn a_glob_is_answered_with_the_pattern_that_was_meant() {
    let mut wizard = at_splits(facts());
    act(&mut wizard, &[Action::Down, Action::NextField]);
    assert_eq!(wizard.splits.stop(&wizard.answers), Stop::Name(0));
    type_text(&mut wizard, "val");
    act(&mut wizard, &[Action::NextField]);
    type_text(&mut wizard, "*001*");
    let refused = act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::Splits, "{refused:?}");
    clear(&mut wizard);
    type_text(&mut wizard, "shard-001*");
    assert!(matches!(&wizard.answers.derived.patterns[0], Ok(m) if m.shards.is_empty()));
    assert!(wizard.splits.stop_list(&wizard.answers).contains(&Stop::AllowEmpty));
    clear(&mut wizard);
    type_text(&mut wizard, "shard_001.*");
    assert_eq!(counts(&wizard), [("val".into(), 10)]);
    assert_eq!(wizard.answers.derived.resolved.unassigned.len(), 10);
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::SampleType);
    assert_eq!(wizard.splits.rows.len(), 2);
}

#[test]
fn arrows_stay_in_their_column_of_the_pattern_rows() {
    let mut wizard = at_splits(facts_of(&["train/a.tar", "val/a.tar"]));
    let stop = |w: &Wizard| w.splits.stop(&w.answers);
    act(&mut wizard, &[Action::NextField, Action::NextField]);
    assert_eq!(stop(&wizard), Stop::Pattern(0));
    act(&mut wizard, &[Action::Down]);
    assert_eq!(stop(&wizard), Stop::Pattern(1));
    act(&mut wizard, &[Action::Down, Action::Down]);
    assert_eq!(stop(&wizard), Stop::Shuffle);
    act(&mut wizard, &[Action::Toggle]);
    assert!(wizard.answers.plan.shuffle_tars);
    act(&mut wizard, &[Action::Up, Action::Up, Action::Up, Action::Up]);
    assert_eq!(stop(&wizard), Stop::Mode);
}

#[test]
fn a_pattern_row_is_dropped_whole() {
    let mut wizard = at_splits(facts_of(&["train/a.tar", "val/a.tar"]));
    act(&mut wizard, &[Action::NextField, Action::DropRow]);
    assert_eq!(wizard.splits.rows.len(), 2);
    assert_eq!(counts(&wizard).len(), 1);
}

#[test]
fn splits_by_hand_begin_as_they_are_and_moves_reach_the_plan() {
    let mut wizard = at_splits(facts());
    act(&mut wizard, &[Action::Down, Action::Down]);
    assert_eq!(wizard.splits.mode, Mode::Hand);
    assert_eq!(counts(&wizard), [("train".into(), 16), ("val".into(), 2), ("test".into(), 2)]);
    act(&mut wizard, &[Action::NextField, Action::Mark, Action::Down, Action::Down, Action::MoveToNextSplit]);
    assert_eq!(counts(&wizard), [("train".into(), 13), ("val".into(), 5), ("test".into(), 2)]);
    act(&mut wizard, &[Action::Undo]);
    assert_eq!(counts(&wizard)[0].1, 16);
    act(&mut wizard, &[Action::Redo, Action::Right, Action::MoveToPreviousSplit]);
    assert_eq!(counts(&wizard), [("train".into(), 14), ("val".into(), 4), ("test".into(), 2)]);
    assert_eq!(wizard.flags(), "--splits-from FILE");
}

#[test]
fn a_split_is_added_by_name_and_a_bad_name_is_refused() {
    let mut wizard = at_splits(facts());
    act(&mut wizard, &[Action::Down, Action::Down, Action::NextField, Action::AddSplit]);
    type_text(&mut wizard, "train");
    assert!(matches!(act(&mut wizard, &[Action::Next]).as_slice(), [Ask::Say(..)]));
    clear(&mut wizard);
    type_text(&mut wizard, "holdout");
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::Splits);
    assert!(counts(&wizard).iter().any(|(n, _)| n == "holdout"));
    act(&mut wizard, &[Action::DropSplit]);
    assert!(!counts(&wizard).iter().any(|(n, _)| n == "holdout"));
    act(&mut wizard, &[Action::AddSplit, Action::Close]);
    assert!(wizard.splits.naming.is_none());
}

#[test]
fn changing_the_way_back_and_forth_keeps_every_answer() {
    let mut wizard = at_splits(facts());
    clear(&mut wizard);
    type_text(&mut wizard, "3,1,1");
    act(&mut wizard, &[Action::Down, Action::NextField]);
    type_text(&mut wizard, "train");
    act(&mut wizard, &[Action::PreviousField, Action::Up]);
    assert_eq!(wizard.answers.plan.splits, SplitPlan::Ratio("3,1,1".into()));
    act(&mut wizard, &[Action::Down]);
    assert_eq!(wizard.splits.rows[0].name.value(), "train");
}

#[test]
fn in_an_update_only_new_shards_need_a_split() {
    let mut wizard = at_splits(facts_prepared());
    assert_eq!(wizard.splits.stop_list(&wizard.answers), [Stop::NewTo]);
    act(&mut wizard, &[Action::Down, Action::Down]);
    assert_eq!(wizard.answers.plan.new_to.as_deref(), Some("val"));
    assert_eq!(wizard.flags(), "--update --new-to val");
    assert_eq!(counts(&wizard), [("train".into(), 14), ("val".into(), 4), ("test".into(), 2)]);
    act(&mut wizard, &[Action::Up, Action::Up, Action::Up]);
    assert_eq!(wizard.answers.plan.new_to, None);
}

#[test]
fn shards_that_are_left_out_are_in_no_split_by_hand_either() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::Exclude, Action::Next, Action::Down, Action::Down]);
    let listed: usize = wizard.splits.hand.columns.iter().map(|c| c.shards.len()).sum();
    assert_eq!(listed, 19);
    act(&mut wizard, &[Action::Close, Action::Exclude, Action::Next]);
    settle(&mut wizard);
    assert_eq!(wizard.splits.hand.columns.last().map(|c| c.shards.len()), Some(1), "taken back, it is in no split yet");
}
