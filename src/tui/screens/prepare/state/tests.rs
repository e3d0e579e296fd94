use super::super::fixture::{act, clear, facts, facts_prepared, settle, type_text, wizard};
use super::*;
use gristmill_core::{Loading, SplitPlan};

#[test]
fn next_walks_through_every_step_with_what_the_data_suggests() {
    let mut wizard = wizard(facts());
    let mut seen = vec![wizard.step];
    for _ in 0..5 {
        assert_eq!(act(&mut wizard, &[Action::Next]), []);
        seen.push(wizard.step);
    }
    assert_eq!(seen, [Step::Source, Step::Splits, Step::SampleType, Step::FieldMap, Step::Media, Step::Review]);
    assert_eq!(wizard.answers.plan.splits, SplitPlan::Ratio("8,1,1".into()));
    let Loading::FieldMap { sample_type, fields } = &wizard.answers.plan.loading else { panic!() };
    assert_eq!(sample_type, "CaptioningSample");
    assert_eq!(fields.iter().map(|f| f.field.as_str()).collect::<Vec<_>>(), ["image", "caption"]);
    assert!(!wizard.is_dirty, "nothing was answered yet, everything is a proposal");
}

#[test]
fn the_run_starts_from_review_and_only_there() {
    let mut wizard = wizard(facts());
    wizard.step = Step::Review;
    settle(&mut wizard);
    assert_eq!(wizard.act(Action::Run), [Ask::Start]);
    assert_eq!(wizard.act(Action::DryRun), [], "a dry run starts nothing");
    assert!(wizard.review.dry_run);
}

#[test]
fn a_step_with_a_bad_answer_is_not_left_by_next_but_can_be_jumped_from() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::Next]);
    clear(&mut wizard);
    type_text(&mut wizard, "8,1");
    let asks = act(&mut wizard, &[Action::Next]);
    assert!(matches!(asks.as_slice(), [Ask::Say(Level::Warn, _)]), "{asks:?}");
    assert_eq!(wizard.step, Step::Splits);
    act(&mut wizard, &[Action::GoStep6]);
    assert_eq!(wizard.step, Step::Review);
    assert!(wizard.why_disabled(Action::Run).is_some());
    let asks = wizard.act(Action::Run);
    assert!(matches!(asks.as_slice(), [Ask::Say(Level::Error, _)]), "{asks:?}");
}

#[test]
fn going_back_loses_nothing() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::Next]);
    clear(&mut wizard);
    type_text(&mut wizard, "6,2,2");
    act(&mut wizard, &[Action::Next, Action::Close, Action::Close]);
    assert_eq!(wizard.step, Step::Source);
    assert_eq!(wizard.act(Action::Close), [Ask::Leave]);
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.splits.ratio.value(), "6,2,2");
    assert_eq!(wizard.answers.plan.splits, SplitPlan::Ratio("6,2,2".into()));
    assert!(wizard.is_dirty);
}

#[test]
fn the_rail_is_reached_by_tab_and_jumps() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::PreviousField]);
    assert_eq!(wizard.rail, Some(Step::Source));
    assert_eq!(wizard.context(), Context::PrepareRail);
    act(&mut wizard, &[Action::Down, Action::Down, Action::Accept]);
    assert_eq!((wizard.step, wizard.rail), (Step::SampleType, None));
    let stops = wizard.sample_type.stop_list().len();
    for _ in 0..stops {
        act(&mut wizard, &[Action::NextField]);
    }
    assert_eq!(wizard.rail, Some(Step::SampleType));
    act(&mut wizard, &[Action::First, Action::Last]);
    assert_eq!(wizard.rail, Some(Step::Review));
    act(&mut wizard, &[Action::Close]);
    assert_eq!(wizard.rail, None);
    act(&mut wizard, &[Action::PreviousField, Action::PreviousField, Action::PreviousField]);
    assert!(wizard.rail.is_none() || wizard.rail == Some(Step::SampleType));
}

#[test]
fn the_field_map_is_left_out_where_nothing_is_to_be_mapped() {
    let mut wizard = wizard(facts());
    wizard.step = Step::SampleType;
    wizard.sample_type.filler = super::super::sample_type::Filler::Loader;
    settle(&mut wizard);
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::Media);
    assert!(matches!(wizard.answers.plan.loading, Loading::SampleLoader { .. }));
    let asks = act(&mut wizard, &[Action::GoStep4]);
    assert!(matches!(asks.as_slice(), [Ask::Say(..)]));
    act(&mut wizard, &[Action::Close]);
    assert_eq!(wizard.step, Step::SampleType);
}

