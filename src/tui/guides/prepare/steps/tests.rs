use super::super::fixture::{act, clear, facts, facts_prepared, prepare, settle, type_text};
use super::super::fixture::{notices, screen, PrepareForm};
use super::super::interrupted::{self, InterruptedPrepare};
use super::*;
use crate::tui::keymap::{Action, Context};
use crate::tui::screen::Effect;
use gristmill_core::{SampleMapping, SplitPlan};
use ratatui::crossterm::event::{KeyCode, KeyEvent};

#[test]
fn next_visits_every_step_with_proposed_answers() {
    let mut form = prepare(facts());
    let mut seen = vec![form.step()];
    for _ in 0..5 {
        assert!(act(&mut form, &[Action::Next]).is_empty());
        seen.push(form.step());
    }
    assert_eq!(seen, [Step::Source, Step::Splits, Step::SampleType, Step::FieldMap, Step::Media, Step::Review]);
    assert_eq!(form.answers.plan.splits, SplitPlan::Ratio("8,1,1".into()));
    let SampleMapping::FieldMap { sample_type, fields } = &form.answers.plan.loading else { panic!() };
    assert_eq!(sample_type, "CaptioningSample");
    assert_eq!(fields.iter().map(|f| f.field.as_str()).collect::<Vec<_>>(), ["image", "caption"]);
    assert!(form.is_dirty, "the proposals of the steps were accepted");
}

#[test]
fn the_run_starts_from_review_and_only_there() {
    let mut form = prepare(facts());
    form.go(Step::Review);
    assert!(matches!(form.act(Action::Run).as_slice(), [Effect::Push(_)]));
    assert!(form.act(Action::DryRun).is_empty(), "a dry run starts nothing");
    assert!(form.guide().is_dry_run);
}

#[test]
fn invalid_step_blocks_next_and_run_but_not_jumps() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::Next]);
    clear(&mut form);
    type_text(&mut form, "8,1");
    let effects = act(&mut form, &[Action::Next]);
    assert!(matches!(effects.as_slice(), [Effect::Toast(_)]));
    assert_eq!(form.step(), Step::Splits);
    act(&mut form, &[Action::GoStep6]);
    assert_eq!(form.step(), Step::Review);
    let effects = form.act(Action::Run);
    assert!(matches!(effects.as_slice(), [Effect::Toast(_)]));
    assert_eq!(form.step(), Step::Splits, "where it can be changed");
}

#[test]
fn prepare_form_keeps_answers_on_the_way_back() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::Next]);
    clear(&mut form);
    type_text(&mut form, "6,2,2");
    act(&mut form, &[Action::Next, Action::Close, Action::Close]);
    assert_eq!(form.step(), Step::Source);
    assert!(matches!(form.act(Action::Close).first(), Some(Effect::Pop)));
    act(&mut form, &[Action::Next]);
    assert_eq!(form.splits.ratio.value(), "6,2,2");
    assert_eq!(form.answers.plan.splits, SplitPlan::Ratio("6,2,2".into()));
    assert!(form.is_dirty);
}

#[test]
fn tab_reaches_list_of_steps() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::PreviousField]);
    assert_eq!(form.form().rail, Some(0));
    assert_eq!(form.context(), Context::PrepareRail);
    act(&mut form, &[Action::Down, Action::Down, Action::Accept]);
    assert_eq!((form.step(), form.form().rail), (Step::SampleType, None));
    let stops = form.sample_type.stop_list().len();
    for _ in 0..stops {
        act(&mut form, &[Action::NextField]);
    }
    assert_eq!(form.form().rail, Some(Step::SampleType.index()));
    act(&mut form, &[Action::First, Action::Last]);
    assert_eq!(form.form().rail, Some(Step::Review.index()));
    act(&mut form, &[Action::Close]);
    assert_eq!(form.form().rail, None);
    act(&mut form, &[Action::PreviousField, Action::PreviousField, Action::PreviousField]);
    assert!(form.form().rail.is_none_or(|rail| rail == Step::SampleType.index()));
}

