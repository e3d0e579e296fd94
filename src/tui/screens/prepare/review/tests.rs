use super::super::fixture::{act, facts, screen, settle, type_text, wizard};
use super::super::state::Wizard;
use super::super::step::Step;
use super::*;

fn at_review() -> Wizard {
    let mut wizard = wizard(facts());
    wizard.step = Step::Review;
    settle(&mut wizard);
    wizard
}

#[test]
fn the_page_scrolls_and_stops_at_its_ends() {
    let mut wizard = at_review();
    screen(&mut wizard, 60, 14, false);
    act(&mut wizard, &[Action::Up]);
    assert_eq!(wizard.review.offset, 0);
    act(&mut wizard, &[Action::Down, Action::HalfDown, Action::PageDown, Action::Last]);
    assert_eq!(wizard.review.offset, wizard.review.last_offset);
    act(&mut wizard, &[Action::HalfUp, Action::PageUp, Action::First]);
    assert_eq!(wizard.review.offset, 0);
}

#[test]
fn the_command_is_copied_whole() {
    let mut wizard = at_review();
    let Some(Ask::Copy(command)) = wizard.act(Action::Copy).pop() else { panic!() };
    assert!(command.starts_with("gristmill prepare /data/coco --yes --split-ratio 8,1,1"), "{command}");
    assert!(!command.contains('\n'));
}

#[test]
fn a_plan_file_needs_a_name() {
    let mut wizard = at_review();
    act(&mut wizard, &[Action::SavePlan]);
    wizard.review.saving = Some(TextField::new(""));
    assert!(matches!(wizard.act(Action::Next).as_slice(), [Ask::Say(..)]));
    act(&mut wizard, &[Action::SavePlan]);
    type_text(&mut wizard, "x");
    wizard.paste("y");
    assert_eq!(wizard.act(Action::Next), [Ask::SavePlan("coco.plan.yamlxy".into())]);
}

#[test]
fn nothing_is_started_while_something_stands_in_the_way() {
    let mut wizard = at_review();
    act(&mut wizard, &[Action::GoStep2]);
    type_text(&mut wizard, ",2");
    act(&mut wizard, &[Action::GoStep6]);
    assert!(matches!(wizard.act(Action::Run).as_slice(), [Ask::Say(Level::Error, _)]));
    assert!(screen(&mut wizard, 80, 24, false).contains("cannot run as it is"));
}

#[test]
fn numbers_are_so_far_until_every_shard_is_counted() {
    use super::super::fixture::facts_half_scanned;
    let mut facts = facts_half_scanned();
    facts.findings.clear();
    let mut half = wizard(facts);
    half.step = Step::Review;
    settle(&mut half);
    let shown = screen(&mut half, 100, 60, false);
    assert!(shown.contains("Splits, so far") && shown.contains("none found so far"), "{shown}");
    let train = shown.lines().find(|l| l.contains("train  ")).unwrap_or_default();
    assert_eq!(train.matches('~').count(), 2, "{train}");
    half.step = Step::Splits;
    let shown = screen(&mut half, 100, 30, false);
    let train = shown.lines().rfind(|l| l.contains("train ")).unwrap_or_default();
    assert_eq!(train.matches('~').count(), 2, "{train}");
    let shown = screen(&mut at_review(), 100, 60, false);
    assert!(shown.contains("✓ none found") && !shown.contains("so far"), "{shown}");
}

#[test]
fn what_is_recorded_about_media_is_on_the_page() {
    let mut wizard = at_review();
    assert!(!screen(&mut wizard, 100, 60, false).contains("Media metadata"));
    act(&mut wizard, &[Action::GoStep5, Action::Down, Action::NextField, Action::Toggle, Action::Next]);
    let shown = screen(&mut wizard, 100, 60, false);
    assert!(shown.contains("Media metadata") && shown.contains("each picture is decoded whole"), "{shown}");
}

#[test]
fn a_plan_with_problems_is_not_simply_ready() {
    use gristmill_core::{Problem, ProblemKind, Subject};
    let mut facts = facts();
    facts.findings = vec![
        Problem::problem(ProblemKind::EmptyShard, Subject::shard("shard_0007.tar"), "no entry makes a sample"),
        Problem::note(ProblemKind::UnnamedEntry, Subject::shard("shard_0002.tar"), "3 entries skipped"),
    ];
    let mut wizard = wizard(facts);
    wizard.step = Step::Review;
    settle(&mut wizard);
    let shown = screen(&mut wizard, 100, 30, false);
    assert!(shown.contains("! ready, with 1 problem: ") && !shown.contains("✓ ready"), "{shown}");
    assert_eq!(wizard.act(Action::Run), [Ask::Start], "a problem is no refusal");
}