#[test]
fn a_draft_brings_answers_and_step_back_and_can_be_thrown_away() {
    let mut first = wizard(facts());
    act(&mut first, &[Action::Exclude, Action::Next]);
    clear(&mut first);
    type_text(&mut first, "2,1,1");
    let plan = first.answers.plan.clone();

    let mut second = wizard(facts());
    second.take_draft(&plan, Step::Splits, Duration::from_secs(300));
    settle(&mut second);
    assert_eq!(second.answers.plan, plan);
    assert_eq!(second.step, Step::Splits);
    assert!(second.answered[0] && !second.is_dirty);
    let asks = act(&mut second, &[Action::GoStep1, Action::StartAfresh]);
    assert!(asks.contains(&Ask::ForgetDraft));
    assert_eq!(second.answers.plan, wizard(facts()).answers.plan);
}

#[test]
fn every_plan_that_the_screens_make_comes_back_from_a_draft() {
    use gristmill_core::plan::{FieldExpr, SplitList, SplitPattern};
    let listed = |name: &str, shards: &[&str]| SplitList {
        name: name.into(),
        shards: shards.iter().map(|s| (*s).to_owned()).collect(),
    };
    let pattern = SplitPattern { name: "train".into(), pattern: "shard_00.*".into() };
    let splits = [
        SplitPlan::Ratio("1,1,1".into()),
        SplitPlan::Patterns(vec![pattern]),
        SplitPlan::Listed(vec![listed("train", &["shard_0000.tar", "shard_0002.tar"]), listed("dev", &[])]),
    ];
    let field = |f: &str, e: &str| FieldExpr { field: f.into(), expr: e.into() };
    let loadings = [
        Loading::NoDatasetYaml,
        Loading::Crude { cooker: false },
        Loading::SampleLoader { sample_type: "TextSample".into() },
        Loading::FieldMap { sample_type: "my.code:Page".into(), fields: vec![field("page", "jpg")] },
        Loading::FieldMap {
            sample_type: "VQASample".into(),
            fields: vec![field("image", "jpg"), field("context", "json[caption][long],txt")],
        },
    ];
    for split in &splits {
        for loading in &loadings {
            let mut plan = PreparePlan::new("/data/coco");
            plan.splits = split.clone();
            plan.loading = loading.clone();
            plan.exclude_shards = vec!["0003".into(), "^shard_0007\\.tar$".into()];
            plan.excludes = vec!["shard_0001.tar/000032".into()];
            let mut wizard = wizard(facts());
            wizard.take_draft(&plan, Step::Review, Duration::ZERO);
            settle(&mut wizard);
            assert_eq!(wizard.answers.plan, plan);
        }
    }
}

#[test]
fn saving_the_plan_asks_for_a_file_name_wherever_it_is_asked_for() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::SavePlan]);
    assert_eq!(wizard.step, Step::Review);
    assert_eq!(wizard.review.saving.as_ref().map(|f| f.value()), Some("coco.plan.yaml"));
    assert_eq!(wizard.act(Action::Next), [Ask::SavePlan("coco.plan.yaml".into())]);
    act(&mut wizard, &[Action::SavePlan]);
    assert_eq!(wizard.why_disabled(Action::Next), None, "Enter is the question's now");
    act(&mut wizard, &[Action::Close]);
    assert_eq!((wizard.review.saving.is_some(), wizard.step), (false, Step::Review));
}

#[test]
fn a_prepared_data_set_is_updated_unless_overwriting_is_chosen() {
    let mut wizard = wizard(facts_prepared());
    assert_eq!(wizard.answers.plan.rerun, Rerun::Update);
    assert_eq!(wizard.answers.plan.splits, SplitPlan::Unset);
    assert_eq!(wizard.answers.plan.loading, Loading::Unset, "an update keeps the dataset.yaml that is there");
    act(&mut wizard, &[Action::Down]);
    assert_eq!(wizard.answers.plan.rerun, Rerun::Overwrite);
    assert_eq!(wizard.answers.plan.splits, SplitPlan::Ratio("8,1,1".into()), "the recorded answer is the proposal");
    assert_eq!(wizard.answers.plan.loading, Loading::Crude { cooker: false });
}