#[test]
fn field_map_step_is_skipped_with_a_sample_loader() {
    let mut form = prepare(facts());
    form.go(Step::SampleType);
    form.sample_type.field_source = super::super::sample_type::FieldSource::Loader;
    settle(&mut form);
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::Media);
    assert!(matches!(form.answers.plan.loading, SampleMapping::SampleLoader { .. }));
    assert!(form.why_disabled(Action::GoStep4).is_some());
    act(&mut form, &[Action::GoStep4]);
    assert_eq!(form.step(), Step::Media);
    act(&mut form, &[Action::Close]);
    assert_eq!(form.step(), Step::SampleType);
}

#[test]
fn draft_restores_answers_and_step_and_can_be_discarded() {
    let mut first = prepare(facts());
    act(&mut first, &[Action::Exclude, Action::Next]);
    clear(&mut first);
    type_text(&mut first, "2,1,1");
    let plan = first.answers.plan.clone();

    let mut second = first.reopen(facts());
    assert_eq!(second.answers.plan, plan);
    assert_eq!(second.step(), Step::Splits);
    assert!(second.form().draft.is_some() && !second.is_dirty);
    act(&mut second, &[Action::GoStep1, Action::StartAfresh]);
    assert_eq!((second.form().draft, second.step()), (None, Step::Source));
    assert_eq!(second.answers.plan, prepare(facts()).answers.plan);
}

#[test]
fn draft_keeps_suggestions_that_were_accepted() {
    let mut unanswered = prepare(facts());
    act(&mut unanswered, &[Action::Next]);
    assert!(unanswered.reopen(facts()).form().draft.is_none(), "the first step suggests nothing");
    let mut first = prepare(facts());
    act(&mut first, &[Action::Next, Action::Next]);
    let splits = first.answers.plan.splits.clone();
    let mut few = facts();
    few.shards.truncate(1);
    let second = first.reopen(few.clone());
    assert!(second.form().draft.is_some());
    assert_eq!(second.answers.plan.splits, splits);
    assert_ne!(prepare(few).answers.plan.splits, splits, "the suggestion for other data differs");
}

#[test]
fn draft_restores_every_plan_of_the_form() {
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
        SampleMapping::NoDatasetYaml,
        SampleMapping::Crude { cooker: false },
        SampleMapping::SampleLoader { sample_type: "TextSample".into() },
        SampleMapping::FieldMap { sample_type: "my.code:Page".into(), fields: vec![field("page", "jpg")] },
        SampleMapping::FieldMap {
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
            let form = PrepareForm::with_draft(&plan, Step::Review, facts());
            assert_eq!(form.answers.plan, plan);
        }
    }
}

#[test]
fn a_prepared_data_set_is_updated_unless_overwriting_is_chosen() {
    let mut form = prepare(facts_prepared());
    assert_eq!(form.answers.plan.rerun, Rerun::Update);
    assert_eq!(form.answers.plan.splits, SplitPlan::Unset);
    assert_eq!(form.answers.plan.loading, SampleMapping::Unset, "an update keeps the dataset.yaml that is there");
    act(&mut form, &[Action::Down]);
    assert_eq!(form.answers.plan.rerun, Rerun::Overwrite);
    assert_eq!(form.answers.plan.splits, SplitPlan::Ratio("8,1,1".into()), "the recorded answer is the proposal");
    assert_eq!(form.answers.plan.loading, SampleMapping::Crude { cooker: false });
}

#[test]
fn paste_goes_into_the_field_in_focus() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::NextField]);
    form.paste("shard_000[12]\n");
    settle(&mut form);
    assert_eq!(form.answers.plan.exclude_shards, ["shard_000[12]"]);
}

#[test]
fn text_typed_on_step_list_changes_no_field() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::NextField]);
    type_text(&mut form, "0003");
    act(&mut form, &[Action::NextField]);
    assert_eq!(form.form().rail, Some(0));
    type_text(&mut form, "xyz");
    form.paste("pasted");
    assert_eq!(form.source.pattern.value(), "0003");
    act(&mut form, &[Action::GoStep2, Action::PreviousField]);
    assert_eq!(form.form().rail, Some(Step::Splits.index()));
    type_text(&mut form, "9");
    assert_eq!(form.splits.ratio.value(), "8,1,1");
}

