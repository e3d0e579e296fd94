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
    act(&mut wizard, &[Action::GoSplits]);
    type_text(&mut wizard, ",2");
    act(&mut wizard, &[Action::GoReview]);
    assert!(matches!(wizard.act(Action::Run).as_slice(), [Ask::Say(Level::Error, _)]));
    assert!(screen(&mut wizard, 80, 24, false).contains("cannot run as it is"));
}