#[test]
fn paste_goes_into_the_field_in_focus() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::NextField]);
    wizard.paste("shard_000[12]\n");
    settle(&mut wizard);
    assert_eq!(wizard.answers.plan.exclude_shards, ["shard_000[12]"]);
}

#[test]
fn what_is_typed_on_the_list_of_steps_reaches_no_field() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::NextField]);
    type_text(&mut wizard, "0003");
    act(&mut wizard, &[Action::NextField]);
    assert_eq!(wizard.rail, Some(Step::Source));
    type_text(&mut wizard, "xyz");
    wizard.paste("pasted");
    assert_eq!(wizard.source.pattern.value(), "0003");
    act(&mut wizard, &[Action::GoStep2, Action::PreviousField]);
    assert_eq!(wizard.rail, Some(Step::Splits));
    type_text(&mut wizard, "9");
    assert_eq!(wizard.splits.ratio.value(), "8,1,1");
}

#[test]
fn a_pattern_that_excludes_nothing_is_not_accepted_even_right_after_typing_it() {
    for (pattern, why) in [("nothing_like_it", "matches none of 20 shards"), ("shard_[0", "cannot be used")] {
        let mut wizard = wizard(facts());
        act(&mut wizard, &[Action::NextField]);
        for c in pattern.chars() {
            wizard.key(KeyEvent::from(KeyCode::Char(c)));
        }
        // Nothing was worked out since the last key.
        let asks = wizard.act(Action::Next);
        assert!(matches!(asks.as_slice(), [Ask::Say(Level::Warn, words)] if words.contains(why)), "{asks:?}");
        assert_eq!((wizard.step, wizard.answered[0], wizard.is_broken(Step::Source)), (Step::Source, false, true));
        settle(&mut wizard);
        act(&mut wizard, &[Action::GoStep6]);
        assert!(wizard.is_broken(Step::Source));
        let why = wizard.review.refusal_and_way(&wizard.answers).unwrap_or_default();
        assert!(why.starts_with("Alt-1 goes to Source: "), "{why}");
        act(&mut wizard, &[Action::GoStep1, Action::DropRow]);
        assert!(!wizard.is_broken(Step::Source));
        act(&mut wizard, &[Action::Next]);
        assert_eq!((wizard.step, wizard.answered[0]), (Step::Splits, true));
    }
}

#[test]
fn a_refused_review_names_the_step_and_its_key() {
    let mut wizard = wizard(facts());
    act(&mut wizard, &[Action::Next]);
    clear(&mut wizard);
    type_text(&mut wizard, "8,1");
    act(&mut wizard, &[Action::GoStep6]);
    assert_eq!(wizard.review.way_out(&wizard.answers).as_deref(), Some("Alt-2 goes to Splits"));
}

#[test]
fn an_interrupted_run_opens_at_review_with_its_answers_and_says_what_is_done() {
    use super::super::fixture::screen;
    let mut plan = PreparePlan::new("/elsewhere/coco");
    plan.splits = SplitPlan::Ratio("2,1,1".into());
    plan.loading = Loading::Crude { cooker: false };
    let hash = interrupted::hash(&plan, None);
    let mut wizard = wizard(facts());
    wizard.continue_run(Interrupted { plan: plan.clone(), done: 12, hash });
    settle(&mut wizard);
    assert_eq!(wizard.step, Step::Review);
    assert_eq!(wizard.answers.plan.splits, plan.splits);
    assert!(screen(&mut wizard, 80, 24, false).contains("an interrupted run is continued: 12 shards are done"));
    assert_eq!(wizard.act(Action::Run), [Ask::Start]);
    act(&mut wizard, &[Action::GoStep2]);
    clear(&mut wizard);
    type_text(&mut wizard, "1,1,1");
    let shown = screen(&mut wizard, 80, 24, false);
    assert!(shown.contains("it begins anew"), "other answers do not fit what was done: {shown}");
    assert_eq!(wizard.why_disabled(Action::StartAfresh), None);
}

