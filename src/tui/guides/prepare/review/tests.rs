use super::super::fixture::PrepareForm;
use super::super::fixture::{act, facts, prepare, screen, type_text};
use super::super::step::Step;
use crate::tui::keymap::Action;
use crate::tui::screen::Effect;

fn at_review() -> PrepareForm {
    let mut form = prepare(facts());
    form.go(Step::Review);
    form
}

#[test]
fn review_page_scrolls_between_its_ends() {
    let mut form = at_review();
    let first = screen(&mut form, 60, 14, false);
    act(&mut form, &[Action::Up]);
    assert_eq!(screen(&mut form, 60, 14, false), first);
    act(&mut form, &[Action::Down, Action::HalfDown, Action::PageDown, Action::Last]);
    assert!(screen(&mut form, 60, 14, false).contains("--split-ratio 8,1,1"));
    act(&mut form, &[Action::HalfUp, Action::PageUp, Action::First]);
    assert_eq!(screen(&mut form, 60, 14, false), first);
}

#[test]
fn equivalent_command_is_copied_as_one_line() {
    let mut form = at_review();
    let effects = form.act(Action::Copy);
    let Some(Effect::Copy(command)) = effects.first() else { panic!() };
    assert!(command.starts_with("gristmill prepare /data/coco --yes --split-ratio 8,1,1"), "{command}");
    assert!(!command.contains('\n'));
}

#[test]
fn run_does_not_start_while_a_step_is_invalid() {
    let mut form = at_review();
    act(&mut form, &[Action::GoStep2]);
    type_text(&mut form, ",2");
    act(&mut form, &[Action::GoStep6]);
    assert!(matches!(form.act(Action::Run).as_slice(), [Effect::Toast(_)]));
    assert!(screen(&mut form, 80, 24, false).contains("4 numbers are given"));
}

#[test]
fn review_numbers_are_provisional_until_scan_ends() {
    use super::super::fixture::facts_half_scanned;
    let mut facts = facts_half_scanned();
    facts.findings.clear();
    let mut half = prepare(facts);
    half.go(Step::Review);
    let shown = screen(&mut half, 100, 60, false);
    assert!(shown.contains("Splits, so far") && shown.contains("none found so far"), "{shown}");
    let train = shown.lines().find(|l| l.contains("train  ")).unwrap_or_default();
    assert_eq!(train.matches('~').count(), 2, "{train}");
    half.go(Step::Splits);
    let shown = screen(&mut half, 100, 30, false);
    let train = shown.lines().rfind(|l| l.contains("train ")).unwrap_or_default();
    assert_eq!(train.matches('~').count(), 2, "{train}");
    let shown = screen(&mut at_review(), 100, 60, false);
    assert!(shown.contains("✓ none found") && !shown.contains("so far"), "{shown}");
}

#[test]
fn review_shows_media_metadata() {
    let mut form = at_review();
    assert!(!screen(&mut form, 100, 60, false).contains("Media metadata"));
    act(&mut form, &[Action::GoStep5, Action::Down, Action::NextField, Action::Toggle, Action::Next]);
    let shown = screen(&mut form, 100, 60, false);
    assert!(shown.contains("Media metadata") && shown.contains("each picture is decoded completely"), "{shown}");
}

#[test]
fn review_counts_problems_of_plan() {
    use gristmill_core::{Problem, ProblemKind, Subject};
    let mut facts = facts();
    facts.findings = vec![
        Problem::problem(ProblemKind::EmptyShard, Subject::shard("shard_0007.tar"), "no entry makes a sample"),
        Problem::note(ProblemKind::UnnamedEntry, Subject::shard("shard_0002.tar"), "3 entries skipped"),
    ];
    let mut form = prepare(facts);
    form.go(Step::Review);
    let shown = screen(&mut form, 100, 30, false);
    assert!(shown.contains("! everything is answered, with 1 problem; ") && !shown.contains("✓ everything"), "{shown}");
    assert!(matches!(form.act(Action::Run).as_slice(), [Effect::Push(_)]), "a problem is no refusal");
}

#[test]
fn dry_run_of_refused_plan_is_not_called_possible() {
    use gristmill_core::{Problem, ProblemKind, Subject};
    let mut facts = facts();
    facts.findings = vec![Problem::refusal(ProblemKind::DuplicateKey, Subject::default(), "200 keys are there twice")];
    let mut form = prepare(facts);
    form.go(Step::Review);
    act(&mut form, &[Action::DryRun]);
    let shown = screen(&mut form, 100, 30, false);
    assert!(shown.contains("✗ dry run: the run is refused") && !shown.contains("is possible"), "{shown}");
    let mut form = at_review();
    act(&mut form, &[Action::GoStep2]);
    type_text(&mut form, ",2");
    act(&mut form, &[Action::GoStep6, Action::DryRun]);
    let shown = screen(&mut form, 100, 30, false);
    assert!(!shown.contains("is possible"), "{shown}");
}

#[test]
fn review_lists_every_step_that_cannot_be_completed() {
    let mut form = at_review();
    act(&mut form, &[Action::GoStep1, Action::GoStep2]);
    type_text(&mut form, ",2");
    form.change_guide(|guide, _| guide.steps.media.form.strategy = crate::tui::guides::media::form::Strategy::Glob);
    act(&mut form, &[Action::GoStep6]);
    let shown = screen(&mut form, 100, 30, false);
    assert!(shown.contains("Alt-2 goes to Splits") && shown.contains("Alt-5 goes to Media"), "{shown}");
}