#[test]
fn unmatched_exclude_pattern_blocks_source_step_immediately() {
    for (pattern, why) in [("nothing_like_it", "matches none of 20 shards"), ("shard_[0", "cannot be used")] {
        let mut form = prepare(facts());
        act(&mut form, &[Action::NextField]);
        for c in pattern.chars() {
            form.key(KeyEvent::from(KeyCode::Char(c)));
        }
        // The results of the workers are older than the last key.
        let effects = form.act(Action::Next);
        assert!(notices(&effects)[0].contains(why));
        assert_eq!((form.step(), form.is_broken(Step::Source)), (Step::Source, true));
        settle(&mut form);
        act(&mut form, &[Action::GoStep6]);
        assert!(form.is_broken(Step::Source));
        assert!(screen(&mut form, 80, 24, false).contains("Alt-1 goes to Source"));
        act(&mut form, &[Action::GoStep1, Action::DropRow]);
        assert!(!form.is_broken(Step::Source));
        act(&mut form, &[Action::Next]);
        assert_eq!((form.step(), form.form().is_answered(0)), (Step::Splits, true));
    }
}

#[test]
fn review_names_the_key_of_the_invalid_step() {
    let mut form = prepare(facts());
    act(&mut form, &[Action::Next]);
    clear(&mut form);
    type_text(&mut form, "8,1");
    act(&mut form, &[Action::GoStep6]);
    assert!(screen(&mut form, 80, 24, false).contains("Alt-2 goes to Splits"));
}

#[test]
fn interrupted_run_opens_at_review_with_its_answers() {
    let mut plan = PreparePlan::new("/elsewhere/coco");
    plan.splits = SplitPlan::Ratio("2,1,1".into());
    plan.loading = SampleMapping::Crude { cooker: false };
    let hash = interrupted::hash(&plan, None);
    let mut form = PrepareForm::open(plan.clone(), true, facts());
    form.change_guide(|guide, _| guide.interrupted = Some(InterruptedPrepare { plan: plan.clone(), done: 12, hash }));
    assert_eq!(form.step(), Step::Review);
    assert_eq!(form.answers.plan.splits, plan.splits);
    assert!(screen(&mut form, 80, 24, false).contains("an interrupted run is continued: 12 shards are done"));
    assert!(matches!(form.act(Action::Run).as_slice(), [Effect::Push(_)]));
    act(&mut form, &[Action::GoStep2]);
    clear(&mut form);
    type_text(&mut form, "1,1,1");
    let shown = screen(&mut form, 80, 24, false);
    assert!(shown.contains("it starts over"), "other answers do not fit what was done: {shown}");
    assert_eq!(form.why_disabled(Action::StartAfresh), None);
}

#[test]
fn interrupted_run_is_shown_in_review_only_for_equal_answers() {
    let mut form = prepare(facts());
    let plan = form.answers.plan.clone();
    let hash = interrupted::hash(&plan, None);
    form.change_guide(|guide, _| guide.interrupted = Some(InterruptedPrepare { plan, done: 12, hash }));
    assert!(!screen(&mut form, 80, 24, false).contains("interrupted"));
    act(&mut form, &[Action::GoStep6]);
    assert!(screen(&mut form, 80, 24, false).contains("an interrupted run is continued: 12 shards are done"));
    act(&mut form, &[Action::GoStep2]);
    clear(&mut form);
    type_text(&mut form, "1,1,1");
    act(&mut form, &[Action::GoStep6]);
    assert!(!screen(&mut form, 80, 24, false).contains("interrupted"), "it was not asked for");
}

#[test]
fn facts_of_scan_open_from_every_step() {
    let mut form = prepare(facts());
    form.go(Step::Media);
    assert_eq!(form.why_disabled(Action::Facts), None);
    assert!(matches!(form.act(Action::Facts).as_slice(), [Effect::Push(_)]));
    let empty =
        super::super::fixture::prepare(DatasetFacts::new("/x".into(), gristmill_core::DatasetKind::PlainFolder));
    assert!(empty.why_disabled(Action::Facts).is_some());
}

