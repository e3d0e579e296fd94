use super::super::fixture::PrepareForm;
use super::super::fixture::{act, facts, facts_half_scanned, facts_prepared, prepare, screen, type_text};
use super::super::step::Step;
use super::*;
use gristmill_core::{MediaFilter, Severity};

fn at_media() -> PrepareForm {
    let mut form = prepare(facts());
    form.go(Step::Media);
    form
}

#[test]
fn media_step_records_nothing_by_default_and_shows_candidates() {
    let mut form = at_media();
    assert_eq!(form.answers.plan.media, None);
    assert!(form.command().contains(""));
    let shown = screen(&mut form, 100, 30, false);
    assert!(shown.contains("jpg in 100 % of samples: by extension would record 201,330 rows"), "{shown}");
    let mut several = facts();
    let jpg = several.parts.remove("jpg").unwrap();
    let of = |samples| gristmill_core::PartFacts { samples, bytes: 0 };
    several.parts.extend([("jpg".into(), of(jpg.samples / 2)), ("png".into(), of(jpg.samples / 2))]);
    let mut several = super::super::fixture::prepare(several);
    several.go(Step::Media);
    let shown = screen(&mut several, 100, 30, false);
    assert!(shown.contains("jpg and 1 more in 50.0 % to 100 % of samples: by extension would record"), "{shown}");
    let mut half = super::super::fixture::prepare(facts_half_scanned());
    half.go(Step::Media);
    assert!(screen(&mut half, 100, 30, false).contains("would record about"));
}

#[test]
fn media_strategies_set_plan_and_flags() {
    let mut form = at_media();
    act(&mut form, &[Action::Down]);
    assert_eq!(form.answers.plan.media, Some(MediaPlan { filter: MediaFilter::Extension, decode: false }));
    assert!(form.command().contains("--media-metadata-by-extension"));
    assert!(form.is_dirty);
    act(&mut form, &[Action::NextField, Action::Toggle]);
    assert!(form.command().contains("--media-metadata-by-extension --decode"));
    act(&mut form, &[Action::PreviousField, Action::Down]);
    assert!(form.command().contains("--media-metadata-by-header --decode"));
    act(&mut form, &[Action::Down, Action::NextField]);
    assert_eq!(form.context(), Context::PrepareText);
    type_text(&mut form, "*.jpg, *.png");
    let globs = MediaFilter::Glob(vec!["*.jpg".into(), "*.png".into()]);
    assert_eq!(form.answers.plan.media, Some(MediaPlan { filter: globs, decode: true }));
    assert!(form.command().contains("--media-metadata-by-glob '*.jpg,*.png' --decode"));
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::Review);
    assert_eq!(form.answers.derived.problems.iter().filter(|p| p.severity == Severity::Refusal).count(), 0);
}

#[test]
fn missing_or_unmatched_media_patterns_are_refused() {
    let mut form = at_media();
    act(&mut form, &[Action::Last, Action::NextField, Action::Next]);
    assert_eq!(form.step(), Step::Media, "a pattern is needed");
    assert!(form.is_broken(Step::Media));
    type_text(&mut form, "*.webp");
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::Media, "it matches nothing");
    assert!(screen(&mut form, 80, 24, false).contains("no entry seen is picked"));
    act(&mut form, &[Action::DropRow]);
    type_text(&mut form, "*.jpg");
    act(&mut form, &[Action::Next]);
    assert_eq!(form.step(), Step::Review);
}

#[test]
fn changed_media_strategy_discards_old_tally() {
    let mut form = at_media();
    act(&mut form, &[Action::Down]);
    assert!(form.media.current_tally().is_some());
    form.act(Action::Down);
    assert!(form.media.current_tally().is_none());
    assert!(screen(&mut form, 80, 24, false).contains("looking"));
}

#[test]
fn media_answer_is_restored_from_draft_and_recorded_plan() {
    let mut first = at_media();
    act(&mut first, &[Action::Down]);
    let plan = first.answers.plan.clone();
    let second = PrepareForm::with_draft(&plan, Step::Media, facts());
    assert_eq!((second.step(), &second.answers.plan), (Step::Media, &plan));
    let mut facts = facts_prepared();
    if let Some(earlier) = facts.prepared.as_mut().and_then(|p| p.plan.as_mut()) {
        earlier.media = plan.media.clone();
    }
    let third = prepare(facts);
    assert_eq!(third.answers.plan.media, plan.media);
}

#[test]
fn typed_character_is_added_to_pattern_of_glob_strategy() {
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    let answers = &at_media().answers;
    let mut step = MediaStep::default();
    let star = KeyEvent::new(KeyCode::Char('*'), KeyModifiers::NONE);
    step.key(star, answers);
    assert_eq!(step.stop(), FocusStop::Strategy, "nothing is wanted yet");
    step.form.strategy = Strategy::Glob;
    step.key(star, answers);
    assert_eq!((step.stop(), step.form.globs()), (FocusStop::Patterns, vec!["*".to_owned()]));
}