#[test]
fn a_stopped_run_of_the_same_answers_is_told_in_review_to_whoever_did_not_ask_for_it() {
    use super::super::fixture::screen;
    let mut wizard = wizard(facts());
    let plan = wizard.answers.plan.clone();
    let hash = interrupted::hash(&plan, None);
    wizard.interrupted = Some(Interrupted { plan, done: 12, hash });
    assert!(!screen(&mut wizard, 80, 24, false).contains("interrupted"));
    act(&mut wizard, &[Action::GoStep6]);
    assert!(screen(&mut wizard, 80, 24, false).contains("an interrupted run is continued: 12 shards are done"));
    act(&mut wizard, &[Action::GoStep2]);
    clear(&mut wizard);
    type_text(&mut wizard, "1,1,1");
    act(&mut wizard, &[Action::GoStep6]);
    assert!(!screen(&mut wizard, 80, 24, false).contains("interrupted"), "nobody asked for it");
}

#[test]
fn what_was_scanned_can_be_looked_at_from_every_step() {
    let mut wizard = wizard(facts());
    wizard.step = Step::Media;
    settle(&mut wizard);
    assert_eq!(wizard.why_disabled(Action::Facts), None);
    assert_eq!(wizard.act(Action::Facts), [Ask::Facts]);
    let empty = super::super::fixture::wizard(DatasetFacts::new("/x".into(), gristmill_core::DatasetKind::PlainFolder));
    assert!(empty.why_disabled(Action::Facts).is_some());
}

/// Whoever is faster than the scan accepts what is shown before anything is known of the data.
#[test]
fn what_was_accepted_is_not_changed_by_what_the_scan_finds_later() {
    let known = facts();
    let mut unknown = known.clone();
    unknown.sketches.clear();
    unknown.parts.clear();
    unknown.samples_seen = 0;
    unknown.scan_complete = false;
    let mut early = wizard(unknown.clone());
    act(&mut early, &[Action::GoStep3]);
    let shown = early.sample_type.choice;
    act(&mut early, &[Action::Next]);
    early.see(Arc::new(known.clone()));
    settle(&mut early);
    assert_eq!(early.sample_type.choice, shown);
    assert_eq!(early.sample_type.rows[early.sample_type.list.selected], shown);
    // Not yet accepted, it follows what is found; and a run that was started keeps its answers.
    let mut waiting = wizard(unknown);
    act(&mut waiting, &[Action::GoStep3]);
    assert_eq!(waiting.sample_type.choice, shown);
    waiting.see(Arc::new(known));
    settle(&mut waiting);
    assert_ne!(waiting.sample_type.choice, shown);
    let plan = waiting.answers.plan.clone();
    waiting.accept_all();
    let mut less = facts();
    less.sketches.clear();
    less.parts.clear();
    less.shards.truncate(1);
    waiting.see(Arc::new(less));
    settle(&mut waiting);
    assert_eq!(waiting.answers.plan, plan);
}

#[test]
fn the_space_bar_leaves_every_choice_as_the_cursor_chose_it() {
    let mut wizard = wizard(facts_prepared());
    act(&mut wizard, &[Action::Down]);
    assert_eq!(wizard.answers.plan.rerun, Rerun::Overwrite);
    let mut wizards = vec![wizard];
    for step in [Step::Splits, Step::SampleType, Step::Media] {
        let mut wizard = super::super::fixture::wizard(facts());
        wizard.step = step;
        settle(&mut wizard);
        act(&mut wizard, &[Action::Down]);
        wizards.push(wizard);
    }
    for mut wizard in wizards {
        let (plan, focus) = (wizard.answers.plan.clone(), wizard.current().0.focus());
        act(&mut wizard, &[Action::Toggle, Action::Toggle]);
        assert_eq!(wizard.answers.plan, plan, "{:?}", wizard.step);
        assert_eq!(wizard.current().0.focus(), focus, "{:?}: the cursor stays", wizard.step);
    }
}

#[test]
fn digits_typed_on_an_answer_jump_nowhere() {
    use crate::tui::keymap::{Keymap, Meaning};
    let keymap = Keymap::default();
    let digit = KeyEvent::from(KeyCode::Char('3'));
    for step in [Step::Source, Step::Splits, Step::SampleType, Step::FieldMap, Step::Media, Step::Review] {
        let mut wizard = wizard(facts());
        wizard.step = step;
        settle(&mut wizard);
        assert_eq!(keymap.meaning(wizard.context(), &[digit]), Meaning::Nothing, "{step:?}");
        wizard.rail = Some(step);
        assert_eq!(keymap.meaning(wizard.context(), &[digit]), Meaning::Do(Action::GoStep3), "{step:?}");
    }
}
