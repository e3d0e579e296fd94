use super::super::fixture::{act, facts, facts_prepared, settle, type_text, wizard};
use super::super::state::Wizard;
use super::super::step::Step;
use super::*;

fn at_types() -> Wizard {
    let mut wizard = wizard(facts());
    wizard.step = Step::SampleType;
    settle(&mut wizard);
    wizard
}

fn choose(wizard: &mut Wizard, choice: Choice) {
    let row = wizard.sample_type.rows.iter().position(|r| *r == choice).unwrap();
    act(wizard, &[Action::First]);
    for _ in 0..row {
        act(wizard, &[Action::Down]);
    }
}

#[test]
fn the_best_guess_stands_first_and_is_chosen() {
    let wizard = at_types();
    assert_eq!(wizard.sample_type.class().as_deref(), Some("CaptioningSample"));
    assert_eq!(wizard.sample_type.list.selected, 0);
    assert_eq!(wizard.sample_type.rows.len(), SAMPLE_TYPES.len() + 3);
    assert_eq!(wizard.flags(), "--sample-type CaptioningSample");
}

#[test]
fn moving_in_the_list_chooses() {
    let mut wizard = at_types();
    choose(&mut wizard, Choice::NoYaml);
    assert_eq!(wizard.answers.plan.loading, Loading::NoDatasetYaml);
    choose(&mut wizard, Choice::Crude);
    assert_eq!(wizard.answers.plan.loading, Loading::Crude { cooker: true });
    act(&mut wizard, &[Action::NextField, Action::Toggle]);
    assert_eq!(wizard.answers.plan.loading, Loading::Crude { cooker: false });
    act(&mut wizard, &[Action::Up]);
    assert_eq!(wizard.sample_type.stop(), FocusStop::List);
}

#[test]
fn the_older_way_is_an_option_of_every_type() {
    let mut wizard = at_types();
    act(&mut wizard, &[Action::NextField, Action::Down]);
    assert_eq!(wizard.flags(), "--sample-type CaptioningSample --sample-loader");
    assert!(!wizard.sample_type.wants_field_map());
    act(&mut wizard, &[Action::Up]);
    assert!(wizard.sample_type.wants_field_map());
    act(&mut wizard, &[Action::Toggle, Action::Toggle]);
    assert!(wizard.sample_type.wants_field_map());
}

#[test]
fn a_class_of_ones_own_needs_module_and_class() {
    let mut wizard = at_types();
    choose(&mut wizard, Choice::Own);
    act(&mut wizard, &[Action::NextField]);
    assert_eq!(wizard.context(), Context::PrepareText);
    type_text(&mut wizard, "MySample");
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::SampleType);
    act(&mut wizard, &[Action::DropRow]);
    type_text(&mut wizard, "my.code:MySample");
    act(&mut wizard, &[Action::Next]);
    assert_eq!(wizard.step, Step::FieldMap);
    for bad in ["", "a", "1a:B", "a:", ":B", "a b:C", "a:B-C"] {
        assert!(own_class_problem(bad).is_some(), "{bad}");
    }
}

#[test]
fn an_update_keeps_the_dataset_yaml_unless_something_else_is_chosen() {
    let mut wizard = wizard(facts_prepared());
    wizard.step = Step::SampleType;
    assert_eq!(wizard.sample_type.choice, Choice::Keep);
    act(&mut wizard, &[Action::Down]);
    assert_ne!(wizard.sample_type.choice, Choice::Keep);
    assert_ne!(wizard.answers.plan.loading, Loading::Unset);
}
