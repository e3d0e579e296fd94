use super::super::fixture::{act, clear, facts, facts_of, facts_prepared, settle, type_text, wizard};
use super::super::state::Wizard;
use super::super::step::Step;
use super::*;
use gristmill_core::DatasetFacts;

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
fn letters_do_not_get_into_the_ratio_and_only_those_that_move_are_commands() {
    let mut wizard = at_splits(facts());
    type_text(&mut wizard, "xyz");
    assert_eq!(wizard.splits.ratio.value(), "8,1,1");
    let keymap = crate::tui::keymap::Keymap::default();
    let letter = |c: char| KeyEvent::new(KeyCode::Char(c), ratatui::crossterm::event::KeyModifiers::NONE);
    assert_eq!(wizard.command_of(&letter('j'), &keymap), Some(Action::Down));
    assert_eq!(wizard.command_of(&letter('?'), &keymap), None);
    assert_eq!(wizard.command_of(&letter('q'), &keymap), None, "a slip of the finger ends nothing");
    assert_eq!(wizard.command_of(&letter('2'), &keymap), None, "digits belong to the ratio");
    act(&mut wizard, &[Action::Down]);
    assert_eq!(wizard.splits.mode, Mode::Patterns);
    assert_eq!(wizard.command_of(&letter('j'), &keymap), None, "the key table says it itself");
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
    assert_eq!(wizard.splits.stop(&wizard.answers), FocusStop::Name(0));
    type_text(&mut wizard, "val");
    act(&mut wizard, &[Action::NextField]);
    type_text(&mut wizard, "*001*");
    let refused = act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::Splits, "{refused:?}");
    clear(&mut wizard);
    type_text(&mut wizard, "shard-001*");
    assert!(matches!(&wizard.answers.derived.patterns[0], Ok(m) if m.shards.is_empty()));
    assert!(wizard.splits.stop_list(&wizard.answers).contains(&FocusStop::AllowEmpty));
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
    assert_eq!(stop(&wizard), FocusStop::Pattern(0));
    act(&mut wizard, &[Action::Down]);
    assert_eq!(stop(&wizard), FocusStop::Pattern(1));
    act(&mut wizard, &[Action::Down, Action::Down]);
    assert_eq!(stop(&wizard), FocusStop::Shuffle);
    act(&mut wizard, &[Action::Toggle]);
    assert!(wizard.answers.plan.shuffle_tars);
    act(&mut wizard, &[Action::Up, Action::Up, Action::Up, Action::Up]);
    assert_eq!(stop(&wizard), FocusStop::Mode);
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
fn by_hand_chosen_before_splits_are_worked_out_begins_with_what_is_proposed() {
    let whole = facts();
    for (keys, focus) in
        [([Action::Down, Action::Down].as_slice(), FocusStop::Mode), (&[Action::Splits], FocusStop::Columns)]
    {
        let mut wizard = wizard(DatasetFacts::new(whole.root.clone(), whole.kind));
        wizard.see(std::sync::Arc::new(whole.clone()));
        for key in [&[Action::Next], keys].concat() {
            wizard.act(key);
        }
        assert_eq!(wizard.step, Step::Splits);
        assert_ne!(wizard.splits.mode, Mode::Hand, "there is nothing to begin with yet");
        settle(&mut wizard);
        assert_eq!((wizard.splits.mode, wizard.splits.stop(&wizard.answers)), (Mode::Hand, focus));
        assert_eq!(counts(&wizard), [("train".into(), 16), ("val".into(), 2), ("test".into(), 2)]);
    }
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
    assert_eq!(wizard.splits.stop_list(&wizard.answers), [FocusStop::NewTo]);
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

#[test]
fn a_draft_brings_back_every_way_to_divide_that_was_typed() {
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
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("draft.yaml");
    let kept = first.splits.alternatives();
    super::super::draft::save(&place, &first.answers.plan, Step::Splits, &kept).unwrap();

    let draft = super::super::draft::load(&place).unwrap();
    let mut second = wizard(facts());
    second.take_draft(&draft.plan, draft.step, draft.age);
    second.take_alternatives(&draft.splits);
    settle(&mut second);
    assert_eq!(second.answers.plan, first.answers.plan);
    assert_eq!(second.splits.ratio.value(), "6,2,2");
    let row = &second.splits.rows[0];
    assert_eq!((row.name.value(), row.pattern.value()), ("train", "shard_000.*"));
    assert_eq!(second.splits.hand.lists(), first.splits.hand.lists());

    let mut old = wizard(facts());
    old.take_draft(&draft.plan, draft.step, draft.age);
    settle(&mut old);
    assert!(!screen(&mut old, 80, 24, false).contains("train,val,test"));
}

#[test]
fn new_shards_join_by_the_rule_that_is_recorded_and_an_update_without_one_asks() {
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
    let asks = act(&mut none, &[Action::Next]);
    assert!(matches!(asks.as_slice(), [Ask::Say(Level::Warn, why)] if why.contains("no rule is recorded")), "{asks:?}");
    assert!(screen(&mut none, 100, 30, false).contains("none is recorded"));
    act(&mut none, &[Action::Down, Action::Up]);
    assert_eq!(none.splits.new_to.as_deref(), Some("train"), "the rule that is not there cannot be chosen");
    act(&mut none, &[Action::Next]);
    assert_eq!(none.step, Step::SampleType);
}

#[test]
fn an_update_without_new_shards_asks_nothing_about_them() {
    use super::super::fixture::screen;
    let mut facts = facts_prepared();
    let counts = facts.shards.iter().map(|s| (s.name.clone(), s.samples)).collect();
    let prepared = facts.prepared.as_mut().unwrap();
    prepared.shard_counts = counts;
    prepared.new_shards.clear();
    prepared.plan = None;
    let mut wizard = at_splits(facts);
    assert!(screen(&mut wizard, 80, 24, false).contains("No new shard: the splits stay as they are"));
    act(&mut wizard, &[Action::Down]);
    assert_eq!((wizard.answers.plan.new_to.clone(), wizard.flags()), (None, "--update".into()));
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::SampleType);
}

#[test]
fn notes_about_the_splits_are_shown_where_they_are_made() {
    use super::super::fixture::screen;
    use gristmill_core::{Problem, Subject};
    for facts in [facts(), facts_prepared()] {
        let mut wizard = at_splits(facts);
        let mut derived = (*wizard.answers.derived).clone();
        let note = "2 shards are in 'train' and 'val': a.tar, b.tar";
        derived.resolved.problems.push(Problem::note(ProblemKind::ShardInTwoSplits, Subject::field("val"), note));
        wizard.learn(std::sync::Arc::new(derived));
        assert!(screen(&mut wizard, 80, 24, false).contains(note));
    }
}

#[test]
fn by_hand_the_list_beyond_the_edge_is_named_and_comes_into_view_with_the_focus() {
    use super::super::fixture::screen;
    let mut wizard = at_splits(facts());
    act(&mut wizard, &[Action::Down, Action::Down, Action::NextField]);
    let shown = screen(&mut wizard, 80, 24, false);
    assert!(shown.contains("train 16") && shown.contains("→ none 0"), "{shown}");
    act(&mut wizard, &[Action::Right, Action::Right, Action::Right]);
    assert_eq!(wizard.splits.hand.at, 3);
    let shown = screen(&mut wizard, 80, 24, false);
    assert!(shown.contains(" none 0 ") && !shown.contains("→ none") && !shown.contains("train 16"), "{shown}");
}