/// A user can accept the shown answers before the scan has any results.
#[test]
fn later_scan_results_do_not_change_accepted_answers() {
    let known = facts();
    let mut unknown = known.clone();
    unknown.sketches.clear();
    unknown.parts.clear();
    unknown.samples_seen = 0;
    unknown.scan_complete = false;
    let mut early = prepare(unknown.clone());
    act(&mut early, &[Action::GoStep3]);
    let shown = early.sample_type.choice;
    act(&mut early, &[Action::Next]);
    early.see(known.clone());
    assert_eq!(early.sample_type.choice, shown);
    assert_eq!(early.sample_type.rows[early.sample_type.list.selected], shown);
    // An answer that is not accepted follows the results of the scan; a started run does not change its answers.
    let mut waiting = prepare(unknown);
    act(&mut waiting, &[Action::GoStep3]);
    assert_eq!(waiting.sample_type.choice, shown);
    waiting.see(known);
    assert_ne!(waiting.sample_type.choice, shown);
    let plan = waiting.answers.plan.clone();
    waiting.accept_all();
    let mut less = facts();
    less.sketches.clear();
    less.parts.clear();
    less.shards.truncate(1);
    waiting.see(less);
    assert_eq!(waiting.answers.plan, plan);
}

#[test]
fn space_does_not_change_choices_of_prepare_steps() {
    let mut form = prepare(facts_prepared());
    act(&mut form, &[Action::Down]);
    assert_eq!(form.answers.plan.rerun, Rerun::Overwrite);
    let mut forms = vec![form];
    for step in [Step::Splits, Step::SampleType, Step::Media] {
        let mut form = super::super::fixture::prepare(facts());
        form.go(step);
        act(&mut form, &[Action::Down]);
        forms.push(form);
    }
    for mut form in forms {
        let (plan, focus) = (form.answers.plan.clone(), form.state(form.step()).map(StepState::focus));
        act(&mut form, &[Action::Toggle, Action::Toggle]);
        assert_eq!(form.answers.plan, plan, "{:?}", form.step());
        assert_eq!(form.state(form.step()).map(StepState::focus), focus, "{:?}: the cursor stays", form.step());
    }
}

#[test]
fn options_without_a_step_are_fields_of_all_settings() {
    let mut form = prepare(facts());
    assert!(!screen(&mut form, 100, 30, false).contains("skip sample tables"));
    act(&mut form, &[Action::Advanced]);
    assert!(screen(&mut form, 100, 30, false).contains("[ ] skip sample tables"));
    act(&mut form, &[Action::NextField, Action::NextField, Action::NextField, Action::Toggle]);
    assert_eq!(form.answers.plan.scope, gristmill_core::Scope::WithoutSampleTables, "{}", form.command());
    act(&mut form, &[Action::NextField]);
    type_text(&mut form, "shard_0001.tar/000032");
    assert_eq!(form.answers.plan.excludes, ["shard_0001.tar/000032"]);
    act(&mut form, &[Action::GoStep2, Action::Down]);
    let plan = form.answers.plan.clone();
    assert_eq!((plan.excludes.len(), plan.scope), (1, gristmill_core::Scope::WithoutSampleTables), "steps keep them");
    assert!(form.why_disabled(Action::Advanced).is_some(), "the step draws everything");
}

#[test]
fn digits_jump_only_from_step_list() {
    use crate::tui::keymap::{Keymap, Meaning};
    let keymap = Keymap::default();
    let digit = KeyEvent::from(KeyCode::Char('3'));
    for step in [Step::Source, Step::Splits, Step::SampleType, Step::FieldMap, Step::Media, Step::Review] {
        let mut form = prepare(facts());
        form.go(step);
        assert_eq!(keymap.meaning(form.context(), &[digit]), Meaning::Nothing, "{step:?}");
        form.change_guide(|_, form| form.rail = Some(step.index()));
        assert_eq!(keymap.meaning(form.context(), &[digit]), Meaning::Do(Action::GoStep3), "{step:?}");
    }
}

#[test]
fn change_to_splits_by_hand_is_announced_and_has_no_common_key() {
    let mut form = prepare(facts());
    let effects = form.act(Action::Splits);
    assert_eq!(notices(&effects), ["the shards are divided by hand now"]);
    assert!(notices(&form.act(Action::Splits)).is_empty(), "they are already");
    let key = |c| crate::tui::keymap::Keymap::default().meaning(Context::Prepare, &[KeyEvent::from(KeyCode::Char(c))]);
    assert_eq!(key('s'), crate::tui::keymap::Meaning::Nothing);
}

#[test]
fn reload_scans_the_shards_again() {
    let mut form = prepare(facts());
    assert_eq!(notices(&form.act(Action::Reload)), ["scanning the shards again"]);
    assert!(form.guide().workers.is_waiting());
}
